//! What every kernel of bytes agrees on: the bytes that activations become, how weights lie, and one product as
//! a kernel sees it.

use crate::cpu::isa::Isa;

/// Four times four bytes, what AVX2 adds up in 16 bits.
pub(super) const CHAIN: usize = 16;
/// Bytes of a tile's row.
const TILE: usize = 64;
/// Rows are filled up to a multiple of this, with anything: what a tile holds.
pub(super) const ROWS: usize = 16;
/// Columns that lie together, for every kernel.
pub(super) const PANEL: usize = 64;

/// What multiplies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kernel {
    /// `sdot`, of Arm's processors: activations of 8 bits with a sign.
    Dot,
    /// `vpmaddubsw`: activations of 7 bits.
    Avx2,
    /// `vpdpbusd` on 256 bits: activations of 8 bits.
    AvxVnni,
    /// `vpdpbusd` on 512 bits: activations of 8 bits.
    Vnni,
    /// AMX's `tdpbssd` and `tdpbusd` on tiles: activations of 8 bits, with a sign where they have both.
    Tiles,
}

impl Kernel {
    /// The kernel for what the CPU has and [`Isa::limit`] allows.
    #[must_use]
    pub fn used() -> Option<Kernel> {
        Kernel::all().into_iter().find(|kernel| kernel.isa() <= Isa::used())
    }

    /// All that the CPU has, the fastest first.
    #[must_use]
    pub fn all() -> Vec<Kernel> {
        [Kernel::Tiles, Kernel::Vnni, Kernel::AvxVnni, Kernel::Avx2, Kernel::Dot]
            .into_iter()
            .filter(|kernel| kernel.on_this_cpu())
            .collect()
    }

    fn isa(self) -> Isa {
        match self {
            Kernel::Dot => Isa::Neon,
            Kernel::Avx2 | Kernel::AvxVnni => Isa::Avx2,
            Kernel::Vnni => Isa::Avx512,
            Kernel::Tiles => Isa::Amx,
        }
    }

    pub(super) fn on_this_cpu(self) -> bool {
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

    pub(super) fn levels(self, sign: Sign) -> Levels {
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

    /// Depth is filled up with zeros to a multiple of the answer.
    pub(super) fn depth(self, inputs: usize) -> usize {
        inputs.next_multiple_of(if self == Kernel::Tiles { TILE } else { CHAIN })
    }

    /// The number that a byte of the activations stands for.
    #[cfg(test)]
    pub(super) fn number(self, sign: Sign, byte: u8) -> i32 {
        match (self, sign) {
            (Kernel::Dot, _) | (Kernel::Tiles, Sign::Either) => i32::from(byte.cast_signed()),
            _ => i32::from(byte),
        }
    }
}

/// The bytes that activations may become.
#[derive(Clone, Copy)]
pub(super) struct Levels {
    /// Steps from zero to the highest of a row.
    pub top: f32,
    /// What stands for zero.
    pub zero: i32,
}

impl Levels {
    /// Steps for each unit of a row whose highest absolute value is `high`.
    pub(super) fn factor(self, high: f32) -> f32 {
        if high > 0.0 { self.top / high } else { 0.0 }
    }
}

/// Which signs activations have.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Sign {
    /// Both: zero lies in the middle of the range.
    #[default]
    Either,
    /// None is below zero.
    Positive,
}

/// A number in steps.
#[inline(always)]
pub(super) fn byte(x: f32, factor: f32, zero: i32) -> u8 {
    ((x * factor).round_ties_even() as i32 + zero) as u8
}

/// What becomes of the sums.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Finish {
    /// They overwrite the destination.
    Replace,
    /// They are added to it.
    Add,
    /// Their squared ReLU overwrites it.
    SquaredRelu,
}

/// One product, checked.
pub(super) struct Task {
    pub rows: usize,
    pub cols: usize,
    /// In bytes, as [`Kernel::depth`] fills it up. There are bytes for the next multiple of [`ROWS`] rows.
    pub depth: usize,
    pub a: *const u8,
    /// Which signs the numbers of `a` have; only tiles ask.
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
