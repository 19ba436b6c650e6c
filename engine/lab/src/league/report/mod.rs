//! Report of a league as one self-contained HTML page: ratings with error bars, Elo over nodes and over time, the
//! cross table, and all games on a board. Follows the system's light or dark mode.

mod chart;
mod data;

use super::book::Book;
use super::config::{Agent, League};
use super::standings::{Standings, StandingsRow};
use crate::matches::pgn::{self, Tags};
use crate::uci_client::limit::Limit;
use chart::{AgentPoint, Chart, ChartSeries};
use engine::markup::board::{BOARD_STYLE, pieces};
use engine::markup::{PAGE_STYLE, counted, escape, viewer};
use std::fmt::{self, Write as _};

/// Style sheet of the league's own elements, after the pages'.
pub(crate) const STYLE: &str = include_str!("page.css");

/// The page. `about` names program and date.
#[must_use]
pub fn page(league: &League, book: &Book, standings: &Standings, about: &str) -> String {
    let name = escape(&league.name);
    let mut out = format!(
        "<!doctype html>\n<html lang='en'><head><meta charset='utf-8'>\n\
         <meta name='viewport' content='width=device-width, initial-scale=1'>\n\
         <title>{name}</title>\n<style>\n{PAGE_STYLE}{BOARD_STYLE}{}{}</style></head><body>\n{}\
         <h1>{name}</h1>\n<p class='soft'>{} of {}. {}</p>\n",
        viewer::STYLE,
        STYLE,
        pieces(),
        book.games().len(),
        counted(league.games, "game"),
        escape(about)
    );
    ratings(&mut out, league, standings);
    curves(&mut out, league, standings);
    over_time(&mut out, standings);
    cross_table(&mut out, league, book, standings);
    out += include_str!("games.html");
    out += viewer::ELEMENTS;
    out += "</div>\n</div>\n";
    out += &viewer::data_element("data", &data::of(league, book));
    let script = include_str!("page.js");
    let _ = writeln!(out, "<script>\n{}{script}</script>\n</body></html>", viewer::SCRIPT);
    out
}

/// All games as PGN.
///
/// # Errors
/// Never, as writing to a string does not fail.
pub fn games(league: &League, book: &Book) -> Result<String, fmt::Error> {
    let mut out = String::new();
    for entry in book.games() {
        let tags = Tags {
            event: &league.name,
            date: &entry.date,
            round: (entry.pair + 1, entry.game + 1),
            names: entry.agents.map(|agent| league.agents[agent].name.as_str()),
            limits: entry.agents.map(|agent| league.agents[agent].limit),
        };
        out += &pgn::write(&tags, &entry.opening, &entry.played)?;
    }
    Ok(out)
}

fn ratings(out: &mut String, league: &League, standings: &Standings) {
    let ends = |row: &StandingsRow| [row.elo - row.error, row.elo + row.error];
    let played = || standings.rows.iter().filter(|row| row.games() > 0);
    // A huge error bar must not compress the others.
    let reach = |ends: [f64; 2]| ends.map(|end| end.clamp(lowest(standings), highest(standings)));
    let low = played().map(|row| reach(ends(row))[0]).fold(f64::INFINITY, f64::min);
    let high = played().map(|row| reach(ends(row))[1]).fold(f64::NEG_INFINITY, f64::max);
    let place = |elo: f64| (100.0 * (elo - low) / (high - low).max(1.0)).clamp(0.0, 100.0);
    *out += "<h2>Ratings</h2>\n<div class='scroll'><table class='ratings'><tr><th></th><th>Agent</th>\
             <th>Elo</th><th>±</th>";
    if standings.scale.is_some() {
        *out += "<th>External</th>";
    }
    *out += "<th class='wide'></th><th>Games</th><th>Score</th><th title='Likelihood that it is stronger than the next'>LOS</th>\
             <th>ms a move</th><th>Nodes</th><th title='Games lost by a fault'>Faults</th></tr>\n";
    let shared = shared_options(league);
    for (number, row) in standings.rows.iter().enumerate() {
        let agent = &league.agents[row.agent];
        let _ = write!(
            out,
            "<tr><td>{}</td><td><span class='name'>{}</span> <span class='soft'>{}</span></td>",
            number + 1,
            escape(&agent.name),
            escape(&words(agent, &shared))
        );
        if row.games() == 0 {
            let columns = if standings.scale.is_some() { 9 } else { 8 };
            let _ = writeln!(out, "<td colspan='{columns}' class='soft'>no games yet</td></tr>");
            continue;
        }
        let _ = write!(out, "<td><b>{:.0}</b></td><td>{:.0}</td>", row.elo, row.error);
        if let Some((external, error)) = row.external {
            let _ = match agent.rating {
                Some(given) => write!(out, "<td title='given: {given:.0}'>{external:.0}*</td>"),
                None => write!(out, "<td>{external:.0} ± {error:.0}</td>"),
            };
        }
        let [from, to] = ends(row).map(place);
        let los =
            row.los.filter(|_| standings.rows.get(number + 1).is_some_and(|next| next.games() > 0));
        let _ = writeln!(
            out,
            "<td class='wide'><div class='bar'><span class='reach' style='left:{from:.2}%;width:{:.2}%'></span>\
             <span class='dot' style='left:{:.2}%'></span></div></td><td>{}</td><td>{:.1}</td><td>{}</td>\
             <td>{:.1}</td><td>{}</td><td>{}</td></tr>",
            to - from,
            place(row.elo),
            row.games(),
            100.0 * row.score(),
            los.map_or_else(String::new, |los| format!("{:.1}", 100.0 * los)),
            row.milliseconds(),
            row.nodes(),
            row.record.faults()
        );
    }
    *out += "</table></div>\n<p class='soft'>Maximum likelihood of the logistic model, a draw as half a win; ± is \
             half the 95 % interval about the average of all agents, from pairs of games. Scores and likelihoods \
             of superiority (LOS, over the next row) in per cent.";
    if let Some(scale) = &standings.scale {
        let _ = write!(out, " {} They are marked *.", scale.words());
    }
    if !shared.is_empty() {
        let _ = write!(out, " All agents of this program: {}.", escape(&listed(&shared)));
    }
    *out += "</p>\n";
}

/// Range of the drawing: slightly beyond the ratings.
fn lowest(standings: &Standings) -> f64 {
    let ratings = standings.rows.iter().filter(|row| row.games() > 0).map(|row| row.elo);
    ratings.fold(f64::INFINITY, f64::min) - 150.0
}

fn highest(standings: &Standings) -> f64 {
    let ratings = standings.rows.iter().filter(|row| row.games() > 0).map(|row| row.elo);
    ratings.fold(f64::NEG_INFINITY, f64::max) + 150.0
}

/// Options shared by all agents of this program, if there are several.
fn shared_options(league: &League) -> Vec<&(String, String)> {
    let own: Vec<&Agent> = league.agents.iter().filter(|agent| agent.command.is_none()).collect();
    let [first, others @ ..] = own.as_slice() else { return Vec::new() };
    let alike =
        |option: &&(String, String)| others.iter().all(|agent| agent.options.contains(option));
    if others.is_empty() { Vec::new() } else { first.options.iter().filter(alike).collect() }
}

fn listed(options: &[&(String, String)]) -> String {
    let words = options.iter().map(|(name, value)| format!("{name} {value}"));
    words.collect::<Vec<String>>().join(", ")
}

/// Description of an agent without shared options.
fn words(agent: &Agent, shared: &[&(String, String)]) -> String {
    let is_listed =
        |option: &&(String, String)| agent.command.is_some() || !shared.contains(option);
    let options: Vec<&(String, String)> = agent.options.iter().filter(is_listed).collect();
    let mut words: Vec<String> = agent.command.iter().cloned().collect();
    words.push(agent.limit.to_string());
    if !options.is_empty() {
        words.push(listed(&options));
    }
    words.join(", ")
}

/// Elo over nodes, one line per curve.
fn curves(out: &mut String, league: &League, standings: &Standings) {
    let mut lines: Vec<ChartSeries> = Vec::new();
    for row in standings.rows.iter().filter(|row| row.games() > 0) {
        let agent = &league.agents[row.agent];
        let (Some(curve), Limit::Nodes(nodes)) = (&agent.curve, agent.limit) else { continue };
        let point = AgentPoint {
            x: nodes as f64,
            y: row.elo,
            error: row.error,
            label: String::new(),
            title: format!("{}: {:.0} ± {:.0}", agent.name, row.elo, row.error),
        };
        match lines.iter_mut().find(|line| line.name == *curve) {
            Some(line) => line.points.push(point),
            None => lines.push(ChartSeries { name: curve.clone(), points: vec![point] }),
        }
    }
    if lines.is_empty() {
        return;
    }
    lines.iter_mut().for_each(|line| line.points.sort_by(|a, b| a.x.total_cmp(&b.x)));
    *out += "<h2>Elo over nodes</h2>\n";
    *out += &Chart { x: "nodes a move", lines, joined: true }.draw();
}

fn over_time(out: &mut String, standings: &Standings) {
    let points: Vec<AgentPoint> = standings
        .rows
        .iter()
        .enumerate()
        .filter(|(_, row)| row.games() > 0 && row.milliseconds() > 0.0)
        .map(|(place, row)| AgentPoint {
            x: row.milliseconds(),
            y: row.elo,
            error: row.error,
            label: (place + 1).to_string(),
            title: format!("{:.0} ± {:.0} at {:.1} ms", row.elo, row.error, row.milliseconds()),
        })
        .collect();
    if points.is_empty() {
        return;
    }
    let lines = vec![ChartSeries { name: "numbers are ranks".to_owned(), points }];
    *out += "<h2>Elo over time</h2>\n";
    *out += &Chart { x: "milliseconds a move, as measured", lines, joined: false }.draw();
}

/// Scores of all pairs, best agent first.
fn cross_table(out: &mut String, league: &League, book: &Book, standings: &Standings) {
    *out += "<h2>Cross table</h2>\n<p class='soft'>Score of the row against the column in per cent, and games. \
             A click shows the games.</p>\n<div class='scroll'><table class='cross'><tr><th></th><th></th>";
    for number in 1..=standings.rows.len() {
        let _ = write!(out, "<th>{number}</th>");
    }
    *out += "</tr>\n";
    for (number, row) in standings.rows.iter().enumerate() {
        let name = escape(&league.agents[row.agent].name);
        let _ = write!(out, "<tr><td>{}</td><td>{name}</td>", number + 1);
        for other in &standings.rows {
            let [wins, draws, losses] = book.between(row.agent, other.agent);
            let games = wins + draws + losses;
            if row.agent == other.agent || games == 0 {
                *out +=
                    if row.agent == other.agent { "<td class='self'></td>" } else { "<td></td>" };
                continue;
            }
            let score = (wins as f64 + draws as f64 / 2.0) / games as f64;
            let _ = write!(
                out,
                "<td style='--s:{:.0}%' title='+{wins} ={draws} -{losses}'><button data-a='{}' data-b='{}'>{:.0}\
                 <small>{games}</small></button></td>",
                100.0 * score,
                row.agent,
                other.agent,
                100.0 * score
            );
        }
        *out += "</tr>\n";
    }
    *out += "</table></div>\n";
}

#[cfg(test)]
mod tests {
    use super::super::book::Entry;
    use super::*;
    use crate::matches::rules::{Ending, PlayedGame, Ply};
    use crate::openings::Opening;
    use shakmaty::uci::UciMove;
    use shakmaty::{ByColor, Chess, Color, Position};
    use std::time::Duration;

    fn game(white: usize, black: usize) -> Entry {
        let mut position = Chess::default();
        let mut plies = Vec::new();
        for word in ["f2f3", "e7e5", "g2g4", "d8h4"] {
            let action = word.parse::<UciMove>().unwrap().to_move(&position).unwrap();
            plies.push(Ply {
                color: position.turn(),
                action,
                score: Some(::uci::Score::Centipawns(40)),
                depth: Some(3),
                nodes: Some(9),
                elapsed: Duration::from_millis(20),
            });
            position.play_unchecked(action);
        }
        let warnings = ByColor::default();
        let winner = Some(Color::Black);
        let played = PlayedGame { plies, winner, ending: Ending::Checkmate, warnings };
        Entry {
            pair: 0,
            game: white,
            agents: ByColor { white, black },
            date: "2026.01.31".to_owned(),
            opening: Opening::default(),
            played,
        }
    }

    #[test]
    fn the_page_has_every_agent_every_game_and_no_hole_for_markup() {
        let league = League::read(
            "name = '<i>'\ngames = 4\noptions = { Hash = 64 }\n\
             [[agent]]\nname = '</script><b>'\nnodes = 100\ncurve = 'c'\noptions = { Threads = 2 }\n\
             [[agent]]\nname = 'b'\nnodes = 1000\ncurve = 'c'\nrating = 5\n[[agent]]\nname = 'idle'\ndepth = 1",
        )
        .unwrap();
        let mut book = Book::default();
        book.add(game(0, 1));
        book.add(game(1, 0));
        let standings = Standings::new(&league, &book);
        let page = page(&league, &book, &standings, "made <here>");
        assert!(!page.contains("<i>") && !page.contains("<b>b") && !page.contains("<here>"));
        assert_eq!(page.matches("</script>").count(), 2, "its own two");
        assert!(page.contains("f3 e5 g4 Qh4#") && page.contains("f2f3 e7e5 g2g4 d8h4"));
        assert!(page.contains("no games yet") && page.contains("Elo over nodes"));
        assert_eq!(page.matches("data-a=").count(), 2);
        assert!(page.contains("All agents of this program: Hash 64."));
        assert!(page.contains("100 nodes, Threads 2<") && page.contains("1000 nodes<"));
        let pgn = games(&league, &book).unwrap();
        assert_eq!(pgn.matches("[Event \"<i>\"]").count(), 2);
        let words: Vec<&str> = pgn.split_whitespace().collect();
        assert!(words.join(" ").contains("Qh4# {+0.40/3 0.020s}"));
    }

    #[test]
    fn a_league_without_games_has_a_page_too() {
        let league =
            League::read("name = 'l'\ngames = 4\nlimit = {nodes = 1}\n[[agent]]\nname = 'a'\n[[agent]]\nname = 'b'\n")
                .unwrap();
        let book = Book::default();
        let page = page(&league, &book, &Standings::new(&league, &book), "");
        assert!(!page.contains("NaN") && !page.contains("inf%"), "{page}");
        assert_eq!(page.matches("no games yet").count(), 2);
    }
}
