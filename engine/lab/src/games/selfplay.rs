//! Games of the network against itself (paper 004, with KataGo's playout cap randomisation: D. Wu, "Accelerating Self-Play Learning in
//! Go", 2019, section 3.1): few searches are long, noisy and teach the policy; most are short and only play the game on.

use super::cached::Cached;
use super::exam::ExamPosition;
use super::record::{GameRecord, Turn};
use super::team::table::TeamState;
use super::team::world::{Placed, PlayerWorld};
use crate::selfplay::search::{UntilProven, draw_by_visits};
use games::game::Game;
use games::net::BoardNet;
use games::player::network_params;
use games::world::GameWorld;
use mcts::{Ancestor, Line, Params, Searcher};
use nn::rng::{Rng, split_mix};
use serde::{Deserialize, Serialize};
use std::sync::atomic::{AtomicBool, Ordering};

/// Memory of a tree.
const TREE_BYTES: usize = 8 << 20;
/// Visits from which a move's mean value is a target.
const MIN_VISITS: u64 = 4;

/// Settings of self-play.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Play {
    /// Games of a generation.
    pub games: usize,
    /// Playouts of a long search, kept ones included.
    pub long: u64,
    /// Playouts of a short search, kept ones included.
    pub short: u64,
    /// Share of long searches.
    pub long_share: f64,
    /// Share of Dirichlet noise in the priors of a long search (004: 0.25).
    pub noise: f32,
    /// Exploration constant. More than in play: with as little the games of a run narrowed to few lines, and values outside of them
    /// were wrong.
    pub exploration: f32,
    /// Concentration of the noise per move.
    pub alpha: f32,
    /// Plies of a game, or from a given position, whose moves are drawn in proportion to visits; the most visited move later.
    pub drawn_plies: usize,
    /// Share of games that start with random plies, and the most of these.
    pub random_share: f64,
    /// As above.
    pub random_plies: usize,
}

/// Concentration of the Dirichlet noise per move: 10 divided by the usual number of moves (004).
pub fn noise_alpha<G: Game>(game: &G) -> f32 {
    10.0 / game.grid().moves.len() as f32
}

/// The player of a generation's games.
#[derive(Clone, Copy)]
pub struct GenerationPlayers<'a> {
    /// By player.
    pub networks: &'a [Cached<BoardNet>],
    /// Opponents and rewards, of a team.
    pub table: Option<&'a TeamState>,
    /// Positions in which half of the games begin (paper 003, table 1); none: all begin with the first move.
    pub starts: &'a [ExamPosition],
}

/// Plays games of one generation, one after the other.
pub struct GenerationPlayer<'a, G: Game> {
    game: G,
    cast: GenerationPlayers<'a>,
    searcher: Searcher<PlayerWorld<'a, G>>,
    play: &'a Play,
    /// Seed of the generation.
    seed: u64,
    stop: &'a AtomicBool,
}

impl<'a, G: Game + Clone> GenerationPlayer<'a, G> {
    pub fn new(
        game: &G,
        cast: GenerationPlayers<'a>,
        play: &'a Play,
        seed: u64,
        stop: &'a AtomicBool,
    ) -> GenerationPlayer<'a, G> {
        let searcher = Searcher::new(network_params(0), TREE_BYTES);
        GenerationPlayer { game: game.clone(), cast, searcher, play, seed, stop }
    }

    /// Plays game `number`, which depends on nothing but the networks, the table, the settings and the seed. None if it was stopped.
    pub fn game(&mut self, number: usize) -> Option<GameRecord> {
        let mut random = Rng::new(self.seed ^ split_mix(number as u64));
        let pairing = self.cast.table.map(|table| table.pair(&mut random));
        let given = (!self.cast.starts.is_empty() && random.chance(0.5))
            .then(|| &self.cast.starts[random.below(self.cast.starts.len())]);
        // Moves are drawn from the beginning of the game, or from the position that was given.
        let before = given.map_or(0, |question| question.moves.len());
        let (mut state, start) = match given {
            Some(question) => (question.position(&self.game), question.moves.clone()),
            None => self.opening(&mut random),
        };
        let mut record = GameRecord { game: number, start, turns: Vec::new(), pairing };
        self.new_tree(&state);
        let mut kept = 0;
        while self.game.end(&state).is_none() {
            let plies = record.start.len() + record.turns.len() - before;
            let turn = self.turn(&state, &record, (kept, plies), &mut random)?;
            self.game.play(&mut state, turn.action);
            if record.pairing.is_some() {
                // The other side's tree: another player's, or another's rewards.
                self.new_tree(&state);
            } else {
                let root = Placed::root(state.clone());
                kept = self.searcher.reroot(root, Ancestor::Root, &[turn.action]);
            }
            record.turns.push(turn);
        }
        Some(record)
    }

    /// An old tree is compacted at another time, and rounds a value differently: no game depends on one.
    fn new_tree(&mut self, state: &G::State) {
        self.searcher = Searcher::new(network_params(0), TREE_BYTES);
        self.searcher.set_root(Placed::root(state.clone()));
    }

    /// The side to move as its search sees the game. None if the team has no such player.
    fn world(&self, record: &GameRecord) -> Option<PlayerWorld<'a, G>> {
        let player = record.player(record.side(record.turns.len()));
        let judge = self.cast.networks.get(player)?;
        let shaping = self.cast.table.and_then(|table| table.shaping(player));
        Some(PlayerWorld { rules: GameWorld { game: self.game.clone(), judge }, shaping })
    }

    /// The first position to search, and the random moves before it.
    fn opening(&self, random: &mut Rng) -> (G::State, Vec<u16>) {
        let game = &self.game;
        let plies = if random.chance(self.play.random_share) {
            1 + random.below(self.play.random_plies)
        } else {
            0
        };
        let (mut state, mut moves) = (game.start(), Vec::new());
        for _ in 0..plies {
            let legal = game.moves(&state);
            let (mut next, action) = (state.clone(), legal[random.below(legal.len())]);
            game.play(&mut next, action);
            if game.end(&next).is_some() {
                break;
            }
            state = next;
            moves.push(action);
        }
        (state, moves)
    }

    /// Searches and chooses a move, `plies` after the game's beginning or the position that was given. None if it was stopped.
    fn turn(
        &mut self,
        state: &G::State,
        record: &GameRecord,
        (kept, plies): (u64, usize),
        random: &mut Rng,
    ) -> Option<Turn> {
        let long = random.chance(self.play.long_share);
        // A kept root of many visits still gets some of this search's noise.
        let budget = if long {
            self.play.long.saturating_sub(kept).max(self.play.long / 2)
        } else {
            self.play.short.saturating_sub(kept)
        };
        let seed = random.bits();
        self.searcher.set_params(Params {
            noise_epsilon: if long { self.play.noise } else { 0.0 },
            noise_alpha: self.play.alpha,
            noise_seed: seed,
            c_puct: self.play.exploration,
            ..network_params(seed)
        });
        let control = UntilProven::new(self.stop);
        let world = self.world(record)?;
        let outcome = self.searcher.run(&world, 1, Some(budget), &control);
        if self.stop.load(Ordering::Relaxed) {
            return None;
        }
        let lines = outcome.snapshot.lines;
        let proven = control.is_proven();
        let best = lines.first()?;
        let drawn = plies < self.play.drawn_plies && !proven;
        let chosen = if drawn { draw_by_visits(&lines, random)? } else { best };
        let action = chosen.moves[0];
        let legal = self.game.moves(state);
        let line = |action: &u16| lines.iter().find(|line| line.moves[0] == *action);
        // The target of a won or drawn position is the proven move.
        let known = proven && best.value.q() > 0.0;
        let visits = |action: &u16| {
            let visits = line(action).map_or(0, |line| line.visits) as u32;
            if known { u32::from(*action == best.moves[0]) } else { visits }
        };
        let value = |action: &u16| {
            let enough = |line: &&Line<u16>| line.visits >= MIN_VISITS || line.mate_plies.is_some();
            line(action).filter(enough).map_or(-1, |line| (1000.0 * line.value.q()).round() as i16)
        };
        Some(Turn {
            action,
            visits: if long || known { legal.iter().map(visits).collect() } else { Vec::new() },
            values: legal.iter().map(value).collect(),
            proven: proven.then(|| (2.0 * best.value.q()).round() as u8),
        })
    }
}
