//! The value of every first move: exact, and as a search finds it.

use super::exam::{Solved, share};
use games::net::BoardNet;
use games::player::{Player, network_params};
use rayon::iter::{IntoParallelRefIterator, ParallelIterator};

/// A first move, with values for its player from 1 won to -1 lost.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FirstMove {
    /// Its number.
    pub action: u16,
    /// Its exact value.
    pub exact: i32,
    /// Its value by the search of the position behind it.
    pub searched: f32,
}

/// Searches the position behind each first move, on the threads of the current rayon pool. None if no exact values are known.
pub fn first_moves<G: Solved>(
    game: &G,
    network: &BoardNet,
    playouts: u64,
) -> Option<Vec<FirstMove>> {
    let known = game.first_moves()?;
    let search = |&(action, exact): &(u16, i32)| {
        let mut state = game.start();
        game.play(&mut state, action);
        let mut player = Player::new(game.clone(), network, network_params(1), playouts);
        let lines = player.search(&state, &[], None);
        let searched = lines.first().map_or(0.0, |line| -(2.0 * line.value.q() - 1.0));
        FirstMove { action, exact, searched }
    };
    Some(known.par_iter().map(search).collect())
}

/// How often the exact value is, of those that first moves have, the nearest to the search's; and the moves of which it is not.
pub fn describe(moves: &[FirstMove]) -> String {
    let distance = |value: i32, searched: f32| (value as f32 - searched).abs();
    let wrong = |first: &&FirstMove| {
        let own = distance(first.exact, first.searched);
        moves.iter().any(|other| distance(other.exact, first.searched) < own)
    };
    let wrong: Vec<String> =
        moves.iter().filter(wrong).map(|first| first.action.to_string()).collect();
    let right = share(moves.len() - wrong.len(), moves.len());
    if wrong.is_empty() { right } else { format!("{right}; not of {}", wrong.join(" ")) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use games::connect4::ConnectFour;
    use games::hex::Hex;

    /// Turning the board by half maps Hex onto itself.
    #[test]
    fn first_moves_have_the_values_of_the_literature() {
        let seven = Hex::new(7).unwrap().first_moves().unwrap();
        assert_eq!(seven.len(), 49);
        assert_eq!(seven.iter().filter(|(_, value)| *value == 1).count(), 27);
        let turned = seven.iter().rev().map(|(_, value)| *value);
        assert!(seven.iter().map(|(_, value)| *value).eq(turned));

        // The solver, not the table. The short diagonal wins alone.
        let four = Hex::new(4).unwrap().first_moves().unwrap();
        let won = four.iter().filter(|(_, value)| *value == 1).map(|(action, _)| *action);
        assert_eq!(won.collect::<Vec<_>>(), [3, 6, 9, 12]);
        assert_eq!(Hex::new(9).unwrap().first_moves(), None);
        let columns = ConnectFour::new(4, 4).first_moves().unwrap();
        assert_eq!(columns, [(0, 0), (1, 0), (2, 0), (3, 0)]);
    }

    #[test]
    fn a_value_is_right_if_no_other_first_move_is_nearer() {
        let first = |action, exact, searched| FirstMove { action, exact, searched };
        let drawn = [first(0, -1, -0.4), first(1, 0, -0.6), first(2, 1, 0.6)];
        assert_eq!(describe(&drawn), "33.3 % [6.1, 79.2] of 3; not of 0 1");
        let decided = [first(0, -1, -0.4), first(1, 1, 0.1)];
        assert!(describe(&decided).starts_with("100.0 %"));
    }
}
