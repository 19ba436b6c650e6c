//! The referee: one game between two players. It checks every move by the rules, keeps the clocks, and names the
//! reason for every end.

use super::rules::{
    DrawRule, Ending, PlayedGame, Ply, ResignRule, Rules, Warning, Warnings, adjudicable,
};
use crate::openings::Opening;
use crate::uci_client::limit::{Clock, Limit};
use crate::uci_client::transport::Transport;
use crate::uci_client::{Fault, Player, SearchAnswer};
use chess::ending::{self, by_fifty_moves, by_repetition, key};
use shakmaty::uci::UciMove;
use shakmaty::{ByColor, CastlingMode, Chess, Color, Move, Position};
use uci::{Command, StartPosition};

/// State of a game.
struct RunningGame<'a> {
    opening: &'a Opening,
    position: Chess,
    /// Keys of all positions, the current one last.
    keys: Vec<u64>,
    plies: Vec<Ply>,
    /// Moves as sent to the engines.
    moves: Vec<String>,
    warnings: ByColor<Warnings>,
}

/// Setup of a game.
#[derive(Clone, Copy, Debug)]
pub struct Start<'a> {
    /// Initial position.
    pub opening: &'a Opening,
    /// Limits of both players.
    pub limits: ByColor<Limit>,
    /// Seed for players that draw moves at random; None leaves their options unchanged.
    pub seed: Option<u64>,
}

/// Plays one game. Blocks.
///
/// # Errors
/// A player cannot play this game at all (no Chess960): no result.
pub fn play<T: Transport>(
    players: ByColor<&mut Player<T>>,
    start: &Start<'_>,
    rules: &Rules,
) -> Result<PlayedGame, Fault> {
    let mut players = players;
    let mut table = RunningGame::new(start.opening);
    let mut clocks = start.limits.map(Clock::new);
    for color in Color::ALL {
        let ready = players[color]
            .new_game(start.opening.chess960())
            .and_then(|()| start.seed.map_or(Ok(()), |seed| players[color].seed(seed)));
        if let Err(fault) = ready {
            return table.abandon(color, fault);
        }
    }
    loop {
        if let Some((winner, ending)) = table.end(rules) {
            return Ok(table.close(winner, ending));
        }
        let mover = table.position.turn();
        let clock = &clocks[mover];
        let go = clock.go(&clocks[!mover], mover == Color::White);
        let time = clock.budget().map(|budget| budget + rules.margin);
        let thought = match players[mover].think(&table.command(), go, time) {
            Ok(thought) => thought,
            Err(Fault::Stalled("go")) if time.is_some() => return Ok(table.flag(mover)),
            Err(fault) => return table.abandon(mover, fault),
        };
        if !clocks[mover].spend(thought.elapsed, rules.margin) {
            return Ok(table.flag(mover));
        }
        match read_move(&table.position, &thought.best) {
            Some(action) => table.advance(action, &thought),
            None => {
                return Ok(table.close(Some(!mover), Ending::IllegalMove(mover, thought.best)));
            }
        }
    }
}

fn read_move(position: &Chess, word: &str) -> Option<Move> {
    word.parse::<UciMove>().ok()?.to_move(position).ok()
}

impl<'a> RunningGame<'a> {
    fn new(opening: &'a Opening) -> RunningGame<'a> {
        RunningGame {
            opening,
            position: opening.position.clone(),
            keys: vec![key(&opening.position)],
            plies: Vec::new(),
            moves: Vec::new(),
            warnings: ByColor::default(),
        }
    }

    /// The `position` command for the players.
    fn command(&self) -> Command {
        let start = match self.opening.is_initial() {
            true => StartPosition::Startpos,
            false => StartPosition::Fen(self.opening.fen()),
        };
        Command::Position { start, moves: self.moves.clone() }
    }

    /// Result, if the game is over.
    fn end(&self, rules: &Rules) -> Option<(Option<Color>, Ending)> {
        let position = &self.position;
        if let Some(ending) = ending::of_game(position, &self.keys) {
            return Some((ending.winner(), ending.into()));
        }
        if self.plies.len() >= rules.max_plies {
            return Some((None, Ending::MaxPlies));
        }
        if rules.draw.is_some_and(|rule| self.both_score_drawn(rule)) {
            return Some((None, Ending::DrawAdjudicated));
        }
        let winner = rules.resign.and_then(|rule| self.both_score_won(rule))?;
        Some((Some(winner), Ending::WinAdjudicated))
    }

    /// Scores of the last `moves` moves of each player, latest first; None if one is unknown.
    fn last_scores(&self, moves: usize) -> Option<Vec<i32>> {
        let late = self.plies.len().checked_sub(2 * moves.max(1))?;
        self.plies[late..].iter().rev().map(|ply| ply.score.map(adjudicable)).collect()
    }

    fn both_score_drawn(&self, rule: DrawRule) -> bool {
        let number = usize::try_from(self.position.fullmoves().get()).unwrap_or(usize::MAX);
        number >= rule.from
            && self
                .last_scores(rule.moves)
                .is_some_and(|scores| scores.iter().all(|score| score.abs() <= rule.score))
    }

    fn both_score_won(&self, rule: ResignRule) -> Option<Color> {
        let scores = self.last_scores(rule.moves)?;
        // The latest score is that of the last mover.
        let latest = !self.position.turn();
        let agree = |sign: i32| {
            scores.iter().enumerate().all(|(age, score)| {
                let sign = if age % 2 == 0 { sign } else { -sign };
                sign * score >= rule.score
            })
        };
        match (agree(1), agree(-1)) {
            (true, false) => Some(latest),
            (false, true) => Some(!latest),
            _ => None,
        }
    }

    fn advance(&mut self, action: Move, thought: &SearchAnswer) {
        self.check_protocol(action, thought);
        let notation = match self.opening.chess960() {
            true => CastlingMode::Chess960,
            false => CastlingMode::Standard,
        };
        let text = action.to_uci(notation).to_string();
        if text != thought.best {
            self.warn(Warning::Notation, &thought.best);
        }
        self.moves.push(text);
        let last = thought.last.as_ref();
        self.plies.push(Ply {
            color: self.position.turn(),
            action,
            score: last.and_then(|info| info.score),
            depth: last.and_then(|info| info.depth),
            nodes: last.and_then(|info| info.nodes),
            elapsed: thought.elapsed,
        });
        self.position.play_unchecked(action);
        self.keys.push(key(&self.position));
    }

    fn check_protocol(&mut self, action: Move, thought: &SearchAnswer) {
        for variation in &thought.variations {
            if let Some(warning) = self.fault_of_variation(variation) {
                self.warn(warning, &variation.join(" "));
            }
        }
        if thought.last.is_none() {
            self.warn(Warning::NoScore, &thought.best);
        }
        if let Some(first) = &thought.head
            && read_move(&self.position, first) != Some(action)
        {
            self.warn(Warning::BestMoveOffPv, first);
        }
        if let Some(ponder) = &thought.ponder {
            let mut next = self.position.clone();
            next.play_unchecked(action);
            let nothing = matches!(ponder.as_str(), "(none)" | "0000");
            if !nothing && read_move(&next, ponder).is_none() {
                self.warn(Warning::IllegalPonder, ponder);
            }
        }
    }

    fn fault_of_variation(&self, variation: &[String]) -> Option<Warning> {
        let mut position = self.position.clone();
        let mut keys = self.keys.clone();
        for word in variation {
            let Some(action) = read_move(&position, word) else {
                return Some(Warning::IllegalPv);
            };
            if by_fifty_moves(&position) || by_repetition(&position, &keys) {
                return Some(Warning::PvPastEnd);
            }
            position.play_unchecked(action);
            keys.push(key(&position));
        }
        None
    }

    fn warn(&mut self, warning: Warning, words: &str) {
        let color = self.position.turn();
        log::debug!("{warning} of {color} at `{}`: {words}", self.command());
        self.warnings[color][warning as usize] += 1;
    }

    /// FIDE 6.9: no win on time with insufficient material.
    fn flag(self, late: Color) -> PlayedGame {
        let winner = (!self.position.has_insufficient_material(!late)).then_some(!late);
        self.close(winner, Ending::TimeLoss(late))
    }

    fn close(self, winner: Option<Color>, ending: Ending) -> PlayedGame {
        PlayedGame { plies: self.plies, winner, ending, warnings: self.warnings }
    }

    fn abandon(self, guilty: Color, fault: Fault) -> Result<PlayedGame, Fault> {
        let ending = match fault {
            Fault::Absent(_) => return Err(fault),
            Fault::Crashed(words) => Ending::Crash(guilty, words),
            Fault::Stalled(_) => Ending::Stall(guilty),
        };
        Ok(self.close(Some(!guilty), ending))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::openings;
    use crate::uci_client::fake::Fake;
    use crate::uci_client::player::Timeouts;
    use std::time::Duration;

    /// A player with scripted answers to successive `go`s, each after a delay in milliseconds.
    fn player(words: &[(u64, &str)]) -> Player<Fake> {
        let mut words: Vec<(u64, String)> =
            words.iter().rev().map(|&(after, word)| (after, word.to_owned())).collect();
        let fake = Fake::polite(move |line| match line.split(' ').next() {
            Some("go") => match words.pop() {
                Some((after, word)) if word.starts_with("info") => {
                    let (info, best) = word.split_once(';').unwrap();
                    vec![(after, info.to_owned()), (after, format!("bestmove {best}"))]
                }
                Some((after, word)) if word == "EOF" => vec![(after, word)],
                Some((after, word)) => vec![(after, format!("bestmove {word}"))],
                None => vec![],
            },
            _ => vec![],
        });
        Player::greet(fake, &[], Timeouts::default()).unwrap()
    }

    fn meet(
        white: &[(u64, &str)],
        black: &[(u64, &str)],
        fen: &str,
        limit: &str,
        rules: Rules,
    ) -> PlayedGame {
        let opening = match fen {
            "" => Opening::default(),
            fen => openings::read(fen, false).unwrap().remove(0),
        };
        let (mut white, mut black) = (player(white), player(black));
        let limit: Limit = limit.parse().unwrap();
        let limits = ByColor { white: limit, black: limit };
        let start = Start { opening: &opening, limits, seed: None };
        play(ByColor { white: &mut white, black: &mut black }, &start, &rules).unwrap()
    }

    fn simply(white: &[&str], black: &[&str], fen: &str) -> PlayedGame {
        let timed = |words: &[&'static str]| -> Vec<(u64, &'static str)> {
            words.iter().map(|&word| (1, word)).collect()
        };
        // Leaked: scripts must outlive the test, as literals do.
        let leak = |words: &[&str]| -> Vec<&'static str> {
            words.iter().map(|word| &*word.to_string().leak()).collect()
        };
        meet(&timed(&leak(white)), &timed(&leak(black)), fen, "60", Rules::default())
    }

    #[test]
    fn fools_mate_is_a_win_for_black() {
        let played = simply(&["f2f3", "g2g4"], &["e7e5", "d8h4"], "");
        assert_eq!(played.winner, Some(Color::Black));
        assert_eq!(played.ending, Ending::Checkmate);
        assert_eq!(played.plies.len(), 4);
    }

    #[test]
    fn illegal_move_loses() {
        for word in ["e2e5", "(none)", "0000", "a1a1", "Nf3", ""] {
            let reported = if word.is_empty() { "(none)" } else { word };
            let played = simply(&["e2e4", word], &["e7e5"], "");
            assert_eq!(played.winner, Some(Color::Black), "{word}");
            assert_eq!(played.ending, Ending::IllegalMove(Color::White, reported.to_owned()));
            assert_eq!(played.plies.len(), 2);
        }
    }

    #[test]
    fn flag_falls_beyond_the_margin_only() {
        let rules = Rules { margin: Duration::from_millis(10), ..Rules::default() };
        let white = [(600, "e2e4"), (411, "d2d4")];
        let black = [(1010, "e7e5"), (0, "d7d5")];
        let played = meet(&white, &black, "", "1", rules);
        assert_eq!(played.ending, Ending::TimeLoss(Color::White));
        assert_eq!(played.winner, Some(Color::Black));
        assert_eq!(played.plies.len(), 2, "black's 10 ms too many were forgiven");
    }

    #[test]
    fn flag_against_a_bare_king_is_a_draw() {
        let fen = "8/8/8/4k3/8/8/P7/K7 w - - 0 1";
        let played = meet(&[(2000, "a2a4")], &[], fen, "1", Rules::default());
        assert_eq!(played.ending, Ending::TimeLoss(Color::White));
        assert_eq!(played.winner, None);
    }

    #[test]
    fn crash_and_silence_lose() {
        let played = simply(&["e2e4", "EOF"], &["e7e5"], "");
        assert_eq!(played.ending, Ending::Crash(Color::White, "scripted".to_owned()));
        assert_eq!(played.winner, Some(Color::Black));
        let played = simply(&["e2e4"], &["e7e5"], "");
        assert_eq!(played.ending, Ending::TimeLoss(Color::White), "the clock runs on");
    }

    #[test]
    fn third_repetition_is_a_draw() {
        let shuffle = ["g1f3", "f3g1"].repeat(3);
        let answer = ["g8f6", "f6g8"].repeat(3);
        let played = simply(&shuffle, &answer, "");
        assert_eq!(played.ending, Ending::Repetition);
        assert_eq!(played.plies.len(), 8);
    }

    #[test]
    fn fifty_moves_stalemate_and_bare_kings_are_draws_but_mate_goes_first() {
        let played = simply(&["a1b1"], &[], "8/8/8/4k3/8/8/8/R5K1 w - - 99 80");
        assert_eq!(played.ending, Ending::FiftyMoves);
        let played = simply(&["a1a8"], &[], "7k/8/6K1/8/8/8/8/R7 w - - 99 80");
        assert_eq!(played.ending, Ending::Checkmate);
        let played = simply(&["e6f6"], &[], "5k2/5P2/4K3/8/8/8/8/8 w - - 0 1");
        assert_eq!(played.ending, Ending::Stalemate);
        let played = simply(&["e6f7"], &[], "8/5p2/4K3/8/8/8/8/6k1 w - - 0 1");
        assert_eq!(played.ending, Ending::InsufficientMaterial);
    }

    #[test]
    fn long_games_are_drawn_by_length() {
        let rules = Rules { max_plies: 3, ..Rules::default() };
        let played = meet(&[(1, "e2e4"), (1, "d2d4")], &[(1, "e7e5")], "", "60", rules);
        assert_eq!(played.ending, Ending::MaxPlies);
    }

    #[test]
    fn protocol_errors_are_warnings_not_losses() {
        let white = [
            "info score cp 1 pv e2e4 e7e4;e2e4",
            "info score cp 1 pv g1f3;d2d4 ponder a1a8",
            "h2h3",
            "EOF",
        ];
        let black =
            ["info score cp 1 pv e7e5;e7e5", "info score cp 1;d7d5", "info score cp 1;a7a6"];
        let played = simply(&white, &black, "");
        // Illegal variation, past the end, off the variation, ponder, no score, notation.
        assert_eq!(played.warnings.white, [1, 0, 1, 1, 1, 0]);
        assert_eq!(played.warnings.black, [0; 6]);
    }

    #[test]
    fn variation_through_a_third_repetition_is_past_the_end() {
        let pv = "info score cp 0 pv g1f3 g8f6 f3g1 f6g8 g1f3 g8f6 f3g1 f6g8 e2e4;g1f3";
        let played = simply(&[pv, "EOF"], &["info score cp 0;g8f6"], "");
        assert_eq!(played.warnings.white[Warning::PvPastEnd as usize], 1);
        assert_eq!(played.warnings.white[Warning::IllegalPv as usize], 0);
    }

    #[test]
    fn chess960_castles_by_king_takes_rook_in_moves_and_command() {
        let fen = "nbbrkrqn/ppppp1pp/5p2/8/8/8/PPPPPPPP/RK4R1 w GAfd - 0 2";
        let opening = openings::read(fen, false).unwrap().remove(0);
        let fake = Fake::polite(|line| match line.split(' ').next() {
            Some("go") => vec![(1, "bestmove b1g1")],
            _ => vec![],
        });
        let mut white = Player::greet(fake, &[], Timeouts::default()).unwrap();
        let fake = Fake::polite(|line| match line.split(' ').next() {
            Some("go") => vec![(1, "EOF")],
            _ => vec![],
        });
        let sent = fake.sent();
        let mut black = Player::greet(fake, &[], Timeouts::default()).unwrap();
        let limits = ByColor { white: Limit::Nodes(1), black: Limit::Nodes(1) };
        let players = ByColor { white: &mut white, black: &mut black };
        let start = Start { opening: &opening, limits, seed: None };
        let played = play(players, &start, &Rules::default()).unwrap();
        assert!(played.plies[0].action.is_castle());
        assert_eq!(played.warnings.white[Warning::Notation as usize], 0);
        let sent = sent.lock().unwrap();
        assert!(sent.iter().any(|line| line == "setoption name UCI_Chess960 value true"));
        assert!(sent.iter().any(|line| line.ends_with(" moves b1g1")), "{sent:?}");
    }

    #[test]
    fn agreement_adjudicates_only_when_asked() {
        let drawn = |moves: [&'static str; 2]| moves.map(|word| (1, word));
        let white = drawn(["info score cp 3;e2e4", "info score cp 2;d2d4"]);
        let black = drawn(["info score cp -3;e7e5", "info score cp 9;d7d5"]);
        let rule = DrawRule { from: 0, moves: 2, score: 10 };
        let rules = Rules { draw: Some(rule), ..Rules::default() };
        assert_eq!(meet(&white, &black, "", "60", rules).ending, Ending::DrawAdjudicated);
        assert_eq!(
            meet(&white, &black, "", "60", Rules::default()).ending,
            Ending::TimeLoss(Color::White)
        );

        let white = drawn(["info score cp 900;e2e4", "info score mate 5;d2d4"]);
        let black = drawn(["info score cp -800;e7e5", "info score mate -4;d7d5"]);
        let rules = Rules { resign: Some(ResignRule { moves: 2, score: 700 }), ..Rules::default() };
        let played = meet(&white, &black, "", "60", rules);
        assert_eq!(played.ending, Ending::WinAdjudicated);
        assert_eq!(played.winner, Some(Color::White));
    }
}
