//! Batches: runs that are stopped or killed, and collections without an end.

use super::{GAMES, analyst, fresh, of, sound, task, written};
use crate::analyse::collection::Batches;
use crate::analyse::run::{AnalysisTask, journal_path, run};
use crate::analyse::sees::NetworkView;
use crate::pgn::{PgnEntry, read_games};
use crate::process::files::part_of;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

/// Four times the games and one that is copied, in batches of three.
fn in_batches() -> Batches<'static> {
    let text = format!("{GAMES}\n[Variant \"Atomic\"]\n\n1. e4 *\n\n").repeat(4);
    Batches::new(read_games(&text, 1).into_iter().map(Ok), 3)
}

fn view() -> NetworkView<'static> {
    &|_| None
}

#[test]
fn an_interrupted_analysis_resumes_to_the_same_bytes() {
    let out = fresh("interrupted");
    let page = out.with_extension("html");
    let analyst = analyst();
    let task = AnalysisTask { html: Some((&page, view())), ..task(&out) };
    let polls = AtomicUsize::new(0);
    let count = || {
        polls.fetch_add(1, Ordering::Relaxed);
        false
    };
    let counted = AnalysisTask { stop: &count, ..task };
    let (outcome, whole) = written(in_batches(), &analyst, &counted);
    let all = polls.into_inner();
    assert_eq!((outcome.tally.games, outcome.tally.copied), (16, 4));
    let whole = [whole, fs::read_to_string(&page).unwrap()];
    assert_eq!(whole[1].matches("<section ").count(), 16);

    // Stopped again and again after a quarter of the work: each run goes further, and leaves sound files.
    let (mut runs, mut games) = (0, 0);
    loop {
        let polls = AtomicUsize::new(0);
        let stop = || polls.fetch_add(1, Ordering::Relaxed) > all / 4;
        let outcome = run(in_batches(), &analyst, &AnalysisTask { stop: &stop, ..task }).unwrap();
        assert!(outcome.tally.all() >= games && !part_of(&out).exists());
        (runs, games) = (runs + 1, outcome.tally.all());
        assert!(runs < 50, "no progress");
        let [part, page] = [&out, &page].map(|path| fs::read_to_string(path).unwrap());
        assert_eq!(read_games(&part, 1).len(), games);
        assert!(page.ends_with("</html>\n"));
        if !outcome.stopped {
            assert_eq!([part, page], whole);
            break;
        }
    }
    assert!(runs > 3, "{runs}");

    // Killed at any time: what the files are meanwhile is resumed, with half a line in the journal.
    let files = [&out, &page].map(|path| part_of(path));
    for moment in (0..5).map(|part| all * part / 5) {
        let polls = AtomicUsize::new(0);
        let copy = |path: &Path| PathBuf::from(format!("{}.copy", path.display()));
        let stop = || {
            if polls.fetch_add(1, Ordering::Relaxed) == moment {
                // In this order: the outputs are never shorter than the journal says.
                fs::copy(journal_path(&out), copy(&journal_path(&out))).unwrap();
                for file in &files {
                    fs::copy(file, copy(file)).unwrap();
                }
            }
            false
        };
        run(in_batches(), &analyst, &AnalysisTask { stop: &stop, ..task }).unwrap();
        fs::rename(copy(&journal_path(&out)), journal_path(&out)).unwrap();
        files.iter().for_each(|file| fs::rename(copy(file), file).unwrap());
        let journal = fs::read_to_string(journal_path(&out)).unwrap();
        if journal.lines().count() > 1 {
            fs::write(journal_path(&out), &journal[..journal.len() - 20]).unwrap();
        }
        let resumed = written(in_batches(), &analyst, &task).1;
        assert!([resumed, fs::read_to_string(&page).unwrap()] == whole, "{moment}");
    }
    fs::remove_file(&page).unwrap();
}

#[test]
fn a_collection_without_an_end_is_analysed_batch_by_batch() {
    let out = fresh("endless");
    let page = out.with_extension("html");
    let games = sound("1. e4 e5 *\n\n1. d4 *\n");
    let read = AtomicUsize::new(0);
    let endless = || {
        let entries = games.iter().cycle().map(|game| {
            read.fetch_add(1, Ordering::Relaxed);
            Ok(PgnEntry::Game(Box::new(game.clone())))
        });
        Batches::new(entries, 10)
    };
    let stop = || read.load(Ordering::Relaxed) > 100;
    let task = AnalysisTask { stop: &stop, ..task(&out) };
    let outcome = run(endless(), &analyst(), &task).unwrap();
    assert!(outcome.stopped && outcome.tally.games > 90, "{outcome:?}");
    assert_eq!(fs::read_to_string(&out).unwrap().matches("*\n").count(), outcome.tally.games);
    // The results of the games that are written are gone.
    let journal = fs::read_to_string(journal_path(&out)).unwrap();
    assert!(journal.lines().count() < 5, "{journal}");
    let fault = |batches: Batches<'_>, html| {
        run(batches, &analyst(), &AnalysisTask { html, ..task }).unwrap_err().to_string()
    };
    for games in [of(&games), Batches::new(read_games(GAMES, 1).into_iter().cycle().map(Ok), 10)] {
        let why = fault(games, None);
        assert!(why.contains("is of other games"), "{why}");
    }
    let why = fault(endless(), Some((&page, view())));
    assert!(why.contains("without --html") && !page.exists(), "{why}");
    assert_eq!(fs::read_to_string(journal_path(&out)).unwrap(), journal);
    fs::remove_file(journal_path(&out)).unwrap();
    fs::remove_file(&out).unwrap();
}
