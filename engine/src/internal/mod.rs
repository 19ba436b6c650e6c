//! Internal search (paper 000, section 4): the network writes its own search tree as text. The next node, breadth and
//! depth, backup, decision and stopping are words of a trace; a node's board and move list are separate passes of the
//! network, which never see the trace. Below the root no rule of chess is used.
//!
//! [`page`] is the evaluation of a node, [`boards`] computes it, [`think`] is the loop between boards and writer.
//! [`grammar`] is the grammar of traces, [`teacher`] writes one by exact minimax. [`print`](mod@print) and [`parse`]
//! convert a thought to the paper's text and back, [`check`] compares it with the rules of chess, [`tree`](mod@tree) prints
//! it for people, [`svg`] draws it.

pub mod boards;
pub mod check;
pub mod grammar;
pub mod page;
pub mod parse;
pub mod print;
pub mod svg;
pub mod teacher;
pub mod think;
pub mod tree;

/// The beginning of a tree of two moves, up to the state after the first one: for tests.
#[cfg(test)]
const TWO_MOVES: &str = "Minimax breadth=2 depth=1
    Evaluation for node: <root>
    <mav game=chess> %state %top_all %best_action </mav>
    [%state 7k/8/8/8/8/8/8/K7 w]
    [%top_all a1a2:<ctrl34> a1b1:<ctrl32>]
    [%best_action a1a2]
    Expand from node <root>:
    <root a1a2>
    <root a1b1>
    Evaluation for node: <root a1a2>
    <mav game=chess> %prev_state %prev_action %state %top_all %best_action </mav>
    [%prev_state 7k/8/8/8/8/8/8/K7 w]
    [%prev_action a1a2]
    ";
