//! Parses the arguments of `go`: limits in any order, each optional.
//!
//! A number too large for its limit becomes the largest one; a negative number is kept for a time and becomes
//! zero for a count. Fractions are truncated. A word that is not a number drops its limit; if no limit is left,
//! the search ends at once, because an endless one would lose on time. Given twice, the later one counts.

use super::words::{Skipped, Words, as_move, quote};
use crate::command::Go;
use std::ops::RangeInclusive;

/// Destination of a keyword's value.
enum Slot<'a> {
    Flag(&'a mut bool),
    Time(&'a mut Option<i64>),
    Count(&'a mut Option<u32>),
    Nodes(&'a mut Option<u64>),
    Moves(&'a mut Vec<String>),
}

/// The destination of a keyword; None for any other word.
fn slot<'a>(go: &'a mut Go, word: &str) -> Option<Slot<'a>> {
    Some(match word.to_ascii_lowercase().as_str() {
        "searchmoves" => Slot::Moves(&mut go.searchmoves),
        "ponder" => Slot::Flag(&mut go.ponder),
        "infinite" => Slot::Flag(&mut go.infinite),
        "wtime" => Slot::Time(&mut go.wtime),
        "btime" => Slot::Time(&mut go.btime),
        "winc" => Slot::Time(&mut go.winc),
        "binc" => Slot::Time(&mut go.binc),
        "movestogo" => Slot::Count(&mut go.movestogo),
        "depth" => Slot::Count(&mut go.depth),
        "nodes" => Slot::Nodes(&mut go.nodes),
        "mate" => Slot::Count(&mut go.mate),
        "movetime" => Slot::Time(&mut go.movetime),
        "perft" => Slot::Count(&mut go.perft),
        _ => return None,
    })
}

fn is_keyword(word: &str) -> bool {
    slot(&mut Go::default(), word).is_some()
}

/// Parses every limit it can and notes the rest.
pub(super) fn read(mut words: Words, notes: &mut Vec<String>) -> Go {
    let mut go = Go::default();
    let mut skipped = Skipped::default();
    let mut dropped = false;
    while let Some(word) = words.next() {
        match slot(&mut go, word) {
            None => skipped.push(word),
            Some(Slot::Flag(flag)) => *flag = true,
            Some(Slot::Time(time)) => {
                dropped |= !set(time, i64::MIN..=i64::MAX, word, &mut words, notes);
            }
            Some(Slot::Count(count)) => {
                dropped |= !set(count, 0..=u32::MAX, word, &mut words, notes);
            }
            Some(Slot::Nodes(nodes)) => {
                dropped |= !set(nodes, 0..=u64::MAX, word, &mut words, notes);
            }
            Some(Slot::Moves(moves)) => {
                while let Some(word) = words.peek().filter(|next| !is_keyword(next)) {
                    match as_move(word) {
                        Some(text) => moves.push(text),
                        None => skipped.push(word),
                    }
                    words.next();
                }
                if moves.is_empty() {
                    notes.push("go: `searchmoves` names no move; all are searched".to_owned());
                }
            }
        }
    }
    skipped.note("go", notes);
    if dropped && !is_limited(&go) {
        notes.push("go: no limit can be read; answering after one node".to_owned());
        go.nodes = Some(1);
    }
    go
}

/// Whether anything limits the search, or `infinite` or `ponder` requests an endless one.
fn is_limited(go: &Go) -> bool {
    let Go { infinite, wtime, btime, winc, binc, depth, nodes, mate, movetime, perft, .. } = go;
    let time = [wtime, btime, winc, binc, movetime].iter().any(|time| time.is_some());
    *infinite || time || [depth, mate, perft].iter().any(|count| count.is_some()) || nodes.is_some()
}

/// Takes the next word as the number of `keyword`, unless it is a keyword itself. A number outside `range` is
/// clamped. False without a number.
fn set<T: TryFrom<i128> + Copy + std::fmt::Display>(
    limit: &mut Option<T>,
    range: RangeInclusive<T>,
    keyword: &str,
    words: &mut Words,
    notes: &mut Vec<String>,
) -> bool {
    let keyword = quote(keyword);
    let Some(word) = words.peek().filter(|next| !is_keyword(next)) else {
        notes.push(format!("go: {keyword} has no number; this limit is dropped"));
        return false;
    };
    words.next();
    let Some(number) = number(word) else {
        let word = quote(word);
        notes.push(format!("go: {keyword} wants a number, not {word}; this limit is dropped"));
        return false;
    };
    *limit = Some(T::try_from(number).unwrap_or_else(|_| {
        let bound = *if number < 0 { range.start() } else { range.end() };
        let word = quote(word);
        notes.push(format!("go: {keyword} cannot be {word}; taken as {bound}"));
        bound
    }));
    true
}

/// Decimal digits with or without a sign, of any length, or a decimal fraction, which is truncated; None for
/// anything else.
fn number(word: &str) -> Option<i128> {
    let word = match word.split_once('.') {
        Some((whole, fraction)) if fraction.bytes().all(|digit| digit.is_ascii_digit()) => whole,
        _ => word,
    };
    let (sign, digits) = match word.as_bytes() {
        [b'-', digits @ ..] => (-1, digits),
        [b'+', digits @ ..] | digits => (1, digits),
    };
    if digits.is_empty() || !digits.iter().all(u8::is_ascii_digit) {
        return None;
    }
    Some(digits.iter().fold(0_i128, |number, digit| {
        number.saturating_mul(10).saturating_add(sign * i128::from(digit - b'0'))
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn noted(text: &str) -> (Go, Vec<String>) {
        let mut notes = Vec::new();
        let go = read(Words::new(text), &mut notes);
        (go, notes)
    }

    #[track_caller]
    fn clear(text: &str) -> Go {
        let (go, notes) = noted(text);
        assert!(notes.is_empty(), "{text}: {notes:?}");
        go
    }

    #[test]
    fn no_limit_at_all_is_a_go() {
        assert_eq!(clear(""), Go::default());
    }

    #[test]
    fn every_limit_is_read_in_any_order() {
        let expected = Go {
            searchmoves: vec!["e2e4".to_owned(), "e7e8q".to_owned()],
            ponder: true,
            infinite: true,
            wtime: Some(1),
            btime: Some(2),
            winc: Some(3),
            binc: Some(4),
            movestogo: Some(5),
            depth: Some(6),
            nodes: Some(7),
            mate: Some(8),
            movetime: Some(9),
            perft: Some(10),
        };
        let limits = [
            "searchmoves e2e4 e7e8q",
            "ponder",
            "infinite",
            "wtime 1",
            "btime 2",
            "winc 3",
            "binc 4",
            "movestogo 5",
            "depth 6",
            "nodes 7",
            "mate 8",
            "movetime 9",
            "perft 10",
        ];
        for turn in 0..limits.len() {
            let mut turned = limits;
            turned.rotate_left(turn);
            assert_eq!(clear(&turned.join(" ")), expected);
            turned.reverse();
            assert_eq!(clear(&turned.join("  ")), expected);
        }
    }

    #[test]
    fn fractions_are_cut_off() {
        let go = clear("wtime 300000.0 btime -12.75 depth 6.");
        assert_eq!((go.wtime, go.btime, go.depth), (Some(300_000), Some(-12), Some(6)));
    }

    #[test]
    fn a_go_whose_limits_are_all_unreadable_is_answered_at_once() {
        for text in [
            "depth x",
            "wtime 1e5 btime ?",
            "depth",
            "searchmoves e2e4 nodes 3.x",
            "ponder wtime .",
        ] {
            let (go, notes) = noted(text);
            assert_eq!(go.nodes, Some(1), "{text}");
            assert!(notes.iter().any(|note| note.contains("no limit can be read")), "{notes:?}");
        }
        for text in ["depth x movetime 5", "infinite depth x", "perft 2 nodes x"] {
            assert_eq!(noted(text).0.nodes, None, "{text}");
        }
    }

    #[test]
    fn keywords_are_read_in_any_case() {
        assert_eq!(
            clear("Depth 3 INFINITE"),
            Go { depth: Some(3), infinite: true, ..Go::default() }
        );
    }

    #[test]
    fn depth_300_and_movestogo_300_are_numbers_like_others() {
        assert_eq!(
            clear("depth 300 movestogo 300"),
            Go { depth: Some(300), movestogo: Some(300), ..Go::default() }
        );
        assert_eq!(clear("mate 300"), Go { mate: Some(300), ..Go::default() });
    }

    #[test]
    fn ponder_survives_the_clocks_behind_it() {
        let go = clear("ponder wtime 1000 btime 2000");
        assert_eq!((go.ponder, go.wtime, go.btime), (true, Some(1000), Some(2000)));
    }

    #[test]
    fn ponder_and_movetime_are_both_kept() {
        let go = clear("ponder movetime 15000");
        assert_eq!((go.ponder, go.movetime), (true, Some(15000)));
    }

    #[test]
    fn movetime_survives_the_clocks_beside_it() {
        for text in ["wtime 1000 movetime 50", "movetime 50 wtime 1000"] {
            let go = clear(text);
            assert_eq!((go.wtime, go.movetime), (Some(1000), Some(50)));
        }
    }

    #[test]
    fn one_clock_alone_is_enough() {
        assert_eq!(clear("wtime 100"), Go { wtime: Some(100), ..Go::default() });
        assert_eq!(clear("btime 100"), Go { btime: Some(100), ..Go::default() });
    }

    #[test]
    fn negative_times_are_times() {
        let go = clear("wtime -50 btime -9223372036854775808 winc -1 movetime -7");
        assert_eq!(
            (go.wtime, go.btime, go.winc, go.movetime),
            (Some(-50), Some(i64::MIN), Some(-1), Some(-7))
        );
    }

    #[test]
    fn zeros_pass_through() {
        let go = clear("depth 0 nodes 0 mate 0 movetime 0 movestogo 0 perft 0");
        assert_eq!(
            (go.depth, go.nodes, go.mate, go.movetime),
            (Some(0), Some(0), Some(0), Some(0))
        );
        assert_eq!((go.movestogo, go.perft), (Some(0), Some(0)));
    }

    #[test]
    fn clocks_beyond_32_bits_are_exact() {
        assert_eq!(clear("wtime 4294967297 btime 2147483648").wtime, Some(4_294_967_297));
        assert_eq!(clear("nodes 18446744073709551615").nodes, Some(u64::MAX));
    }

    #[test]
    fn huge_numbers_become_the_largest_and_are_noted() {
        let huge = "9".repeat(400);
        let (go, notes) =
            noted(&format!("wtime {huge} btime -{huge} depth {huge} nodes {huge} mate 4294967296"));
        assert_eq!((go.wtime, go.btime), (Some(i64::MAX), Some(i64::MIN)));
        assert_eq!((go.depth, go.nodes, go.mate), (Some(u32::MAX), Some(u64::MAX), Some(u32::MAX)));
        assert_eq!(notes.len(), 5);
        assert_eq!(notes[4], "go: `mate` cannot be `4294967296`; taken as 4294967295");
    }

    #[test]
    fn counts_below_zero_are_zero_and_noted() {
        let (go, notes) = noted("depth -5 nodes -1");
        assert_eq!((go.depth, go.nodes), (Some(0), Some(0)));
        assert_eq!(notes[0], "go: `depth` cannot be `-5`; taken as 0");
    }

    #[test]
    fn numeric_garbage_drops_its_limit_only() {
        for garbage in ["x", "1.x", ".", "1e6", "12x", "-", "+", "--1", "0x10", "1,000", "٣"] {
            let (go, notes) = noted(&format!("depth {garbage} nodes 9"));
            assert_eq!(go, Go { nodes: Some(9), ..Go::default() }, "{garbage}");
            assert_eq!(
                notes,
                [format!("go: `depth` wants a number, not `{garbage}`; this limit is dropped")]
            );
        }
    }

    #[test]
    fn signs_and_leading_zeros_are_numbers() {
        assert_eq!(clear("depth +7 movetime -0050").movetime, Some(-50));
        assert_eq!(clear(&format!("depth {}7", "0".repeat(300))).depth, Some(7));
    }

    #[test]
    fn a_missing_number_does_not_swallow_the_next_keyword() {
        let (go, notes) = noted("wtime movetime 100 depth");
        assert_eq!(go, Go { movetime: Some(100), ..Go::default() });
        assert_eq!(
            notes,
            [
                "go: `wtime` has no number; this limit is dropped",
                "go: `depth` has no number; this limit is dropped"
            ]
        );
    }

    #[test]
    fn unknown_tokens_are_skipped_and_noted() {
        let (go, notes) = noted("joho depth 3 e2e4 nodes 4 now");
        assert_eq!(go, Go { depth: Some(3), nodes: Some(4), ..Go::default() });
        assert_eq!(notes, ["go: skipped `joho`, `e2e4`, `now`"]);
    }

    #[test]
    fn given_twice_the_later_counts() {
        assert_eq!(clear("depth 3 depth 4").depth, Some(4));
        assert_eq!(noted("depth 3 depth x").0.depth, Some(3));
        assert_eq!(clear("searchmoves e2e4 searchmoves d2d4").searchmoves, ["e2e4", "d2d4"]);
    }

    #[test]
    fn searchmoves_end_at_the_next_keyword() {
        let go = clear("searchmoves e2e4 d2d4 depth 5 infinite");
        assert_eq!(
            (go.searchmoves, go.depth, go.infinite),
            (vec!["e2e4".into(), "d2d4".into()], Some(5), true)
        );
    }

    #[test]
    fn a_damaged_searchmove_is_skipped_and_the_others_kept() {
        let (go, notes) = noted("searchmoves e2e4 e7e9 g1f3 depth 2");
        assert_eq!(go.searchmoves, ["e2e4", "g1f3"]);
        assert_eq!(go.depth, Some(2));
        assert_eq!(notes, ["go: skipped `e7e9`"]);
    }

    #[test]
    fn searchmoves_without_a_move_is_noted() {
        let (go, notes) = noted("searchmoves depth 5");
        assert_eq!(go, Go { depth: Some(5), ..Go::default() });
        assert_eq!(notes, ["go: `searchmoves` names no move; all are searched"]);
    }
}
