//! The columns of paper 000, table 1, for a small game: one network by its policy, by its action values, and with search of several
//! sizes, by the rules and in imagined positions, against plain Monte-Carlo tree search. Finished pairs of games are lines of a
//! journal: a kill costs the games in progress.

use super::error::{LearnError, read_lines};
use super::exam::{Solved, keeping, without_search};
use super::learned::{LearnedWorld, imagining};
use super::measure::{Chooser, score, searcher};
use crate::league::ratings::{Meeting, Ratings, rate};
use crate::matches::elo::Z95;
use crate::matches::tally::Tally;
use crate::plots::{Curve, Picture};
use engine::process::errors::FileError;
use engine::process::files::{JournalFile, check_folder, whole_lines, write_whole};
use engine::process::progress::progress;
use games::net::BoardNet;
use games::player::AnyPlayer;
use nn::numeric::argmax;
use nn::rng::{Rng, split_mix};
use rayon::iter::{IntoParallelRefIterator, ParallelIterator};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

/// Name of the journal, by which a folder is recognised.
const GAMES: &str = "games.jsonl";
/// Largest part of a move's search of the solver that errs; beyond it its move is random.
const ERRING_NODES: u64 = 1_000_000;

/// How a player chooses its moves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum BoardGameAgent {
    /// Tree search with random games; with 100 the anchor, 0 Elo.
    Plain(u64),
    /// The move with the most probable policy.
    Policy,
    /// The action value whose most probable bucket is highest (max scoring).
    Max,
    /// The highest expected action value (mean scoring).
    Mean,
    /// Search by the rules.
    Tree(u64),
    /// Search in which the network is the rules.
    Imagined(u64),
    /// The solver's value-keeping moves; one of this number of moves is random.
    Erring(usize),
}

/// The journal names agents by their place here: new ones come at the end.
const AGENTS: [BoardGameAgent; 14] = [
    BoardGameAgent::Plain(100),
    BoardGameAgent::Max,
    BoardGameAgent::Mean,
    BoardGameAgent::Policy,
    BoardGameAgent::Tree(100),
    BoardGameAgent::Tree(250),
    BoardGameAgent::Tree(500),
    BoardGameAgent::Tree(1000),
    BoardGameAgent::Imagined(100),
    BoardGameAgent::Imagined(500),
    BoardGameAgent::Plain(1_000),
    BoardGameAgent::Plain(10_000),
    BoardGameAgent::Plain(100_000),
    BoardGameAgent::Erring(10),
];

impl BoardGameAgent {
    fn name(self) -> String {
        match self {
            BoardGameAgent::Plain(playouts) => format!("plain MCTS, {playouts} roll-outs"),
            BoardGameAgent::Policy => "policy".to_owned(),
            BoardGameAgent::Max => "action value, max scoring".to_owned(),
            BoardGameAgent::Mean => "action value, mean scoring".to_owned(),
            BoardGameAgent::Tree(playouts) => format!("M = {playouts}"),
            BoardGameAgent::Imagined(playouts) => format!("M = {playouts}, imagined"),
            BoardGameAgent::Erring(every) => format!("solver, 1 move of {every} random"),
        }
    }

    fn player<'a, G: Solved + 'a>(
        self,
        game: &G,
        network: &'a BoardNet,
        opening: u64,
    ) -> Box<Chooser<'a, G::State>> {
        let own = game.clone();
        match self {
            BoardGameAgent::Plain(playouts) => {
                let mut player = AnyPlayer::plain(own, playouts, 1);
                Box::new(move |state| Some(player.search(state, &[], None).first()?.moves[0]))
            }
            BoardGameAgent::Policy => {
                Box::new(move |state| without_search(network, &own, state, false))
            }
            BoardGameAgent::Mean => {
                Box::new(move |state| without_search(network, &own, state, true))
            }
            BoardGameAgent::Max => Box::new(move |state| {
                let values = LearnedWorld::modal_values(&own, network, state);
                own.moves(state).get(argmax(&values)?).copied()
            }),
            BoardGameAgent::Tree(playouts) => Box::new(searcher(game, network, playouts)),
            BoardGameAgent::Imagined(playouts) => Box::new(imagining(game, network, playouts)),
            BoardGameAgent::Erring(every) => {
                let (mut solver, mut random) = (game.solver(), Rng::new(opening));
                Box::new(move |state| {
                    let solver = solver.as_mut().filter(|_| random.below(every) > 0);
                    let verdicts = solver.and_then(|it| it.verdicts(state, ERRING_NODES));
                    let moves = verdicts.map_or_else(|| own.moves(state), |all| keeping(&all));
                    (!moves.is_empty()).then(|| moves[random.below(moves.len())])
                })
            }
        }
    }
}

/// Two games of one opening, each side once: the first agent's points.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Pair {
    first: usize,
    second: usize,
    /// Number of the opening.
    round: usize,
    points: [f64; 2],
}

/// Plays rounds of all pairs of agents until there are `games` games, or `stop` is raised. Writes `table.csv` and `league.svg`, and
/// calls `say` with each line of the table.
///
/// # Errors
/// A file is damaged or cannot be written.
pub fn league<G: Solved>(
    game: &G,
    network: &BoardNet,
    games: usize,
    folder: &Path,
    stop: &AtomicBool,
    say: impl FnMut(String),
) -> Result<(), LearnError> {
    std::fs::create_dir_all(folder).map_err(FileError::of(folder))?;
    check_folder(folder, &[GAMES], &["table.csv", "league.svg"]).map_err(LearnError::Folder)?;
    let mut journal = JournalFile::open(&folder.join(GAMES))?;
    let bytes = journal.read()?;
    journal.truncate(whole_lines(&bytes).map(<[u8]>::len).sum(), bytes.len())?;
    let known: Vec<Pair> = read_lines(&folder.join(GAMES), &bytes)?;
    // Without a solver its agent would be a random mover.
    let solved = game.solver().is_some();
    let plays = |agent: &usize| solved || !matches!(AGENTS[*agent], BoardGameAgent::Erring(_));
    let opponents =
        |first: usize| (first + 1..AGENTS.len()).filter(plays).map(move |second| (first, second));
    let meetings: Vec<(usize, usize)> =
        (0..AGENTS.len()).filter(plays).flat_map(opponents).collect();
    let rounds = games.div_ceil(2 * meetings.len());
    let all = (0..rounds).flat_map(|round| meetings.iter().map(move |&(a, b)| (a, b, round)));
    let is_new = |&(first, second, round): &(usize, usize, usize)| {
        known.iter().all(|pair| (pair.first, pair.second, pair.round) != (first, second, round))
    };
    let missing: Vec<(usize, usize, usize)> = all.filter(is_new).collect();
    let bar = progress(2 * (known.len() + missing.len()));
    bar.set_position(2 * known.len() as u64);
    bar.set_message("games of the league");
    let written = Mutex::new((journal, Ok(())));
    let play = |&(first, second, round): &(usize, usize, usize)| {
        if stop.load(Ordering::Relaxed) {
            return None;
        }
        let points = [true, false].map(|begins| {
            let opening = split_mix(round as u64);
            let [mut one, mut two] =
                [first, second].map(|agent| AGENTS[agent].player(game, network, opening));
            score(game, [&mut *one, &mut *two], begins, opening)
        });
        let pair = Pair { first, second, round, points };
        let mut written = written.lock().unwrap_or_else(PoisonError::into_inner);
        let (journal, failed) = &mut *written;
        if failed.is_ok() {
            *failed = journal.append(&pair);
        }
        bar.inc(2);
        Some(pair)
    };
    let new: Vec<Pair> = missing.par_iter().filter_map(play).collect();
    bar.finish_and_clear();
    written.into_inner().unwrap_or_else(PoisonError::into_inner).1?;
    report(&[known, new].concat(), folder, say)
}

fn report(pairs: &[Pair], folder: &Path, mut say: impl FnMut(String)) -> Result<(), LearnError> {
    let mut tallies: BTreeMap<(usize, usize), Tally> = BTreeMap::new();
    for pair in pairs.iter().filter(|pair| pair.second < AGENTS.len()) {
        let tally = tallies.entry((pair.first, pair.second)).or_default();
        for points in pair.points {
            match points {
                0.0 => tally.losses += 1,
                1.0 => tally.wins += 1,
                _ => tally.draws += 1,
            }
        }
        let halves = (2.0 * pair.points.iter().sum::<f64>()).round() as usize;
        tally.pairs[halves.min(4)] += 1;
    }
    let meetings: Vec<Meeting<'_>> =
        tallies.iter().map(|(&(first, second), tally)| Meeting { first, second, tally }).collect();
    let ratings = rate(AGENTS.len(), &meetings, Some((0, 0.0)));
    let error = |agent: usize| Z95 * ratings.variance_of_difference(agent, 0).sqrt();
    let games = |agent: usize| -> u64 {
        let of = |(&(a, b), tally): (&(usize, usize), &Tally)| {
            if a == agent || b == agent { tally.games() } else { 0 }
        };
        tallies.iter().map(of).sum()
    };
    let mut order: Vec<usize> = (0..AGENTS.len()).filter(|agent| games(*agent) > 0).collect();
    order.sort_by(|a, b| ratings.elo[*b].total_cmp(&ratings.elo[*a]));
    let mut csv = "agent,elo,error,games\n".to_owned();
    for agent in order {
        let (name, elo, error) = (AGENTS[agent].name(), ratings.elo[agent], error(agent));
        say(format!("{name:<26} {elo:>7.0} ± {error:<4.0} {:>6} games", games(agent)));
        csv += &format!("\"{name}\",{elo:.1},{error:.1},{}\n", games(agent));
    }
    let path = folder.join("table.csv");
    write_whole(&path, csv).map_err(FileError::of(&path))?;
    Ok(picture(&ratings).draw(&folder.join("league.svg"))?)
}

/// Elo over playouts; players without search stand at 1.
fn picture(ratings: &Ratings) -> Picture {
    let curve = |name: &str, playouts: &dyn Fn(BoardGameAgent) -> Option<u64>| Curve {
        name: name.to_owned(),
        points: AGENTS
            .iter()
            .zip(&ratings.elo)
            .filter_map(|(agent, elo)| Some((playouts(*agent)? as f64, *elo)))
            .collect(),
    };
    Picture {
        title: "one network, with and without search".to_owned(),
        x: "playouts".to_owned(),
        y: "Elo above plain MCTS with 100 roll-outs".to_owned(),
        curves: vec![
            curve("search by the rules", &|agent| match agent {
                BoardGameAgent::Policy => Some(1),
                BoardGameAgent::Tree(playouts) => Some(playouts),
                _ => None,
            }),
            curve("search in imagined positions", &|agent| match agent {
                BoardGameAgent::Imagined(playouts) => Some(playouts),
                _ => None,
            }),
            curve("action value, mean scoring", &|agent| {
                (agent == BoardGameAgent::Mean).then_some(1)
            }),
        ],
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::games::exam::{Kind, mark, questions};
    use games::connect4::ConnectFour;
    use games::net::NetworkFile;

    #[test]
    fn the_solver_keeps_the_value_but_for_one_move_in_ten() {
        let game = ConnectFour::new(4, 4);
        let network = BoardNet::new(&NetworkFile::random(&game, 8, 1, 1), &game).unwrap();
        let file = std::env::temp_dir().join(format!("mavka-erring-{}", std::process::id()));
        let exam = questions(&game, Kind::Random, 400, &file, |_| true).unwrap().unwrap();
        std::fs::remove_file(file).unwrap();
        let agent = |every| BoardGameAgent::Erring(every).player(&game, &network, 3);
        let perfect = mark(&game, &exam, agent(usize::MAX));
        assert_eq!(perfect.all[0], perfect.all[1]);
        let erring = mark(&game, &exam, agent(10));
        assert!((0.85..0.99).contains(&erring.share()), "{}", erring.describe());
        // More errors lose more, though some random moves keep the value.
        assert!(mark(&game, &exam, agent(2)).share() < erring.share());
    }
}
