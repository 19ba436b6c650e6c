//! A limit on instructions holds for every kernel. It is set for the whole process, so this test has one of
//! its own.

use nn::cpu::matmul::{Into, Mat, matmul};
use nn::cpu::{Isa, ops};
use nn::precision::Arithmetic;

/// What two kernels make of the same numbers: a product and a softmax.
fn answers() -> [Vec<f32>; 2] {
    let numbers: Vec<f32> = (0..64 * 64).map(|i| (i * 37 % 101) as f32 / 17.0 - 3.0).collect();
    let square = Mat::new(&numbers, 64, 64, 64);
    let mut product = vec![0.0; 64 * 64];
    matmul(Arithmetic::Single, &mut product, 64, Into::Replace, 0.1, square, square);
    let mut rows = numbers.clone();
    ops::softmax64(&mut rows);
    [product, rows]
}

/// Fused multiply-add rounds once, a product and a sum twice: the last bits tell which was used.
#[cfg(target_arch = "x86_64")]
#[test]
fn a_limit_reaches_products_and_loops_alike() {
    assert_eq!(Isa::used(), Isa::found());
    let wide = answers();
    Isa::Portable.limit();
    assert_eq!(Isa::used(), Isa::Portable);
    let portable = answers();
    if Isa::found() > Isa::Portable {
        for (wide, portable) in wide.iter().zip(&portable) {
            assert!(wide != portable, "the same to the last bit");
            let near = |(a, b): (&f32, &f32)| (a - b).abs() <= 1e-5 * (1.0 + b.abs());
            assert!(wide.iter().zip(portable).all(near));
        }
    }
}
