//! Small samples for tests: seeded random games with random labels, so that no test needs a data file.

use super::read::FileReader;
use super::record::{Format, Game, GameResult, Header, MavgGame, PvgrGame};
use super::write::GameWriter;
use nn::encode::canonical_moves;
use nn::rng::Rng;
pub use nn::testing::{position, random_game};
use shakmaty::Position;
use std::path::Path;

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

/// The same game as if it were self-play: every other position was searched quickly, so that its visits are no target.
pub fn self_play_game(seed: u64) -> MavgGame {
    let mut rng = Rng::new(seed);
    let labelled = mavg_game(seed);
    let mut game = MavgGame::new(labelled.header.clone());
    for (ply, record) in labelled.positions.iter().enumerate() {
        let visits: Vec<u8> = match ply % 2 {
            0 => (0..record.legal).map(|_| 1 + rng.below(255) as u8).collect(),
            _ => vec![0; usize::from(record.legal)],
        };
        let (choice, values) = ((record.best, record.played), labelled.values(record));
        game.push_searched(0, choice, record.score, values, &visits).expect("a record");
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

/// A decompressed stream of `games` random games.
pub fn self_play_bytes(seed: u64, games: u64) -> Vec<u8> {
    let game = |game| Game::Mavg(self_play_game(seed * 1_000 + game));
    bytes(Format::SelfPlay, (0..games).map(game))
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
