//! Examples of the held-out games: deterministic, spread over the whole file. The training stream never takes a
//! position of these games (though a position may occur in other games too).

use super::boards::unlabelled_action;
use super::error::DataError;
use super::example::Example;
use super::filter::{KeySet, Recent};
use super::kinds::Kinds;
use super::label::{action_value, win_probability};
use super::mix::MixConfig;
use super::read::FileReader;
use super::record::{Format, Game};
use super::sample::{Sampler, SamplerCounts, candidates};
use nn::encode::canonical_moves;
use nn::rng::Rng;
use shakmaty::{Chess, Move};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Query type of a validation set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ValidationSet {
    /// `MAV(s)` of game positions.
    Position,
    /// `MAV(s)` of positions on principal variations; PVGR1 only.
    Variation,
    /// `MAV(s, a)` of game positions; from MAVG1 half the moves played, half drawn ones.
    Action,
    /// `MAV(s, a)` of every legal castling at game positions, labelled by the rules only: castlings are rare,
    /// and a transition learns last where king and rook go.
    Castling,
}

/// Selection of games.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Variant {
    /// Games of both kinds.
    Any,
    /// Standard chess alone.
    Standard,
    /// Chess960 and double Chess960, as marked in the file.
    Chess960,
}

impl Variant {
    fn has(self, game: &Game) -> bool {
        match self {
            Variant::Any => true,
            Variant::Standard => !game.header().chess960,
            Variant::Chess960 => game.header().chess960,
        }
    }
}

/// A few plies of a held-out game.
#[derive(Clone, Debug)]
pub struct Stretch {
    /// The first position.
    pub start: Chess,
    /// The moves played from there; never empty.
    pub moves: Vec<Move>,
    /// From a game of Chess960.
    pub chess960: bool,
}

/// A position of a held-out game with the value of every legal move.
#[derive(Clone, Debug)]
pub struct Labelled {
    /// Without history.
    pub position: Chess,
    /// Whether the writer marked its game as Chess960.
    pub chess960: bool,
    /// Win probability of the mover, in [0, 1].
    pub value: f32,
    /// Every legal move, with the win probability of the mover after it.
    pub moves: Vec<(Move, f32)>,
}

/// The held-out games of a file.
pub struct HeldOut {
    path: PathBuf,
    format: Format,
    games: Vec<Game>,
    min_depth: u8,
    excluded: Arc<KeySet>,
}

/// Most positions that are held in memory, some 16 GiB: a few compressed bytes may stand for any number.
const MAX_POSITIONS: usize = 1 << 28;

impl HeldOut {
    /// Reads them. Only `validation_every`, `kinds.min_depth` and `excluded` of `config` matter, so that the
    /// sets do not depend on the recipe.
    ///
    /// # Errors
    /// If the file is damaged, no game is held out, or their positions are more than 2^28.
    pub fn read(path: &Path, config: &MixConfig) -> Result<HeldOut, DataError> {
        HeldOut::read_within(path, config, MAX_POSITIONS, 0)
    }

    /// As many games of those that training reads, to tell what a network has learnt by heart.
    ///
    /// # Errors
    /// As [`HeldOut::read`].
    pub fn trained(path: &Path, config: &MixConfig) -> Result<HeldOut, DataError> {
        HeldOut::read_within(path, config, MAX_POSITIONS, 1)
    }

    /// The games that come `after` the held-out ones in the file, within a limit of positions.
    fn read_within(
        path: &Path,
        config: &MixConfig,
        most: usize,
        after: u64,
    ) -> Result<HeldOut, DataError> {
        let reader = FileReader::open(path)?;
        let format = reader.format();
        let (mut games, mut positions) = (Vec::new(), 0);
        for game in reader {
            let game = game?;
            if game.header().index.checked_sub(after).is_some_and(|index| config.holds_out(index)) {
                positions += game.len().max(1);
                if positions > most {
                    let path = path.display();
                    return Err(DataError::Config(format!(
                        "{path} holds out more than {most} positions, expected at most as many"
                    )));
                }
                games.push(game);
            }
        }
        if games.is_empty() {
            let path = path.display();
            let kind = if after == 0 { "held-out game" } else { "game to train on" };
            return Err(DataError::Config(format!("{path} has no {kind}")));
        }
        Ok(HeldOut {
            path: path.to_owned(),
            format,
            games,
            min_depth: config.kinds.min_depth,
            excluded: config.excluded.clone(),
        })
    }

    /// Whether the file has principal variations.
    #[must_use]
    pub fn has_variations(&self) -> bool {
        self.format == Format::Pvgr
    }

    /// At most `limit` examples, spread evenly over the games of `variant`; none without such games.
    ///
    /// # Errors
    /// If a game's moves are not legal, or variations are requested of action-value games.
    pub fn examples(
        &self,
        limit: usize,
        ask: ValidationSet,
        variant: Variant,
    ) -> Result<Vec<Example>, DataError> {
        if ask == ValidationSet::Variation && !self.has_variations() {
            let path = self.path.display();
            return Err(DataError::Config(format!("{path} has no principal variations")));
        }
        if ask == ValidationSet::Castling {
            return self.castlings(limit, variant);
        }
        let kinds = Kinds {
            action_share: f64::from(u8::from(ask == ValidationSet::Action)),
            mate_share: 0.0,
            variation_share: f64::from(u8::from(ask == ValidationSet::Variation)),
            min_depth: self.min_depth,
            ..Kinds::plain()
        };
        let games = self.games.iter().filter(|game| variant.has(game));
        let games: Vec<_> = games.map(|game| (game, candidates(game, &kinds))).collect();
        let total: usize = games.iter().map(|(_, plies)| plies.len()).sum();
        let (mut rng, mut counts) = (Rng::new(0), SamplerCounts::default());
        let mut recent = Recent::new(total);
        let mut sampler = Sampler {
            kinds,
            excluded: &self.excluded,
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
            sampler.sample(game, &plies, &mut examples)?;
        }
        Ok(examples)
    }

    fn castlings(&self, limit: usize, variant: Variant) -> Result<Vec<Example>, DataError> {
        let mut all = Vec::new();
        for game in self.games.iter().filter(|game| variant.has(game)) {
            let mut position = game.header().start.clone();
            for ply in 0.. {
                let legal = canonical_moves(&position).into_iter();
                let castlings = legal.filter(|action| action.is_castle());
                all.extend(castlings.filter_map(|action| unlabelled_action(&position, action)));
                let Some((played, offset)) = game.played(ply) else { break };
                game.header().play(&mut position, played, offset)?;
            }
        }
        let total = all.len();
        let numbered = all.into_iter().enumerate();
        Ok(numbered.filter(|(number, _)| takes(*number, limit, total)).map(|(_, e)| e).collect())
    }

    /// Every position of the games that has a value for each of its moves.
    ///
    /// # Errors
    /// If a game has no action values, or its moves are not legal.
    pub fn labelled(&self) -> Result<Vec<Labelled>, DataError> {
        let mut all = Vec::new();
        for game in &self.games {
            let Game::Mavg(game) = game else {
                let path = self.path.display();
                return Err(DataError::Config(format!("{path} has no action values")));
            };
            let mut position = game.header.start.clone();
            for record in &game.positions {
                let values = game.values(record).iter().map(|value| action_value(*value));
                let labelled = Labelled {
                    position: position.clone(),
                    chess960: game.header.chess960,
                    value: win_probability(record.score),
                    moves: canonical_moves(&position).into_iter().zip(values).collect(),
                };
                all.extend(
                    labelled.moves.iter().all(|(_, value)| !value.is_nan()).then_some(labelled),
                );
                game.header.play(&mut position, record.played, record.offset + 2)?;
            }
        }
        Ok(all)
    }

    /// The games cut into stretches of `plies` plies, the last of a game possibly shorter; at most `limit` of
    /// standard chess and of Chess960 each, evenly spread.
    ///
    /// # Errors
    /// If a game's moves are not legal.
    pub fn stretches(&self, limit: usize, plies: usize) -> Result<Vec<Stretch>, DataError> {
        let mut all = Vec::new();
        for variant in [Variant::Standard, Variant::Chess960] {
            let games = || self.games.iter().filter(|game| variant.has(game));
            let count = |game: &Game| (0..).take_while(|ply| game.played(*ply).is_some()).count();
            let total: usize = games().map(|game| count(game).div_ceil(plies.max(1))).sum();
            let mut seen = 0;
            for game in games() {
                let (mut position, chess960) =
                    (game.header().start.clone(), game.header().chess960);
                let mut stretch = None;
                for ply in 0..count(game) {
                    if ply % plies.max(1) == 0 {
                        all.extend(stretch.take());
                        let start = position.clone();
                        stretch = takes(seen, limit, total).then(|| Stretch {
                            start,
                            moves: Vec::new(),
                            chess960,
                        });
                        seen += 1;
                    }
                    let Some((played, offset)) = game.played(ply) else { break };
                    if let Some(stretch) = &mut stretch {
                        let legal = canonical_moves(&position);
                        stretch.moves.extend(legal.get(usize::from(played)));
                    }
                    game.header().play(&mut position, played, offset)?;
                }
                all.extend(stretch);
            }
        }
        Ok(all)
    }
}

/// True for `limit` numbers evenly spread over `0..total`, or for all of them if `limit` is larger.
fn takes(number: usize, limit: usize, total: usize) -> bool {
    let before = |number: usize| number as u128 * limit as u128 / total.max(1) as u128;
    before(number + 1) > before(number)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::testing::{Sample, mavg_bytes, mavg_game, pvgr_bytes};
    use crate::data::{GameWriter, MixSource, Mixer, Source};
    use shakmaty::Position;
    use std::collections::HashSet;

    fn validation(
        path: &Path,
        limit: usize,
        ask: ValidationSet,
        config: &MixConfig,
    ) -> Result<Vec<Example>, DataError> {
        HeldOut::read(path, config)?.examples(limit, ask, Variant::Any)
    }

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
            let held: HashSet<_> =
                validation(&sample.0, usize::MAX >> 1, ValidationSet::Position, &config)
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
    fn standard_games_and_chess960_are_distinguished() {
        let is_chess960 = |number: &u64| number.is_multiple_of(3);
        let file = |name: &str, numbers: &mut dyn Iterator<Item = u64>| {
            let mut writer = GameWriter::new(Vec::new(), Format::Mavg, "sample").expect("magic");
            for number in numbers {
                let mut game = mavg_game(number);
                game.header.chess960 = is_chess960(&number);
                writer.write(&Game::Mavg(game)).expect("write");
            }
            Sample::new(name, &writer.into_inner())
        };
        let mut config = MixConfig::new(Vec::new());
        config.validation_every = 1;
        let set = |sample: &Sample, variant| {
            let held = HeldOut::read(&sample.0, &config).expect("games");
            assert!(!held.has_variations());
            let set =
                held.examples(usize::MAX >> 1, ValidationSet::Position, variant).expect("set");
            set.iter().map(|example| format!("{example:?}")).collect::<Vec<_>>()
        };
        let mixed = file("variants", &mut (0..12));
        let chess960 = file("variants-chess960", &mut (0..12).filter(is_chess960));
        let standard = file("variants-standard", &mut (0..12).filter(|n| !is_chess960(n)));
        // Not assert_eq: the lists are long.
        assert!(set(&mixed, Variant::Chess960) == set(&chess960, Variant::Any));
        assert!(set(&mixed, Variant::Standard) == set(&standard, Variant::Any));
        assert!(set(&standard, Variant::Any).len() > set(&chess960, Variant::Any).len());
        assert!(set(&standard, Variant::Chess960).is_empty());
    }

    #[test]
    fn games_that_training_reads_are_none_of_those_held_out() {
        let sample = Sample::new("trained", &mavg_bytes(7, 6));
        let mut config = MixConfig::new(Vec::new());
        config.validation_every = 3;
        let indices = |read: fn(&Path, &MixConfig) -> Result<HeldOut, DataError>| {
            let games = read(&sample.0, &config).expect("games").games;
            games.iter().map(|game| game.header().index).collect::<Vec<_>>()
        };
        assert_eq!((indices(HeldOut::read), indices(HeldOut::trained)), (vec![0, 3], vec![1, 4]));
        let all_held_out = Sample::new("trained-none", &mavg_bytes(1, 1));
        let why = HeldOut::trained(&all_held_out.0, &config).err().expect("one game is held out");
        assert!(why.to_string().contains("has no game to train on"), "{why}");
    }

    #[test]
    fn more_positions_than_the_limit_are_refused() {
        let sample = Sample::new("held-limit", &mavg_bytes(4, 40));
        let mut config = MixConfig::new(Vec::new());
        config.validation_every = 1;
        let all = HeldOut::read(&sample.0, &config).expect("games");
        let count = all.games.iter().map(Game::len).sum();
        assert!(HeldOut::read_within(&sample.0, &config, count, 0).is_ok());
        let why = HeldOut::read_within(&sample.0, &config, count - 1, 0).err().expect("refused");
        let words = format!("held-limit holds out more than {} positions", count - 1);
        assert!(why.to_string().contains("held-limit"), "{why}");
        assert!(why.to_string().contains(words.trim_start_matches("held-limit")), "{why}");
    }

    #[test]
    fn castlings_are_all_that_the_games_allowed() {
        let sample = Sample::new("castlings", &mavg_bytes(4, 40));
        let mut config = MixConfig::new(Vec::new());
        config.validation_every = 1;
        let held = HeldOut::read(&sample.0, &config).expect("games");
        let set = |limit| held.examples(limit, ValidationSet::Castling, Variant::Any).expect("set");
        let all = set(usize::MAX >> 1);
        let labelled = held.labelled().expect("labels");
        let legal = labelled.iter().flat_map(|at| &at.moves).filter(|(m, _)| m.is_castle()).count();
        assert!(legal > 20 && all.len() >= legal, "{legal} and those after the last label");
        let castled = |e: &Example| {
            let next = e.next.as_ref().expect("an action");
            let king = |pieces: &[u8; 64]| pieces.iter().position(|piece| *piece == 6);
            matches!((e.features.kind, king(&next.pieces)), (Some(6), Some(6)) | (Some(7), Some(2)))
        };
        assert!(all.iter().all(castled));
        assert_eq!(set(7).len(), 7);
    }

    #[test]
    fn stretches_are_the_games_cut_up() {
        let sample = Sample::new("stretches", &pvgr_bytes(3, 12));
        let mut config = MixConfig::new(Vec::new());
        config.validation_every = 1;
        let held = HeldOut::read(&sample.0, &config).expect("games");
        let all = held.stretches(usize::MAX >> 1, 5).expect("stretches");
        let plies: usize = all.iter().map(|stretch| stretch.moves.len()).sum();
        let played = |game: &Game| (0..).take_while(|ply| game.played(*ply).is_some()).count();
        assert_eq!(plies, held.games.iter().map(played).sum::<usize>());
        for pair in all.windows(2) {
            let mut end = pair[0].start.clone();
            assert!((1..=5).contains(&pair[0].moves.len()));
            pair[0].moves.iter().for_each(|m| end.play_unchecked(*m));
            let new_game = held.games.iter().any(|game| game.header().start == pair[1].start);
            assert!(end == pair[1].start || new_game);
        }
        assert_eq!(held.stretches(7, 5).expect("stretches").len(), 7);
    }

    #[test]
    fn every_position_comes_with_a_value_for_each_move() {
        let sample = Sample::new("labelled", &mavg_bytes(5, 12));
        let mut config = MixConfig::new(Vec::new());
        config.validation_every = 3;
        let held = HeldOut::read(&sample.0, &config).expect("games");
        let all = held.labelled().expect("labels");
        assert_eq!(all.len(), held.games.iter().map(Game::len).sum::<usize>());
        for labelled in &all {
            assert_eq!(labelled.moves.len(), labelled.position.legal_moves().len());
            let values = labelled.moves.iter().map(|(_, value)| *value).chain([labelled.value]);
            assert!(values.clone().all(|value| (0.0..=1.0).contains(&value)), "{labelled:?}");
        }
        let sample = Sample::new("labelled-pvgr", &pvgr_bytes(5, 12));
        let held = HeldOut::read(&sample.0, &config).expect("games");
        assert!(held.labelled().is_err(), "evaluations are no action values");
    }

    #[test]
    fn a_set_is_the_same_every_time_and_of_one_kind() {
        let sample = Sample::new("validation-kinds", &pvgr_bytes(22, 40));
        let mut config = MixConfig::new(Vec::new());
        (config.validation_every, config.kinds.min_depth) = (2, 0);
        for ask in [ValidationSet::Position, ValidationSet::Variation, ValidationSet::Action] {
            let set = validation(&sample.0, 50, ask, &config).expect("set");
            config.seed += 1;
            let again = validation(&sample.0, 50, ask, &config).expect("set");
            assert_eq!(format!("{set:?}"), format!("{again:?}"));
            assert!((30..=50).contains(&set.len()), "{}", set.len());
            let source =
                if ask == ValidationSet::Variation { Source::Variation } else { Source::GameMove };
            assert!(
                set.iter().all(|e| e.source == source
                    && e.features.has_action == (ask == ValidationSet::Action))
            );
        }
        let sample = Sample::new("validation-mavg", &mavg_bytes(22, 4));
        let error =
            validation(&sample.0, 50, ValidationSet::Variation, &config).expect_err("no lines");
        assert!(error.to_string().contains("no principal variations"));
    }
}
