//! Where a game begins, by its tags.

use super::game::Unreadable;
use chess::game::Game;
use shakmaty::{CastlingMode, Chess};

/// Values of the tag Variant that mean chess, without the word chess: lichess, XBoard, chess servers, and classes of time.
const CHESS: [&str; 13] = [
    "",
    "standard",
    "normal",
    "regular",
    "orthodox",
    "orthodoxal",
    "western",
    "international",
    "fromposition",
    "classical",
    "rapid",
    "blitz",
    "bullet",
];
/// The same for Chess960.
const CHESS960: [&str; 10] = [
    "960",
    "9lx",
    "frc",
    "fischerandom",
    "fischerrandom",
    "fischerandom960",
    "fischerrandom960",
    "freestyle",
    "960fischerrandom",
    "fischerrandomchess960",
];

/// The first position by the tags.
///
/// # Errors
/// Another game than chess, or no position.
pub fn start(tags: &[(String, String)]) -> Result<Game, Unreadable> {
    let tag = |name: &str| {
        let found = tags.iter().find(|(known, _)| known.eq_ignore_ascii_case(name));
        found.map(|(_, value)| value.trim()).filter(|value| !value.is_empty())
    };
    let chess960 = match tag("Variant") {
        Some(variant) => is_chess960(variant).ok_or(Unreadable::Variant(variant.to_owned()))?,
        None => false,
    };
    match tag("FEN") {
        Some(fen) => Game::from_fen(fen, chess960).map_err(Unreadable::Start),
        None => {
            let mode = CastlingMode::from_chess960(chess960);
            Ok(Game::new(Chess::default(), mode))
        }
    }
}

/// Whether a variant is Chess960; None if it is neither that nor chess.
fn is_chess960(variant: &str) -> Option<bool> {
    let words = variant.to_ascii_lowercase();
    let plain: String = words.chars().filter(char::is_ascii_alphanumeric).collect();
    let bare = plain.strip_prefix("chess").unwrap_or(&plain);
    let bare = bare.strip_suffix("chess").unwrap_or(bare);
    let is_known = |names: &[&str]| names.contains(&bare);
    is_known(&CHESS960).then_some(true).or_else(|| is_known(&CHESS).then_some(false))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_chess_and_chess960_are_known() {
        for name in [
            "Standard",
            "Chess",
            "Regular",
            "Classical",
            "normal",
            "From Position",
            "Standard Chess",
        ] {
            assert_eq!(is_chess960(name), Some(false), "{name}");
        }
        for name in [
            "Chess960",
            "chess 960",
            "Fischerandom",
            "Fischer Random Chess",
            "Chess 9LX",
            "Freestyle Chess",
            "FRC",
            "Fischer Random",
            "Chess960 (Fischer Random)",
            "Freestyle",
        ] {
            assert_eq!(is_chess960(name), Some(true), "{name}");
        }
        for name in
            ["Atomic", "Three-check", "King of the Hill", "Crazyhouse", "Antichess", "Chess Attack"]
        {
            assert_eq!(is_chess960(name), None, "{name}");
        }
    }
}
