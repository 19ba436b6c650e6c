//! Table of a league: ratings with error bars, and the external scale.

use super::book::Book;
use super::config::League;
use super::pairing::meetings;
use super::ratings::rate;
use crate::matches::elo::Z95;
use crate::matches::tally::PlayerTotals;
use engine::markup::counted;
use engine::process::files::csv_field;
use std::fmt::Write as _;

/// A row of the table.
#[derive(Clone, Debug)]
pub struct StandingsRow {
    /// Index of the agent.
    pub agent: usize,
    /// Internal scale.
    pub elo: f64,
    /// Half-width of the 95 % interval relative to the average, in Elo.
    pub error: f64,
    /// Rating on the external scale, if any, with its half-width of the 95 % interval.
    pub external: Option<(f64, f64)>,
    /// Games won, drawn, lost.
    pub results: [u64; 3],
    /// Likelihood of superiority over the next row.
    pub los: Option<f64>,
    /// Totals of its games.
    pub record: PlayerTotals,
}

impl StandingsRow {
    /// Games played.
    #[must_use]
    pub fn games(&self) -> u64 {
        self.results.iter().sum()
    }

    /// Share of points.
    #[must_use]
    pub fn score(&self) -> f64 {
        let [wins, draws, _] = self.results;
        (wins as f64 + draws as f64 / 2.0) / self.games().max(1) as f64
    }

    /// Mean time per move in milliseconds.
    #[must_use]
    pub fn milliseconds(&self) -> f64 {
        self.record.pace().unwrap_or(0.0) * 1000.0
    }

    /// Mean nodes per move.
    #[must_use]
    pub fn nodes(&self) -> u64 {
        self.record.nodes / self.record.moves.max(1)
    }
}

/// Maps internal to external ratings: piecewise linear between agents with known external ratings, slope 1 beyond
/// them. Paper 000, section 5.1, calls this a linear fit; all of its table 1 follows from it.
#[derive(Clone, Debug, PartialEq)]
pub struct Scale {
    /// Index and external rating of the anchors, by internal rating.
    anchors: Vec<(usize, f64)>,
}

impl Scale {
    /// The scale through `anchors`. None if empty.
    #[must_use]
    pub fn new(mut anchors: Vec<(usize, f64)>, elo: &[f64]) -> Option<Scale> {
        anchors.sort_by(|a, b| elo[a.0].total_cmp(&elo[b.0]));
        (!anchors.is_empty()).then_some(Scale { anchors })
    }

    /// Description of the anchors.
    #[must_use]
    pub fn words(&self) -> String {
        format!(
            "External: straight lines between the {} agents of known rating, Elo for Elo beyond them; its ± is what the games leave open.",
            self.anchors.len()
        )
    }

    /// External rating of `agent`, and its gradient by the internal ratings `elo`.
    fn external(&self, agent: usize, elo: &[f64]) -> (f64, Vec<f64>) {
        let x = elo[agent];
        let above = self.anchors.partition_point(|(anchor, _)| elo[*anchor] <= x);
        let (low, low_rating) = self.anchors[above.saturating_sub(1)];
        let (high, high_rating) = self.anchors[above.min(self.anchors.len() - 1)];
        let mut slopes = vec![0.0; elo.len()];
        // Beyond the ends both are the same anchor.
        let (slope, share) = if low == high {
            (1.0, 0.0)
        } else {
            let distance = elo[high] - elo[low];
            ((high_rating - low_rating) / distance, (x - elo[low]) / distance)
        };
        slopes[agent] += slope;
        slopes[low] -= slope * (1.0 - share);
        slopes[high] -= slope * share;
        (low_rating + slope * (x - elo[low]), slopes)
    }
}

/// The table, best agent first.
#[derive(Clone, Debug)]
pub struct Standings {
    /// All agents; those without games last.
    pub rows: Vec<StandingsRow>,
    /// None unless an agent with a known external rating has played.
    pub scale: Option<Scale>,
}

impl Standings {
    /// Computes the table.
    #[must_use]
    pub fn new(league: &League, book: &Book) -> Standings {
        let count = league.agents.len();
        let ratings = rate(count, &meetings(book.tallies()), league.fixed());
        let totals: Vec<_> = (0..count).map(|agent| book.total(agent)).collect();
        let played = |agent: &usize| totals[*agent].1.iter().sum::<u64>() > 0;
        let anchors: Vec<(usize, f64)> = (0..count)
            .filter(played)
            .filter_map(|agent| Some((agent, league.agents[agent].rating?)))
            .collect();
        let scale = Scale::new(anchors, &ratings.elo);
        let external = |agent: usize, scale: &Scale| {
            let (elo, slopes) = scale.external(agent, &ratings.elo);
            (elo, Z95 * ratings.variance_of(&slopes).sqrt())
        };
        let mut order: Vec<usize> = (0..count).collect();
        order.sort_by(|a, b| {
            played(b).cmp(&played(a)).then(ratings.elo[*b].total_cmp(&ratings.elo[*a]))
        });
        let row = |(place, &agent): (usize, &usize)| StandingsRow {
            agent,
            elo: ratings.elo[agent],
            error: ratings.error(agent),
            external: scale.as_ref().map(|scale| external(agent, scale)),
            results: totals[agent].1,
            los: order.get(place + 1).map(|next| ratings.superiority(agent, *next)),
            record: totals[agent].0.clone(),
        };
        let rows = order.iter().enumerate().map(row).collect();
        Standings { rows, scale }
    }

    /// Plain text.
    #[must_use]
    pub fn text(&self, league: &League, games: usize) -> String {
        let name = |row: &StandingsRow| league.agents[row.agent].name.as_str();
        let width = self.rows.iter().map(|row| name(row).chars().count()).max().unwrap_or(0).max(5);
        let mut out = format!(
            "{}: {games} of {}\n  #  {:<width$}     Elo      ±  external     ±  games  score  draws    LOS     ms/move  nodes/move  faults\n",
            league.name,
            counted(league.games, "game"),
            "agent"
        );
        for (place, row) in self.rows.iter().enumerate() {
            let percent = |share: f64| format!("{:.1}%", 100.0 * share);
            let whole = |value: Option<f64>| {
                value.map_or_else(|| "-".to_owned(), |value| format!("{value:.0}"))
            };
            let share = row.results[1] as f64 / row.games().max(1) as f64;
            let _ = writeln!(
                out,
                "{:>3}  {:<width$}  {:>6.0}  {:>5.0}  {:>8}  {:>4}  {:>5}  {:>5}  {:>5}  {:>5}  {:>10.1}  {:>10}  {}",
                place + 1,
                name(row),
                row.elo,
                row.error,
                whole(row.external.map(|(elo, _)| elo)),
                whole(row.external.map(|(_, error)| error)),
                row.games(),
                percent(row.score()),
                percent(share),
                row.los.map_or_else(|| "-".to_owned(), percent),
                row.milliseconds(),
                row.nodes(),
                row.record.faults(),
            );
        }
        if let Some(scale) = &self.scale {
            let _ = writeln!(out, "{}", scale.words());
        }
        out
    }

    /// CSV.
    #[must_use]
    pub fn csv(&self, league: &League) -> String {
        let mut out =
            "rank,agent,limit,elo,error95,external,external_error95,games,wins,draws,losses,score,los_next,\
                       ms_per_move,nodes_per_move,illegal,time,crashes,stalls\n"
                .to_owned();
        for (place, row) in self.rows.iter().enumerate() {
            let agent = &league.agents[row.agent];
            let [wins, draws, losses] = row.results;
            let number = |value: Option<f64>, digits: usize| {
                value.map_or_else(String::new, |value| format!("{value:.digits$}"))
            };
            let record = &row.record;
            let _ = writeln!(
                out,
                "{},{},{},{:.2},{:.2},{},{},{},{wins},{draws},{losses},{:.5},{},{:.3},{},{},{},{},{}",
                place + 1,
                csv_field(&agent.name),
                csv_field(&agent.limit.to_string()),
                row.elo,
                row.error,
                number(row.external.map(|(elo, _)| elo), 1),
                number(row.external.map(|(_, error)| error), 1),
                row.games(),
                row.score(),
                number(row.los, 5),
                row.milliseconds(),
                row.nodes(),
                record.illegal_moves,
                record.time_losses,
                record.crashes,
                record.stalls,
            );
        }
        out
    }
}

/// All pairs of agents with games, as CSV.
#[must_use]
pub fn cross_csv(league: &League, book: &Book) -> String {
    let mut out = "first,second,wins,draws,losses,p0,p1,p2,p3,p4\n".to_owned();
    for (&(first, second), tally) in book.tallies() {
        let [first, second] = [first, second].map(|agent| csv_field(&league.agents[agent].name));
        let pairs = tally.pairs.map(|count| count.to_string()).join(",");
        let (wins, draws, losses) = (tally.wins, tally.draws, tally.losses);
        let _ = writeln!(out, "{first},{second},{wins},{draws},{losses},{pairs}");
    }
    out
}

#[cfg(test)]
mod tests {
    use super::super::book::Entry;
    use super::*;
    use crate::matches::rules::{Ending, PlayedGame};
    use crate::openings::Opening;
    use shakmaty::{ByColor, Color};

    fn league() -> League {
        let agents: String = [("a \"1\"", 2000), ("b", 1800), ("c", 1000)]
            .map(|(name, rating)| format!("[[agent]]\nname = '{name}'\nrating = {rating}\n"))
            .concat();
        League::read(&format!(
            "name = 'l'\ngames = 9\nlimit = {{ nodes = 1 }}\nanchor = {{ agent = 'b', elo = 100 }}\n{agents}"
        ))
        .unwrap()
    }

    fn book() -> Book {
        let mut book = Book::default();
        for pair in 0..8 {
            for (game, white, black) in [(0, 0, 1), (1, 1, 0)] {
                // The stronger one wins three of four.
                let winner = if pair % 4 == 0 { black } else { white };
                let winner = if game == 0 { winner == white } else { winner == black };
                let winner = Some(if winner { Color::White } else { Color::Black });
                let played = PlayedGame {
                    plies: vec![],
                    winner,
                    ending: Ending::Checkmate,
                    warnings: ByColor::default(),
                };
                let agents = ByColor { white, black };
                let (date, opening) = (String::new(), Opening::default());
                book.add(Entry { pair, game, agents, date, opening, played });
            }
        }
        book
    }

    #[test]
    fn the_table_is_in_order_and_on_both_scales() {
        let (league, book) = (league(), book());
        let table = Standings::new(&league, &book);
        let order: Vec<usize> = table.rows.iter().map(|row| row.agent).collect();
        assert_eq!(order, [0, 1, 2], "who has not played comes last");
        let [a, b, c] = table.rows.as_slice() else { panic!("three rows") };
        assert_eq!((a.results, b.results, c.games()), ([12, 0, 4], [4, 0, 12], 0));
        assert!(
            (a.elo - b.elo - 190.8).abs() < 0.5 && (b.elo - 100.0).abs() < 1e-9,
            "{} {}",
            a.elo,
            b.elo
        );
        // Exactly through the two that have played.
        assert!((a.external.unwrap().0 - 2000.0).abs() < 1e-6);
        assert!((b.external.unwrap().0 - 1800.0).abs() < 1e-6);
        // Anchors keep their external ratings, whatever their games.
        assert!(a.external.unwrap().1 < 1e-6 && b.external.unwrap().1 < 1e-6, "{a:?} {b:?}");
        assert!(a.los.unwrap() > 0.9 && c.los.is_none());
        let text = table.text(&league, 16);
        assert!(text.contains("16 of 10 games") && text.contains("75.0%"), "{text}");
        assert!(text.contains("between the 2 agents"), "{text}");
        let csv = table.csv(&league);
        assert!(csv.contains("1,\"a \"\"1\"\"\",\"1 nodes\","), "{csv}");
        assert_eq!(csv.lines().count(), 4);
        let heads = csv.lines().next().unwrap().split(',').count();
        assert_eq!(csv.lines().last().unwrap().split(',').count(), heads);
        let cross = cross_csv(&league, &book);
        assert!(cross.ends_with("\"a \"\"1\"\"\",\"b\",12,0,4,2,0,0,0,6\n"), "{cross}");
    }

    /// External ratings of agents with internal ratings `elo`.
    fn externals(anchors: &[(usize, f64)], elo: &[f64]) -> Vec<f64> {
        let scale = Scale::new(anchors.to_vec(), elo).unwrap();
        (0..elo.len()).map(|agent| scale.external(agent, elo).0).collect()
    }

    #[test]
    fn external_ratings_are_those_of_the_paper() {
        // Paper 000, table 1, chess: internal and external. First Stockfish's levels.
        let table = [
            (515.0, 1320.0),
            (808.0, 2203.0),
            (1225.0, 2788.0),
            (1520.0, 3069.0),
            (1604.0, 3141.0),
            (1655.0, 3170.0),
            (1689.0, 3191.0),
            (1990.0, 3474.0),
            (0.0, 805.0),
            (1259.0, 2820.0),
            (1317.0, 2875.0),
            (1367.0, 2923.0),
            (1370.0, 2926.0),
            (1435.0, 2988.0),
            (1542.0, 3088.0),
            (1592.0, 3131.0),
            (1633.0, 3157.0),
            (1707.0, 3209.0),
        ];
        let anchors: Vec<(usize, f64)> =
            table[..8].iter().enumerate().map(|(agent, (_, rating))| (agent, *rating)).collect();
        let elo = table.map(|(elo, _)| elo);
        for (external, (elo, rating)) in externals(&anchors, &elo).iter().zip(table) {
            assert!((external - rating).abs() < 1.5, "{elo}: {external}, the paper {rating}");
        }
        assert_eq!(Scale::new(Vec::new(), &elo), None);
        // One anchor, or two at the same place, suffice.
        assert_eq!(externals(&[(1, 900.0)], &[50.0, 100.0, 180.0]), [850.0, 900.0, 980.0]);
        assert_eq!(externals(&[(0, 800.0), (1, 900.0)], &[5.0, 5.0, 6.0])[2], 901.0);
    }

    #[test]
    fn external_ratings_change_with_the_internal_ones_as_they_say() {
        let elo = [10.0, 480.0, 1040.0, 700.0, -60.0, 1100.0];
        let anchors = [(0, 800.0), (1, 1300.0), (2, 2100.0)];
        for agent in 0..elo.len() {
            let (_, slopes) = Scale::new(anchors.to_vec(), &elo).unwrap().external(agent, &elo);
            for (other, slope) in slopes.iter().enumerate() {
                let (mut above, mut below) = (elo, elo);
                above[other] += 0.01;
                below[other] -= 0.01;
                let change =
                    externals(&anchors, &above)[agent] - externals(&anchors, &below)[agent];
                // An anchor has the given rating; at it the slope changes.
                let want = if agent < anchors.len() { 0.0 } else { *slope };
                assert!((change / 0.02 - want).abs() < 1e-6, "{agent} {other} {change} {slope}");
            }
            assert!(slopes.iter().sum::<f64>().abs() < 1e-9, "where 0 lies does not matter");
            let held = agent >= anchors.len() || slopes.iter().all(|slope| slope.abs() < 1e-9);
            assert!(held, "{agent}: {slopes:?}");
        }
    }
}
