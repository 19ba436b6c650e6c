//! Positions that one move leads to from those of a game, whether or not it was played: a file with a value for every
//! legal move has some thirty labels for each of its positions. Like the positions of a search, and unlike those of a game,
//! most of them follow mistakes.

use super::quiet::is_still;
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

/// How a file's values came about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Values {
    /// By searches, which see the exchanges that a network should not guess: of quiet successors alone.
    Searched,
    /// By a network that looked at the successor as it is. Of loud ones one in [`LOUD`] will do: more than half are, and a search asks
    /// about them only to go on to what a capture leads to. In check it asks no network.
    Static,
}

impl Values {
    fn serve(self, next: &Chess, key: u64) -> bool {
        let loud = self == Values::Static && key.is_multiple_of(LOUD) && !next.is_check();
        loud && !next.is_game_over() || is_still(next)
    }
}

/// See [`Values::Static`].
const LOUD: u64 = 4;

/// Games read before the threads share them out.
const GAMES: usize = 2_000;

/// Successors of a file's positions that its `values` can serve, with the value of the move that leads there, for whoever is to move
/// then: a `share` of those of the games that `mix` holds out, or of all others, in the file's order. Those of one position have much in
/// common: few of each of many teach more. Calls `watch` with how many there are so far; ends early if it answers false.
///
/// # Errors
/// The file cannot be read, or holds more than 2^30.
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

/// Of one game; as far as its moves are legal.
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
            // Of the best move a deeper search knows.
            let value = match usize::from(record.best) {
                best if best == index => win_probability(record.score),
                _ => action_value(*stored),
            };
            let mut next = position.clone();
            next.play_unchecked(*m);
            let key = position_key(&next);
            let chosen = share >= 1.0 || ((key >> 32) as f64) < share * 2f64.powi(32);
            if value.is_finite() && chosen && kind.serve(&next, key) && !mix.excluded.contains(&key)
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
        let worth = |value: f32| trained.iter().filter(|s| (s.value - value).abs() < 1e-6).count();
        assert_eq!(worth(1.0 - action_value(64)), 19);
        assert_eq!(worth(1.0 - win_probability(40)), 1, "of the best move the deeper search knows");
    }

    #[test]
    fn a_network_s_values_serve_of_some_loud_positions_too_but_never_in_check() {
        let at = |fen: &str| -> Chess {
            fen.parse::<Fen>().unwrap().into_position(CastlingMode::Standard).unwrap()
        };
        let still = at("4k3/8/8/3p4/8/2N5/PP6/4K3 b - - 0 1");
        let loud = at("4k3/8/8/3p4/8/2N5/PP6/4K3 w - - 0 1");
        let check = at("4k3/8/8/3p4/8/2N5/PP6/4K2r w - - 0 1");
        let served = |values: Values| {
            [&still, &loud, &check]
                .map(|position| [LOUD, LOUD + 1].map(|key| values.serve(position, key)))
        };
        assert_eq!(served(Values::Searched), [[true; 2], [false; 2], [false; 2]]);
        assert_eq!(served(Values::Static), [[true; 2], [true, false], [false; 2]]);
    }
}
