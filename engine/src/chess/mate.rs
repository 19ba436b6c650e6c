//! Mates in a few moves, found or ruled out by trying everything: the rules alone, no network.

use super::action::Action;
use super::ending;
use super::game::Game;
use shakmaty::{Chess, Move, Position};
use std::collections::HashMap;

/// A mate that nothing prevents.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mate {
    /// Plies to it; positive if the side to move mates, negative if it is mated. Nothing is shorter.
    pub plies: i32,
    /// The moves: the quickest mate against the longest defence.
    pub line: Vec<Action>,
}

/// Positions remembered, about 50 MB; then all are forgotten.
const REMEMBERED: usize = 7 << 18;
/// Positions between two looks at the clock.
const PATIENCE: u64 = 1024;

/// Looks for mates from one position on.
pub struct MateSearch<'a> {
    stop: &'a dyn Fn() -> bool,
    stopped: bool,
    nodes: u64,
    /// By key and plies: whether the attacker to move mates within so many plies.
    known: HashMap<(u64, u32), bool>,
    /// Keys of positions that were on the board twice: the third time is a draw.
    worn: Vec<u64>,
    /// By plies: the defence that refuted the last attack.
    refutations: Vec<Option<Move>>,
}

impl<'a> MateSearch<'a> {
    /// Ends early when `stop` says so.
    #[must_use]
    pub fn new(game: &Game, stop: &'a dyn Fn() -> bool) -> MateSearch<'a> {
        let keys = game.keys();
        let twice = |key: &&u64| keys.iter().filter(|other| other == key).count() > 1;
        MateSearch {
            stop,
            stopped: false,
            nodes: 0,
            known: HashMap::new(),
            worn: keys.iter().filter(twice).copied().collect(),
            refutations: Vec::new(),
        }
    }

    /// Positions looked at so far.
    #[must_use]
    pub fn nodes(&self) -> u64 {
        self.nodes
    }

    /// The shortest mate in `moves` or fewer that `allowed`, the moves of `position`, lead to: for the side to move,
    /// or against it whatever it plays. None if there is none, or the search was stopped
    /// ([`MateSearch::is_stopped`]).
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

    /// Whether it ended before everything was tried.
    #[must_use]
    pub fn is_stopped(&self) -> bool {
        self.stopped
    }

    /// The line of a mate within `plies`, the last of them included, by one of `moves`.
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

    /// The line of the longest defence among `moves`, if all of them are mated within `plies`.
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

    /// The side to move mates within `plies`, which are odd.
    fn mates(&mut self, position: &Chess, plies: u32) -> bool {
        // The last move is quicker tried than looked up, and what the fifty-move rule may end hangs on more than
        // the board.
        let lasting = plies > 1 && position.halfmoves() + plies < 100;
        let key = lasting.then(|| (ending::key(position), plies));
        if let Some(known) = key.and_then(|key| self.known.get(&key)) {
            return *known;
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
            if self.known.len() >= REMEMBERED {
                self.known.clear();
            }
            self.known.insert(key, mated);
        }
        mated
    }

    /// The positions that an attack may lead to, those with checks and few replies first.
    fn attacks(&mut self, position: &Chess, moves: &[Move], plies: u32) -> Vec<(Move, Chess)> {
        let mut out = Vec::with_capacity(moves.len());
        for &m in moves {
            let mut after = position.clone();
            after.play_unchecked(m);
            let check = after.is_check();
            // The last move of all must be a check.
            if plies > 1 || check {
                let replies = if plies > 1 { after.legal_moves().len() } else { 0 };
                out.push((!check, replies, m, after));
            }
        }
        out.sort_by_key(|&(quiet, replies, ..)| (quiet, replies));
        out.into_iter().map(|(_, _, m, after)| (m, after)).collect()
    }

    /// By fifty moves, or because the game has had the position twice before.
    fn is_drawn(&self, position: &Chess) -> bool {
        let third = || !self.worn.is_empty() && self.worn.contains(&ending::key(position));
        ending::by_fifty_moves(position) || third()
    }

    /// The side to move is mated within `plies`, which are even, whatever it does.
    fn is_lost(&mut self, position: &Chess, plies: u32) -> bool {
        self.nodes += 1;
        if self.nodes.is_multiple_of(PATIENCE) {
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
        if self.refutations.len() <= at {
            self.refutations.resize(at + 1, None);
        }
        let refutation = self.refutations[at];
        // What refuted the last attack first, then captures.
        replies.sort_by_key(|m| (Some(*m) != refutation, !m.is_capture()));
        for m in replies {
            let mut after = position.clone();
            after.play_unchecked(m);
            if self.is_drawn(&after) || !self.mates(&after, plies - 1) {
                self.refutations[at] = Some(m);
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
        // Rook and king: three moves at least.
        assert_eq!(find("8/8/8/8/8/1k6/7R/1K6 b - - 0 1", 2), None);
        assert_eq!(find("8/8/8/8/8/k7/2K5/7R w - - 0 1", 2).map(|(plies, _)| plies), Some(3));
    }

    #[test]
    fn what_is_no_mate_is_not_called_one() {
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
