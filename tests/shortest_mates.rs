//! Plies to mate of one or two pieces, no pawns, against the king alone, by retrograde analysis. White wins.

use shakmaty::{Bitboard, Board, Chess, Color, Position, Role, Square, attacks};

/// The shortest mates of one set of pieces.
pub struct ShortestMates {
    pieces: Vec<Role>,
    /// By index: plies to mate with White to move.
    won: Vec<u8>,
    /// The same with Black to move.
    lost: Vec<u8>,
    /// Without the first piece, and without the second.
    fewer: Vec<ShortestMates>,
}

#[derive(Clone, Copy)]
struct Men {
    white: Square,
    black: Square,
    pieces: [Square; 2],
}

/// No mate found.
const OPEN: u8 = 255;

impl ShortestMates {
    /// Solves all positions with these pieces.
    pub fn new(pieces: &[Role]) -> ShortestMates {
        let fewer = match pieces {
            [first, second] => vec![ShortestMates::new(&[*second]), ShortestMates::new(&[*first])],
            _ => Vec::new(),
        };
        let size = 16 << (6 * (1 + pieces.len()));
        let mut mates = ShortestMates {
            pieces: pieces.to_vec(),
            won: vec![OPEN; size],
            lost: vec![OPEN; size],
            fewer,
        };
        mates.solve();
        mates
    }

    /// White's king is brought to the corner a1-d4.
    fn index(&self, men: &Men) -> usize {
        let flip = |square: Square| {
            let square = if men.white.file() > shakmaty::File::D {
                square.flip_horizontal()
            } else {
                square
            };
            if men.white.rank() > shakmaty::Rank::Fourth { square.flip_vertical() } else { square }
        };
        let white = flip(men.white);
        let corner = 4 * white.rank() as usize + white.file() as usize;
        let rest = [men.black].into_iter().chain(men.pieces[..self.pieces.len()].iter().copied());
        rest.fold(corner, |index, square| index << 6 | flip(square) as usize)
    }

    fn men(&self, mut index: usize) -> Men {
        let mut men = Men { white: Square::A1, black: Square::A1, pieces: [Square::A1; 2] };
        let mut next = || {
            let square = Square::new((index & 63) as u32);
            index >>= 6;
            square
        };
        for piece in (0..self.pieces.len()).rev() {
            men.pieces[piece] = next();
        }
        men.black = next();
        men.white = Square::new((8 * (index >> 2) + (index & 3)) as u32);
        men
    }

    fn occupied(&self, men: &Men) -> Bitboard {
        let mut all = Bitboard::from(men.white).with(men.black);
        for square in &men.pieces[..self.pieces.len()] {
            all.add(*square);
        }
        all
    }

    fn is_position(&self, men: &Men) -> bool {
        self.occupied(men).count() == 2 + self.pieces.len()
            && !attacks::king_attacks(men.white).contains(men.black)
    }

    /// A square attacked by White's pieces, the one on the square itself left out.
    fn attacked(&self, men: &Men, square: Square, occupied: Bitboard) -> bool {
        self.pieces.iter().zip(&men.pieces).any(|(role, from)| {
            *from != square
                && attacks::attacks(*from, role.of(Color::White), occupied).contains(square)
        })
    }

    /// Plies to mate with Black to move, if White's wins found so far make it one; None if they do not.
    fn lost_in(&self, men: &Men) -> Option<u8> {
        let occupied = self.occupied(men);
        let mut most = None;
        for to in attacks::king_attacks(men.black)
            & !attacks::king_attacks(men.white)
            & !Bitboard::from(men.white)
        {
            if self.attacked(men, to, occupied.without(men.black)) {
                continue;
            }
            let taken = men.pieces[..self.pieces.len()].iter().position(|piece| *piece == to);
            let won = match taken {
                Some(_) if self.pieces.len() == 1 => OPEN,
                Some(taken) => {
                    let fewer = &self.fewer[taken];
                    let left = Men { black: to, pieces: [men.pieces[1 - taken]; 2], ..*men };
                    fewer.won[fewer.index(&left)]
                }
                None => self.won[self.index(&Men { black: to, ..*men })],
            };
            if won == OPEN {
                return None;
            }
            most = most.max(Some(won));
        }
        match most {
            Some(most) => Some(most + 1),
            None => self.attacked(men, men.black, occupied).then_some(0),
        }
    }

    fn solve(&mut self) {
        let mut buckets: Vec<Vec<usize>> = vec![Vec::new(); 256];
        for index in 0..self.lost.len() {
            let men = self.men(index);
            if self.is_position(&men) && self.lost_in(&men) == Some(0) {
                buckets[0].push(index);
            }
        }
        for plies in (0..250).step_by(2) {
            let mut fresh = Vec::new();
            for index in std::mem::take(&mut buckets[plies]) {
                if self.lost[index] != OPEN {
                    continue;
                }
                self.lost[index] = plies as u8;
                let men = self.men(index);
                let occupied = self.occupied(&men);
                for piece in 0..=self.pieces.len() {
                    let reach = match piece.checked_sub(1) {
                        None => attacks::king_attacks(men.white),
                        Some(at) => attacks::attacks(
                            men.pieces[at],
                            self.pieces[at].of(Color::White),
                            occupied,
                        ),
                    };
                    for to in reach & !occupied {
                        let mut before = men;
                        match piece.checked_sub(1) {
                            None => before.white = to,
                            Some(at) => before.pieces[at] = to,
                        }
                        if !self.is_position(&before)
                            || self.attacked(&before, before.black, self.occupied(&before))
                        {
                            continue;
                        }
                        let at = self.index(&before);
                        if self.won[at] == OPEN {
                            self.won[at] = plies as u8 + 1;
                            fresh.push(at);
                        }
                    }
                }
            }
            for index in fresh {
                let men = self.men(index);
                for to in attacks::king_attacks(men.black) & !self.occupied(&men) {
                    let before = Men { black: to, ..men };
                    if !self.is_position(&before) {
                        continue;
                    }
                    let at = self.index(&before);
                    if self.lost[at] != OPEN {
                        continue;
                    }
                    if let Some(lost) = self.lost_in(&before) {
                        buckets[usize::from(lost).max(plies + 2)].push(at);
                    }
                }
            }
        }
    }

    /// Plies to mate of a position with White's pieces of these roles, in any order.
    pub fn plies(&self, position: &Chess) -> Option<u32> {
        let board: &Board = position.board();
        let mut pieces = [Square::A1; 2];
        let mut used = Bitboard::EMPTY;
        for (at, role) in self.pieces.iter().enumerate() {
            let square = (board.by_piece(role.of(Color::White)) & !used).first()?;
            used.add(square);
            pieces[at] = square;
        }
        let men = Men {
            white: board.king_of(Color::White)?,
            black: board.king_of(Color::Black)?,
            pieces,
        };
        if board.occupied() != self.occupied(&men) {
            return None;
        }
        let plies = match position.turn() {
            Color::White => self.won[self.index(&men)],
            Color::Black => self.lost[self.index(&men)],
        };
        (plies != OPEN).then_some(u32::from(plies))
    }
}
