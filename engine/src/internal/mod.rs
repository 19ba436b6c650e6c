//! Internal search (paper 000, section 4): the network writes its own search tree. Which node comes next, how
//! wide and how deep, what is backed up, what is decided and when to stop are words of a trace that a writer
//! writes; a node's board and list are the network's own passes, which never see the trace. Below the root no
//! rule of chess is asked.
//!
//! [`page`] is what is known of a node, [`boards`] has the network answer it, [`think`] is the loop between
//! boards and writer. [`grammar`] knows the shape that a trace should have, [`teacher`] writes one by hand.
//! [`print`](mod@print) and [`parse`] turn a thought into the paper's text and back, [`check`] compares it with the rules of
//! chess, [`svg`] draws it.

pub mod boards;
pub mod check;
pub mod grammar;
pub mod page;
pub mod parse;
pub mod print;
pub mod svg;
pub mod teacher;
pub mod think;
