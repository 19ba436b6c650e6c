//! The end of a search: its last `info` lines and its answer.

use super::fallback_move::fallback_move;
use super::job::{Answer, Found, Job};
use crate::options::settings::Search;
use crate::output;
use crate::play::report::{self, Reporter};
use crate::world::rules::RulesState;
use chess::action::Action;
use chess::game::Game;
use mcts::Snapshot;
use uci::{BestMove, Info};

/// The choice of one move.
#[derive(Clone, Copy)]
pub struct MoveChoice<'a> {
    /// The request.
    pub job: &'a Job,
    /// Its last position is the one to move in.
    pub game: &'a Game,
    /// The moves to choose from; not empty.
    pub allowed: &'a [Action],
    /// Writes `info` lines.
    pub reporter: &'a Reporter,
}

impl MoveChoice<'_> {
    /// Prints the last `info` lines, led by the move to play.
    pub fn report(&self, found: Found) -> Answer {
        let (blocks, answer) = self.conclusion(found);
        blocks.iter().for_each(|block| self.job.output.block(block));
        answer
    }

    /// Prints the last `info` lines and the answer while the search still runs.
    pub fn answer_early(&self, snapshot: Snapshot<Action>) {
        let (blocks, answer) = self.conclusion(Found::leading(snapshot));
        let mut lines = blocks.concat();
        lines.push(best_move(self.job, answer).to_string());
        self.job.signal.answer();
        if self.job.output.answer(&lines) {
            self.job.signal.answered_early();
        }
    }

    /// The last `info` lines, led by the move to play: the one found, or the fallback move.
    fn conclusion(&self, found: Found) -> (Vec<Vec<String>>, Answer) {
        let MoveChoice { job, game, allowed, reporter } = *self;
        let text = |lines: Vec<Info>| lines.iter().map(Info::to_string).collect();
        let Found { mut snapshot, answer } = found;
        let found = answer.best.filter(|best| allowed.contains(best));
        let best = found.unwrap_or_else(|| fallback_move(game, &reporter.choice(allowed)));
        report::lead_with(&mut snapshot.lines, best);
        reporter.sort(&mut snapshot.lines);
        let first = snapshot.lines.first().and_then(|line| line.moves.first());
        let best = first.copied().unwrap_or(best);
        let reply = snapshot.lines.first().and_then(|line| line.moves.get(1)).copied();
        let mut blocks: Vec<Vec<String>> = Vec::new();
        if job.settings.verbose_move_stats {
            blocks.push(text(reporter.move_stats(&snapshot)));
        }
        blocks.push(text(reporter.infos(&snapshot, job.signal.since_go())));
        if job.debug {
            blocks.push(text(vec![output::note(facts(job, &snapshot))]));
        }
        let ponder = answer.ponder.filter(|_| answer.best == Some(best)).or(reply);
        (blocks, Answer { best: Some(best), ponder })
    }
}

/// Counts of the search that ran, and the network that it asked, for `debug on`.
fn facts(job: &Job, snapshot: &Snapshot<Action>) -> String {
    let search = &job.settings.search;
    let network = match search {
        Search::AlphaBeta => Some("small network of static evaluations (built in)"),
        _ => search.asks_network().then_some(job.network.name.as_str()),
    };
    let network = network.map_or_else(|| "no network".to_owned(), |name| format!("network {name}"));
    if search.is_conventional() {
        return format!("{} positions, {network}", snapshot.nodes);
    }
    format!(
        "tree {} nodes, {} collisions, {} refused, {network}",
        snapshot.nodes, snapshot.collisions, snapshot.refused
    )
}

/// The fallback move, reported as such.
pub fn answer_without_search(job: &Job) -> Answer {
    let Ok(game) = &job.game else { return Answer::default() };
    let allowed = job.allowed(game);
    if allowed.is_empty() {
        return Answer::default();
    }
    let reporter = Reporter::new(game, 1, job.settings.show_wdl);
    MoveChoice { job, game, allowed: &allowed, reporter: &reporter }.report(Found::nothing())
}

/// The answer as the GUI reads it.
pub fn best_move(job: &Job, answer: Answer) -> BestMove {
    let (Ok(game), Some(best)) = (&job.game, answer.best) else {
        return BestMove { best: None, ponder: None };
    };
    let text = game.uci(best);
    let mut state = RulesState::root(game);
    let continues = state.follow(best) == Some(false);
    let reply = answer
        .ponder
        .filter(|_| continues)
        .map(|reply| (reply, reply.to_uci(state.position(), game.mode())));
    let ponder = reply.filter(|(reply, _)| state.follow(*reply).is_some()).map(|(_, text)| text);
    BestMove { best: Some(text), ponder }
}
