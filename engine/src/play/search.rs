//! One search from `go` to `bestmove`, on a thread of its own.
//!
//! Whatever happens in between (no network, no moves, a panic in a device driver), one `bestmove` is
//! printed, once the GUI may have it. The tree goes in and comes out, for the next move to use.

use crate::chess::action::Action;
use crate::chess::game::{Game, GameError};
use crate::play::clock::Budget;
use crate::play::head_player::{Head, Question};
use crate::play::host;
use crate::play::limits::Limits;
use crate::play::network::Network;
use crate::play::report::{self, Reporter};
use crate::play::rollout;
use crate::play::session::Tree;
use crate::play::signal::Signal;
use crate::play::stopper::Stopper;
use crate::play::temperature;
use crate::play::warm_up::Pace;
use crate::uci::options::{Search, Settings, WorldModel};
use crate::uci::output::Output;
use crate::world::rules::State;
use crate::world::{AnyWorld, LearnedWorld, RulesWorld};

use mcts::{Ancestor, FinalMove, Line, Params, Snapshot, VirtualCounts, Wdl};
use shakmaty::{Move, Position, Role};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Duration;
use uci::BestMove;

/// Of the random games that `Search rollout` judges by: the same position, the same game.
const SEED: u64 = 0;

/// Everything one search needs.
pub struct Job {
    /// A refused position has no move, only a reason.
    pub game: Result<Game, GameError>,
    pub limits: Limits,
    pub settings: Settings,
    pub network: Network,
    /// As measured when the network was loaded.
    pub pace: Pace,
    pub tree: Tree,
    pub signal: Arc<Signal>,
    pub output: Output,
    pub debug: bool,
    /// For a move drawn by lot.
    pub seed: u64,
}

struct Answer {
    best: Option<Action>,
    ponder: Option<Action>,
}

/// Searches, prints, and returns the tree. Blocks until the GUI may have the answer.
pub fn run(mut job: Job) -> Tree {
    let mut tree = std::mem::take(&mut job.tree);
    let answer = match catch_unwind(AssertUnwindSafe(|| think(&job, &mut tree))) {
        Ok(answer) => answer,
        Err(_) => {
            job.output.note("the search failed inside; playing a plain move");
            tree = Tree::default();
            plain_answer(&job)
        }
    };
    job.signal.wait();
    job.output.line(best_move(&job, &answer));
    tree
}

fn best_move(job: &Job, answer: &Answer) -> BestMove {
    let (Ok(game), Some(best)) = (&job.game, answer.best) else {
        return BestMove { best: None, ponder: None };
    };
    let text = game.uci(best);
    let mut state = State::root(game);
    let goes_on = state.follow(best) == Some(false);
    let reply = answer
        .ponder
        .filter(|_| goes_on)
        .map(|reply| (reply, reply.to_uci(state.position(), game.mode())));
    let ponder = reply.filter(|(reply, _)| state.follow(*reply).is_some()).map(|(_, text)| text);
    BestMove { best: Some(text), ponder }
}

fn think(job: &Job, tree: &mut Tree) -> Answer {
    let none = Answer { best: None, ponder: None };
    let game = match &job.game {
        Ok(game) => game,
        Err(why) => {
            job.output.note(format_args!("no position to search: {why}"));
            return none;
        }
    };
    let legal = game.legal_actions();
    if legal.is_empty() {
        job.output.line(report::no_moves(game.position()));
        return none;
    }
    let allowed = if job.limits.searchmoves.is_empty() { &legal } else { &job.limits.searchmoves };
    let reporter =
        Reporter::new(game, job.settings.multipv.min(allowed.len()), job.settings.show_wdl);
    let head = match job.settings.search {
        Search::Mcts if job.limits.nodes == Some(1) => Some(Head::Prior),
        Search::Mcts | Search::Rollout => None,
        Search::ActionValue => Some(Head::ActionValue),
        Search::StateValue => Some(Head::StateValue),
        Search::Policy => Some(Head::Policy),
    };
    let (snapshot, mut answer) = match head {
        Some(head) => ask_head(job, game, head, allowed),
        None => search_tree(job, game, tree, &reporter),
    };
    let mut snapshot = snapshot.unwrap_or_else(empty);
    let best = answer
        .best
        .filter(|best| allowed.contains(best))
        .unwrap_or_else(|| plain_move(game, allowed));
    report::lead_with(&mut snapshot.lines, best);
    if snapshot.lines.first().and_then(|line| line.moves.first()) != Some(&best) {
        // Nothing is known about this move, but a GUI wants a score with every answer.
        let line =
            Line { moves: vec![best], visits: 0, value: Wdl::DRAW, mate_plies: None, prior: 0.0 };
        snapshot.lines.insert(0, line);
    }
    if answer.ponder.is_none() || answer.best != Some(best) {
        answer.ponder = snapshot.lines.first().and_then(|line| line.moves.get(1)).copied();
    }
    job.output.block(&reporter.infos(&snapshot, elapsed(job)));
    if job.debug {
        job.output.note(format_args!(
            "tree {} nodes, {} collisions, {} refused, network {}",
            snapshot.nodes, snapshot.collisions, snapshot.refused, job.network.name
        ));
    }
    Answer { best: Some(best), ponder: answer.ponder }
}

fn elapsed(job: &Job) -> Duration {
    job.signal.since_go()
}

fn empty() -> Snapshot<Action> {
    Snapshot {
        nodes: 0,
        playouts: 0,
        depth: 1,
        seldepth: 1,
        hashfull: 0,
        lines: Vec::new(),
        refused: 0,
        collisions: 0,
    }
}

fn ask_head(
    job: &Job,
    game: &Game,
    head: Head,
    allowed: &[Action],
) -> (Option<Snapshot<Action>>, Answer) {
    let root = State::root(game);
    let world = &head.world(job.network.evaluator.clone(), &job.settings);
    let question =
        Question { head, world, root: &root, allowed, settings: &job.settings, seed: job.seed };
    match question.answer() {
        Ok(snapshot) => {
            let best = snapshot.lines.first().and_then(|line| line.moves.first()).copied();
            (Some(snapshot), Answer { best, ponder: None })
        }
        Err(error) => {
            job.output.note(error);
            (None, Answer { best: None, ponder: None })
        }
    }
}

fn search_tree(
    job: &Job,
    game: &Game,
    tree: &mut Tree,
    reporter: &Reporter,
) -> (Option<Snapshot<Action>>, Answer) {
    if let Some(note) = tree.reserve(job.settings.hash_mb) {
        job.output.note(note);
    }
    let origin = origin(job);
    let world = world(job, tree, &origin);
    let related = tree.origin.as_ref() == Some(&origin);
    let last = tree.root.take().filter(|_| related);
    let Some(searcher) = &mut tree.searcher else {
        return (None, Answer { best: None, ponder: None });
    };
    // A GPU wants its next batch gathered while it computes one.
    let threads = host::threads(job.settings.threads).max(job.network.evaluator.in_flight());
    let pace = tree.pace.max(job.pace.single);
    searcher.set_params(params(job, pace));
    let path = |back| last.as_ref().and_then(|last| game.continuation_of(last, back));
    // An imagined tree is kept if its new root has come true.
    let forward = path(0).filter(|path| match (world.learned(), &last) {
        (Some(world), Some(last)) => world.came_true(last, path, game),
        _ => true,
    });
    let aside =
        searcher.plies_since_former_root().and_then(path).filter(|_| world.learned().is_none());
    let root = world.root(game);
    let kept = match (forward, aside) {
        // Not where the last search was, but where the one before it had looked: the opponent did not play
        // the move we pondered on.
        (None, Some(aside)) => searcher.reroot(root, Ancestor::FormerRoot, aside),
        (Some(path), _) => searcher.reroot(root, Ancestor::Root, path),
        (None, None) => {
            searcher.set_root(root);
            0
        }
    };
    searcher.restrict_root(&job.limits.searchmoves);
    tree.root = Some(game.clone());
    tree.origin = Some(origin);
    if kept == 0 && too_late(job, pace) {
        return (None, Answer { best: None, ponder: None });
    }
    let robust = job.settings.final_move == FinalMove::Robust;
    let stopper = Stopper::new(&job.limits, &job.signal, reporter, &job.output, robust);
    let begun = job.signal.since_go();
    let outcome = searcher.run(&world, threads, job.limits.nodes, &stopper);
    let taken = job.signal.since_go().saturating_sub(begun);
    if let Ok(playouts @ 1..) = u32::try_from(outcome.snapshot.playouts) {
        let lanes = u32::try_from(threads).unwrap_or(1).min(playouts);
        tree.pace = (tree.pace + taken * lanes / playouts) / 2;
    }
    if let Some(error) = outcome.error {
        job.output.note(format_args!("the search ended early: {error}"));
    }
    if let Some(world) = world.learned() {
        job.output.note(format_args!("learned world: {}", world.tally()));
    }
    let answer = match by_lot(job, game, &outcome.snapshot.lines) {
        // The reply to expect is in its own line.
        Some(best) => Answer { best: Some(best), ponder: None },
        None => Answer { best: outcome.best, ponder: outcome.ponder },
    };
    (Some(outcome.snapshot), answer)
}

/// The draw by lot of the first moves, where it is asked for: by visits, as AlphaZero's. A proven mate is
/// not left to chance, nor is running into one.
fn by_lot(job: &Job, game: &Game, lines: &[Line<Action>]) -> Option<Action> {
    let temperature = temperature::temperature(&job.settings, game.position())?;
    if lines.first()?.mate_plies.is_some() {
        return None;
    }
    let open: Vec<_> = lines.iter().filter(|line| line.mate_plies.is_none()).collect();
    let logits: Vec<f32> = open.iter().map(|line| (line.visits as f32).ln()).collect();
    let line = open.get(temperature::draw(&logits, temperature, job.seed)?)?;
    line.moves.first().copied()
}

/// The root's evaluation cannot be called back, and would take more than the clock still allows: any
/// move is better than the flag.
fn too_late(job: &Job, pace: Duration) -> bool {
    let Some(budget) = job.limits.budget.filter(|budget| budget.flexible) else { return false };
    job.signal.used().is_some_and(|used| used + 2 * pace > budget.hard)
}

/// Where the search looks ahead, and who judges there.
fn world(job: &Job, tree: &mut Tree, origin: &(usize, Settings)) -> AnyWorld {
    let settings = &job.settings;
    if settings.search == Search::Rollout {
        return AnyWorld::Rules(rollout::world(SEED));
    }
    let evaluator = job.network.evaluator.clone();
    let rules = || RulesWorld::new(evaluator.clone(), settings.scoring, settings.state_value_share);
    if settings.world_model == WorldModel::Rules {
        return AnyWorld::Rules(rules());
    }
    let twice = settings.world_model == WorldModel::LearnedTwice;
    match LearnedWorld::new(evaluator.clone(), rules(), tree.imagined(origin)) {
        Some(world) => AnyWorld::Learned(if twice { world.looking_twice() } else { world }),
        None => {
            job.output.note(format_args!(
                "{} imagines no positions; searching by the rules",
                job.network.name
            ));
            AnyWorld::Rules(rules())
        }
    }
}

/// What the values in a tree depend on: the network, and the settings that shape values and priors.
fn origin(job: &Job) -> (usize, Settings) {
    let network = Arc::as_ptr(&job.network.evaluator).cast::<()>() as usize;
    let settings = Settings {
        multipv: 1,
        ponder: false,
        show_wdl: false,
        move_overhead: 0,
        threads: 1,
        temperature: 0.0,
        temperature_moves: 0,
        seed: 0,
        log_file: String::new(),
        ..job.settings.clone()
    };
    (network, settings)
}

fn params(job: &Job, pace: Duration) -> Params {
    let settings = &job.settings;
    if settings.search == Search::Rollout {
        return Params {
            c_puct: settings.c_puct,
            final_move: settings.final_move,
            ..rollout::params(SEED)
        };
    }
    let preferred = match settings.minibatch_size {
        0 => job.pace.batch.max(1),
        size => size,
    };
    Params {
        batch: job.limits.budget.map_or(preferred, |budget| hurried(preferred, budget, pace)),
        c_puct: settings.c_puct,
        tau: settings.prior_temperature,
        top_k: settings.prior_top_k,
        epsilon: settings.prior_epsilon,
        policy_share: settings.policy_share,
        dynamic_virtual: settings
            .dynamic_virtual_counts
            .then_some(VirtualCounts { min: settings.virtual_min, max: settings.virtual_max }),
        static_virtual: settings.static_virtual,
        final_move: settings.final_move,
        ..Params::default()
    }
}

/// The largest minibatch that still leaves eight of them to a move: one that is evaluated across the
/// limit cannot be called back.
fn hurried(preferred: usize, budget: Budget, pace: Duration) -> usize {
    let fit = budget.hard.as_nanos() / 8 / pace.as_nanos().max(1);
    preferred.min(usize::try_from(fit).unwrap_or(usize::MAX)).max(1)
}

fn plain_answer(job: &Job) -> Answer {
    let best = job.game.as_ref().ok().and_then(|game| {
        let legal = game.legal_actions();
        let allowed =
            if job.limits.searchmoves.is_empty() { &legal } else { &job.limits.searchmoves };
        (!allowed.is_empty()).then(|| plain_move(game, allowed))
    });
    if let (Ok(game), Some(best)) = (&job.game, best) {
        let mut snapshot = empty();
        snapshot.lines.push(Line {
            moves: vec![best],
            visits: 0,
            value: Wdl::DRAW,
            mate_plies: None,
            prior: 0.0,
        });
        job.output
            .block(&Reporter::new(game, 1, job.settings.show_wdl).infos(&snapshot, elapsed(job)));
    }
    Answer { best, ponder: None }
}

/// A move without network or search, for when both are gone: mate, else the best capture, else the first.
fn plain_move(game: &Game, allowed: &[Action]) -> Action {
    let worth = |action: &Action| {
        let Some(m) = action.to_move(game.position()) else { return -1 };
        let mut after = game.position().clone();
        after.play_unchecked(m);
        if after.is_checkmate() { 100 } else { material(m) }
    };
    // The first of the best, so that repeated runs agree.
    let best = allowed.iter().rev().max_by_key(|action| worth(action));
    best.copied().unwrap_or(Action::from(0))
}

fn material(m: Move) -> i32 {
    let points = |role: Role| [0, 1, 3, 3, 5, 9, 0][role as usize];
    2 * (m.capture().map_or(0, points) + m.promotion().map_or(0, points))
        - i32::from(m.is_capture()) * points(m.role()) / 2
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plain_move_mates_or_captures() {
        let game = Game::from_fen("7k/8/5KQ1/8/8/8/q7/8 w - - 0 1", false).unwrap();
        let best = plain_move(&game, &game.legal_actions());
        assert_eq!(game.uci(best), "g6g7");
        let game = Game::from_fen("7k/8/8/3q4/4P3/8/8/K7 w - - 0 1", false).unwrap();
        assert_eq!(game.uci(plain_move(&game, &game.legal_actions())), "e4d5");
    }

    #[test]
    fn little_time_means_small_batches() {
        let budget = Budget {
            soft: Duration::from_millis(40),
            hard: Duration::from_millis(80),
            flexible: true,
        };
        assert_eq!(hurried(16, budget, Duration::from_millis(5)), 2);
        assert_eq!(hurried(16, budget, Duration::from_secs(1)), 1);
        assert_eq!(hurried(16, budget, Duration::ZERO), 16);
    }
}
