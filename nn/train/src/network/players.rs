//! Players of one network that learn to differ (paper 003). Each step is one player's. Among the moves about as good as the best, its
//! policy target prefers those after which the board pays the player (the paper's Eq. 8); how good a move is, the teacher says.
//!
//! Not in the paper: the reward is that of the next board alone, and it tilts a policy in place of a search.

use super::config::{RunConfig, TeamConfig};
use super::error::TrainError;
use super::learns::Learns;
use crate::data::Example;
use nn::checkpoint::Network;
use nn::encode::board::FLAG_OUR_CASTLING_ROOK;
use nn::encode::{Features, MoveCode};
use nn::files::{MAX_TEXT, read_text};
use nn::kernels::{Isa, ops};
use nn::net::{CENTRES, Layout, TOKENS};
use serde::{Deserialize, Serialize};
use std::ops::Range;

/// Piece classes of a board: own pawn to king, then the other side's.
const CLASSES: usize = 12;
/// Numbers of a reward, `[12, 64]`: what a piece of each class pays on each square, in the player's view.
pub const BOARD: usize = CLASSES * TOKENS;
/// Class of the own king; those of the other side begin behind it.
const KING: usize = 5;

/// The reward of each player.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rewards {
    /// By player, [`BOARD`] numbers each; the first player's are not used.
    pub players: Vec<Vec<f32>>,
}

/// The place of a class, `0..12`, on a token.
#[must_use]
pub fn place(class: usize, token: usize) -> usize {
    class * TOKENS + token
}

/// Addition of the mover's move to the reward of its board; `weights` has [`BOARD`] numbers.
#[must_use]
pub fn of_move(weights: &[f32], features: &Features, action: MoveCode) -> f32 {
    let (from, to) = (usize::from(action.from), usize::from(action.to));
    let class = |token: usize| usize::from(features.pieces[token]).checked_sub(1);
    let Some(piece) = class(from) else { return 0.0 };
    let paid = |class: usize, token: usize| weights[place(class, token)];
    if piece == KING && features.flags[to] & FLAG_OUR_CASTLING_ROOK != 0 {
        let rook = KING - 2;
        let (king_to, rook_to) = if to > from { (6, 5) } else { (2, 3) };
        return paid(KING, king_to) - paid(KING, from) + paid(rook, rook_to) - paid(rook, to);
    }
    let arrives = if action.promotion > 0 { usize::from(action.promotion) } else { piece };
    let captured = match class(to) {
        Some(class) => Some((class, to)),
        // A pawn that changes its file onto an empty square captures en passant.
        None if piece == 0 && from % 8 != to % 8 => {
            to.checked_sub(8).map(|token| (KING + 1, token))
        }
        None => None,
    };
    paid(arrives, to)
        - paid(piece, from)
        - captured.map_or(0.0, |(class, token)| paid(class, token))
}

/// The players of a run.
pub(super) struct Players {
    config: TeamConfig,
    rewards: Vec<Vec<f32>>,
    /// Length of one player's vector of parameters.
    len: usize,
    width: usize,
    /// The parameters that the players' own are added to.
    places: Vec<Range<usize>>,
    /// The first player has no steps.
    others_alone: bool,
}

impl Players {
    /// None for a network of one player.
    ///
    /// # Errors
    /// There is a team without several players or the reverse, there is no teacher, or the file of rewards is damaged or one of other players.
    pub fn load(config: &RunConfig, layout: &Layout) -> Result<Option<Players>, TrainError> {
        let fault = |what: String| TrainError::Config(what);
        let (team, own) = match (&config.team, layout.players.clone()) {
            (None, None) => return Ok(None),
            (Some(team), Some(own)) => (team, own),
            (Some(_), None) => {
                return Err(fault("a team needs a network of several players".to_owned()));
            }
            (None, Some(_)) => {
                return Err(fault("a network of several players needs a team".to_owned()));
            }
        };
        if config.teacher.is_none() {
            return Err(fault("a team needs a teacher".to_owned()));
        }
        let path = &team.rewards;
        let text =
            read_text(path, MAX_TEXT).map_err(|error| TrainError::Io(path.clone(), error))?;
        let Rewards { players } = serde_json::from_str(&text)
            .map_err(|why| fault(format!("{}: no rewards ({why})", path.display())))?;
        let expected = layout.config.players;
        if players.len() != expected || players.iter().any(|numbers| numbers.len() != BOARD) {
            let found = players.len();
            let path = path.display();
            return Err(fault(format!(
                "{path}: rewards of {found} players, expected {expected} of {BOARD} numbers each"
            )));
        }
        Ok(Some(Players {
            config: team.clone(),
            rewards: players,
            len: own.start,
            width: layout.config.width,
            places: layout.of_players(),
            others_alone: config.learns == Learns::Players,
        }))
    }

    /// The player of a step: every other one is the first player's, so that it remains what it was, unless it cannot change.
    pub fn of_step(&self, step: u64) -> usize {
        let others = self.rewards.len() as u64 - 1;
        match (self.others_alone, step.is_multiple_of(2)) {
            (true, _) => 1 + (step % others) as usize,
            (false, true) => 0,
            (false, false) => 1 + (step / 2 % others) as usize,
        }
    }

    /// A player's parameters, as those of a network of one player.
    pub fn parameters(network: &Network, player: usize) -> Vec<f32> {
        network.of_player(player).map(|network| network.values).unwrap_or_default()
    }

    /// The part of a team's gradient that a step of one player computes.
    pub fn gradient_of_one<'a>(&self, grads: &'a mut [f32]) -> &'a mut [f32] {
        &mut grads[..self.len]
    }

    /// Adds the gradient of the player's own parameters: each is that of all that it is added to.
    pub fn complete(&self, player: usize, grads: &mut [f32]) {
        let (shared, own) = grads.split_at_mut(self.len);
        own.fill(0.0);
        if player == 0 {
            return;
        }
        let first = player * self.places.len();
        let own = own.chunks_exact_mut(self.width).skip(first);
        for (place, own) in self.places.iter().zip(own) {
            for row in shared[place.clone()].chunks_exact(self.width) {
                own.iter_mut().zip(row).for_each(|(own, row)| *own += row);
            }
        }
    }

    /// Tilts the policy targets of a labelled batch towards what the player is paid for. Answered positions behind a marked action are
    /// the other side's, and stay.
    pub fn tilt(&self, player: usize, batch: &mut [Example]) {
        if player == 0 {
            return;
        }
        let weights = &self.rewards[player];
        for example in batch.iter_mut().filter(|example| !example.features.has_action) {
            let Some(teacher) = &mut example.teacher else { continue };
            let values: Vec<f32> = teacher
                .actions
                .iter()
                .map(|shares| ops::dot(Isa::found(), shares, &CENTRES))
                .collect();
            let best = values.iter().copied().fold(0.0, f32::max);
            let good: Vec<usize> =
                (0..values.len()).filter(|at| values[*at] >= best - self.config.slack).collect();
            let paid = |at: usize| of_move(weights, &example.features, example.moves[at]);
            let most = good.iter().map(|at| paid(*at)).fold(f32::NEG_INFINITY, f32::max);
            let tilted =
                |at: usize| teacher.policy[at] * (self.config.strength * (paid(at) - most)).exp();
            let (before, after) = good.iter().fold((0.0, 0.0), |(before, after), at| {
                (before + teacher.policy[*at], after + tilted(*at))
            });
            if good.len() < 2 || after <= 0.0 {
                continue;
            }
            // Together they keep their share.
            let shares: Vec<f32> = good.iter().map(|at| tilted(*at) * before / after).collect();
            good.iter().zip(shares).for_each(|(at, share)| teacher.policy[*at] = share);
            example.visits.clone_from(&teacher.policy);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::TeacherTargets;
    use crate::data::boards::{random_boards, unlabelled};
    use nn::encode::{NextBoard, canonical_moves};
    use nn::net::{BUCKETS, NetConfig};
    use nn::testing::position;
    use shakmaty::{Chess, Color, Position};
    use std::path::PathBuf;

    /// Any numbers.
    fn weights() -> Vec<f32> {
        (0..BOARD).map(|at| (at * 37 % 101) as f32 / 100.0 - 0.5).collect()
    }

    fn whole(weights: &[f32], pieces: &[u8; 64]) -> f32 {
        let of = |(token, class): (usize, &u8)| {
            usize::from(*class).checked_sub(1).map_or(0.0, |class| weights[place(class, token)])
        };
        pieces.iter().enumerate().map(of).sum()
    }

    #[test]
    fn what_a_move_adds_is_the_difference_of_both_boards() {
        let weights = weights();
        let mut boards = random_boards(60, 5);
        for fen in [
            "r3k2r/8/8/8/8/8/8/R3K2R w KQkq - 0 1",
            "r3k2r/8/8/8/8/8/8/R3K2R b KQkq - 0 1",
            "4k3/8/8/3pP3/8/8/8/4K3 w - d6 0 2",
            "1n2k3/P7/8/8/8/8/8/4K3 w - - 0 1",
        ] {
            boards.push(position(fen));
        }
        let mut moves = 0;
        for board in &boards {
            let features = Features::of(board);
            for action in canonical_moves(board) {
                let code = MoveCode::new(action, board.turn() == Color::Black).unwrap();
                let mut next: Chess = board.clone();
                next.play_unchecked(action);
                let expected = whole(&weights, &NextBoard::of(&next).pieces)
                    - whole(&weights, &features.pieces);
                let found = of_move(&weights, &features, code);
                assert!((found - expected).abs() < 1e-5, "{action:?}: {found}, not {expected}");
                moves += 1;
            }
        }
        assert!(moves > 500);
    }

    fn team(strength: f32) -> (Network, Players) {
        let network = Network::new(&NetConfig { players: 3, ..NetConfig::tiny() }, 1);
        let layout = &network.layout;
        let players = Players {
            config: TeamConfig { rewards: PathBuf::new(), strength, slack: 0.02 },
            rewards: vec![weights(); 3],
            len: layout.players.clone().unwrap().start,
            width: layout.config.width,
            places: layout.of_players(),
            others_alone: false,
        };
        (network, players)
    }

    #[test]
    fn the_share_of_good_moves_goes_to_those_that_pay_and_no_other_changes() {
        let (_, players) = team(3.0);
        let mut example = unlabelled(&Chess::default(), None);
        let n = example.moves.len();
        let bucket = |at: usize| {
            let mut shares = [0.0; BUCKETS];
            shares[at] = 1.0;
            shares
        };
        // Three moves of about the same value, the others bad.
        let actions = (0..n).map(|at| bucket(if at < 3 { 40 } else { 10 })).collect();
        let policy = vec![1.0 / n as f32; n];
        example.teacher = Some(Box::new(TeacherTargets { policy, actions, value: bucket(40) }));
        let tilt = |player| {
            let mut batch = vec![example.clone()];
            players.tilt(player, &mut batch);
            batch.remove(0)
        };
        assert_eq!(tilt(0).teacher, example.teacher);
        assert!(tilt(0).visits.is_empty());
        let tilted = tilt(1);
        let policy = &tilted.teacher.as_ref().unwrap().policy;
        assert_eq!(&tilted.visits, policy);
        assert!(policy[3..].iter().all(|share| (share - 1.0 / n as f32).abs() < 1e-6));
        assert!((policy.iter().sum::<f32>() - 1.0).abs() < 1e-5);
        let paid = |at: usize| of_move(&players.rewards[1], &example.features, example.moves[at]);
        for (a, b) in [(0, 1), (1, 2)] {
            let expected = 3.0 * (paid(a) - paid(b));
            assert!(((policy[a] / policy[b]).ln() - expected).abs() < 1e-3);
        }
    }

    #[test]
    fn steps_take_turns_and_a_players_gradient_is_that_of_its_squares() {
        let (network, mut players) = team(1.0);
        let turns =
            |players: &Players| (0..6).map(|step| players.of_step(step)).collect::<Vec<_>>();
        assert_eq!(turns(&players), [0, 1, 0, 2, 0, 1]);
        players.others_alone = true;
        assert_eq!(turns(&players), [1, 2, 1, 2, 1, 2]);
        let mut grads = vec![0.0; network.layout.len];
        let one = players.gradient_of_one(&mut grads);
        assert_eq!(one.len(), Players::parameters(&network, 2).len());
        one.iter_mut().enumerate().for_each(|(at, grad)| *grad = (at % 1000) as f32);
        players.complete(2, &mut grads);
        let (width, segments) = (players.width, players.places.len());
        let own = grads[players.len..].to_vec();
        assert!(own[..2 * segments * width].iter().all(|grad| *grad == 0.0));
        let position = &network.layout.position;
        let first: f32 = (0..TOKENS).map(|t| grads[position.start + t * width]).sum();
        assert_eq!(own[2 * segments * width], first);
        // The shift behind the last block comes last.
        let last = &network.layout.norm.beta;
        assert_eq!(own[own.len() - width..], grads[last.clone()]);
        players.complete(0, &mut grads);
        assert!(grads[players.len..].iter().all(|grad| *grad == 0.0));
    }
}
