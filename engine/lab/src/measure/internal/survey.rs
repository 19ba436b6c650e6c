//! How well trees are written over positions of held-out games: shape, boards, decisions, by category.

use crate::measure::MeasureError;
use chess::game::Game;
use engine::internal::boards::{Boards, NodeValue};
use engine::internal::check::{Ratio, check};
use engine::internal::think::{Task, ThoughtEnd, think};
use nn::Evaluator;
use nn::writer::{Backup, Shape, Writer};
use shakmaty::{CastlingMode, Chess, Position, Rank, Role};
use std::fmt;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use train::data::MixConfig;
use train::data::validation::HeldOut;

/// The measurements to make.
pub struct TraceSurvey {
    /// Data files; their held-out games are asked about.
    pub files: Vec<PathBuf>,
    /// Positions of each file and kind of chess.
    pub positions: usize,
    /// Only those of this kind.
    pub category: Category,
    /// Breadth and depth of the trees.
    pub shape: Shape,
    /// How values are to be backed up.
    pub backup: Backup,
    /// Words that do not fit the shape cannot be written.
    pub mask: bool,
    /// Evaluation of nodes.
    pub value: NodeValue,
}

/// A kind of position: its name, and whether a game's last position is of it.
pub type Category = (&'static str, fn(&Game) -> bool);

/// Kinds of position. One may be of several.
const CATEGORIES: [Category; 7] = [
    ("all", |_| true),
    ("Chess960", |game| game.mode() == CastlingMode::Chess960),
    ("in check", |game| game.position().is_check()),
    ("at most 4 moves", |game| game.legal_actions().len() <= 4),
    ("at most 10 pieces", |game| game.position().board().occupied().count() <= 10),
    ("a pawn before promotion", |game| near_promotion(game.position())),
    ("a mate in one", |game| mates(game.position())),
];

/// The kind that the table calls so.
///
/// # Errors
/// There is none; the names that there are.
pub fn category(name: &str) -> Result<Category, String> {
    let found = CATEGORIES.into_iter().find(|(known, _)| *known == name);
    found.ok_or_else(|| format!("expected one of: {}", CATEGORIES.map(|(name, _)| name).join(", ")))
}

fn near_promotion(position: &Chess) -> bool {
    let seventh = position.turn().relative_rank(Rank::Seventh);
    !(position.our(Role::Pawn) & shakmaty::Bitboard::from_rank(seventh)).is_empty()
}

fn mates(position: &Chess) -> bool {
    position.legal_moves().iter().any(|m| {
        let mut next = position.clone();
        next.play_unchecked(*m);
        next.is_checkmate()
    })
}

/// Counts of one category.
#[derive(Clone, Copy, Debug, Default)]
struct CategoryCounts {
    shapes: Ratio,
    consistent: Ratio,
    decisions: Ratio,
    states: [Ratio; 3],
    expanded: Ratio,
    cutoffs: Ratio,
    /// Boards asked about, over all trees.
    boards: u64,
}

/// The table.
pub struct SurveyTable {
    rows: Vec<(&'static str, CategoryCounts)>,
    /// The first faults, in words.
    faults: Vec<String>,
}

impl fmt::Display for SurveyTable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let share = |right: Ratio| match right.of {
            0 => "–".to_owned(),
            of => format!("{:.2} %", 100.0 * right.right as f64 / of as f64),
        };
        writeln!(
            f,
            "{:<24}{:>9}{:>12}{:>12}{:>12}{:>12}{:>12}{:>12}{:>12}{:>12}{:>12}",
            "positions",
            "",
            "shape",
            "decisions",
            "traces",
            "states 1",
            "states 2",
            "states 3",
            "legal",
            "cut-offs",
            "boards"
        )?;
        for (name, row) in &self.rows {
            write!(f, "{name:<24}{:>9}", row.shapes.of)?;
            let [one, two, three] = row.states;
            let of_trees = [row.shapes, row.decisions, row.consistent];
            for right in of_trees.into_iter().chain([one, two, three, row.expanded, row.cutoffs]) {
                write!(f, "{:>12}", share(right))?;
            }
            writeln!(f, "{:>12.1}", row.boards as f64 / row.shapes.of.max(1) as f64)?;
        }
        self.faults.iter().try_for_each(|fault| writeln!(f, "{fault}"))
    }
}

/// Maximum number of faults printed.
const MAX_FAULTS: usize = 5;

impl TraceSurvey {
    /// Writes a tree for each position until `stop` is raised; calls `done` after each.
    ///
    /// # Errors
    /// A file cannot be used, or the network fails.
    pub fn run(
        &self,
        evaluator: &dyn Evaluator,
        writer: &mut dyn Writer,
        stop: &AtomicBool,
        done: &dyn Fn(),
    ) -> Result<SurveyTable, MeasureError> {
        let mut boards = Boards::new(evaluator, self.value)?;
        let mut found = SurveyTable {
            rows: CATEGORIES.map(|(name, _)| (name, CategoryCounts::default())).to_vec(),
            faults: Vec::new(),
        };
        for game in self.games()? {
            if stop.load(Ordering::Relaxed) {
                break;
            }
            boards.set_root(&game, &[])?;
            let TraceSurvey { shape, backup, mask, .. } = *self;
            let task = Task { shape, backup, mask, stop: &|| false };
            let thought = think(&mut boards, writer, &task)?;
            if let ThoughtEnd::Broken(why) = &thought.end
                && found.faults.len() < MAX_FAULTS
            {
                found.faults.push(format!("{}: {why}", game.fen()));
            }
            let report = check(&thought, &game);
            for ((_, row), (_, belongs)) in found.rows.iter_mut().zip(CATEGORIES) {
                if !belongs(&game) {
                    continue;
                }
                let whole = thought.end == ThoughtEnd::Played;
                row.shapes.add(whole && report.widths.right == report.widths.of);
                row.consistent.add(whole && report.decisions.right == report.decisions.of);
                row.decisions.join(report.decisions);
                row.expanded.join(report.expanded);
                row.cutoffs.join(report.cutoffs);
                row.boards += boards.evaluated();
                row.states.iter_mut().zip(report.states).for_each(|(sum, one)| sum.join(one));
            }
            done();
        }
        Ok(found)
    }

    /// Positions of held-out games that are not over, each the first of a stretch of three plies.
    fn games(&self) -> Result<Vec<Game>, MeasureError> {
        let mut games = Vec::new();
        for path in &self.files {
            let held = HeldOut::read(path, &MixConfig::new(Vec::new()))?;
            let open = held.stretches(self.positions, 3)?.into_iter().map(|stretch| {
                let mode = CastlingMode::from_chess960(stretch.chess960);
                Game::new(stretch.start, mode)
            });
            let (_, belongs) = self.category;
            games.extend(open.filter(|game| !game.legal_actions().is_empty() && belongs(game)));
        }
        Ok(games)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_are_asked_for_by_the_names_in_the_table() {
        let (_, mates) = category("a mate in one").unwrap();
        let game = |fen: &str| Game::from_fen(fen, false).unwrap();
        assert!(mates(&game("7k/8/6K1/5Q2/8/8/8/8 w - - 0 1")));
        assert!(!mates(&game("7k/8/4K3/5Q2/8/8/8/8 w - - 0 1")));
        let refused = category("mates").unwrap_err();
        assert!(CATEGORIES.iter().all(|(name, _)| refused.contains(name)), "{refused}");
    }
}
