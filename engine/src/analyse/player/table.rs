//! The games of a player as CSV, one row for each.

use super::game::PlayedGame;
use super::summary::Summary;
use crate::markup::board::side;
use crate::process::files::csv_field;
use std::fmt::Write as _;

const HEADER: &str = "game,date,color,opponent,score,eco,opening,accuracy,average_loss,inaccuracies,mistakes,blunders\n";

/// The table.
#[must_use]
pub fn csv(summary: &Summary) -> String {
    let mut out = HEADER.to_owned();
    for game in &summary.games {
        let PlayedGame { number, color, opponent, date, score, eco, opening, .. } = game;
        let [date, opponent, eco, opening] =
            [date, opponent, eco, opening].map(|text| csv_field(text));
        let score = score.map(|score| score.to_string()).unwrap_or_default();
        let [accuracy, loss] = [game.accuracy, game.loss]
            .map(|number| number.map(|number| format!("{number:.1}")).unwrap_or_default());
        let [inaccuracies, mistakes, blunders] = game.counts;
        let _ = writeln!(
            out,
            "{number},{date},{},{opponent},{score},{eco},{opening},{accuracy},{loss},{inaccuracies},{mistakes},{blunders}",
            side(*color).to_lowercase()
        );
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use shakmaty::Color;

    #[test]
    fn a_row_has_every_column_and_no_formula() {
        let mut summary = Summary::new("Ann");
        summary.add(PlayedGame {
            number: 3,
            player: "Ann".to_owned(),
            color: Color::Black,
            opponent: "=HYPERLINK(\"x\")".to_owned(),
            date: "2026.01.31".to_owned(),
            score: Some(0.5),
            eco: "B01".to_owned(),
            opening: "Scandinavian Defense".to_owned(),
            accuracy: Some(87.25),
            loss: None,
            counts: [1, 2, 0],
            moves: Vec::new(),
        });
        let expected = "3,\"2026.01.31\",black,\"'=HYPERLINK(\"\"x\"\")\",0.5,\"B01\",\"Scandinavian Defense\",87.2,,1,2,0";
        assert_eq!(csv(&summary), format!("{HEADER}{expected}\n"));
    }
}
