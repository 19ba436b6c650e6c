//! A run: generations of self-play and training in a folder. Every phase ends in a file that is renamed into place, and a finished game
//! is a line of a journal, so that a kill costs at most the games in progress and the training of one generation.

use super::cached::Cached;
use super::error::{LearnError, read_lines};
use super::exam::{ExamPosition, Kind, Solved, mark, questions, read_questions, without_search};
use super::measure::mark_search;
use super::progress::{self, GenerationRow};
use super::record::{GameRecord, RecordError, read_games, samples};
use super::reference::elo;
use super::sample::Sample;
use super::selfplay::{GenerationPlayer, GenerationPlayers, Play};
use super::settings::{CONFIG, Settings, check_settings};
use super::teacher::Teacher;
use super::team::labels::labelled;
use super::team::table::{PLAYERS, STANDINGS, TeamState};
use super::trainer::{Trainer, Training};
use engine::process::errors::FileError;
use engine::process::files::{JournalFile, check_folder, write_whole};
use engine::process::progress::progress;
use games::game::Game;
use games::net::{BoardNet, NetworkFile, UnfitNetwork};
use nn::files::{MAX_TEXT, read_unpacked};
use nn::rng::split_mix;
use rayon::iter::{IntoParallelRefIterator, ParallelIterator};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

/// Generations whose games say how the players of a team differ.
const STANDING_GENERATIONS: usize = 4;

/// When a run ends.
#[derive(Clone, Copy, Debug)]
pub struct LearnLimit {
    /// Hours of this call.
    pub hours: f64,
    /// Generations of the whole run.
    pub generations: usize,
}

/// Learns in `folder`, new or begun, until the limit, or until `stop` is raised. Returns the curve.
///
/// # Errors
/// A file cannot be read, is damaged or cannot be written; the folder belongs to another run.
pub fn learn<G: Solved>(
    game: &G,
    settings: &Settings,
    folder: &Path,
    threads: usize,
    limit: LearnLimit,
    stop: &AtomicBool,
) -> Result<Vec<GenerationRow>, LearnError> {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
    let run = || Run::open(game, settings, folder, threads, stop)?.go(limit);
    match pool {
        Ok(pool) => pool.install(run),
        Err(why) => {
            log::warn!("no pool of {threads} threads ({why}); all processors are used");
            run()
        }
    }
}

/// A run and what it keeps in memory.
struct Run<'a, G: Solved> {
    game: &'a G,
    settings: &'a Settings,
    folder: &'a Path,
    threads: usize,
    stop: &'a AtomicBool,
    trainer: Trainer,
    /// Games of each generation, the newest last.
    window: Vec<Vec<GameRecord>>,
    /// A team's opponents and rewards by its latest games.
    table: Option<TeamState>,
    journal: JournalFile,
    rows: Vec<GenerationRow>,
    exam: Option<Vec<ExamPosition>>,
    /// Positions in which half of the games begin.
    starts: Vec<ExamPosition>,
}

impl<'a, G: Solved> Run<'a, G> {
    fn open(
        game: &'a G,
        settings: &'a Settings,
        folder: &'a Path,
        threads: usize,
        stop: &'a AtomicBool,
    ) -> Result<Run<'a, G>, LearnError> {
        if settings.taught && game.solver().is_none() {
            return Err(LearnError::NoSolver(game.name(), game.size()));
        }
        std::fs::create_dir_all(folder).map_err(FileError::of(folder))?;
        let names = ["state.safetensors", "network.safetensors", "progress.jsonl", "progress.csv"];
        let names = [&names[..], &[STANDINGS, PLAYERS]].concat();
        check_folder(folder, &[CONFIG], &names).map_err(LearnError::Folder)?;
        check_settings(settings, &folder.join(CONFIG))?;
        let mut journal = JournalFile::open(&folder.join("progress.jsonl"))?;
        let bytes = journal.read()?;
        journal.truncate(
            engine::process::files::whole_lines(&bytes).map(<[u8]>::len).sum(),
            bytes.len(),
        )?;
        let rows = read_lines(&folder.join("progress.jsonl"), &bytes)?;
        let mut rows = progress::latest(rows);
        let mut trainer = Trainer::new(first_network(game, settings)?);
        let state = folder.join("state.safetensors");
        if state.exists() {
            trainer.load(&state)?;
        }
        rows.retain(|row| row.generation <= trainer.generation);
        let exam = folder.join("positions.jsonl");
        let bar = progress(settings.exam);
        bar.set_message("positions solved");
        let exam = questions(game, Kind::Played, settings.exam, &exam, |done| {
            bar.set_position(done as u64);
            !stop.load(Ordering::Relaxed)
        })?;
        bar.finish_and_clear();
        let starts = match &settings.starts {
            Some(path) => read_questions(game, path)?,
            None => Vec::new(),
        };
        let mut run = Run {
            game,
            settings,
            folder,
            threads,
            stop,
            trainer,
            window: Vec::new(),
            table: None,
            journal,
            rows,
            exam,
            starts,
        };
        for generation in 0..run.trainer.generation {
            let path = run.games_file(generation);
            if path.exists() {
                let records = run.read_games(&path)?;
                run.add(records);
            }
        }
        run.set_table();
        Ok(run)
    }

    fn go(mut self, limit: LearnLimit) -> Result<Vec<GenerationRow>, LearnError> {
        let begin = Instant::now();
        let stopped = || self.stop.load(Ordering::Relaxed);
        while self.trainer.generation < limit.generations
            && begin.elapsed().as_secs_f64() < 3600.0 * limit.hours
            && !stopped()
        {
            let (start, before) = (Instant::now(), self.trainer.averaged());
            let Some(new) = self.play()? else { break };
            let played = start.elapsed().as_secs_f64();
            let Some(losses) = self.train(new)? else { break };
            let trained = start.elapsed().as_secs_f64() - played;
            let after = self.trainer.averaged();
            let optimal = self.optimal(&after)?;
            let elo = elo(self.game, self.settings, self.folder, [&before, &after])?;
            let all = start.elapsed().as_secs_f64();
            let last = self.rows.last();
            let row = GenerationRow {
                generation: self.trainer.generation,
                hours: last.map_or(0.0, |row| row.hours) + all / 3600.0,
                games: last.map_or(0, |row| row.games) + self.settings.play.games,
                positions: last.map_or(0, |row| row.positions) + new,
                losses: losses.to_vec(),
                optimal,
                elo,
                seconds: [played, trained, all - played - trained],
                distance: self.table.as_ref().and_then(TeamState::distance),
            };
            progress::add(&mut self.journal, &mut self.rows, row, self.folder)?;
            if let Some(table) = &self.table {
                table.save(self.game, self.folder)?;
            }
            // Last: a kill before it repeats the training and its row.
            self.trainer.save(&self.folder.join("state.safetensors"))?;
        }
        Ok(self.rows)
    }

    fn games_file(&self, generation: usize) -> PathBuf {
        self.folder.join(format!("games-{:05}.jsonl.zst", generation + 1))
    }

    fn read_games(&self, path: &Path) -> Result<Vec<GameRecord>, LearnError> {
        let bytes = read_unpacked(path, MAX_TEXT).map_err(FileError::of(path))?;
        let records = read_games(self.game, &bytes);
        let (expected, fault) =
            (self.settings.play.games, |why| LearnError::Games(path.to_owned(), why));
        let records = records.map_err(fault)?;
        if records.len() < expected {
            return Err(fault(RecordError::Count { found: records.len(), expected }));
        }
        Ok(records)
    }

    /// Adds a generation to the window and drops those that it no longer needs.
    fn add(&mut self, records: Vec<GameRecord>) {
        self.window.push(records);
        let all: usize = self.rows.last().map_or(0, |row| row.positions);
        let [fewest, most] = self.settings.training.window;
        let wanted = (all / 2).clamp(fewest, most);
        let positions = |records: &Vec<GameRecord>| positions(records);
        let mut kept: usize = self.window.iter().map(positions).sum();
        while let Some(oldest) = self.window.first().map(positions)
            && kept - oldest >= wanted
        {
            self.window.remove(0);
            kept -= oldest;
        }
    }

    /// Opponents and rewards by the latest games.
    fn set_table(&mut self) {
        let latest = self.window.iter().rev().take(STANDING_GENERATIONS).flatten();
        let latest: Vec<&GameRecord> = latest.collect();
        let team = self.settings.team.as_ref();
        self.table = team.map(|team| TeamState::new(self.game, team, &latest));
    }

    /// The labelled positions of the window.
    fn samples(&self) -> Vec<Sample<G::State>> {
        let of = |record: &GameRecord| match &self.table {
            Some(table) => labelled(self.game, record, table),
            None => samples(self.game, record),
        };
        let records: Vec<&GameRecord> = self.window.iter().flatten().collect();
        records.par_iter().flat_map_iter(|record| of(record).unwrap_or_default()).collect()
    }

    /// Plays the games of a generation, or those of it that are missing. Returns its number of positions; None if stopped.
    fn play(&mut self) -> Result<Option<usize>, LearnError> {
        let generation = self.trainer.generation;
        let path = self.games_file(generation);
        if !path.exists() && !self.play_missing(&path)? {
            return Ok(None);
        }
        let records = self.read_games(&path)?;
        let new = positions(&records);
        self.add(records);
        self.set_table();
        Ok(Some(new))
    }

    /// False if stopped.
    fn play_missing(&self, path: &Path) -> Result<bool, LearnError> {
        let network = self.trainer.averaged();
        let players = (0..network.config.players).map(|player| {
            let player = BoardNet::of_player(&network, self.game, player);
            Ok(Cached::new(self.game, player.map_err(|why| self.unfit(why))?))
        });
        let networks: Vec<Cached<BoardNet>> = players.collect::<Result<_, LearnError>>()?;
        let cast = GenerationPlayers {
            networks: &networks,
            table: self.table.as_ref(),
            starts: &self.starts,
        };
        let part = self.folder.join("games.jsonl");
        let mut journal = JournalFile::open(&part)?;
        let bytes = journal.read()?;
        let mut records =
            read_games(self.game, &bytes).map_err(|why| LearnError::Games(part.clone(), why))?;
        let whole = engine::process::files::whole_lines(&bytes).map(<[u8]>::len).sum();
        journal.truncate(whole, bytes.len())?;
        let Play { games, .. } = self.settings.play;
        let missing: Vec<usize> =
            (0..games).filter(|n| records.iter().all(|record| record.game != *n)).collect();
        let seed = split_mix(self.settings.seed ^ split_mix(self.trainer.generation as u64));
        let bar = progress(games);
        bar.set_message(format!("games of generation {}", self.trainer.generation + 1));
        bar.set_position(records.len() as u64);
        let (next, written) = (AtomicUsize::new(0), Mutex::new((journal, Ok(()))));
        let play = || {
            let mut player =
                GenerationPlayer::new(self.game, cast, &self.settings.play, seed, self.stop);
            let mut teacher = self.teacher(seed);
            let mut played = Vec::new();
            // Relaxed: a number that each thread gets once.
            while let Some(number) = missing.get(next.fetch_add(1, Ordering::Relaxed)) {
                let record = match &mut teacher {
                    Some(teacher) => teacher.game(*number),
                    None => player.game(*number),
                };
                let Some(record) = record else { break };
                let mut written = written.lock().unwrap_or_else(PoisonError::into_inner);
                let (journal, failed) = &mut *written;
                if let Err(why) = journal.append(&record) {
                    *failed = Err(why);
                    break;
                }
                bar.inc(1);
                played.push(record);
            }
            played
        };
        std::thread::scope(|scope| {
            let threads: Vec<_> = (0..self.threads).map(|_| scope.spawn(play)).collect();
            records
                .extend(threads.into_iter().flat_map(|thread| thread.join().unwrap_or_default()));
        });
        bar.finish_and_clear();
        let (journal, failed) = written.into_inner().unwrap_or_else(PoisonError::into_inner);
        failed?;
        if records.len() < games {
            if self.stop.load(Ordering::Relaxed) {
                return Ok(false);
            }
            return Err(LearnError::NoMove(self.folder.to_owned()));
        }
        records.sort_by_key(|record| record.game);
        let lines = records.iter().map(|record| serde_json::to_string(record).unwrap_or_default());
        let text: String = lines.map(|line| line + "\n").collect();
        let packed = zstd::encode_all(text.as_bytes(), 9).map_err(FileError::of(path))?;
        write_whole(path, packed).map_err(FileError::of(path))?;
        journal.delete()?;
        Ok(true)
    }

    /// The player of a generation, if not the network.
    fn teacher(&self, seed: u64) -> Option<Teacher<'a, G>> {
        if self.settings.taught { Teacher::new(self.game, seed, self.stop) } else { None }
    }

    /// Trains on the window, so that each of the `new` positions is used as often as the settings say. None if stopped.
    fn train(&mut self, new: usize) -> Result<Option<super::trainer::Losses>, LearnError> {
        let Training { batch, uses, .. } = self.settings.training;
        let steps = (new as f64 * uses / batch as f64).ceil() as usize;
        let bar = progress(steps);
        bar.set_message(format!("steps of generation {}", self.trainer.generation + 1));
        let window = self.samples();
        let (stop, training) = (self.stop, &self.settings.training);
        let watch = |done: usize| {
            bar.set_position(done as u64);
            !stop.load(Ordering::Relaxed)
        };
        let seed = self.settings.seed;
        let losses = self.trainer.learn(self.game, &window, training, seed, steps, watch);
        bar.finish_and_clear();
        if losses.is_some() {
            let path = self.folder.join("network.safetensors");
            self.trainer.averaged().save(&path).map_err(LearnError::parameters(&path))?;
        }
        Ok(losses)
    }

    fn board_net(&self, network: &NetworkFile) -> Result<BoardNet, LearnError> {
        BoardNet::new(network, self.game).map_err(|why| self.unfit(why))
    }

    fn unfit(&self, why: UnfitNetwork) -> LearnError {
        LearnError::Unfit(self.folder.to_owned(), why)
    }

    /// Shares of value-keeping moves where it matters: of the policy, and of a long search.
    fn optimal(&self, network: &NetworkFile) -> Result<Option<[f64; 2]>, LearnError> {
        let Some(exam) = &self.exam else { return Ok(None) };
        let network = self.board_net(network)?;
        let policy =
            mark(self.game, exam, |state| without_search(&network, self.game, state, false));
        let search = mark_search(self.game, &network, exam, self.settings.play.long);
        Ok(Some([policy.share(), search.share()]))
    }
}

/// Searched positions.
fn positions(records: &[GameRecord]) -> usize {
    records.iter().map(|record| record.turns.len()).sum()
}

/// The first network of a run.
fn first_network<G: Game>(game: &G, settings: &Settings) -> Result<NetworkFile, LearnError> {
    let Settings { training: Training { channels, blocks, .. }, seed, init, team, .. } = settings;
    let network = match init {
        Some(path) => {
            let network = NetworkFile::load(path).map_err(LearnError::parameters(path))?;
            network.check(game).map_err(|why| LearnError::Unfit(path.clone(), why))?;
            network
        }
        None => NetworkFile::random(game, *channels, *blocks, *seed),
    };
    Ok(match team {
        Some(team) => network.with_players(team.players, *seed),
        None => network,
    })
}
