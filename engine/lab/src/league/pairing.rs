//! Pairing rules. The choice depends only on finished games and games in progress, so that an interrupted league
//! resumes identically.

use super::ratings::{Meeting, expected, outlook};
use crate::matches::tally::{Tallies, total};
use std::collections::BTreeMap;

/// Minimum time of a move in seconds: overhead of the connection.
const MIN_MOVE_SECONDS: f64 = 1e-4;

/// Pairing rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pairing {
    /// All pairs of agents equally often.
    RoundRobin,
    /// This agent against all others, equally often.
    Gauntlet(usize),
    /// The pair with the most information about the ratings: maximum of `p (1 - p) Var(r_i - r_j)`, by which one more
    /// game reduces the joint uncertainty (D-optimal design).
    Uncertain,
    /// `Uncertain`, divided by √(seconds per move pair): a compromise between information per game and per second.
    /// (Per second alone, nine games of ten in a league of networks with and without search were between players of a
    /// millisecond.)
    Efficient,
}

impl Pairing {
    /// The next two agents of those that play, the smaller index first. `plays` has a flag for each agent; `begun` counts pairs of games, including those in progress;
    /// `under_way` names two agents for each *game* in progress. None if no pair is possible.
    #[must_use]
    pub fn next(
        self,
        plays: &[bool],
        tallies: &Tallies,
        begun: &BTreeMap<(usize, usize), usize>,
        under_way: &[(usize, usize)],
    ) -> Option<(usize, usize)> {
        let agents = plays.len();
        let pairs = (0..agents).flat_map(|a| (a + 1..agents).map(move |b| (a, b)));
        let pairs = pairs.filter(|&(a, b)| plays[a] && plays[b]);
        let seldom = |pair: &(usize, usize)| (begun.get(pair).copied().unwrap_or(0), *pair);
        match self {
            Pairing::RoundRobin => pairs.min_by_key(seldom),
            Pairing::Gauntlet(agent) => {
                pairs.filter(|(a, b)| *a == agent || *b == agent).min_by_key(seldom)
            }
            Pairing::Uncertain | Pairing::Efficient => {
                let seconds_per_move =
                    (self == Pairing::Efficient).then(|| seconds_per_move(agents, tallies));
                let meetings = meetings(tallies);
                let (strength, spread) = outlook(agents, &meetings, under_way);
                let gain = |&(a, b): &(usize, usize)| {
                    let score = expected(strength[a] - strength[b]);
                    let variance = spread[a][a] + spread[b][b] - 2.0 * spread[a][b];
                    let cost = seconds_per_move.as_ref().map_or(1.0, |seconds_per_move| {
                        (seconds_per_move[a] + seconds_per_move[b]).sqrt()
                    });
                    score * (1.0 - score) * variance / cost
                };
                // Tie-break: fewest games.
                pairs.max_by(|a, b| gain(a).total_cmp(&gain(b)).then(seldom(b).cmp(&seldom(a))))
            }
        }
    }
}

/// Seconds per move of each agent; the mean of the others for agents without moves.
fn seconds_per_move(agents: usize, tallies: &Tallies) -> Vec<f64> {
    let seconds_per_move: Vec<Option<f64>> =
        (0..agents).map(|agent| total(tallies, agent).0.pace()).collect();
    let known: Vec<f64> = seconds_per_move.iter().flatten().copied().collect();
    let usual = if known.is_empty() { 1.0 } else { known.iter().sum::<f64>() / known.len() as f64 };
    seconds_per_move.iter().map(|pace| pace.unwrap_or(usual).max(MIN_MOVE_SECONDS)).collect()
}

/// Tallies in the form that ratings need.
#[must_use]
pub fn meetings(tallies: &Tallies) -> Vec<Meeting<'_>> {
    tallies.iter().map(|(&(first, second), tally)| Meeting { first, second, tally }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::matches::tally::{PlayerTotals, Tally};
    use std::time::Duration;

    /// Simulates: every pair scores by the agents' indices; counts the pairings.
    fn play(pairing: Pairing, agents: usize, pairs: usize) -> BTreeMap<(usize, usize), usize> {
        let mut tallies = Tallies::new();
        let mut begun = BTreeMap::new();
        for _ in 0..pairs {
            let pair = pairing.next(&vec![true; agents], &tallies, &begun, &[]).unwrap();
            *begun.entry(pair).or_insert(0) += 1;
            let tally = tallies.entry(pair).or_default();
            // The larger the difference, the clearer the second one's win.
            let (wins, losses) = match pair.1 - pair.0 {
                1 => (1, 1),
                2 => (u64::from(begun[&pair] % 4 == 0), 1),
                _ => (0, 2),
            };
            tally.wins += wins;
            tally.losses += losses;
            tally.draws += 2 - wins - losses;
        }
        begun
    }

    #[test]
    fn round_robin_and_gauntlet_are_fair() {
        let all = play(Pairing::RoundRobin, 4, 12);
        assert_eq!(all.len(), 6);
        assert!(all.values().all(|times| *times == 2), "{all:?}");
        let gauntlet = play(Pairing::Gauntlet(2), 4, 9);
        assert_eq!(gauntlet.keys().copied().collect::<Vec<_>>(), [(0, 2), (1, 2), (2, 3)]);
        assert!(gauntlet.values().all(|times| *times == 3), "{gauntlet:?}");
    }

    #[test]
    fn uncertain_pairs_are_those_of_similar_strength() {
        let met = play(Pairing::Uncertain, 6, 200);
        let times = |distance: usize| -> usize {
            met.iter().filter(|((a, b), _)| b - a == distance).map(|(_, times)| times).sum()
        };
        let reached: std::collections::BTreeSet<usize> =
            met.keys().flat_map(|&(a, b)| [a, b]).collect();
        assert_eq!(reached.len(), 6, "{met:?}");
        assert!(times(1) > 100 && times(5) < 10, "{met:?}");
    }

    #[test]
    fn efficient_pairs_are_those_of_similar_strength_that_move_fast() {
        let mut tallies = Tallies::new();
        // Four equals; the first two take 32 times as long per move.
        for (first, second) in [(0, 2), (1, 3), (0, 1), (2, 3)] {
            let record = |agent: usize| PlayerTotals {
                moves: 100,
                time: Duration::from_millis(if agent < 2 { 100_000 } else { 3125 }),
                ..PlayerTotals::default()
            };
            let tally: &mut Tally = tallies.entry((first, second)).or_default();
            (tally.wins, tally.losses) = (5, 5);
            (tally.first, tally.second) = (record(first), record(second));
        }
        assert_eq!(seconds_per_move(5, &tallies), [1.0, 1.0, 0.03125, 0.03125, 0.515625]);
        let next = |pairing: Pairing, under_way: &[(usize, usize)]| {
            pairing.next(&[true; 4], &tallies, &BTreeMap::new(), under_way)
        };
        assert_eq!(next(Pairing::Efficient, &[]), Some((2, 3)));
        assert_eq!(next(Pairing::Uncertain, &[(2, 3)]), Some((0, 3)));
        // Once the two fast ones are well measured, the slow ones become efficient.
        let known = [(2, 3); 2000];
        assert!(matches!(next(Pairing::Efficient, &known), Some((0 | 1, 2 | 3))));
    }

    #[test]
    fn games_under_way_are_not_chosen_again() {
        let (none, nothing) = (Tallies::new(), BTreeMap::new());
        let first = Pairing::Uncertain.next(&[true; 4], &none, &nothing, &[]).unwrap();
        let second = Pairing::Uncertain.next(&[true; 4], &none, &nothing, &[first]).unwrap();
        assert_ne!(first, second);
        assert_eq!(Pairing::RoundRobin.next(&[true], &none, &nothing, &[]), None);
    }

    #[test]
    fn a_retired_agent_is_not_paired() {
        let (none, nothing) = (Tallies::new(), BTreeMap::new());
        for pairing in [Pairing::RoundRobin, Pairing::Gauntlet(2), Pairing::Uncertain] {
            assert_eq!(pairing.next(&[true, false, true], &none, &nothing, &[]), Some((0, 2)));
        }
        assert_eq!(Pairing::Gauntlet(1).next(&[true, false, true], &none, &nothing, &[]), None);
    }
}
