//! Board diagrams as SVG. Pieces are drawn as shapes, defined once per page, so that diagrams do not depend on fonts.

use chess::action::Action;
use shakmaty::{Chess, Color, File, Position, Role, Square};
use std::fmt::Write as _;

/// Side of a square in SVG units.
const SIDE: u32 = 45;

/// Style sheet of diagrams.
pub const BOARD_STYLE: &str = include_str!("board.css");

/// Definitions of the pieces and of the empty board: once per page before any diagram. Fill and stroke of a piece come from its
/// users.
#[must_use]
pub fn pieces() -> String {
    let shapes = [
        (
            Role::Pawn,
            "<circle cx='22.5' cy='14' r='5.5'/>\
             <path d='M18.5 19.5h8c0 6 2.5 9 6 13v5.500h-20V32.500c3.500-4 6-7 6-13z'/>",
        ),
        (
            Role::Knight,
            "<path d='M13 38h20.500c1-11 .5-20.500-7.500-25.500L25 8l-4 4c-5 1.500-8 6.500-12 13l2.500 4.500 4.500-2 \
             6-2c-1.500 4.500-7.500 5.500-9 12.500z'/><circle cx='20' cy='18' r='.9'/>",
        ),
        (
            Role::Bishop,
            "<path d='M11 38v-3.500c4.500-.5 6-1.500 6.500-3.500h10c.5 2 2 3 6.500 3.500V38z'/>\
             <path d='M22.5 11c6 4 8.500 8.500 8.500 13 0 3-1.500 5.500-3.500 7h-10c-2-1.500-3.500-4-3.500-7 \
             0-4.500 2.500-9 8.500-13z'/><circle cx='22.5' cy='8.500' r='2.5'/><path d='M22.500 17v8M18.500 21h8'/>",
        ),
        (
            Role::Rook,
            "<path d='M12 9h5v4h3.500V9h4v4H28V9h5v9l-3.500 3v11l3.500 2.500V38H12v-3.500l3.500-2.500V21L12 18z'/>\
             <path d='M15.500 21h14M15.500 32h14'/>",
        ),
        (
            Role::Queen,
            "<path d='M9.500 14l6 9 1-13.500 6 12.500 6-12.500 1 13.500 6-9-3 18h-20z'/><path d='M12.500 32h20l1 6h-22z'/>\
             <circle cx='9.500' cy='12.500' r='2'/><circle cx='16.500' cy='8.500' r='2'/>\
             <circle cx='28.500' cy='8.500' r='2'/><circle cx='35.500' cy='12.500' r='2'/>",
        ),
        (
            Role::King,
            "<path d='M22.500 5.500v9M18.500 9h8'/>\
             <path d='M22.500 14c-4 0-5 4-4 6.500-4-4-10.500-2.500-10.500 3 0 4.500 4.500 6 5.500 9.500h18c1-3.500 5.500-5 \
             5.500-9.500 0-5.500-6.500-7-10.500-3 1-2.500 0-6.500-4-6.500z'/><path d='M13.500 33h18v5h-18zM22.500 21v12'/>",
        ),
    ];
    let mut out = "<svg class='pieces' aria-hidden='true'><defs>".to_owned();
    for (role, shape) in shapes {
        let _ = write!(out, "<g id='{}'>{shape}</g>", role.char());
    }
    out + &empty_board() + "</defs></svg>\n"
}

/// `squares` without and `grid` with the names of files and ranks.
fn empty_board() -> String {
    let board = 8 * SIDE;
    let mut out = format!(
        "<g id='squares'><rect width='{board}' height='{board}' class='light'/><path class='dark' d='"
    );
    for square in Square::ALL.into_iter().filter(|square| square.is_dark()) {
        let (x, y) = corner(square);
        let _ = write!(out, "M{x} {y}h{SIDE}v{SIDE}h-{SIDE}z");
    }
    out += "'/></g><g id='grid'><use href='#squares'/>";
    for index in 0..8 {
        let (file, rank) = (char::from(b'a' + index), 8 - index);
        let x = u32::from(index) * SIDE;
        let _ = write!(
            out,
            "<text x='{}' y='{}'>{file}</text><text x='2' y='{}'>{rank}</text>",
            x + SIDE - 8,
            board - 3,
            x + 11
        );
    }
    out + "</g>"
}

/// Style of the texts and arrows of pictures.
const PICTURE_STYLE: &str = "text { font: 13px system-ui, sans-serif; fill: #22211f; }
.title { font-size: 18px; font-weight: 600; } .head { font-weight: 600; } .soft, .soft tspan { fill: #6b6862; font-size: 12px; }
.arrow.liked path { stroke: #4a74ad; } .arrow.liked .head { fill: #4a74ad; stroke: none; }
.arrow.best path { stroke: #bf7a1c; } .arrow.best .head { fill: #bf7a1c; stroke: none; }
";

/// A self-contained SVG with diagrams: `body` on a light ground. `style` is added to the style of boards and texts.
#[must_use]
pub fn picture(width: u32, height: u32, style: &str, body: &str) -> String {
    format!(
        "<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 {width} {height}' width='{width}' \
         height='{height}'>\n<style>\n{BOARD_STYLE}{PICTURE_STYLE}{style}</style>\n{}\
         <rect width='{width}' height='{height}' fill='#fbfaf7'/>\n{body}</svg>\n",
        pieces()
    )
}

/// An arrow between squares.
#[derive(Clone, Copy, Debug)]
pub struct Arrow {
    /// Origin.
    pub from: Square,
    /// Target.
    pub to: Square,
    /// CSS class.
    pub class: &'static str,
}

impl Arrow {
    /// The way of the piece that moves. A castling king goes to its own square, and to the rook where it stands there already.
    #[must_use]
    pub fn of(position: &Chess, action: Action, class: &'static str) -> Arrow {
        let (from, target) = (action.origin(), action.target());
        let board = position.board();
        let castles = board.role_at(from) == Some(Role::King)
            && board.color_at(target) == Some(position.turn());
        let beside = if target > from { File::G } else { File::C };
        let king = Square::from_coords(beside, from.rank());
        let to = if castles && king != from { king } else { target };
        Arrow { from, to, class }
    }
}

/// A diagram from White's side. `words` is the text alternative.
#[must_use]
pub fn diagram(position: &Chess, arrows: &[Arrow], words: &str) -> String {
    let board = 8 * SIDE;
    let mut out = format!(
        "<svg class='board' viewBox='0 0 {board} {board}' role='img' aria-label='{words}'><use href='#grid'/>"
    );
    for (square, piece) in position.board() {
        let (x, y) = corner(square);
        let class = piece.color.fold_wb("w", "b");
        let _ = write!(out, "<use href='#{}' class='{class}' x='{x}' y='{y}'/>", piece.role.char());
    }
    arrows.iter().for_each(|arrow| draw(&mut out, *arrow));
    out + "</svg>"
}

/// Frames around squares, as an overlay of a diagram of the same size.
#[must_use]
pub fn frames(squares: &[Square]) -> String {
    let board = 8 * SIDE;
    let mut out = format!("<svg viewBox='0 0 {board} {board}'><path class='frame' d='");
    for square in squares {
        let (x, y) = corner(*square);
        let _ = write!(out, "M{} {}h{w}v{w}h-{w}z", x + 2, y + 2, w = SIDE - 4);
    }
    out + "'/></svg>"
}

fn corner(square: Square) -> (u32, u32) {
    let rank = square.rank().to_u32();
    (square.file().to_u32() * SIDE, (7 - rank) * SIDE)
}

/// A shaft and a head that ends at the centre of the square.
fn draw(out: &mut String, arrow: Arrow) {
    let middle = |square: Square| {
        let (x, y) = corner(square);
        (f64::from(x) + 22.5, f64::from(y) + 22.5)
    };
    let ((x0, y0), (x1, y1)) = (middle(arrow.from), middle(arrow.to));
    let length = (x1 - x0).hypot(y1 - y0).max(1.0);
    let (along, across) = ((x1 - x0) / length, (y1 - y0) / length);
    let at = |forward: f64, aside: f64| {
        (x1 + along * forward - across * aside, y1 + across * forward + along * aside)
    };
    let (neck, left, right) = (at(-15.0, 0.0), at(-17.0, 9.0), at(-17.0, -9.0));
    let _ = write!(
        out,
        "<g class='arrow {}'><path d='M{x0:.1} {y0:.1}L{:.1} {:.1}'/>\
         <path class='head' d='M{x1:.1} {y1:.1}L{:.1} {:.1}L{:.1} {:.1}z'/></g>",
        arrow.class, neck.0, neck.1, left.0, left.1, right.0, right.1
    );
}

/// The side to move as a word.
#[must_use]
pub fn side(color: Color) -> &'static str {
    color.fold_wb("White", "Black")
}

#[cfg(test)]
mod tests {
    use super::*;
    use shakmaty::CastlingMode;
    use shakmaty::fen::Fen;

    #[test]
    fn a_diagram_has_every_piece_on_its_square() {
        let arrow = Arrow { from: Square::E2, to: Square::E4, class: "played" };
        let svg = diagram(&Chess::default(), &[arrow], "the beginning");
        assert_eq!(svg.matches("<use ").count(), 1 + 32, "the squares and the pieces");
        assert!(svg.contains("<use href='#k' class='w' x='180' y='315'"));
        assert!(svg.contains("<use href='#q' class='b' x='135' y='0'"));
        assert!(svg.contains("class='arrow played'"));
        let defined = pieces();
        assert_eq!(defined.matches("<g id=").count(), 6 + 2);
        assert_eq!(defined.matches("M0 315h45").count(), 1, "a1 is dark");
        assert!(frames(&[Square::H1]).contains("M317 317h41v41h-41z"));
    }

    #[test]
    fn a_castling_king_points_to_its_own_square() {
        let way = |fen: &str, from: Square, rook: Square| {
            let fen: Fen = fen.parse().unwrap();
            let position: Chess = fen.into_position(CastlingMode::Chess960).unwrap();
            let actions = position.legal_moves();
            let mut actions = actions.iter().map(|legal| Action::new(*legal));
            let action = actions.find(|action| (action.origin(), action.target()) == (from, rook));
            let Arrow { from, to, .. } = Arrow::of(&position, action.unwrap(), "best");
            (from, to)
        };
        let usual = "r3k2r/8/8/8/8/8/8/R3K2R b KQkq - 0 1";
        assert_eq!(way(usual, Square::E8, Square::H8), (Square::E8, Square::G8));
        assert_eq!(way(usual, Square::E8, Square::A8), (Square::E8, Square::C8));
        assert_eq!(way(usual, Square::E8, Square::D7), (Square::E8, Square::D7));
        // The king stands there already.
        let there = "6kr/8/8/8/8/8/8/6KR w Hh - 0 1";
        assert_eq!(way(there, Square::G1, Square::H1), (Square::G1, Square::H1));
    }
}
