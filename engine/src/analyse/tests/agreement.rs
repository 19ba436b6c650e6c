//! A move's loss, glyph, better move and scores say the same.

use super::{GAMES, RULES, analyst, fresh, searched, sound, task};
use crate::analyse::collection::Batches;
use crate::analyse::journal::Journal;
use crate::analyse::judge::{Glyph, INACCURACY};
use crate::analyse::run::{AnalysisTask, reviewed};
use crate::options::settings::Settings;
use crate::pgn::PgnGame;
use crate::play::analyst::{Analyst, Effort};
use crate::play::network::Installed;
use std::path::PathBuf;

/// Moves whose loss, glyph, better move and scores do not say the same, and how many moves are judged.
fn disagreements(games: &[PgnGame], journal: &Journal) -> (usize, Vec<String>) {
    let (mut judged_moves, mut found) = (0, Vec::new());
    for game in games {
        let review = reviewed(game, journal, RULES);
        for (ply, judged) in review.judgements.iter().enumerate() {
            let (Some(judged), Some(before)) = (judged, review.found(ply)) else { continue };
            judged_moves += 1;
            let mut fault = |what: &str| {
                let name = review.played(ply).map(|played| review.positions.san(ply, played));
                found.push(format!(
                    "game {}, ply {ply}, {}: {what}; {judged:?}, {:?}",
                    game.number,
                    name.unwrap_or_default(),
                    before.choices.iter().map(|c| (c.win(), c.mate, c.visits)).collect::<Vec<_>>()
                ));
            };
            let sign = review.mover(ply).fold_wb(1.0, -1.0);
            let wins = [ply, ply + 1].map(|place| review.white_win(place).unwrap());
            if (judged.loss() - sign * (wins[0] - wins[1])).abs() > 1e-5 {
                fault(&format!("it loses other than the difference of {wins:?}"));
            }
            let errs = judged.glyph.is_some_and(|glyph| glyph != Glyph::Good);
            if errs != (judged.loss() >= INACCURACY) {
                fault("the glyph is not that of the loss");
            }
            let better = judged.better.iter().map(|place| before.choices[*place].win());
            let best =
                better.fold(None, |best: Option<f32>, win| Some(best.map_or(win, |b| b.max(win))));
            match best {
                Some(_) if !errs => fault("a better move without a glyph"),
                Some(best) if (best - judged.best).abs() > 1e-5 => {
                    fault(&format!("the better move has {best}"));
                }
                None if errs => fault("a glyph without a better move"),
                _ => {}
            }
            // White's score and win probability are of one side.
            let decided = match review.score(ply + 1) {
                Some(uci::Score::Mate(moves)) => Some(f32::from(u8::from(moves > 0))),
                _ => None,
            };
            if decided.is_some_and(|win| win != wins[1]) {
                fault("a mate with another win probability");
            }
        }
    }
    (judged_moves, found)
}

#[test]
fn a_move_loses_what_the_scores_beside_it_differ_by() {
    let games = sound(GAMES);
    let journal = searched(&games, &analyst(), &task(&fresh("differences")));
    let (moves, found) = disagreements(&games, &journal);
    assert!(moves > 15 && found.is_empty(), "{found:#?}");
}

/// The same for games of players, by the bundled network: `MAVKA_GAMES` names a file of them.
#[test]
#[ignore = "needs games, and a second for each"]
fn a_move_of_players_loses_what_the_scores_beside_it_differ_by() {
    let path = PathBuf::from(std::env::var_os("MAVKA_GAMES").expect("MAVKA_GAMES names games"));
    let settings = Settings { threads: 1, ..Settings::default() };
    let analyst = Analyst::new(&Installed::default(), settings).unwrap();
    let (mut all, mut moves, mut found) = (0, 0, Vec::new());
    for batch in Batches::open(&[path], None).unwrap() {
        let games = batch.unwrap().games;
        let out = fresh("players");
        let task = AnalysisTask { effort: Effort::Nodes(25), workers: 2, ..task(&out) };
        let journal = searched(&games, &analyst, &task);
        let (judged, faults) = disagreements(&games, &journal);
        (all, moves) = (all + games.len(), moves + judged);
        found.extend(faults);
    }
    println!("{all} games, {moves} moves, {} disagree", found.len());
    assert!(found.is_empty(), "{found:#?}");
}
