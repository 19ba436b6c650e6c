//! State kept from one search to the next: the tree of each player with its share of the memory, the alpha-beta
//! search, and what was learnt of the clock and the machine.

use super::kept_tree::{KeptTree, Plan, Root};
use crate::options::settings::{Search, Settings};
use crate::play::clock::lag::Lag;
use crate::play::clock::{TimeSettings, TimeUse};
use crate::play::network::Network;
use crate::process::host;
use crate::world::AnyWorld;
use alphabeta::bundled::nnue;
use alphabeta::{AlphaBeta, table};
use chess::action::Action;
use chess::game::Game;
use chess::syzygy::Tables;
use mcts::{Control, Outcome};
use nn::EvalError;
use std::fmt;
use std::iter;
use std::time::Duration;

/// The search between two moves. Belongs to the engine, and to the search's thread while that runs.
#[derive(Default)]
pub struct SearchSession {
    /// Player 0's: the only one without a team.
    tree: KeptTree,
    /// Those of the team's other players.
    others: Vec<KeptTree>,
    /// The memory that was asked for.
    wanted: HashSplit,
    /// The transposition table's part of what was got, in MB.
    table_mb: usize,
    /// Time of one evaluation in recent searches: on a busy machine more than when the network was loaded.
    evaluation_time: Duration,
    /// How the game's moves used their time so far.
    time_use: TimeUse,
    /// Time lost outside the searches; the machine's, so a new game begins with it.
    lag: Lag,
    /// The alpha-beta search with its transposition table.
    alpha_beta: Option<AlphaBeta>,
    /// Counts of the blunder check in this game.
    blunders: BlunderCount,
}

/// Entries of a transposition table at least: 1 MB.
const LEAST_ENTRIES: usize = 1 << 16;

/// Divisor of `Hash` for the blunder check's transposition table. Guess.
const CHECKS_SHARE: usize = 8;

/// How `Hash` is divided, in MB.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct HashSplit {
    /// All trees.
    tree: usize,
    /// Alpha-beta's transposition table.
    table: usize,
    /// Trees that share theirs evenly.
    trees: usize,
}

impl HashSplit {
    fn of(settings: &Settings) -> HashSplit {
        let table = match settings.search {
            Search::AlphaBeta => settings.hash_mb,
            _ if settings.checks_blunders() => settings.hash_mb / CHECKS_SHARE,
            _ => 0,
        };
        HashSplit { tree: settings.hash_mb - table, table, trees: settings.players() }
    }

    fn total(self) -> usize {
        self.tree + self.table
    }

    /// The table's share of `granted` MB.
    fn table_of(self, granted: usize) -> usize {
        let share = self.table as u64 * granted as u64 / self.total().max(1) as u64;
        usize::try_from(share).unwrap_or(granted)
    }
}

/// Moves of a game that the blunder check has seen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BlunderCount {
    /// All that were checked.
    pub checked: u32,
    /// Those that were not played.
    pub replaced: u32,
}

/// Less memory than was asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HashShortage {
    wanted_mb: usize,
    got_mb: usize,
}

impl fmt::Display for HashShortage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let HashShortage { wanted_mb, got_mb } = self;
        write!(f, "Hash {wanted_mb} MB is more than this machine has free; using {got_mb} MB")
    }
}

impl SearchSession {
    /// Forgets everything but the memory.
    pub fn clear(&mut self) {
        self.trees().for_each(KeptTree::clear);
        self.time_use = TimeUse::default();
        self.blunders = BlunderCount::default();
        if let Some(alpha_beta) = &mut self.alpha_beta {
            alpha_beta.clear();
        }
    }

    /// The players' trees, player 0's first.
    pub fn trees(&mut self) -> impl Iterator<Item = &mut KeptTree> {
        iter::once(&mut self.tree).chain(&mut self.others)
    }

    /// The alpha-beta search, with the transposition table that was reserved. None if its network is damaged.
    pub fn alpha_beta(&mut self) -> Option<&mut AlphaBeta> {
        if self.alpha_beta.is_none() {
            let nnue = nnue().inspect_err(|why| log::warn!("no alpha-beta search: {why}")).ok()?;
            let entries = ((self.table_mb << 20) / table::ENTRY_BYTES).max(LEAST_ENTRIES);
            self.alpha_beta = Some(AlphaBeta::new(nnue, 1 << entries.ilog2()));
        }
        self.alpha_beta.as_mut()
    }

    /// Reserves the memory of the search that `settings` ask for. Answers what was missing, the first time it is asked for.
    pub fn reserve(&mut self, settings: &Settings) -> Option<HashShortage> {
        let wanted = HashSplit::of(settings);
        if self.wanted == wanted {
            return None;
        }
        let shortage = self.reserve_of(wanted, host::available_mb());
        if wanted.table > 0 {
            self.alpha_beta();
        }
        shortage
    }

    /// The same on a machine with `free_mb`; None where it does not say.
    fn reserve_of(&mut self, wanted: HashSplit, free_mb: Option<usize>) -> Option<HashShortage> {
        let held_mb = self.held_mb();
        let granted = host::granted_mb(wanted.total(), held_mb, free_mb);
        // Before the rest is cleared: its table is made anew.
        self.alpha_beta = None;
        self.clear();
        self.wanted = wanted;
        self.table_mb = wanted.table_of(granted);
        self.others.clear();
        self.others.resize_with(wanted.trees.saturating_sub(1), KeptTree::default);
        let bytes = ((granted - self.table_mb) << 20) / wanted.trees.max(1);
        self.trees().for_each(|tree| tree.resize(bytes));
        let got_mb = self.held_mb();
        let wanted_mb = wanted.total();
        (granted < wanted_mb).then_some(HashShortage { wanted_mb, got_mb })
    }

    /// Memory of trees and table.
    fn held_mb(&mut self) -> usize {
        (self.trees().map(|tree| tree.bytes()).sum::<usize>() >> 20) + self.table_mb
    }

    /// Makes the last position of `game` the root of player 0's tree search by `settings`, in memory reserved for it:
    /// [`KeptTree::set_root`].
    pub fn set_root(
        &mut self,
        network: &Network,
        settings: &Settings,
        tables: Option<Tables>,
        game: &Game,
    ) -> Root {
        let shortage = self.reserve(settings);
        let mut root = self.tree.set_root(network, settings, tables, game);
        root.warnings.splice(..0, shortage.map(|shortage| shortage.to_string()));
        root
    }

    /// A move was checked for a blunder, and `replaced` or not. Answers the game's counts.
    pub fn count_check(&mut self, replaced: bool) -> BlunderCount {
        self.blunders.checked += 1;
        self.blunders.replaced += u32::from(replaced);
        self.blunders
    }

    /// The part of the options and the game so far in a move's budget.
    #[must_use]
    pub fn time_settings(&self, settings: &Settings) -> TimeSettings {
        TimeSettings {
            overhead: settings.move_overhead,
            moves_left: settings.moves_left,
            ponder: settings.ponder,
            time_use: self.time_use,
            reserve: self.lag.reserve(),
            overrun: self.lag.overrun(),
        }
    }

    /// The lag of the moves before.
    pub fn lag(&mut self) -> &mut Lag {
        &mut self.lag
    }

    /// A move took `used` of its soft limit `soft`.
    pub fn learn_time_use(&mut self, used: Duration, soft: Duration) {
        self.time_use.learn(used, soft);
    }

    /// Time of one evaluation: as measured at loading, or longer if recent searches saw it take longer.
    #[must_use]
    pub fn evaluation_time(&self, at_loading: Duration) -> Duration {
        self.evaluation_time.max(at_loading)
    }

    /// Player 0 searches from `root`, as [`SearchSession::set_root`] returned it; blocks.
    pub fn run(
        &mut self,
        root: &Root,
        plan: &Plan<'_>,
        control: &dyn Control<AnyWorld>,
    ) -> Outcome<Action, EvalError> {
        self.tree.run(root, plan, control)
    }

    /// Learns from a search on `threads` that took `taken` how long an evaluation takes.
    pub fn learn_speed(
        &mut self,
        search: &Outcome<Action, EvalError>,
        threads: usize,
        taken: Duration,
    ) {
        if let Ok(playouts @ 1..) = u32::try_from(search.snapshot.playouts) {
            let lanes = u32::try_from(threads).unwrap_or(1).min(playouts);
            self.evaluation_time = (self.evaluation_time + taken * lanes / playouts) / 2;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hash_beyond_the_machine_is_reported_once_and_cut() {
        let mut session = SearchSession::default();
        let wild = HashSplit { tree: 1_048_576, table: 0, trees: 1 };
        // 256 MB are left to others, so a tree of 2 MB is reserved.
        let shortage = session.reserve_of(wild, Some(258)).unwrap();
        assert!((1..=2).contains(&shortage.got_mb), "{shortage}");
        let got = shortage.got_mb;
        assert_eq!(
            shortage.to_string(),
            format!("Hash 1048576 MB is more than this machine has free; using {got} MB")
        );
        let settings = Settings { hash_mb: 1_048_576, blunder_check: false, ..Settings::default() };
        assert_eq!(session.reserve(&settings), None, "asked for already");
        assert_eq!(session.reserve_of(HashSplit { tree: 1, table: 0, trees: 1 }, Some(1000)), None);
    }

    #[test]
    fn a_hash_that_is_cut_is_divided_as_one_that_is_not() {
        let mut session = SearchSession::default();
        let settings = Settings { hash_mb: 1_048_576, ..Settings::default() };
        let wanted = HashSplit::of(&settings);
        assert!(wanted.table > 0, "the blunder check has a share");
        session.reserve_of(wanted, Some(256 + 64)).unwrap();
        let tree_mb = session.tree.bytes() >> 20;
        assert!((54..=56).contains(&tree_mb) && session.table_mb == 8, "{tree_mb} MB of tree");
        let settings = Settings { search: Search::AlphaBeta, ..settings };
        let mut session = SearchSession::default();
        session.reserve_of(HashSplit::of(&settings), Some(256 + 64)).unwrap();
        assert_eq!(session.table_mb, 64, "all of it");
    }

    #[test]
    fn the_alpha_beta_player_has_the_hash_for_its_table() {
        let mut session = SearchSession::default();
        let settings = Settings { hash_mb: 4, search: Search::AlphaBeta, ..Settings::default() };
        assert_eq!(session.reserve(&settings), None);
        assert!(session.tree.bytes() < 1 << 20);
        assert_eq!(session.table_mb, 4);
        assert!(session.alpha_beta.is_some(), "made before the first search");
        let settings = Settings { hash_mb: 64, blunder_check: true, ..Settings::default() };
        assert_eq!(session.reserve(&settings), None);
        assert!((54..=56).contains(&(session.tree.bytes() >> 20)));
        assert_eq!((session.table_mb, session.alpha_beta.is_some()), (8, true));
    }

    #[test]
    fn a_team_divides_the_hash_evenly() {
        let mut session = SearchSession::default();
        let settings = Settings { hash_mb: 32, team: 4, ..Settings::default() };
        assert_eq!(session.reserve(&settings), None);
        let megabytes: Vec<usize> = session.trees().map(|tree| tree.bytes() >> 20).collect();
        assert!(
            megabytes.len() == 4 && megabytes.iter().all(|mb| (6..=7).contains(mb)),
            "{megabytes:?}"
        );
        let settings = Settings { team: 1, ..settings };
        assert_eq!(session.reserve(&settings), None);
        assert_eq!(session.trees().count(), 1);
    }
}
