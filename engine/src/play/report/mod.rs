//! Search facts in the words of UCI: scores, lines, chances.
//!
//! Everything printed here is checked against the rules on the way out: a line is cut at the first move
//! that cannot be played and at the end of the game.

pub(crate) mod current_move;
pub(crate) mod move_stats;

use crate::world::rules::RulesState;
use crate::world::rules::wdl_of;
use chess::action::Action;
use chess::game::Game;
use chess::syzygy::root::RootTables;
use mcts::{Line, Snapshot, Wdl};

use shakmaty::{CastlingMode, Chess, Position};
use std::cmp::Reverse;
use std::time::Duration;
use uci::{CurrentMove, Info, Score};

/// Slope of the win probability in centipawns (paper 000, footnote to section 2).
const SLOPE: f64 = 0.003_682_08;
/// Largest centipawn score: beyond it only mates.
const MOST_CENTIPAWNS: f64 = 12_800.0;

/// Turns snapshots of one search into `info` lines.
pub struct Reporter {
    root: RulesState,
    mode: CastlingMode,
    show_wdl: bool,
    multipv: usize,
    /// The moves' ranks, if endgame tables have the root.
    known: Option<RootTables>,
    /// Positions looked up for the root; None without tables.
    root_hits: Option<u64>,
    live_stats: bool,
    /// Each line tells its own visits.
    line_counters: bool,
    /// `depth` is the length of the first line, not the mean depth of the playouts.
    depth_of_line: bool,
}

impl Reporter {
    #[must_use]
    /// For the last position of `game`, with at most `multipv` lines.
    pub fn new(game: &Game, multipv: usize, show_wdl: bool) -> Reporter {
        Reporter {
            root: RulesState::root(game),
            mode: game.mode(),
            show_wdl,
            multipv,
            known: None,
            root_hits: None,
            live_stats: false,
            line_counters: false,
            depth_of_line: false,
        }
    }

    /// The same for a search with endgame tables. If they have the root, they order its lines, and a line's score is
    /// the table's result, but for a proven mate.
    #[must_use]
    pub fn with_tables(self, root: Option<RootTables>) -> Reporter {
        Reporter { root_hits: Some(root.as_ref().map_or(0, |root| root.hits)), known: root, ..self }
    }

    /// The same, telling every move's statistics while the search runs.
    #[must_use]
    pub fn with_live_stats(self, live_stats: bool) -> Reporter {
        Reporter { live_stats, ..self }
    }

    /// The same, telling each line's own visits as its nodes.
    #[must_use]
    pub fn with_line_counters(self, line_counters: bool) -> Reporter {
        Reporter { line_counters, ..self }
    }

    /// The same for a search that ends at a length of the first line: that is its depth.
    #[must_use]
    pub fn with_depth_of_line(self) -> Reporter {
        Reporter { depth_of_line: true, ..self }
    }

    /// How many of the best moves have a line each.
    #[must_use]
    pub fn multipv(&self) -> usize {
        self.multipv
    }

    /// How many lines a snapshot needs.
    #[must_use]
    pub fn lines(&self) -> usize {
        // The tables may order the lines otherwise than the search.
        let all = self.live_stats || self.known.is_some();
        if all { usize::MAX } else { self.multipv }
    }

    /// The moves among `allowed` to choose from without a search.
    #[must_use]
    pub fn choice(&self, allowed: &[Action]) -> Vec<Action> {
        self.known.as_ref().map_or_else(|| allowed.to_vec(), RootTables::best)
    }

    /// Puts lines into the order in which they are shown: by the ranks of endgame tables, then as they are.
    pub fn sort(&self, lines: &mut [Line<Action>]) {
        if let Some(known) = &self.known {
            lines.sort_by_key(|line| known.order(line.moves.first().copied(), line.mate_plies));
        }
    }

    /// The move that is played if the search chooses `best`: endgame tables may rank another one higher.
    #[must_use]
    pub fn played(&self, lines: &[Line<Action>], best: Action) -> Action {
        if self.known.is_none() {
            return best;
        }
        let mut lines = lines.to_vec();
        lead_with(&mut lines, best);
        self.sort(&mut lines);
        lines.first().and_then(|line| line.moves.first()).copied().unwrap_or(best)
    }

    /// The `info` lines of a running search.
    #[must_use]
    pub fn live(&self, snapshot: &Snapshot<Action>, elapsed: Duration) -> Vec<Info> {
        let mut said = if self.live_stats { self.move_stats(snapshot) } else { Vec::new() };
        said.extend(self.infos(snapshot, elapsed));
        said
    }

    /// The statistics of every move that `snapshot` holds, one line each.
    #[must_use]
    pub fn move_stats(&self, snapshot: &Snapshot<Action>) -> Vec<Info> {
        move_stats::lines(snapshot, self.root.position(), self.mode)
    }

    /// The move that is looked at, and its rank from 1.
    #[must_use]
    pub fn current(&self, depth: u32, action: Action, number: u32) -> Info {
        let action = action.to_uci(self.root.position(), self.mode);
        let current = Some(CurrentMove { action, number });
        Info { depth: Some(depth.max(1)), current, ..Info::default() }
    }

    /// One line per principal variation, best first.
    #[must_use]
    pub fn infos(&self, snapshot: &Snapshot<Action>, elapsed: Duration) -> Vec<Info> {
        let time = u64::try_from(elapsed.as_millis()).unwrap_or(u64::MAX);
        let nodes = snapshot.playouts;
        let mut lines = snapshot.lines.clone();
        self.sort(&mut lines);
        let judge = |line: &Line<Action>| {
            let (value, score) = self.judge(line);
            (line.clone(), value, score)
        };
        let mut lines: Vec<_> = lines.iter().take(self.multipv).map(judge).collect();
        // The move to play leads; the search ranks by visits, a GUI expects falling scores.
        if let Some(others) = lines.get_mut(1..) {
            others.sort_by_key(|(_, _, score)| Reverse(height(*score)));
        }
        let first = lines.first().map_or(0, |(line, ..)| self.variation(&line.moves).len());
        let depth = if self.depth_of_line { first as u32 } else { snapshot.depth }.max(1);
        let lines = lines.iter().enumerate();
        lines
            .map(|(index, (line, value, score))| Info {
                depth: Some(depth),
                seldepth: Some(snapshot.seldepth.max(depth)),
                multipv: (self.multipv > 1).then(|| u32::try_from(index + 1).unwrap_or(u32::MAX)),
                score: Some(*score),
                wdl: self.show_wdl.then(|| permille(*value)),
                nodes: Some(if self.line_counters { line.visits } else { nodes }),
                nps: Some(per_second(nodes, elapsed)),
                hashfull: Some(snapshot.hashfull.min(1000)),
                tbhits: self.root_hits.map(|hits| hits + snapshot.known),
                time_ms: Some(time),
                pv: self.variation(&line.moves),
                ..Info::default()
            })
            .collect()
    }

    /// A line's value and its score: a proven mate, else the table's result, else the search's.
    fn judge(&self, line: &Line<Action>) -> (Wdl, Score) {
        let first = line.moves.first().copied();
        let known = self.known.as_ref().zip(first);
        if let Some(plies) = line.mate_plies {
            let value = if plies > 0 { Wdl::WIN } else { Wdl::LOSS };
            return (value, mate(plies));
        }
        if known.is_some_and(|(tables, first)| tables.mates(first)) {
            return (Wdl::WIN, mate(1));
        }
        let result = known.and_then(|(tables, first)| tables.value_of(first));
        let value = result.map_or(line.value, wdl_of);
        (value, centipawns(value.q()))
    }

    /// The playable part of `moves`, as text.
    fn variation(&self, moves: &[Action]) -> Vec<String> {
        let mut state = self.root.clone();
        let mut out = Vec::with_capacity(moves.len());
        for action in moves {
            let text = action.to_uci(state.position(), self.mode);
            match state.follow(*action) {
                None => break,
                Some(over) => out.push((text, over)),
            }
            if out.last().is_some_and(|(_, over)| *over) {
                break;
            }
        }
        out.into_iter().map(|(text, _)| text).collect()
    }
}

/// The `info` of a position without moves.
#[must_use]
pub fn no_moves(position: &Chess) -> Info {
    let score = if position.is_check() { Score::Mate(0) } else { Score::Centipawns(0) };
    Info { depth: Some(0), score: Some(score), ..Info::default() }
}

/// Playouts per second.
#[must_use]
pub fn per_second(count: u64, elapsed: Duration) -> u64 {
    let micros = elapsed.as_micros().max(1);
    u64::try_from(u128::from(count) * 1_000_000 / micros).unwrap_or(u64::MAX)
}

/// The score of an expected result, by the inverse of `1 / (1 + exp(-0.00368208 cp))`.
#[must_use]
pub fn centipawns(q: f32) -> Score {
    let q = f64::from(q).clamp(0.0, 1.0);
    let cp = (q / (1.0 - q)).ln() / SLOPE;
    // NaN cannot arrive here from [0, 1]; the cast would turn it into 0.
    Score::Centipawns(cp.clamp(-MOST_CENTIPAWNS, MOST_CENTIPAWNS).round() as i32)
}

/// The expected result of a score, by the inverse of [`centipawns`]; a mate is 0 or 1.
#[must_use]
pub fn expected(score: Score) -> f32 {
    match score {
        Score::Centipawns(cp) => (1.0 / (1.0 + (-SLOPE * f64::from(cp)).exp())) as f32,
        Score::Mate(moves) => f32::from(u8::from(moves > 0)),
    }
}

/// Grows with the score: mates against the mover, the longest last, then centipawns, then mates, the shortest last.
fn height(score: Score) -> (i8, i32) {
    match score {
        Score::Mate(moves) if moves > 0 => (1, -moves),
        Score::Mate(moves) => (-1, -moves),
        Score::Centipawns(cp) => (0, cp),
    }
}

/// Plies to mate as moves; negative when the side to move is mated.
#[must_use]
pub fn mate(plies: i32) -> Score {
    Score::Mate(if plies > 0 { plies / 2 + plies % 2 } else { plies / 2 })
}

/// Win, draw and loss per mille; they sum to 1000.
#[must_use]
pub fn permille(wdl: Wdl) -> [u32; 3] {
    let part = |share: f32| (f64::from(share).clamp(0.0, 1.0) * 1000.0).round() as u32;
    let win = part(wdl.win);
    let loss = part(wdl.loss).min(1000 - win);
    [win, 1000 - win - loss, loss]
}

/// Puts the line of the move that will be played first. If nothing is known about the move, it still gets a line: a GUI wants a
/// score with every answer.
pub fn lead_with(lines: &mut Vec<Line<Action>>, best: Action) {
    match lines.iter().position(|line| line.moves.first() == Some(&best)) {
        Some(place) => lines[..=place].rotate_right(1),
        None => lines.insert(0, unknown(best)),
    }
}

/// A line about which only its move is known.
fn unknown(best: Action) -> Line<Action> {
    Line { moves: vec![best], visits: 0, value: Wdl::DRAW, mate_plies: None, prior: 0.0, q: 0.5 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn centipawns_invert_the_win_probability() {
        for cp in [-900, -35, 0, 1, 35, 250, 1500] {
            assert_eq!(centipawns(expected(Score::Centipawns(cp))), Score::Centipawns(cp));
        }
        assert!((expected(Score::Centipawns(100)) - 0.591).abs() < 1e-3);
        assert_eq!([2, -2].map(|moves| expected(Score::Mate(moves))), [1.0, 0.0]);
        assert_eq!(centipawns(1.0), Score::Centipawns(12_800));
        assert_eq!(centipawns(0.0), Score::Centipawns(-12_800));
    }

    #[test]
    fn score_and_chances_never_contradict_each_other() {
        for q in (0..=1000).map(|q| q as f32 / 1000.0) {
            for draw in [0.0, 0.3, 0.9] {
                let value = Wdl::from_score_and_draw(q, draw);
                let Score::Centipawns(cp) = centipawns(value.q()) else { panic!("{value:?}") };
                let [win, _, loss] = permille(value);
                // A centipawn is about a permille, and either is rounded.
                let lead = i64::from(win) - i64::from(loss);
                assert!(lead.abs() <= 2 || (lead > 0) == (cp > 0), "{value:?}: {cp}, {lead}");
            }
        }
    }

    #[test]
    fn lines_tell_all_nodes_or_their_own_visits() {
        let game = Game::from_fen("7k/8/8/8/8/8/6PP/7K w - - 0 1", false).unwrap();
        let moves = game.position().legal_moves();
        let line = |place: usize, visits| Line {
            moves: vec![Action::new(moves[place])],
            visits,
            value: Wdl::from_score_and_draw(0.5, 0.0),
            mate_plies: None,
            prior: 0.5,
            q: 0.5,
        };
        let lines = vec![line(0, 200), line(1, 100)];
        let snapshot = Snapshot { playouts: 300, lines, ..Snapshot::default() };
        let node_counts = |reporter: Reporter| -> Vec<Option<u64>> {
            let infos = reporter.infos(&snapshot, Duration::from_secs(1));
            infos.into_iter().map(|info| info.nodes).collect()
        };
        assert_eq!(node_counts(Reporter::new(&game, 2, false)), [Some(300), Some(300)]);
        let own = Reporter::new(&game, 2, false).with_line_counters(true);
        assert_eq!(node_counts(own), [Some(200), Some(100)]);
    }

    #[test]
    fn scores_fall_after_the_line_of_the_move_to_play() {
        let game = Game::default();
        let moves = game.legal_actions();
        let line = |place: usize, q, mate_plies| Line {
            moves: vec![moves[place]],
            visits: 10,
            value: Wdl::from_score_and_draw(q, 0.0),
            mate_plies,
            prior: 0.1,
            q,
        };
        let lines = vec![
            line(0, 0.5, None),
            line(1, 0.0, Some(-2)),
            line(2, 0.0, None),
            line(3, 0.0, Some(-6)),
            line(4, 0.3, None),
            line(5, 0.6, None),
            line(6, 1.0, Some(5)),
            line(7, 1.0, Some(3)),
            line(8, 0.9, None),
        ];
        let snapshot = Snapshot { lines, ..Snapshot::default() };
        let order = |multipv| -> Vec<String> {
            let infos = Reporter::new(&game, multipv, false).infos(&snapshot, Duration::ZERO);
            infos.into_iter().flat_map(|info| info.pv).collect()
        };
        let names = |places: &[usize]| -> Vec<String> {
            places.iter().map(|place| game.uci(moves[*place])).collect()
        };
        assert_eq!(order(9), names(&[0, 7, 6, 8, 5, 4, 2, 3, 1]));
        assert_eq!(order(3), names(&[0, 2, 1]), "the search chooses which lines are shown");
    }

    #[test]
    fn mates_count_moves() {
        let moves = [(1, 1), (3, 2), (4, 2), (-2, -1), (-4, -2), (5, 3)];
        for (plies, expected) in moves {
            assert_eq!(mate(plies), Score::Mate(expected), "{plies}");
        }
    }

    #[test]
    fn permille_sums_to_a_thousand() {
        for win in 0..=50 {
            for loss in 0..=(50 - win) {
                let (win, loss) = (win as f32 / 50.3, loss as f32 / 50.3);
                let wdl = Wdl { win, draw: 1.0 - win - loss, loss };
                assert_eq!(permille(wdl).iter().sum::<u32>(), 1000);
            }
        }
    }

    #[test]
    fn variations_end_with_the_game() {
        let game = Game::from_fen("7k/8/5KQ1/8/8/8/8/8 w - - 0 1", false).unwrap();
        let reporter = Reporter::new(&game, 1, false);
        let mate = Action::from_uci("g6g7", game.position()).unwrap();
        assert_eq!(reporter.variation(&[mate, mate]), ["g6g7"]);
        let nonsense = Action::from(0);
        assert!(reporter.variation(&[nonsense]).is_empty());
    }
}
