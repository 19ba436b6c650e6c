//! Successors of game positions, whether or not the move was played: a file with action values has about thirty labels
//! per position. Like a search's positions, and unlike a game's, most of them follow mistakes.

use super::quiet::is_quiet;
use nn::encode::canonical_moves;
use nn::encode::moves::canonical_move;
use rayon::iter::{IntoParallelRefIterator, ParallelIterator};
use shakmaty::{Chess, Position};
use std::path::Path;
use train::data::label::{action_value, win_probability};
use train::data::record::MavgGame;
use train::data::{DataError, FileReader, Game, MixConfig, position_key};
use train::nnue::Sample;
use train::nnue::samples::MAX_SAMPLES;

/// Source of a file's values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Values {
    /// Searches, which resolve captures: only quiet successors are used.
    Searched,
    /// A network's static evaluation of the successor. One noisy one in [`NOISY_EVERY`] is used: they are the majority,
    /// and a search evaluates them only to continue with captures. Positions in check are skipped.
    Static,
}

impl Values {
    fn accepts(self, next: &Chess, key: u64) -> bool {
        let loud = self == Values::Static && key.is_multiple_of(NOISY_EVERY) && !next.is_check();
        loud && !next.is_game_over() || is_quiet(next)
    }
}

/// See [`Values::Static`].
const NOISY_EVERY: u64 = 4;

/// Games read before they are shared among the threads.
const GAMES: usize = 2_000;

/// Successors of a file's positions that fit `values`, labelled with the value of the move that leads there, for the
/// side to move: a `share` of those of the games that `mix` holds out, or of all others, in file order. Successors of
/// one position resemble each other: few from each of many positions teach more. Calls `watch` with the count so far;
/// stops if it returns false.
///
/// # Errors
/// The file cannot be read, or has more than 2^30 successors.
pub fn successors(
    (path, values, share): (&Path, Values, f64),
    mix: &MixConfig,
    held_out: bool,
    watch: &mut dyn FnMut(usize) -> bool,
) -> Result<Vec<Sample>, DataError> {
    let mut reader = FileReader::open(path)?;
    let mut samples = Vec::new();
    loop {
        let games = reader.by_ref().take(GAMES).collect::<Result<Vec<Game>, DataError>>()?;
        if games.is_empty() || !watch(samples.len()) {
            return Ok(samples);
        }
        let of = |game: &Game| match game {
            Game::Mavg(game) if mix.holds_out(game.header.index) == held_out => {
                of_game(game, values, share, mix)
            }
            _ => Vec::new(),
        };
        let found: Vec<Vec<Sample>> = games.par_iter().map(of).collect();
        samples.extend(found.into_iter().flatten());
        if samples.len() > MAX_SAMPLES {
            let path = path.display();
            let what = format!("{path} holds more than {MAX_SAMPLES} positions to learn from");
            return Err(DataError::Config(what));
        }
    }
}

/// Successors of one game, up to its first illegal move.
fn of_game(game: &MavgGame, kind: Values, share: f64, mix: &MixConfig) -> Vec<Sample> {
    let mut samples = Vec::new();
    let mut position = game.header.start.clone();
    for record in &game.positions {
        let moves = canonical_moves(&position);
        let values = game.values(record);
        if moves.len() != values.len() {
            break;
        }
        for (index, (m, stored)) in moves.iter().zip(values).enumerate() {
            // The best move has a value from a deeper search.
            let value = match usize::from(record.best) {
                best if best == index => win_probability(record.score),
                _ => action_value(*stored),
            };
            let mut next = position.clone();
            next.play_unchecked(*m);
            let key = position_key(&next);
            let chosen = share >= 1.0 || ((key >> 32) as f64) < share * 2f64.powi(32);
            if value.is_finite()
                && chosen
                && kind.accepts(&next, key)
                && !mix.excluded.contains(&key)
            {
                samples.push(Sample::at(&next, 1.0 - value));
            }
        }
        let Some(played) = canonical_move(&position, usize::from(record.played)) else { break };
        position.play_unchecked(played);
    }
    samples
}

#[cfg(test)]
mod tests {
    use super::*;
    use shakmaty::CastlingMode;
    use shakmaty::fen::Fen;
    use train::data::record::{Format, GameResult, Header};
    use train::data::{FileWriter, MixSource};

    #[test]
    fn quiet_successors_have_the_values_of_the_moves_that_lead_there() {
        let path =
            std::env::temp_dir().join(format!("mavka-successors-{}.mavg.zst", std::process::id()));
        let mut writer = FileWriter::create(&path, Format::Mavg).unwrap();
        for _ in 0..2 {
            let header = Header::new(Chess::default(), false, GameResult::Unknown);
            let mut game = MavgGame::new(header);
            game.push(0, (1, 0), 40, &[64; 20]).unwrap();
            writer.write(&Game::Mavg(game)).unwrap();
        }
        writer.finish_file().unwrap();
        let source = MixSource { path: path.clone(), weight: 1.0 };
        let mix = MixConfig { validation_every: 2, ..MixConfig::new(vec![source]) };
        let of = |share, held_out| {
            successors((&path, Values::Searched, share), &mix, held_out, &mut |_| true).unwrap()
        };
        let (trained, held_out) = (of(1.0, false), of(1.0, true));
        let half = of(0.5, false).len();
        std::fs::remove_file(&path).unwrap();
        assert_eq!((trained.len(), held_out.len()), (20, 20), "no first move hangs anything");
        assert!((4..=16).contains(&half), "{half} of 20");
        let with_value =
            |value: f32| trained.iter().filter(|s| (s.value - value).abs() < 1e-6).count();
        assert_eq!(with_value(1.0 - action_value(64)), 19);
        assert_eq!(
            with_value(1.0 - win_probability(40)),
            1,
            "of the best move the deeper search knows"
        );
    }

    #[test]
    fn static_values_include_some_noisy_successors_but_no_checks() {
        let at = |fen: &str| -> Chess {
            fen.parse::<Fen>().unwrap().into_position(CastlingMode::Standard).unwrap()
        };
        let quiet = at("4k3/8/8/3p4/8/2N5/PP6/4K3 b - - 0 1");
        let loud = at("4k3/8/8/3p4/8/2N5/PP6/4K3 w - - 0 1");
        let check = at("4k3/8/8/3p4/8/2N5/PP6/4K2r w - - 0 1");
        let served = |values: Values| {
            [&quiet, &loud, &check].map(|position| {
                [NOISY_EVERY, NOISY_EVERY + 1].map(|key| values.accepts(position, key))
            })
        };
        assert_eq!(served(Values::Searched), [[true; 2], [false; 2], [false; 2]]);
        assert_eq!(served(Values::Static), [[true; 2], [true, false], [false; 2]]);
    }
}
