//! `mavka-lab game … team`: several players of a small game by exact results and against the first one.

use super::args::read_fraction;
use crate::diversity::team::plot;
use crate::diversity::team::report::TeamReport;
use crate::games::LearnError;
use crate::games::cached::Cached;
use crate::games::exam::{Kind, Solved};
use crate::games::measure::solved_positions;
use crate::games::team::measure::{Challenger, Member, Team, examine, meet};
use crate::games::team::table::TeamState;
use clap::Args;
use engine::command::output::{Failure, StdoutSink};
use engine::process::interrupt::raised_by_ctrl_c;
use engine::process::progress::progress;
use engine::team::TeamRule;
use games::net::{BoardNet, NetworkFile};
use std::path::{Path, PathBuf};

/// Players of a small game.
#[derive(Args)]
pub struct GameTeam {
    /// One network, whose players are compared, or several, of which each is a player
    #[arg(required = true, value_name = "NETWORK")]
    networks: Vec<PathBuf>,
    /// Compare K copies of the first network's first player instead, those after the first with root noise
    #[arg(long, value_name = "K", value_parser = clap::value_parser!(u8).range(2..=16))]
    reseed: Option<u8>,
    /// Share of that root noise
    #[arg(long, default_value_t = 0.25, value_name = "SHARE", value_parser = read_fraction)]
    noise: f32,
    /// The players after the first search with the rewards of this run's standings.json, too
    #[arg(long, value_name = "FILE", conflicts_with = "reseed")]
    rewards: Option<PathBuf>,
    /// Playouts of the first player alone
    #[arg(long, default_value_t = 100, value_name = "N", value_parser = clap::value_parser!(u64).range(16..))]
    nodes: u64,
    /// Folder of the solved positions, which are made once
    #[arg(long, default_value = ".")]
    folder: PathBuf,
    /// Solved positions
    #[arg(long, default_value_t = 1000)]
    positions: usize,
    /// Games of each other player, and of the rules value and gap-best, against the first player
    #[arg(long, default_value_t = 0)]
    games: usize,
    /// Draw the differences from the first player alone into this SVG
    #[arg(long, value_name = "FILE")]
    plot: Option<PathBuf>,
}

impl GameTeam {
    /// Measures and prints.
    ///
    /// # Errors
    /// A network or a file of positions cannot be used.
    pub fn run<G: Solved>(&self, game: &G) -> Result<(), Failure> {
        let members = self.members(game)?;
        if members.len() < 2 {
            let path = self.networks.first().map(|path| path.display().to_string());
            let path = path.unwrap_or_default();
            return Err(
                format!("{path} has one player: name more networks, or use --reseed").into()
            );
        }
        let table = self.rewards.as_ref().map(|path| TeamState::load(game, path)).transpose()?;
        let team = Team { members: &members, nodes: self.nodes, table: table.as_ref() };
        let stop = raised_by_ctrl_c()?;
        let kind = (Kind::Played, "played");
        let exam = solved_positions(game, kind, self.positions.max(1), &self.folder, &stop)?;
        let exam =
            exam.ok_or("no exact results: the board is too large, or the solving was ended")?;
        let bar = progress(exam.iter().filter(|question| question.matters()).count());
        bar.set_message("positions");
        let tally = examine(game, team, &exam, &stop, || bar.inc(1));
        bar.finish_and_clear();
        let mut out = StdoutSink::default();
        out.say(TeamReport { tally: &tally, nodes: self.nodes, graded: false, items: "positions" });
        if let Some(path) = &self.plot {
            let title = format!("{} {}: {} players", game.name(), game.size(), members.len());
            plot::draw(&tally, &title, path)?;
        }
        let players = (1..members.len()).map(Challenger::Player);
        let rules = [TeamRule::Value, TeamRule::GapBest].map(Challenger::Rule);
        for challenger in players.chain(rules).filter(|_| self.games > 0) {
            let name = match challenger {
                Challenger::Player(player) => format!("player {player}"),
                Challenger::Rule(rule) => rule.name().to_owned(),
            };
            if let Some(result) = meet(game, team, challenger, self.games, &stop) {
                out.say(format_args!("{name:<16} against player 0: {result} Elo"));
            }
        }
        out.end()
    }

    fn members<G: Solved>(&self, game: &G) -> Result<Vec<Member>, LearnError> {
        let mut members = Vec::new();
        for path in &self.networks {
            let network =
                NetworkFile::load(path).map_err(|why| LearnError::Parameters(path.clone(), why))?;
            let players = if self.networks.len() > 1 { 1 } else { network.config.players };
            for at in 0..self.reseed.map_or(players, usize::from) {
                let player = if self.reseed.is_some() { 0 } else { at };
                let network = of_player(&network, game, player, path)?;
                let noise = (self.reseed.is_some() && at > 0).then_some(self.noise);
                members.push(Member { network: Cached::new(game, network), noise });
            }
            if self.reseed.is_some() {
                break;
            }
        }
        Ok(members)
    }
}

fn of_player<G: Solved>(
    network: &NetworkFile,
    game: &G,
    player: usize,
    path: &Path,
) -> Result<BoardNet, LearnError> {
    let unfit = |why| LearnError::Unfit(path.to_owned(), why);
    BoardNet::of_player(network, game, player).map_err(unfit)
}
