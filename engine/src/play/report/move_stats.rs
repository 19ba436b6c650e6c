//! Every root move's statistics as `info string` lines, in the format of lc0's `VerboseMoveStats`, which GUIs such
//! as Nibbler read: least visits first, and the position itself last.

use chess::action::Action;
use mcts::{Line, Snapshot, Wdl};
use shakmaty::{CastlingMode, Chess};
use uci::Info;

/// One line for each of the root's moves in `snapshot`, which should hold them all, then one for the root.
#[must_use]
pub fn lines(snapshot: &Snapshot<Action>, root: &Chess, mode: CastlingMode) -> Vec<Info> {
    let first = |line: &Line<Action>| line.moves.first().copied();
    let mut moves: Vec<(Action, &Line<Action>)> =
        snapshot.lines.iter().filter_map(|line| Some((first(line)?, line))).collect();
    // Best first, and reversed: of equals, the best comes last.
    moves.reverse();
    moves.sort_by_key(|(_, line)| line.visits);
    let mut out: Vec<Info> = moves
        .iter()
        .map(|(action, line)| {
            let name = action.to_uci(root, mode);
            let q = signed(line.value.q());
            let u = snapshot.exploration * line.prior / (1 + line.visits) as f32;
            let head = head(&name, u32::from(u16::from(*action)), line.visits, line.prior);
            let (stats, score) = (stats(line.visits, line.value), format!("{:.5}", q + 2.0 * u));
            let u = format!("{:.5}", 2.0 * u);
            let v = format!("{:.4}", signed(line.q));
            Info::text(format!(
                "{head}{stats}(Q: {q:>8.5}) (U: {u:>6}) (S: {score:>8}) (V: {v:>7})"
            ))
        })
        .collect();
    if let Some((_, best)) = moves.last() {
        let visits = snapshot.nodes;
        let head =
            head("node", moves.len() as u32, visits, moves.iter().map(|(_, l)| l.prior).sum());
        let sum = |of: fn(&Wdl) -> f32| {
            let sum: f32 = moves.iter().map(|(_, l)| l.visits as f32 * of(&l.value)).sum();
            let visits: u64 = moves.iter().map(|(_, l)| l.visits).sum();
            if visits == 0 { of(&best.value) } else { sum / visits as f32 }
        };
        let q = sum(|value| value.q());
        let value = Wdl::from_score_and_draw(q, sum(|value| value.draw));
        out.push(Info::text(format!(
            "{head}{}(Q: {:>8.5}) (V:  -.----)",
            stats(visits, value),
            signed(q)
        )));
    }
    out
}

fn head(name: &str, number: u32, visits: u64, prior: f32) -> String {
    let percent = format!("{:.2}%", 100.0 * prior);
    format!("{name:<5} ({number:<4}) N: {visits:>7} (+ 0) (P: {percent:>6}) ")
}

/// Win minus loss, and draws. Moves left are not predicted.
fn stats(visits: u64, value: Wdl) -> String {
    if visits == 0 {
        return "(WL:  -.-----) (D: -.---) (M:  -.-) ".to_owned();
    }
    format!("(WL: {:>8.5}) (D: {:.3}) (M:  -.-) ", value.win - value.loss, value.draw)
}

/// An expected result in lc0's range, -1 to 1.
fn signed(q: f32) -> f32 {
    2.0 * q - 1.0
}

#[cfg(test)]
mod tests {
    use super::*;
    use shakmaty::Position;

    #[test]
    fn the_most_visited_move_comes_last_but_for_the_position() {
        let root = Chess::default();
        let line = |text: &str, visits, q| Line {
            moves: vec![Action::from_uci(text, &root).unwrap()],
            visits,
            value: Wdl::from_score_and_draw(q, 0.2),
            mate_plies: None,
            prior: 0.25,
            q: 0.5,
        };
        let snapshot = Snapshot {
            nodes: 31,
            playouts: 31,
            lines: vec![line("e2e4", 20, 0.6), line("d2d4", 10, 0.55), line("a2a3", 0, 0.5)],
            exploration: 4.0,
            ..Snapshot::default()
        };
        let lines: Vec<String> = lines(&snapshot, &root, CastlingMode::Standard)
            .iter()
            .map(ToString::to_string)
            .collect();
        let names: Vec<&str> =
            lines.iter().map(|line| line.split_whitespace().nth(2).unwrap()).collect();
        assert_eq!(names, ["a2a3", "d2d4", "e2e4", "node"]);
        assert!(lines[0].contains("N:       0 (+ 0) (P: 25.00%) (WL:  -.-----) (D: -.---)"));
        assert!(lines[0].ends_with("(Q:  0.00000) (U: 2.00000) (S:  2.00000) (V:  0.0000)"));
        assert!(
            lines[2].contains("N:      20 (+ 0) (P: 25.00%) (WL:  0.20000) (D: 0.200)"),
            "{}",
            lines[2]
        );
        // (20 x 0.2 + 10 x 0.1) / 30.
        assert!(lines[3].contains("(Q:  0.16667)"), "{}", lines[3]);
        assert_eq!(root.turn(), shakmaty::Color::White);
    }
}
