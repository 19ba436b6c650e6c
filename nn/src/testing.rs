//! Positions and traces for the tests of this crate and of `train`: seeded random games, so that no test needs a data file.

#![allow(clippy::expect_used, reason = "only tests call it")]

use crate::encode::{MoveCode, canonical_moves};
use crate::rng::Rng;
use crate::writer::{Backup, Kind, Shape, Trace, WordChoice};
use shakmaty::{CastlingMode, Chess, Position, fen::Fen};

/// Starts near castling, en passant, promotions and Chess960 castling.
const STARTS: [&str; 6] = [
    "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1",
    "r3k2r/p1ppqpb1/bn2pnp1/3PN3/1p2P3/2N2Q1p/PPPBBPPP/R3K2R w KQkq - 0 1",
    "8/2p5/3p4/KP5r/1R3p1k/8/4P1P1/8 w - - 0 1",
    "n1n5/PPPk4/8/8/8/8/4Kppp/5N1N b - - 0 1",
    "2nnrbkr/p1qppppp/8/1ppb4/6PP/3PP3/PPP2P2/BQNNRBKR w HEhe - 1 9",
    "1r2k1r1/8/8/8/8/8/8/R3K2R b HAgb - 0 1",
];

/// The position of a FEN.
///
/// # Panics
/// If it is none.
#[must_use]
pub fn position(fen: &str) -> Chess {
    fen.parse::<Fen>().expect("FEN").into_position(CastlingMode::Chess960).expect("position")
}

/// A back rank of Chess960: bishops on different colours, the king between the rooks.
fn back_rank(rng: &mut Rng) -> String {
    let mut rank = [' '; 8];
    rank[rng.below(4) * 2] = 'b';
    rank[rng.below(4) * 2 + 1] = 'b';
    for piece in ['q', 'n', 'n'] {
        let free: Vec<usize> = (0..8).filter(|&file| rank[file] == ' ').collect();
        rank[free[rng.below(free.len())]] = piece;
    }
    for piece in ['r', 'k', 'r'] {
        let free = rank.iter().position(|&piece| piece == ' ').expect("three are free");
        rank[free] = piece;
    }
    rank.iter().collect()
}

/// A start of double Chess960: an independent back rank per side.
fn chess960_start(rng: &mut Rng) -> Chess {
    let (black, white) = (back_rank(rng), back_rank(rng).to_uppercase());
    position(&format!("{black}/pppppppp/8/8/8/8/PPPPPPPP/{white} w KQkq - 0 1"))
}

/// Positions of a random game, the first included, with the moves between them.
#[must_use]
pub fn random_game(seed: u64, plies: usize) -> (Vec<Chess>, Vec<u8>) {
    let mut rng = Rng::new(seed);
    let mut state = if rng.chance(0.3) {
        chess960_start(&mut rng)
    } else {
        position(STARTS[rng.below(STARTS.len())])
    };
    let (mut states, mut moves) = (vec![state.clone()], Vec::new());
    for _ in 0..plies {
        let legal = canonical_moves(&state);
        if legal.is_empty() {
            break;
        }
        // By chance, en passant captures come once in a hundred games.
        let rare = legal.iter().position(|m| m.is_en_passant() || m.is_castle());
        let index = rare.filter(|_| rng.chance(0.3)).unwrap_or_else(|| rng.below(legal.len()));
        state.play_unchecked(legal[index]);
        states.push(state.clone());
        moves.push(index as u8);
    }
    (states, moves)
}

/// A tree of two moves and one ply; `each` sees it before every written word.
///
/// # Panics
/// If a word cannot be appended: a fault of this function.
pub fn trace(seed: u64, mut each: impl FnMut(&Trace)) -> Trace {
    let mut rng = Rng::new(seed);
    let mut list = |length: usize| -> Vec<(MoveCode, u8)> {
        let mut number = |end| rng.below(end) as u8;
        let code = |from, to| MoveCode { from, to, promotion: 0 };
        (0..length).map(|_| (code(number(64), number(64)), number(64))).collect()
    };
    let backup = if seed.is_multiple_of(2) { Backup::AlphaBeta } else { Backup::Minimax };
    let mut trace = Trace::new(Shape { breadth: 2, depth: 1 }, backup);
    let first = list(2 + seed as usize % 5);
    trace.give_list(&first);
    let items = 2..2 + first.len();
    let mut write = |trace: &mut Trace, kind, source, bucket| {
        each(trace);
        trace.write(WordChoice { kind, source, bucket }).expect("a word");
        trace.words().len() - 1
    };
    let expand = write(&mut trace, Kind::Expand, items.end, 0);
    let children = [0, 1].map(|i| write(&mut trace, Kind::Child, items.start + i, 0));
    for child in children {
        write(&mut trace, Kind::Eval, child, 0);
        match list(1).first() {
            Some((_, bucket)) if bucket % 4 == 0 => trace.give_over(0),
            _ => trace.give_list(&list(3)),
        }
        let head = trace.words().len() - 1;
        write(&mut trace, Kind::Decide, head, 0);
        let bucket = trace.words()[head].bucket.expect("a word");
        write(&mut trace, Kind::Select, head, bucket);
    }
    write(&mut trace, Kind::Decide, expand, 0);
    let scores = children.map(|child| write(&mut trace, Kind::Score, child, 10 + child as u8));
    let select = write(&mut trace, Kind::Select, scores[1], 10 + children[1] as u8);
    write(&mut trace, Kind::Play, select, 0);
    trace
}
