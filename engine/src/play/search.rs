//! One search from `go` to `bestmove`, on a thread of its own.
//!
//! Whatever happens in between (no network, no moves, a panic in a device driver), one `bestmove` is
//! printed, once the GUI may have it. The session goes in and comes out, for the next move to use.

use super::blunder_check::{self, BlunderCheck, POSITIONS_PER_PLAYOUT, Refutation};
use super::classic::ClassicSearch;
use super::fallback_move::fallback_move;
use super::head_player::{Head, Question};
use super::host;
use super::limits::Limits;
use super::mate_question::{MateAnswer, MateQuestion};
use super::network::Network;
use super::params::{batch_within, search_params};
use super::player::Players;
use super::report::{self, Reporter};
use super::session::{Plan, SearchSession};
use super::signal::Signal;
use super::stopper::{Stopper, Watched};
use super::strength::Strength;
use super::temperature;
use super::thinker::{Decision, Thinker};
use super::warm_up::EvalTiming;
use crate::chess::action::Action;
use crate::chess::game::{Game, GameError};
use crate::options::settings::{Search, Settings};
use crate::output::Output;
use crate::syzygy::Tables;
use crate::syzygy::root::RootTables;
use crate::world::rules::State;
use mcts::{FinalMove, Line, Snapshot, Wdl};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Duration;
use uci::BestMove;

/// Everything one search needs.
pub struct Job {
    /// A refused position has no move, only a reason.
    pub game: Result<Game, GameError>,
    /// What the `go` asked for.
    pub limits: Limits,
    /// The options when it came.
    pub settings: Settings,
    /// Who evaluates.
    pub network: Network,
    /// As measured when the network was loaded.
    pub timing: EvalTiming,
    /// Endgame tables, if there are any.
    pub tables: Option<Tables>,
    /// What earlier searches left.
    pub session: SearchSession,
    /// Stop, ponderhit, the clock.
    pub signal: Arc<Signal>,
    /// Those of the executable beside the engine's own.
    pub players: Players,
    /// To the GUI.
    pub output: Output,
    /// Say more.
    pub debug: bool,
    /// For a move drawn at random.
    pub seed: u64,
}

/// Playouts of a `go mate` once a mate is ruled out: a move is owed, at once. Guess.
const PLAYOUTS_WITHOUT_MATE: u64 = 16;

/// What a search or a head found.
struct Found {
    snapshot: Snapshot<Action>,
    answer: Answer,
}

/// What is played, and the reply to ponder on.
#[derive(Clone, Copy, Default)]
struct Answer {
    best: Option<Action>,
    ponder: Option<Action>,
}

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
    job.output.line(job.best_move(answer));
    if let (Ok(game), Some(clock), Some(used)) = (&job.game, job.limits.clock, job.signal.used()) {
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
        let won = known.as_ref().is_some_and(|known| known.value() == Some(Wdl::WIN));
        let lines = self.settings.multipv.min(allowed.len());
        let mut reporter = Reporter::new(game, lines, self.settings.shows_wdl())
            .with_live_stats(self.settings.log_live_stats)
            .with_line_counters(self.settings.per_pv_counters);
        if self.tables.is_some() {
            reporter = reporter.with_tables(known);
        }
        self.tell_what_has_no_effect();
        let head = match self.settings.search {
            Search::Mcts if self.limits.nodes == Some(1) && self.strength().is_none() => {
                Some(Head::Prior)
            }
            Search::Mcts | Search::Rollout | Search::Internal => None,
            Search::AlphaBeta
            | Search::ClassicalAlphaBeta
            | Search::Minimax
            | Search::Uct
            | Search::UctHeuristics => None,
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

    /// The moves to choose from.
    fn allowed(&self, game: &Game) -> Vec<Action> {
        let wished = &self.limits.searchmoves;
        if wished.is_empty() { game.legal_actions() } else { wished.clone() }
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
        let search = ClassicSearch { game, allowed, limits, signal, reporter, output, seed };
        let wanted = self.settings.search;
        let snapshot = match self.players.iter().find(|(search, _)| *search == wanted) {
            Some((_, player)) => search.run_player(*player, self.settings.rollouts),
            None => {
                if let Some(shortage) = session.reserve(&self.settings) {
                    output.note(shortage);
                }
                search.run_alpha_beta(session.alpha_beta()?)
            }
        };
        let snapshot = snapshot?;
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
        if self.is_too_late(self.timing.single) {
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

    /// Tree search of at most `playouts`, if they are limited. None if there is no time left for it.
    fn search_tree(
        &self,
        game: &Game,
        session: &mut SearchSession,
        reporter: &Reporter,
        allowed: &[Action],
        playouts: Option<u64>,
    ) -> Option<Found> {
        let settings = &self.settings;
        if let Some(shortage) = session.reserve(settings) {
            self.output.note(shortage);
        }
        let world = session.world(&self.network, settings).with_tables(self.tables.clone());
        if settings.imagines() && world.learned().is_none() {
            self.output.note(format_args!(
                "{} imagines no positions; searching by the rules",
                self.network.name
            ));
        }
        let kept = session.reroot(&world, game);
        let evaluation = session.evaluation_time(self.timing.single);
        if kept == 0 && self.is_too_late(evaluation) {
            return None;
        }
        let preferred = match settings.minibatch_size {
            0 => self.timing.batch.max(1),
            size => size,
        };
        let batch = batch_within(&self.limits, preferred, evaluation);
        let mut params = search_params(settings, batch);
        if self.limits.infinite {
            // As with `strength`: an endless search is analysis.
            params.contempt = 0.0;
        }
        let lanes = self.network.evaluator.in_flight();
        let plan = Plan {
            params,
            searchmoves: allowed,
            // A GPU wants its next batch gathered while it computes one.
            threads: host::threads(settings.threads).max(lanes),
            playouts: self.playouts().into_iter().chain(playouts).min(),
        };
        let checks = self.checks_blunders(allowed);
        let limits = if checks {
            self.limits.with_share(1.0 - blunder_check::SHARE)
        } else {
            self.limits.clone()
        };
        let stopper = Stopper::new(Watched {
            limits: &limits,
            signal: &self.signal,
            reporter,
            output: &self.output,
            robust: settings.final_move == FinalMove::Robust,
        });
        let begun = self.signal.since_go();
        let outcome = session.run(&world, &plan, &stopper);
        let taken = self.signal.since_go().saturating_sub(begun);
        session.learn_speed(&outcome, plan.threads, taken);
        session.lag().on_pause(stopper.pause());
        if let Some(error) = outcome.error {
            self.output.note(format_args!("the search ended early: {error}"));
        }
        if let Some(world) = world.learned() {
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
        let answer = match answer.best.filter(|_| checks && drawn.is_none() && !certain) {
            Some(chosen) => self
                .check_for_blunder(game, session, allowed, (chosen, outcome.snapshot.playouts))
                .unwrap_or(answer),
            None => answer,
        };
        self.learn_time_use(session);
        Some(Found { snapshot: outcome.snapshot, answer })
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

    /// The answer in place of `chosen` if that is a blunder. Says so in one line.
    fn check_for_blunder(
        &self,
        game: &Game,
        session: &mut SearchSession,
        allowed: &[Action],
        (chosen, playouts): (Action, u64),
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

    /// How much of its soft limit the move took. A stop by the GUI or a pondered move says nothing about that.
    fn learn_time_use(&self, session: &mut SearchSession) {
        let own = !self.limits.ponder && !self.signal.is_stopped();
        if let Some(budget) = self.limits.budget.filter(|budget| own && budget.flexible) {
            session.learn_time_use(self.signal.since_go(), budget.soft);
        }
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

    /// The rating to play at; none for an endless search, which is analysis.
    fn strength(&self) -> Option<Strength> {
        Strength::of(&self.settings).filter(|_| !self.limits.infinite)
    }

    /// Ratings are measured for the tree search alone, and some players know only one move.
    fn tell_what_has_no_effect(&self) {
        let search = self.settings.search;
        if self.strength().is_some() && ![Search::Mcts, Search::Rollout].contains(&search) {
            self.output
                .note("UCI_LimitStrength has no effect on this Search: it plays as well as it can");
        }
        if self.settings.temperature > 0.0 && search.is_conventional() {
            self.output
                .note("Temperature has no effect on this Search: it knows only its best move");
        }
    }

    fn playouts(&self) -> Option<u64> {
        let asked = self.limits.nodes.into_iter();
        asked.chain(self.strength().map(|strength| strength.nodes)).min()
    }

    /// A move that a player of this strength might choose.
    fn draw_by_strength(&self, strength: Strength, lines: &[Line<Action>]) -> Option<Action> {
        let logits: Vec<f32> = lines.iter().map(|line| strength.logit(line)).collect();
        lines.get(temperature::draw(&logits, 1.0, self.seed)?)?.moves.first().copied()
    }

    /// The root's evaluation cannot be interrupted and may take longer than the clock runs: any move is better than
    /// the flag. It may take longer than the move's own limit, for a move without an evaluation is a blunder.
    fn is_too_late(&self, evaluation: Duration) -> bool {
        let Some(budget) = self.limits.budget.filter(|budget| budget.flexible) else {
            return false;
        };
        self.signal.used().is_some_and(|used| used + 2 * evaluation > budget.flag)
    }

    /// Prints the last `info` lines, led by the move to play: the one found, or the fallback move.
    fn report(&self, game: &Game, allowed: &[Action], reporter: &Reporter, found: Found) -> Answer {
        let Found { mut snapshot, answer } = found;
        let found = answer.best.filter(|best| allowed.contains(best));
        let best = found.unwrap_or_else(|| fallback_move(game, &reporter.choice(allowed)));
        report::lead_with(&mut snapshot.lines, best);
        reporter.sort(&mut snapshot.lines);
        let first = snapshot.lines.first().and_then(|line| line.moves.first());
        let best = first.copied().unwrap_or(best);
        let reply = snapshot.lines.first().and_then(|line| line.moves.get(1)).copied();
        if self.settings.verbose_move_stats {
            self.output.block(&reporter.move_stats(&snapshot));
        }
        self.output.block(&reporter.infos(&snapshot, self.signal.since_go()));
        if self.debug {
            self.output.note(format_args!(
                "tree {} nodes, {} collisions, {} refused, network {}",
                snapshot.nodes, snapshot.collisions, snapshot.refused, self.network.name
            ));
        }
        let ponder = answer.ponder.filter(|_| answer.best == Some(best)).or(reply);
        Answer { best: Some(best), ponder }
    }

    /// The fallback move, reported as such.
    fn answer_without_search(&self) -> Answer {
        let Ok(game) = &self.game else { return Answer::default() };
        let allowed = self.allowed(game);
        if allowed.is_empty() {
            return Answer::default();
        }
        let reporter = Reporter::new(game, 1, self.settings.shows_wdl());
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

impl Found {
    /// The first line's moves are the answer.
    fn leading(snapshot: Snapshot<Action>) -> Found {
        let moves = snapshot.lines.first().map(|line| line.moves.as_slice()).unwrap_or_default();
        let answer = Answer { best: moves.first().copied(), ponder: moves.get(1).copied() };
        Found { snapshot, answer }
    }

    /// Neither a move nor a number.
    fn nothing() -> Found {
        Found { snapshot: Snapshot::default(), answer: Answer::default() }
    }
}
