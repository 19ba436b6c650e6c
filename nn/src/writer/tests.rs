//! The decoder, its file, and masks. `train::writer` compares it with its twin in burn.

use super::decoder::{Decoder, DecoderWeights};
use super::layout::WriterLayout;
use super::{Allowed, Backup, Kind, Shape, Trace, WordChoice, Writer};
use crate::encode::MoveCode;
use crate::testing::trace;
use std::sync::Arc;

#[test]
fn reading_at_once_or_word_by_word_is_the_same() {
    let weights = Arc::new(DecoderWeights::untrained(5));
    let whole = trace(2, |_| ());
    let mut slow = Decoder::new(weights.clone());
    trace(2, |part| drop(slow.logits(part)));
    let (slow, fast) = (slow.logits(&whole), Decoder::new(weights).logits(&whole));
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
        assert_eq!(step, WordChoice { kind, source: 3, bucket: 0 });
    }
    // Another trace is read anew, and NaN is reported.
    let other = Trace::new(Shape { breadth: 3, depth: 1 }, Backup::Minimax);
    assert_eq!(decoder.logits(&other).source.len(), 2);
    let broken = vec![f32::NAN; WriterLayout::new().len];
    let mut broken = Decoder::new(Arc::new(DecoderWeights::new(broken).unwrap()));
    assert!(broken.next(&trace, &[]).is_err());
}

#[test]
fn an_untrained_word_has_a_suitable_source() {
    let mut written = 0;
    for seed in 0..6 {
        let mut decoder = Decoder::new(Arc::new(DecoderWeights::untrained(seed)));
        trace(seed, |part| {
            let WordChoice { kind, source, .. } = decoder.next(part, &[]).unwrap();
            assert!(kind.sources().contains(&part.words()[source].kind), "{kind:?} from {source}");
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
