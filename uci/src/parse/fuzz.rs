//! Twenty thousand damaged lines: none may panic, and what was understood must survive printing.
//!
//! The lines are well-formed ones with cuts, swaps and insertions from a seeded generator, so that every run
//! has the same ones.

use super::words::clean;
use super::{MOST_NOTES, parse};
use crate::command::Command;
use std::panic::catch_unwind;

/// SplitMix64 (Steele, Lea and Flood, OOPSLA 2014, section 4).
pub(super) struct Random(pub(super) u64);

impl Random {
    pub(super) fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut bits = self.0;
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((bits ^ (bits >> 31)) % bound as u64) as usize
    }

    pub(super) fn pick<'a>(&mut self, from: &[&'a str]) -> &'a str {
        from[self.below(from.len())]
    }

    pub(super) fn square_pair(&mut self) -> String {
        let mut square =
            || format!("{}{}", (b'a' + self.below(8) as u8) as char, self.below(8) + 1);
        square() + &square()
    }

    /// A well-formed line with up to six faults.
    pub(super) fn mutated(&mut self) -> String {
        let mut line: Vec<char> = self.pick(&SAMPLES).chars().collect();
        for _ in 0..=self.below(6) {
            let place = self.below(line.len() + 1);
            match self.below(6) {
                0 => drop(line.splice(place..place, self.pick(&SCRAPS).chars())),
                1 => line.truncate(place),
                2 => drop(line.splice(place..place, self.pick(&SAMPLES).chars())),
                3 if place < line.len() => line[place] = char::from(self.below(256) as u8),
                4 if place < line.len() => drop(line.remove(place)),
                _ => line.rotate_left(place),
            }
        }
        line.into_iter().collect()
    }
}

const SAMPLES: [&str; 16] = [
    "uci",
    "debug on",
    "isready",
    "register name A B code 4359",
    "ucinewgame",
    "stop",
    "ponderhit",
    "quit",
    "setoption name Move Overhead value 30",
    "setoption name WeightsFile value /a b/c  d.net",
    "position startpos moves e2e4 e7e5 g1f3 0000 e7e8q",
    "position fen 3r2k1/p5n1/1pq1p2p/2p3p1/2P1P1n1/1P1P2pP/PN1Q2K1/5R2 w - - 0 27 moves d2h6",
    "position fen 8/8/8/8/8/8/8/K1k5 w - -",
    "go wtime 300000 btime -20 winc 0 binc 2000 movestogo 40 searchmoves e2e4 d2d4",
    "go ponder depth 300 nodes 18446744073709551616 mate 5 movetime 99 infinite perft 3",
    "bench depth 5",
];

const SCRAPS: [&str; 24] = [
    "\0",
    "\r\n",
    "\t",
    "\u{feff}",
    "\u{2028}",
    "é",
    "-",
    "+",
    "0",
    "99999999999999999999",
    " moves ",
    " value ",
    " name ",
    " go ",
    " fen ",
    " startpos ",
    " searchmoves ",
    " depth ",
    "<empty>",
    "0000",
    " e7e9 ",
    "/",
    ".",
    "\u{fffd}",
];

#[test]
fn no_line_panics_and_what_is_understood_can_be_said_without_fault() {
    let mut random = Random(2026);
    for turn in 0..20_000 {
        let line = random.mutated();
        let place = format!("line {turn} of seed 2026: {line:?}");
        let Some((command, notes)) =
            catch_unwind(|| parse(&line)).unwrap_or_else(|_| panic!("{place}"))
        else {
            assert!(clean(&line).trim().is_empty(), "{place}");
            continue;
        };
        assert!(notes.len() <= MOST_NOTES + 1, "{place}");
        assert!(
            notes.iter().all(|note| note.len() < 1500 && *note == clean(note)),
            "{place}: {notes:?}"
        );
        if !matches!(command, Command::Other(_)) {
            let rendered = command.to_string();
            let (again, notes) = parse(&rendered).unwrap();
            assert_eq!(again, command, "{place} as {rendered:?}");
            assert!(
                notes.iter().all(|note| note.contains("fields")),
                "{place} as {rendered:?}: {notes:?}"
            );
        }
    }
}
