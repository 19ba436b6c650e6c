//! One annotated game from the view of one player.

use super::kinds::{self, ErrorKind, ErrorView};
use crate::analyse::accuracy::{self, MoveLoss};
use crate::analyse::clocks;
use crate::analyse::judge::Glyph;
use crate::analyse::openings;
use crate::analyse::phases::phases;
use crate::pgn::{PgnGame, PgnMove, Positions};
use crate::play::report::expected;
use chess::ending;
use shakmaty::san::San;
use shakmaty::{Chess, Color, Move, Position};
use uci::Score;

/// Score before the first move that lichess assumes, in centipawns; the file has none.
const INITIAL: Score = Score::Centipawns(15);

/// One game of a player.
#[derive(Clone, Debug)]
pub struct PlayedGame {
    /// Its number on the page.
    pub number: usize,
    /// The player's name as the file spells it.
    pub player: String,
    /// The player's side.
    pub color: Color,
    /// The other player.
    pub opponent: String,
    /// The tag Date, or nothing.
    pub date: String,
    /// 1, ½ or 0; None for an unfinished game.
    pub score: Option<f32>,
    /// ECO code and name of the opening, or nothing.
    pub eco: String,
    /// See there.
    pub opening: String,
    /// Accuracy in percent; None without a judged move.
    pub accuracy: Option<f64>,
    /// Average centipawn loss.
    pub loss: Option<f64>,
    /// Number of `?!`, `?` and `??`.
    pub counts: [usize; 3],
    /// The player's judged moves; a summary of many games drops them.
    pub moves: Vec<PlayedMove>,
}

/// One move of the player.
#[derive(Clone, Debug)]
pub struct PlayedMove {
    /// Accuracy in percent.
    pub accuracy: f64,
    /// Opening, middlegame, endgame: 0 to 2.
    pub phase: usize,
    /// Seconds left when it began.
    pub left: Option<f64>,
    /// Its glyph for an error.
    pub glyph: Option<Glyph>,
    /// Kinds of a `?` or `??`.
    pub kinds: Vec<ErrorKind>,
}

impl PlayedGame {
    /// The game if `name` played it, by either tag without regard to case. One who played both sides has White's.
    #[must_use]
    pub fn of(game: &PgnGame, name: &str) -> Option<PlayedGame> {
        let is_player = |tag: &str| is_named(game.tag(tag), name);
        let color = [(Color::White, "White"), (Color::Black, "Black")];
        let color = color.into_iter().find(|(_, tag)| is_player(tag)).map(|(color, _)| color)?;
        let tag = |name: &str| {
            let value = game.tag(name).map(str::trim).filter(|value| !["?", "-"].contains(value));
            value.unwrap_or_default().to_owned()
        };
        let positions = Positions::of(game);
        let known = openings::of(&positions);
        let [eco, opening] = ["ECO", "Opening"].map(tag);
        let or = |given: String, known: Option<&str>| {
            if given.is_empty() { known.unwrap_or_default().to_owned() } else { given }
        };
        let scores = scores(game, &positions);
        let wins: Vec<f32> = scores.iter().copied().map(expected).collect();
        let mover = |ply: usize| positions.board(ply).turn();
        let lost = |ply: usize| mover(ply).fold_wb(1.0, -1.0) * (wins[ply] - wins[ply + 1]);
        let plies = 0..scores.len() - 1;
        let losses: Vec<MoveLoss> =
            plies.clone().map(|ply| MoveLoss { color: mover(ply), loss: lost(ply) }).collect();
        let pairs: Vec<(Color, [Score; 2])> =
            plies.clone().map(|ply| (mover(ply), [scores[ply], scores[ply + 1]])).collect();
        let judged = Judged { game, positions: &positions, scores: &scores, wins: &wins };
        let clocks = clocks::left(game);
        let base = clocks::base(game);
        let phases = phases(&positions);
        let made = |ply: usize| {
            let left = if ply < 2 { base } else { clocks[ply - 2] };
            let glyph = glyph(&game.line.moves[ply]);
            let is_error = matches!(glyph, Some(Glyph::Mistake | Glyph::Blunder));
            let spent = left.zip(clocks[ply]).map(|(before, after)| before - after);
            PlayedMove {
                accuracy: accuracy::of_move(lost(ply)),
                phase: phases.iter().position(|phase| phase.plies.contains(&ply)).unwrap_or(2),
                left,
                glyph,
                kinds: if is_error { judged.kinds(ply, left, spent) } else { Vec::new() },
            }
        };
        let moves: Vec<PlayedMove> = plies.filter(|ply| mover(*ply) == color).map(made).collect();
        let count = |glyph| moves.iter().filter(|made| made.glyph == Some(glyph)).count();
        Some(PlayedGame {
            number: game.number,
            player: tag(color.fold_wb("White", "Black")),
            color,
            opponent: tag(color.fold_wb("Black", "White")),
            date: tag("Date"),
            score: match game.result.as_str() {
                "1-0" => Some(color.fold_wb(1.0, 0.0)),
                "0-1" => Some(color.fold_wb(0.0, 1.0)),
                "1/2-1/2" => Some(0.5),
                _ => None,
            },
            eco: or(eco, known.map(|known| known.eco.as_str())),
            opening: or(opening, known.map(|known| known.name.as_str())),
            accuracy: accuracy::of_game(&wins, &losses)[color],
            loss: accuracy::centipawn_loss(&pairs)[color],
            counts: [Glyph::Inaccuracy, Glyph::Mistake, Glyph::Blunder].map(count),
            moves,
        })
    }
}

/// Whether a tag has this name.
#[must_use]
pub fn is_named(tag: Option<&str>, name: &str) -> bool {
    tag.is_some_and(|tag| tag.trim().to_lowercase() == name.trim().to_lowercase())
}

/// A game with its scores for White, one for each position up to the first without.
struct Judged<'a> {
    game: &'a PgnGame,
    positions: &'a Positions,
    scores: &'a [Score],
    wins: &'a [f32],
}

impl Judged<'_> {
    fn kinds(&self, ply: usize, left: Option<f64>, spent: Option<f64>) -> Vec<ErrorKind> {
        let before = self.positions.board(ply);
        let own = |score: Score| match (before.turn(), score) {
            (Color::White, score) => score,
            (Color::Black, Score::Centipawns(score)) => Score::Centipawns(-score),
            (Color::Black, Score::Mate(moves)) => Score::Mate(-moves),
        };
        let win = |win: f32| before.turn().fold_wb(win, 1.0 - win);
        kinds::of(ErrorView {
            before,
            behind: self.positions.board(ply + 1),
            better: better(before, &self.game.line.moves[ply]),
            scores: [ply, ply + 1].map(|place| own(self.scores[place])),
            wins: [ply, ply + 1].map(|place| win(self.wins[place])),
            left,
            spent,
        })
    }
}

/// The score for White of each position up to the first without `[%eval]`; a mate or stalemate needs none.
fn scores(game: &PgnGame, positions: &Positions) -> Vec<Score> {
    let score = |ply: usize| {
        let board = positions.board(ply + 1);
        match ending::by_board(board, board.legal_moves().len()).map(ending::Ending::winner) {
            Some(Some(winner)) => Some(Score::Mate(winner.fold_wb(1, -1))),
            Some(None) => Some(Score::Centipawns(0)),
            None => game.line.moves[ply].comments.iter().find_map(|comment| eval(comment)),
        }
    };
    [INITIAL].into_iter().chain((0..positions.plies()).map_while(score)).collect()
}

/// `[%eval 0.35]`, `[%eval #-3]`, perhaps with a depth behind a comma.
fn eval(comment: &str) -> Option<Score> {
    let (_, text) = comment.split_once("[%eval ")?;
    let (value, _) = text.split_once([']', ','])?;
    match value.strip_prefix('#') {
        Some(moves) => moves.parse().ok().map(Score::Mate),
        None => {
            let pawns: f64 = value.trim().parse().ok()?;
            pawns.is_finite().then(|| Score::Centipawns((100.0 * pawns).round() as i32))
        }
    }
}

/// The glyph for an error that the file has.
fn glyph(made: &PgnMove) -> Option<Glyph> {
    let errors = [Glyph::Blunder, Glyph::Mistake, Glyph::Inaccuracy];
    errors.into_iter().find(|glyph| made.nags.contains(&glyph.nag()))
}

/// The move that a comment says was best, as this program and lichess write it.
fn better(before: &Chess, made: &PgnMove) -> Option<Move> {
    let san = |comment: &String| {
        let (words, _) = comment.split_once(" was best.")?;
        words.rsplit(' ').next()?.parse::<San>().ok()?.to_move(before).ok()
    };
    made.comments.iter().find_map(san)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pgn::{PgnEntry, read_games};

    fn game(text: &str) -> PgnGame {
        match read_games(text, 1).into_iter().next() {
            Some(PgnEntry::Game(game)) => *game,
            _ => panic!("{text} is no game"),
        }
    }

    const TEXT: &str = "[White \"Ann\"]\n[Black \"Bob\"]\n[TimeControl \"180\"]\n[Result \"0-1\"]\n\n\
        1. f3 { [%eval -0.60] [%clk 0:02:59] } e5 { [%eval -0.70] [%clk 0:02:50] } \
        2. g4 $4 { [%eval #-1] [%clk 0:02:58] Blunder. e4 was best. } Qh4# 0-1\n";

    #[test]
    fn an_annotated_game_is_read_back_for_either_side() {
        let bob = PlayedGame::of(&game(TEXT), " bob").unwrap();
        assert_eq!((bob.color, bob.score, bob.opponent.as_str()), (Color::Black, Some(1.0), "Ann"));
        assert_eq!((bob.moves.len(), bob.accuracy, bob.loss), (2, Some(100.0), Some(0.0)));
        let ann = PlayedGame::of(&game(TEXT), "Ann").unwrap();
        assert_eq!((ann.score, ann.eco.as_str()), (Some(0.0), "A00"));
        assert_eq!(ann.counts, [0, 0, 1]);
        // 15 to -60, and -70 to a mate, which counts as ten pawns.
        assert_eq!(ann.loss, Some((75.0 + 930.0) / 2.0));
        let blunder = &ann.moves[1];
        assert_eq!(blunder.kinds, [ErrorKind::AllowsMate, ErrorKind::Haste]);
        assert_eq!((blunder.left, blunder.phase), (Some(179.0), 0));
        assert!(PlayedGame::of(&game(TEXT), "An").is_none());
    }

    #[test]
    fn scores_end_at_the_first_gap() {
        let text = "[White \"Ann\"]\n\n1. e4 { [%eval 0.2,18] } e5 2. Nf3 { [%eval 0.3] } *";
        let ann = PlayedGame::of(&game(text), "Ann").unwrap();
        assert_eq!((ann.moves.len(), ann.opponent.as_str()), (1, ""));
        let none = PlayedGame::of(&game("[White \"Ann\"]\n\n1. e4 *"), "Ann").unwrap();
        assert_eq!((none.moves.len(), none.accuracy, none.loss), (0, None, None));
        assert_eq!(eval("[%eval nan]"), None);
    }
}
