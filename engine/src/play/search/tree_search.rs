//! The tree search of a `go`: its plan, the choice of the move, and the blunder check of it.

use super::blunder_check::{self, BlunderCheck, POSITIONS_PER_PLAYOUT, Refutation};
use super::conclusion::MoveChoice;
use super::job::{Answer, Found, Job};
use super::stopper::{Stopper, Watched};
use super::team_search::{Seat, run_team, seats};
use crate::play::clock::timekeeper::Timekeeper;
use crate::play::players::strength::Strength;
use crate::play::players::temperature;
use crate::play::tree::kept_tree::Plan;
use crate::play::tree::session::SearchSession;
use chess::action::Action;
use chess::game::Game;
use mcts::{FinalMove, Line, Wdl};

/// Tree search of at most `playouts`, if they are limited. None if there is no time left for it.
pub fn search_tree(
    choice: &MoveChoice<'_>,
    session: &mut SearchSession,
    timekeeper: &Timekeeper<'_>,
    playouts: Option<u64>,
) -> Option<Found> {
    let MoveChoice { job, game, allowed, reporter } = *choice;
    let settings = &job.settings;
    let root = session.set_root(&job.network, settings, job.tables.clone(), game);
    root.warnings.iter().for_each(|warning| job.output.note(warning));
    if root.kept == 0 && job.is_too_late() {
        return None;
    }
    let evaluation = session.evaluation_time(job.timing.single);
    let batch = job.batch(job.timing, evaluation);
    let mut plan = Plan {
        searchmoves: allowed,
        playouts: job.playouts().into_iter().chain(playouts).min(),
        ..Plan::new(settings, job.timing, batch)
    };
    if job.limits.infinite {
        // As with the strength: an endless search analyses, it does not play.
        plan.params.contempt = 0.0;
    }
    let limits = if job.checks_blunders(allowed) {
        job.limits.with_share(1.0 - blunder_check::SHARE)
    } else {
        job.limits.clone()
    };
    let stopper = Stopper::new(Watched {
        limits: &limits,
        signal: &job.signal,
        reporter,
        output: &job.output,
        timekeeper,
        timing: job.timing,
        robust: settings.tree.final_move == FinalMove::Robust,
    });
    let seats = seats(job, game, session, Seat { root, plan });
    let found = decide(choice, session, &seats, &stopper);
    job.learn_time_use(session);
    Some(found)
}

/// Searches from the `seats` and chooses the move.
fn decide(
    choice: &MoveChoice<'_>,
    session: &mut SearchSession,
    seats: &[Seat<'_>],
    stopper: &Stopper<'_>,
) -> Found {
    let MoveChoice { job, game, allowed, reporter } = *choice;
    let threads = seats.first().map_or(1, |seat| seat.plan.threads);
    let begun = job.signal.since_go();
    let outcome = match seats {
        [Seat { root, plan }] => session.run(root, plan, stopper),
        seats => run_team(job, game, session, seats, stopper),
    };
    let taken = job.signal.since_go().saturating_sub(begun);
    session.learn_speed(&outcome, threads, taken);
    session.lag().on_pause(stopper.pause());
    if let Some(error) = outcome.error {
        job.output.note(format_args!("the search ended early: {error}"));
    }
    if let Some(world) = seats.first().and_then(|seat| seat.root.world.learned()) {
        job.output.note(format_args!("learned world: {}", world.predictions()));
    }
    let lines = &outcome.snapshot.lines;
    let drawn = match job.strength() {
        Some(strength) => draw_by_strength(job, strength, lines),
        None => draw_by_visits(job, game, lines),
    };
    let answer = match drawn {
        // The reply to expect is in its own line.
        Some(best) => Answer { best: Some(best), ponder: None },
        None => Answer { best: outcome.best, ponder: outcome.ponder },
    };
    let certain = lines.first().is_none_or(|line| [Wdl::WIN, Wdl::LOSS].contains(&line.value));
    // Where endgame tables choose, the check has nothing to say.
    let chooses = |best: &Action| reporter.played(lines, *best) == *best;
    let checks = job.checks_blunders(allowed) && drawn.is_none() && !certain;
    let answer = match answer.best.filter(|best| checks && chooses(best)) {
        Some(chosen) => {
            let chosen = (chosen, outcome.snapshot.playouts);
            check_for_blunder(choice, session, chosen, &chooses).unwrap_or(answer)
        }
        None => answer,
    };
    Found { snapshot: outcome.snapshot, answer }
}

/// The answer in place of `chosen` if that is a blunder and a better move may be chosen. Says so in one line.
fn check_for_blunder(
    choice: &MoveChoice<'_>,
    session: &mut SearchSession,
    (chosen, playouts): (Action, u64),
    may_choose: &dyn Fn(&Action) -> bool,
) -> Option<Answer> {
    let MoveChoice { job, game, allowed, .. } = *choice;
    if job.signal.is_stopped() {
        return None;
    }
    let until = job.limits.budget.map(|budget| match job.signal.used() {
        Some(used) if budget.flexible => {
            (used.div_f64(1.0 - blunder_check::SHARE)).min(budget.hard)
        }
        _ => budget.hard,
    });
    let is_over = |positions| match until {
        Some(until) => job.signal.used().is_some_and(|used| used >= until),
        None => positions >= POSITIONS_PER_PLAYOUT * playouts,
    };
    let is_over = &|positions| job.signal.is_over() || is_over(positions);
    let check = BlunderCheck { game, allowed, is_over };
    let refuted = check.refute(chosen, session.alpha_beta()?);
    let refuted = refuted.filter(|refuted| refuted.better.first().is_some_and(may_choose));
    let count = session.count_check(refuted.is_some());
    let Refutation { better, reply, loss, .. } = refuted?;
    let mut after = game.clone();
    let reply = reply.filter(|_| after.play(chosen).is_ok()).map(|reply| after.uci(reply));
    job.output.note(format_args!(
        "blunder check: {} loses {:.0} % of win probability{}; playing {} ({} of {} moves replaced)",
        game.uci(chosen),
        100.0 * loss,
        reply.map(|reply| format!(" to {reply}")).unwrap_or_default(),
        better.first().map(|best| game.uci(*best)).unwrap_or_default(),
        count.replaced,
        count.checked,
    ));
    Some(Answer { best: better.first().copied(), ponder: better.get(1).copied() })
}

/// The random choice among the first moves of a game, where the options ask for it: by visits, as
/// AlphaZero's. A proven win is not left to chance, nor is a proven loss chosen.
fn draw_by_visits(job: &Job, game: &Game, lines: &[Line<Action>]) -> Option<Action> {
    let temperature = temperature::temperature(&job.settings, game.position())?;
    let decided = |line: &Line<Action>| [Wdl::WIN, Wdl::LOSS].contains(&line.value);
    if decided(lines.first()?) {
        return None;
    }
    let open: Vec<_> = lines.iter().filter(|line| !decided(line)).collect();
    let logits: Vec<f32> = open.iter().map(|line| (line.visits as f32).ln()).collect();
    let line = open.get(temperature::draw(&logits, temperature, job.seed)?)?;
    line.moves.first().copied()
}

/// A move that a player of this strength might choose.
fn draw_by_strength(job: &Job, strength: Strength, lines: &[Line<Action>]) -> Option<Action> {
    let logits: Vec<f32> = lines.iter().map(|line| strength.logit(line)).collect();
    lines.get(temperature::draw(&logits, 1.0, job.seed)?)?.moves.first().copied()
}
