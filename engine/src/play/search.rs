//! One search from `go` to `bestmove`, on a thread of its own.
//!
//! Whatever happens in between (no network, no moves, a panic in a device driver), one `bestmove` is
//! printed, once the GUI may have it. The session goes in and comes out, for the next move to use.

use super::classic::ClassicSearch;
use super::fallback_move::fallback_move;
use super::head_player::{Head, Question};
use super::job::{Answer, Found, Job};
use super::limits::Limits;
use super::mate_question::{MateAnswer, MateQuestion};
use super::report::{self, Reporter};
use super::session::SearchSession;
use super::thinker::{Decision, Thinker};
use super::timekeeper::Timekeeper;
use crate::chess::action::Action;
use crate::chess::game::Game;
use crate::options::settings::{Search, Settings};
use crate::output;
use crate::syzygy::Tables;
use crate::syzygy::root::RootTables;
use crate::world::rules::State;
use mcts::{Snapshot, Wdl};
use nn::rng::Rng;
use shakmaty::Position;
use std::panic::{AssertUnwindSafe, catch_unwind};
use uci::{BestMove, Info};

/// Playouts of a `go mate` once a mate is ruled out: a move is owed, at once. Guess.
const PLAYOUTS_WITHOUT_MATE: u64 = 16;

/// Fifty-move counter from which a level plays the shortest way to a basic mate: the longest, with a rook, takes 16 moves.
const HASTE: u32 = 50;

/// Searches, prints, and returns the session. Blocks until the GUI may have the answer.
pub fn run(mut job: Job) -> SearchSession {
    let mut session = std::mem::take(&mut job.session);
    let answer = match catch_unwind(AssertUnwindSafe(|| job.think(&mut session))) {
        Ok(answer) => answer,
        Err(_) => {
            job.output.note("the search failed inside; playing a plain move");
            session = SearchSession::default();
            job.answer_without_search()
        }
    };
    if let Some(trouble) = job.tables.as_ref().and_then(Tables::take_warning) {
        job.output.note(trouble);
    }
    job.signal.wait();
    job.signal.answer();
    job.output.answer(&[job.best_move(answer)]);
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

impl Job {
    fn think(&self, session: &mut SearchSession) -> Answer {
        let game = match &self.game {
            Ok(game) => game,
            Err(why) => {
                self.output.note(format_args!("no position to search: {why}"));
                return Answer::default();
            }
        };
        let allowed = self.allowed(game);
        if allowed.is_empty() {
            self.output.line(report::no_moves(game.position()));
            return Answer::default();
        }
        let known = self.tables.as_ref().and_then(|tables| RootTables::new(tables, game, &allowed));
        let allowed = match &known {
            Some(known) if self.is_play() && self.compares_moves() => known.keeping(),
            Some(known) if self.is_play() => known.best(),
            _ => allowed,
        };
        let allowed = self.basic_mate(game, &allowed).unwrap_or(allowed);
        let won = known.as_ref().is_some_and(|known| known.value() == Some(Wdl::WIN));
        let lines = self.settings.multipv.min(allowed.len());
        let mut reporter = Reporter::new(game, lines, self.settings.show_wdl)
            .with_live_stats(self.settings.log_live_stats)
            .with_line_counters(self.settings.per_pv_counters);
        let is_tree = matches!(self.settings.search, Search::Mcts | Search::Rollout);
        if is_tree && self.limits.depth.is_some() {
            reporter = reporter.with_depth_of_line();
        }
        if self.tables.is_some() {
            reporter = reporter.with_tables(known);
        }
        self.tell_what_has_no_effect();
        let head = match self.settings.search {
            Search::Mcts if self.limits.nodes == Some(1) && self.strength().is_none() => {
                Some(Head::Prior)
            }
            Search::Mcts | Search::Rollout | Search::Internal => None,
            Search::AlphaBeta | Search::Registered(_) => None,
            Search::ActionValue => Some(Head::ActionValue),
            Search::StateValue => Some(Head::StateValue),
            Search::Policy => Some(Head::Policy),
        };
        let found = match head {
            Some(head) => self.ask_head(game, head, &allowed),
            None if self.settings.search.is_conventional() => {
                self.ask_classic(game, session, &reporter, &allowed)
            }
            None if self.settings.search == Search::Internal => {
                self.think_internally(game, &reporter, &allowed)
            }
            None => match self.find_mate(game, &allowed, won) {
                MateAnswer::Mate(snapshot) => Some(Found::leading(snapshot)),
                MateAnswer::Open => self.search_tree(game, session, &reporter, &allowed, None),
                MateAnswer::NoMate => {
                    let playouts = Some(PLAYOUTS_WITHOUT_MATE);
                    self.search_tree(game, session, &reporter, &allowed, playouts)
                }
            },
        };
        let found = found.unwrap_or_else(Found::nothing);
        self.report(game, &allowed, &reporter, found)
    }

    /// The moves that a level considers where a queen or a rook mates a lone king: those of the tables, or any that still
    /// win, in proportion to its rating.
    fn basic_mate(&self, game: &Game, allowed: &[Action]) -> Option<Vec<Action>> {
        let technique = self.strength()?.technique;
        let board = game.position().board();
        let (own, other) = (game.position().turn(), game.position().turn().other());
        let is_basic = board.by_color(other).count() == 1
            && (board.by_color(own) & board.rooks_and_queens()).any();
        let tree = matches!(self.settings.search, Search::Mcts | Search::Rollout);
        if technique == 0.0 || !is_basic || !tree || !self.is_play() {
            return None;
        }
        let known = RootTables::new(self.technique.as_ref()?, game, allowed)?;
        if known.value() != Some(Wdl::WIN) {
            return None;
        }
        let knows = Rng::from_state(!self.seed).draw(&[technique, 1.0 - technique]) == Some(0);
        let in_haste = game.position().halfmoves() >= HASTE;
        Some(if knows || in_haste { known.best() } else { known.keeping() })
    }

    /// A move is asked for and no more: endgame tables may leave moves out.
    fn is_play(&self) -> bool {
        let Limits { searchmoves, infinite, mate, .. } = &self.limits;
        let Settings { multipv, analyse_mode, .. } = self.settings;
        multipv == 1 && !analyse_mode && !infinite && mate.is_none() && searchmoves.is_empty()
    }

    /// The search has a line for every move and draws none at random, so the tables may choose after it.
    fn compares_moves(&self) -> bool {
        let tree = matches!(self.settings.search, Search::Mcts | Search::Rollout);
        let draws = self.strength().is_some() || self.settings.temperature > 0.0;
        tree && !draws && self.limits.nodes != Some(1)
    }

    /// One head of the network picks the move. None if the network failed.
    fn ask_head(&self, game: &Game, head: Head, allowed: &[Action]) -> Option<Found> {
        let root = State::root(game);
        let world = &head.world(self.network.evaluator.clone(), &self.settings);
        let question = Question {
            head,
            world,
            root: &root,
            allowed,
            settings: &self.settings,
            seed: self.seed,
        };
        match question.answer() {
            Ok(snapshot) => {
                let best = snapshot.lines.first().and_then(|line| line.moves.first()).copied();
                Some(Found { snapshot, answer: Answer { best, ponder: None } })
            }
            Err(error) => {
                self.output.note(error);
                None
            }
        }
    }

    /// A player without a network.
    fn ask_classic(
        &self,
        game: &Game,
        session: &mut SearchSession,
        reporter: &Reporter,
        allowed: &[Action],
    ) -> Option<Found> {
        let (limits, signal, output) = (&self.limits, &*self.signal, &self.output);
        let seed = self.settings.seed;
        let timekeeper = &Timekeeper::new(signal);
        let search =
            ClassicSearch { game, allowed, limits, signal, reporter, output, timekeeper, seed };
        let run = || match self.player {
            Some(player) => search.run_player(player, self.settings.rollouts),
            None => {
                if let Some(shortage) = session.reserve(&self.settings) {
                    output.note(shortage);
                }
                search.run_alpha_beta(session.alpha_beta()?)
            }
        };
        let answer = |found| self.answer_early(game, allowed, reporter, found);
        let snapshot = timekeeper.watch(run, answer)?;
        self.learn_time_use(session);
        (!snapshot.lines.is_empty()).then(|| Found::leading(snapshot))
    }

    /// The network writes its own tree. None if there is no time left for it, or it failed.
    fn think_internally(
        &self,
        game: &Game,
        reporter: &Reporter,
        allowed: &[Action],
    ) -> Option<Found> {
        if self.is_too_late() {
            return None;
        }
        let thinker = Thinker {
            game,
            allowed,
            settings: &self.settings,
            limits: &self.limits,
            signal: &self.signal,
            timing: self.timing,
            reporter,
            output: &self.output,
            seed: self.seed,
        };
        match thinker.decide(&*self.network.evaluator) {
            Ok(found) => found.map(|Decision { snapshot, best, note }| {
                note.iter().for_each(|note| self.output.note(note));
                Found { snapshot, answer: Answer { best: Some(best), ponder: None } }
            }),
            Err(error) => {
                self.output.note(error);
                None
            }
        }
    }

    /// `go mate`, and games that endgame tables call won. Players of other kinds search for themselves.
    fn find_mate(&self, game: &Game, allowed: &[Action], won: bool) -> MateAnswer {
        let settings = &self.settings;
        if settings.search != Search::Mcts || settings.imagines() || self.strength().is_some() {
            return MateAnswer::Open;
        }
        let (limits, signal, output) = (&self.limits, &*self.signal, &self.output);
        let won = won && self.is_play();
        MateQuestion { game, allowed, limits, won, signal, output }.answer()
    }

    /// Ratings are measured for the tree search alone, and some players know only one move.
    fn tell_what_has_no_effect(&self) {
        let search = &self.settings.search;
        if self.strength().is_some() && ![Search::Mcts, Search::Rollout].contains(search) {
            self.output
                .note("UCI_LimitStrength has no effect on this Search: it plays as well as it can");
        }
        if self.settings.temperature > 0.0 && search.is_conventional() {
            self.output
                .note("Temperature has no effect on this Search: it knows only its best move");
        }
    }

    /// Prints the last `info` lines, led by the move to play.
    fn report(&self, game: &Game, allowed: &[Action], reporter: &Reporter, found: Found) -> Answer {
        let (blocks, answer) = self.conclusion(game, allowed, reporter, found);
        blocks.iter().for_each(|block| self.output.block(block));
        answer
    }

    /// Prints the last `info` lines and the answer while the search still runs.
    pub fn answer_early(
        &self,
        game: &Game,
        allowed: &[Action],
        reporter: &Reporter,
        snapshot: Snapshot<Action>,
    ) {
        let (blocks, answer) = self.conclusion(game, allowed, reporter, Found::leading(snapshot));
        let mut lines = blocks.concat();
        lines.push(self.best_move(answer).to_string());
        self.signal.answer();
        if self.output.answer(&lines) {
            self.signal.answered_early();
        }
    }

    /// The last `info` lines, led by the move to play: the one found, or the fallback move.
    fn conclusion(
        &self,
        game: &Game,
        allowed: &[Action],
        reporter: &Reporter,
        found: Found,
    ) -> (Vec<Vec<String>>, Answer) {
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
        if self.settings.verbose_move_stats {
            blocks.push(text(reporter.move_stats(&snapshot)));
        }
        blocks.push(text(reporter.infos(&snapshot, self.signal.since_go())));
        if self.debug {
            blocks.push(text(vec![output::note(self.facts(&snapshot))]));
        }
        let ponder = answer.ponder.filter(|_| answer.best == Some(best)).or(reply);
        (blocks, Answer { best: Some(best), ponder })
    }

    /// Counts of the search that ran, and the network that it asked, for `debug on`.
    fn facts(&self, snapshot: &Snapshot<Action>) -> String {
        let search = &self.settings.search;
        let network = match search {
            Search::AlphaBeta => Some("small network of static evaluations (built in)"),
            _ => search.asks_network().then_some(self.network.name.as_str()),
        };
        let network =
            network.map_or_else(|| "no network".to_owned(), |name| format!("network {name}"));
        if search.is_conventional() {
            return format!("{} positions, {network}", snapshot.nodes);
        }
        format!(
            "tree {} nodes, {} collisions, {} refused, {network}",
            snapshot.nodes, snapshot.collisions, snapshot.refused
        )
    }

    /// The fallback move, reported as such.
    fn answer_without_search(&self) -> Answer {
        let Ok(game) = &self.game else { return Answer::default() };
        let allowed = self.allowed(game);
        if allowed.is_empty() {
            return Answer::default();
        }
        let reporter = Reporter::new(game, 1, self.settings.show_wdl);
        self.report(game, &allowed, &reporter, Found::nothing())
    }

    fn best_move(&self, answer: Answer) -> BestMove {
        let (Ok(game), Some(best)) = (&self.game, answer.best) else {
            return BestMove { best: None, ponder: None };
        };
        let text = game.uci(best);
        let mut state = State::root(game);
        let continues = state.follow(best) == Some(false);
        let reply = answer
            .ponder
            .filter(|_| continues)
            .map(|reply| (reply, reply.to_uci(state.position(), game.mode())));
        let ponder =
            reply.filter(|(reply, _)| state.follow(*reply).is_some()).map(|(_, text)| text);
        BestMove { best: Some(text), ponder }
    }
}
