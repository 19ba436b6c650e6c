//! A limit on instructions holds for every kernel. It is set for the whole process, so this test has one of
//! its own.

use nn::kernels::gemm::{Accumulate, Mat, matmul};
use nn::kernels::{Isa, ops};
use nn::precision::Arithmetic;

const SIDE: usize = 64;

/// What the kernels make of the same numbers: a product, a softmax and a layer norm.
fn answers() -> [Vec<f32>; 3] {
    let numbers: Vec<f32> = (0..SIDE * SIDE).map(|i| (i * 37 % 101) as f32 / 17.0 - 3.0).collect();
    let square = Mat::new(&numbers, SIDE, SIDE, SIDE);
    let mut product = vec![0.0; SIDE * SIDE];
    matmul(Arithmetic::Single, &mut product, SIDE, Accumulate::Replace, 0.1, square, square);
    let mut rows = numbers.clone();
    ops::softmax64(&mut rows);
    let gamma: Vec<f32> = (0..SIDE).map(|i| 0.7 + i as f32 / 90.0).collect();
    let beta: Vec<f32> = (0..SIDE).map(|i| i as f32 / 70.0 - 0.4).collect();
    let mut unit = vec![0.0; SIDE * SIDE];
    let mut scale = vec![0.0; SIDE];
    let mut normed = vec![0.0; SIDE * SIDE];
    ops::layer_norm(&numbers, &gamma, &beta, &mut unit, &mut scale, &mut normed);
    [product, rows, normed]
}

/// Fused multiply-add rounds once, a product and a sum twice: the last bits tell which was used.
#[cfg(target_arch = "x86_64")]
#[test]
fn a_limit_reaches_products_and_loops_alike() {
    assert_eq!(Isa::used(), Isa::found());
    let unlimited = answers();
    Isa::Portable.limit();
    assert_eq!(Isa::used(), Isa::Portable);
    let portable = answers();
    if Isa::found() > Isa::Portable {
        Isa::Avx2.limit();
        assert_eq!(Isa::used(), Isa::Avx2);
        let avx2 = answers();
        for fused in [unlimited, avx2] {
            for (fused, portable) in fused.iter().zip(&portable) {
                assert!(fused != portable, "the same to the last bit");
                let near = |(a, b): (&f32, &f32)| (a - b).abs() <= 1e-5 * (1.0 + b.abs());
                assert!(fused.iter().zip(portable).all(near));
            }
        }
    }
}
