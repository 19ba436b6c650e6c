//! Players that search by themselves, without the network: what one is asked, and what it finds. The laboratory has
//! some; an executable hands the engine those that it has ([`crate::play::setup::Setup`]).

use chess::action::Action;
use chess::game::Game;

/// A player, for as long as the program runs.
pub type StaticPlayer = &'static (dyn Player + Sync);

/// The players that an executable registers, each by the value of the option `Search`, in lower case.
pub type Players = &'static [(&'static str, StaticPlayer)];

/// A player that searches by itself. It knows nothing of clocks and protocols.
pub trait Player {
    /// Searches until `watch` ends it, or it has found all there is. None without moves. Blocks.
    fn search(
        &self,
        question: &PlayerRequest<'_>,
        watch: &mut dyn PlayerWatch,
    ) -> Option<PlayerResult>;
}

/// A request to a player.
pub struct PlayerRequest<'a> {
    /// Its last position is searched.
    pub game: &'a Game,
    /// The root's moves to choose from: legal, and not empty.
    pub allowed: &'a [Action],
    /// Plies to search at most.
    pub depth: Option<u32>,
    /// Playouts at most, of players that count them.
    pub playouts: Option<u64>,
    /// Random games for each leaf.
    pub rollouts: usize,
    /// Seed of the random games.
    pub seed: u64,
}

/// Watches a search. Called now and then, by the searching thread.
pub trait PlayerWatch {
    /// True ends the search after this many nodes; what is found by then counts.
    fn is_over(&mut self, nodes: u64) -> bool;

    /// A better answer is known.
    fn on_found(&mut self, found: &PlayerResult);
}

/// The result of a search.
#[derive(Clone, Debug, PartialEq)]
pub struct PlayerResult {
    /// The best line, at least one move.
    pub line: Vec<Action>,
    /// Win probability of the side to move.
    pub win: f32,
    /// Plies to a mate that is proven; negative if the mover is mated.
    pub mate_plies: Option<i32>,
    /// Plies searched.
    pub depth: u32,
    /// Plies of the longest line.
    pub seldepth: u32,
    /// Positions visited, or leaves valued by random games.
    pub nodes: u64,
}
