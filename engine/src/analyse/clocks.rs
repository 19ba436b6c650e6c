//! The players' clocks by the `[%clk]` of a game, and their chart below the curve.

use crate::pgn::PgnGame;
use shakmaty::{ByColor, Color};
use std::fmt::Write as _;

/// Height of the chart in its own units.
const HEIGHT: f64 = 40.0;
/// Longest time that is believed, in seconds.
const LONGEST: f64 = 1e6;

/// Seconds left after each move of the game; None where the file does not say it.
#[must_use]
pub fn left(game: &PgnGame) -> Vec<Option<f64>> {
    let found = |comments: &[String]| comments.iter().find_map(|comment| of_comment(comment));
    game.line.moves.iter().map(|made| found(&made.comments)).collect()
}

/// Seconds at the beginning by the tag TimeControl: `300`, `300+3`, or the first of several periods `40/5400:900`.
#[must_use]
pub fn base(game: &PgnGame) -> Option<f64> {
    let control = game.tag("TimeControl")?;
    let period = control.split(':').next()?;
    let seconds = period.rsplit('/').next()?.split('+').next()?;
    seconds.trim().parse().ok().filter(|seconds| (1.0..LONGEST).contains(seconds))
}

fn of_comment(comment: &str) -> Option<f64> {
    let (_, text) = comment.split_once("[%clk ")?;
    let (time, _) = text.split_once(']')?;
    let mut seconds = 0.0;
    for part in time.trim().split(':') {
        let part: f64 = part.parse().ok().filter(|part| (0.0..LONGEST).contains(part))?;
        seconds = 60.0 * seconds + part;
    }
    (seconds < LONGEST).then_some(seconds)
}

/// A clock's time as `1:05:00`, `4:58` or `0:09`.
#[must_use]
pub fn time(seconds: f64) -> String {
    let whole = seconds as u64;
    let (hours, minutes, seconds) = (whole / 3600, whole / 60 % 60, whole % 60);
    match hours {
        0 => format!("{minutes}:{seconds:02}"),
        _ => format!("{hours}:{minutes:02}:{seconds:02}"),
    }
}

/// The time left of both sides over `plies` plies, White's line light and Black's dark. `first` has the first mover's side. None
/// with fewer than two times.
#[must_use]
pub fn draw(left: &[Option<f64>], base: Option<f64>, first: Color, plies: usize) -> Option<String> {
    let known = || left.iter().take(plies).flatten();
    if known().count() < 2 {
        return None;
    }
    let most = known().copied().chain(base).fold(1.0, f64::max);
    let height = |seconds: f64| HEIGHT * (1.0 - seconds / most);
    let mut lines = ByColor::new_with(|_| String::new());
    if let Some(base) = base {
        lines.iter_mut().for_each(|line| _ = write!(line, "M0 {:.1}", height(base)));
    }
    for (ply, seconds) in left.iter().take(plies).enumerate() {
        let mover = if ply % 2 == 0 { first } else { !first };
        let line = &mut lines[mover];
        let Some(seconds) = seconds else { continue };
        let step = if line.is_empty() { 'M' } else { 'L' };
        let _ = write!(line, "{step}{} {:.1}", ply + 1, height(*seconds));
    }
    Some(format!(
        "<svg class='clocks' viewBox='0 0 {plies} {HEIGHT}' preserveAspectRatio='none' role='img' \
         aria-label='Time left on both clocks, at most {}'><path class='w' d='{}'/><path class='b' d='{}'/></svg>",
        time(most),
        lines.white,
        lines.black
    ))
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

    #[test]
    fn clocks_are_read_in_every_spelling_and_nothing_else_is() {
        let text = "1. e4 { [%clk 1:00:09] } e5 { [%eval 0.1] [%clk 0:02:59.5] } 2. Nf3 { clk 0:01 } \
                    Nc6 { [%clk 0:-5] } 3. Bb5 { [%clk 12:05] } a6 { [%clk 9e99:00] } *";
        let expected = [Some(3609.0), Some(179.5), None, None, Some(725.0), None];
        assert_eq!(left(&game(text)), expected);
        let base = |control: &str| base(&game(&format!("[TimeControl \"{control}\"]\n\n1. e4 *")));
        let controls = ["300+3", "180", "40/5400+30:1800", "-", "?", "inf", "1/86400"];
        let found = [Some(300.0), Some(180.0), Some(5400.0), None, None, None, Some(86400.0)];
        assert_eq!(controls.map(base), found);
    }

    #[test]
    fn each_side_has_its_line() {
        let left = [Some(150.0), Some(300.0), None, Some(75.0)];
        let svg = draw(&left, Some(300.0), Color::White, 4).unwrap();
        assert!(svg.contains("class='w' d='M0 0.0L1 20.0'"), "{svg}");
        assert!(svg.contains("class='b' d='M0 0.0L2 0.0L4 30.0'"), "{svg}");
        assert!(svg.contains("at most 5:00"), "{svg}");
        assert_eq!(draw(&left[2..], Some(300.0), Color::White, 2), None);
        assert_eq!([9.9, 298.0, 3900.0].map(time), ["0:09", "4:58", "1:05:00"]);
    }
}
