//! The blunder check: after the tree search has chosen, [`AlphaBeta`] searches whether the chosen move loses win
//! probability against another one. A move that loses a margin or more is replaced by the better one.
//!
//! It runs after the tree search, never beside it, and has a small share of the move's time.

use alphabeta::scale::win;
use alphabeta::{AlphaBeta, Comparison, SearchRequest, SearchResult};
use chess::action::Action;
use chess::game::Game;
use shakmaty::Chess;

/// Win probability that a move must lose to be replaced. 0.04 is stronger than 0.1 at 1 s + 0.01 s
/// (`docs/src/search.md`).
pub const MARGIN: f32 = 0.04;
/// Share of a move's time that the check has. Guess.
pub const SHARE: f64 = 0.2;
/// Positions that it visits for each playout of the tree search where no clock runs, so that such a search repeats
/// itself: about the same share. Guess.
pub const POSITIONS_PER_PLAYOUT: u64 = 20;
/// Plies that must have been searched: a shallower search refutes nothing. Guess.
const LEAST_DEPTH: u32 = 6;

/// A move that loses against another one.
#[derive(Clone, Debug, PartialEq)]
pub struct Refutation {
    /// The better move and what follows it.
    pub better: Vec<Action>,
    /// The opponent's reply to the refuted move, if the search has one.
    pub reply: Option<Action>,
    /// Win probability of the better move.
    pub win: f32,
    /// Plies to a mate by the better move; negative if the mover is mated all the same.
    pub mate_plies: Option<i32>,
    /// Win probability that the refuted move loses, at least.
    pub loss: f32,
}

/// The alpha-beta search's opinion of a position.
#[derive(Clone, Debug, PartialEq)]
pub struct Examination {
    /// Its best move and what follows it.
    pub best: Vec<Action>,
    /// Win probability of that move.
    pub win: f32,
    /// Plies to a mate by it; negative if the mover is mated all the same.
    pub mate_plies: Option<i32>,
    /// Its case against the chosen move.
    pub refutation: Option<Refutation>,
}

/// One check of one move.
pub struct BlunderCheck<'a> {
    /// Its last position is searched.
    pub game: &'a Game,
    /// The root's moves to choose from; empty = all.
    pub allowed: &'a [Action],
    /// Whether the search ends after this many positions.
    pub is_over: &'a dyn Fn(u64) -> bool,
}

impl BlunderCheck<'_> {
    /// Compares `chosen` with the best move of an alpha-beta search. None if it stands. Blocks.
    #[must_use]
    pub fn refute(&self, chosen: Action, alpha_beta: &mut AlphaBeta) -> Option<Refutation> {
        self.examine(chosen, alpha_beta)?.refutation
    }

    /// Searches the position, and compares `chosen` with the best move. None if the search was too shallow. Blocks.
    #[must_use]
    pub fn examine(&self, chosen: Action, alpha_beta: &mut AlphaBeta) -> Option<Examination> {
        let request = SearchRequest {
            position: self.game.position(),
            allowed: self.allowed,
            lines: 1,
            compare: Some(Comparison { action: chosen, margin: MARGIN }),
        };
        let keys = self.game.keys().iter().copied();
        let mut watch = Watch { is_over: self.is_over, nodes: 0 };
        let found = alpha_beta.search(keys, &request, &mut watch)?;
        let refutation = refutation(chosen, &found);
        let best = &found.best;
        (found.depth >= LEAST_DEPTH || best.mate_plies().is_some()).then(|| Examination {
            best: best.line.clone(),
            win: win(best.score),
            mate_plies: best.mate_plies(),
            refutation,
        })
    }
}

/// A search's objection to `chosen`.
fn refutation(chosen: Action, found: &SearchResult) -> Option<Refutation> {
    let best = &found.best;
    let compared = found.compared.as_ref()?;
    if found.depth < LEAST_DEPTH || best.line.first() == Some(&chosen) {
        return None;
    }
    let loss = win(best.score) - win(compared.score);
    (loss >= MARGIN).then(|| Refutation {
        better: best.line.clone(),
        reply: compared.line.get(1).copied(),
        win: win(best.score),
        mate_plies: best.mate_plies(),
        loss,
    })
}

struct Watch<'a> {
    is_over: &'a dyn Fn(u64) -> bool,
    nodes: u64,
}

impl alphabeta::Observer for Watch<'_> {
    fn is_over(&mut self, positions: u64, _: &Chess) -> bool {
        self.nodes += positions;
        (self.is_over)(self.nodes)
    }

    fn on_depth(&mut self, _: &SearchResult) {}
}

#[cfg(test)]
mod tests {
    use super::*;
    use alphabeta::bundled::nnue;

    fn check(fen: &str, chosen: &str, allowed: &[&str]) -> Option<(String, Option<String>)> {
        let game = Game::from_fen(fen, false).unwrap();
        let named = |name: &str| {
            game.legal_actions().into_iter().find(|action| game.uci(*action) == name).unwrap()
        };
        let allowed: Vec<Action> = allowed.iter().map(|name| named(name)).collect();
        let mut alpha_beta = AlphaBeta::new(nnue().unwrap(), 1 << 16);
        let is_over = &|positions| positions >= 20_000;
        let check = BlunderCheck { game: &game, allowed: &allowed, is_over };
        let chosen = named(chosen);
        let refuted = check.refute(chosen, &mut alpha_beta)?;
        assert!(refuted.loss >= MARGIN);
        let mut after = game.clone();
        after.play(chosen).unwrap();
        Some((game.uci(refuted.better[0]), refuted.reply.map(|reply| after.uci(reply))))
    }

    #[test]
    fn a_hanging_queen_is_seen_and_a_good_move_stands() {
        // After 1 e4 e5 2 Qh5 Nc6 the queen may take the pawn on f7, where the king takes it.
        let fen = "r1bqkbnr/pppp1ppp/2n5/4p2Q/4P3/8/PPPP1PPP/RNB1KBNR w KQkq - 2 3";
        let (better, reply) = check(fen, "h5f7", &[]).unwrap();
        assert_ne!(better, "h5f7");
        assert_eq!(reply.as_deref(), Some("e8f7"));
        assert_eq!(check(fen, "f1c4", &[]), None);
    }

    #[test]
    fn nothing_is_better_where_nothing_else_may_be_played() {
        let fen = "r1bqkbnr/pppp1ppp/2n5/4p2Q/4P3/8/PPPP1PPP/RNB1KBNR w KQkq - 2 3";
        assert_eq!(check(fen, "h5f7", &["h5f7"]), None);
        let (better, _) = check(fen, "h5f7", &["h5f7", "f1c4"]).unwrap();
        assert_eq!(better, "f1c4");
    }
}
