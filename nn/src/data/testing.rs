//! Small samples for tests: seeded random games with random labels, so that no test needs a data file.

use super::read::FileReader;
use super::record::{Format, Game, GameResult, Header, MavgGame, PvgrGame};
use super::write::GameWriter;
use crate::encode::canonical_moves;
use crate::rng::Rng;
use shakmaty::{CastlingMode, Chess, Position, fen::Fen};
use std::path::Path;

/// Starts near castling, en passant, promotions and Chess960 castling.
pub const STARTS: [&str; 6] = [
    "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1",
    "r3k2r/p1ppqpb1/bn2pnp1/3PN3/1p2P3/2N2Q1p/PPPBBPPP/R3K2R w KQkq - 0 1",
    "8/2p5/3p4/KP5r/1R3p1k/8/4P1P1/8 w - - 0 1",
    "n1n5/PPPk4/8/8/8/8/4Kppp/5N1N b - - 0 1",
    "2nnrbkr/p1qppppp/8/1ppb4/6PP/3PP3/PPP2P2/BQNNRBKR w HEhe - 1 9",
    "1r2k1r1/8/8/8/8/8/8/R3K2R b HAgb - 0 1",
];

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
pub fn chess960_start(rng: &mut Rng) -> Chess {
    let (black, white) = (back_rank(rng), back_rank(rng).to_uppercase());
    position(&format!("{black}/pppppppp/8/8/8/8/PPPPPPPP/{white} w KQkq - 0 1"))
}

/// Positions of a random game, the first included, with the moves between them.
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

fn result(rng: &mut Rng) -> GameResult {
    GameResult::from_byte(rng.below(4) as u8).expect("a result")
}

/// A random game with random labels.
pub fn mavg_game(seed: u64) -> MavgGame {
    let mut rng = Rng::new(!seed);
    let (states, moves) = random_game(seed, 12 + rng.below(20));
    let mut game = MavgGame::new(Header::new(states[0].clone(), false, result(&mut rng)));
    for (state, &played) in states.iter().zip(&moves) {
        let legal = canonical_moves(state).len();
        let values: Vec<u8> = (0..legal).map(|_| rng.below(128) as u8).collect();
        let best = rng.below(legal) as u8;
        let score = rng.below(4_000) as i16 - 2_000;
        game.push(0, (best, played), score, &values).expect("a record");
    }
    game
}

/// A random game with random scores and lines.
pub fn pvgr_game(seed: u64) -> PvgrGame {
    let mut rng = Rng::new(!seed);
    let (states, moves) = random_game(seed, 12 + rng.below(20));
    let mut game = PvgrGame::new(Header::new(states[0].clone(), false, result(&mut rng)));
    for (state, &played) in states.iter().zip(&moves) {
        let mut state = state.clone();
        state.play_unchecked(canonical_moves(&state)[usize::from(played)]);
        let mut line = Vec::new();
        for _ in 0..rng.below(6) {
            let legal = canonical_moves(&state);
            if legal.is_empty() {
                break;
            }
            let index = rng.below(legal.len());
            line.push(index as u8);
            state.play_unchecked(legal[index]);
        }
        let score = (rng.below(5) > 0).then(|| rng.below(4_000) as i16 - 2_000);
        game.push(0, played, score, rng.below(50) as u8, &line).expect("a record");
    }
    game
}

fn bytes(format: Format, games: impl Iterator<Item = Game>) -> Vec<u8> {
    let mut writer = GameWriter::new(Vec::new(), format, "sample").expect("magic");
    for game in games {
        writer.write(&game).expect("write");
    }
    writer.into_inner()
}

/// A decompressed stream of `games` random games.
pub fn mavg_bytes(seed: u64, games: u64) -> Vec<u8> {
    bytes(Format::Mavg, (0..games).map(|game| Game::Mavg(mavg_game(seed * 1_000 + game))))
}

/// A decompressed stream of `games` random games.
pub fn pvgr_bytes(seed: u64, games: u64) -> Vec<u8> {
    bytes(Format::Pvgr, (0..games).map(|game| Game::Pvgr(pvgr_game(seed * 1_000 + game))))
}

/// All games of a compressed file.
pub fn unpack(path: &Path) -> Vec<Game> {
    FileReader::open(path).expect("open").map(|game| game.expect("game")).collect()
}

/// A compressed file in the temporary folder, removed when dropped.
pub struct Sample(pub std::path::PathBuf);

impl Sample {
    pub fn new(name: &str, bytes: &[u8]) -> Sample {
        let path = std::env::temp_dir().join(format!("mavka-{name}-{}.zst", std::process::id()));
        std::fs::write(&path, zstd::encode_all(bytes, 1).expect("pack")).expect("write");
        Sample(path)
    }
}

impl Drop for Sample {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}
