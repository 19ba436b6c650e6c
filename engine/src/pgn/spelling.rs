//! The move that a word means, in the spellings of programs and people: `Nf3`, `Ng1-f3`, `g1f3`, `e:d5`, `exd6e.p.`,
//! `a8Q`, `a8(Q)`, `a8/Q`, `O-O`, `0-0`, `o-o` and dashes of any length.

use shakmaty::{Chess, File, Move, Position, Rank, Role, Square};

/// An annotation of a move.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Spelling {
    /// A null move: `--`, `Z0`.
    Null,
    /// Castling, `true` on the king's side.
    Castle(bool),
    /// Any other move.
    Normal {
        /// The piece; None for a pawn, or any piece that leaves a given square.
        role: Option<Role>,
        file: Option<File>,
        rank: Option<Rank>,
        to: Square,
        promotion: Option<Role>,
    },
}

/// Reads the beginning of a word; the rest is returned. None if it begins with no move.
#[must_use]
pub fn spelled(word: &str) -> Option<(Spelling, &str)> {
    for null in ["--", "Z0", "@@@@", "0000", "<>"] {
        if let Some(rest) = word.strip_prefix(null) {
            return Some((Spelling::Null, rest));
        }
    }
    castling(word).or_else(|| normal(word))
}

/// The only legal move that is spelled so. None if there is none, or more than one.
#[must_use]
pub fn find(spelling: Spelling, position: &Chess) -> Option<Move> {
    let legal = position.legal_moves();
    let only = |wanted: &dyn Fn(&Move) -> bool| -> Option<Move> {
        let mut found = legal.iter().filter(|m| wanted(m));
        let first = found.next().copied();
        first.filter(|_| found.next().is_none())
    };
    match spelling {
        Spelling::Null => None,
        Spelling::Castle(kingside) => only(&|m| match m {
            Move::Castle { king, rook } => (rook > king) == kingside,
            _ => false,
        }),
        Spelling::Normal { role, file, rank, to, promotion } => {
            let from = |m: &Move| m.from().is_some_and(|from| fits(from, file, rank));
            let any = role.is_none() && file.is_some() && rank.is_some();
            let role = role.unwrap_or(Role::Pawn);
            let normal = only(&|m| {
                let castles = matches!(m, Move::Castle { .. });
                !castles
                    && m.to() == to
                    && m.promotion() == promotion
                    && from(m)
                    && (any || m.role() == role)
            });
            // Castling by the king's squares, `e1g1` or `Kg1`.
            let of_king = |m: &Move| match m {
                Move::Castle { king, rook } => {
                    let target = if rook > king { File::G } else { File::C };
                    let reaches = to == *rook || to.file() == target && to.rank() == king.rank();
                    (any || role == Role::King) && from(m) && reaches
                }
                _ => false,
            };
            normal.or_else(|| only(&of_king))
        }
    }
}

fn fits(from: Square, file: Option<File>, rank: Option<Rank>) -> bool {
    file.is_none_or(|file| from.file() == file) && rank.is_none_or(|rank| from.rank() == rank)
}

fn castling(word: &str) -> Option<(Spelling, &str)> {
    let mut wings = 0;
    let mut rest = word;
    while let Some(after) = rest.strip_prefix(['O', '0', 'o']) {
        wings += 1;
        rest = after;
        match after.strip_prefix('-') {
            Some(more) if wings < 3 && more.starts_with(['O', '0', 'o']) => rest = more,
            _ if wings < 3 && after.starts_with(['O', 'o']) => {}
            _ => break,
        }
    }
    matches!(wings, 2 | 3).then_some((Spelling::Castle(wings == 2), rest))
}

/// The files and ranks of a word in their order, at most four, and where each ends.
fn coordinates(word: &str) -> Vec<(char, usize)> {
    let mut found = Vec::new();
    for (at, letter) in word.char_indices() {
        match letter {
            'a'..='h' | '1'..='8' if found.len() < 4 => found.push((letter, at + 1)),
            'x' | '-' => {}
            _ => break,
        }
    }
    found
}

fn normal(word: &str) -> Option<(Spelling, &str)> {
    let role = word.chars().next().filter(char::is_ascii_uppercase).map(Role::from_char);
    let (role, body) = match role {
        Some(role) => (Some(role?), &word[1..]),
        None => (None, word),
    };
    let mut found = coordinates(body);
    // In `exd6e.p.` the last letter is no file.
    while found.last().is_some_and(|(last, _)| !last.is_ascii_digit()) {
        found.pop();
    }
    let (rank, end) = found.pop()?;
    let (file, _) = found.pop()?;
    let to = Square::from_coords(File::from_char(file)?, Rank::from_char(rank)?);
    let (from_file, from_rank) = match found[..] {
        [] => (None, None),
        [(only, _)] => (File::from_char(only), Rank::from_char(only)),
        [(file, _), (rank, _)] => (Some(File::from_char(file)?), Some(Rank::from_char(rank)?)),
        _ => return None,
    };
    let rest = &body[end..];
    let last = matches!(to.rank(), Rank::First | Rank::Eighth);
    let promotes = last && role.is_none_or(|role| role == Role::Pawn);
    let (promotion, rest) = match promotion(rest).filter(|_| promotes) {
        Some((role, rest)) => (Some(role), rest),
        None => (None, rest),
    };
    Some((Spelling::Normal { role, file: from_file, rank: from_rank, to, promotion }, rest))
}

/// `=Q`, `Q`, `q`, `(Q)`, `/Q`.
fn promotion(rest: &str) -> Option<(Role, &str)> {
    let bare = rest.trim_start_matches(['=', '(', '/']);
    let role = bare.chars().next().and_then(Role::from_char)?;
    let officer = !matches!(role, Role::Pawn | Role::King);
    let after = &bare[1..];
    officer.then(|| (role, after.strip_prefix(')').unwrap_or(after)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use shakmaty::{CastlingMode, fen::Fen, san::San};

    fn meant(fen: &str, word: &str) -> Option<String> {
        let position: Chess =
            fen.parse::<Fen>().unwrap().into_position(CastlingMode::Standard).unwrap();
        let (spelling, _) = spelled(word)?;
        find(spelling, &position).map(|m| San::from_move(&position, m).to_string())
    }

    #[test]
    fn one_move_has_many_spellings() {
        let middle = "r3k2r/P3p3/8/3pP3/4P3/2N2N2/8/R3K2R w KQkq d6 0 1";
        for (words, san) in [
            ("exd5 e:d5x exd5ch e4d5 e4xd5 e4-d5 Pexd5 Pe4xd5", "exd5"),
            ("exd6 exd6e.p. exd6ep e5d6", "exd6"),
            ("axb8", ""),
            ("O-O 0-0 o-o OO O-O+ e1g1 Kg1 Ke1-g1 e1h1", "O-O"),
            ("O-O-O 0-0-0 o-o-o OOO e1c1 Kc1", "O-O-O"),
            ("Nd4 Nfd4 Nf3d4 Nf3-d4 f3d4 N3d4", "Nd4"),
            ("Nxd5 Nc3xd5 N:d5 Ncd5", "Nxd5"),
        ] {
            for word in words.split(' ') {
                let word = word.replace(':', "x");
                assert_eq!(meant(middle, &word).unwrap_or_default(), san, "{word}");
            }
        }
        let promotes = "8/P3k3/8/8/8/8/8/4K3 w - - 0 1";
        for word in ["a8=Q", "a8Q", "a8(Q)", "a8/Q", "a7a8q", "a7-a8=Q", "a8=(Q)"] {
            assert_eq!(meant(promotes, word).unwrap_or_default(), "a8=Q", "{word}");
        }
        assert_eq!(meant(promotes, "a7a8b").unwrap(), "a8=B");
        for word in ["a8", "a8=K", "Ke3", "e9", "Kz4", "ed", "Qa8", ""] {
            assert_eq!(meant(promotes, word), None, "{word}");
        }
        assert_eq!(spelled("--"), Some((Spelling::Null, "")));
    }

    #[test]
    fn two_moves_of_one_spelling_are_none() {
        assert_eq!(meant("4k3/8/8/8/8/8/8/RN2KN1R w - - 0 1", "Nd2"), None);
        assert_eq!(meant("4k3/8/8/8/8/8/8/RN2KN1R w - - 0 1", "Nbd2").unwrap(), "Nbd2");
    }
}
