//! The commands of a player, one a line, and the moves of the engine. Bad input gets one line and ends nothing.

use super::opponent::{EngineMove, Opponent};
use super::picture::{Characters, picture};
use super::record::{GameRecord, OPEN, SaveFile};
use super::time_control::{GameClocks, clock_comment, clock_in, clock_text};
use crate::markup::board::side;
use crate::pgn::typed_move;
use crate::pgn::write::move_number;
use chess::action::Action;
use chess::ending::Ending;
use chess::quote::{printable, quote, shorten};
use crossbeam::channel::{self, Receiver, select};
use shakmaty::{Color, Position};
use std::io::{self, Write};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::time::Instant;
use uci::{Go, Score};

const HELP: &str = "A move: e4, Nf3, O-O, e8=Q, or g1f3, e7e8q. Commands: take back, hint, draw,\n\
                    resign, board, moves, save FILE, quit.";
/// Centipawns by which the engine is behind where it takes a draw.
const BEHIND: i32 = 50;
/// Plies of a game after which it need not be behind.
const LATE: usize = 80;
const OVER: &str = "The game is over: take back, save FILE or quit.";
/// Longest name of a file that is answered to a question, in characters.
const LONGEST_NAME: usize = 1000;

/// A game between a player in the terminal and the engine.
pub struct TerminalGame<'a> {
    /// The moves so far.
    pub record: GameRecord,
    /// None: without a clock.
    pub clocks: Option<GameClocks>,
    /// The engine.
    pub opponent: Opponent,
    /// The player's side.
    pub player: Color,
    /// Limits of a hint, and of the engine's moves where there is no clock.
    pub effort: Go,
    /// Those that the terminal has.
    pub characters: Characters,
    /// Asks for each line: the input is a terminal.
    pub prompts: bool,
    /// Where the game is saved after each move.
    pub file: Option<SaveFile>,
    /// Where a game without a file is saved at the end.
    pub default_file: PathBuf,
    /// The player's terminal.
    pub out: &'a mut dyn Write,
    /// State of the session, which begins with the default.
    pub state: SessionState,
}

/// State of a session beside the game.
#[derive(Default)]
pub struct SessionState {
    /// The file does not have all moves.
    unsaved: bool,
    /// The next line answers the question for a file.
    asks_for_file: bool,
    /// The engine's score of its last move.
    score: Option<Score>,
}

/// The next act of a player.
enum Input {
    Line(String),
    /// The player's time is over.
    Flag,
    /// The end of the input, or Ctrl-C.
    End,
}

impl TerminalGame<'_> {
    /// Plays until the player quits, the input ends, or `interrupt` has a message. A game that is not saved then is saved.
    ///
    /// # Errors
    /// The output is closed, the engine fails, or the game cannot be saved.
    pub fn run(mut self, lines: &Receiver<String>, interrupt: &Receiver<()>) -> io::Result<()> {
        let played = self.play(lines, interrupt);
        let saved = self.save_at_the_end();
        played.and(saved)
    }

    fn play(&mut self, lines: &Receiver<String>, interrupt: &Receiver<()>) -> io::Result<()> {
        self.opponent.prepare(self.record.game());
        self.restore_clocks();
        let level = self.opponent.level().map_or_else(String::new, |elo| format!(" at {elo} Elo"));
        self.say(&format!("You are {}, Mavka plays{level}.", side(self.player)))?;
        self.say(HELP)?;
        self.show()?;
        loop {
            if !self.is_over() && self.turn() != self.player {
                let Some(()) = self.move_of_engine(interrupt)? else { return Ok(()) };
                continue;
            }
            match self.wait(lines, interrupt)? {
                Input::Line(line) => {
                    if self.obey(&line, interrupt)?.is_break() {
                        return Ok(());
                    }
                }
                Input::Flag => self.lose_on_time(self.player)?,
                Input::End => return Ok(()),
            }
        }
    }

    fn turn(&self) -> Color {
        self.record.game().position().turn()
    }

    fn is_over(&self) -> bool {
        self.record.tag("Result").is_some_and(|result| result != OPEN)
    }

    fn say(&mut self, text: &str) -> io::Result<()> {
        let text = format!("{}\n", self.characters.text(text));
        self.out.write_all(printable(&text).as_bytes())
    }

    /// The board, and the clocks.
    fn show(&mut self) -> io::Result<()> {
        let board = picture(self.record.game().position(), self.player, self.characters);
        self.say(&board)?;
        let Some(clocks) = &self.clocks else { return Ok(()) };
        let left = |color| clock_text(clocks.left(color));
        let text = format!("White {}, Black {}", left(Color::White), left(Color::Black));
        self.say(&text)
    }

    /// Waits for a line while the player's clock runs.
    fn wait(&mut self, lines: &Receiver<String>, interrupt: &Receiver<()>) -> io::Result<Input> {
        if self.prompts {
            self.out.write_all(b"> ")?;
        }
        let runs = !self.is_over();
        let left = self.clocks.as_ref().filter(|_| runs).map(|clocks| clocks.left(self.player));
        let flag = left.map_or_else(channel::never, channel::after);
        let begun = Instant::now();
        let input = select! {
            recv(lines) -> line => line.map_or(Input::End, Input::Line),
            recv(interrupt) -> _ => Input::End,
            recv(flag) -> _ => Input::Flag,
        };
        let clocks = self.clocks.as_mut().filter(|_| runs);
        let in_time = clocks.is_none_or(|clocks| clocks.spend(self.player, begun.elapsed()));
        Ok(if in_time { input } else { Input::Flag })
    }

    /// Obeys one line. Break: the player has quit.
    fn obey(&mut self, line: &str, interrupt: &Receiver<()>) -> io::Result<ControlFlow<()>> {
        let line = line.trim();
        if std::mem::take(&mut self.state.asks_for_file) {
            return self.answer(line);
        }
        let words = line.split_whitespace().collect::<Vec<_>>();
        let command: Vec<String> =
            words.iter().take(3).map(|word| word.to_ascii_lowercase()).collect();
        match command.iter().map(String::as_str).collect::<Vec<_>>()[..] {
            [] => {}
            ["quit" | "q" | "exit"] => return self.quit(),
            ["help" | "?"] => self.say(HELP)?,
            ["board"] => self.show()?,
            ["moves"] => self.list_moves()?,
            ["save"] => self.say("save: expected the name of a file, as in save game.pgn")?,
            ["save", ..] => {
                let name = line.split_once(char::is_whitespace).unwrap_or_default().1;
                self.save_as(name)?;
            }
            ["take", "back"] | ["back" | "takeback" | "undo" | "u"] => self.take_back()?,
            _ if self.is_over() => self.say(OVER)?,
            ["hint"] => return self.hint(interrupt),
            ["draw"] => self.offer_draw()?,
            ["resign"] => {
                let text = format!("{} resigns.", side(self.player));
                self.conclude(Some(!self.player), &text)?;
            }
            _ => self.move_of_player(line)?,
        }
        Ok(ControlFlow::Continue(()))
    }

    fn move_of_player(&mut self, word: &str) -> io::Result<()> {
        let position = self.record.game().position();
        // `nf3` is no other move's name; `bc4` may be a pawn's.
        let capital = || typed_move(position, &capitalised(word)?);
        match typed_move(position, word).or_else(capital) {
            Some(action) => {
                self.make(action)?;
                if self.is_over() { self.show() } else { Ok(()) }
            }
            None => {
                let example = position.legal_moves().first().map(|first| Action::new(*first));
                let game = self.record.game();
                let (san, uci) =
                    example.map_or_else(Default::default, |a| (game.san(a), game.uci(a)));
                let text = format!(
                    "{} is no legal move here; expected one such as {san} or {uci}, or help",
                    quote(&shorten(word, 40))
                );
                self.say(&text)
            }
        }
    }

    /// Plays a move of either side, and ends the game where it is over.
    fn make(&mut self, action: Action) -> io::Result<()> {
        let mover = self.turn();
        self.record.play(action);
        self.state.unsaved = true;
        if let Some(clocks) = &mut self.clocks {
            clocks.add_increment(mover);
            let left = clock_comment(clocks.left(mover));
            self.record.comment(left);
        }
        match self.record.game().ending() {
            Some(ending) => self.conclude(ending.winner(), &ending_text(ending)),
            None => self.autosave(),
        }
    }

    /// None where the game is interrupted.
    fn move_of_engine(&mut self, interrupt: &Receiver<()>) -> io::Result<Option<()>> {
        let mut go = self.effort.clone();
        if let Some(clocks) = &self.clocks {
            let millis = |color| i64::try_from(clocks.left(color).as_millis()).ok();
            let increment = i64::try_from(clocks.control.increment.as_millis()).ok();
            go = Go {
                wtime: millis(Color::White),
                btime: millis(Color::Black),
                winc: increment,
                binc: increment,
                ..Go::default()
            };
        }
        let begun = Instant::now();
        let thought = self.opponent.think(self.record.game(), &go, interrupt);
        let Some(EngineMove { best, score }) = thought.map_err(io::Error::other)? else {
            return Ok(None);
        };
        self.state.score = score;
        if let Some(clocks) = &mut self.clocks
            && !clocks.spend(!self.player, begun.elapsed())
        {
            return self.lose_on_time(!self.player).map(Some);
        }
        let game = self.record.game();
        let text = format!("Mavka: {} {}", move_number(game.position()), game.san(best));
        self.say(&text)?;
        self.make(best)?;
        self.show().map(Some)
    }

    fn hint(&mut self, interrupt: &Receiver<()>) -> io::Result<ControlFlow<()>> {
        let begun = Instant::now();
        let thought = self.opponent.advise(self.record.game(), &self.effort, interrupt);
        let Some(thought) = thought.map_err(io::Error::other)? else {
            return Ok(ControlFlow::Break(()));
        };
        let san = self.record.game().san(thought.best);
        let score = match thought.score {
            Some(Score::Centipawns(score)) => format!(" ({:+.2})", f64::from(score) / 100.0),
            Some(Score::Mate(moves)) if moves > 0 => format!(" (mate in {moves})"),
            Some(Score::Mate(moves)) => format!(" (mated in {})", moves.unsigned_abs()),
            None => String::new(),
        };
        self.say(&format!("Hint: {san}{score}"))?;
        if let Some(clocks) = &mut self.clocks
            && !clocks.spend(self.player, begun.elapsed())
        {
            self.lose_on_time(self.player)?;
        }
        Ok(ControlFlow::Continue(()))
    }

    /// The engine accepts where its own last search had its side behind, late in a game also where it had nothing.
    fn offer_draw(&mut self) -> io::Result<()> {
        let plies = self.record.game().actions().len();
        let least = if plies < LATE { -BEHIND } else { 0 };
        match self.state.score {
            Some(Score::Centipawns(score)) if score > least => self.say("Mavka declines."),
            Some(Score::Mate(moves)) if moves > 0 => self.say("Mavka declines."),
            None => self.say("Mavka declines: it has not made a move yet."),
            Some(_) => self.conclude(None, "Draw by agreement."),
        }
    }

    fn lose_on_time(&mut self, loser: Color) -> io::Result<()> {
        let can_mate = !self.record.game().position().has_insufficient_material(!loser);
        let text = format!("{} has no time left.", side(loser));
        self.conclude(can_mate.then_some(!loser), &text)
    }

    /// Ends the game. `winner` is None for a draw.
    fn conclude(&mut self, winner: Option<Color>, text: &str) -> io::Result<()> {
        let result = winner.map_or("1/2-1/2", |winner| winner.fold_wb("1-0", "0-1"));
        self.record.set_tag("Result", result);
        self.record.comment(text.to_owned());
        self.state.unsaved |= !self.record.game().actions().is_empty();
        self.say(&format!("{text} {result}"))?;
        self.say(OVER)?;
        self.autosave()
    }

    /// Takes back the player's last move, and the engine's after it.
    fn take_back(&mut self) -> io::Result<()> {
        let plies = if self.turn() == self.player { 2 } else { 1 };
        if self.record.game().actions().len() < plies {
            return self.say("There is no move of yours to take back.");
        }
        self.record.take_back(plies);
        self.record.set_tag("Result", OPEN);
        self.state.score = None;
        self.state.unsaved = true;
        self.restore_clocks();
        self.autosave()?;
        self.show()
    }

    /// The clocks as they were after the last moves.
    fn restore_clocks(&mut self) {
        let mover = !self.turn();
        let Some(clocks) = &mut self.clocks else { return };
        *clocks = GameClocks::new(clocks.control);
        for (color, comments) in [mover, !mover].into_iter().zip(self.record.comments()) {
            clock_in(&comments).into_iter().for_each(|left| clocks.set(color, left));
        }
    }

    fn list_moves(&mut self) -> io::Result<()> {
        let text = self.record.pgn();
        let moves = text.split_once("\n\n").map_or("", |(_, moves)| moves).trim_end().to_owned();
        self.say(&moves)
    }

    /// Saves where a file was named. A failure is shown, and ends nothing.
    fn autosave(&mut self) -> io::Result<()> {
        match self.file.as_ref().map(|file| file.write(&self.record)) {
            Some(Err(why)) => self.say(&why.to_string()),
            Some(Ok(())) => {
                self.state.unsaved = false;
                Ok(())
            }
            None => Ok(()),
        }
    }

    /// Saves from now on in this file. False, with one line, where that is not possible.
    fn save_as(&mut self, name: &str) -> io::Result<bool> {
        let name = Path::new(name);
        if self.file.as_ref().is_none_or(|file| file.path != name) {
            match SaveFile::new(name) {
                Ok(file) => self.file = Some(file),
                Err(why) => return self.say(&why.to_string()).map(|()| false),
            }
        }
        self.state.unsaved = true;
        self.autosave()?;
        if !self.state.unsaved {
            self.say(&format!("Saved in {}.", name.display()))?;
        }
        Ok(!self.state.unsaved)
    }

    fn quit(&mut self) -> io::Result<ControlFlow<()>> {
        if !self.state.unsaved || self.file.is_some() {
            return Ok(ControlFlow::Break(()));
        }
        self.state.asks_for_file = true;
        let file = self.default_file.display();
        let text = format!("Save the game? Enter for {file}, another file name, or n");
        self.say(&text)?;
        Ok(ControlFlow::Continue(()))
    }

    /// The answer to the question of [`TerminalGame::quit`].
    fn answer(&mut self, line: &str) -> io::Result<ControlFlow<()>> {
        let saved = match line {
            "n" | "N" | "no" => {
                self.state.unsaved = false;
                true
            }
            // `save_at_the_end` saves it.
            "" | "y" | "Y" | "yes" => true,
            name => self.save_as(&shorten(name, LONGEST_NAME))?,
        };
        self.state.asks_for_file = !saved;
        Ok(if saved { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
    }

    /// Saves a game that has moves, and says where. The output may be closed.
    fn save_at_the_end(&mut self) -> io::Result<()> {
        let named = self.file.is_some();
        if !self.state.unsaved {
            let file = self.file.as_ref().map(|file| format!("Saved in {}.", file.path.display()));
            let has_moves = !self.record.game().actions().is_empty();
            let _ = file.filter(|_| has_moves).map(|text| self.say(&text));
            return Ok(());
        }
        let file = match self.file.take() {
            Some(file) => Ok(file),
            None => SaveFile::new(&self.default_file),
        };
        let saved = file.and_then(|file| file.write(&self.record).map(|()| file));
        match saved {
            Ok(file) => {
                let resumes =
                    if self.is_over() { "" } else { "; mavka play --resume continues it" };
                let text = format!("Saved in {}{resumes}.", file.path.display());
                let _ = self.say(&text);
                Ok(())
            }
            Err(why) => {
                let text = self.record.pgn();
                let _ = self.say(&text);
                let hint = if named { "" } else { "; choose another with --save FILE" };
                Err(io::Error::new(why.kind(), format!("the game is not saved: {why}{hint}")))
            }
        }
    }
}

/// `Nf3` of `nf3`; none of a word that begins with another letter than a piece's.
fn capitalised(word: &str) -> Option<String> {
    let first = word.chars().next().filter(|letter| "nbrqk".contains(*letter))?;
    Some(format!("{}{}", first.to_ascii_uppercase(), &word[1..]))
}

fn ending_text(ending: Ending) -> String {
    match ending {
        Ending::Checkmate { winner } => format!("Checkmate: {} wins.", side(winner)),
        Ending::Stalemate => "Stalemate: a draw.".to_owned(),
        Ending::InsufficientMaterial => "Neither side can mate: a draw.".to_owned(),
        Ending::FiftyMoves => "Fifty moves without capture or pawn move: a draw.".to_owned(),
        Ending::Threefold => "The position for the third time: a draw.".to_owned(),
    }
}

#[cfg(test)]
mod tests;
