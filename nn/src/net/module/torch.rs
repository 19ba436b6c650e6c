//! The network in PyTorch (`nn/torch`), in burn and in the CPU's kernels gives the same logits. PyTorch's were
//! written by `nn/torch/parity.py`.

use super::Net;
use crate::checkpoint::Network;
use crate::cpu::{Activations, Heads, forward};
use crate::device::Device;
use crate::encode::{Features, Item, MoveCode};
use crate::precision::Arithmetic;
use burn::tensor::Tensor;
use std::path::Path;

/// Bytes of a record and move slots, as in `nn/train/examples/records.rs`.
const MOVES: usize = 80;
const RECORD: usize = 64 + 128 + 16 + 4 * MOVES + 128;
const UNKNOWN: u8 = 255;
/// Single precision, summed in another order.
const BOUND: f32 = 2e-4;

fn network() -> Network {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/net/module/torch");
    Network::load(&folder.join("network.safetensors")).unwrap()
}

/// The network's input and its moves.
fn inputs() -> Vec<(Features, Vec<MoveCode>)> {
    let records = include_bytes!("torch/records.bin").chunks_exact(RECORD).map(|record| {
        let (board, head) = (&record[..192], &record[192..208]);
        let list = |i: usize| &record[208 + i * MOVES..][..usize::from(head[8])];
        let flags = board[64..].chunks_exact(2).map(|pair| u16::from_le_bytes([pair[0], pair[1]]));
        let features = Features {
            pieces: board[..64].try_into().unwrap(),
            flags: flags.collect::<Vec<_>>().try_into().unwrap(),
            halfmoves: head[2],
            has_action: head[3] == 1,
            kind: (head[4] != UNKNOWN).then_some(head[4]),
        };
        let moves = (0..usize::from(head[8])).map(|i| MoveCode {
            from: list(0)[i],
            to: list(1)[i],
            promotion: list(2)[i],
        });
        (features, moves.collect())
    });
    records.collect()
}

fn items(boards: &[(Features, Vec<MoveCode>)]) -> Vec<Item<'_>> {
    boards.iter().map(|(features, moves)| Item { features, moves }).collect()
}

/// PyTorch's logits of all records, one behind the other.
fn answers() -> Vec<f32> {
    let (numbers, _) = include_bytes!("torch/answers.bin").as_chunks::<4>();
    numbers.iter().map(|bytes| f32::from_le_bytes(*bytes)).collect()
}

fn compare(name: &str, got: &[f32]) {
    let want = answers();
    assert_eq!(got.len(), want.len(), "{name}");
    let size = want.iter().fold(0.0f32, |most, x| most.max(x.abs()));
    let far = got.iter().zip(&want).fold(0.0f32, |far, (a, b)| far.max((a - b).abs()));
    println!("{name}: {far:.1e} of {size:.1}");
    assert!(far < BOUND * size, "{name}: {far} of {size}");
}

#[test]
fn the_kernels_answer_as_pytorch() {
    let network = network();
    let boards = inputs();
    let items = items(&boards);
    let (layout, mut activations) = (&network.layout, Activations::default());
    let weights = network.weights(Arithmetic::Single);
    forward(layout, &weights, &items, Heads::All, false, &mut activations);
    let (mut got, mut move_number) = (Vec::new(), 0);
    for (p, item) in items.iter().enumerate() {
        let moves = move_number..move_number + item.moves.len();
        move_number = moves.end;
        got.extend(&activations.logits.policy[moves.clone()]);
        got.extend(&activations.logits.actions[moves.start * 64..moves.end * 64]);
        got.extend(&activations.logits.value[p * 64..][..64]);
        got.extend(&activations.logits.result[p * 3..][..3]);
        got.extend(&activations.logits.terminal[p * 3..][..3]);
        got.extend(&activations.logits.legality[p * 4096..][..4096]);
        got.extend((0..64).map(|t| activations.transition(layout, p, t).1));
        (0..64).for_each(|t| got.extend(activations.transition(layout, p, t).0));
    }
    compare("kernels", &got);
}

#[test]
fn burn_answers_as_pytorch() {
    let network = network();
    let boards = inputs();
    let items = items(&boards);
    let device = Device::flex();
    let net = Net::from_values(&network.layout, &network.values, &device).unwrap();
    let inputs = net.inputs(&items, items.len(), 0, &device);
    let (play, world) = net.forward(&inputs);
    let k = inputs.moves;
    let host = |tensor: Tensor<1>| tensor.into_data().try_into_vec::<f32>().unwrap();
    let (policy, actions) = (host(play.policy.flatten(0, 1)), host(play.actions.flatten(0, 2)));
    let value = host(play.values.buckets.flatten(0, 1));
    let result = host(play.values.result.flatten(0, 1));
    let terminal = host(play.values.terminal.flatten(0, 1));
    let legality = host(world.legality.flatten(0, 2));
    let promotes = host(world.promotes.flatten(0, 1));
    let transition = host(world.transition.flatten(0, 2));
    let mut got = Vec::new();
    for (p, item) in items.iter().enumerate() {
        got.extend(&policy[p * k..][..item.moves.len()]);
        got.extend(&actions[p * k * 64..][..item.moves.len() * 64]);
        for (logits, len) in
            [(&value, 64), (&result, 3), (&terminal, 3), (&legality, 4096), (&promotes, 64)]
        {
            got.extend(&logits[p * len..][..len]);
        }
        got.extend(&transition[p * 1024..][..1024]);
    }
    compare("burn", &got);
}
