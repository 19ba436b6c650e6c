//! The players of a team and their searches, each with a tree of its own: what the engine's options `TeamFiles` and
//! `TeamNoise` name.

use super::analyst::{Analyst, Effort};
use super::network::{NetworkError, Networks};
use super::tree::params::reseed;
use crate::options::settings::{Backend, Settings};
use crate::team::share;
use chess::action::Action;
use chess::game::Game;
use mcts::Snapshot;
use nn::EvalError;
use std::ops::ControlFlow;
use std::path::PathBuf;

/// Memory of a player's tree, in MB.
const HASH_MB: usize = 32;

/// Which players there are, and how much they search.
#[derive(Clone, Debug)]
pub struct LineupPlan {
    /// Player 0's network; the built-in one without it.
    pub weights: Option<PathBuf>,
    /// Networks of the players after the first. Those beyond the list have player 0's network and noise.
    pub files: Vec<PathBuf>,
    /// Players.
    pub players: usize,
    /// Share of the root noise, in [0, 1].
    pub noise: f32,
    /// Playouts of player 0 alone.
    pub nodes: u64,
}

/// Players ready to search.
pub struct Lineup {
    players: Vec<LineupPlayer>,
    nodes: u64,
}

struct LineupPlayer {
    analyst: Analyst,
    settings: Settings,
    /// Share of noise; none for the first player of a network.
    noise: Option<f32>,
}

/// The players' results at one budget.
pub struct BudgetResults {
    /// By player.
    pub players: Vec<Snapshot<Action>>,
}

impl Lineup {
    /// Opens the networks.
    ///
    /// # Errors
    /// Names the one that cannot be used.
    pub fn open(networks: &dyn Networks, plan: &LineupPlan) -> Result<Lineup, NetworkError> {
        let names: Vec<String> = plan.files.iter().map(|file| file.display().to_string()).collect();
        let weights = plan.weights.as_ref().map(|file| file.display().to_string());
        let first = Settings {
            threads: 1,
            hash_mb: HASH_MB,
            blunder_check: false,
            backend: Backend::Cpu,
            weights_file: weights.unwrap_or_default(),
            team: plan.players,
            team_files: names.join(";"),
            ..Settings::default()
        };
        let open = |settings: &Settings| Analyst::new(networks, settings.clone());
        let analyst = open(&first)?;
        let others = first.other_players(analyst.players());
        let mut players = vec![LineupPlayer { analyst, settings: first.clone(), noise: None }];
        for weights_file in others {
            let settings = Settings { weights_file, ..first.clone() };
            let known =
                players.iter().find(|player| player.settings.weights_file == settings.weights_file);
            let analyst = match known {
                Some(player) => player.analyst.sibling(),
                None => open(&settings)?,
            };
            let shared = players.iter().any(|player| player.analyst.network() == analyst.network());
            players.push(LineupPlayer { analyst, settings, noise: shared.then_some(plan.noise) });
        }
        Ok(Lineup { players, nodes: plan.nodes })
    }

    /// The same players with trees of their own, for another thread.
    #[must_use]
    pub fn sibling(&self) -> Lineup {
        let sibling = |player: &LineupPlayer| LineupPlayer {
            analyst: player.analyst.sibling(),
            settings: player.settings.clone(),
            noise: player.noise,
        };
        Lineup { players: self.players.iter().map(sibling).collect(), nodes: self.nodes }
    }

    /// Number of players.
    #[must_use]
    pub fn players(&self) -> usize {
        self.players.len()
    }

    /// Player 0's network, for humans.
    #[must_use]
    pub fn network(&self) -> &str {
        self.players.first().map_or("", |player| player.analyst.network())
    }

    /// A line for each player: its network and its noise.
    pub fn names(&self) -> impl Iterator<Item = String> {
        self.players.iter().enumerate().map(|(at, player)| {
            let noise = player.noise.map(|noise| format!(", root noise {noise}"));
            format!("player {at}: {}{}", player.analyst.network(), noise.unwrap_or_default())
        })
    }

    /// The result of every player with its share of the playouts, and with all of them. Nothing is kept from before.
    ///
    /// # Errors
    /// A network failed.
    pub fn look(&mut self, game: &Game) -> Result<Vec<BudgetResults>, EvalError> {
        let mut looks = [Vec::new(), Vec::new()];
        for at in 0..self.players.len() {
            let share = share(self.nodes, self.players.len(), at);
            let player = &mut self.players[at];
            if let Some(noise) = player.noise {
                let mut settings = player.settings.clone();
                reseed(&mut settings.tree, at, game, noise);
                player.analyst.set_settings(settings);
            }
            player.analyst.forget();
            // The second search continues the tree of the first.
            for (look, nodes) in looks.iter_mut().zip([share, self.nodes - share]) {
                let found = if nodes == 0 {
                    Snapshot::default()
                } else {
                    let effort = Effort::Nodes(nodes);
                    let watch = &mut |_: &mcts::View<'_, _>| ControlFlow::Continue(());
                    player.analyst.search(game, effort, watch)?
                };
                look.push(found);
            }
        }
        Ok(looks.into_iter().map(|players| BudgetResults { players }).collect())
    }
}
