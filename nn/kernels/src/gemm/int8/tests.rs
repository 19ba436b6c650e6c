//! Kernels against reference loops, and int8 products against float products.

use super::task::Levels;
use super::*;

/// The kernels of this CPU; those that its architecture has besides are reported.
fn kernels() -> Vec<Kernel> {
    let all = match cfg!(target_arch = "aarch64") {
        true => &[Kernel::Dot][..],
        false => &[Kernel::Tiles, Kernel::Vnni, Kernel::AvxVnni, Kernel::Avx2],
    };
    for kernel in all.iter().filter(|kernel| !kernel.on_this_cpu()) {
        crate::isa::skipped(format_args!("products of bytes by {kernel:?}"));
    }
    Kernel::all()
}

/// Reference: quantizes one row and returns its scale, NaN if the row has a NaN.
fn round_row(x: &[f32], levels: Levels, bytes: &mut [u8]) -> f32 {
    let high = x.iter().map(|x| x.abs().to_bits()).max().unwrap_or(0);
    let high = f32::from_bits(high);
    let factor = if high > 0.0 { levels.top / high } else { 0.0 };
    for (byte, x) in bytes.iter_mut().zip(x) {
        *byte = ((x * factor).round_ties_even() as i32 + levels.zero) as u8;
    }
    high / levels.top
}

fn numbers(count: usize, seed: u64) -> Vec<f32> {
    let mut random = crate::testing::Rng::new(seed);
    (0..count).map(|_| (random.below(20_001) as f32 - 10_000.0) / 5_000.0).collect()
}

/// Reference for [`Linear8::apply`], one product at a time, from the quantized weights.
fn twin(map: &Linear8, x: &Rows, out: &mut [f32], stride: usize, cols: usize, finish: Finish) {
    for (i, (bytes, scale)) in bytes(&x.lines).chunks_exact(x.stride).zip(&x.scales).enumerate() {
        for j in 0..cols {
            let weight = |at: usize| map.lines[at / 64].0[at % 64];
            let product = |k: usize| {
                map.kernel.number(map.sign, bytes[k]) * i32::from(weight(map.place(k, j)))
            };
            let sum = map.start[j] + (0..map.inputs).map(product).sum::<i32>();
            let y = (sum as f32).mul_add(scale * map.scales[j], map.bias[j]);
            let out = &mut out[i * stride + j];
            *out = match finish {
                Finish::Replace => y,
                Finish::Add => y + *out,
                Finish::SquaredRelu => y.max(0.0) * y.max(0.0),
            };
        }
    }
}

#[test]
fn every_kernel_equals_its_twin_to_the_bit() {
    let sizes = [
        (1, 1, 1),
        (3, 20, 5),
        (13, 64, 64),
        (64, 128, 384),
        (30, 100, 70),
        (7, 384, 128),
        (35, 272, 50),
    ];
    for (kernel, (rows, inputs, outputs)) in
        kernels().into_iter().flat_map(|kernel| sizes.map(|size| (kernel, size)))
    {
        let weight = numbers(inputs * outputs, 1);
        let bias = numbers(outputs, 2);
        for sign in [Sign::Either, Sign::Positive] {
            let mut x = numbers(rows * inputs, 3);
            if sign == Sign::Positive {
                x.iter_mut().for_each(|x| *x = x.max(0.0));
            }
            let map = Linear8::new(kernel, sign, &weight, &bias);
            let mut rounded = Rows::default();
            rounded.round(kernel, sign, &x, inputs);
            for (i, x) in x.chunks_exact(inputs).enumerate() {
                let mut want = vec![0; inputs];
                let scale = round_row(x, kernel.levels(sign), &mut want);
                assert_eq!(rounded.scales[i], scale);
                assert_eq!(bytes(&rounded.lines)[i * rounded.stride..][..inputs], want);
            }
            for (finish, cols) in [
                (Finish::Replace, outputs),
                (Finish::Add, outputs.div_ceil(2)),
                (Finish::SquaredRelu, outputs),
            ] {
                let stride = outputs + 3;
                let mut got = numbers(rows * stride, 4);
                let mut want = got.clone();
                map.apply(&rounded, &mut got, stride, cols, finish);
                twin(&map, &rounded, &mut want, stride, cols, finish);
                assert_eq!(got, want, "{kernel:?} {rows}x{inputs}x{outputs} {sign:?} {finish:?}");
            }
        }
    }
}

/// Worst case of 16-bit sums: equal signs, largest activations.
#[test]
fn sums_of_sixteen_bits_never_overflow() {
    for kernel in kernels() {
        for (weight, x) in [(1.0, 1.0), (-1.0, 1.0), (1.0, -1.0)] {
            let weight: Vec<f32> = (0..64).map(|k| weight * [1.0, 0.9][k % 2]).collect();
            let map = Linear8::new(kernel, Sign::Either, &weight, &[0.0]);
            let mut rows = Rows::default();
            rows.round(kernel, Sign::Either, &[x; 64], 64);
            let mut out = [0.0];
            map.apply(&rows, &mut out, 1, 1, Finish::Replace);
            let want: f32 = weight.iter().map(|w| w * x).sum();
            assert!((out[0] / want - 1.0).abs() < 0.02, "{kernel:?}: {} for {want}", out[0]);
        }
    }
}

/// Three weights of one chain and half exceed 16 bits by a factor of 1.477; the smallest subnormal times that
/// rounds to itself.
#[test]
fn subnormal_weights_round_to_zero() {
    let (sender, receiver) = std::sync::mpsc::channel();
    // On its own thread: an endless loop must fail the test, too.
    std::thread::spawn(move || {
        let smallest = f32::from_bits(1);
        for high in [smallest, 127.0 * smallest, f32::MIN_POSITIVE] {
            for kernel in [Kernel::Avx2, Kernel::Vnni] {
                let mut column = vec![0.0; CHAIN];
                [0, 1, 4].into_iter().for_each(|at| column[at] = high);
                sender.send(round_column(kernel, &column)).unwrap();
            }
        }
    });
    for _ in 0..6 {
        let found = receiver.recv_timeout(std::time::Duration::from_secs(20));
        assert_eq!(found.unwrap(), (0.0, vec![0; CHAIN]));
    }
}

/// The smallest weights that do not round to zero lose no more accuracy than others.
#[test]
fn the_smallest_normal_scale_rounds_as_others_do() {
    let high = 127.5 * f32::MIN_POSITIVE;
    let (scale, rounded) = round_column(Kernel::Avx2, &[high, -high, high, 0.5 * high]);
    let products = [high, -high, high, 0.5 * high].into_iter().zip(rounded);
    for (weight, rounded) in products {
        let back = scale * f32::from(rounded);
        assert!((back - weight).abs() < 0.01 * high, "{back} for {weight}");
    }
}

/// RMS error relative to the RMS of `want`.
fn error(got: &[f32], want: &[f32]) -> f32 {
    let square = |x: f32| x * x;
    let error: f32 = got.iter().zip(want).map(|(a, b)| square(a - b)).sum();
    (error / want.iter().map(|x| square(*x)).sum::<f32>()).sqrt()
}

#[test]
fn rounding_loses_two_percent_with_seven_bits_and_one_with_eight() {
    let (rows, inputs, outputs) = (64, 128, 96);
    let (x, weight) = (numbers(rows * inputs, 5), numbers(inputs * outputs, 6));
    let mut want = vec![0.0; rows * outputs];
    for (i, want) in want.iter_mut().enumerate() {
        let (i, j) = (i / outputs, i % outputs);
        *want = (0..inputs).map(|k| x[i * inputs + k] * weight[k * outputs + j]).sum();
    }
    for kernel in kernels() {
        let map = Linear8::new(kernel, Sign::Either, &weight, &vec![0.0; outputs]);
        let mut bytes = Rows::default();
        bytes.round(kernel, Sign::Either, &x, inputs);
        let mut got = vec![0.0; rows * outputs];
        map.apply(&bytes, &mut got, outputs, outputs, Finish::Replace);
        let most = if kernel == Kernel::Avx2 { 0.02 } else { 0.01 };
        let error = error(&got, &want);
        assert!(error < most, "{kernel:?}: {error}");
    }
}

#[test]
fn normalised_rows_are_those_of_single_precision_to_a_step() {
    for (kernel, width) in
        kernels().into_iter().flat_map(|kernel| [16, 20, 128].map(|w| (kernel, w)))
    {
        let x: Vec<f32> = numbers(21 * width, 7).iter().map(|x| 3.0 * x + 1.0).collect();
        let (gamma, beta) = (numbers(width, 8), numbers(width, 9));
        let [mut unit, mut want] = [(); 2].map(|()| vec![0.0; x.len()]);
        ops::layer_norm(
            crate::isa::Isa::found(),
            &x,
            &gamma,
            &beta,
            &mut unit,
            &mut [0.0; 21],
            &mut want,
        );
        let mut rows = Rows::default();
        rows.normalise(kernel, &x, &gamma, &beta);
        let zero = kernel.levels(Sign::Either).zero;
        for (i, want) in want.chunks_exact(width).enumerate() {
            let bytes = &bytes(&rows.lines)[i * rows.stride..][..width];
            for (byte, want) in bytes.iter().zip(want) {
                let got = (kernel.number(Sign::Either, *byte) - zero) as f32 * rows.scales[i];
                assert!((got - want).abs() <= 0.51 * rows.scales[i], "{kernel:?} {width}");
            }
        }
    }
}

#[test]
fn zero_rows_stay_zero_and_nan_propagates() {
    for kernel in kernels() {
        let map = Linear8::new(kernel, Sign::Either, &[1.0; 32], &[0.5]);
        for (odd, is_right) in [
            (0.0, (|y: f32| y == 0.5) as fn(f32) -> bool),
            (f32::NAN, |y: f32| !y.is_finite()),
            (f32::INFINITY, |y: f32| !y.is_finite()),
        ] {
            let mut x = [0.0; 32];
            x[17] = odd;
            let mut rows = Rows::default();
            rows.round(kernel, Sign::Either, &x, 32);
            let mut out = [0.0];
            map.apply(&rows, &mut out, 1, 1, Finish::Replace);
            assert!(is_right(out[0]), "{kernel:?}: {odd} became {}", out[0]);
        }
    }
}

/// bf16 `at` as a float.
#[cfg(target_arch = "x86_64")]
fn half(lanes: &[u32], at: usize) -> f32 {
    f32::from_bits(if at.is_multiple_of(2) { lanes[at / 2] << 16 } else { lanes[at / 2] & !0xffff })
}

#[cfg(target_arch = "x86_64")]
#[test]
fn squares_in_halves_are_those_of_floats_and_round_alike() {
    let (rows, inputs, outputs) = (45, 100, 128);
    let (x, weight) = (numbers(rows * inputs, 1), numbers(inputs * outputs, 2));
    for kernel in kernels() {
        let map = Linear8::new(kernel, Sign::Either, &weight, &numbers(outputs, 3));
        if !map.by_blocks() {
            continue;
        }
        let (mut bytes, mut halves) = (Rows::default(), Buffer::default());
        bytes.round(kernel, Sign::Either, &x, inputs);
        let mut want = vec![0.0; rows * outputs];
        map.apply(&bytes, &mut want, outputs, outputs, Finish::SquaredRelu);
        map.squared(&bytes, &mut halves);
        let got: Vec<f32> = (0..rows * outputs).map(|at| half(halves.lanes(), at)).collect();
        for (got, want) in got.iter().zip(&want) {
            assert!((got - want).abs() <= want / 256.0, "{got} for {want}");
        }
        let (mut got8, mut want8) = (Rows::default(), Rows::default());
        got8.round_halves(kernel, &halves, rows, outputs);
        want8.round(kernel, Sign::Positive, &got, outputs);
        assert_eq!(got8.scales, want8.scales);
        assert_eq!(
            super::bytes(&got8.lines)[..rows * outputs],
            super::bytes(&want8.lines)[..rows * outputs]
        );
    }
}

#[cfg(target_arch = "x86_64")]
#[test]
fn packed_heads_are_those_of_floats() {
    for (kernel, dim) in kernels().into_iter().flat_map(|kernel| [32, 64, 128].map(|d| (kernel, d)))
    {
        let (rows, inputs, count) = (2 * TOKENS, 70, 2);
        let outputs = 3 * count * dim;
        let (x, weight) = (numbers(rows * inputs, 1), numbers(inputs * outputs, 2));
        let map = Linear8::new(kernel, Sign::Either, &weight, &numbers(outputs, 3));
        if !map.by_blocks() {
            continue;
        }
        let mut bytes = Rows::default();
        bytes.round(kernel, Sign::Either, &x, inputs);
        let mut plain = vec![0.0; rows * outputs];
        map.apply(&bytes, &mut plain, outputs, outputs, Finish::Replace);
        let mut heads: Vec<[Buffer; 3]> = (0..count).map(|_| Default::default()).collect();
        map.heads(&bytes, 1, &mut heads);
        for (h, i, d) in
            (0..count).flat_map(|h| (0..TOKENS * dim).map(move |at| (h, at / dim, at % dim)))
        {
            let want = |part: usize| plain[(TOKENS + i) * outputs + (part * count + h) * dim + d];
            let [queries, keys, values] = &heads[h];
            let step = dim.min(64);
            let value = d / 64 * TOKENS / 2 * 64 + i / 2 * step + d % 64;
            for (got, want) in [
                (half(queries.lanes(), i * dim + d), want(0) / (dim as f32).sqrt()),
                (half(keys.lanes(), 2 * (d / 2 * TOKENS + i) + d % 2), want(1)),
                (half(values.lanes(), 2 * value + i % 2), want(2)),
            ] {
                assert!((got - want).abs() <= want.abs() / 256.0 + 1e-6, "{dim}: {got} for {want}");
            }
        }
    }
}
