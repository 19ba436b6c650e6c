//! The bf16 product by AMX, on CPUs that have it (Intel's servers from Sapphire Rapids on): tiles of 16 rows
//! of 64 bytes, multiplied a whole tile at a time. Packed operands lie as AVX512_BF16 wants them, and that is
//! how AMX wants them too. Rows that fill no tile are multiplied in one all the same, with what lies behind
//! them in the packed operand, and not written.
#![allow(unsafe_code)]

use super::kernel::{Half, Task};
use super::pack::{LANES, PANEL};
use std::arch::asm;
use std::arch::x86_64::*;
use std::sync::OnceLock;

/// Rows from which on a product is faster by tiles than by the AVX-512 kernel.
pub(super) const LEAST: usize = 5;
/// Rows of a tile.
const ROWS: usize = 16;
/// Rows and columns of a block: two tiles by two, so that each loaded tile is used twice.
const BLOCK: usize = 2 * ROWS;

/// Whether this CPU has AMX for bf16 and the system lets this process use it.
pub(super) fn available() -> bool {
    static AVAILABLE: OnceLock<bool> = OnceLock::new();
    *AVAILABLE.get_or_init(|| {
        let (tile, bf16) = (1 << 24, 1 << 22);
        let features = __cpuid_count(7, 0).edx;
        let present = features & tile != 0 && features & bf16 != 0;
        present && is_x86_feature_detected!("avx512bf16") && permitted()
    })
}

/// Asks the kernel for leave to use tiles: their registers are so large that Linux saves them only for
/// processes that asked.
#[cfg(target_os = "linux")]
fn permitted() -> bool {
    const ARCH_REQ_XCOMP_PERM: libc::c_long = 0x1023;
    const XFEATURE_XTILEDATA: libc::c_long = 18;
    // SAFETY: two numbers go in, no memory is touched.
    unsafe { libc::syscall(libc::SYS_arch_prctl, ARCH_REQ_XCOMP_PERM, XFEATURE_XTILEDATA) == 0 }
}

/// Elsewhere nobody has tried it.
#[cfg(not(target_os = "linux"))]
fn permitted() -> bool {
    false
}

/// The lanes of a tile if the depth is cut into equal ones.
fn equal_lanes(depth: usize) -> Option<usize> {
    (8..=ROWS).rev().chain([depth]).find(|lanes| *lanes <= ROWS && depth.is_multiple_of(*lanes))
}

/// What LDTILECFG reads: palette 1, then bytes a row and rows of each of eight tiles.
#[repr(C, align(64))]
struct Config {
    palette: u8,
    start: u8,
    reserved: [u8; 14],
    bytes: [u16; 16],
    rows: [u8; 16],
}

impl Config {
    /// Tiles 0 to 3: sums; 4 and 5: left operand; 6 and 7: right operand, `lanes` deep.
    fn new(lanes: usize) -> Config {
        let (mut bytes, mut rows) = ([0; 16], [0; 16]);
        for tile in 0..8 {
            bytes[tile] = if tile == 4 || tile == 5 { 4 * lanes as u16 } else { 64 };
            rows[tile] = if tile > 5 { lanes as u8 } else { ROWS as u8 };
        }
        Config { palette: 1, start: 0, reserved: [0; 14], bytes, rows }
    }
}

/// A product.
///
/// # Safety
/// As `product` in [`super::kernel`], for halves; the left operand's lanes lie row by row, with room for
/// whole tiles of rows, and [`available`] has said yes.
pub(super) unsafe fn product(task: &Task<'_>) {
    let depth = task.left.depth;
    // SAFETY: by this function's contract; the cuts lie inside the depth.
    unsafe {
        match equal_lanes(depth) {
            Some(lanes) => share(task, 0, lanes, depth / lanes),
            None => {
                let steps = depth / ROWS;
                share(task, 0, ROWS, steps);
                let (base, base_row) = (task.out.cast_const(), task.stride);
                let rest = Task { base, base_row, ..*task };
                share(&rest, steps * ROWS, depth % ROWS, 1);
            }
        }
    }
}

/// The same for `steps` tiles of `lanes` from lane `first` of the depth on.
///
/// # Safety
/// As [`product`]; there are such lanes.
unsafe fn share(task: &Task<'_>, first: usize, lanes: usize, steps: usize) {
    let (left, right) = (&task.left, &task.right);
    let rows = left.rows;
    let config = Config::new(lanes);
    let mut sums = Sums([0.0; BLOCK * BLOCK]);
    // SAFETY: the configuration is valid and outlives its use; every tile's rows lie in the operands:
    // whole tiles of rows in `left`, columns in whole vectors of `right`, lanes inside the depth. A block's
    // missing second tile is a copy of its first, and then only `sums` is written. No tile register is
    // known to the compiler, so nothing lives in them but between here and the release.
    unsafe {
        asm!("ldtilecfg [{}]", in(reg) &raw const config, options(nostack, readonly));
        for col in (0..right.cols).step_by(BLOCK) {
            let b = right.data.as_ptr();
            let b = b.add(col / PANEL * right.panel + first * right.step + col % PANEL);
            let wide = col + LANES < right.cols;
            for row in (0..rows).step_by(BLOCK) {
                let a = left.data.as_ptr().add(row * left.row + first);
                let tall = row + ROWS < rows;
                let block = Block {
                    a: [a, if tall { a.add(ROWS * left.row) } else { a }],
                    a_row: left.row,
                    b: [b, if wide { b.add(LANES) } else { b }],
                    b_row: right.step,
                    lanes,
                    steps,
                };
                let whole = row + BLOCK <= rows && col + BLOCK <= right.cols;
                if task.scale == 1.0 && whole {
                    let out = task.out.add(row * task.stride + col);
                    if task.base.is_null() {
                        block.clear();
                    } else {
                        block.load(task.base.add(row * task.base_row + col), task.base_row);
                    }
                    block.multiply(out, task.stride);
                } else {
                    block.clear();
                    block.multiply(sums.0.as_mut_ptr(), BLOCK);
                    finish(task, &sums, (row, col), (rows - row).min(BLOCK));
                }
            }
        }
        asm!("tilerelease", options(nostack, nomem));
    }
}

/// Sums of a block on their way to the destination.
#[repr(C, align(64))]
struct Sums([f32; BLOCK * BLOCK]);

/// Adds a block's sums to what the task says they are added to.
///
/// # Safety
/// The task has `rows` rows from `first_row` on and columns from `first_col` on; the CPU has AVX-512F.
#[target_feature(enable = "avx512f")]
unsafe fn finish(
    task: &Task<'_>,
    sums: &Sums,
    (first_row, first_col): (usize, usize),
    rows: usize,
) {
    let cols = (task.right.cols - first_col).min(BLOCK);
    for i in 0..rows {
        for j in (0..cols).step_by(LANES) {
            let mask = if cols - j >= LANES { !0 } else { !(!0 << (cols - j)) };
            let (row, col) = (first_row + i, first_col + j);
            // SAFETY: the mask ends at the task's last column; the rest is this function's contract.
            unsafe {
                let sum = _mm512_load_ps(sums.0.as_ptr().add(i * BLOCK + j));
                task.store::<Half>(sum, (row, col), mask);
            }
        }
    }
}

/// Two tiles of the left operand times two of the right one, over the whole depth.
struct Block {
    a: [*const u32; 2],
    /// Lanes from row to row.
    a_row: usize,
    b: [*const u32; 2],
    b_row: usize,
    /// Of the depth, in a tile.
    lanes: usize,
    steps: usize,
}

/// On tiles configured by [`Config::new`], which keep the sums between these calls.
impl Block {
    /// Sums begin at nothing.
    ///
    /// # Safety
    /// Tiles are configured.
    #[inline(always)]
    unsafe fn clear(&self) {
        // SAFETY: by this function's contract.
        unsafe {
            asm!(
                "tilezero tmm0",
                "tilezero tmm1",
                "tilezero tmm2",
                "tilezero tmm3",
                options(nostack, nomem),
            );
        }
    }

    /// Sums begin at `base`, `row` floats from row to row: 0 repeats one row.
    ///
    /// # Safety
    /// Tiles are configured; 32 x 32 floats lie at `base`.
    #[inline(always)]
    unsafe fn load(&self, base: *const f32, row: usize) {
        // SAFETY: by this function's contract.
        unsafe {
            asm!(
                "tileloadd tmm0, [{upper} + {row}]",
                "tileloadd tmm1, [{upper} + {row} + 64]",
                "tileloadd tmm2, [{lower} + {row}]",
                "tileloadd tmm3, [{lower} + {row} + 64]",
                upper = in(reg) base,
                lower = in(reg) base.wrapping_add(ROWS * row),
                row = in(reg) 4 * row,
                options(nostack, readonly),
            );
        }
    }

    /// Adds the products and writes 32 x 32 sums, `stride` floats from row to row.
    ///
    /// # Safety
    /// Tiles are configured with `lanes`; all four operands' tiles exist `steps` times along the depth, and
    /// `out` has room for the block.
    #[inline(always)]
    unsafe fn multiply(&self, out: *mut f32, stride: usize) {
        // SAFETY: this function's contract; the memory written is the block.
        unsafe {
            asm!(
                "2:",
                "tileloadd tmm4, [{a0} + {a_row}]",
                "tileloadd tmm6, [{b0} + {b_row}]",
                "tdpbf16ps tmm0, tmm4, tmm6",
                "tileloadd tmm7, [{b1} + {b_row}]",
                "tdpbf16ps tmm1, tmm4, tmm7",
                "tileloadd tmm5, [{a1} + {a_row}]",
                "tdpbf16ps tmm2, tmm5, tmm6",
                "tdpbf16ps tmm3, tmm5, tmm7",
                "add {a0}, {a_step}",
                "add {a1}, {a_step}",
                "add {b0}, {b_step}",
                "add {b1}, {b_step}",
                "dec {steps}",
                "jnz 2b",
                "tilestored [{upper} + {stride}], tmm0",
                "tilestored [{upper} + {stride} + 64], tmm1",
                "tilestored [{lower} + {stride}], tmm2",
                "tilestored [{lower} + {stride} + 64], tmm3",
                a0 = inout(reg) self.a[0] => _,
                a1 = inout(reg) self.a[1] => _,
                a_row = in(reg) 4 * self.a_row,
                a_step = in(reg) 4 * self.lanes,
                b0 = inout(reg) self.b[0] => _,
                b1 = inout(reg) self.b[1] => _,
                b_row = in(reg) 4 * self.b_row,
                b_step = in(reg) 4 * self.lanes * self.b_row,
                steps = inout(reg) self.steps => _,
                upper = in(reg) out,
                lower = in(reg) out.wrapping_add(ROWS * stride),
                stride = in(reg) 4 * stride,
                options(nostack),
            );
        }
    }
}
