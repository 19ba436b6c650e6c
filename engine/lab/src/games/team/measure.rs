//! The value of a team's choices, by exact results: positions in which a move loses value, searched by every player by itself; and
//! matches against the first player.

use super::table::TeamState;
use super::world::{Placed, PlayerWorld};
use crate::diversity::team::tally::{ItemResult, TeamTally, View};
use crate::diversity::team::task::ContestantResult;
use crate::diversity::team::with_choices;
use crate::games::cached::Cached;
use crate::games::exam::{ExamPosition, Solved};
use crate::games::measure::score;
use crate::games::selfplay::noise_alpha;
use crate::matches::elo::{MatchStatistics, judge};
use crate::selfplay::search::UntilProven;
use engine::team::{Opinion, TeamRule, choose, share};
use games::game::Game;
use games::net::BoardNet;
use games::player::network_params;
use games::world::GameWorld;
use mcts::{Params, Searcher, Snapshot};
use nn::rng::split_mix;
use rayon::iter::{IntoParallelIterator, IntoParallelRefIterator, ParallelIterator};
use std::sync::atomic::{AtomicBool, Ordering};

/// Memory of a tree.
const TREE_BYTES: usize = 16 << 20;

/// A player of the team.
pub struct Member {
    /// Its network.
    pub network: Cached<BoardNet>,
    /// Share of Dirichlet noise in the root's priors, of a player that has the network of an earlier one.
    pub noise: Option<f32>,
}

/// Players, and the playouts of the first one alone.
#[derive(Clone, Copy)]
pub struct Team<'a> {
    /// The players.
    pub members: &'a [Member],
    /// Playouts of the first one alone.
    pub nodes: u64,
    /// The players search with their rewards, too (paper 003, Fig. 8).
    pub table: Option<&'a TeamState>,
}

impl Team<'_> {
    fn share(&self, player: usize) -> u64 {
        share(self.nodes, self.members.len(), player)
    }

    /// A player's search of a position.
    fn search<G: Game + Clone>(
        &self,
        game: &G,
        state: &G::State,
        player: usize,
        playouts: u64,
        stop: &AtomicBool,
    ) -> Snapshot<u16> {
        let Member { network, noise } = &self.members[player];
        let params = Params {
            noise_epsilon: noise.unwrap_or(0.0),
            noise_alpha: noise_alpha(game),
            noise_seed: split_mix(game.key(state) ^ split_mix(player as u64)),
            ..network_params(1)
        };
        let mut searcher = Searcher::new(params, TREE_BYTES);
        searcher.set_root(Placed::root(state.clone()));
        let rules = GameWorld { game: game.clone(), judge: network };
        let shaping = self.table.and_then(|table| table.shaping(player));
        let world = PlayerWorld { rules, shaping };
        searcher.run(&world, 1, Some(playouts), &UntilProven::new(stop)).snapshot
    }

    /// All players' searches.
    fn look<G: Game + Clone>(
        &self,
        game: &G,
        state: &G::State,
        playouts: impl Fn(usize) -> u64,
        stop: &AtomicBool,
    ) -> Vec<Snapshot<u16>> {
        let search = |player: usize| self.search(game, state, player, playouts(player), stop);
        (0..self.members.len()).map(search).collect()
    }

    /// The move of the team by a rule, at the playouts of the first player alone.
    fn play<G: Game + Clone>(&self, game: &G, state: &G::State, rule: TeamRule) -> Option<u16> {
        let players = self.look(game, state, |player| self.share(player), &AtomicBool::new(false));
        let opinions: Vec<Option<Opinion>> = players.iter().map(Opinion::of).collect();
        chosen(players.get(choose(rule, &opinions)?)?)
    }
}

fn chosen(found: &Snapshot<u16>) -> Option<u16> {
    found.lines.first()?.moves.first().copied()
}

/// Has the team search every question in which a move loses value. Calls `tried` after each; ends early if `stop` is raised. Runs on the
/// threads of the current rayon pool.
pub fn examine<G: Solved>(
    game: &G,
    team: Team<'_>,
    questions: &[ExamPosition],
    stop: &AtomicBool,
    tried: impl Fn() + Sync,
) -> TeamTally {
    let one = |question: &ExamPosition| {
        if stop.load(Ordering::Relaxed) {
            return None;
        }
        let state = question.position(game);
        let looks = [
            team.look(game, &state, |player| team.share(player), stop),
            team.look(game, &state, |_| team.nodes, stop),
        ];
        let verdict = |found: &Snapshot<u16>| {
            let keeps = chosen(found).is_some_and(|action| question.keeps(action));
            if keeps { ContestantResult::Solved(0.0) } else { ContestantResult::Failed(0.0) }
        };
        let judged = |players: &Vec<Snapshot<u16>>| {
            with_choices(players.iter().map(verdict).collect(), players)
        };
        let verdicts = looks.iter().map(judged).collect::<Vec<_>>().concat();
        // The first player with all playouts is the first of the second budget.
        let alone = verdicts.get(verdicts.len() / 2).copied();
        tried();
        Some(ItemResult {
            verdicts: alone.into_iter().chain(verdicts).collect(),
            views: looks.iter().map(|players| View::of(players)).collect(),
            has_task: true,
        })
    };
    let matter: Vec<&ExamPosition> =
        questions.iter().filter(|question| question.matters()).collect();
    let all: Vec<ItemResult> = matter.par_iter().filter_map(|question| one(question)).collect();
    let mut tally = TeamTally::new(team.members.len());
    all.into_iter().for_each(|tried| tally.add(tried));
    tally
}

/// The opponents of the first player alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Challenger {
    /// A player with all playouts.
    Player(usize),
    /// The team, with the same playouts in all.
    Rule(TeamRule),
}

/// The challenger's result against the first player alone. Both play each opening, four random plies, with both colours. None without games.
pub fn meet<G: Solved>(
    game: &G,
    team: Team<'_>,
    challenger: Challenger,
    games: usize,
    stop: &AtomicBool,
) -> Option<MatchStatistics> {
    let pair = |number: usize| {
        let result = |begins: bool| {
            let mut first = |state: &G::State| match challenger {
                Challenger::Player(player) => {
                    chosen(&team.search(game, state, player, team.nodes, stop))
                }
                Challenger::Rule(rule) => team.play(game, state, rule),
            };
            let mut alone =
                |state: &G::State| chosen(&team.search(game, state, 0, team.nodes, stop));
            let score = score(game, [&mut first, &mut alone], begins, split_mix(number as u64));
            (2.0 * score).round() as usize
        };
        [true, false].map(result)
    };
    let open = || !stop.load(Ordering::Relaxed);
    let pairs = (0..games.div_ceil(2)).into_par_iter().filter(|_| open()).map(pair);
    let pairs: Vec<[usize; 2]> = pairs.collect();
    let (mut halves, mut sums) = ([0; 3], [0; 5]);
    for [one, two] in pairs {
        halves[one] += 1;
        halves[two] += 1;
        sums[one + two] += 1;
    }
    let [losses, draws, wins] = halves;
    judge(wins, draws, losses, &sums)
}
