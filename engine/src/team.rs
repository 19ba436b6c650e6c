//! Which player of a team moves: sub-additive planning of paper 003 (Eq. 9 and section 3). Every player has searched by
//! itself; a rule chooses one of them, whose move is played. Pure functions of the searches' ends.

use mcts::{Line, Snapshot, Wdl};

/// How the player that moves is chosen. N, Q and U are a root move's visits, value and exploration term
/// `c_puct sqrt(N) P / (1 + n)`; V is a player's best Q.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TeamRule {
    /// The greatest N.
    Visit,
    /// The greatest V.
    Value,
    /// The greatest Q - U.
    Lcb,
    /// The least V among those within the gap of the greatest; the gap is the greatest U of all moves. At few visits an
    /// unvisited move's U admits every player.
    Gap,
    /// The same with the greatest U of the players' chosen moves as the gap (ours).
    GapBest,
}

impl TeamRule {
    /// All of them.
    pub const ALL: [TeamRule; 5] =
        [TeamRule::Visit, TeamRule::Value, TeamRule::Lcb, TeamRule::Gap, TeamRule::GapBest];

    /// As the option spells it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            TeamRule::Visit => "visit",
            TeamRule::Value => "value",
            TeamRule::Lcb => "lcb",
            TeamRule::Gap => "gap",
            TeamRule::GapBest => "gap-best",
        }
    }
}

/// Share of a player's visits below which a move has no say in V: one visit of a swindle would outbid a searched move.
const LEAST_SHARE: f64 = 0.01;

/// One player's search, in the quantities of the rules.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Opinion {
    /// V, in [0, 1].
    pub value: f32,
    /// The greatest N.
    pub visits: u64,
    /// The greatest Q - U of the visited moves.
    pub lower_bound: f32,
    /// The greatest U of all moves.
    pub widest: f32,
    /// U of the chosen move.
    pub of_choice: f32,
    proof: Option<Proof>,
}

/// The chosen move's proven result. Draws are left to the rules.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Proof {
    /// Plies to mate; the most where only the result is known.
    Win(u32),
    Loss(u32),
}

impl Opinion {
    /// None without a visited move: the player has not searched.
    #[must_use]
    pub fn of<A>(found: &Snapshot<A>) -> Option<Opinion> {
        let lines = &found.lines;
        let exploration =
            |line: &Line<A>| found.exploration * line.prior / (1 + line.visits) as f32;
        let greatest = |values: &mut dyn Iterator<Item = f32>| values.reduce(f32::max);
        let visits = lines.iter().map(|line| line.visits).max().filter(|visits| *visits > 0)?;
        let total: u64 = lines.iter().map(|line| line.visits).sum();
        let least = (LEAST_SHARE * total as f64).min(visits as f64);
        let searched = |line: &&Line<A>| line.visits > 0 && line.visits as f64 >= least;
        let visited = || lines.iter().filter(|line| line.visits > 0);
        Some(Opinion {
            value: greatest(&mut visited().filter(searched).map(|line| line.value.q()))?,
            visits,
            lower_bound: greatest(&mut visited().map(|line| line.value.q() - exploration(line)))?,
            widest: greatest(&mut lines.iter().map(exploration))?,
            of_choice: lines.first().map(exploration)?,
            proof: lines.first().and_then(Proof::of),
        })
    }
}

impl Proof {
    fn of<A>(line: &Line<A>) -> Option<Proof> {
        let plies = line.mate_plies.map(i32::unsigned_abs).unwrap_or(u32::MAX);
        match line.value {
            Wdl::WIN => Some(Proof::Win(plies)),
            Wdl::LOSS => Some(Proof::Loss(plies)),
            _ => None,
        }
    }
}

/// Playouts of `player` when those of all `players` come to `nodes`: an even share, and to player 0 the remainder.
#[must_use]
pub fn share(nodes: u64, players: usize, player: usize) -> u64 {
    let count = players.max(1) as u64;
    let remainder = if player == 0 { nodes % count } else { 0 };
    nodes / count + remainder
}

/// The player that moves, by its place among `opinions`; of equals the first. A proven win precedes every rule, the
/// shortest foremost; a proven loss follows, the longest foremost. None if no player has searched.
#[must_use]
pub fn choose(rule: TeamRule, opinions: &[Option<Opinion>]) -> Option<usize> {
    let seen = || opinions.iter().enumerate().filter_map(|(at, seen)| Some((at, seen.as_ref()?)));
    let wins = seen().filter_map(|(at, seen)| match seen.proof {
        Some(Proof::Win(plies)) => Some((at, plies)),
        _ => None,
    });
    if let Some((at, _)) = wins.min_by_key(|(_, plies)| *plies) {
        return Some(at);
    }
    let open: Vec<(usize, &Opinion)> = seen().filter(|(_, seen)| seen.proof.is_none()).collect();
    if open.is_empty() {
        let plies = |seen: &Opinion| match seen.proof {
            Some(Proof::Loss(plies)) => plies as f32,
            _ => 0.0,
        };
        return first_greatest(seen().map(|(at, seen)| (at, plies(seen))));
    }
    let by =
        |key: fn(&Opinion) -> f32| first_greatest(open.iter().map(|(at, seen)| (*at, key(seen))));
    match rule {
        TeamRule::Visit => by(|seen| seen.visits as f32),
        TeamRule::Value => by(|seen| seen.value),
        TeamRule::Lcb => by(|seen| seen.lower_bound),
        TeamRule::Gap | TeamRule::GapBest => {
            let best = open.iter().map(|(_, seen)| seen.value).fold(0.0, f32::max);
            let gap = gap_of(rule, open.iter().map(|(_, seen)| *seen));
            let admitted = open.iter().filter(|(_, seen)| seen.value >= best - gap);
            first_greatest(admitted.map(|(at, seen)| (*at, -seen.value)))
        }
    }
}

/// How far below the greatest V a player may lie to be chosen by `rule`; 0 for rules without a gap.
#[must_use]
pub fn gap(rule: TeamRule, opinions: &[Option<Opinion>]) -> f32 {
    gap_of(rule, opinions.iter().flatten().filter(|seen| seen.proof.is_none()))
}

fn gap_of<'a>(rule: TeamRule, opinions: impl Iterator<Item = &'a Opinion>) -> f32 {
    let width = |seen: &Opinion| match rule {
        TeamRule::Gap => seen.widest,
        TeamRule::GapBest => seen.of_choice,
        TeamRule::Visit | TeamRule::Value | TeamRule::Lcb => 0.0,
    };
    opinions.map(width).fold(0.0, f32::max)
}

/// The place of the greatest key, of equals the first.
fn first_greatest(keyed: impl Iterator<Item = (usize, f32)>) -> Option<usize> {
    let greater =
        |best: (usize, f32), next: (usize, f32)| if next.1 > best.1 { next } else { best };
    keyed.reduce(greater).map(|(at, _)| at)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Visits, Q and prior of each move, the chosen one first; exploration constant `c_puct sqrt(N)` 1.
    fn player(moves: &[(u64, f32, f32)]) -> Option<Opinion> {
        let line = |&(visits, q, prior): &(u64, f32, f32)| Line {
            moves: vec![0u16],
            visits,
            value: Wdl::from_score_and_draw(q, 0.1),
            mate_plies: None,
            prior,
            q,
        };
        let lines = moves.iter().map(line).collect();
        Opinion::of(&Snapshot { lines, exploration: 1.0, ..Snapshot::default() })
    }

    fn proven(mate_plies: i32) -> Option<Opinion> {
        let value = if mate_plies > 0 { Wdl::WIN } else { Wdl::LOSS };
        let line = Line {
            moves: vec![0u16],
            visits: 3,
            value,
            mate_plies: Some(mate_plies),
            prior: 1.0,
            q: 0.5,
        };
        Opinion::of(&Snapshot { lines: vec![line], exploration: 1.0, ..Snapshot::default() })
    }

    #[test]
    fn each_rule_has_its_own_favourite() {
        let team = [
            // Most visits, little certainty about its first move.
            player(&[(60, 0.50, 0.60), (40, 0.40, 0.40)]),
            // The best value, of a move with a wide U.
            player(&[(50, 0.56, 3.00), (50, 0.45, 0.20)]),
            // The best lower bound.
            player(&[(55, 0.53, 0.05), (45, 0.40, 0.02)]),
        ];
        let chosen = TeamRule::ALL.map(|rule| choose(rule, &team));
        assert_eq!(chosen, [Some(0), Some(1), Some(2), Some(2), Some(2)]);
        // 3.00 / 51.
        assert!((gap(TeamRule::Gap, &team) - 3.0 / 51.0).abs() < 1e-6);
    }

    #[test]
    fn the_literal_gap_admits_every_player_at_few_visits() {
        // An unvisited move of prior 0.05 at 80 visits: U = 0.65 sqrt(80) 0.05 = 0.29.
        let line = |visits, q, prior| Line {
            moves: vec![0u16],
            visits,
            value: Wdl::from_score_and_draw(q, 0.0),
            mate_plies: None,
            prior,
            q,
        };
        let of = |q| {
            let lines = vec![line(80, q, 0.95), line(0, 0.3, 0.05)];
            Opinion::of(&Snapshot {
                lines,
                exploration: 0.65 * 80f32.sqrt(),
                ..Snapshot::default()
            })
        };
        let team = [of(0.7), of(0.5), of(0.45)];
        assert!((gap(TeamRule::Gap, &team) - 0.29).abs() < 0.01);
        assert_eq!(choose(TeamRule::Gap, &team), Some(2), "the most pessimistic");
        assert!(gap(TeamRule::GapBest, &team) < 0.07);
        assert_eq!(choose(TeamRule::GapBest, &team), Some(0));
    }

    #[test]
    fn a_hardly_visited_move_has_no_say_in_the_value() {
        let swindle = player(&[(300, 0.40, 0.9), (2, 0.95, 0.1)]);
        let sound = player(&[(300, 0.60, 0.9), (2, 0.10, 0.1)]);
        assert_eq!(swindle.unwrap().value, 0.40);
        assert_eq!(choose(TeamRule::Value, &[swindle, sound]), Some(1));
        // With more moves than a hundred, none may have a hundredth of the visits.
        let flat = player(&[(1, 0.5, 0.005); 150]);
        assert_eq!(flat.unwrap().value, 0.5);
    }

    #[test]
    fn proofs_precede_and_follow_every_rule() {
        let open = player(&[(300, 0.9, 0.9)]);
        let poor = player(&[(300, 0.1, 0.9)]);
        for rule in TeamRule::ALL {
            assert_eq!(choose(rule, &[open, proven(5), proven(3)]), Some(2), "{rule:?}");
            assert_eq!(choose(rule, &[proven(-2), poor]), Some(1), "{rule:?}");
            assert_eq!(choose(rule, &[proven(-2), proven(-6), None]), Some(1), "{rule:?}");
        }
    }

    #[test]
    fn a_player_that_has_not_searched_has_no_vote() {
        let open = player(&[(3, 0.2, 0.9)]);
        let fresh = player(&[(0, 0.9, 1.0)]);
        assert_eq!(fresh, None);
        for rule in TeamRule::ALL {
            assert_eq!(
                choose(rule, &[fresh, open, open]),
                Some(1),
                "{rule:?}: of equals the first"
            );
            assert_eq!(choose(rule, &[None, fresh]), None);
        }
    }
}
