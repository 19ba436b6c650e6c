//! The bf16 product by AMX, on CPUs that have it (Intel's servers from Sapphire Rapids on): tiles of 16 rows
//! of 64 bytes, multiplied a whole tile at a time. Packed operands lie as AVX512_BF16 wants them, and that is
//! how AMX wants them too. Rows that fill no tile are multiplied in one all the same, with what lies behind
//! them in the packed operand, and not written.
#![allow(unsafe_code)]

use super::pairs::{LANES, PANEL};
use super::task::{Half, Task};
use std::arch::asm;
use std::arch::x86_64::*;

/// Rows of a tile.
const ROWS: usize = 16;
/// Rows and columns of a block: two tiles by two, so that each loaded tile is used twice.
const BLOCK: usize = 2 * ROWS;

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
/// whole tiles of rows, and [`isa::amx`](crate::cpu::isa::amx) has said yes.
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
    let lanes = Steps { a_row: left.row, b_row: right.step, lanes, count: steps };
    // SAFETY: the configuration is valid and outlives its use; every tile's rows lie in the operands:
    // whole tiles of rows in `left`, columns in whole vectors of `right`, lanes inside the depth. A block's
    // missing second tile is a copy of its first, and then only `sums` is written.
    //
    // The tiles' configuration stays from the first block of assembly to the last. The Rust Reference ("Rules for
    // inline assembly", asm.rules.reg-not-output) asks a block to leave as they were the registers that an
    // operand can name and does not; other registers follow the rules of the target. No operand can name the
    // configuration, and the Reference has no rule of x86-64 for it. asm.rules.not-successive lets the compiler
    // put code of its own between the blocks. That code would touch the configuration only if AMX were enabled,
    // which it is nowhere here, and nobody else's code is called. For the same reason the compiler keeps nothing
    // in the tile registers, which the first and the last block clear.
    unsafe {
        asm!("ldtilecfg [{}]", in(reg) &raw const config, options(nostack, readonly));
        for col in (0..right.cols).step_by(BLOCK) {
            let b = right.data.as_ptr();
            let b = b.add(col / PANEL * right.panel + first * right.step + col % PANEL);
            let wide = col + LANES < right.cols;
            for row in (0..rows).step_by(BLOCK) {
                let a = left.data.as_ptr().add(row * left.row + first);
                let tall = row + ROWS < rows;
                let whole = row + BLOCK <= rows && col + BLOCK <= right.cols;
                let direct = task.scale == 1.0 && whole;
                let (out, out_row) = match direct {
                    true => (task.out.add(row * task.stride + col), task.stride),
                    false => (sums.0.as_mut_ptr(), BLOCK),
                };
                let base = match direct && !task.base.is_null() {
                    true => task.base.add(row * task.base_row + col),
                    false => std::ptr::null(),
                };
                let block = Block {
                    a: [a, if tall { a.add(ROWS * left.row) } else { a }],
                    b: [b, if wide { b.add(LANES) } else { b }],
                    base: [base, base.wrapping_add(ROWS * task.base_row)],
                    // The lower half is not looked at where the upper one is null.
                    base_row: 4 * task.base_row,
                    out: [out, out.wrapping_add(ROWS * out_row)],
                    out_row: 4 * out_row,
                };
                block.multiply(lanes);
                if !direct {
                    finish(task, &sums, row, col, (rows - row).min(BLOCK));
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
unsafe fn finish(task: &Task<'_>, sums: &Sums, first_row: usize, first_col: usize, rows: usize) {
    let cols = (task.right.cols - first_col).min(BLOCK);
    for i in 0..rows {
        for j in (0..cols).step_by(LANES) {
            let mask = if cols - j >= LANES { !0 } else { !(!0 << (cols - j)) };
            let (row, col) = (first_row + i, first_col + j);
            // SAFETY: the mask ends at the task's last column; the rest is this function's contract.
            unsafe {
                let sum = _mm512_load_ps(sums.0.as_ptr().add(i * BLOCK + j));
                task.store::<Half>(sum, row, col, mask);
            }
        }
    }
}

/// Two tiles of the left operand times two of the right one, over the whole depth.
///
/// The assembly reads it by its places.
#[repr(C)]
struct Block {
    a: [*const u32; 2],
    b: [*const u32; 2],
    /// What the sums of the upper and the lower two tiles begin at; null: at nothing.
    base: [*const f32; 2],
    /// Bytes from row to row of the base; 0 repeats one row.
    base_row: usize,
    /// Where the sums go.
    out: [*mut f32; 2],
    /// Bytes from row to row there.
    out_row: usize,
}

/// How the operands of all blocks lie.
#[derive(Clone, Copy)]
struct Steps {
    /// Lanes from row to row of the left operand, of the right one.
    a_row: usize,
    b_row: usize,
    /// Lanes of the depth in a tile.
    lanes: usize,
    count: usize,
}

impl Block {
    /// Adds the products to the base and writes 32 x 32 sums. No tile register outlives the block of assembly.
    ///
    /// # Safety
    /// Tiles are configured by [`Config::new`] with `steps.lanes`; all four operands' tiles exist
    /// `steps.count` times along the depth, that is at least once; 32 x 32 floats lie at the base unless it is
    /// null, and `out` has room for as many.
    #[inline(always)]
    unsafe fn multiply(&self, steps: Steps) {
        // SAFETY: this function's contract; the memory written is the block.
        unsafe {
            asm!(
                "mov {t}, [{block} + 32]",
                "test {t}, {t}",
                "jz 3f",
                "mov {row}, [{block} + 48]",
                "tileloadd tmm0, [{t} + {row}]",
                "tileloadd tmm1, [{t} + {row} + 64]",
                "mov {t}, [{block} + 40]",
                "tileloadd tmm2, [{t} + {row}]",
                "tileloadd tmm3, [{t} + {row} + 64]",
                "jmp 2f",
                "3:",
                "tilezero tmm0",
                "tilezero tmm1",
                "tilezero tmm2",
                "tilezero tmm3",
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
                "dec {count}",
                "jnz 2b",
                "mov {t}, [{block} + 56]",
                "mov {row}, [{block} + 72]",
                "tilestored [{t} + {row}], tmm0",
                "tilestored [{t} + {row} + 64], tmm1",
                "mov {t}, [{block} + 64]",
                "tilestored [{t} + {row}], tmm2",
                "tilestored [{t} + {row} + 64], tmm3",
                block = in(reg) self,
                t = out(reg) _,
                row = out(reg) _,
                a0 = inout(reg) self.a[0] => _,
                a1 = inout(reg) self.a[1] => _,
                a_row = in(reg) 4 * steps.a_row,
                a_step = in(reg) 4 * steps.lanes,
                b0 = inout(reg) self.b[0] => _,
                b1 = inout(reg) self.b[1] => _,
                b_row = in(reg) 4 * steps.b_row,
                b_step = in(reg) 4 * steps.lanes * steps.b_row,
                count = inout(reg) steps.count => _,
                out("tmm0") _, out("tmm1") _, out("tmm2") _, out("tmm3") _,
                out("tmm4") _, out("tmm5") _, out("tmm6") _, out("tmm7") _,
                options(nostack),
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::mem::offset_of;

    #[test]
    fn the_assembly_finds_the_fields_of_a_block() {
        assert_eq!(offset_of!(Block, base), 32);
        assert_eq!(offset_of!(Block, base_row), 48);
        assert_eq!(offset_of!(Block, out), 56);
        assert_eq!(offset_of!(Block, out_row), 72);
    }
}
