//! Shared by the int8 kernels: which of them the CPU has, the range of quantized activations, the layout of weights, and
//! one product as a kernel sees it.

use crate::isa::Isa;

/// Depth per step of AVX2, which adds four results of `vpmaddubsw` in 16 bits.
pub(crate) const CHAIN: usize = 16;
/// Bytes of a tile's row (AMX).
const TILE: usize = 64;
/// Rows are padded to a multiple of this, a tile's height; padding content is arbitrary.
pub(crate) const ROWS: usize = 16;
/// Columns per panel, for every kernel.
pub(crate) const PANEL: usize = 64;

/// Instruction that multiplies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kernel {
    /// Arm's `sdot`: signed 8-bit activations.
    Dot,
    /// `vpmaddubsw`: 7-bit activations.
    Avx2,
    /// `vpdpbusd`, 256 bits: 8-bit activations.
    AvxVnni,
    /// `vpdpbusd`, 512 bits: 8-bit activations.
    Vnni,
    /// AMX's `tdpbssd` and `tdpbusd`: 8-bit activations, signed if they have both signs.
    Tiles,
}

impl Kernel {
    /// The fastest kernel of this CPU with no wider instructions than `isa`.
    #[must_use]
    pub fn fastest(isa: Isa) -> Option<Kernel> {
        Kernel::all().into_iter().find(|kernel| kernel.isa() <= isa)
    }

    /// All kernels of this CPU, fastest first.
    #[must_use]
    pub fn all() -> Vec<Kernel> {
        [Kernel::Tiles, Kernel::Vnni, Kernel::AvxVnni, Kernel::Avx2, Kernel::Dot]
            .into_iter()
            .filter(|kernel| kernel.on_this_cpu())
            .collect()
    }

    /// Its instruction set.
    pub(crate) fn isa(self) -> Isa {
        match self {
            Kernel::Dot => Isa::Neon,
            Kernel::Avx2 | Kernel::AvxVnni => Isa::Avx2,
            Kernel::Vnni => Isa::Avx512,
            Kernel::Tiles => Isa::Amx,
        }
    }

    pub(crate) fn on_this_cpu(self) -> bool {
        #[cfg(target_arch = "x86_64")]
        let extra = match self {
            Kernel::Dot => false,
            Kernel::Avx2 | Kernel::Tiles => true,
            Kernel::AvxVnni => is_x86_feature_detected!("avxvnni"),
            Kernel::Vnni => is_x86_feature_detected!("avx512vnni"),
        };
        #[cfg(target_arch = "aarch64")]
        let extra = self == Kernel::Dot && std::arch::is_aarch64_feature_detected!("dotprod");
        #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
        let extra = false;
        extra && self.isa() <= Isa::found()
    }

    pub(crate) fn levels(self, sign: Sign) -> Levels {
        let (top, zero) = match (self, sign) {
            (Kernel::Avx2, Sign::Either) => (63.0, 64),
            (Kernel::Avx2, Sign::Positive) => (127.0, 0),
            (Kernel::Dot | Kernel::Tiles, Sign::Either) => (127.0, 0),
            (Kernel::Dot, Sign::Positive) => (255.0, -128),
            (_, Sign::Either) => (127.0, 128),
            (_, Sign::Positive) => (255.0, 0),
        };
        Levels { top, zero }
    }

    /// The padded depth; padding weights are zero.
    pub(crate) fn depth(self, inputs: usize) -> usize {
        inputs.next_multiple_of(if self == Kernel::Tiles { TILE } else { CHAIN })
    }

    /// The integer that a byte of the activations represents.
    #[cfg(test)]
    pub(crate) fn number(self, sign: Sign, byte: u8) -> i32 {
        match (self, sign) {
            (Kernel::Dot, _) | (Kernel::Tiles, Sign::Either) => i32::from(byte.cast_signed()),
            _ => i32::from(byte),
        }
    }
}

/// Range of quantized activations.
#[derive(Clone, Copy)]
pub(crate) struct Levels {
    /// Steps from zero to a row's absolute maximum.
    pub top: f32,
    /// Zero point.
    pub zero: i32,
}

impl Levels {
    /// Steps per unit, for a row whose absolute maximum is `high`.
    pub(crate) fn factor(self, high: f32) -> f32 {
        if high > 0.0 { self.top / high } else { 0.0 }
    }
}

/// Signs of activations.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Sign {
    /// Both: the zero point lies in the middle of the range.
    #[default]
    Either,
    /// Non-negative.
    Positive,
}

/// Quantizes one number.
#[inline(always)]
pub(crate) fn byte(x: f32, factor: f32, zero: i32) -> u8 {
    ((x * factor).round_ties_even() as i32 + zero) as u8
}

/// Epilogue of the sums.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Finish {
    /// Overwrite the destination.
    Replace,
    /// Add to the destination.
    Add,
    /// Overwrite the destination with their squared ReLU.
    SquaredRelu,
}

/// Calls a kernel that has a [`Finish`] as its constant, so that its loops are compiled once for each.
macro_rules! by_finish {
    ($finish:expr, $kernel:ident, $($argument:expr),+) => {
        match $finish {
            $crate::gemm::int8::Finish::Replace => $kernel::<0>($($argument),+),
            $crate::gemm::int8::Finish::Add => $kernel::<1>($($argument),+),
            $crate::gemm::int8::Finish::SquaredRelu => $kernel::<2>($($argument),+),
        }
    };
}
pub(crate) use by_finish;

/// One product; its maker has checked the shapes.
pub(crate) struct Int8Product {
    pub rows: usize,
    pub cols: usize,
    /// Bytes per row, padded by [`Kernel::depth`]. The rows are padded to the next multiple of [`ROWS`].
    pub depth: usize,
    pub a: *const u8,
    /// Sign of `a`'s numbers; read by AMX only.
    #[cfg(target_arch = "x86_64")]
    pub sign: Sign,
    pub a_scales: *const f32,
    pub b: *const i8,
    pub start: *const i32,
    pub b_scales: *const f32,
    pub bias: *const f32,
    pub out: *mut f32,
    pub stride: usize,
}
