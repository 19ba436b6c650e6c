//! Draws a [`Inspection`] as one self-contained SVG: the board with the first moves of policy and action values, the
//! value's distribution, the predicted line; beside them all legal moves.

use super::look::{InspectedMove, Inspection, PredictedBoard};
use crate::markup::board::{Arrow, diagram, frames, picture, side};
use crate::markup::escape;
use mcts::Wdl;
use shakmaty::Position;
use std::fmt::Write as _;
use std::ops::Range;

const MARGIN: u32 = 24;
/// Side of the board.
const BOARD: u32 = 360;
/// Left edge and first baseline of the table.
const TABLE: u32 = MARGIN + BOARD + 36;
const TOP: u32 = 108;
/// Height of a table row, and of its distribution.
const ROW: u32 = 26;
const BARS_HEIGHT: f32 = 20.0;
/// Columns of the table, from its left edge.
const POLICY: u32 = 76;
const POLICY_WIDTH: f32 = 110.0;
const VALUE: u32 = 300;
const SHAPE: u32 = 332;
const SHAPE_WIDTH: f32 = 320.0;
const WIDTH: u32 = TABLE + SHAPE + SHAPE_WIDTH as u32 + MARGIN;
/// Maximum characters of a line under the board.
const LETTERS: usize = 56;
/// Side of a predicted board, and its size with heading.
const SMALL: u32 = 168;
const CELL: u32 = SMALL + 32;

const STYLE: &str = ".number { text-anchor: end; font-variant-numeric: tabular-nums; } .wrong { fill: #b3261e; }
.inside { text-anchor: middle; font-size: 12px; } .grid { stroke: #e4e0d8; fill: none; }
.policy { fill: #6f93c4; } .shape { fill: #d6a054; } .mean { stroke: #22211f; stroke-width: 1.5; fill: none; }
.win { fill: #a9d0a4; } .draw { fill: #dcd8cf; } .loss { fill: #e0a9a0; }
.frame { fill: none; stroke: #c8442f; stroke-width: 4; }
";

/// Draws the picture. `network` is the network's name.
#[must_use]
pub fn draw(inspection: &Inspection, network: &str) -> String {
    let mut page = SvgPage::default();
    page.board(inspection);
    let left = page.under_the_board(inspection);
    let right = page.table(inspection);
    let height = left.max(right) + MARGIN;
    let (fen, by) = (escape(&inspection.game.fen()), escape(network));
    let body = format!(
        "<text x='{MARGIN}' y='36' class='title'>What the network sees</text>\n\
         <text x='{MARGIN}' y='56'>{fen}</text>\n\
         <text x='{MARGIN}' y='74' class='soft'>{by}, without search; all shares are those of {}, who is to \
         move</text>\n{}",
        side(inspection.game.position().turn()),
        page.out
    );
    picture(WIDTH, height, STYLE, &body)
}

/// Whole percents; shares that would round to 0 get a decimal.
fn percent(share: f32) -> String {
    let percent = 100.0 * share;
    if percent > 0.0 && percent < 0.95 {
        format!("{percent:.1} %")
    } else {
        format!("{percent:.0} %")
    }
}

/// A histogram over win probability.
#[derive(Clone, Copy, Debug)]
pub struct Distribution<'a> {
    /// `[64]`: probabilities of the buckets, from loss to win.
    pub chances: &'a [f32],
    /// Its mean.
    pub mean: f32,
    /// Width of all bars.
    pub width: f32,
    /// Height of the highest bar.
    pub height: f32,
}

impl Distribution<'_> {
    /// Bars from 0 to 1, and a line at the mean; the origin is the lower left corner.
    #[must_use]
    pub fn svg(self) -> String {
        let Distribution { chances, mean, width, height } = self;
        let top = chances.iter().copied().fold(f32::MIN_POSITIVE, f32::max);
        let step = width / chances.len().max(1) as f32;
        let mut path = String::new();
        for (bucket, share) in chances.iter().enumerate() {
            let bar = height * share / top;
            if bar >= 0.2 {
                let left = step * bucket as f32;
                let _ = write!(path, "M{left:.1} 0v-{bar:.1}h{:.1}v{bar:.1}z", 0.9 * step);
            }
        }
        let mean = width * mean;
        format!("<path class='shape' d='{path}'/><path class='mean' d='M{mean:.1} 0v-{height}'/>")
    }
}

#[derive(Default)]
struct SvgPage {
    out: String,
}

impl SvgPage {
    /// Escaped text.
    fn text(&mut self, x: u32, y: u32, class: &str, text: &str) {
        let _ = writeln!(self.out, "<text x='{x}' y='{y}' class='{class}'>{text}</text>");
    }

    /// An element with its own coordinates, scaled into a square.
    fn square(&mut self, (x, y): (u32, u32), side: u32, inside: &str) {
        let _ = writeln!(
            self.out,
            "<svg x='{x}' y='{y}' width='{side}' height='{side}'>{inside}</svg>"
        );
    }

    /// A histogram with its lower left corner at `(x, y)`.
    fn shape(&mut self, (x, y): (u32, u32), shape: Distribution<'_>) {
        let inside = shape.svg();
        let _ = writeln!(self.out, "<g transform='translate({x} {y})'>{inside}</g>");
    }

    /// Lines at every quarter of win probability over `rows`, with labels at height `labels`.
    fn grid(&mut self, x: u32, width: f32, rows: Range<u32>, labels: u32) {
        let Range { start: top, end: bottom } = rows;
        for quarter in 0..=4u32 {
            let at = x + (width * quarter as f32 / 4.0) as u32;
            let _ = writeln!(self.out, "<path class='grid' d='M{at} {top}V{bottom}'/>");
            let share = format!("{} %", 25 * quarter);
            let _ = writeln!(
                self.out,
                "<text x='{at}' y='{labels}' class='soft' text-anchor='middle'>{share}</text>"
            );
        }
    }

    /// The position with the first moves of both heads.
    fn board(&mut self, inspection: &Inspection) {
        let arrow = |inspected: &InspectedMove, class| {
            Arrow::of(inspection.game.position(), inspected.action, class)
        };
        let best = inspection.moves.iter().max_by(|a, b| a.value.total_cmp(&b.value));
        let policy_move = inspection.moves.first();
        let arrows: Vec<Arrow> = best
            .map(|best| arrow(best, "best"))
            .into_iter()
            .chain(policy_move.map(|policy_move| arrow(policy_move, "liked")))
            .collect();
        let board = diagram(inspection.game.position(), &arrows, "The position");
        self.square((MARGIN, TOP - 20), BOARD, &board);
        let legend = match (policy_move, best) {
            (Some(policy_move), Some(best)) if policy_move.action != best.action => {
                let (policy_move, best) = (escape(&policy_move.san), escape(&best.san));
                format!("Blue: policy’s favourite {policy_move}. Orange: best value {best}.")
            }
            (Some(both), _) => format!("Policy and action values like {} best.", escape(&both.san)),
            _ => String::new(),
        };
        self.text(MARGIN, TOP + BOARD, "soft", &legend);
    }

    /// Value, legality, predicted boards; returns the lower edge.
    fn under_the_board(&mut self, inspection: &Inspection) -> u32 {
        let mut y = TOP + BOARD + 32;
        self.text(MARGIN, y, "head", &format!("Expected score {}", percent(inspection.value)));
        let mut x = MARGIN as f32;
        let Wdl { win, draw, loss } = inspection.wdl;
        for (share, class) in [(win, "win"), (draw, "draw"), (loss, "loss")] {
            let width = BOARD as f32 * share;
            let _ = writeln!(
                self.out,
                "<rect x='{x:.1}' y='{}' width='{width:.1}' height='20' class='{class}'/>",
                y + 10
            );
            if width > 70.0 {
                let middle = (x + width / 2.0) as u32;
                self.text(middle, y + 24, "inside", &format!("{class} {}", percent(share)));
            }
            x += width;
        }
        y += 110;
        let width = BOARD as f32;
        self.grid(MARGIN, width, y - 70..y, y + 16);
        let shape = Distribution {
            chances: &inspection.chances,
            mean: inspection.value,
            width,
            height: 66.0,
        };
        self.shape((MARGIN, y), shape);
        y += 44;
        self.text(MARGIN, y, "head", "Which moves are legal");
        for line in wrap(&inspection.legality(), LETTERS) {
            y += 18;
            self.text(MARGIN, y, if inspection.errs() { "wrong" } else { "" }, &escape(&line));
        }
        y += 36;
        self.text(MARGIN, y, "head", "Its best line, as it imagines the boards");
        y += 18;
        self.text(MARGIN, y, "soft", "No rules are asked. Red: not so on the true board.");
        y += 12;
        for (place, predicted_board) in inspection.line.iter().enumerate() {
            let column = place as u32 % 2;
            self.predicted_board((MARGIN + column * (BOARD - SMALL), y), predicted_board);
            if column == 1 || place + 1 == inspection.line.len() {
                y += CELL;
            }
        }
        y
    }

    fn predicted_board(&mut self, (x, y): (u32, u32), predicted_board: &PredictedBoard) {
        let PredictedBoard { heading, state, wrong, verdict, .. } = predicted_board;
        let class = if predicted_board.is_right() { "soft" } else { "soft wrong" };
        let heading = format!("{} <tspan class='{class}'>{verdict}</tspan>", escape(heading));
        self.text(x, y + 16, "", &heading);
        match state {
            Ok(state) => {
                let board =
                    diagram(state, &[], &format!("Imagined after {}", predicted_board.heading));
                self.square((x, y + 24), SMALL, &(board + &frames(wrong)));
            }
            Err(why) => {
                for (line, text) in wrap(&why.to_string(), LETTERS / 2).into_iter().enumerate() {
                    self.text(x, y + 44 + 18 * line as u32, "wrong", &escape(&text));
                }
            }
        }
    }

    /// All legal moves; returns the lower edge.
    fn table(&mut self, inspection: &Inspection) -> u32 {
        let y = TOP - 8;
        let bottom = y + 12 + ROW * inspection.moves.len() as u32;
        self.text(TABLE, y, "head", "Move");
        self.text(TABLE + POLICY, y, "head", "Policy");
        self.text(TABLE + VALUE, y, "head number", "Action value");
        self.grid(TABLE + SHAPE, SHAPE_WIDTH, y + 8..bottom, y);
        for (place, inspected) in inspection.moves.iter().enumerate() {
            let base = y + 12 + ROW * (place as u32 + 1) - 4;
            let name = escape(&inspected.san);
            let class = if inspected.predicted_legal { "" } else { "wrong" };
            self.text(TABLE, base - 4, class, &name);
            let _ = writeln!(
                self.out,
                "<rect x='{}' y='{}' width='{:.1}' height='14' class='policy'/>",
                TABLE + POLICY,
                base - 16,
                POLICY_WIDTH * inspected.policy
            );
            let after = TABLE + POLICY + (POLICY_WIDTH * inspected.policy) as u32 + 6;
            self.text(after, base - 4, "soft", &percent(inspected.policy));
            self.text(TABLE + VALUE, base - 4, "number", &percent(inspected.value));
            let (chances, mean) = (inspected.chances.as_slice(), inspected.value);
            let shape = Distribution { chances, mean, width: SHAPE_WIDTH, height: BARS_HEIGHT };
            self.shape((TABLE + SHAPE, base), shape);
        }
        let note = [
            "Right: the distribution over 64 buckets of win probability after the move, each drawn to the",
            "same height; the black line is its mean. A move in red the network takes for illegal.",
        ];
        for (line, text) in note.into_iter().enumerate() {
            self.text(TABLE, bottom + 28 + 18 * line as u32, "soft", text);
        }
        bottom + 46
    }
}

/// Wraps text at blanks to lines of `letters` characters.
fn wrap(text: &str, letters: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        match lines.last_mut() {
            Some(line) if line.chars().count() + word.chars().count() < letters => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;
    use chess::game::Game;
    use nn::checkpoint::Network;
    use nn::evaluator::cpu::CpuEvaluator;
    use nn::net::NetConfig;
    use nn::precision::Arithmetic;

    #[test]
    fn a_network_that_knows_nothing_is_drawn_too() {
        let network = Network::new(&NetConfig::default(), 3);
        let network = CpuEvaluator::new(&network, Arithmetic::Single);
        for fen in ["4k3/P7/8/8/8/8/8/4K3 w - - 0 1", "r3k2r/8/8/8/8/8/8/R3K2R b KQkq - 0 9"] {
            let game = Game::from_fen(fen, false).unwrap();
            let inspection = Inspection::new(&game, &network).unwrap();
            assert!(inspection.errs(), "{}", inspection.legality());
            let svg = draw(&inspection, "a <wild> one");
            // One histogram per move, and the position's.
            assert_eq!(svg.matches("class='shape'").count(), inspection.moves.len() + 1);
            assert_eq!(svg.matches("class='policy'").count(), inspection.moves.len());
            assert_eq!(svg.matches("<svg").count(), svg.matches("</svg>").count());
            assert!(svg.contains("a &lt;wild&gt; one") && !svg.contains("NaN"));
        }
    }

    #[test]
    fn long_sentences_are_broken_at_blanks() {
        assert_eq!(wrap("one two three", 8), ["one two", "three"]);
        assert_eq!(wrap("unbreakable", 4), ["unbreakable"]);
        assert!(wrap("", 4).is_empty());
    }
}
