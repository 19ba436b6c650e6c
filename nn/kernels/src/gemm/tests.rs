//! Products of every view, instruction set and arithmetic against reference loops.

use super::*;

/// Reference: the same product by three loops.
fn twin(out: &mut [f32], stride: usize, into: Accumulate<'_>, scale: f32, a: Mat<'_>, b: Mat<'_>) {
    for i in 0..a.rows {
        for j in 0..b.cols {
            let mut sum = 0.0;
            for k in 0..a.cols {
                sum += a.data[i * a.row_stride + k * a.col_stride]
                    * b.data[k * b.row_stride + j * b.col_stride];
            }
            let old = match into {
                Accumulate::Replace => 0.0,
                Accumulate::Add => out[i * stride + j],
                Accumulate::Bias(bias) => bias[j],
            };
            out[i * stride + j] = old + scale * sum;
        }
    }
}

/// Products of operands against products of the floats they were made of.
#[test]
fn products_of_operands_equal_those_of_their_floats() {
    let data: Vec<f32> = (0..9000).map(|i| ((i * 37 % 101) as f32 - 50.0) / 50.0).collect();
    let sizes = [(64, 32, 48), (7, 5, 3), (33, 40, 80), (1, 8, 1), (96, 64, 32), (32, 32, 96)];
    for (rows, inputs, outputs) in sizes {
        for arithmetic in [Arithmetic::Single, Arithmetic::Bf16] {
            if !arithmetic.available(Isa::found()) {
                crate::isa::skipped(arithmetic);
                continue;
            }
            let (x, dout) = (&data[..rows * inputs], &data[11..11 + rows * outputs]);
            let mut operands = [Operand::default(), Operand::default()];
            let [a, b] = &mut operands;
            // Stale content must not matter.
            a.shape(arithmetic, 96, 96);
            a.put(0, &vec![f32::NAN; 96 * 96]);
            a.shape(arithmetic, rows, inputs);
            b.shape(arithmetic, rows, outputs);
            let half = rows / 2;
            a.put(half, &x[half * inputs..]);
            a.put(0, &x[..half * inputs]);
            b.put(0, dout);
            let near = |got: &[f32], want: &[f32]| {
                for (got, want) in got.iter().zip(want) {
                    let error = 0.02 * (rows.max(inputs) as f32).sqrt();
                    assert!((got - want).abs() < error, "{got} for {want}");
                }
            };
            let mut back = vec![0.0; (rows - half) * inputs];
            a.get(half, &mut back);
            near(&back, &x[half * inputs..]);

            let weight = Mat::new(&data[5..], inputs, outputs, outputs);
            let packed = Packed::new(weight, Method::widest(arithmetic));
            let len = (rows - half) * outputs;
            let (mut got, mut want) = (vec![0.5; len], vec![0.5; len]);
            multiply_rows(&mut got, outputs, Accumulate::Add, a, half..rows, &packed, outputs);
            let rest = Mat::new(&x[half * inputs..], rows - half, inputs, inputs);
            twin(&mut want, outputs, Accumulate::Add, 1.0, rest, weight);
            near(&got, &want);

            let (mut got, mut want) = (vec![0.5; inputs * outputs], vec![0.5; inputs * outputs]);
            multiply_transposed(Isa::found(), &mut got, a, b);
            let left = Mat::new(x, rows, inputs, inputs).t();
            let right = Mat::new(dout, rows, outputs, outputs);
            twin(&mut want, outputs, Accumulate::Add, 1.0, left, right);
            near(&got, &want);

            let (mut got, mut want) = (vec![0.5; outputs], vec![0.5; outputs]);
            b.add_every(Isa::found(), 3, 1, &mut got);
            for row in dout.chunks_exact(outputs).skip(1).step_by(3) {
                want.iter_mut().zip(row).for_each(|(want, x)| *want += x);
            }
            near(&got, &want);
        }
    }
}

/// Every kernel of this CPU, and its relative error; the others are reported.
#[cfg(target_arch = "x86_64")]
fn kernels() -> Vec<(Isa, Arithmetic, f32)> {
    let all = [Isa::Portable, Isa::Avx2, Isa::Avx512];
    let all = all.map(|isa| (isa, Arithmetic::Single, 1e-4));
    let bf16 = [Isa::Avx512, Isa::Amx].map(|isa| (isa, Arithmetic::Bf16, 0.02));
    let halves = Arithmetic::Bf16.available(Isa::found());
    if !halves {
        crate::isa::skipped("AVX512_BF16");
    }
    let bf16 = bf16.into_iter().filter(|_| halves);
    all.into_iter().chain(bf16).filter(|(isa, ..)| crate::isa::is_here(*isa)).collect()
}

/// Compares a product, and one with a packed right operand, with the plain loops.
#[cfg(target_arch = "x86_64")]
fn check((m, n, k, pad): (usize, usize, usize, usize), transposed: (bool, bool), data: &[f32]) {
    let a = if transposed.0 {
        Mat::new(data, k, m, m + pad).t()
    } else {
        Mat::new(data, m, k, k + pad)
    };
    let b = if transposed.1 {
        Mat::new(&data[7..], n, k, k + pad).t()
    } else {
        Mat::new(&data[7..], k, n, n + pad)
    };
    let bias: Vec<f32> = data[3..3 + n].to_vec();
    for (isa, arithmetic, error) in kernels() {
        for into in [Accumulate::Replace, Accumulate::Add, Accumulate::Bias(&bias)] {
            let start = vec![0.25; m * (n + pad)];
            let (mut got, mut packed, mut want) = (start.clone(), start.clone(), start);
            let method = Method { isa, arithmetic };
            by_kernel(method, &mut got, n + pad, into, 0.5, a, b);
            twin(&mut want, n + pad, into, 0.5, a, b);
            let near = |x: f32, y: f32| (x - y).abs() < error * (k as f32).sqrt();
            let shown = format!("{m}x{n}x{k} {arithmetic:?} {isa} {transposed:?}");
            for (x, y) in got.iter().zip(&want) {
                assert!(near(*x, *y), "{shown}: {x} against {y}");
            }
            let cols = n.div_ceil(2);
            let right = Packed::new(b, method);
            matmul_packed(&mut packed, n + pad, into, a, &right, cols);
            want.fill(0.25);
            twin(&mut want, n + pad, into, 1.0, a, Mat { cols, ..b });
            for (x, y) in packed.iter().zip(&want) {
                assert!(near(*x, *y), "{shown}, packed: {x} against {y}");
            }
        }
    }
}

#[cfg(target_arch = "x86_64")]
#[test]
fn products_of_all_views_equal_the_plain_loops() {
    let data: Vec<f32> = (0..20_000).map(|i| ((i * 37 % 101) as f32 - 50.0) / 50.0).collect();
    let sizes = [
        (1, 1, 1, 0),
        (7, 5, 3, 2),
        (64, 16, 33, 1),
        (17, 40, 20, 5),
        (64, 64, 16, 0),
        (64, 16, 64, 3),
        (35, 148, 40, 0),
        (9, 80, 9, 7),
        (48, 64, 74, 0),
        (33, 31, 150, 1),
        (80, 33, 46, 2),
    ];
    for size in sizes {
        for transposed in [(false, false), (false, true), (true, false), (true, true)] {
            check(size, transposed, &data);
        }
    }
}

#[test]
fn the_gemm_crate_is_held_to_the_same_loops() {
    let data: Vec<f32> = (0..4000).map(|i| ((i * 37 % 101) as f32 - 50.0) / 50.0).collect();
    let (a, b) = (Mat::new(&data, 17, 20, 22), Mat::new(&data[7..], 40, 20, 21).t());
    for into in [Accumulate::Replace, Accumulate::Add, Accumulate::Bias(&data[5..45])] {
        let (mut got, mut want) = (vec![0.25; 17 * 44], vec![0.25; 17 * 44]);
        by_gemm(&mut got, 44, into, 0.5, a, b);
        twin(&mut want, 44, into, 0.5, a, b);
        assert!(got.iter().zip(&want).all(|(x, y)| (x - y).abs() < 1e-4));
    }
}
