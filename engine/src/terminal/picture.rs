//! The board as text.

use shakmaty::{Chess, Color, File, Piece, Position, Rank, Role, Square};

/// The characters of a board, and those of all other text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Characters {
    /// Letters for pieces, and `?` for whatever is not ASCII.
    Ascii,
    /// Chess symbols.
    Unicode,
}

impl Characters {
    /// Unicode where the terminal's locale says UTF-8, by the first of these variables that is set.
    #[must_use]
    pub fn of_locale(variable: impl Fn(&str) -> Option<String>) -> Characters {
        let names = ["LC_ALL", "LC_CTYPE", "LANG"];
        let set = names.into_iter().filter_map(variable).find(|value| !value.is_empty());
        let locale = set.unwrap_or_default().to_ascii_lowercase();
        match locale.ends_with("utf-8") || locale.ends_with("utf8") {
            true => Characters::Unicode,
            false => Characters::Ascii,
        }
    }

    /// The text in these characters.
    #[must_use]
    pub fn text(self, text: &str) -> String {
        match self {
            Characters::Unicode => text.to_owned(),
            Characters::Ascii => text.replace(|letter: char| !letter.is_ascii(), "?"),
        }
    }

    fn piece(self, piece: Option<Piece>) -> char {
        let Some(piece) = piece else { return if self == Characters::Ascii { '.' } else { '·' } };
        if self == Characters::Ascii {
            return piece.char();
        }
        match (piece.role, piece.color) {
            (Role::King, Color::White) => '♔',
            (Role::Queen, Color::White) => '♕',
            (Role::Rook, Color::White) => '♖',
            (Role::Bishop, Color::White) => '♗',
            (Role::Knight, Color::White) => '♘',
            (Role::Pawn, Color::White) => '♙',
            (Role::King, Color::Black) => '♚',
            (Role::Queen, Color::Black) => '♛',
            (Role::Rook, Color::Black) => '♜',
            (Role::Bishop, Color::Black) => '♝',
            (Role::Knight, Color::Black) => '♞',
            (Role::Pawn, Color::Black) => '♟',
        }
    }
}

/// Nine lines, seen from the side of `bottom`, without the last line's end.
#[must_use]
pub fn picture(position: &Chess, bottom: Color, characters: Characters) -> String {
    let mut ranks = Rank::ALL;
    let mut files = File::ALL;
    match bottom {
        Color::White => ranks.reverse(),
        Color::Black => files.reverse(),
    }
    let mut out = String::new();
    for rank in ranks {
        out.push(rank.char());
        out.push(' ');
        for file in files {
            let piece = position.board().piece_at(Square::from_coords(file, rank));
            out.extend([' ', characters.piece(piece)]);
        }
        out.push('\n');
    }
    out.push_str("  ");
    files.iter().for_each(|file| out.extend([' ', file.char()]));
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_board_is_small_and_seen_from_either_side() {
        let white = picture(&Chess::default(), Color::White, Characters::Ascii);
        assert!(white.starts_with("8  r n b q k b n r\n7  p p"), "{white}");
        assert!(white.ends_with("1  R N B Q K B N R\n   a b c d e f g h"), "{white}");
        let black = picture(&Chess::default(), Color::Black, Characters::Unicode);
        assert!(black.starts_with("1  ♖ ♘ ♗ ♔ ♕"), "{black}");
        assert!(black.ends_with("8  ♜ ♞ ♝ ♚ ♛ ♝ ♞ ♜\n   h g f e d c b a"), "{black}");
        for board in [white, black] {
            assert_eq!(board.lines().count(), 9);
            assert!(board.lines().all(|line| line.chars().count() <= 19), "{board}");
        }
    }

    #[test]
    fn symbols_need_a_locale_of_utf_8() {
        let of = |set: &[(&str, &str)]| {
            let value = |name: &str| set.iter().find(|(known, _)| *known == name);
            Characters::of_locale(|name| value(name).map(|(_, value)| (*value).to_owned()))
        };
        for (set, characters) in [
            (&[("LANG", "uk_UA.UTF-8")][..], Characters::Unicode),
            (&[("LC_ALL", ""), ("LC_CTYPE", "C.utf8"), ("LANG", "C")], Characters::Unicode),
            (&[("LC_ALL", "C"), ("LANG", "en_US.UTF-8")], Characters::Ascii),
            (&[("LANG", "uk_UA.KOI8-U")], Characters::Ascii),
            (&[], Characters::Ascii),
        ] {
            assert_eq!(of(set), characters, "{set:?}");
        }
        assert_eq!(Characters::Ascii.text("a…ü"), "a??");
    }
}
