//! A network against exact results: sets of solved positions, and games against a perfect player; and matches of two networks.

use super::error::LearnError;
use super::exact::ValueOracle;
use super::exam::{
    ExamPosition, Kind, Marks, Solved, keeping, mark, questions, share, without_search,
};
use super::learned::{Tracked, imagining, track};
use super::openings;
use engine::process::progress::progress;
use games::game::Game;
use games::net::BoardNet;
use games::player::{Player, network_params};
use nn::rng::{Rng, split_mix};
use rayon::iter::{IntoParallelIterator, ParallelIterator};
use rayon::slice::ParallelSlice;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use train::metrics::wilson;

/// Random plies before a game of two players; each opening is played twice.
const OPENING_PLIES: usize = 4;
/// Questions that one search tree answers.
const PART: usize = 25;
/// Playouts of the search behind a first move.
const FIRST_MOVE_PLAYOUTS: u64 = 800;
/// Largest part of a move's search of the perfect player.
const SOLVER_NODES: u64 = 100_000_000;

/// Chooses moves by a search of `playouts` with a network.
pub fn searcher<'a, G: Solved>(
    game: &G,
    network: &'a BoardNet,
    playouts: u64,
) -> impl FnMut(&G::State) -> Option<u16> + use<'a, G> {
    let mut player = Player::new(game.clone(), network, network_params(1), playouts);
    move |state| Some(player.search(state, &[], None).first()?.moves[0])
}

/// Answers every question by a search, on the threads of the current rayon pool.
pub fn mark_search<G: Solved>(
    game: &G,
    network: &BoardNet,
    questions: &[ExamPosition],
    playouts: u64,
) -> Marks {
    let part =
        |questions: &[ExamPosition]| mark(game, questions, searcher(game, network, playouts));
    let parts: Vec<Marks> = questions.par_chunks(PART).map(part).collect();
    parts.into_iter().fold(Marks::default(), Marks::plus)
}

/// Chooses moves.
pub type Chooser<'a, S> = dyn FnMut(&S) -> Option<u16> + 'a;

/// The first player's score in a game whose first plies are random moves of `opening`. `begins`: whether it moves first.
pub fn score<G: Game>(
    game: &G,
    [first, second]: [&mut Chooser<'_, G::State>; 2],
    begins: bool,
    opening: u64,
) -> f64 {
    let mut random = Rng::new(opening);
    let (mut state, mut ply) = (game.start(), 0usize);
    loop {
        if let Some(result) = game.end(&state) {
            let firsts = ply.is_multiple_of(2) == begins;
            return f64::from(if firsts { result.q() } else { result.flip().q() });
        }
        let moves = game.moves(&state);
        let action = if ply < OPENING_PLIES.min(moves.len() / 2) {
            Some(moves[random.below(moves.len())])
        } else if ply.is_multiple_of(2) == begins {
            first(&state)
        } else {
            second(&state)
        };
        game.play(&mut state, action.unwrap_or(moves[0]));
        ply += 1;
    }
}

/// The first network's score in `games` games against the second, in [0, 1]. Deterministic for a seed, on any threads of the
/// current rayon pool.
pub fn contest<G: Solved>(
    game: &G,
    networks: [&BoardNet; 2],
    playouts: u64,
    games: usize,
    seed: u64,
) -> f64 {
    let one = |number: usize| {
        let [mut first, mut second] = networks.map(|network| searcher(game, network, playouts));
        // Both games of a pair have the same opening.
        let opening = split_mix(seed) ^ (number / 2) as u64;
        score(game, [&mut first, &mut second], number.is_multiple_of(2), opening)
    };
    let scores: Vec<f64> = (0..games).into_par_iter().map(one).collect();
    scores.iter().sum::<f64>() / games.max(1) as f64
}

/// The measurements to make.
#[derive(Clone, Copy, Debug)]
pub struct Measurement {
    /// Positions of each set.
    pub positions: usize,
    /// Games against the perfect player.
    pub games: usize,
}

/// Measures a network and calls `say` with each line of the report. The solved positions are kept in `folder`.
///
/// # Errors
/// A file of positions is damaged or cannot be written.
pub fn measure<G: Solved>(
    game: &G,
    network: &BoardNet,
    what: Measurement,
    folder: &Path,
    stop: &AtomicBool,
    mut say: impl FnMut(String),
) -> Result<(), LearnError> {
    for (kind, name) in [(Kind::Random, "random"), (Kind::Played, "played")] {
        let exam = solved_positions(game, (kind, name), what.positions, folder, stop)?;
        let Some(exam) = exam else {
            say(format!("{name} positions: no exact results for {} {}", game.name(), game.size()));
            continue;
        };
        for (by, values) in [("policy", false), ("action values", true)] {
            let marks = mark(game, &exam, |state| without_search(network, game, state, values));
            say(format!("{name} positions, {by}: {}", marks.describe()));
        }
        for playouts in [100, 400] {
            let marks = mark_search(game, network, &exam, playouts);
            say(format!("{name} positions, {playouts} playouts: {}", marks.describe()));
        }
        let marks = mark(game, &exam, imagining(game, network, 400));
        say(format!("{name} positions, 400 imagined playouts: {}", marks.describe()));
        let Tracked { ongoing, ends } = track(game, network, &exam);
        say(format!(
            "{name} positions, next state exactly right: {} of ongoing games, {} of ends",
            share(ongoing[1], ongoing[0]),
            share(ends[1], ends[0])
        ));
    }
    if let Some(moves) = openings::first_moves(game, network, FIRST_MOVE_PLAYOUTS) {
        let values = openings::describe(&moves);
        say(format!("values of the first moves, {FIRST_MOVE_PLAYOUTS} playouts: {values}"));
    }
    if let Some(mut solver) = game.solver().filter(|_| what.games > 0) {
        let mut network = searcher(game, network, 400);
        let bar = progress(what.games);
        bar.set_message("games against the perfect player");
        let mut tally = [0; 3];
        for number in 0..what.games {
            if stop.load(Ordering::Relaxed) {
                break;
            }
            tally[first_against_perfect(game, &mut network, &mut *solver, number)] += 1;
            bar.inc(1);
        }
        bar.finish_and_clear();
        let played: usize = tally.iter().sum();
        let won = tally[2] as f64 / played.max(1) as f64;
        let (low, high) = wilson(won, played as f64);
        say(format!(
            "first player against the perfect one, 400 playouts: {} won, {} drawn, {} lost; {:.1} % won [{:.1}, {:.1}]",
            tally[2],
            tally[1],
            tally[0],
            100.0 * won,
            100.0 * low,
            100.0 * high
        ));
    }
    Ok(())
}

/// Positions of a kind from their file in `folder`, which is made once. None if no solver knows the board, or stopped.
///
/// # Errors
/// The file is damaged or cannot be written.
pub fn solved_positions<G: Solved>(
    game: &G,
    (kind, name): (Kind, &str),
    count: usize,
    folder: &Path,
    stop: &AtomicBool,
) -> Result<Option<Vec<ExamPosition>>, LearnError> {
    let file = format!("{}-{}-{name}-{count}.jsonl", game.name(), game.size());
    let bar = progress(count);
    bar.set_message("positions solved");
    let keep_going = |done: usize| {
        bar.set_position(done as u64);
        !stop.load(Ordering::Relaxed)
    };
    let exam = questions(game, kind, count, &folder.join(file), keep_going);
    bar.finish_and_clear();
    exam
}

/// A game of `first` against a player that chooses uniformly among value-keeping moves, and, before the solver is fast enough, among all:
/// 0 lost, 1 drawn, 2 won by the first.
fn first_against_perfect<G: Solved>(
    game: &G,
    mut first: impl FnMut(&G::State) -> Option<u16>,
    solver: &mut dyn ValueOracle<G::State>,
    number: usize,
) -> usize {
    let mut random = Rng::new(split_mix(number as u64));
    let (mut state, mut ply) = (game.start(), 0usize);
    loop {
        if let Some(result) = game.end(&state) {
            let score = if ply.is_multiple_of(2) { result } else { result.flip() };
            return (2.0 * score.q()).round() as usize;
        }
        let mut moves = game.moves(&state);
        let action = if ply.is_multiple_of(2) {
            first(&state)
        } else {
            if ply + 1 >= game.first_solved_ply()
                && let Some(verdicts) = solver.verdicts(&state, SOLVER_NODES)
            {
                moves = keeping(&verdicts);
            }
            Some(moves[random.below(moves.len())])
        };
        game.play(&mut state, action.unwrap_or(moves[0]));
        ply += 1;
    }
}
