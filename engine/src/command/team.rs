//! `mavka team`: arguments and output of [`crate::eval::team`].

use super::args::read_line_end;
use super::output::{Failure, StdoutSink};
use crate::eval::table::board;
use crate::eval::team::TeamSearches;
use crate::options::settings::Settings;
use crate::play::lineup::{Lineup, LineupPlan};
use crate::play::setup::Setup;
use crate::process::errors::FileError;
use crate::process::files::write_whole;
use clap::Args;
use std::path::PathBuf;

/// Arguments of `mavka team`.
#[derive(Args, Debug)]
pub struct Team {
    /// The position, `startpos` for the initial one; then moves to play first, as `e4` or `e2e4`
    #[arg(required = true, num_args = 1.., value_names = ["FEN", "MOVES"])]
    words: Vec<String>,
    /// Players; those beyond the network's own have its first player's network and root noise
    #[arg(long, default_value_t = 5, value_name = "K", value_parser = clap::value_parser!(u8).range(2..=10))]
    players: u8,
    /// Playouts of each player
    #[arg(long, default_value_t = 400, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    nodes: u64,
    /// Network file; the built-in network without it
    #[arg(long, value_name = "FILE")]
    weights: Option<PathBuf>,
    /// Draw a board for each player with its choice into this SVG
    #[arg(long, value_name = "FILE")]
    svg: Option<PathBuf>,
    /// Castling as king takes rook
    #[arg(long)]
    chess960: bool,
}

impl Team {
    /// Searches, prints and draws.
    ///
    /// # Errors
    /// Position or network is refused, the picture cannot be written, or standard output is closed.
    pub fn run(self) -> Result<(), Failure> {
        let mut out = StdoutSink::default();
        self.write(&mut |text| out.say(text))?;
        out.end()
    }

    fn write(&self, say: &mut dyn FnMut(String)) -> Result<(), Failure> {
        let game = read_line_end(&self.words, self.chess960)?;
        if game.legal_actions().is_empty() {
            return Err(format!("no move is left to search in `{}`", game.fen()).into());
        }
        let Settings { team_rule: rule, team_noise: noise, .. } = Settings::default();
        let plan = LineupPlan {
            weights: self.weights.clone(),
            files: Vec::new(),
            players: usize::from(self.players),
            noise,
            nodes: self.nodes,
        };
        let mut lineup = Lineup::open(&*Setup::default().networks, &plan)?;
        let looks = lineup.look(&game)?;
        // The last look is that of all playouts for each player.
        let Some(look) = looks.last() else { return Ok(()) };
        let view = TeamSearches { game: &game, look, rule };
        say(format!("{}\n\n{view}", board(&game)));
        if let Some(path) = &self.svg {
            let drawn = view.svg(lineup.network());
            write_whole(path, drawn).map_err(FileError::of(path))?;
            say(format!("the picture is {}", path.display()));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::parsed;
    use super::*;

    fn shown(words: &[&str]) -> Result<String, String> {
        let team: Team = parsed("team", words)?;
        let mut out = String::new();
        team.write(&mut |text| out += &format!("{text}\n")).map_err(|why| why.to_string())?;
        Ok(out)
    }

    #[test]
    fn the_bundled_players_search_and_are_drawn() {
        let svg = std::env::temp_dir().join(format!("mavka-team-{}.svg", std::process::id()));
        let words = ["--players", "6", "--nodes", "8", "startpos", "--svg", svg.to_str().unwrap()];
        let text = shown(&words).unwrap();
        let drawn = std::fs::read_to_string(&svg).unwrap();
        let _ = std::fs::remove_file(&svg);
        assert_eq!(text.matches(" of 7 ").count(), 6, "{text}");
        assert!(text.contains("\nThe team plays "), "{text}");
        assert_eq!(drawn.matches("class='board'").count(), 6);
        assert_eq!(text, shown(&words).unwrap(), "a search of one thread repeats itself");
        let _ = std::fs::remove_file(&svg);
    }

    #[test]
    fn what_cannot_be_searched_is_an_error() {
        assert!(shown(&["nonsense"]).unwrap_err().contains("not a FEN"));
        assert!(shown(&["startpos", "--players", "11"]).is_err());
        assert!(
            shown(&["startpos", "--weights", "no-such-file"]).unwrap_err().contains("no-such-file")
        );
        let mated = "7k/6Q1/5K2/8/8/8/8/8 b - - 0 1";
        assert!(shown(&[mated]).unwrap_err().contains("no move is left"));
    }
}
