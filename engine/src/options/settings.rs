//! The options' current values, as the rest of the engine reads them.
//!
//! Every default is written once: those of the search in [`mcts::Params`], the others here. How an
//! option is named, read and documented is the table's matter, [`crate::options`].

pub use crate::team::TeamRule;
pub use crate::world::WorldModel;
use crate::world::rules::Scoring;
use mcts::Params;
pub use nn::device::Backend;

/// Moves a game without time control is taken to last from here on. Games decided it: 18 beats 32 by 44 ± 36 Elo
/// at 2 s + 0.02 s, and 11 is too few (`docs/src/search.md`). Stockfish has 50, lc0 51.5 (median), and both spend more
/// than an even share at first.
pub const MOVES_LEFT: i64 = 18;

/// How the move is chosen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Search {
    /// Monte-Carlo tree search with the network (paper 000, section 3).
    Mcts,
    /// The network's best action value, no search.
    ActionValue,
    /// The move after which the value head gives the opponent the lowest value, no further search.
    StateValue,
    /// The network's policy, no search.
    Policy,
    /// Tree search without a network: values come from random games.
    Rollout,
    /// A search tree written word by word (paper 000, section 4).
    Internal,
    /// Alpha-beta search with a small network of static evaluations ([`alphabeta`]).
    AlphaBeta,
    /// A player that the executable registers under this name ([`crate::play::players::player::Players`]).
    Registered(String),
}

impl Search {
    /// The engine's own players, each by its name.
    pub const OWN: [(&str, Search); 7] = [
        ("mcts", Search::Mcts),
        ("action-value", Search::ActionValue),
        ("state-value", Search::StateValue),
        ("policy", Search::Policy),
        ("rollout", Search::Rollout),
        ("internal", Search::Internal),
        ("alpha-beta", Search::AlphaBeta),
    ];

    /// The player of this name, in any case; one of the executable's if it is not the engine's own.
    #[must_use]
    pub fn named(name: &str) -> Search {
        let own = Search::OWN.into_iter().find(|(own, _)| own.eq_ignore_ascii_case(name));
        own.map_or_else(|| Search::Registered(name.to_ascii_lowercase()), |(_, search)| search)
    }

    /// Its name.
    #[must_use]
    pub fn name(&self) -> &str {
        match self {
            Search::Registered(name) => name,
            own => Search::OWN.iter().find(|(_, other)| other == own).map_or("", |(name, _)| name),
        }
    }

    /// The network has a say in the moves.
    #[must_use]
    pub fn asks_network(&self) -> bool {
        !matches!(self, Search::Rollout | Search::AlphaBeta | Search::Registered(_))
    }

    /// A search without the network that knows its best move alone.
    #[must_use]
    pub fn is_conventional(&self) -> bool {
        matches!(self, Search::AlphaBeta | Search::Registered(_))
    }
}

/// The agent of paper 000 as it is described there, without what Mavka adds to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PaperAgent {
    /// Mavka's own search.
    Off,
    /// Dynamic virtual counts (section 3.2).
    Dynamic,
    /// The paper's baseline: static virtual counts of 10 (appendix A.3).
    Static,
}

impl PaperAgent {
    /// Leaves in flight (appendix A.3).
    pub const BATCH: usize = 16;
}

/// The value of every option.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    /// Memory of the search tree, in MB.
    pub hash_mb: usize,
    /// Memory of the evaluation cache, in MB; 0 for none.
    pub nn_cache_mb: usize,
    /// Search threads.
    pub threads: usize,
    /// Lines to report.
    pub multipv: usize,
    /// The GUI will let the engine ponder.
    pub ponder: bool,
    /// Castling is written king takes rook.
    pub chess960: bool,
    /// Win, draw and loss probabilities are shown.
    pub show_wdl: bool,
    /// Print every move's statistics at the end of a search.
    pub verbose_move_stats: bool,
    /// The same while it runs.
    pub log_live_stats: bool,
    /// Each of several lines tells its own visits as its nodes.
    pub per_pv_counters: bool,
    /// Moves are for study: best play, whatever strength or randomness is set.
    pub analyse_mode: bool,
    /// Plays as strongly as `elo` says.
    pub limit_strength: bool,
    /// Rating to play at.
    pub elo: u32,
    /// Milliseconds.
    pub move_overhead: i64,
    /// Moves that a game without time control is taken to last from here on.
    pub moves_left: i64,
    /// Empty = one of the two built into the executable: the smaller at a clock, the larger without.
    pub weights_file: String,
    /// Device that computes the network.
    pub backend: Backend,
    /// Number of the graphics card among [`nn::device::adapters`], from 1; 0 = the best.
    pub adapter: u8,
    /// How the move is chosen.
    pub search: Search,
    /// Moves expanded at each node of an internal search.
    pub breadth: u8,
    /// Plies that an internal search looks ahead.
    pub depth: u8,
    /// An internal search leaves out boards that cannot change its choice.
    pub trace_pruning: bool,
    /// Words that do not fit a tree's shape cannot be written.
    pub trace_mask: bool,
    /// The tree is written by the teacher, not by the decoder.
    pub trace_by_hand: bool,
    /// Random games for each leaf of `Search` `uct`.
    pub rollouts: usize,
    /// The world in which the search follows a move.
    pub world_model: WorldModel,
    /// Positions in a minibatch; 0 = what the device prefers.
    pub minibatch_size: usize,
    /// Constants of the tree search. [`crate::play::tree::params`] sets `batch` and `contempt` for each search.
    pub tree: Params,
    /// Weight of the state-value head in the value backed up, 0 to 1.
    pub state_value_share: f32,
    /// Which summary of a predicted distribution counts.
    pub scoring: Scoring,
    /// The tree search is the bare one of paper 000.
    pub paper_agent: PaperAgent,
    /// An alpha-beta search checks the tree search's move (`play::search::blunder_check`).
    pub blunder_check: bool,
    /// Players of the tree search, each with a tree of its own (paper 003); 1 = no team.
    pub team: usize,
    /// Which of them moves.
    pub team_rule: TeamRule,
    /// Network files of the players after the first, divided by `;`.
    pub team_files: String,
    /// Root noise of players that share an earlier player's network, 0 to 1.
    pub team_noise: f32,
    /// [`Params::contempt`] in hundredths of a point, without `UCI_AnalyseMode`.
    pub contempt: i32,
    /// 0 = always the best move.
    pub temperature: f32,
    /// Number of the last move the temperature applies to.
    pub temperature_moves: u32,
    /// 0 = another one each time.
    pub seed: u64,
    /// Folders of endgame tables beside the bundled ones.
    pub syzygy_path: String,
    /// Most pieces of a position that is looked up; 0 = none is.
    pub syzygy_probe_limit: usize,
    /// Empty = no log file.
    pub log_file: String,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings {
            hash_mb: 64,
            nn_cache_mb: 16,
            threads: 2,
            multipv: 1,
            ponder: false,
            chess960: false,
            show_wdl: false,
            verbose_move_stats: false,
            log_live_stats: false,
            per_pv_counters: false,
            analyse_mode: false,
            limit_strength: false,
            elo: 1500,
            move_overhead: 50,
            moves_left: MOVES_LEFT,
            weights_file: String::new(),
            backend: Backend::Auto,
            adapter: 0,
            search: Search::Mcts,
            breadth: 4,
            depth: 3,
            trace_pruning: true,
            trace_mask: true,
            trace_by_hand: false,
            rollouts: 100,
            world_model: WorldModel::Rules,
            minibatch_size: 0,
            tree: Params::default(),
            // Tuned by 60 games at 100 nodes.
            state_value_share: 0.5,
            scoring: Scoring::Mean,
            paper_agent: PaperAgent::Off,
            blunder_check: true,
            team: 1,
            team_rule: TeamRule::Value,
            team_files: String::new(),
            // AlphaZero's for self-play.
            team_noise: 0.25,
            contempt: 0,
            temperature: 0.0,
            temperature_moves: 5,
            seed: 0,
            syzygy_path: String::new(),
            syzygy_probe_limit: 7,
            log_file: String::new(),
        }
    }
}

impl Settings {
    /// The search looks ahead in positions imagined by the network.
    #[must_use]
    pub fn imagines(&self) -> bool {
        self.search == Search::Mcts && self.world_model != WorldModel::Rules
    }

    /// The tree search's moves are checked for blunders, where it plays by the rules and at full strength.
    #[must_use]
    pub fn checks_blunders(&self) -> bool {
        let bare = self.paper_agent != PaperAgent::Off;
        self.blunder_check && self.search == Search::Mcts && !self.imagines() && !bare
    }

    /// Positions in a minibatch that the options ask for; None = what the device prefers.
    #[must_use]
    pub fn minibatch(&self) -> Option<usize> {
        match (self.minibatch_size, self.paper_agent) {
            (0, PaperAgent::Off) => None,
            (0, _) => Some(PaperAgent::BATCH),
            (size, _) => Some(size),
        }
    }

    /// Players that search: more than one in the tree search with the network alone.
    #[must_use]
    pub fn players(&self) -> usize {
        if self.search == Search::Mcts { self.team.max(1) } else { 1 }
    }

    /// The network files of the players after the first: those that are named, the further ones of the `own` players in the first one's
    /// file, and that file again.
    pub fn other_players(&self, own: usize) -> impl Iterator<Item = String> {
        let named = self.team_files.split(';').map(str::trim).filter(|file| !file.is_empty());
        let further = (1..own).map(|player| format!("{}#{player}", self.weights_file));
        let again = std::iter::repeat_with(|| self.weights_file.clone());
        named.map(str::to_owned).chain(further).chain(again).take(self.players() - 1)
    }
}
