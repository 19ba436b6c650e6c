//! Finished games of a league and their counts.

use crate::matches::rules::{PlayedGame, Seat};
use crate::matches::tally::{PlayerTotals, Tallies, total};
use crate::openings::Opening;
use shakmaty::ByColor;
use std::collections::BTreeMap;

/// One finished game.
#[derive(Clone, Debug)]
pub struct Entry {
    /// Number of its pair, from 0. Old journals reuse numbers after an agent has left the league, so that only number
    /// and agents identify a pair: [`Entry::pair_id`].
    pub pair: usize,
    /// Index in the pair, 0 or 1.
    pub game: usize,
    /// Indices of the agents.
    pub agents: ByColor<usize>,
    /// `2026.01.31`.
    pub date: String,
    pub opening: Opening,
    /// Moves and result.
    pub played: PlayedGame,
}

impl Entry {
    /// Identity of the game's pair: number and agents.
    #[must_use]
    pub fn pair_id(&self) -> (usize, (usize, usize)) {
        (self.pair, key(self.agents).0)
    }
}

/// State from which an interrupted league resumes.
#[derive(Clone, Debug, Default)]
pub struct Resume {
    /// Games of the present agents.
    pub games: Vec<Entry>,
    /// Number of the next pair: greater than all in the journal, including those of absent agents.
    pub next_pair: usize,
}

/// All finished games.
#[derive(Clone, Debug, Default)]
pub struct Book {
    games: Vec<Entry>,
    tallies: Tallies,
}

impl Book {
    /// Adds a game.
    pub fn add(&mut self, entry: Entry) {
        let (key, white) = key(entry.agents);
        self.tallies.entry(key).or_default().book(entry.pair, white, &entry.played);
        self.games.push(entry);
    }

    /// The games in order of completion.
    #[must_use]
    pub fn games(&self) -> &[Entry] {
        &self.games
    }

    /// Counts by the indices of two agents, the smaller first.
    #[must_use]
    pub fn tallies(&self) -> &Tallies {
        &self.tallies
    }

    /// Totals of an agent, and its games won, drawn and lost.
    #[must_use]
    pub fn total(&self, agent: usize) -> (PlayerTotals, [u64; 3]) {
        total(&self.tallies, agent)
    }

    /// Result of `agent` against `other`: won, drawn, lost.
    #[must_use]
    pub fn between(&self, agent: usize, other: usize) -> [u64; 3] {
        let (low, high) = (agent.min(other), agent.max(other));
        match self.tallies.get(&(low, high)) {
            Some(tally) if agent == low => [tally.wins, tally.draws, tally.losses],
            Some(tally) => [tally.losses, tally.draws, tally.wins],
            None => [0; 3],
        }
    }

    /// Incomplete pairs: the one game of each.
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

/// The two agents, the smaller index first, and White's seat.
#[must_use]
pub fn key(agents: ByColor<usize>) -> ((usize, usize), Seat) {
    let ByColor { white, black } = agents;
    if white < black { ((white, black), Seat::First) } else { ((black, white), Seat::Second) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::matches::rules::Ending;
    use shakmaty::Color;

    pub(crate) fn entry(pair: usize, white: usize, black: usize, winner: Option<Color>) -> Entry {
        let ending = if winner.is_some() { Ending::Checkmate } else { Ending::Repetition };
        let played = PlayedGame { plies: vec![], winner, ending, warnings: ByColor::default() };
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
