//! Exact distances at the edge of the fifty-move rule.
//!
//! Most DTZ tables count moves, not plies, so a distance that is read may be one ply short. A distance that the
//! reader calls precise may be, too: it takes the longest of several replies before it adds what rounding hides. One
//! ply decides where distance and counter make a hundred; there a search settles it.

use super::Tables;
use shakmaty::zobrist::Zobrist64;
use shakmaty::{Board, Chess, Color, EnPassantMode, Move, Position};
use shakmaty_syzygy::Wdl;
use std::collections::HashMap;

/// Limit of positions searched, each by probes of all its moves: some seconds.
const MAX_POSITIONS: usize = 20_000;

/// A search for one root, whose moves lead to many of the same positions.
pub(super) struct EdgeSearch<'a> {
    tables: &'a Tables,
    /// By position. Where a search is needed, the plies are those that the table reads.
    settled: HashMap<Zobrist64, bool>,
}

impl<'a> EdgeSearch<'a> {
    pub(super) fn new(tables: &'a Tables) -> EdgeSearch<'a> {
        EdgeSearch { tables, settled: HashMap::new() }
    }

    /// Whether best play reaches a capture, a pawn move or mate within `plies`, from a position that is won or lost.
    /// None if a probe fails, or if the search is too large, as it may be in tables of five pieces or more.
    pub(super) fn zeroes_within(&mut self, position: &Chess, plies: u32) -> Option<bool> {
        if position.is_checkmate() {
            return Some(true);
        }
        let dtz = self.tables.dtz(position)?;
        let (wins, read) = (dtz > 0, dtz.unsigned_abs());
        if dtz == 0 || read != plies {
            return Some(dtz != 0 && read < plies);
        }
        let winner = if wins { position.turn() } else { !position.turn() };
        if only_winner_zeroes(position.board(), winner) {
            return Some((plies % 2 == 1) == wins);
        }
        let key = position.zobrist_hash(EnPassantMode::Legal);
        if let Some(settled) = self.settled.get(&key) {
            return Some(*settled);
        }
        if self.settled.len() >= MAX_POSITIONS {
            return None;
        }
        // The first reply that decides: one that zeroes in time, or one that escapes.
        let mut within = !wins;
        for m in position.legal_moves() {
            if self.move_zeroes_within(position, m, wins, plies)? == wins {
                within = wins;
                break;
            }
        }
        self.settled.insert(key, within);
        Some(within)
    }

    fn move_zeroes_within(
        &mut self,
        position: &Chess,
        m: Move,
        wins: bool,
        plies: u32,
    ) -> Option<bool> {
        let mut after = position.clone();
        after.play_unchecked(m);
        if wins {
            let wdl = self.tables.raw_wdl(&after)?;
            if wdl != Wdl::Loss || m.is_zeroing() {
                return Some(wdl == Wdl::Loss);
            }
        } else if m.is_zeroing() {
            return Some(true);
        }
        self.zeroes_within(&after, plies - 1)
    }
}

/// Only the winner can capture, move a pawn or mate while the game stays lost for the other side, so that the parity
/// of the distance is known: a single man, or two minor pieces against the bare king, cannot win if one is captured.
fn only_winner_zeroes(board: &Board, winner: Color) -> bool {
    let others = board.by_color(!winner) & !board.kings();
    let men = board.by_color(winner) & !board.kings();
    let minors = board.knights() | board.bishops();
    (others & board.pawns()).is_empty()
        && match men.count() {
            1 => true,
            2 => others.is_empty() && men.is_subset(minors),
            _ => false,
        }
}
