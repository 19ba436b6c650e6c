//! Mate search in a few moves by exhaustive search: rules only, no network.

use super::action::Action;
use super::ending;
use super::game::Game;
use shakmaty::{Chess, Move, Position};
use std::collections::HashMap;

/// A forced mate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mate {
    /// Plies to mate; positive if the side to move mates, negative if it is mated. Minimal.
    pub plies: i32,
    /// Principal variation: quickest mate, longest defence.
    pub line: Vec<Action>,
}

/// Capacity of the hash table in positions, about 50 MB; it is cleared when full.
const HASH_CAPACITY: usize = 7 << 18;
/// Positions between two polls of `stop`.
const POLL_INTERVAL: u64 = 1024;

/// Searches mates from one root.
pub struct MateSearch<'a> {
    stop: &'a dyn Fn() -> bool,
    stopped: bool,
    nodes: u64,
    /// By key and plies: whether the attacker to move mates within these plies.
    hash_table: HashMap<(u64, u32), bool>,
    /// Keys of positions that have occurred twice: the third occurrence is a draw.
    occurred_twice: Vec<u64>,
    /// Killer moves of the defence, by plies.
    killers: Vec<Option<Move>>,
}

impl<'a> MateSearch<'a> {
    /// `stop` is polled to abort.
    #[must_use]
    pub fn new(game: &Game, stop: &'a dyn Fn() -> bool) -> MateSearch<'a> {
        let keys = game.keys();
        let twice = |key: &&u64| keys.iter().filter(|other| other == key).count() > 1;
        MateSearch {
            stop,
            stopped: false,
            nodes: 0,
            hash_table: HashMap::new(),
            occurred_twice: keys.iter().filter(twice).copied().collect(),
            killers: Vec::new(),
        }
    }

    /// Positions searched.
    #[must_use]
    pub fn nodes(&self) -> u64 {
        self.nodes
    }

    /// The shortest mate within `moves` moves, starting with one of `allowed`, the moves of `position`: for the side
    /// to move, or against it. None if there is none, or the search was aborted ([`MateSearch::is_stopped`]).
    pub fn run(&mut self, position: &Chess, allowed: &[Action], moves: u32) -> Option<Mate> {
        let allowed: Vec<Move> = allowed.iter().filter_map(|a| a.to_move(position)).collect();
        for plies in 1..=moves.saturating_mul(2) {
            let line = match plies % 2 {
                1 => self.attack(position, &allowed, plies),
                _ => self.defend(position, &allowed, plies),
            };
            if let Some(line) = line {
                let sign = if plies % 2 == 1 { 1 } else { -1 };
                return Some(Mate { plies: sign * plies as i32, line });
            }
            if self.stopped {
                return None;
            }
        }
        None
    }

    /// Whether the search was aborted.
    #[must_use]
    pub fn is_stopped(&self) -> bool {
        self.stopped
    }

    /// Line of a mate within `plies` by one of `moves`.
    fn attack(&mut self, position: &Chess, moves: &[Move], plies: u32) -> Option<Vec<Action>> {
        for (m, after) in self.attacks(position, moves, plies) {
            if self.is_lost(&after, plies - 1) {
                let replies = after.legal_moves();
                let mut line = vec![Action::new(m)];
                line.extend(self.defend(&after, &replies, plies - 1).unwrap_or_default());
                return Some(line);
            }
        }
        None
    }

    /// Line of the longest defence among `moves`, if all are mated within `plies`.
    fn defend(&mut self, position: &Chess, moves: &[Move], plies: u32) -> Option<Vec<Action>> {
        let mut longest: Option<(u32, Move, Chess)> = None;
        for &m in moves {
            let mut after = position.clone();
            after.play_unchecked(m);
            if self.is_drawn(&after) {
                return None;
            }
            let within = (1..plies).step_by(2).find(|plies| self.mates(&after, *plies))?;
            if longest.as_ref().is_none_or(|(most, ..)| *most < within) {
                longest = Some((within, m, after));
            }
        }
        let (within, m, after) = longest?;
        let mut line = vec![Action::new(m)];
        line.extend(self.attack(&after, &after.legal_moves(), within).unwrap_or_default());
        Some(line)
    }

    /// Whether the side to move mates within `plies`, an odd number.
    fn mates(&mut self, position: &Chess, plies: u32) -> bool {
        // A mate in one is faster to try than to look up; near the fifty-move rule, results depend on more than the
        // board.
        let lasting = plies > 1 && position.halfmoves() + plies < 100;
        let key = lasting.then(|| (ending::key(position), plies));
        if let Some(hash_table) = key.and_then(|key| self.hash_table.get(&key)) {
            return *hash_table;
        }
        if plies > 1 && self.mates(position, plies - 2) {
            return true;
        }
        let moves = position.legal_moves();
        let mated = self
            .attacks(position, &moves, plies)
            .iter()
            .any(|(_, after)| self.is_lost(after, plies - 1));
        if let Some(key) = key.filter(|_| !self.stopped) {
            if self.hash_table.len() >= HASH_CAPACITY {
                self.hash_table.clear();
            }
            self.hash_table.insert(key, mated);
        }
        mated
    }

    /// Positions after attacking moves; checks with few replies first.
    fn attacks(&mut self, position: &Chess, moves: &[Move], plies: u32) -> Vec<(Move, Chess)> {
        let mut out = Vec::with_capacity(moves.len());
        for &m in moves {
            let mut after = position.clone();
            after.play_unchecked(m);
            let check = after.is_check();
            // The last move must give check.
            if plies > 1 || check {
                let replies = if plies > 1 { after.legal_moves().len() } else { 0 };
                out.push((!check, replies, m, after));
            }
        }
        out.sort_by_key(|&(quiet, replies, ..)| (quiet, replies));
        out.into_iter().map(|(_, _, m, after)| (m, after)).collect()
    }

    /// By the fifty-move rule, or because the game had the position twice.
    fn is_drawn(&self, position: &Chess) -> bool {
        let third = || {
            !self.occurred_twice.is_empty() && self.occurred_twice.contains(&ending::key(position))
        };
        ending::by_fifty_moves(position) || third()
    }

    /// Whether the side to move is mated within `plies`, an even number, by every move.
    fn is_lost(&mut self, position: &Chess, plies: u32) -> bool {
        self.nodes += 1;
        if self.nodes.is_multiple_of(POLL_INTERVAL) {
            self.stopped |= (self.stop)();
        }
        if self.stopped {
            return false;
        }
        let mut replies = position.legal_moves();
        if replies.is_empty() {
            return position.is_check();
        }
        if plies == 0 || self.is_drawn(position) {
            return false;
        }
        let at = plies as usize;
        if self.killers.len() <= at {
            self.killers.resize(at + 1, None);
        }
        let refutation = self.killers[at];
        // Killer move first, then captures.
        replies.sort_by_key(|m| (Some(*m) != refutation, !m.is_capture()));
        for m in replies {
            let mut after = position.clone();
            after.play_unchecked(m);
            if self.is_drawn(&after) || !self.mates(&after, plies - 1) {
                self.killers[at] = Some(m);
                return false;
            }
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn find(fen: &str, moves: u32) -> Option<(i32, String)> {
        let game = Game::from_fen(fen, false).unwrap();
        let mut search = MateSearch::new(&game, &|| false);
        let mate = search.run(game.position(), &game.legal_actions(), moves)?;
        let mut board = game.clone();
        for action in &mate.line {
            board.play(*action).unwrap();
        }
        assert!(board.position().is_checkmate(), "{fen}: {mate:?}");
        assert_eq!(mate.line.len(), mate.plies.unsigned_abs() as usize);
        Some((mate.plies, game.uci(mate.line[0])))
    }

    #[test]
    fn the_shortest_mate_of_either_side_is_found() {
        let found = |plies, word: &str| Some((plies, word.to_owned()));
        assert_eq!(find("k7/8/1K6/8/8/8/8/7R w - - 0 1", 3), found(1, "h1h8"));
        assert_eq!(find("7k/8/6K1/8/8/8/8/R7 b - - 0 1", 3), found(-2, "h8g8"));
        assert_eq!(find("6k1/8/8/8/8/8/R7/1R2K3 w - - 0 1", 3).map(|(plies, _)| plies), Some(3));
        // Rook and king: at least three moves.
        assert_eq!(find("8/8/8/8/8/1k6/7R/1K6 b - - 0 1", 2), None);
        assert_eq!(find("8/8/8/8/8/k7/2K5/7R w - - 0 1", 2).map(|(plies, _)| plies), Some(3));
    }

    #[test]
    fn draws_and_longer_mates_are_not_found() {
        // Stalemate, and the fifty-move rule before the second move.
        assert_eq!(find("7k/8/5KQ1/8/8/8/8/8 b - - 0 1", 2), None);
        assert_eq!(find("6k1/8/8/8/8/8/R7/1R2K3 w - - 98 90", 3), None);
        // The defender's move ends the game before the mate.
        assert_eq!(find("7k/8/6K1/8/8/8/8/R7 b - - 99 80", 3), None);
        assert_eq!(find("7k/8/6K1/8/8/8/8/R7 b - - 98 80", 3).map(|(plies, _)| plies), Some(-2));
        assert_eq!(find("rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1", 2), None);
    }

    #[test]
    fn a_stopped_search_says_so() {
        let game = Game::default();
        let mut search = MateSearch::new(&game, &|| true);
        assert_eq!(search.run(game.position(), &game.legal_actions(), 9), None);
        assert!(search.is_stopped() && search.nodes() < 10_000);
    }
}
