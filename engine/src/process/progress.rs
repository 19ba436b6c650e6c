//! The bar on stderr that long commands show: how far, how long, and how long still.

use super::interrupt::answer_when;
use super::stderr_log::write_stderr;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// A bar for `things` items; its owner may set a message.
#[must_use]
pub fn progress(things: usize) -> ProgressBar {
    let bar = ProgressBar::with_draw_target(Some(things as u64), ProgressDrawTarget::stderr());
    let style = ProgressStyle::with_template("{bar:30} {pos}/{len} {msg} [{elapsed}, {eta} left]");
    if let Ok(style) = style {
        bar.set_style(style);
    }
    bar
}

/// A bar for work of `units`, which are not shown: items of unequal length.
#[must_use]
pub fn weighted(units: u64) -> ProgressBar {
    let bar = ProgressBar::with_draw_target(Some(units), ProgressDrawTarget::stderr());
    let style = ProgressStyle::with_template("{bar:30} {percent} % {msg} [{elapsed}, {eta} left]");
    if let Ok(style) = style {
        bar.set_style(style);
    }
    bar
}

/// For as many things as there turn out to be: how many so far, what, and how long.
#[must_use]
pub fn tally(what: &'static str) -> ProgressBar {
    let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr()).with_message(what);
    let style = ProgressStyle::with_template("{pos} {msg} [{elapsed}]");
    if let Ok(style) = style {
        bar.set_style(style);
    }
    bar
}

/// Says as soon as Ctrl-C has raised the flag that games are being ended, which may take as long as a game.
pub fn answer_ctrl_c(raised: &Arc<AtomicBool>, bar: &ProgressBar) {
    let bar = bar.clone();
    answer_when(raised, move || {
        let line = "ending the games in progress; Ctrl-C again leaves at once";
        if bar.is_hidden() { write_stderr(line) } else { bar.println(line) }
    });
}
