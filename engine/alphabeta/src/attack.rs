//! Checking squares, and squares attacked by pieces of lower value.

use super::scale::piece_value;
use shakmaty::attacks::{
    aligned, between, bishop_attacks, knight_attacks, pawn_attacks, rook_attacks,
};
use shakmaty::{Bitboard, Board, Chess, Color, Move, Position, Role, Square};

/// Squares from which the mover's pieces check the enemy king.
pub(super) struct Checks {
    king: Option<Square>,
    by_role: [Bitboard; 6],
    /// Own pieces whose move discovers a check.
    blockers: Bitboard,
}

impl Checks {
    pub fn new(position: &Chess) -> Checks {
        let (board, turn) = (position.board(), position.turn());
        let Some(king) = board.king_of(!turn) else {
            return Checks { king: None, by_role: [Bitboard::EMPTY; 6], blockers: Bitboard::EMPTY };
        };
        let (occupied, us) = (board.occupied(), position.us());
        let (diagonal, straight) = (bishop_attacks(king, occupied), rook_attacks(king, occupied));
        let blockers = blockers(board, king, us) & us;
        let by_role = [
            pawn_attacks(!turn, king),
            knight_attacks(king),
            diagonal,
            straight,
            diagonal | straight,
            Bitboard::EMPTY,
        ];
        Checks { king: Some(king), by_role, blockers }
    }

    /// Whether the moved piece itself gives check; false for castling and promotions.
    pub fn is_direct_check(&self, m: Move) -> bool {
        m.promotion().is_none()
            && self.by_role[m.role() as usize - 1].contains(m.to())
            && !m.is_castle()
    }

    /// Whether a legal move gives check.
    pub fn gives_check(&self, position: &Chess, m: Move) -> bool {
        let (Some(king), Move::Normal { from, to, promotion, .. }) = (self.king, m) else {
            let mut next = position.clone();
            next.play_unchecked(m);
            return next.is_check();
        };
        if self.blockers.contains(from) && !aligned(from, to, king) {
            return true;
        }
        let Some(promotion) = promotion else { return self.is_direct_check(m) };
        let occupied = position.board().occupied().without(from);
        let reached = match promotion {
            Role::Knight => knight_attacks(to),
            Role::Bishop => bishop_attacks(to, occupied),
            Role::Rook => rook_attacks(to, occupied),
            _ => bishop_attacks(to, occupied) | rook_attacks(to, occupied),
        };
        reached.contains(king)
    }
}

/// Pieces that are the only blocker between `king` and a slider among `sliders`.
pub(super) fn blockers(board: &Board, king: Square, sliders: Bitboard) -> Bitboard {
    let snipers = (bishop_attacks(king, Bitboard::EMPTY) & (board.bishops() | board.queens())
        | rook_attacks(king, Bitboard::EMPTY) & (board.rooks() | board.queens()))
        & sliders;
    let between = snipers.into_iter().map(|sniper| between(sniper, king) & board.occupied());
    between.filter(|pieces| !pieces.more_than_one()).fold(Bitboard::EMPTY, |all, one| all | one)
}

/// Squares attacked by the opponent's pawns; by pawns and minor pieces; by these and rooks.
pub(super) struct Threats([Bitboard; 3]);

impl Threats {
    pub const NONE: Threats = Threats([Bitboard::EMPTY; 3]);

    pub fn new(position: &Chess) -> Threats {
        let (board, them) = (position.board(), position.them());
        let occupied = board.occupied();
        let union = |pieces: Bitboard, attacks: &dyn Fn(Square) -> Bitboard| {
            pieces.into_iter().fold(Bitboard::EMPTY, |all, square| all | attacks(square))
        };
        let pawns = pawn_threats(board.pawns() & them, !position.turn());
        let minors = pawns
            | union(board.knights() & them, &knight_attacks)
            | union(board.bishops() & them, &|square| bishop_attacks(square, occupied));
        let rooks = minors | union(board.rooks() & them, &|square| rook_attacks(square, occupied));
        Threats([pawns, minors, rooks])
    }

    /// Ordering bonus for leaving a square attacked by a piece of lower value; a malus for entering one.
    pub fn escape_bonus(&self, m: Move) -> i32 {
        let Some(from) = m.from() else { return 0 };
        let by = match m.role() {
            Role::Queen => self.0[2],
            Role::Rook => self.0[1],
            Role::Knight | Role::Bishop => self.0[0],
            Role::Pawn | Role::King => return 0,
        };
        let attacked = |square| i32::from(by.contains(square));
        20 * piece_value(m.role()) * (attacked(from) - attacked(m.to()))
    }
}

fn pawn_threats(pawns: Bitboard, color: Color) -> Bitboard {
    pawns.into_iter().fold(Bitboard::EMPTY, |all, square| all | pawn_attacks(color, square))
}

#[cfg(test)]
mod tests {
    use super::*;
    use chess::game::Game;

    #[test]
    fn every_check_is_seen_before_the_move() {
        let mut random = nn::rng::Rng::new(11);
        let (mut given, mut direct) = (0, 0);
        for round in 0..300 {
            // Promotions and discovered checks are rare in games that begin with all pieces.
            let fen = match round % 3 {
                0 => "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1",
                1 => "4k2r/1P4P1/8/2b5/5n2/8/1p1R2p1/R3K2B w Qk - 0 1",
                _ => "3rk3/8/8/K1pP3r/8/8/4N3/4R3 w - c6 0 1",
            };
            let mut game = Game::from_fen(fen, false).unwrap();
            for _ in 0..40 {
                let position = game.position();
                let checks = Checks::new(position);
                let legal = position.legal_moves();
                for m in &legal {
                    let mut next = position.clone();
                    next.play_unchecked(*m);
                    assert_eq!(
                        checks.gives_check(position, *m),
                        next.is_check(),
                        "{m} in {}",
                        game.fen()
                    );
                    assert!(
                        next.is_check() || !checks.is_direct_check(*m),
                        "{m} in {}",
                        game.fen()
                    );
                    given += i32::from(next.is_check());
                    direct += i32::from(checks.is_direct_check(*m));
                }
                if game.ending().is_some() {
                    break;
                }
                let moves = game.legal_actions();
                game.play(moves[random.below(moves.len())]).unwrap();
            }
        }
        assert!(given > direct && direct > 1_000, "{given} {direct}");
    }

    #[test]
    fn leaving_an_attack_by_a_cheaper_piece_is_rewarded() {
        let bonus = |fen: &str, name: &str| {
            let game = Game::from_fen(fen, false).unwrap();
            let action = game.legal_actions().into_iter().find(|action| game.uci(*action) == name);
            let m = action.unwrap().to_move(game.position()).unwrap();
            Threats::new(game.position()).escape_bonus(m)
        };
        // A pawn attacks the knight on d4, a knight the rook on a1; a queen attacks the queen.
        let fen = "4k3/8/8/4p3/3N4/1n6/7q/R3K2Q w - - 0 1";
        assert_eq!(bonus(fen, "d4c2"), 20 * 781);
        assert_eq!(bonus(fen, "a1a7"), 20 * 1_276);
        assert_eq!(bonus(fen, "a1c1"), 0, "the knight attacks there, too");
        assert_eq!(bonus(fen, "h1g1"), 0, "neither here nor there");
        assert_eq!(bonus(fen, "h1d5"), 0, "no lesser piece");
        assert_eq!(bonus(fen, "h1h2"), 0, "taken or not");
        assert_eq!(bonus("4k3/8/8/4p3/8/2N5/7q/R3K2Q w - - 0 1", "c3d5"), 0, "beside a pawn");
        let into = bonus("4k3/8/8/4p3/8/5N2/7q/R3K2Q w - - 0 1", "f3d4");
        assert_eq!(into, -20 * 781, "into a pawn's attack");
    }
}
