//! One game of self-play and its record: the visits and values of every search.
//!
//! Few searches are full ones, with root noise; only their visits are policy targets. The others are quick and only
//! bring the game to its end, which every position learns from (playout cap randomization: Wu 2019, KataGo, section
//! 3.1). A game depends on its seed, the network and the recipe alone.

use super::search::{UntilProven, draw_by_visits};
use chess::action::Action;
use chess::game::Game;
use chess::syzygy::{TableResult, Tables};
use engine::options::settings::Settings;
use engine::play::tree::params::{rules_world, search_params};
use engine::world::RulesWorld;
use engine::world::rules::RulesState;
use mcts::{Ancestor, Line, Params, Searcher, Wdl};
use nn::encode::canonical_moves;
use nn::rng::Rng;
use nn::{EvalError, Evaluator};
use shakmaty::{Color, Position};
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use train::data::DataError;
use train::data::label::{stored_score, stored_value};
use train::data::record::{GameResult, Header, MATE_IN_ONE, MavgGame, VALUE_UNKNOWN};

/// Memory of a tree: several times what a full search fills.
const TREE_BYTES: usize = 16 << 20;
/// Visits from which a move's mean value is a target.
const KNOWN_VISITS: u64 = 4;
/// Part of a search's playouts that is new even if the kept tree has enough. Guess.
const NEW_SHARE: u64 = 4;
/// How the games are played.
#[derive(Clone, Debug, PartialEq)]
pub struct Recipe {
    /// Visits of a full search.
    pub full: u64,
    /// Visits of a quick search.
    pub quick: u64,
    /// Share of full searches.
    pub full_share: f64,
    /// Share of Dirichlet noise in the root's priors of full searches (paper 004: 0.25).
    pub noise: f32,
    /// Plies at the start of a game whose moves are drawn in proportion to their visits; then the most visited is played.
    pub drawn_plies: usize,
    /// Leaves of a minibatch.
    pub batch: usize,
    /// Plies after which a game counts as drawn.
    pub max_plies: usize,
    /// Half of the games begin with one to this many random plies; 0 = none.
    pub random_plies: usize,
    /// Rules alone (paper 004): no endgame tables, no look for a mate in one before a position is searched.
    pub rules_only: bool,
    /// Options of the search.
    pub settings: Settings,
}

/// Plays games against itself, one at a time.
pub struct SelfPlayer<'a> {
    recipe: &'a Recipe,
    world: RulesWorld,
    tables: Option<Tables>,
    params: Params,
    searcher: Searcher<RulesWorld>,
    stop: &'a AtomicBool,
}

/// Reason for the end of a game without a record.
#[derive(Debug)]
pub enum SelfPlayError {
    /// The network failed.
    Eval(EvalError),
    /// The record cannot hold a position.
    Data(DataError),
}

impl fmt::Display for SelfPlayError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SelfPlayError::Eval(why) => why.fmt(f),
            SelfPlayError::Data(why) => why.fmt(f),
        }
    }
}

impl std::error::Error for SelfPlayError {}

engine::process::errors::wraps! { SelfPlayError: Eval(EvalError), Data(DataError) }

impl<'a> SelfPlayer<'a> {
    /// A player that searches as the recipe's options say. `stop` ends a game without a record.
    #[must_use]
    pub fn new(
        recipe: &'a Recipe,
        evaluator: Arc<dyn Evaluator>,
        tables: Option<Tables>,
        stop: &'a AtomicBool,
    ) -> SelfPlayer<'a> {
        let settings = &recipe.settings;
        let params = search_params(settings, recipe.batch);
        let tables = tables.filter(|_| !recipe.rules_only);
        let world = match recipe.rules_only {
            true => RulesWorld::new(evaluator, settings.scoring, settings.state_value_share),
            false => rules_world(evaluator, settings).with_tables(tables.clone()),
        };
        let searcher = Searcher::new(params.clone(), TREE_BYTES);
        SelfPlayer { recipe, world, tables, params, searcher, stop }
    }

    /// Plays a game from `start` to its end. None if it was stopped.
    ///
    /// # Errors
    /// The network failed.
    pub fn play(&mut self, start: &Game, seed: u64) -> Result<Option<MavgGame>, SelfPlayError> {
        let mut rng = Rng::from_state(seed);
        let mut game = self.opened(start, &mut rng);
        let chess960 = game.mode().is_chess960();
        let header = Header::new(game.position().clone(), chess960, GameResult::Unknown);
        let mut record = MavgGame::new(header);
        // A new tree: an old one is compacted at another time, and rounds a value differently.
        self.searcher = Searcher::new(self.params.clone(), TREE_BYTES);
        self.searcher.set_root(RulesState::root(&game));
        let mut kept = 0;
        let result = loop {
            if let Some(result) = self.result(&game) {
                break result;
            }
            let full = rng.chance(self.recipe.full_share);
            let lines = self.search(full, kept, &mut rng)?;
            if self.stop.load(Ordering::Relaxed) {
                return Ok(None);
            }
            let drawn = record.positions.len() < self.recipe.drawn_plies;
            let Some(chosen) = choose(&lines, drawn, &mut rng) else { return Ok(None) };
            add(&mut record, &game, &lines, chosen, full)?;
            if game.play(chosen).is_err() {
                log::error!("self-play: {} is illegal in {}", game.uci(chosen), game.fen());
                return Ok(None);
            }
            kept = self.searcher.reroot(RulesState::root(&game), Ancestor::Root, &[chosen]);
        };
        record.header.result = result;
        Ok(Some(record))
    }

    /// A game from `start`, or from where random plies lead to if the recipe wants that and they end no game.
    fn opened(&self, start: &Game, rng: &mut Rng) -> Game {
        let most = self.recipe.random_plies;
        if most == 0 || rng.chance(0.5) {
            return start.clone();
        }
        let mut game = start.clone();
        for _ in 0..=rng.below(most) {
            let legal = canonical_moves(game.position());
            let Some(&m) = legal.get(rng.below(legal.len().max(1))) else { return start.clone() };
            if game.play(Action::new(m)).is_err() || game.ending().is_some() {
                return start.clone();
            }
        }
        Game::new(game.position().clone(), game.mode())
    }

    /// The result of a game that is over, or that the endgame tables decide.
    fn result(&self, game: &Game) -> Option<GameResult> {
        if let Some(ending) = game.ending() {
            return Some(won_by(ending.winner()));
        }
        if game.actions().len() >= self.recipe.max_plies {
            return Some(GameResult::Drawn);
        }
        let position = game.position();
        // The tables hold results for a counter of 0, directly after a capture or a pawn move.
        let covered = |tables: &&Tables| position.halfmoves() == 0 && tables.covers(position);
        Some(match self.tables.as_ref().filter(covered)?.wdl(position)? {
            TableResult::Win => won_by(Some(position.turn())),
            TableResult::Loss => won_by(Some(!position.turn())),
            TableResult::Draw => GameResult::Drawn,
        })
    }

    /// The root's moves after a search of a tree that has `kept` visits, best first.
    fn search(
        &mut self,
        full: bool,
        kept: u64,
        rng: &mut Rng,
    ) -> Result<Vec<Line<Action>>, SelfPlayError> {
        let recipe = self.recipe;
        let visits = if full { recipe.full } else { recipe.quick };
        let noise_epsilon = if full { recipe.noise } else { 0.0 };
        // Another seed for each move, or noise and ties would repeat.
        let (seed, noise_seed) = (rng.bits(), rng.bits());
        self.searcher.set_params(Params { noise_epsilon, seed, noise_seed, ..self.params.clone() });
        let playouts = visits.saturating_sub(kept).max(visits / NEW_SHARE).max(1);
        let control = UntilProven::new(self.stop);
        let outcome = self.searcher.run(&self.world, 1, Some(playouts), &control);
        match outcome.error {
            Some(why) => Err(why.into()),
            None => Ok(outcome.snapshot.lines),
        }
    }
}

fn won_by(winner: Option<Color>) -> GameResult {
    match winner {
        Some(Color::White) => GameResult::WhiteWon,
        Some(Color::Black) => GameResult::BlackWon,
        None => GameResult::Drawn,
    }
}

/// The best move, or with `drawn` one in proportion to its visits, unless the best move wins by proof.
fn choose(lines: &[Line<Action>], drawn: bool, rng: &mut Rng) -> Option<Action> {
    let best = lines.first()?;
    let chosen = match drawn && best.value != Wdl::WIN {
        true => draw_by_visits(lines, rng)?,
        false => best,
    };
    chosen.moves.first().copied()
}

/// Appends what a search found in the game's position.
fn add(
    record: &mut MavgGame,
    game: &Game,
    lines: &[Line<Action>],
    chosen: Action,
    full: bool,
) -> Result<(), SelfPlayError> {
    let order: Vec<Action> =
        canonical_moves(game.position()).into_iter().map(Action::new).collect();
    let index_of = |action: Action| order.iter().position(|other| *other == action);
    let mut values = vec![VALUE_UNKNOWN; order.len()];
    let mut visits = vec![0; order.len()];
    let Some(best) = lines.first() else { return Ok(()) };
    let wins = best.value == Wdl::WIN;
    let total: u64 = lines.iter().map(|line| line.visits).sum();
    for (rank, line) in lines.iter().enumerate() {
        let Some(index) = line.moves.first().and_then(|action| index_of(*action)) else { continue };
        let proven = [Wdl::WIN, Wdl::LOSS].contains(&line.value);
        if proven || line.visits >= KNOWN_VISITS {
            values[index] = stored_value(line.value.q());
        }
        // A proven win is the whole target: the search ended when it was found.
        let share = match (full, wins) {
            (false, _) => 0.0,
            (true, true) => f64::from(u8::from(rank == 0)),
            (true, false) => line.visits as f64 / total.max(1) as f64,
        };
        visits[index] = (255.0 * share).round() as u8;
    }
    let score = match best.mate_plies {
        Some(1) => MATE_IN_ONE,
        _ => stored_score(best.value.q()),
    };
    let of = |action: Action| index_of(action).map_or(u8::MAX, |index| index as u8);
    let best = best.moves.first().copied().unwrap_or(chosen);
    record.push_searched(0, (of(best), of(chosen)), score, &values, &visits)?;
    Ok(())
}
