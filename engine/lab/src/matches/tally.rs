//! Count of a match: points by game and by pair, faults and search totals of each player.

use super::elo::{MatchStatistics, Pentanomial, judge};
use super::rules::{Ending, PlayedGame, Seat, Warning, Warnings};
use super::sprt::normalised_elo;
use chess::quote::shorten;
use engine::markup::counted;
use shakmaty::Color;
use std::collections::{BTreeMap, HashMap};
use std::time::Duration;

/// Totals of one player.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PlayerTotals {
    pub illegal_moves: u64,
    pub time_losses: u64,
    pub crashes: u64,
    pub stalls: u64,
    pub warnings: Warnings,
    pub moves: u64,
    pub nodes: u64,
    pub time: Duration,
    /// Longest single move.
    pub slowest: Duration,
}

/// Count from the first player's point of view.
#[derive(Clone, Debug, Default)]
pub struct Tally {
    pub wins: u64,
    pub draws: u64,
    pub losses: u64,
    pub pairs: Pentanomial,
    /// The first player's half points in incomplete pairs.
    open_pairs: HashMap<usize, usize>,
    /// Games won by White, regardless of the player.
    pub white_wins: u64,
    pub black_wins: u64,
    pub adjudicated: u64,
    pub first: PlayerTotals,
    pub second: PlayerTotals,
}

/// Counts of a league by the indices of two agents, the smaller first.
pub type Tallies = BTreeMap<(usize, usize), Tally>;

/// Totals of an agent, and its games won, drawn and lost.
#[must_use]
pub fn total(tallies: &Tallies, agent: usize) -> (PlayerTotals, [u64; 3]) {
    let (mut total, mut results) = (PlayerTotals::default(), [0; 3]);
    for (&(first, second), tally) in tallies {
        let (record, counts) = if agent == first {
            (&tally.first, [tally.wins, tally.draws, tally.losses])
        } else if agent == second {
            (&tally.second, [tally.losses, tally.draws, tally.wins])
        } else {
            continue;
        };
        total.add(record);
        for (sum, count) in results.iter_mut().zip(counts) {
            *sum += count;
        }
    }
    (total, results)
}

impl Tally {
    /// Counts one game of this pair.
    pub fn book(&mut self, pair: usize, white: Seat, played: &PlayedGame) {
        let first = match white {
            Seat::First => Color::White,
            Seat::Second => Color::Black,
        };
        let half_points = match played.winner {
            None => 1,
            Some(winner) if winner == first => 2,
            Some(_) => 0,
        };
        match half_points {
            2 => self.wins += 1,
            1 => self.draws += 1,
            _ => self.losses += 1,
        }
        match self.open_pairs.remove(&pair) {
            Some(before) => self.pairs[before + half_points] += 1,
            None => {
                self.open_pairs.insert(pair, half_points);
            }
        }
        match played.winner {
            Some(Color::White) => self.white_wins += 1,
            Some(Color::Black) => self.black_wins += 1,
            None => {}
        }
        if played.ending.termination() == "adjudication" {
            self.adjudicated += 1;
        }
        self.first.book(played, first);
        self.second.book(played, !first);
    }

    #[must_use]
    pub fn games(&self) -> u64 {
        self.wins + self.draws + self.losses
    }

    #[must_use]
    pub fn judgement(&self) -> Option<MatchStatistics> {
        judge(self.wins, self.draws, self.losses, &self.pairs)
    }

    /// Table for the end of a match: the result, then a column for each player.
    #[must_use]
    pub fn table(&self, first: &str, second: &str) -> String {
        let games = self.games();
        let mut out = format!("{first} against {second}: {}\n", counted(games as usize, "game"));
        let mut row = |name: &str, value: String| out += &format!("  {name:<24}{value}\n");
        if let Some(judged) = self.judgement() {
            let points = self.wins as f64 + self.draws as f64 / 2.0;
            let share = |count: u64| 100.0 * count as f64 / games as f64;
            let normalised = normalised_elo(&self.pairs)
                .map_or_else(|| "-".to_owned(), |(elo, error)| format!("{elo:+.1} ± {error:.1}"));
            let on_time = |record: &PlayerTotals| match record.time_losses {
                0 => String::new(),
                count => format!(" ({count} on time)"),
            };
            let (won, lost) = (on_time(&self.second), on_time(&self.first));
            row("score", format!("{points} / {games} ({:.1} %)", 100.0 * judged.score));
            row(
                "won, drawn, lost",
                format!("{}{won}, {}, {}{lost}", self.wins, self.draws, self.losses),
            );
            row("Elo", format!("{judged} (95 %)"));
            row("normalised Elo", normalised);
            row("LOS", format!("{:.1} %", 100.0 * judged.los));
            row("draws", format!("{:.1} %", share(self.draws)));
            row("pairs of 0 ½ 1 1½ 2", self.pairs.map(|count| count.to_string()).join(" "));
            row("won by White, by Black", format!("{}, {}", self.white_wins, self.black_wins));
            row("adjudicated", self.adjudicated.to_string());
        }
        out + &self.players(first, second)
    }

    /// Each player's results, a column for each.
    fn players(&self, first: &str, second: &str) -> String {
        let names = [first, second].map(|name| shorten(name, MAX_NAME).into_owned());
        let widths = names.each_ref().map(|name| name.chars().count().max(8));
        let records = [&self.first, &self.second];
        let mut out = String::new();
        let mut row = |title: &str, [one, two]: [String; 2]| {
            let [first, second] = widths;
            out += &format!("  {title:<24}{one:>first$}   {two:>second$}\n");
        };
        row("", names);
        let mut counts = |title, count: fn(&PlayerTotals) -> u64| {
            row(title, records.map(|record| count(record).to_string()));
        };
        counts("lost on time", |record| record.time_losses);
        counts("illegal moves", |record| record.illegal_moves);
        counts("crashes", |record| record.crashes);
        counts("no answer", |record| record.stalls);
        counts("protocol warnings", |record| record.warnings.iter().sum());
        counts("longest move, ms", |record| record.slowest.as_millis() as u64);
        counts("nodes a move", |record| record.nodes / record.moves.max(1));
        row(
            "ms a move",
            records.map(|record| format!("{:.1}", 1000.0 * record.pace().unwrap_or(0.0))),
        );
        for (name, record) in [(first, &self.first), (second, &self.second)] {
            for (warning, count) in Warning::ALL.iter().zip(record.warnings) {
                if count > 0 {
                    out += &format!("  warning: {name}: {count} {warning}\n");
                }
            }
        }
        out
    }
}

/// Longest name at the head of a column, in characters.
const MAX_NAME: usize = 28;

impl PlayerTotals {
    /// Adds totals of other games.
    pub fn add(&mut self, other: &PlayerTotals) {
        self.illegal_moves += other.illegal_moves;
        self.time_losses += other.time_losses;
        self.crashes += other.crashes;
        self.stalls += other.stalls;
        for (sum, count) in self.warnings.iter_mut().zip(other.warnings) {
            *sum += count;
        }
        self.moves += other.moves;
        self.nodes += other.nodes;
        self.time += other.time;
        self.slowest = self.slowest.max(other.slowest);
    }

    /// Mean seconds per move; None without moves.
    #[must_use]
    pub fn pace(&self) -> Option<f64> {
        (self.moves > 0).then(|| self.time.as_secs_f64() / self.moves as f64)
    }

    /// Games lost by faults, by kind: `2 on time, 1 crash`; `-` without any.
    #[must_use]
    pub fn faults(&self) -> String {
        let kinds = [
            (self.time_losses, "on time"),
            (self.illegal_moves, "illegal"),
            (self.crashes, "crashed"),
            (self.stalls, "no answer"),
        ];
        let found = kinds.iter().filter(|(count, _)| *count > 0);
        let found: Vec<String> = found.map(|(count, kind)| format!("{count} {kind}")).collect();
        if found.is_empty() { "-".to_owned() } else { found.join(", ") }
    }

    fn book(&mut self, played: &PlayedGame, color: Color) {
        match &played.ending {
            Ending::IllegalMove(guilty, _) if *guilty == color => self.illegal_moves += 1,
            Ending::TimeLoss(guilty) if *guilty == color => self.time_losses += 1,
            Ending::Crash(guilty, _) if *guilty == color => self.crashes += 1,
            Ending::Stall(guilty) if *guilty == color => self.stalls += 1,
            _ => {}
        }
        for (sum, count) in self.warnings.iter_mut().zip(played.warnings[color]) {
            *sum += count;
        }
        for ply in played.plies.iter().filter(|ply| ply.color == color) {
            self.moves += 1;
            self.nodes += ply.nodes.unwrap_or(0);
            self.time += ply.elapsed;
            self.slowest = self.slowest.max(ply.elapsed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use shakmaty::ByColor;

    fn game(winner: Option<Color>, ending: Ending) -> PlayedGame {
        PlayedGame { plies: vec![], winner, ending, warnings: ByColor::default() }
    }

    fn mate(winner: Color) -> PlayedGame {
        game(Some(winner), Ending::Checkmate)
    }

    #[test]
    fn pairs_are_counted_by_points_whatever_the_order() {
        let mut tally = Tally::default();
        // Pair 0: the first player wins with both colours. Pair 1: White wins both. Pair 2: ½ + 0.
        tally.book(0, Seat::First, &mate(Color::White));
        tally.book(1, Seat::Second, &mate(Color::White));
        tally.book(2, Seat::First, &game(None, Ending::Repetition));
        tally.book(1, Seat::First, &mate(Color::White));
        tally.book(0, Seat::Second, &mate(Color::Black));
        tally.book(2, Seat::Second, &mate(Color::White));
        tally.book(3, Seat::First, &mate(Color::White));
        assert_eq!((tally.wins, tally.draws, tally.losses), (4, 1, 2));
        assert_eq!(tally.pairs, [0, 1, 1, 0, 1], "the fourth pair is not complete");
        assert_eq!((tally.white_wins, tally.black_wins), (5, 1));
    }

    #[test]
    fn faults_follow_the_player_not_the_colour() {
        let mut tally = Tally::default();
        let flag = game(Some(Color::White), Ending::TimeLoss(Color::Black));
        tally.book(0, Seat::Second, &flag);
        tally.book(0, Seat::First, &flag);
        let crash = game(Some(Color::Black), Ending::Crash(Color::White, String::new()));
        tally.book(1, Seat::First, &crash);
        assert_eq!((tally.first.time_losses, tally.second.time_losses), (1, 1));
        assert_eq!((tally.first.crashes, tally.second.crashes), (1, 0));
    }

    #[test]
    fn table_shows_the_result() {
        let mut tally = Tally::default();
        tally.book(0, Seat::First, &mate(Color::White));
        tally.book(0, Seat::Second, &game(None, Ending::Stalemate));
        let table = tally.table("new", "old");
        assert!(table.contains("new against old: 2 games"), "{table}");
        assert!(table.contains("1.5 / 2 (75.0 %)"), "{table}");
        assert!(table.contains("+190.8"), "{table}");
        assert!(Tally::default().table("new", "old").contains("0 games"));
    }

    #[test]
    fn losses_on_time_are_marked() {
        let mut tally = Tally::default();
        tally.book(0, Seat::First, &game(Some(Color::White), Ending::TimeLoss(Color::Black)));
        tally.book(0, Seat::Second, &game(Some(Color::White), Ending::TimeLoss(Color::Black)));
        tally.book(1, Seat::First, &mate(Color::White));
        let long = "an engine with a name that is longer than a column";
        let table = tally.table("new", long);
        assert!(
            table.contains("won, drawn, lost        2 (1 on time), 0, 1 (1 on time)"),
            "{table}"
        );
        let rows: Vec<&str> = table.lines().filter(|row| row.contains("  lost on time")).collect();
        assert_eq!(
            rows[0].split_whitespace().collect::<Vec<_>>(),
            ["lost", "on", "time", "1", "1"]
        );
        assert!(table.lines().all(|line| line.chars().count() <= 80), "{table}");
        let record = PlayerTotals { time_losses: 2, crashes: 1, ..PlayerTotals::default() };
        assert_eq!(record.faults(), "2 on time, 1 crashed");
        assert_eq!(PlayerTotals::default().faults(), "-");
    }
}
