//! The decoder by hand against its twin, its file, and masks.

use super::batch::Batch;
use super::decoder::{Decoder, DecoderWeights, Logits};
use super::layout::Layout;
use super::twin::Twin;
use super::word::NAMES;
use super::{Allowed, Backup, Kind, Shape, Step, Trace, Writer};
use crate::encode::MoveCode;
use crate::rng::Rng;
use burn::tensor::Device;
use std::sync::Arc;

/// A tree of two moves and one ply; `each` sees it before every written word.
fn grow(seed: u64, mut each: impl FnMut(&Trace)) -> Trace {
    let mut rng = Rng::new(seed);
    let mut list = |length: usize| -> Vec<(MoveCode, u8)> {
        let mut number = |end| rng.below(end) as u8;
        let code = |from, to| MoveCode { from, to, promotion: 0 };
        (0..length).map(|_| (code(number(64), number(64)), number(64))).collect()
    };
    let backup = if seed.is_multiple_of(2) { Backup::AlphaBeta } else { Backup::Minimax };
    let mut trace = Trace::new(Shape { breadth: 2, depth: 1 }, backup);
    let first = list(2 + seed as usize % 5);
    trace.give_list(&first);
    let items = 2..2 + first.len();
    let mut write = |trace: &mut Trace, kind, source, bucket| {
        each(trace);
        trace.write(Step { kind, source, bucket }).unwrap();
        trace.words().len() - 1
    };
    let expand = write(&mut trace, Kind::Expand, items.end, 0);
    let children = [0, 1].map(|i| write(&mut trace, Kind::Child, items.start + i, 0));
    for child in children {
        write(&mut trace, Kind::Eval, child, 0);
        match list(1).first() {
            Some((_, bucket)) if bucket % 4 == 0 => trace.give_over(0),
            _ => trace.give_list(&list(3)),
        }
        let head = trace.words().len() - 1;
        write(&mut trace, Kind::Decide, head, 0);
        let bucket = trace.words()[head].bucket.unwrap();
        write(&mut trace, Kind::Select, head, bucket);
    }
    write(&mut trace, Kind::Decide, expand, 0);
    let scores = children.map(|child| write(&mut trace, Kind::Score, child, 10 + child as u8));
    let select = write(&mut trace, Kind::Select, scores[1], 10 + children[1] as u8);
    write(&mut trace, Kind::Play, select, 0);
    trace
}

pub(super) fn sample(seed: u64) -> Trace {
    grow(seed, |_| ())
}

#[test]
fn the_decoder_by_hand_answers_as_its_twin() {
    let weights = Arc::new(DecoderWeights::untrained(3));
    let mut read: Vec<Vec<(usize, Logits)>> = Vec::new();
    let traces: Vec<Trace> = (0..3)
        .map(|seed| {
            let mut decoder = Decoder::new(weights.clone());
            let mut own = Vec::new();
            let trace =
                grow(seed, |trace| own.push((trace.words().len() - 1, decoder.logits(trace))));
            read.push(own);
            trace
        })
        .collect();
    let batch = Batch::named(&traces, || (0..NAMES).collect());
    assert!(traces.iter().any(|trace| trace.words().len() < batch.l), "nothing is padded");
    let twin = Twin::new(&Layout::new(), weights.values(), &Device::flex().autodiff());
    let logits = twin.forward(&batch);
    let [kinds, sources, buckets] = [logits.kinds, logits.sources, logits.buckets]
        .map(|tensor| tensor.inner().try_into_vec_as::<f32>().unwrap());
    let mut compared = 0;
    for (p, own) in read.iter().enumerate() {
        for (place, by_hand) in own {
            let at = p * batch.l + place;
            let rows = [
                (&by_hand.kind[..], &kinds[at * Kind::WRITTEN..][..Kind::WRITTEN]),
                (&by_hand.bucket, &buckets[at * 64..][..64]),
                (&by_hand.source, &sources[at * batch.l..][..by_hand.source.len()]),
            ];
            for (a, b) in rows.into_iter().flat_map(|(a, b)| a.iter().zip(b)) {
                let hidden = *a == f32::NEG_INFINITY && *b < -1e8;
                assert!(hidden || (a - b).abs() < 1e-3, "trace {p} word {place}: {a} {b}");
                compared += 1;
            }
        }
    }
    assert!(compared > 2_000);
}

#[test]
fn a_long_trace_is_read_by_hand_as_by_its_twin() {
    // Longer than an attention window: a node of many lists, which are masked for the words after them.
    let mut trace = Trace::new(Shape { breadth: 5, depth: 1 }, Backup::Minimax);
    let code = |from| MoveCode { from, to: 63 - from, promotion: 0 };
    let list: Vec<(MoveCode, u8)> = (0..6).map(|from| (code(from), 40 + from)).collect();
    trace.give_list(&list);
    let expand = Step { kind: Kind::Expand, source: 8, bucket: 0 };
    trace.write(expand).unwrap();
    for round in 0..25 {
        let child = Step { kind: Kind::Child, source: 2 + round % 6, bucket: 0 };
        trace.write(child).unwrap();
        let eval = Step { kind: Kind::Eval, source: trace.words().len() - 1, bucket: 0 };
        trace.write(eval).unwrap();
        trace.give_list(&list);
    }
    let words = trace.words().len();
    assert!(words > 200, "{words}");
    let weights = Arc::new(DecoderWeights::untrained(9));
    let by_hand = Decoder::new(weights.clone()).logits(&trace);
    let batch = Batch::named(&[trace], || (0..NAMES).collect());
    let last = batch.windows.last().unwrap();
    assert!(last.queries.end == words && last.keys.len() < words - 60, "{}", last.keys.len());
    let twin = Twin::new(&Layout::new(), weights.values(), &Device::flex().autodiff());
    let buckets = twin.forward(&batch).buckets.inner().try_into_vec_as::<f32>().unwrap();
    for (a, b) in by_hand.bucket.iter().zip(&buckets[(words - 1) * 64..]) {
        assert!((a - b).abs() < 1e-3, "{a} {b}");
    }
}

#[test]
fn names_are_dealt_without_changing_what_is_asked() {
    let traces = [sample(1), sample(4)];
    let mut rng = Rng::new(1);
    let [one, two] = [(); 2].map(|()| Batch::new(&traces, &mut rng));
    assert_ne!(one.own, two.own);
    assert_eq!((one.kinds, one.sources, one.mask), (two.kinds, two.sources, two.mask));
    assert_eq!(one.written, two.written);
}

#[test]
fn reading_at_once_or_word_by_word_is_the_same() {
    let weights = Arc::new(DecoderWeights::untrained(5));
    let trace = sample(2);
    let mut slow = Decoder::new(weights.clone());
    grow(2, |trace| drop(slow.logits(trace)));
    let (slow, fast) = (slow.logits(&trace), Decoder::new(weights).logits(&trace));
    for (a, b) in slow.source.iter().zip(&fast.source) {
        assert!(a == b || (a - b).abs() < 1e-4, "{a} {b}");
    }
}

#[test]
fn a_mask_leaves_no_other_word() {
    let mut decoder = Decoder::new(Arc::new(DecoderWeights::untrained(1)));
    let mut trace = Trace::new(Shape { breadth: 2, depth: 1 }, Backup::Minimax);
    trace.give_list(&[(MoveCode { from: 1, to: 2, promotion: 0 }, 3)]);
    for kind in [Kind::Expand, Kind::Decide] {
        let allowed = Allowed { kind, sources: vec![3] };
        let step = decoder.next(&trace, &[allowed]).unwrap();
        assert_eq!(step, Step { kind, source: 3, bucket: 0 });
    }
    // Another trace is read anew, and NaN is reported.
    let other = Trace::new(Shape { breadth: 3, depth: 1 }, Backup::Minimax);
    assert_eq!(decoder.logits(&other).source.len(), 2);
    let broken = vec![f32::NAN; Layout::new().len];
    let mut broken = Decoder::new(Arc::new(DecoderWeights::new(broken).unwrap()));
    assert!(broken.next(&trace, &[]).is_err());
}

#[test]
fn an_untrained_word_has_a_suitable_source() {
    let mut written = 0;
    for seed in 0..6 {
        let mut decoder = Decoder::new(Arc::new(DecoderWeights::untrained(seed)));
        grow(seed, |trace| {
            let Step { kind, source, .. } = decoder.next(trace, &[]).unwrap();
            assert!(kind.sources().contains(&trace.words()[source].kind), "{kind:?} from {source}");
            written += 1;
        });
    }
    assert!(written > 60, "{written}");
}

#[test]
fn of_two_words_allowed_the_likelier_is_written() {
    let mut decoder = Decoder::new(Arc::new(DecoderWeights::untrained(1)));
    let mut trace = Trace::new(Shape { breadth: 2, depth: 1 }, Backup::AlphaBeta);
    trace.give_list(&[(MoveCode { from: 1, to: 2, promotion: 0 }, 3)]);
    let logits = decoder.logits(&trace);
    let [expand, decide] = [Kind::Expand, Kind::Decide].map(|kind| logits.kind[kind.index()]);
    let allowed = [Kind::Expand, Kind::Decide].map(|kind| Allowed { kind, sources: vec![3] });
    let step = decoder.next(&trace, &allowed).unwrap();
    assert_eq!(step.kind, if expand > decide { Kind::Expand } else { Kind::Decide });
    assert_eq!(step.source, 3);
}

#[test]
fn a_file_is_read_back_and_damage_is_named() {
    let path =
        std::env::temp_dir().join(format!("mavka-writer-{}.safetensors", std::process::id()));
    let weights = DecoderWeights::untrained(2);
    weights.save(&path).unwrap();
    let bytes = std::fs::read(&path).unwrap();
    let _ = std::fs::remove_file(&path);
    let read = DecoderWeights::from_bytes(&bytes).unwrap();
    let near = |(a, b): (&f32, &f32)| (a - b).abs() <= 1e-3 * a.abs() + 1e-6;
    assert!(weights.values().iter().zip(read.values()).all(near));
    assert!(DecoderWeights::from_bytes(&bytes[..bytes.len() / 2]).is_err());
    assert!(DecoderWeights::from_bytes(b"").is_err());
    let network = include_bytes!("../../../assets/mavka.safetensors");
    let error = DecoderWeights::from_bytes(network).unwrap_err().to_string();
    assert!(error.contains("format \"mavka-network\", expected \"mavka-writer\""), "{error}");
    assert!(DecoderWeights::new(vec![0.0; 3]).is_none());
}
