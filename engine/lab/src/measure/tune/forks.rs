//! Forks: positions whose competing moves were searched separately by `mavka-lab leaves`. They are a hundred times as
//! many as those of `mavka-lab label`, searched a tenth as deeply, and resolve smaller differences between settings.

use super::label::stored_values;
use super::labels::LabelledPosition;
use engine::chess::game::Game;
use nn::data::record::MavgGame;
use nn::data::{self, DataError, FileReader};
use shakmaty::CastlingMode;
use std::path::Path;

/// Forks of a data file, at most `limit`: positions with values of some but not all moves. Stops at a truncated game.
///
/// # Errors
/// The file cannot be read.
pub fn read(path: &Path, limit: usize) -> Result<Vec<LabelledPosition>, DataError> {
    let mut forks = Vec::new();
    let mut reader = FileReader::open(path)?;
    while forks.len() < limit {
        match reader.next().transpose()? {
            Some(data::Game::Mavg(game)) => forks.extend(fork(&game)),
            Some(data::Game::Pvgr(_)) => {}
            None => break,
        }
    }
    Ok(forks)
}

/// The first position of `game`, if it is an undecided fork. A move that was not searched counts as the worst searched
/// one: moves are sampled from the policy, and those never sampled are rarely better.
fn fork(game: &MavgGame) -> Option<LabelledPosition> {
    let record = game.positions.first()?;
    let mode = CastlingMode::from_chess960(game.header.chess960);
    let at = Game::new(game.header.start.clone(), mode);
    let values = stored_values(game, record, at.position())?;
    let best = values.get(usize::from(record.best))?.0;
    let (others, deep): (Vec<_>, Vec<_>) =
        values.into_iter().partition(|(_, value)| value.is_nan());
    if deep.len() < 2 || others.is_empty() {
        return None;
    }
    let worst = deep.iter().map(|(_, value)| *value).fold(1.0, f32::min);
    let shallow = others.into_iter().map(|(action, _)| (action, worst)).collect();
    Some(LabelledPosition { game: at, best, deep, shallow })
}

#[cfg(test)]
mod tests {
    use super::*;
    use engine::chess::action::Action;
    use nn::data::FileWriter;
    use nn::data::label::win_probability;
    use nn::data::record::{Format, GameResult, Header, VALUE_UNKNOWN};
    use nn::encode::canonical_moves;
    use shakmaty::Chess;

    /// A game of the initial position with values of its first moves only.
    fn game(values: &[u8], score: i16, rest: u8) -> data::Game {
        let header = Header::new(Chess::default(), false, GameResult::Unknown);
        let mut all = [rest; 20];
        all[..values.len()].copy_from_slice(values);
        let mut game = MavgGame::new(header);
        game.push(0, (0, 0), score, &all).unwrap();
        data::Game::Mavg(game)
    }

    #[test]
    fn forks_are_positions_with_some_moves_searched() {
        let path = std::env::temp_dir().join(format!("mavka-forks-{}.mavg", std::process::id()));
        let mut writer = FileWriter::create(&path, Format::Mavg).unwrap();
        let fork = game(&[66, 50, VALUE_UNKNOWN, 40], 40, VALUE_UNKNOWN);
        // A game position, a leaf with its best move only, a decided game.
        let whole = game(&[66], 40, 50);
        let leaf = game(&[66], 40, VALUE_UNKNOWN);
        let won = game(&[127, 120], 2000, VALUE_UNKNOWN);
        for game in [&whole, &fork, &leaf, &won, &fork] {
            writer.write(game).unwrap();
        }
        writer.finish_file().unwrap();
        let forks = read(&path, 10).unwrap();
        let first = read(&path, 1).unwrap();
        let _ = std::fs::remove_file(&path);
        assert_eq!((forks.len(), first.len()), (2, 1));
        let position = &forks[0];
        let actions = position.game.legal_actions();
        assert_eq!((position.deep.len(), position.shallow.len()), (3, 17));
        assert_eq!(position.best, Action::new(canonical_moves(position.game.position())[0]));
        assert!((position.deep[0].1 - win_probability(40)).abs() < 1e-6);
        let regrets: Vec<f32> = actions.iter().map(|action| position.regret(*action)).collect();
        let most = win_probability(40) - 40.0 / 127.0;
        assert!(regrets.iter().all(|regret| *regret <= most + 1e-6));
        assert_eq!(regrets.iter().filter(|regret| (**regret - most).abs() < 1e-6).count(), 18);
        assert!(read(&path, 1).is_err());
    }
}
