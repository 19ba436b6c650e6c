//! Every option with its range and meaning. The source of each constant of the search stands beside its
//! default, in [`mcts::Params`].

use super::entry::{Choice, Effect, Entry, Kind};
use crate::options::settings::{Backend, PaperAgent, Search, TeamRule, WorldModel};
use crate::world::rules::Scoring;
use mcts::{FinalMove, Fpu};

macro_rules! check {
    ($($field:ident).+) => {
        Kind::Check { get: |s| s.$($field).+, set: |s, value| s.$($field).+ = value }
    };
}

macro_rules! spin {
    ($($field:ident).+: $type:ty, $min:literal to $max:literal) => {
        Kind::Spin {
            min: $min,
            max: $max,
            get: |s| s.$($field).+ as i64,
            set: |s, value| s.$($field).+ = value as $type,
        }
    };
}

macro_rules! real {
    ($($field:ident).+, $min:literal to $max:literal) => {
        Kind::Real { min: $min, max: $max, get: |s| s.$($field).+, set: |s, value| s.$($field).+ = value }
    };
}

macro_rules! combo {
    ($($field:ident).+: $type:ty) => {
        Kind::Combo {
            names: <$type>::names,
            get: |s| s.$($field).+.name(),
            set: |s, name| <$type>::named(name).map(|value| s.$($field).+ = value),
        }
    };
}

macro_rules! text {
    ($($field:ident).+) => {
        Kind::Text { get: |s| &s.$($field).+, set: |s, value| s.$($field).+ = value.to_owned() }
    };
}

/// The players of the engine itself. [`crate::Engine`] refuses names that are neither theirs nor registered.
fn own_searches() -> Vec<&'static str> {
    Search::OWN.iter().map(|(name, _)| *name).collect()
}

/// Options that GUIs list, in their order: those of players and of GUIs, twenty at most.
pub static EVERYDAY: &[Entry] = &[
    Entry {
        name: "Hash",
        kind: spin!(hash_mb: usize, 1 to 1_048_576),
        effect: Effect::None,
        help: "Memory for the search tree, in MB. The network, its cache and about 100 MB come on top.",
    },
    Entry {
        name: "Clear Hash",
        kind: Kind::Button,
        effect: Effect::Forget,
        help: "Clears the search tree and the evaluation cache.",
    },
    Entry {
        name: "Threads",
        kind: spin!(threads: usize, 1 to 1024),
        effect: Effect::CheckThreads,
        help: "Number of search threads, at most one for each processor core.",
    },
    Entry {
        name: "MultiPV",
        kind: spin!(multipv: usize, 1 to 256),
        effect: Effect::None,
        help: "Number of best lines to report, each searched by itself.",
    },
    Entry {
        name: "Ponder",
        kind: check!(ponder),
        effect: Effect::None,
        help: "The GUI lets the engine think on the opponent's time, so each move may use a little more of its own.",
    },
    Entry {
        name: "Move Overhead",
        kind: spin!(move_overhead: i64, 0 to 5_000),
        effect: Effect::None,
        help: "Time reserved for communication with the GUI, in milliseconds; never more than 5 % of the clock.",
    },
    Entry {
        name: "WeightsFile",
        kind: text!(weights_file),
        effect: Effect::None,
        help: "Path of a network file; empty for the built-in network, which also plays if the file cannot be used.",
    },
    Entry {
        name: "Search",
        kind: Kind::Combo {
            names: own_searches,
            get: |s| s.search.name(),
            set: |s, name| {
                s.search = Search::named(name);
                Some(())
            },
        },
        effect: Effect::NewTree,
        help: "How the move is chosen: `mcts`, the tree search; one head of the network without search; `rollout`, tree search with random games in place of the network; `internal`, a tree that the network writes over positions it imagines; `alpha-beta`, a conventional alpha-beta search with a small network of its own.",
    },
    Entry {
        name: "BlunderCheck",
        kind: check!(blunder_check),
        effect: Effect::None,
        help: "After the tree search has chosen, an alpha-beta search asks in a fifth of the move's time whether the move loses 4 points of win probability against another, which is played then. At full strength and by the rules alone.",
    },
    Entry {
        name: "WorldModel",
        kind: combo!(world_model: WorldModel),
        effect: Effect::NewTree,
        help: "Where the tree search looks ahead: by the rules of chess, or in positions imagined by the network, which take up to as much memory again as `Hash`. `learned-twice` evaluates each imagined position once more: stronger, half as fast.",
    },
    Entry {
        name: "Temperature",
        kind: real!(temperature, 0.0 to 10.0),
        effect: Effect::None,
        help: "Randomness in the first moves of a game, drawn by visits, values or policy, whichever decides; 0 plays the best move. The conventional players know only that.",
    },
    Entry {
        name: "SyzygyPath",
        kind: text!(syzygy_path),
        effect: Effect::FindTables,
        help: "Folders of Syzygy endgame tables, divided by `;` (or, not on Windows, by `:`); those of up to four pieces are built in.",
    },
    Entry {
        name: "UCI_Chess960",
        kind: check!(chess960),
        effect: Effect::None,
        help: "Chess960: castling is written as king takes rook.",
    },
    Entry {
        name: "UCI_ShowWDL",
        kind: check!(show_wdl),
        effect: Effect::None,
        help: "Adds win, draw and loss probabilities (per mille) to `info`.",
    },
    Entry {
        name: "UCI_LimitStrength",
        kind: check!(limit_strength),
        effect: Effect::None,
        help: "Plays as strongly as `UCI_Elo` says, with a human's errors, in the tree search alone; not in an endless one and not with `UCI_AnalyseMode`.",
    },
    Entry {
        name: "UCI_Elo",
        kind: spin!(elo: u32, 1000 to 2800),
        effect: Effect::None,
        help: "Rating to play at with `UCI_LimitStrength`, on the scale of Stockfish's since its version 16.",
    },
    Entry {
        name: "UCI_AnalyseMode",
        kind: check!(analyse_mode),
        effect: Effect::None,
        help: "The GUI analyses: `UCI_LimitStrength`, `Contempt` and `Temperature` have no effect.",
    },
    Entry {
        name: "VerboseMoveStats",
        kind: check!(verbose_move_stats),
        effect: Effect::None,
        help: "Prints statistics of every root move before the best move, in lc0's format.",
    },
    Entry {
        name: "LogLiveStats",
        kind: check!(log_live_stats),
        effect: Effect::None,
        help: "Prints the same statistics with every report during a search.",
    },
    Entry {
        name: "Log File",
        kind: text!(log_file),
        effect: Effect::OpenLog,
        help: "File that records every line between GUI and engine, with its time.",
    },
];

/// The option that is listed where there are several graphics cards.
pub const ADAPTER: &str = "Device";

/// Options for a few users, and constants for experiments: always understood, listed by `--show-hidden`.
pub static HIDDEN: &[Entry] = &[
    Entry {
        name: "NNCacheSize",
        kind: spin!(nn_cache_mb: usize, 0 to 65_536),
        effect: Effect::None,
        help: "Memory for cached network evaluations, in MB; 0 turns the cache off.",
    },
    Entry {
        name: "Backend",
        kind: combo!(backend: Backend),
        effect: Effect::None,
        help: "Device that runs the network: `gpu`, a graphics card by its own driver, in a build with the feature `gpu`; `cuda`, an NVIDIA card by CUDA, in a build with that feature; `burn-cpu`, the CPU by burn's general kernels, far slower. `auto` takes a card if it is four times as fast as the CPU's threads.",
    },
    Entry {
        name: ADAPTER,
        kind: spin!(adapter: u8, 0 to 64),
        effect: Effect::None,
        help: "Number of the graphics card that `Backend` `auto` or `gpu` uses, as `mavka doctor` lists them; 0 for the best. GUIs list it where there are several.",
    },
    Entry {
        name: "CPuct",
        kind: real!(tree.c_puct, 0.0 to 16.0),
        effect: Effect::NewTree,
        help: "Exploration constant of PUCT; it grows with the number of visits.",
    },
    Entry {
        name: "PolicyTemperature",
        kind: real!(tree.policy_temperature, 0.1 to 10.0),
        effect: Effect::NewTree,
        help: "Temperature of the policy head in the prior: above 1 the search looks at more moves.",
    },
    Entry {
        name: "Contempt",
        kind: spin!(contempt: i32, -50 to 50),
        effect: Effect::NewTree,
        help: "How much less than half a point a draw is worth to the engine, in hundredths: above 0 it avoids draws, below 0 it seeks them. In the tree search alone; not in an endless one and not with `UCI_AnalyseMode`.",
    },
    Entry {
        name: "TemperatureMoves",
        kind: spin!(temperature_moves: u32, 0 to 1000),
        effect: Effect::None,
        help: "Last move number to which `Temperature` applies.",
    },
    Entry {
        name: "Seed",
        kind: spin!(seed: u64, 0 to 2_147_483_647),
        effect: Effect::Reseed,
        help: "Seed of the moves drawn by `Temperature`: setting it again repeats them; 0 draws others each time.",
    },
    Entry {
        name: "SyzygyProbeLimit",
        kind: spin!(syzygy_probe_limit: usize, 0 to 7),
        effect: Effect::NewTree,
        help: "Most pieces on the board, kings included, for which the endgame tables are asked.",
    },
    Entry {
        name: "PerPVCounters",
        kind: check!(per_pv_counters),
        effect: Effect::None,
        help: "With `MultiPV`, `nodes` is each line's own visits, as in lc0, in place of all of them.",
    },
    Entry {
        name: "InternalBreadth",
        kind: spin!(breadth: u8, 2 to 5),
        effect: Effect::None,
        help: "Moves that the internal search expands at each position.",
    },
    Entry {
        name: "InternalDepth",
        kind: spin!(depth: u8, 0 to 3),
        effect: Effect::None,
        help: "Plies that the internal search looks ahead; 0 plays the first move of the network's list.",
    },
    Entry {
        name: "Rollouts",
        kind: spin!(rollouts: usize, 1 to 10_000),
        effect: Effect::None,
        help: "Random games for each leaf of `Search` `uct`.",
    },
    Entry {
        name: "TracePruning",
        kind: check!(trace_pruning),
        effect: Effect::None,
        help: "The internal search leaves out positions that cannot change its choice (alpha-beta), unless several lines are asked for.",
    },
    Entry {
        name: "TraceMask",
        kind: check!(trace_mask),
        effect: Effect::None,
        help: "Words that do not fit the shape of an internal search cannot be written.",
    },
    Entry {
        name: "TraceByHand",
        kind: check!(trace_by_hand),
        effect: Effect::None,
        help: "Exact minimax over the network's answers writes the internal search; off, the decoder does.",
    },
    Entry {
        name: "PaperAgent",
        kind: combo!(paper_agent: PaperAgent),
        effect: Effect::NewTree,
        help: "The tree search of paper 000 without additions: priors and values by the action values alone, 16 positions in flight from the start, no mate in one by the rules, no blunder check. Its virtual counts are dynamic, or static ones of 10.",
    },
    Entry {
        name: "Team",
        kind: spin!(team: usize, 1 to 10),
        effect: Effect::None,
        help: "Players of the tree search, each with a tree of its own in an even share of `Hash` and of the playouts; one of them moves. Not with `UCI_LimitStrength`.",
    },
    Entry {
        name: "TeamRule",
        kind: combo!(team_rule: TeamRule),
        effect: Effect::None,
        help: "Which player of the team moves: the one with the most visits, the best value, the best lower confidence bound, or the lowest value within a gap of the best one, which is the largest exploration term of all moves or of the players' best.",
    },
    Entry {
        name: "TeamFiles",
        kind: text!(team_files),
        effect: Effect::None,
        help: "Network files of the players after the first, divided by `;`. Players beyond the list are the further ones of the file in `WeightsFile`, or share its network.",
    },
    Entry {
        name: "TeamNoise",
        kind: real!(team_noise, 0.0 to 1.0),
        effect: Effect::None,
        help: "Share of Dirichlet noise in the root's priors of a player with the network of an earlier one.",
    },
    Entry {
        name: "CPuctFactor",
        kind: real!(tree.c_factor, 0.0 to 16.0),
        effect: Effect::NewTree,
        help: "Growth of the exploration constant with the logarithm of the visits.",
    },
    Entry {
        name: "RootPolicyTemperature",
        kind: real!(tree.root_policy_temperature, 0.0 to 10.0),
        effect: Effect::NewTree,
        help: "`PolicyTemperature` at the root; 0 for the same.",
    },
    Entry {
        name: "PolicyShare",
        kind: real!(tree.policy_share, 0.0 to 1.0),
        effect: Effect::NewTree,
        help: "Weight of the policy head in the prior; the action values have the rest.",
    },
    Entry {
        name: "PriorTemperature",
        kind: real!(tree.tau, 0.001 to 10.0),
        effect: Effect::NewTree,
        help: "Softmax temperature of the action values in the prior.",
    },
    Entry {
        name: "PriorTopK",
        kind: spin!(tree.top_k: usize, 1 to 256),
        effect: Effect::NewTree,
        help: "Number of moves with the highest action values that share this softmax.",
    },
    Entry {
        name: "PriorEpsilon",
        kind: real!(tree.epsilon, 0.0 to 1.0),
        effect: Effect::NewTree,
        help: "Share of the action-value prior spread evenly over all legal moves.",
    },
    Entry {
        name: "FPU",
        kind: combo!(tree.fpu: Fpu),
        effect: Effect::NewTree,
        help: "Value of a move that was never visited: the network's action value, or the value of the position it is played in.",
    },
    Entry {
        name: "StateValueShare",
        kind: real!(state_value_share, 0.0 to 1.0),
        effect: Effect::NewTree,
        help: "Weight of the state-value head in the value backed up; the best action value has the rest.",
    },
    Entry {
        name: "Scoring",
        kind: combo!(scoring: Scoring),
        effect: Effect::NewTree,
        help: "Value taken from a predicted distribution: its mean, or the centre of its most likely bucket.",
    },
    Entry {
        name: "FinalMove",
        kind: combo!(tree.final_move: FinalMove),
        effect: Effect::NewTree,
        help: "The move played: the most visited, or the one with the highest value.",
    },
    Entry {
        name: "MovesLeft",
        kind: spin!(moves_left: i64, 5 to 100),
        effect: Effect::None,
        help: "Moves that a game is taken to last from here on, where no time control says so; 32 at least without increment.",
    },
    Entry {
        name: "MinibatchSize",
        kind: spin!(minibatch_size: usize, 0 to 1024),
        effect: Effect::NewTree,
        help: "Positions a thread gathers before it runs the network; 0 for what suits the device.",
    },
];
