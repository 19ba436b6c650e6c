//! Which of the two built-in networks plays. The larger one judges a position better and computes two thirds as
//! many in a second. At a fixed number of nodes that is a gain, at a clock none that was seen (`docs/src/networks.md`).
//! The trees that the network writes itself are small, and gain the most (`docs/src/internal.md`).

use super::network::{LARGE, SMALL};
use super::settings::{Search, Settings};
use super::strength::Strength;

/// The built-in network that the trees of the internal search are written with, in play, taught and measured.
pub const OF_TREES: &str = LARGE;

/// The network file of a search by `settings`, with a clock or without: the user's; or the larger built-in network in
/// the tree search by the rules, at full strength and without a clock, and in the internal search. What else there is, is
/// measured with the smaller one.
#[must_use]
pub fn network_file(settings: &Settings, clock: bool) -> &str {
    let plain = settings.search == Search::Mcts && !settings.imagines();
    match settings.weights_file.as_str() {
        "" if settings.search == Search::Internal => OF_TREES,
        "" if plain && !clock && Strength::of(settings).is_none() => LARGE,
        "" => SMALL,
        file => file,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::play::settings::WorldModel;

    #[test]
    fn the_larger_one_plays_without_a_clock_and_writes_trees() {
        let plain = Settings::default();
        let internal = Settings { search: Search::Internal, ..plain.clone() };
        assert_eq!([false, true].map(|clock| network_file(&internal, clock)), [LARGE; 2]);
        assert_eq!(network_file(&plain, false), LARGE);
        assert_eq!(network_file(&plain, true), SMALL);
        let analysis = Settings { limit_strength: true, analyse_mode: true, ..plain.clone() };
        assert_eq!(network_file(&analysis, false), LARGE);
        for other in [
            Settings { search: Search::Policy, ..plain.clone() },
            Settings { world_model: WorldModel::Learned, ..plain.clone() },
            Settings { limit_strength: true, ..plain.clone() },
        ] {
            assert_eq!(network_file(&other, false), SMALL);
        }
        let mine = Settings { weights_file: "mine".to_owned(), ..plain };
        assert_eq!([false, true].map(|clock| network_file(&mine, clock)), ["mine"; 2]);
    }
}
