//! The tree search of a `go`: its plan, the choice of the move, and the blunder check of it.

use super::blunder_check::{self, BlunderCheck, POSITIONS_PER_PLAYOUT, Refutation};
use super::job::{Answer, Found, Job};
use super::kept_tree::Plan;
use super::limits::Limits;
use super::params::batch_within;
use super::report::Reporter;
use super::session::SearchSession;
use super::stopper::{Stopper, Watched};
use super::strength::Strength;
use super::team_search::Seat;
use super::temperature;
use super::timekeeper::Timekeeper;
use super::warm_up::EvalTiming;
use crate::chess::action::Action;
use crate::chess::game::Game;
use mcts::{FinalMove, Line, Wdl};
use std::time::Duration;

impl Job {
    /// Tree search of at most `playouts`, if they are limited. None if there is no time left for it.
    pub fn search_tree(
        &self,
        game: &Game,
        session: &mut SearchSession,
        reporter: &Reporter,
        allowed: &[Action],
        playouts: Option<u64>,
    ) -> Option<Found> {
        let settings = &self.settings;
        let root = session.set_root(&self.network, settings, self.tables.clone(), game);
        root.warnings.iter().for_each(|warning| self.output.note(warning));
        if root.kept == 0 && self.is_too_late() {
            return None;
        }
        let evaluation = session.evaluation_time(self.timing.single);
        let batch = self.batch(self.timing, evaluation);
        let mut plan = Plan {
            searchmoves: allowed,
            playouts: self.playouts().into_iter().chain(playouts).min(),
            ..Plan::new(&self.network, settings, batch)
        };
        if self.limits.infinite {
            // As with the strength: an endless search analyses, it does not play.
            plan.params.contempt = 0.0;
        }
        let limits = if self.checks_blunders(allowed) {
            self.limits.with_share(1.0 - blunder_check::SHARE)
        } else {
            self.limits.clone()
        };
        let timekeeper = Timekeeper::new(&self.signal);
        let stopper = Stopper::new(Watched {
            limits: &limits,
            signal: &self.signal,
            reporter,
            output: &self.output,
            timekeeper: &timekeeper,
            robust: settings.tree.final_move == FinalMove::Robust,
        });
        let seats = self.seats(game, session, Seat { root, plan });
        let search = || self.decide(game, session, reporter, allowed, &seats, &stopper);
        let answer = |found| self.answer_early(game, allowed, reporter, found);
        let found = timekeeper.watch(search, answer);
        self.learn_time_use(session);
        Some(found)
    }

    /// Searches from the `seats` and chooses the move.
    fn decide(
        &self,
        game: &Game,
        session: &mut SearchSession,
        reporter: &Reporter,
        allowed: &[Action],
        seats: &[Seat<'_>],
        stopper: &Stopper<'_>,
    ) -> Found {
        let threads = seats.first().map_or(1, |seat| seat.plan.threads);
        let begun = self.signal.since_go();
        let outcome = match seats {
            [Seat { root, plan }] => session.run(root, plan, stopper),
            seats => self.run_team(game, session, seats, stopper),
        };
        let taken = self.signal.since_go().saturating_sub(begun);
        session.learn_speed(&outcome, threads, taken);
        session.lag().on_pause(stopper.pause());
        if let Some(error) = outcome.error {
            self.output.note(format_args!("the search ended early: {error}"));
        }
        if let Some(world) = seats.first().and_then(|seat| seat.root.world.learned()) {
            self.output.note(format_args!("learned world: {}", world.predictions()));
        }
        let lines = &outcome.snapshot.lines;
        let drawn = match self.strength() {
            Some(strength) => self.draw_by_strength(strength, lines),
            None => self.draw_by_visits(game, lines),
        };
        let answer = match drawn {
            // The reply to expect is in its own line.
            Some(best) => Answer { best: Some(best), ponder: None },
            None => Answer { best: outcome.best, ponder: outcome.ponder },
        };
        let certain = lines.first().is_none_or(|line| [Wdl::WIN, Wdl::LOSS].contains(&line.value));
        // Where endgame tables choose, the check has nothing to say.
        let chooses = |best: &Action| reporter.played(lines, *best) == *best;
        let checks = self.checks_blunders(allowed) && drawn.is_none() && !certain;
        let answer = match answer.best.filter(|best| checks && chooses(best)) {
            Some(chosen) => self
                .check_for_blunder(
                    game,
                    session,
                    allowed,
                    (chosen, outcome.snapshot.playouts),
                    &chooses,
                )
                .unwrap_or(answer),
            None => answer,
        };
        Found { snapshot: outcome.snapshot, answer }
    }

    /// The minibatch of a network of this `timing` on the move's clock, one evaluation now taking `evaluation`.
    pub fn batch(&self, timing: EvalTiming, evaluation: Duration) -> usize {
        let preferred = match self.settings.minibatch_size {
            0 => timing.batch.max(1),
            size => size,
        };
        batch_within(&self.limits, preferred, evaluation)
    }

    /// The tree's move is checked: it plays at full strength, and may choose.
    fn checks_blunders(&self, allowed: &[Action]) -> bool {
        let Limits { infinite, mate, .. } = self.limits;
        self.settings.checks_blunders()
            && self.strength().is_none()
            && !infinite
            && mate.is_none()
            && allowed.len() > 1
    }

    /// The answer in place of `chosen` if that is a blunder and a better move may be chosen. Says so in one line.
    fn check_for_blunder(
        &self,
        game: &Game,
        session: &mut SearchSession,
        allowed: &[Action],
        (chosen, playouts): (Action, u64),
        may_choose: &dyn Fn(&Action) -> bool,
    ) -> Option<Answer> {
        if self.signal.is_stopped() {
            return None;
        }
        let until = self.limits.budget.map(|budget| match self.signal.used() {
            Some(used) if budget.flexible => {
                (used.div_f64(1.0 - blunder_check::SHARE)).min(budget.hard)
            }
            _ => budget.hard,
        });
        let is_over = |positions| match until {
            Some(until) => self.signal.used().is_some_and(|used| used >= until),
            None => positions >= POSITIONS_PER_PLAYOUT * playouts,
        };
        let is_over = &|positions| self.signal.is_over() || is_over(positions);
        let check = BlunderCheck { game, allowed, is_over };
        let refuted = check.refute(chosen, session.alpha_beta()?);
        let refuted = refuted.filter(|refuted| refuted.better.first().is_some_and(may_choose));
        let count = session.count_check(refuted.is_some());
        let Refutation { better, reply, loss, .. } = refuted?;
        let mut after = game.clone();
        let reply = reply.filter(|_| after.play(chosen).is_ok()).map(|reply| after.uci(reply));
        self.output.note(format_args!(
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
    fn draw_by_visits(&self, game: &Game, lines: &[Line<Action>]) -> Option<Action> {
        let temperature = temperature::temperature(&self.settings, game.position())?;
        let decided = |line: &Line<Action>| [Wdl::WIN, Wdl::LOSS].contains(&line.value);
        if decided(lines.first()?) {
            return None;
        }
        let open: Vec<_> = lines.iter().filter(|line| !decided(line)).collect();
        let logits: Vec<f32> = open.iter().map(|line| (line.visits as f32).ln()).collect();
        let line = open.get(temperature::draw(&logits, temperature, self.seed)?)?;
        line.moves.first().copied()
    }

    /// A move that a player of this strength might choose.
    fn draw_by_strength(&self, strength: Strength, lines: &[Line<Action>]) -> Option<Action> {
        let logits: Vec<f32> = lines.iter().map(|line| strength.logit(line)).collect();
        lines.get(temperature::draw(&logits, 1.0, self.seed)?)?.moves.first().copied()
    }

    fn playouts(&self) -> Option<u64> {
        let asked = self.limits.nodes.into_iter();
        asked.chain(self.strength().map(|strength| strength.nodes)).min()
    }
}
