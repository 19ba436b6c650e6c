//! Schedule of a league: chooses games and records results.

use super::book::{Book, Entry, Resume, key};
use super::config::League;
use crate::matches::rules::PlayedGame;
use crate::matches::stage::{Job, Schedule};
use crate::openings::{self, Opening};
use engine::process::shard::Shard;
use nn::rng::Rng;
use shakmaty::ByColor;
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// Observes games; ends the league by returning false.
pub trait Listener {
    /// Called after a game, which `book` already contains.
    fn on_game(&mut self, entry: &Entry, book: &Book) -> bool;

    /// True once no more games shall start. Games that an engine aborts afterwards do not count: the same signal may
    /// have ended the engine.
    fn stopped(&self) -> bool;
}

/// A league in progress.
pub struct Tournament<'a, L> {
    league: &'a League,
    /// In order of use.
    openings: Vec<Opening>,
    listener: &'a mut L,
    book: Book,
    /// Started pairs by agents.
    begun: BTreeMap<(usize, usize), usize>,
    /// Lines of openings already used by two agents.
    used: BTreeMap<(usize, usize), BTreeSet<usize>>,
    /// Second games of started pairs.
    waiting: VecDeque<Job>,
    /// Agents of each game in progress.
    under_way: Vec<(usize, usize)>,
    next_pair: usize,
    /// Distance of the numbers of two pairs: other shards have those between.
    step: usize,
    over: bool,
}

impl<'a, L: Listener> Tournament<'a, L> {
    /// Resumes after `past`. Without `openings`, all games start from the standard initial position.
    pub fn new(
        league: &'a League,
        mut openings: Vec<Opening>,
        past: Resume,
        listener: &'a mut L,
    ) -> Tournament<'a, L> {
        openings::order(&mut openings, Some(league.seed));
        if openings.is_empty() {
            openings.push(Opening::default());
        }
        let mut tournament = Tournament {
            league,
            openings,
            listener,
            book: Book::default(),
            begun: BTreeMap::new(),
            used: BTreeMap::new(),
            waiting: VecDeque::new(),
            under_way: Vec::new(),
            next_pair: past.next_pair,
            step: 1,
            over: false,
        };
        let mut pairs = BTreeSet::new();
        for entry in past.games {
            let (agents, _) = key(entry.agents);
            if pairs.insert(entry.pair_id()) {
                *tournament.begun.entry(agents).or_insert(0) += 1;
            }
            tournament.used.entry(agents).or_default().insert(entry.opening.line);
            tournament.book.add(entry);
        }
        let halves = tournament.book.halves().into_iter();
        let plays = |agent: &usize| !league.agents[*agent].retired;
        let missing = halves.filter(|half| half.agents.iter().all(plays)).map(|half| {
            let ByColor { white, black } = half.agents;
            let swapped = ByColor { white: black, black: white };
            job(league, half.pair, 1 - half.game.min(1), swapped, half.opening.clone())
        });
        tournament.waiting = missing.collect();
        tournament
    }

    /// The same with the pairs of a shard alone: its numbers belong to no other shard's pairs.
    #[must_use]
    pub fn sharded(mut self, shard: Shard) -> Tournament<'a, L> {
        let index = shard.count(self.next_pair as u64);
        let at = |index: u64| usize::try_from(shard.dealt(index)).unwrap_or(usize::MAX);
        (self.next_pair, self.step) = (at(index), at(index + 1) - at(index));
        self
    }

    /// All games at the end.
    #[must_use]
    pub fn into_book(self) -> Book {
        self.book
    }

    /// The next pair of games; None if no pair is possible.
    fn begin_pair(&mut self) -> Option<[Job; 2]> {
        let plays: Vec<bool> = self.league.agents.iter().map(|agent| !agent.retired).collect();
        let pair =
            self.league.pairing.next(&plays, self.book.tallies(), &self.begun, &self.under_way)?;
        let number = self.next_pair;
        self.next_pair += self.step;
        *self.begun.entry(pair).or_insert(0) += 1;
        // A new opening for each pair; for two agents one they have not had, as long as possible.
        let used = self.used.entry(pair).or_default();
        let order = (0..self.openings.len()).map(|step| (number + step) % self.openings.len());
        let fresh = order.clone().find(|index| !used.contains(&self.openings[*index].line));
        let opening = &self.openings[fresh.or_else(|| order.clone().next())?];
        used.insert(opening.line);
        let (white, black) = pair;
        let make = |game, agents| job(self.league, number, game, agents, opening.clone());
        Some([make(0, ByColor { white, black }), make(1, ByColor { white: black, black: white })])
    }
}

/// A game of the league. Its seed is derived from the league's seed and its number.
fn job(league: &League, pair: usize, game: usize, agents: ByColor<usize>, opening: Opening) -> Job {
    let limits = agents.map(|agent| league.agents[agent].limit);
    let mut random = Rng::from_state(league.seed);
    let own = random.bits() ^ (2 * pair + game) as u64;
    let seed = Some(Rng::from_state(own).bits());
    Job { pair, game, agents, limits, opening, seed }
}

impl<L: Listener> Schedule for Tournament<'_, L> {
    fn next(&mut self) -> Option<Job> {
        if self.over || self.listener.stopped() {
            return None;
        }
        let job = match self.waiting.pop_front() {
            Some(job) => job,
            None if self.book.games().len() + self.under_way.len() >= self.league.games => {
                return None;
            }
            None => {
                let [first, second] = self.begin_pair()?;
                self.waiting.push_back(second);
                first
            }
        };
        self.under_way.push(key(job.agents).0);
        Some(job)
    }

    fn finished(&mut self, job: Job, played: PlayedGame) {
        let agents = key(job.agents).0;
        if let Some(place) = self.under_way.iter().position(|pair| *pair == agents) {
            self.under_way.swap_remove(place);
        }
        if self.listener.stopped() && played.ending.termination() == "abandoned" {
            return;
        }
        let Job { pair, game, agents, opening, .. } = job;
        let date = crate::matches::pgn::today();
        self.book.add(Entry { pair, game, agents, date, opening, played });
        if let Some(entry) = self.book.games().last() {
            self.over |= !self.listener.on_game(entry, &self.book);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::matches::rules::Ending;
    use crate::matches::stage::Stage;
    use crate::uci_client::fake::first_mover;

    struct GameCounter {
        games: Vec<Entry>,
        most: usize,
        stopped: bool,
    }

    impl Listener for GameCounter {
        fn on_game(&mut self, entry: &Entry, book: &Book) -> bool {
            self.games.push(entry.clone());
            assert_eq!(book.games().last().map(|last| last.pair), Some(entry.pair));
            self.games.len() < self.most
        }

        fn stopped(&self) -> bool {
            self.stopped
        }
    }

    fn league(pairing: &str, games: usize) -> League {
        let agents: String =
            ["a", "b", "c", "d"].map(|name| format!("[[agent]]\nname = '{name}'\n")).concat();
        let head = "seed = 3\nlimit = { nodes = 1 }\nrules = { max-plies = 4 }\n";
        League::read(&format!("name = 'l'\ngames = {games}\npairing = '{pairing}'\n{head}{agents}"))
            .unwrap()
    }

    fn openings() -> Vec<Opening> {
        let fen = |rank: &str| format!("rnbqkbnr/pppppppp/8/8/8/{rank}/8/RNBQKBNR w KQkq - 0 1\n");
        let text = ["PPPPPPP1", "PPPPPP1P", "PPPPP1PP", "PPPP1PPP", "PPP1PPPP"].map(fen).concat();
        openings::read(&text, false).unwrap()
    }

    /// Plays up to `most` games after `games`; agents with an odd index play illegal moves.
    fn play(league: &League, games: Vec<Entry>, most: usize, concurrency: usize) -> Vec<Entry> {
        let next_pair = games.iter().map(|entry| entry.pair + 1).max().unwrap_or(0);
        let past = Resume { games: games.clone(), next_pair };
        let mut ears = GameCounter { games, most, stopped: false };
        let mut tournament = Tournament::new(league, openings(), past, &mut ears);
        let stage = Stage { concurrency, kept: 4, rules: league.rules };
        let fault = stage
            .run(&mut tournament, |agent| first_mover((agent % 2 == 1).then_some("bestmove e2e5")));
        assert_eq!(fault, None);
        ears.games
    }

    fn summary(games: &[Entry]) -> Vec<(usize, usize, usize, usize, usize)> {
        games
            .iter()
            .map(|g| (g.pair, g.game, g.agents.white, g.agents.black, g.opening.line))
            .collect()
    }

    #[test]
    fn every_pair_plays_its_opening_with_both_colours() {
        for concurrency in [1, 3] {
            let games = play(&league("round-robin", 24), vec![], 1000, concurrency);
            assert_eq!(games.len(), 24);
            let mut book = Book::default();
            games.iter().cloned().for_each(|game| book.add(game));
            assert!(book.halves().is_empty());
            for first in 0..4 {
                for second in first + 1..4 {
                    let of_both: Vec<&Entry> =
                        games.iter().filter(|g| key(g.agents).0 == (first, second)).collect();
                    assert_eq!(of_both.len(), 4);
                    let lines: BTreeSet<usize> = of_both.iter().map(|g| g.opening.line).collect();
                    assert_eq!(lines.len(), 2, "no opening twice");
                    let white = of_both.iter().filter(|g| g.agents.white == first).count();
                    assert_eq!(white, 2);
                }
            }
        }
    }

    #[test]
    fn an_interrupted_league_resumes_identically() {
        for pairing in ["round-robin", "uncertain"] {
            let league = league(pairing, 40);
            let whole = play(&league, vec![], 1000, 1);
            for cut in [1, 7, 8, 21, 39, 40] {
                let begun = play(&league, vec![], cut, 1);
                assert_eq!(begun.len(), cut);
                let resumed = play(&league, begun, 1000, 1);
                assert_eq!(summary(&resumed), summary(&whole), "{pairing}, cut after {cut}");
            }
        }
    }

    /// As in old journals: (c, d) played pair 0 while a and b were absent.
    #[test]
    fn pairs_of_other_agents_with_one_number_are_completed_each_for_itself() {
        let league = league("round-robin", 40);
        let first = play(&league, vec![], 1, 1).remove(0);
        let agents = ByColor { white: 2, black: 3 };
        let other = openings().into_iter().find(|known| known.line != first.opening.line).unwrap();
        let second = Entry { agents, opening: other, ..first.clone() };
        let games = play(&league, vec![first, second], 1000, 1);
        assert_eq!(games.len(), 40);
        let mut pairs: BTreeMap<_, Vec<&Entry>> = BTreeMap::new();
        games.iter().for_each(|game| pairs.entry(game.pair_id()).or_default().push(game));
        for (id, pair) in pairs {
            let [one, two] = pair.as_slice() else { panic!("{id:?}: {} games", pair.len()) };
            assert_eq!(one.opening.line, two.opening.line, "{id:?}");
            assert_eq!((one.agents.white, one.game), (two.agents.black, 1 - two.game), "{id:?}");
        }
    }

    #[test]
    fn games_left_by_an_engine_after_the_end_do_not_count() {
        let league = league("round-robin", 40);
        let mut ears = GameCounter { games: vec![], most: 1000, stopped: true };
        let mut tournament = Tournament::new(&league, openings(), Resume::default(), &mut ears);
        assert!(tournament.next().is_none());
        tournament.listener.stopped = false;
        let job = tournament.next().unwrap();
        tournament.listener.stopped = true;
        let played = |ending| PlayedGame {
            plies: vec![],
            winner: None,
            ending,
            warnings: ByColor::default(),
        };
        let crash = Ending::Crash(shakmaty::Color::White, String::new());
        tournament.finished(job.clone(), played(crash));
        assert!(tournament.book.games().is_empty());
        tournament.finished(job, played(Ending::Stalemate));
        assert_eq!(tournament.book.games().len(), 1);
    }

    #[test]
    fn each_game_has_a_seed_of_its_own_and_the_same_every_time() {
        let league = league("round-robin", 40);
        let seeds = || {
            let mut ears = GameCounter { games: vec![], most: 1000, stopped: false };
            let mut tournament = Tournament::new(&league, openings(), Resume::default(), &mut ears);
            (0..10).map(|_| tournament.next().unwrap().seed.unwrap()).collect::<Vec<u64>>()
        };
        assert_eq!(seeds(), seeds());
        assert_eq!(seeds().into_iter().collect::<BTreeSet<u64>>().len(), 10);
    }
}
