//! Players without a search: one head of the network picks the move (paper 001, section 3.3). Also the
//! answer to `go nodes 1`.
//!
//! The network sees neither a game's past nor the way to finish a won one. Two rules of paper 001,
//! section 5, mend that: a move that draws at once counts as 50 %; and where all the best moves win, one
//! that gets on with it is played, which here is the policy's to say (paper 000, section 2: no second
//! engine is asked). Nothing else is known about chess; only the player that looks at the next positions
//! sees that one of them is mate.

use super::temperature;
use crate::options::settings::Settings;
use crate::play::tree::params::search_params;
use crate::world::rules::{RulesState, RulesWorld};
use chess::action::Action;

use mcts::{Edge, Leaf, Line, Ranker, Snapshot, Wdl, World};
use nn::{EvalError, Evaluator};
use shakmaty::Position;
use std::cmp::Ordering;
use std::sync::Arc;

/// Which opinion decides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Head {
    /// The search's own prior: action values and policy together.
    Prior,
    /// The best action value.
    ActionValue,
    /// The lowest value of the successors, which are the opponent's.
    StateValue,
    /// The most probable move.
    Policy,
}

impl Head {
    /// The world it looks at. The player by state values asks that head alone, whatever the search backs up.
    #[must_use]
    pub fn world(self, evaluator: Arc<dyn Evaluator>, settings: &Settings) -> RulesWorld {
        let share = if self == Head::StateValue { 1.0 } else { settings.state_value_share };
        RulesWorld::new(evaluator, settings.scoring, share)
    }

    /// Scores moves by win probabilities, not by how likely each is the best.
    fn is_value(self) -> bool {
        matches!(self, Head::ActionValue | Head::StateValue)
    }
}

/// Successors evaluated in one call.
const CHUNK: usize = 64;
/// Number of best moves that must be [`CERTAIN`] for the policy to choose among them (paper 001, section 5).
const BEST: usize = 5;
/// Win probability above which a move counts as winning (ibid.).
const CERTAIN: f32 = 0.99;
/// Plies without capture or pawn move after which a won game needs one. Guess: it leaves twenty moves
/// to make the next one unnecessary.
const LATE: u32 = 60;

/// A request to one head.
pub struct Question<'a> {
    /// The head that picks the move.
    pub head: Head,
    /// Its scoring is the head's.
    pub world: &'a RulesWorld,
    /// The position to move in.
    pub root: &'a RulesState,
    /// Legal, and not empty.
    pub allowed: &'a [Action],
    /// Options of the draw at random.
    pub settings: &'a Settings,
    /// For moves drawn at random.
    pub seed: u64,
}

/// Comes before or after the score, in this order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Class {
    /// A mate is more than a win that is predicted.
    Mate,
    Open,
    /// Draws a game that is not lost, and the head has no value to set to 50 %.
    Spoilt,
}

/// One move and what the head makes of it.
struct Candidate {
    action: Action,
    class: Class,
    score: f32,
    /// The policy head's, whichever head decides.
    policy: f32,
    line: Line<Action>,
}

impl Candidate {
    fn new(action: Action, score: f32, value: Wdl, policy: f32) -> Candidate {
        let line = Line {
            moves: vec![action],
            visits: 0,
            value,
            mate_plies: None,
            prior: policy,
            q: score,
        };
        Candidate { action, class: Class::Open, score, policy, line }
    }

    /// Best first. Equals go by the policy, which is trained to tell winning moves apart; max scoring
    /// makes many, 64 buckets being few.
    fn order(&self, other: &Candidate) -> Ordering {
        // A sum of win and half the draws is off its bucket's centre by a rounding error: 2^-20 apart
        // is equal. Centres are odd multiples of 2^-7, so none lies where rounding could go both ways.
        let grade = |score: f32| (score * 1_048_576.0).round();
        let by_score = grade(other.score).total_cmp(&grade(self.score));
        let by_policy = other.policy.total_cmp(&self.policy);
        self.class.cmp(&other.class).then(by_score).then(by_policy)
    }
}

impl Question<'_> {
    /// The root's moves: first the one to play, then the others from best to worst.
    ///
    /// # Errors
    /// The network failed.
    pub fn answer(&self) -> Result<Snapshot<Action>, EvalError> {
        let (calls, mut moves) = match self.head {
            Head::StateValue => self.by_successors()?,
            _ => (1, self.by_edges()?),
        };
        // Stable: of full equals, the first of the move list.
        moves.sort_by(Candidate::order);
        let choice = self.choice(&moves);
        if let Some(better) = moves.get_mut(..=choice) {
            better.rotate_right(1);
        }
        let nodes = u64::try_from(calls).unwrap_or(u64::MAX);
        Ok(Snapshot {
            nodes,
            playouts: nodes,
            lines: moves.into_iter().map(|candidate| candidate.line).collect(),
            ..Snapshot::default()
        })
    }

    /// Everything from one look at the root.
    fn by_edges(&self) -> Result<Vec<Candidate>, EvalError> {
        let Some(Leaf::Open { value, mut edges }) = self.world.evaluate(&[self.root])?.pop() else {
            return Err(EvalError::NoMoves);
        };
        // **We** add stalemate and dead positions to the paper's repetition and fifty moves: the network could see
        // them but does not. One of 15 games of max scoring ended so with a queen up.
        let drawn: Vec<bool> = edges.iter().map(|edge| self.root.draws_with(edge.action)).collect();
        for (edge, _) in edges.iter_mut().zip(&drawn).filter(|(_, drawn)| **drawn) {
            edge.q = Wdl::DRAW.q();
        }
        let priors = priors(&edges, self.settings)?;
        // The position's own value tells more of its best move's than that move's action value does.
        let best = edges.iter().map(|edge| edge.q).fold(0.0, f32::max);
        let mut moves = Vec::with_capacity(edges.len());
        for ((edge, prior), drawn) in edges.iter().zip(priors).zip(drawn) {
            if !self.allowed.contains(&edge.action) {
                continue;
            }
            let score = match self.head {
                Head::ActionValue => edge.q,
                Head::Policy => edge.policy,
                Head::Prior | Head::StateValue => prior,
            };
            let value_after = if drawn {
                Wdl::DRAW
            } else {
                Wdl::from_score_and_draw(edge.q + value.q() - best, value.draw)
            };
            let mut candidate = Candidate::new(edge.action, score, value_after, edge.policy);
            candidate.line.prior = prior;
            candidate.line.q = edge.q;
            // **We** extend the rule to heads without values: a draw is the last resort of the side
            // that is ahead, and as good as any other move to the side that is not.
            if drawn && !self.head.is_value() && value.q() > Wdl::DRAW.q() {
                candidate.class = Class::Spoilt;
            }
            moves.push(candidate);
        }
        Ok(moves)
    }

    /// One look at each position a move away, and one at the root for its policy. Also tells how many
    /// looks.
    fn by_successors(&self) -> Result<(usize, Vec<Candidate>), EvalError> {
        let mut moves = Vec::with_capacity(self.allowed.len());
        let mut open = Vec::new();
        for action in self.allowed {
            let mut state = self.root.clone();
            match self.world.step(&mut state, *action) {
                Some(end) => {
                    let value = end.flip();
                    moves.push(Candidate::new(*action, value.q(), value, 0.0));
                }
                None => open.push((*action, state)),
            }
        }
        let mut asked = vec![self.root];
        asked.extend(open.iter().map(|(_, state)| state));
        let mut leaves = Vec::with_capacity(asked.len());
        for chunk in asked.chunks(CHUNK) {
            leaves.extend(self.world.evaluate(chunk)?);
        }
        let calls = leaves.len();
        let mut leaves = leaves.into_iter();
        let Some(Leaf::Open { edges, .. }) = leaves.next() else { return Err(EvalError::NoMoves) };
        for ((action, _), leaf) in open.into_iter().zip(leaves) {
            let (value, mate) = match leaf {
                Leaf::Open { value, .. } => (value.flip(), false),
                Leaf::Over(end) => (end.flip(), end == Wdl::LOSS),
                Leaf::Known(value) => (value.flip(), false),
                Leaf::Refused => continue,
            };
            let mut candidate = Candidate::new(action, value.q(), value, 0.0);
            if mate {
                candidate.class = Class::Mate;
                candidate.line.mate_plies = Some(1);
            }
            moves.push(candidate);
        }
        for candidate in &mut moves {
            let edge = edges.iter().find(|edge| edge.action == candidate.action);
            candidate.policy = edge.map_or(0.0, |edge| edge.policy);
            candidate.line.prior = candidate.policy;
            candidate.line.q = edge.map_or(candidate.line.q, |edge| edge.q);
        }
        Ok((calls, moves))
    }

    /// The place, among `moves` in order, of the one to play.
    fn choice(&self, moves: &[Candidate]) -> usize {
        match moves.first() {
            None | Some(Candidate { class: Class::Mate, .. }) => 0,
            Some(_) => self.finisher(moves).or_else(|| self.draw(moves)).unwrap_or(0),
        }
    }

    /// The 99 % rule: if it applies, the policy's favourite of the best moves. **We** pass over moves
    /// that get nowhere as long as another one is left: back to a position the game has seen, or, when
    /// the fifty-move rule comes near, neither a capture nor a pawn's move.
    fn finisher(&self, moves: &[Candidate]) -> Option<usize> {
        let best = &moves[..moves.len().min(BEST)];
        if !self.head.is_value() || !best.iter().all(|candidate| candidate.score > CERTAIN) {
            return None;
        }
        let late = self.root.position().halfmoves() >= LATE;
        let idle = |candidate: &Candidate| {
            let mut after = self.root.clone();
            after.follow(candidate.action);
            (after.returns(), late && after.position().halfmoves() > 0)
        };
        let order = |a: &Candidate, b: &Candidate| {
            idle(a).cmp(&idle(b)).then(b.policy.total_cmp(&a.policy))
        };
        (0..best.len()).min_by(|a, b| order(&best[*a], &best[*b]))
    }

    /// The random choice among the first moves of a game, where the options ask for it.
    fn draw(&self, moves: &[Candidate]) -> Option<usize> {
        let temperature = temperature::temperature(self.settings, self.root.position())?;
        let class = moves.first()?.class;
        let peers = moves.iter().take_while(|candidate| candidate.class == class);
        let logit = |c: &Candidate| if self.head.is_value() { c.score } else { c.score.ln() };
        temperature::draw(&peers.map(logit).collect::<Vec<f32>>(), temperature, self.seed)
    }
}

/// The search's own prior of each edge, in the order of `edges`.
fn priors(edges: &[Edge<Action>], settings: &Settings) -> Result<Vec<f32>, EvalError> {
    let mut ranker = Ranker::default();
    let ranked =
        ranker.rank(edges, &search_params(settings, 1)).ok_or(EvalError::NotANumber("prior"))?;
    let prior = |edge: &Edge<Action>| {
        ranked.iter().find(|one| one.action == edge.action).map_or(0.0, |one| one.prior)
    };
    Ok(edges.iter().map(prior).collect())
}

#[cfg(test)]
mod tests;
