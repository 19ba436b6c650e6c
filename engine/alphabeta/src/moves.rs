//! Staged generation of legal moves: captures and queen promotions first, quiet moves only if needed.

use super::attack::blockers;
use shakmaty::attacks::{
    bishop_attacks, king_attacks, knight_attacks, pawn_attacks, queen_attacks, ray, rook_attacks,
};
use shakmaty::{Bitboard, CastlingSide, Chess, Move, MoveList, Position, Rank, Role, Square};

/// Capture or promotion to a queen.
pub(super) fn is_noisy(m: Move) -> bool {
    m.promotion().map_or(m.is_capture(), |role| role == Role::Queen)
}

/// Adds the moves of the first stage: in `check` all evasions, else captures and promotions to queens.
pub(super) fn add_first(position: &Chess, check: bool, moves: &mut MoveList) {
    if check {
        moves.extend(position.legal_moves());
    } else {
        add_noisy(position, moves);
    }
}

/// Adds captures and promotions to queens. The mover is not in check.
pub(super) fn add_noisy(position: &Chess, moves: &mut MoveList) {
    let Some(pins) = Pins::new(position) else { return };
    let (board, turn, them) = (position.board(), position.turn(), position.them());
    for from in position.our(Role::Pawn) {
        for to in pawn_attacks(turn, from) & them & pins.of(from) {
            let promotion = is_last(to).then_some(Role::Queen);
            let capture = board.role_at(to);
            moves.push(Move::Normal { role: Role::Pawn, from, capture, to, promotion });
        }
    }
    for (from, to) in pushes(position, &pins).filter(|(_, to)| is_last(*to)) {
        moves.push(push(from, to, Some(Role::Queen)));
    }
    add_pieces(position, &pins, them, moves);
    if position.maybe_ep_square().is_some() {
        moves.extend(position.en_passant_moves());
    }
}

/// Adds all other moves. The mover is not in check.
pub(super) fn add_quiet(position: &Chess, moves: &mut MoveList) {
    const LESSER: [Role; 3] = [Role::Rook, Role::Bishop, Role::Knight];
    let Some(pins) = Pins::new(position) else { return };
    let (board, turn, occupied) = (position.board(), position.turn(), position.board().occupied());
    for from in position.our(Role::Pawn) & turn.relative_rank(Rank::Seventh) {
        for to in pawn_attacks(turn, from) & position.them() & pins.of(from) {
            let capture = board.role_at(to);
            moves.extend(LESSER.map(|promotion| {
                let promotion = Some(promotion);
                Move::Normal { role: Role::Pawn, from, capture, to, promotion }
            }));
        }
    }
    let home = turn.relative_rank(Rank::Third);
    for (from, to) in pushes(position, &pins) {
        if is_last(to) {
            moves.extend(LESSER.map(|promotion| push(from, to, Some(promotion))));
            continue;
        }
        moves.push(push(from, to, None));
        let twice = Square::from_coords(to.file(), turn.relative_rank(Rank::Fourth));
        if to.rank() == home && !occupied.contains(twice) {
            moves.push(push(from, twice, None));
        }
    }
    add_pieces(position, &pins, !occupied, moves);
    for side in CastlingSide::ALL {
        if position.castles().has(turn, side) {
            moves.extend(position.castling_moves(side));
        }
    }
}

fn is_last(to: Square) -> bool {
    Bitboard::BACKRANKS.contains(to)
}

fn push(from: Square, to: Square, promotion: Option<Role>) -> Move {
    Move::Normal { role: Role::Pawn, from, capture: None, to, promotion }
}

/// Single pawn pushes as origin and target.
fn pushes<'a>(
    position: &Chess,
    pins: &'a Pins,
) -> impl Iterator<Item = (Square, Square)> + use<'a> {
    let (turn, pawns) = (position.turn(), position.our(Role::Pawn));
    let (futility_margin, back) = turn.fold_wb((pawns.0 << 8, -8), (pawns.0 >> 8, 8));
    let free = Bitboard(futility_margin) & !position.board().occupied();
    let step = move |to: Square| Some((to.offset(back)?, to));
    free.into_iter().filter_map(step).filter(|(from, to)| pins.of(*from).contains(*to))
}

/// Adds the moves of all pieces but pawns to `targets`.
fn add_pieces(position: &Chess, pins: &Pins, targets: Bitboard, moves: &mut MoveList) {
    let (board, occupied) = (position.board(), position.board().occupied());
    let mut add = |role, from, squares: Bitboard| {
        for to in squares {
            let capture = if occupied.contains(to) { board.role_at(to) } else { None };
            moves.push(Move::Normal { role, from, capture, to, promotion: None });
        }
    };
    // Pinned knights cannot move.
    for from in position.our(Role::Knight) & !pins.pinned {
        add(Role::Knight, from, knight_attacks(from) & targets);
    }
    for from in position.our(Role::Bishop) {
        add(Role::Bishop, from, bishop_attacks(from, occupied) & targets & pins.of(from));
    }
    for from in position.our(Role::Rook) {
        add(Role::Rook, from, rook_attacks(from, occupied) & targets & pins.of(from));
    }
    for from in position.our(Role::Queen) {
        add(Role::Queen, from, queen_attacks(from, occupied) & targets & pins.of(from));
    }
    let safe = |to: &Square| board.attacks_to(*to, !position.turn(), occupied).is_empty();
    let squares = (king_attacks(pins.king) & targets).into_iter().filter(safe).collect();
    add(Role::King, pins.king, squares);
}

/// Own pieces pinned to the king.
struct Pins {
    king: Square,
    pinned: Bitboard,
}

impl Pins {
    /// None without a king.
    fn new(position: &Chess) -> Option<Pins> {
        let board = position.board();
        let king = board.king_of(position.turn())?;
        let pinned = blockers(board, king, position.them()) & position.us();
        Some(Pins { king, pinned })
    }

    /// Squares that a piece may move to without exposing its king.
    #[inline]
    fn of(&self, from: Square) -> Bitboard {
        if self.pinned.contains(from) { ray(self.king, from) } else { Bitboard::FULL }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use chess::game::Game;
    use shakmaty::CastlingMode;

    #[test]
    fn both_stages_are_all_legal_moves() {
        let mut random = nn::rng::Rng::new(5);
        let mut counts = [0; 4];
        for round in 0..400 {
            // Pins, promotions, castling and en passant are rare in games from the initial position.
            let (fen, chess960) = match round % 5 {
                0 => ("rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1", false),
                1 => ("r1n1k2r/1P4P1/8/2b5/5n2/8/1p1R2p1/R3K2B w Qk - 0 1", false),
                2 => ("3rk3/8/8/K1pP3r/8/8/4N3/4R3 w - c6 0 1", false),
                3 => ("r3k2r/8/1q3b2/8/8/2N1B3/3P1P2/R3K2R w KQkq - 0 1", false),
                _ => ("nrk1bbrq/pppppppp/8/8/8/8/PPPPPPPP/NRK1BBRQ w GBgb - 0 1", true),
            };
            let mut game = Game::from_fen(fen, chess960).unwrap();
            for _ in 0..60 {
                let position = game.position();
                if !position.is_check() {
                    let mut moves = MoveList::new();
                    add_noisy(position, &mut moves);
                    let noisy = moves.len();
                    add_quiet(position, &mut moves);
                    assert!(moves[..noisy].iter().all(|m| is_noisy(*m)));
                    assert!(moves[noisy..].iter().all(|m| !is_noisy(*m)));
                    let name = |m: &Move| m.to_uci(CastlingMode::Chess960).to_string();
                    let mut found: Vec<String> = moves.iter().map(name).collect();
                    let mut legal: Vec<String> = position.legal_moves().iter().map(name).collect();
                    found.sort();
                    legal.sort();
                    assert_eq!(found, legal, "{}", game.fen());
                    assert!(moves.iter().all(|m| position.is_legal(*m)));
                    let pinned = Pins::new(position).unwrap().pinned;
                    counts[0] += pinned.count();
                    counts[1] += moves.iter().filter(|m| m.is_en_passant()).count();
                    counts[2] += moves.iter().filter(|m| m.is_castle()).count();
                    counts[3] += moves.iter().filter(|m| m.is_promotion()).count();
                }
                if game.ending().is_some() {
                    break;
                }
                let moves = game.legal_actions();
                game.play(moves[random.below(moves.len())]).unwrap();
            }
        }
        assert!(counts.iter().all(|count| *count > 50), "{counts:?}");
    }
}
