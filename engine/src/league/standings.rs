//! The table of a league: ratings with what they rest on, and the external scale.

use super::book::Book;
use super::config::League;
use super::elo::Z95;
use super::pairing::meetings;
use super::ratings::rate;
use super::tally::Record;
use crate::files::csv_field;
use std::fmt::Write as _;

/// One agent of the table.
#[derive(Clone, Debug)]
pub struct Row {
    /// Its number.
    pub agent: usize,
    /// On the league's own scale.
    pub elo: f64,
    /// Half the 95 % interval about the average of all agents, in Elo.
    pub error: f64,
    /// On the external scale, where there is one, with half the 95 % interval that follows from the games.
    pub external: Option<(f64, f64)>,
    /// Games won, drawn, lost.
    pub results: [u64; 3],
    /// Likelihood that it is stronger than the agent in the next row.
    pub los: Option<f64>,
    /// What it did in all its games.
    pub record: Record,
}

impl Row {
    /// Games played.
    #[must_use]
    pub fn games(&self) -> u64 {
        self.results.iter().sum()
    }

    /// Share of the points.
    #[must_use]
    pub fn score(&self) -> f64 {
        let [wins, draws, _] = self.results;
        (wins as f64 + draws as f64 / 2.0) / self.games().max(1) as f64
    }

    /// Mean time of a move, in milliseconds.
    #[must_use]
    pub fn milliseconds(&self) -> f64 {
        self.record.pace().unwrap_or(0.0) * 1000.0
    }

    /// Mean nodes of a move.
    #[must_use]
    pub fn nodes(&self) -> u64 {
        self.record.nodes / self.record.moves.max(1)
    }
}

/// External rating as a linear function of the internal one (paper 000, section 5.1), by least squares over
/// the agents whose external rating is known.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Scale {
    /// External Elo of internal rating 0.
    pub offset: f64,
    /// External Elo in one internal.
    pub slope: f64,
    /// Root mean square of what the line misses, in Elo.
    pub miss: f64,
    /// Agents it rests on.
    pub anchors: usize,
}

impl Scale {
    /// The line through points (internal, external). None without two different ones.
    #[must_use]
    pub fn fit(points: &[(f64, f64)]) -> Option<Scale> {
        let count = points.len() as f64;
        let mean = |of: fn(&(f64, f64)) -> f64| points.iter().map(of).sum::<f64>() / count;
        let (x, y) = (mean(|point| point.0), mean(|point| point.1));
        let spread: f64 = points.iter().map(|point| (point.0 - x).powi(2)).sum();
        if points.len() < 2 || spread <= 0.0 {
            return None;
        }
        let slope = points.iter().map(|point| (point.0 - x) * (point.1 - y)).sum::<f64>() / spread;
        let offset = y - slope * x;
        let missed = points.iter().map(|point| (offset + slope * point.0 - point.1).powi(2));
        let miss = (missed.sum::<f64>() / count).sqrt();
        Some(Scale { offset, slope, miss, anchors: points.len() })
    }

    /// The external rating of an internal one.
    #[must_use]
    pub fn external(&self, elo: f64) -> f64 {
        self.offset + self.slope * elo
    }

    /// How the external rating of `agent` changes with each agent's internal one: with its own along the line, and
    /// with those of the `anchors` (number, external rating), which move the line.
    fn slopes(&self, agent: usize, elo: &[f64], anchors: &[(usize, f64)]) -> Vec<f64> {
        let count = anchors.len() as f64;
        let x = anchors.iter().map(|(number, _)| elo[*number]).sum::<f64>() / count;
        let y = anchors.iter().map(|(_, rating)| rating).sum::<f64>() / count;
        let spread: f64 = anchors.iter().map(|(number, _)| (elo[*number] - x).powi(2)).sum();
        let mut slopes = vec![0.0; elo.len()];
        slopes[agent] += self.slope;
        for &(number, rating) in anchors {
            let steeper = (rating - y - 2.0 * self.slope * (elo[number] - x)) / spread;
            slopes[number] += (elo[agent] - x) * steeper - self.slope / count;
        }
        slopes
    }
}

/// The table, best first.
#[derive(Clone, Debug)]
pub struct Standings {
    /// Every agent, those without games last.
    pub rows: Vec<Row>,
    /// None without two agents of known external rating that have played.
    pub scale: Option<Scale>,
}

impl Standings {
    /// The table of these games.
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
        let points: Vec<(f64, f64)> =
            anchors.iter().map(|(agent, rating)| (ratings.elo[*agent], *rating)).collect();
        let scale = Scale::fit(&points);
        let external = |agent: usize, scale: Scale| {
            let variance = ratings.variance_of(&scale.slopes(agent, &ratings.elo, &anchors));
            (scale.external(ratings.elo[agent]), Z95 * variance.sqrt())
        };
        let mut order: Vec<usize> = (0..count).collect();
        order.sort_by(|a, b| {
            played(b).cmp(&played(a)).then(ratings.elo[*b].total_cmp(&ratings.elo[*a]))
        });
        let row = |(place, &agent): (usize, &usize)| Row {
            agent,
            elo: ratings.elo[agent],
            error: ratings.error(agent),
            external: scale.map(|scale| external(agent, scale)),
            results: totals[agent].1,
            los: order.get(place + 1).map(|next| ratings.superiority(agent, *next)),
            record: totals[agent].0.clone(),
        };
        let rows = order.iter().enumerate().map(row).collect();
        Standings { rows, scale }
    }

    /// As text.
    #[must_use]
    pub fn text(&self, league: &League, games: usize) -> String {
        let name = |row: &Row| league.agents[row.agent].name.as_str();
        let width = self.rows.iter().map(|row| name(row).chars().count()).max().unwrap_or(0).max(5);
        let mut out = format!(
            "{}: {games} of {} games\n  #  {:<width$}     Elo      ±  external     ±  games  score  draws    LOS     ms/move  nodes/move  faults\n",
            league.name, league.games, "agent"
        );
        for (place, row) in self.rows.iter().enumerate() {
            let percent = |share: f64| format!("{:.1}%", 100.0 * share);
            let whole = |value: Option<f64>| {
                value.map_or_else(|| "-".to_owned(), |value| format!("{value:.0}"))
            };
            let share = row.results[1] as f64 / row.games().max(1) as f64;
            let _ = writeln!(
                out,
                "{:>3}  {:<width$}  {:>6.0}  {:>5.0}  {:>8}  {:>4}  {:>5}  {:>5}  {:>5}  {:>5}  {:>10.1}  {:>10}  {:>6}",
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
        if let Some(Scale { offset, slope, miss, anchors }) = self.scale {
            let _ = writeln!(
                out,
                "external = {offset:.0} + {slope:.3} × Elo, from {anchors} agents, which it misses by {miss:.0} Elo (root mean square)"
            );
        }
        out
    }

    /// The table as CSV.
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

/// Every two agents that have met, as CSV.
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
    use super::super::openings::Opening;
    use super::super::rules::{Ending, Played};
    use super::*;
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
                let played = Played {
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
        // Through the two that have played, exactly.
        assert!((a.external.unwrap().0 - 2000.0).abs() < 1e-6);
        assert!((b.external.unwrap().0 - 1800.0).abs() < 1e-6);
        // Two anchors are where they are said to be, whatever the games between them say.
        assert!(a.external.unwrap().1 < 1e-6 && b.external.unwrap().1 < 1e-6, "{a:?} {b:?}");
        assert_eq!(table.scale.unwrap().anchors, 2);
        assert!(a.los.unwrap() > 0.9 && c.los.is_none());
        let text = table.text(&league, 16);
        assert!(text.contains("16 of 10 games") && text.contains("75.0%"), "{text}");
        let csv = table.csv(&league);
        assert!(csv.contains("1,\"a \"\"1\"\"\",\"1 nodes\","), "{csv}");
        assert_eq!(csv.lines().count(), 4);
        let heads = csv.lines().next().unwrap().split(',').count();
        assert_eq!(csv.lines().last().unwrap().split(',').count(), heads);
        let cross = cross_csv(&league, &book);
        assert!(cross.ends_with("\"a \"\"1\"\"\",\"b\",12,0,4,2,0,0,0,6\n"), "{cross}");
    }

    #[test]
    fn external_ratings_change_with_the_internal_ones_as_they_say() {
        let elo = [10.0, 480.0, 1040.0, 700.0];
        let anchors = [(0, 800.0), (1, 1300.0), (2, 2100.0)];
        let fit = |elo: &[f64]| {
            let points = anchors.map(|(agent, rating)| (elo[agent], rating));
            Scale::fit(&points).unwrap()
        };
        for agent in 0..4 {
            let slopes = fit(&elo).slopes(agent, &elo, &anchors);
            for (other, slope) in slopes.iter().enumerate() {
                let (mut above, mut below) = (elo, elo);
                above[other] += 0.01;
                below[other] -= 0.01;
                let change =
                    fit(&above).external(above[agent]) - fit(&below).external(below[agent]);
                assert!((change / 0.02 - slope).abs() < 1e-6, "{agent} {other} {change} {slope}");
            }
            assert!(slopes.iter().sum::<f64>().abs() < 1e-9, "where 0 lies does not matter");
        }
    }

    #[test]
    fn the_external_scale_is_the_line_of_least_squares() {
        let scale = Scale::fit(&[(0.0, 800.0), (500.0, 1300.0), (1000.0, 2100.0)]).unwrap();
        assert!(
            (scale.slope - 1.3).abs() < 1e-9 && (scale.offset - 750.0).abs() < 1e-9,
            "{scale:?}"
        );
        // Misses of 50, -100 and 50.
        assert!((scale.miss - 5000f64.sqrt()).abs() < 1e-9);
        assert_eq!(Scale::fit(&[(5.0, 800.0)]), None);
        assert_eq!(Scale::fit(&[(5.0, 800.0), (5.0, 900.0)]), None);
    }
}
