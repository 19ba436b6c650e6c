//! One search from `go` to `bestmove`, on a thread of its own.
//!
//! Whatever happens in between (no network, no moves, a panic in a device driver), one `bestmove` is
//! printed, once the GUI may have it. The session goes in and comes out, for the next move to use.

use super::conclusion::{MoveChoice, answer_without_search, best_move};
use super::job::{Answer, Found, Job};
use super::mate_question::{MateAnswer, MateQuestion};
use super::tree_search::search_tree;
use crate::options::settings::Search;
use crate::play::clock::timekeeper::Timekeeper;
use crate::play::players::classic::ClassicSearch;
use crate::play::players::head_player::{Head, Question};
use crate::play::players::thinker::{Decision, Thinker};
use crate::play::report::{self, Reporter};
use crate::play::tree::session::SearchSession;
use crate::world::rules::RulesState;
use chess::action::Action;
use chess::game::Game;
use chess::syzygy::root::RootTables;
use chess::syzygy::{TableResult, Tables};
use nn::rng::Rng;
use shakmaty::Position;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::OnceLock;

/// Playouts of a `go mate` once a mate is ruled out: a move is owed, at once. Guess.
const PLAYOUTS_WITHOUT_MATE: u64 = 16;

/// Fifty-move counter from which a level plays the shortest way to a basic mate: the longest, with a rook, takes 16 moves.
const HASTE: u32 = 50;

/// Searches, prints, and returns the session. Blocks until the GUI may have the answer.
pub fn run(mut job: Job) -> SearchSession {
    let session = std::mem::take(&mut job.session);
    let job = &job;
    let moves = KnownMoves::new();
    let timekeeper = Timekeeper::new(&job.signal);
    // The answer is printed before the timekeeper's thread has ended, for it may wait for a core, too.
    let search = || answer(job, session, &timekeeper, &moves);
    let answer_early = |found| {
        if let (Ok(game), Some((allowed, reporter))) = (&job.game, moves.get()) {
            MoveChoice { job, game, allowed, reporter }.answer_early(found);
        }
    };
    timekeeper.watch(search, answer_early)
}

/// The moves to choose from and the reporter, once they are known.
type KnownMoves = OnceLock<(Vec<Action>, Reporter)>;

/// Searches and prints. Returns the session.
fn answer(
    job: &Job,
    mut session: SearchSession,
    timekeeper: &Timekeeper<'_>,
    moves: &KnownMoves,
) -> SearchSession {
    let think = || think(job, &mut session, timekeeper, moves);
    let answer = match catch_unwind(AssertUnwindSafe(think)) {
        Ok(answer) => answer,
        Err(_) => {
            job.output.note("the search failed inside; playing a plain move");
            session = SearchSession::default();
            answer_without_search(job)
        }
    };
    if let Some(trouble) = job.tables.as_ref().and_then(Tables::take_warning) {
        job.output.note(trouble);
    }
    job.signal.wait();
    job.signal.answer();
    job.output.answer(&[best_move(job, answer)]);
    let used = job.signal.used();
    if let (Some(budget), Some(used)) = (job.limits.budget, used) {
        session.lag().on_end(budget, used);
    }
    let used = job.signal.used_early().or(used);
    if let (Ok(game), Some(clock), Some(used)) = (&job.game, job.limits.clock, used) {
        session.lag().on_best_move(game, clock, used);
    }
    session
}

fn think(
    job: &Job,
    session: &mut SearchSession,
    timekeeper: &Timekeeper<'_>,
    moves: &KnownMoves,
) -> Answer {
    let game = match &job.game {
        Ok(game) => game,
        Err(why) => {
            job.output.note(format_args!("no position to search: {why}"));
            return Answer::default();
        }
    };
    let allowed = job.allowed(game);
    if allowed.is_empty() {
        job.output.line(report::no_moves(game.position()));
        return Answer::default();
    }
    let known = job.tables.as_ref().and_then(|tables| RootTables::new(tables, game, &allowed));
    let allowed = match &known {
        Some(known) if job.is_play() && job.compares_moves() => known.keeping(),
        Some(known) if job.is_play() => known.best(),
        _ => allowed,
    };
    let allowed = basic_mate(job, game, &allowed).unwrap_or(allowed);
    let won = known.as_ref().is_some_and(|known| known.value() == Some(TableResult::Win));
    let lines = job.settings.multipv.min(allowed.len());
    let mut reporter = Reporter::new(game, lines, job.settings.show_wdl)
        .with_live_stats(job.settings.log_live_stats)
        .with_line_counters(job.settings.per_pv_counters);
    let is_tree = matches!(job.settings.search, Search::Mcts | Search::Rollout);
    if is_tree && job.limits.depth.is_some() {
        reporter = reporter.with_depth_of_line();
    }
    if job.tables.is_some() {
        reporter = reporter.with_tables(known);
    }
    tell_what_has_no_effect(job);
    let (allowed, reporter) = moves.get_or_init(|| (allowed, reporter));
    let choice = &MoveChoice { job, game, allowed, reporter };
    let head = match job.settings.search {
        Search::Mcts if job.limits.nodes == Some(1) && job.strength().is_none() => {
            Some(Head::Prior)
        }
        Search::Mcts | Search::Rollout | Search::Internal => None,
        Search::AlphaBeta | Search::Registered(_) => None,
        Search::ActionValue => Some(Head::ActionValue),
        Search::StateValue => Some(Head::StateValue),
        Search::Policy => Some(Head::Policy),
    };
    let found = match head {
        Some(head) => ask_head(job, game, head, allowed),
        None if job.settings.search.is_conventional() => ask_classic(choice, session, timekeeper),
        None if job.settings.search == Search::Internal => think_internally(choice),
        None => match find_mate(job, game, allowed, won) {
            MateAnswer::Mate(snapshot) => Some(Found::leading(snapshot)),
            MateAnswer::Open => search_tree(choice, session, timekeeper, None),
            MateAnswer::NoMate => {
                search_tree(choice, session, timekeeper, Some(PLAYOUTS_WITHOUT_MATE))
            }
        },
    };
    choice.report(found.unwrap_or_else(Found::nothing))
}

/// The moves that a level considers where a queen or a rook mates a lone king: those of the tables, or any that still
/// win, in proportion to its rating.
fn basic_mate(job: &Job, game: &Game, allowed: &[Action]) -> Option<Vec<Action>> {
    let technique = job.strength()?.technique;
    let board = game.position().board();
    let (own, other) = (game.position().turn(), game.position().turn().other());
    let is_basic = board.by_color(other).count() == 1
        && (board.by_color(own) & board.rooks_and_queens()).any();
    let tree = matches!(job.settings.search, Search::Mcts | Search::Rollout);
    if technique == 0.0 || !is_basic || !tree || !job.is_play() {
        return None;
    }
    let known = RootTables::new(job.technique.as_ref()?, game, allowed)?;
    if known.value() != Some(TableResult::Win) {
        return None;
    }
    let knows = Rng::from_state(!job.seed).draw(&[technique, 1.0 - technique]) == Some(0);
    let in_haste = game.position().halfmoves() >= HASTE;
    Some(if knows || in_haste { known.best() } else { known.keeping() })
}

/// One head of the network picks the move. None if the network failed.
fn ask_head(job: &Job, game: &Game, head: Head, allowed: &[Action]) -> Option<Found> {
    let root = RulesState::root(game);
    let world = &head.world(job.network.evaluator.clone(), &job.settings);
    let question =
        Question { head, world, root: &root, allowed, settings: &job.settings, seed: job.seed };
    match question.answer() {
        Ok(snapshot) => {
            let best = snapshot.lines.first().and_then(|line| line.moves.first()).copied();
            Some(Found { snapshot, answer: Answer { best, ponder: None } })
        }
        Err(error) => {
            job.output.note(error);
            None
        }
    }
}

/// A player without a network.
fn ask_classic(
    choice: &MoveChoice<'_>,
    session: &mut SearchSession,
    timekeeper: &Timekeeper<'_>,
) -> Option<Found> {
    let MoveChoice { job, game, allowed, reporter } = *choice;
    let (limits, signal, output) = (&job.limits, &*job.signal, &job.output);
    let seed = job.settings.seed;
    let search =
        ClassicSearch { game, allowed, limits, signal, reporter, output, timekeeper, seed };
    let snapshot = match job.player {
        Some(player) => search.run_player(player, job.settings.rollouts),
        None => {
            if let Some(shortage) = session.reserve(&job.settings) {
                output.note(shortage);
            }
            search.run_alpha_beta(session.alpha_beta()?)
        }
    };
    let snapshot = snapshot?;
    job.learn_time_use(session);
    (!snapshot.lines.is_empty()).then(|| Found::leading(snapshot))
}

/// The network writes its own tree. None if there is no time left for it, or it failed.
fn think_internally(choice: &MoveChoice<'_>) -> Option<Found> {
    let MoveChoice { job, game, allowed, reporter } = *choice;
    if job.is_too_late() {
        return None;
    }
    let thinker = Thinker {
        game,
        allowed,
        settings: &job.settings,
        limits: &job.limits,
        signal: &job.signal,
        timing: job.timing,
        reporter,
        output: &job.output,
        seed: job.seed,
    };
    match thinker.decide(&*job.network.evaluator) {
        Ok(found) => found.map(|Decision { snapshot, best, note }| {
            note.iter().for_each(|note| job.output.note(note));
            Found { snapshot, answer: Answer { best: Some(best), ponder: None } }
        }),
        Err(error) => {
            job.output.note(error);
            None
        }
    }
}

/// `go mate`, and games that endgame tables call won. Players of other kinds search for themselves.
fn find_mate(job: &Job, game: &Game, allowed: &[Action], won: bool) -> MateAnswer {
    let settings = &job.settings;
    if settings.search != Search::Mcts || settings.imagines() || job.strength().is_some() {
        return MateAnswer::Open;
    }
    let (limits, signal, output) = (&job.limits, &*job.signal, &job.output);
    let won = won && job.is_play();
    MateQuestion { game, allowed, limits, won, signal, output }.answer()
}

/// Ratings are measured for the tree search alone, and some players know only one move.
fn tell_what_has_no_effect(job: &Job) {
    let search = &job.settings.search;
    if job.strength().is_some() && ![Search::Mcts, Search::Rollout].contains(search) {
        job.output
            .note("UCI_LimitStrength has no effect on this Search: it plays as well as it can");
    }
    if job.settings.temperature > 0.0 && search.is_conventional() {
        job.output.note("Temperature has no effect on this Search: it knows only its best move");
    }
}
