//! A team's search: the trees of its players in turn, and the choice among their moves (paper 003, sub-additive planning).
//! The rules are [`crate::team`]'s, time and reports the stopper's.

use super::job::Job;
use super::stopper::{SearchView, Stopper};
use crate::play::tree::kept_tree::{KeptTree, Plan, Root};
use crate::play::tree::params::reseed;
use crate::play::tree::session::SearchSession;
use crate::team::{Opinion, TeamRule, choose, share};
use crate::world::AnyWorld;
use chess::action::Action;
use chess::game::Game;
use mcts::{Control, Outcome, Race, Snapshot, View};
use nn::EvalError;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, Ordering};

/// Playouts of one player before the next one's turn, so that `stop` finds the trees level. Guess.
const SLICE: u64 = 64;
/// How often a device's lanes are filled in one turn: each turn begins and ends with empty ones. Guess.
const PIPELINES: usize = 4;

/// A player ready to search.
pub struct Seat<'a> {
    /// The root of its tree.
    pub root: Root,
    /// Its constants and its share of the playouts.
    pub plan: Plan<'a>,
}

/// How a team's search ended.
pub struct TeamOutcome {
    /// The chosen player's lines with the counters of all, and its move.
    pub outcome: Outcome<Action, EvalError>,
    /// The results of each player.
    pub players: Vec<Snapshot<Action>>,
    /// The player that moves.
    pub chosen: usize,
}

/// The seats of player 0 and, at full strength, of the others, who share the playouts of the `first`.
pub fn seats<'a>(
    job: &Job,
    game: &Game,
    session: &mut SearchSession,
    first: Seat<'a>,
) -> Vec<Seat<'a>> {
    let mut seats = vec![first];
    if job.strength().is_some() {
        return seats;
    }
    let settings = &job.settings;
    for (at, (tree, ready)) in session.trees().skip(1).zip(&job.others).enumerate() {
        let network = &ready.network;
        let root = tree.set_root(network, settings, job.tables.clone(), game);
        root.warnings.iter().for_each(|warning| job.output.note(warning));
        let mut plan = Plan {
            searchmoves: seats[0].plan.searchmoves,
            ..Plan::new(settings, ready.timing, job.batch(ready.timing, ready.timing.single))
        };
        plan.params.contempt = seats[0].plan.params.contempt;
        let earlier = job.others[..at].iter().map(|ready| &ready.network);
        if std::iter::once(&job.network).chain(earlier).any(|n| n.name == network.name) {
            reseed(&mut plan.params, at + 1, game, settings.team_noise);
        }
        seats.push(Seat { root, plan });
    }
    divide(&mut seats);
    seats
}

/// Searches with the whole team and says what each player found.
pub fn run_team(
    job: &Job,
    game: &Game,
    session: &mut SearchSession,
    seats: &[Seat<'_>],
    stopper: &Stopper<'_>,
) -> Outcome<Action, EvalError> {
    let rule = job.settings.team_rule;
    let mut trees: Vec<&mut KeptTree> = session.trees().collect();
    let TeamOutcome { outcome, players, chosen } = search(&mut trees, seats, rule, stopper);
    let best = |found: &Snapshot<Action>| {
        let first = found.lines.first().and_then(|line| line.moves.first());
        first.map_or_else(|| "no move".to_owned(), |best| game.uci(*best))
    };
    for (at, found) in players.iter().enumerate() {
        let (value, visits) = Opinion::of(found).map_or((0.5, 0), |seen| (seen.value, seen.visits));
        let (best, nodes) = (best(found), found.nodes);
        job.output.note(format_args!("team player {at} {best} V {value:.3} N {visits} of {nodes}"));
    }
    if let Some(found) = players.get(chosen) {
        let (rule, best) = (rule.name(), best(found));
        job.output.note(format_args!("team plays {best} of player {chosen} by rule {rule}"));
    }
    outcome
}

/// Divides player 0's playouts evenly among all; the remainder stays with player 0.
fn divide(seats: &mut [Seat<'_>]) {
    let players = seats.len();
    let Some(total) = seats.first().and_then(|first| first.plan.playouts) else { return };
    for (at, seat) in seats.iter_mut().enumerate() {
        seat.plan.playouts = Some(share(total, players, at));
    }
}

/// Searches the players' trees in turn until their playouts are used up, the stopper ends it, or none can go on. Blocks.
fn search(
    trees: &mut [&mut KeptTree],
    seats: &[Seat<'_>],
    rule: TeamRule,
    stopper: &Stopper<'_>,
) -> TeamOutcome {
    let mut players: Vec<Snapshot<Action>> = seats.iter().map(|_| Snapshot::default()).collect();
    let mut left: Vec<u64> =
        seats.iter().map(|seat| seat.plan.playouts.unwrap_or(u64::MAX)).collect();
    let over = AtomicBool::new(false);
    let mut error = None;
    let mut any = true;
    'rounds: while any {
        any = false;
        for (at, (tree, seat)) in trees.iter_mut().zip(seats).enumerate() {
            // A minibatch of every thread at least, or a large device would idle.
            let Plan { params, threads, .. } = &seat.plan;
            let at_once = match &params.pipeline {
                Some(pipeline) => PIPELINES * pipeline.in_flight(),
                None => threads * params.batch,
            };
            let slice = SLICE.max(at_once as u64).min(left[at]);
            if slice == 0 {
                continue;
            }
            let turn = Turn { players: &players, at, rule, stopper, over: &over };
            let plan = Plan { playouts: Some(slice), ..seat.plan.clone() };
            let found = tree.run(&seat.root, &plan, &turn);
            left[at] = left[at].saturating_sub(found.snapshot.playouts);
            any |= found.snapshot.playouts > 0;
            players[at] = sum(&players[at], found.snapshot);
            error = error.or(found.error);
            // Relaxed: the flag is all there is to know.
            if error.is_some() || over.load(Ordering::Relaxed) || stopper.stopped() {
                break 'rounds;
            }
        }
    }
    let (chosen, snapshot) = choice(rule, &players);
    let best = |ply: usize| snapshot.lines.first().and_then(|line| line.moves.get(ply)).copied();
    let (best, ponder) = (best(0), best(1));
    TeamOutcome { outcome: Outcome { snapshot, best, ponder, error }, players, chosen }
}

/// The chosen player, and its lines with the counters of all players.
fn choice(rule: TeamRule, players: &[Snapshot<Action>]) -> (usize, Snapshot<Action>) {
    let opinions: Vec<Option<Opinion>> = players.iter().map(Opinion::of).collect();
    let chosen = choose(rule, &opinions).unwrap_or(0);
    let own = players.get(chosen).cloned().unwrap_or_default();
    let total = |of: fn(&Snapshot<Action>) -> u64| players.iter().map(of).sum();
    let snapshot = Snapshot {
        nodes: total(|found| found.nodes),
        playouts: total(|found| found.playouts),
        refused: total(|found| found.refused),
        known: total(|found| found.known),
        collisions: total(|found| found.collisions),
        ..own
    };
    (chosen, snapshot)
}

/// A player's search so far: its slices `before`, and the one that is `now`.
fn sum(before: &Snapshot<Action>, now: Snapshot<Action>) -> Snapshot<Action> {
    Snapshot {
        playouts: before.playouts + now.playouts,
        depth: if now.playouts > 0 { now.depth } else { before.depth },
        seldepth: before.seldepth.max(now.seldepth),
        refused: before.refused + now.refused,
        known: before.known + now.known,
        collisions: before.collisions + now.collisions,
        ..now
    }
}

/// One player's slice: the stopper sees the whole team.
struct Turn<'a> {
    /// Their results before it.
    players: &'a [Snapshot<Action>],
    at: usize,
    rule: TeamRule,
    stopper: &'a Stopper<'a>,
    /// Set when the stopper ends the search, not the slice.
    over: &'a AtomicBool,
}

impl Control<AnyWorld> for Turn<'_> {
    fn tick(&self, view: &View<'_, AnyWorld>) -> ControlFlow<()> {
        let flow = self.stopper.step(&TeamView { turn: self, view });
        if flow.is_break() {
            self.over.store(true, Ordering::Relaxed);
        }
        flow
    }

    fn stopped(&self) -> bool {
        self.stopper.stopped()
    }

    fn most_in_flight(&self) -> usize {
        self.stopper.most_in_flight()
    }
}

/// A team in the middle of a slice.
struct TeamView<'a, 'b> {
    turn: &'a Turn<'a>,
    view: &'a View<'b, AnyWorld>,
}

impl SearchView for TeamView<'_, '_> {
    fn playouts(&self) -> u64 {
        let before: u64 = self.turn.players.iter().map(|found| found.playouts).sum();
        before + self.view.playouts()
    }

    /// Without a leader: no lead inside one tree decides between players.
    fn race(&self) -> Race {
        Race { moves: self.view.root_race().moves, ..Race::default() }
    }

    fn proven(&self) -> bool {
        self.view.proven()
    }

    fn snapshot(&self, _lines: usize) -> Snapshot<Action> {
        let mut players = self.turn.players.to_vec();
        if let Some(own) = players.get_mut(self.turn.at) {
            *own = sum(own, self.view.snapshot(usize::MAX));
        }
        choice(self.turn.rule, &players).1
    }
}
