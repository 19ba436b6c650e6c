//! The decoder by hand against its twin in burn, and batches.

use super::batch::Batch;
use super::twin::AutodiffDecoder;
use burn::tensor::Device;
use nn::encode::MoveCode;
use nn::rng::Rng;
use nn::testing::trace;
use nn::writer::decoder::WordLogits;
use nn::writer::layout::WriterLayout;
use nn::writer::word::NAMES;
use nn::writer::{Backup, Decoder, DecoderWeights, Kind, Shape, Trace, WordChoice};
use std::sync::Arc;

#[test]
fn the_decoder_by_hand_answers_as_its_twin() {
    let weights = Arc::new(DecoderWeights::untrained(3));
    let mut read: Vec<Vec<(usize, WordLogits)>> = Vec::new();
    let traces: Vec<Trace> = (0..3)
        .map(|seed| {
            let mut decoder = Decoder::new(weights.clone());
            let mut own = Vec::new();
            let whole =
                trace(seed, |part| own.push((part.words().len() - 1, decoder.logits(part))));
            read.push(own);
            whole
        })
        .collect();
    let batch = Batch::named(&traces, || (0..NAMES).collect());
    assert!(traces.iter().any(|trace| trace.words().len() < batch.l), "nothing is padded");
    let twin =
        AutodiffDecoder::new(&WriterLayout::new(), weights.values(), &Device::flex().autodiff());
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
    let expand = WordChoice { kind: Kind::Expand, source: 8, bucket: 0 };
    trace.write(expand).unwrap();
    for round in 0..25 {
        let child = WordChoice { kind: Kind::Child, source: 2 + round % 6, bucket: 0 };
        trace.write(child).unwrap();
        let eval = WordChoice { kind: Kind::Eval, source: trace.words().len() - 1, bucket: 0 };
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
    let twin =
        AutodiffDecoder::new(&WriterLayout::new(), weights.values(), &Device::flex().autodiff());
    let buckets = twin.forward(&batch).buckets.inner().try_into_vec_as::<f32>().unwrap();
    for (a, b) in by_hand.bucket.iter().zip(&buckets[(words - 1) * 64..]) {
        assert!((a - b).abs() < 1e-3, "{a} {b}");
    }
}

#[test]
fn names_are_dealt_without_changing_what_is_asked() {
    let traces = [trace(1, |_| ()), trace(4, |_| ())];
    let mut rng = Rng::new(1);
    let [one, two] = [(); 2].map(|()| Batch::new(&traces, &mut rng));
    assert_ne!(one.own, two.own);
    assert_eq!((one.kinds, one.sources, one.mask), (two.kinds, two.sources, two.mask));
    assert_eq!(one.written, two.written);
}
