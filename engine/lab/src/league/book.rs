//! The games of a league, and the counts that follow from them.

use super::openings::Opening;
use super::rules::{Played, Seat};
use super::tally::{Record, Tallies, total};
use shakmaty::ByColor;
use std::collections::BTreeMap;

/// One finished game.
#[derive(Clone, Debug)]
pub struct Entry {
    /// Number of its pair of games, from 0. Old journals use a number again after an agent has left the league, so that
    /// only number and agents together name a pair: [`Entry::pair_id`].
    pub pair: usize,
    /// 0 or 1 within the pair.
    pub game: usize,
    /// Numbers of the agents.
    pub agents: ByColor<usize>,
    /// `2026.01.31`.
    pub date: String,
    /// Where it began.
    pub opening: Opening,
    /// The rest of it.
    pub played: Played,
}

impl Entry {
    /// The identity of the game's pair: its number and its agents.
    #[must_use]
    pub fn pair_id(&self) -> (usize, (usize, usize)) {
        (self.pair, key(self.agents).0)
    }
}

/// The state that an interrupted league continues from.
#[derive(Clone, Debug, Default)]
pub struct Past {
    /// The games of the agents that the league has now.
    pub games: Vec<Entry>,
    /// The number of the next pair: greater than every number in the journal, those of absent agents included.
    pub next_pair: usize,
}

/// All games so far.
#[derive(Clone, Debug, Default)]
pub struct Book {
    games: Vec<Entry>,
    tallies: Tallies,
}

impl Book {
    /// Takes a game in.
    pub fn add(&mut self, entry: Entry) {
        let (key, white) = key(entry.agents);
        self.tallies.entry(key).or_default().book(entry.pair, white, &entry.played);
        self.games.push(entry);
    }

    /// The games, in the order they were finished.
    #[must_use]
    pub fn games(&self) -> &[Entry] {
        &self.games
    }

    /// The counts, by the numbers of two agents, the smaller first.
    #[must_use]
    pub fn tallies(&self) -> &Tallies {
        &self.tallies
    }

    /// What an agent did in all its games, and its games won, drawn and lost.
    #[must_use]
    pub fn total(&self, agent: usize) -> (Record, [u64; 3]) {
        total(&self.tallies, agent)
    }

    /// The result of `agent` against `other`: won, drawn, lost.
    #[must_use]
    pub fn between(&self, agent: usize, other: usize) -> [u64; 3] {
        let (low, high) = (agent.min(other), agent.max(other));
        match self.tallies.get(&(low, high)) {
            Some(tally) if agent == low => [tally.wins, tally.draws, tally.losses],
            Some(tally) => [tally.losses, tally.draws, tally.wins],
            None => [0; 3],
        }
    }

    /// The pairs of games of which one is missing: a game of each that is there.
    #[must_use]
    pub fn halves(&self) -> Vec<&Entry> {
        let mut open = BTreeMap::new();
        for entry in &self.games {
            if open.remove(&entry.pair_id()).is_none() {
                open.insert(entry.pair_id(), entry);
            }
        }
        open.into_values().collect()
    }
}

/// The two agents, the smaller number first, and White's place among them.
#[must_use]
pub fn key(agents: ByColor<usize>) -> ((usize, usize), Seat) {
    let ByColor { white, black } = agents;
    if white < black { ((white, black), Seat::First) } else { ((black, white), Seat::Second) }
}

#[cfg(test)]
mod tests {
    use super::super::rules::Ending;
    use super::*;
    use shakmaty::Color;

    pub(crate) fn entry(pair: usize, white: usize, black: usize, winner: Option<Color>) -> Entry {
        let ending = if winner.is_some() { Ending::Checkmate } else { Ending::Repetition };
        let played = Played { plies: vec![], winner, ending, warnings: ByColor::default() };
        Entry {
            pair,
            game: usize::from(white > black),
            agents: ByColor { white, black },
            date: "2026.01.31".to_owned(),
            opening: Opening::default(),
            played,
        }
    }

    #[test]
    fn results_follow_the_agent_whatever_its_colour_and_number() {
        let mut book = Book::default();
        book.add(entry(0, 0, 1, Some(Color::White)));
        book.add(entry(0, 1, 0, Some(Color::White)));
        book.add(entry(1, 1, 2, Some(Color::Black)));
        book.add(entry(2, 0, 1, None));
        book.add(entry(2, 2, 0, None));
        assert_eq!(book.between(0, 1), [1, 1, 1]);
        assert_eq!(book.between(2, 1), [1, 0, 0]);
        assert_eq!(book.between(0, 2), [0, 1, 0]);
        assert_eq!(book.total(1).1, [1, 1, 2]);
        assert_eq!(book.tallies()[&(0, 1)].pairs, [0, 0, 1, 0, 0]);
        let halves: Vec<usize> = book.halves().iter().map(|entry| entry.pair).collect();
        assert_eq!(halves, [1, 2, 2], "other agents are another pair");
    }
}
