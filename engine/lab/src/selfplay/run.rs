//! Many games of self-play into one file, in the order of their numbers: the same seed gives the same file with any
//! number of games at once. A kill costs the games in progress; the next run resumes with them.

use super::game::{Recipe, SelfPlayError, SelfPlayer};
use super::gathered::Gathered;
use crate::openings::Opening;
use chess::game::Game;
use chess::syzygy::Tables;
use engine::play::network::Network;
use engine::process::errors::wraps;
use engine::process::progress::progress;
use engine::process::shard::Shard;
use engine::process::workers::{WorkerLimits, cores, deal};
use nn::Evaluator;
use nn::evaluator::cached::Cached;
use nn::rng::split_mix;
use shakmaty::CastlingMode;
use std::collections::BTreeMap;
use std::fmt;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use train::data::chunks::ChunkWriter;
use train::data::record::{Format, GameResult};
use train::data::{self, DataError};

/// Games at once on a GPU: their minibatches fill its batch.
const GAMES_OF_GPU: usize = 64;
/// Positions of a GPU's batch.
const BATCH_OF_GPU: usize = 1024;
/// Memory of the evaluations that all games share: openings come again.
const CACHE_BYTES: usize = 64 << 20;

/// Parameters of a run.
pub struct SelfPlay {
    /// Output file (SELF1); games in it count towards `games`.
    pub out: PathBuf,
    /// Total number of games.
    pub games: u64,
    /// How they are played.
    pub recipe: Recipe,
    /// Positions to start from, in turn; empty = the initial position.
    pub openings: Vec<Opening>,
    /// The player.
    pub network: Network,
    /// Number of games at once; None = one per core, or enough for a GPU's batch.
    pub concurrency: Option<usize>,
    /// Seed of all games.
    pub seed: u64,
    /// Which of the games are played.
    pub shard: Shard,
    /// Set to stop: games in progress are lost.
    pub stop: Arc<AtomicBool>,
}

/// The contents of a file, and the part that this run added.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SelfPlaySummary {
    /// Games in the file.
    pub games: u64,
    /// White's wins, draws and Black's wins of this run.
    pub results: [u64; 3],
    /// Positions of this run.
    pub positions: u64,
    /// Positions of this run whose visits are policy targets.
    pub full: u64,
}

/// Reason for the end of a run.
#[derive(Debug)]
pub enum RunError {
    /// A game cannot be played.
    Play(SelfPlayError),
    /// The file cannot be written.
    Data(DataError),
    /// The system gives no thread.
    Thread(io::Error),
}

impl fmt::Display for RunError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RunError::Play(why) => why.fmt(f),
            RunError::Data(why) => why.fmt(f),
            RunError::Thread(why) => write!(f, "the system gives no thread: {why}"),
        }
    }
}

impl std::error::Error for RunError {}

wraps! { RunError: Play(SelfPlayError), Data(DataError), Thread(io::Error) }

impl SelfPlay {
    /// Plays the remaining games. Blocks; shows a progress bar on stderr.
    ///
    /// # Errors
    /// The file cannot be written, or the network fails.
    pub fn run(&self) -> Result<SelfPlaySummary, RunError> {
        let (mut writer, held) = ChunkWriter::open(&self.out, Format::SelfPlay)?;
        let network = &self.network;
        let evaluator: Arc<dyn Evaluator> = match network.on_gpu {
            true => Arc::new(Gathered::new(&network.evaluator, BATCH_OF_GPU)?),
            false => network.evaluator.clone(),
        };
        let evaluator: Arc<dyn Evaluator> = Arc::new(Cached::new(evaluator, CACHE_BYTES));
        let usual = if network.on_gpu { GAMES_OF_GPU } else { cores() };
        let tables = Tables::with_bundled("").up_to(usize::MAX);
        let games = self.shard.count(self.games);
        let numbers: Vec<u64> = (held..games).collect();
        let bar = progress(usize::try_from(games).unwrap_or(usize::MAX));
        bar.set_position(held);
        let start = || {
            let tables = tables.clone();
            let mut player = SelfPlayer::new(&self.recipe, evaluator.clone(), tables, &self.stop);
            Ok(move |number: &u64| {
                let number = self.shard.dealt(*number);
                let seed = split_mix(self.seed ^ split_mix(number));
                Ok::<_, RunError>(player.play(&self.start(number), seed)?)
            })
        };
        let mut played = SelfPlaySummary { games: held, ..SelfPlaySummary::default() };
        // Games that were faster than one with a smaller number.
        let mut early = BTreeMap::new();
        let crew = WorkerLimits { count: self.concurrency.unwrap_or(usual), stop: &self.stop };
        let result = deal(&numbers, crew, start, |number, game| {
            let Some(game) = game else { return Ok(()) };
            early.insert(*number, game);
            while let Some(game) = early.remove(&played.games) {
                played.count(&game);
                writer.write(&[data::Game::Mavg(game)])?;
                bar.inc(1);
            }
            Ok(())
        });
        bar.finish_and_clear();
        result.map(|()| played)
    }

    /// The position that a game starts from.
    fn start(&self, number: u64) -> Game {
        let count = self.openings.len() as u64;
        match number.checked_rem(count).and_then(|line| self.openings.get(line as usize)) {
            Some(opening) => {
                let mode = CastlingMode::from_chess960(opening.chess960());
                Game::new(opening.position.clone(), mode)
            }
            None => Game::default(),
        }
    }
}

impl SelfPlaySummary {
    fn count(&mut self, game: &data::record::MavgGame) {
        self.games += 1;
        self.positions += game.positions.len() as u64;
        let is_full = |position: &&_| game.visits(position).iter().any(|&visits| visits > 0);
        self.full += game.positions.iter().filter(is_full).count() as u64;
        match game.header.result {
            GameResult::WhiteWon => self.results[0] += 1,
            GameResult::Drawn | GameResult::Unknown => self.results[1] += 1,
            GameResult::BlackWon => self.results[2] += 1,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use engine::options::settings::Settings;
    use engine::play::network::hashed;
    use engine::process::workers::NEVER;
    use std::collections::BTreeSet;
    use std::fs;
    use std::path::Path;
    use train::data::record::MavgGame;
    use train::data::{FileReader, Game as Record};

    fn recipe() -> Recipe {
        Recipe {
            full: 24,
            quick: 6,
            full_share: 0.5,
            noise: 0.25,
            drawn_plies: 8,
            batch: 2,
            max_plies: 512,
            random_plies: 0,
            rules_only: false,
            settings: Settings::default(),
        }
    }

    fn run(out: &Path, games: u64, concurrency: usize) -> SelfPlaySummary {
        run_part(out, games, concurrency, Shard::default())
    }

    fn run_part(out: &Path, games: u64, concurrency: usize, shard: Shard) -> SelfPlaySummary {
        let run = SelfPlay {
            out: out.to_owned(),
            games,
            recipe: recipe(),
            openings: Vec::new(),
            network: hashed(),
            concurrency: Some(concurrency),
            seed: 7,
            shard,
            stop: Arc::default(),
        };
        run.run().unwrap()
    }

    fn games(path: &Path) -> Vec<MavgGame> {
        let of_file = |game: Result<Record, DataError>| match game.unwrap() {
            Record::Mavg(game) => game,
            Record::Pvgr(_) => panic!("not a game of self-play"),
        };
        FileReader::open(path).unwrap().map(of_file).collect()
    }

    #[test]
    fn the_parts_have_the_games_of_the_whole() {
        let path = |name| {
            let file = format!("mavka-selfplay-part-{name}-{}.zst", std::process::id());
            std::env::temp_dir().join(file)
        };
        let (whole, parts) = (path("whole"), [path("1"), path("2")]);
        run(&whole, 3, 1);
        let played: Vec<u64> = ["1/2", "2/2"]
            .iter()
            .zip(&parts)
            .map(|(shard, part)| run_part(part, 3, 1, shard.parse().unwrap()).games)
            .collect();
        assert_eq!(played, [2, 1]);
        let labels = |game: &MavgGame| -> Vec<u8> {
            game.positions.iter().flat_map(|position| [position.played, position.best]).collect()
        };
        let [first, second] = parts.each_ref().map(|part| games(part));
        let expected = [&first[0], &second[0], &first[1]].map(labels);
        assert!(games(&whole).iter().map(labels).eq(expected));
        parts.iter().chain([&whole]).for_each(|file| fs::remove_file(file).unwrap());
    }

    #[test]
    fn a_file_does_not_depend_on_the_number_of_games_at_once_nor_on_interruptions() {
        let path = |name| {
            let file = format!("mavka-selfplay-{name}-{}.zst", std::process::id());
            std::env::temp_dir().join(file)
        };
        let (whole, parts) = (path("whole"), path("parts"));
        let played = run(&whole, 4, 3);
        assert_eq!((played.games, played.results.iter().sum::<u64>()), (4, 4));
        assert!(played.full > 0 && played.full < played.positions, "{played:?}");
        assert_eq!(run(&parts, 2, 1).games, 2);
        // A kill while the second game is written.
        let bytes = fs::read(&parts).unwrap();
        fs::write(&parts, &bytes[..bytes.len() - 10]).unwrap();
        assert_eq!(run(&parts, 4, 2).games, 4);
        assert_eq!(run(&parts, 4, 2).positions, 0, "nothing is left to play");
        assert_eq!(fs::read(&whole).unwrap(), fs::read(&parts).unwrap());
        [whole, parts].iter().for_each(|path| fs::remove_file(path).unwrap());
    }

    #[test]
    fn a_game_is_legal_and_each_search_is_recorded() {
        let path = std::env::temp_dir().join(format!("mavka-selfplay-{}.zst", std::process::id()));
        run(&path, 2, 2);
        for record in games(&path) {
            let mut game = Game::new(record.header.start.clone(), CastlingMode::Standard);
            for position in &record.positions {
                let legal = nn::encode::canonical_moves(game.position());
                assert_eq!(usize::from(position.legal), legal.len());
                let visits = record.visits(position);
                let most = visits.iter().max().copied().unwrap();
                if most > 0 {
                    assert!(visits[usize::from(position.best)] > 0, "{visits:?}");
                    let sum: u32 = visits.iter().map(|&visits| u32::from(visits)).sum();
                    assert!(sum.abs_diff(255) <= legal.len() as u32, "{visits:?}");
                }
                let played = legal[usize::from(position.played)];
                game.play(engine::Action::new(played)).unwrap();
            }
            assert!(game.ending().is_some() || Tables::with_bundled("").covers(game.position()));
            assert_ne!(record.header.result, GameResult::Unknown);
        }
        fs::remove_file(&path).unwrap();
    }

    /// By the rules alone no game ends in the tables, and games of AlphaZero's kind have a length at which they are drawn.
    #[test]
    fn games_by_the_rules_alone_begin_at_random_and_end_on_the_board_or_by_their_length() {
        let recipe = Recipe { random_plies: 30, max_plies: 60, rules_only: true, ..recipe() };
        let tables = Tables::with_bundled("").up_to(usize::MAX);
        let bare = Game::from_fen("8/8/8/4k3/8/8/8/KQ6 b - - 0 1", false).unwrap();
        let stop = AtomicBool::new(false);
        let mut player = SelfPlayer::new(&recipe, hashed().evaluator, tables, &stop);
        let mut starts = BTreeSet::new();
        for (seed, start) in
            (0..12).flat_map(|seed| [(seed, Game::default()), (seed, bare.clone())])
        {
            let record = player.play(&start, seed).unwrap().unwrap();
            let mut game = Game::new(record.header.start.clone(), CastlingMode::Standard);
            starts.insert(game.fen());
            for position in &record.positions {
                let legal = nn::encode::canonical_moves(game.position());
                game.play(engine::Action::new(legal[usize::from(position.played)])).unwrap();
            }
            let (ending, plies) = (game.ending(), record.positions.len());
            assert!(ending.is_some() || plies == 60, "{plies} plies to {}", game.fen());
            if ending.is_none() {
                assert_eq!(record.header.result, GameResult::Drawn);
            }
        }
        // Both starts themselves, and about half of the games each from elsewhere.
        assert!((8..=18).contains(&starts.len()), "{starts:?}");
    }

    #[test]
    fn a_stopped_game_has_no_record() {
        let (recipe, stop) = (recipe(), AtomicBool::new(true));
        let player = |stop| SelfPlayer::new(&recipe, hashed().evaluator, None, stop);
        assert!(player(&stop).play(&Game::default(), 1).unwrap().is_none());
        let game = player(&NEVER).play(&Game::default(), 1).unwrap();
        assert!(game.is_some_and(|game| !game.positions.is_empty()));
    }
}
