//! Examples of the held-out games: the same ones every time, spread over the whole file. The training
//! stream never takes a position of these games (though a position may occur in other games too).

use super::error::DataError;
use super::example::Example;
use super::filter::Recent;
use super::mix::{MixConfig, held_out};
use super::read::FileReader;
use super::record::{Format, Game};
use super::rng::Rng;
use super::sample::{Counts, Kinds, Sampler, candidates};
use std::path::Path;

/// What a validation set asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ask {
    /// `MAV(s)` of game positions.
    Position,
    /// `MAV(s)` of positions on principal variations; PVGR1 only.
    Variation,
    /// `MAV(s, a)` of game positions; from MAVG1 half the moves played, half drawn ones.
    Action,
}

/// At most `limit` examples of the held-out games of `path`. Of `config` only `validation_every`,
/// `kinds.min_depth` and `excluded` count, so that the set does not change with the recipe.
///
/// # Errors
/// If the file is damaged, no game is held out, or variations are asked of action-value games.
pub fn validation(
    path: &Path,
    limit: usize,
    ask: Ask,
    config: &MixConfig,
) -> Result<Vec<Example>, DataError> {
    let reader = FileReader::open(path)?;
    if ask == Ask::Variation && reader.format() == Format::Mavg {
        return Err(DataError::Config(format!("{} has no principal variations", path.display())));
    }
    let kinds = Kinds {
        action_share: f64::from(u8::from(ask == Ask::Action)),
        mate_share: 0.0,
        variation_share: f64::from(u8::from(ask == Ask::Variation)),
        min_depth: config.kinds.min_depth,
        ..Kinds::plain()
    };
    let mut games: Vec<(Game, Vec<usize>)> = Vec::new();
    for game in reader {
        let game = game?;
        if held_out(game.header().index, config.validation_every) {
            let plies = candidates(&game, &kinds);
            games.push((game, plies));
        }
    }
    if games.is_empty() {
        return Err(DataError::Config(format!("{} has no held-out game", path.display())));
    }
    let total: usize = games.iter().map(|(_, plies)| plies.len()).sum();
    let (mut rng, mut counts) = (Rng::new(0), Counts::default());
    let mut recent = Recent::new(total);
    let mut sampler = Sampler {
        kinds,
        excluded: &config.excluded,
        recent: &mut recent,
        rng: &mut rng,
        counts: &mut counts,
    };
    let mut examples = Vec::new();
    let mut seen = 0;
    for (game, mut plies) in games {
        plies.retain(|_| {
            let taken = takes(seen, limit, total);
            seen += 1;
            taken
        });
        sampler.sample(&game, &plies, &mut examples)?;
    }
    Ok(examples)
}

/// True for `limit` numbers evenly spread over `0..total`, or for all of them if `limit` is larger.
fn takes(number: usize, limit: usize, total: usize) -> bool {
    let before = |number: usize| number as u128 * limit as u128 / total.max(1) as u128;
    before(number + 1) > before(number)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::testing::{Sample, mavg_bytes, pvgr_bytes};
    use crate::data::{MixSource, Mixer, Source};
    use std::collections::HashSet;

    #[test]
    fn as_many_are_taken_as_asked() {
        for (limit, total) in [(1, 7), (7, 7), (3, 1_000), (999, 1_000), (0, 5), (20, 5)] {
            let taken = (0..total).filter(|&number| takes(number, limit, total)).count();
            assert_eq!(taken, limit.min(total), "{limit} of {total}");
        }
    }

    #[test]
    fn held_out_games_never_enter_training() {
        for (name, bytes) in [("held-mavg", mavg_bytes(21, 60)), ("held-pvgr", pvgr_bytes(21, 60))]
        {
            let sample = Sample::new(name, &bytes);
            let mut config =
                MixConfig::new(vec![MixSource { path: sample.0.clone(), weight: 1.0 }]);
            (config.buffer, config.validation_every, config.kinds.min_depth) = (50, 5, 0);
            let held: HashSet<_> = validation(&sample.0, usize::MAX >> 1, Ask::Position, &config)
                .expect("held out")
                .iter()
                .map(|example| (example.features.pieces, example.value.to_bits()))
                .collect();
            assert!(held.len() > 100, "{name}: {}", held.len());
            let batch = Mixer::new(config).expect("mixer").next_batch(5_000).expect("batch");
            // Labels are random: the same position and value is the same record.
            let leaked = batch
                .iter()
                .filter(|e| held.contains(&(e.features.pieces, e.value.to_bits())))
                .count();
            assert_eq!(leaked, 0, "{name}");
        }
    }

    #[test]
    fn a_set_is_the_same_every_time_and_of_one_kind() {
        let sample = Sample::new("validation-kinds", &pvgr_bytes(22, 40));
        let mut config = MixConfig::new(Vec::new());
        (config.validation_every, config.kinds.min_depth) = (2, 0);
        for ask in [Ask::Position, Ask::Variation, Ask::Action] {
            let set = validation(&sample.0, 50, ask, &config).expect("set");
            config.seed += 1;
            let again = validation(&sample.0, 50, ask, &config).expect("set");
            assert_eq!(format!("{set:?}"), format!("{again:?}"));
            assert!((30..=50).contains(&set.len()), "{}", set.len());
            let source = if ask == Ask::Variation { Source::Variation } else { Source::GameMove };
            assert!(
                set.iter()
                    .all(|e| e.source == source && e.features.has_action == (ask == Ask::Action))
            );
        }
        let sample = Sample::new("validation-mavg", &mavg_bytes(22, 4));
        let error = validation(&sample.0, 50, Ask::Variation, &config).expect_err("no lines");
        assert!(error.to_string().contains("no principal variations"));
    }
}
