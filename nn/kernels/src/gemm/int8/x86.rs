//! Dispatch of int8 quantization and products to the x86-64 kernels.

use super::task::{Finish, Int8Product, Kernel, Levels};
use super::{avx_vnni, avx2, avx512_vnni};
use crate::amx::int8 as tiles;

/// [`super::quantize::round`].
///
/// # Safety
/// The CPU has the kernel; the rest as there.
pub(super) unsafe fn round(
    kernel: Kernel,
    x: &[f32],
    depth: usize,
    levels: Levels,
    bytes: &mut [u8],
    stride: usize,
    scales: &mut [f32],
) {
    // SAFETY: `kernel` is on this CPU: `Vnni` and `Tiles` imply AVX-512 F/BW/VL/DQ, the others AVX2 and FMA;
    // lengths as in `quantize::round`.
    unsafe {
        match kernel {
            Kernel::Vnni | Kernel::Tiles => {
                avx512_vnni::round(x, depth, levels, bytes, stride, scales)
            }
            _ => avx2::round(x, depth, levels, bytes, stride, scales),
        }
    }
}

/// [`crate::norm::normalise`].
///
/// # Safety
/// The CPU has the kernel; the rest as there.
pub(super) unsafe fn normalise(
    kernel: Kernel,
    x: &[f32],
    gamma: &[f32],
    beta: &[f32],
    out: &mut [f32],
) {
    // SAFETY: `kernel` is on this CPU: `Vnni` and `Tiles` imply AVX-512 F/BW/VL/DQ, the others AVX2 and FMA;
    // lengths as in `norm::normalise`.
    unsafe {
        match kernel {
            Kernel::Vnni | Kernel::Tiles => avx512_vnni::normalise(x, gamma, beta, out),
            _ => avx2::normalise(x, gamma, beta, out),
        }
    }
}

/// All rows and columns.
///
/// # Safety
/// The CPU has the kernel; the task's pointers hold what it says.
pub(super) unsafe fn product(kernel: Kernel, task: &Int8Product, finish: Finish) {
    // SAFETY: `kernel` is on this CPU, so its features are; the task's pointers hold its rows, depth and whole
    // panels.
    unsafe {
        match kernel {
            Kernel::Tiles => tiles::product(task, finish),
            Kernel::Vnni => avx512_vnni::product(task, finish),
            Kernel::AvxVnni => avx_vnni::product(task, finish),
            _ => avx2::product(task, finish),
        }
    }
}
