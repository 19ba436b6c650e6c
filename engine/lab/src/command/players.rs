//! `mavka-lab players`: arguments and output of [`crate::diversity`].

use crate::diversity::games::{Plan, PolicyGame, play};
use crate::diversity::standing::{DiversityStanding, own_pieces, standings};
use crate::plots::boards::{self, Board};
use clap::Args;
use engine::command::output::{Failure, StdoutSink};
use engine::play::network::NetworkError;
use engine::process::errors::FileError;
use engine::process::files::write_whole;
use engine::process::interrupt::raised_by_ctrl_c;
use engine::process::progress::progress;
use engine::process::workers::{WorkerLimits, cores, deal};
use nn::Evaluator;
use nn::checkpoint::Network;
use nn::evaluator::cpu::CpuEvaluator;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Games of one thread's batch.
const PART: usize = 32;
/// Difference from the mean of the team, in pieces a square, that has the full colour in the picture.
const FULL: f64 = 0.1;

/// Play games of a network's players against each other and tell how they differ
///
/// The games are those of the policies, without search. Writes what each player is paid for boards that its nearest neighbour has less often
/// (paper 003, Eq. 8), which `mavka-lab train` takes.
#[derive(Args, Clone, Debug)]
pub struct PlayersArgs {
    /// A network
    file: PathBuf,
    /// Players; if the network has not as many, they begin as its first one, all of them [default: those of the network]
    #[arg(long, value_name = "K", value_parser = clap::value_parser!(u8).range(2..=16))]
    players: Option<u8>,
    /// File of rewards to write (JSON)
    #[arg(long, value_name = "FILE")]
    out: PathBuf,
    /// Games
    #[arg(long, default_value_t = 4000, value_name = "N")]
    games: u64,
    /// Distance between players at which nothing is paid (ℓ₀)
    #[arg(long, default_value_t = 0.4, value_name = "D")]
    distance: f64,
    /// Plies of a game whose moves are drawn from the policy; the likeliest move later
    #[arg(long, default_value_t = 30, value_name = "N")]
    drawn_plies: usize,
    /// Plies after which a game ends
    #[arg(long, default_value_t = 80, value_name = "N")]
    plies: usize,
    /// Seed of all games
    #[arg(long, default_value_t = 1, value_name = "N")]
    seed: u64,
    /// Draw the players' pieces into this SVG
    #[arg(long, value_name = "FILE")]
    plot: Option<PathBuf>,
}

impl PlayersArgs {
    /// Plays, measures, writes and prints.
    ///
    /// # Errors
    /// The network cannot be used, has one player or fails, or a file cannot be written.
    pub fn run(self) -> Result<(), Failure> {
        let team = self.team()?;
        let plan =
            Plan { drawn_plies: self.drawn_plies, plies: self.plies.max(1), seed: self.seed };
        let numbers: Vec<u64> = (0..self.games.max(1)).collect();
        let parts: Vec<&[u64]> = numbers.chunks(PART).collect();
        let bar = progress(numbers.len());
        let stop = raised_by_ctrl_c()?;
        let crew = WorkerLimits { count: cores(), stop: &stop };
        let start = || Ok(|part: &&[u64]| play(&team, plan, part));
        let mut played: Vec<(u64, Vec<PolicyGame>)> = Vec::new();
        let done = deal(&parts, crew, start, |part, games| {
            bar.inc(part.len() as u64);
            played.push((part[0], games));
            Ok(())
        });
        bar.finish_and_clear();
        done?;
        // Sums of floats depend on the order.
        played.sort_by_key(|(first, _)| *first);
        let games: Vec<PolicyGame> = played.into_iter().flat_map(|(_, games)| games).collect();
        let Some(found) = standings(&games, team.len(), self.distance.max(1e-3)) else {
            return Err(format!("{} games: a player has not moved, play more", games.len()).into());
        };
        let text = serde_json::to_string(&found.rewards)?;
        write_whole(&self.out, text + "\n").map_err(FileError::of(&self.out))?;
        let mut out = StdoutSink::default();
        out.say("player  games  nearest  distance");
        for (player, DiversityStanding { neighbour, games, .. }) in found.players.iter().enumerate()
        {
            let (nearest, distance) = (neighbour.player, neighbour.distance);
            out.say(format_args!("{player:6}  {games:5}  {nearest:7}  {distance:8.3}"));
        }
        if let Some(path) = &self.plot {
            draw(&found.players, path)?;
        }
        out.end()
    }

    /// The players' evaluators.
    fn team(&self) -> Result<Vec<Arc<dyn Evaluator>>, Failure> {
        let network = Network::load(&self.file)
            .map_err(|why| NetworkError::File { path: self.file.clone(), why })?;
        let held = network.layout.config.players;
        let players = self.players.map_or(held, usize::from);
        if players < 2 {
            let path = self.file.display();
            return Err(
                format!("{path} has one player: say how many there are to be, --players").into()
            );
        }
        let own =
            (0..if players == held { held } else { 1 }).filter_map(|at| network.of_player(at));
        let own: Vec<Arc<dyn Evaluator>> =
            own.map(|own| Arc::new(CpuEvaluator::fastest(&own)) as Arc<dyn Evaluator>).collect();
        Ok(own.iter().cycle().take(players).cloned().collect())
    }
}

fn draw(players: &[DiversityStanding], path: &Path) -> Result<(), Failure> {
    let board = |(player, standing): (usize, &DiversityStanding)| Board {
        title: format!(
            "player {player}: distance {:.2} from {}",
            standing.neighbour.distance, standing.neighbour.player
        ),
        cells: own_pieces(&standing.occupancy),
    };
    let boards: Vec<Board> = players.iter().enumerate().map(board).collect();
    Ok(boards::draw(&boards, 8, FULL, path)?)
}
