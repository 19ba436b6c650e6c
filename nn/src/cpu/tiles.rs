//! Tiles of AMX (Intel's servers from Sapphire Rapids on): registers of 16 rows of 64 bytes, of which two are multiplied and
//! added to a third a whole tile at a time. A lane of 32 bits is two bf16 or four bytes of the operands, and one sum.
#![allow(unsafe_code)]

use std::arch::asm;

/// Rows of a tile, and lanes of one.
pub(super) const ROWS: usize = 16;
/// Rows and columns of a block: two tiles by two, so that each loaded tile is used twice.
pub(super) const BLOCK: usize = 2 * ROWS;

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
    fn new(height: usize, lanes: usize) -> Config {
        let (mut bytes, mut rows) = ([0; 16], [0; 16]);
        for tile in 0..8 {
            bytes[tile] = if tile == 4 || tile == 5 { 4 * lanes as u16 } else { 64 };
            rows[tile] = if tile > 5 { lanes as u8 } else { height as u8 };
        }
        Config { palette: 1, start: 0, reserved: [0; 14], bytes, rows }
    }
}

/// Configures the tiles for `height` rows and operands `lanes` deep, does `work`, and gives the tiles back.
///
/// Configuration and tiles stay from one block of assembly to the next. The Rust Reference ("Rules for
/// inline assembly", asm.rules.reg-not-output) asks a block to leave as they were the registers that an
/// operand can name and does not; other registers follow the rules of the target. No operand can name the
/// configuration, and the Reference has no rule of x86-64 for it. asm.rules.not-successive lets the compiler
/// put code of its own between the blocks. That code would touch the configuration or a tile only if AMX were enabled,
/// which it is nowhere here, and nobody else's code is called inside.
///
/// # Safety
/// [`Isa::Amx`](super::isa::Isa::Amx) has been found; both numbers are from 1 to 16; `work` does not configure tiles itself.
#[inline(always)]
pub(super) unsafe fn configured(height: usize, lanes: usize, work: impl FnOnce()) {
    // SAFETY: this function's contract.
    unsafe { configure(height, lanes) };
    work();
    // SAFETY: as above.
    unsafe { release() };
}

/// What [`configured`] does before the work: [`release`] has to follow. For work that is no closure, which the compiler might not put in
/// its place, where the instructions are known that it may use.
///
/// # Safety
/// As [`configured`].
#[inline(always)]
pub(super) unsafe fn configure(height: usize, lanes: usize) {
    let config = Config::new(height, lanes);
    // SAFETY: the configuration is valid and outlives its use; the rest is this function's contract.
    unsafe { asm!("ldtilecfg [{}]", in(reg) &raw const config, options(nostack, readonly)) };
}

/// Gives the tiles back.
///
/// # Safety
/// After [`configure`].
#[inline(always)]
pub(super) unsafe fn release() {
    // SAFETY: this function's contract.
    unsafe { asm!("tilerelease", options(nostack, nomem)) };
}

/// How the operands of all products lie.
#[derive(Clone, Copy)]
pub(super) struct Steps {
    /// Lanes from row to row of the left operand, of the right one.
    pub a_row: usize,
    pub b_row: usize,
    /// Lanes of the depth in a tile.
    pub lanes: usize,
    pub count: usize,
}

/// Two tiles of the left operand times two of the right one, over the whole depth. Sums stay in tiles 0 to 3 until they are stored,
/// so that other work can be done while the tiles multiply.
///
/// The assembly reads it by its places.
#[repr(C)]
pub(super) struct Block {
    pub a: [*const u32; 2],
    pub b: [*const u32; 2],
    /// What the sums of the upper and the lower two tiles begin at; null: at nothing.
    pub base: [*const u32; 2],
    /// Bytes from row to row of the base; 0 repeats one row.
    pub base_row: usize,
}

/// The block's assembly, `$dot` the instruction that multiplies.
macro_rules! multiply {
    ($dot:literal, $block:ident, $steps:ident) => {
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
            concat!($dot, " tmm0, tmm4, tmm6"),
            "tileloadd tmm7, [{b1} + {b_row}]",
            concat!($dot, " tmm1, tmm4, tmm7"),
            "tileloadd tmm5, [{a1} + {a_row}]",
            concat!($dot, " tmm2, tmm5, tmm6"),
            concat!($dot, " tmm3, tmm5, tmm7"),
            "add {a0}, {a_step}",
            "add {a1}, {a_step}",
            "add {b0}, {b_step}",
            "add {b1}, {b_step}",
            "dec {count}",
            "jnz 2b",
            block = in(reg) $block,
            t = out(reg) _,
            row = out(reg) _,
            a0 = inout(reg) $block.a[0] => _,
            a1 = inout(reg) $block.a[1] => _,
            a_row = in(reg) 4 * $steps.a_row,
            a_step = in(reg) 4 * $steps.lanes,
            b0 = inout(reg) $block.b[0] => _,
            b1 = inout(reg) $block.b[1] => _,
            b_row = in(reg) 4 * $steps.b_row,
            b_step = in(reg) 4 * $steps.lanes * $steps.b_row,
            count = inout(reg) $steps.count => _,
            out("tmm0") _, out("tmm1") _, out("tmm2") _, out("tmm3") _,
            out("tmm4") _, out("tmm5") _, out("tmm6") _, out("tmm7") _,
            options(nostack, readonly),
        )
    };
}

impl Block {
    /// Adds the products of bf16 to the base, in single precision.
    ///
    /// # Safety
    /// Inside [`configured`] for 16 rows and `steps.lanes`; all four operands' tiles exist `steps.count` times along the depth, that
    /// is at least once; 32 x 32 lanes lie at the base unless it is null.
    #[inline(always)]
    pub unsafe fn multiply_halves(&self, steps: Steps) {
        // SAFETY: this function's contract.
        unsafe { multiply!("tdpbf16ps", self, steps) };
    }

    /// The same of bytes, without a sign on the left and with one on the right; sums are whole numbers of 32 bits.
    ///
    /// # Safety
    /// As [`Block::multiply_halves`].
    #[inline(always)]
    pub unsafe fn multiply_bytes(&self, steps: Steps) {
        // SAFETY: this function's contract.
        unsafe { multiply!("tdpbusd", self, steps) };
    }

    /// The same of bytes with a sign on both sides.
    ///
    /// # Safety
    /// As [`Block::multiply_halves`].
    #[inline(always)]
    pub unsafe fn multiply_signed(&self, steps: Steps) {
        // SAFETY: this function's contract.
        unsafe { multiply!("tdpbssd", self, steps) };
    }

    /// Writes 32 x 32 sums, the upper 16 rows to `out[0]`, the others to `out[1]`, rows so many bytes apart.
    ///
    /// # Safety
    /// Inside the same [`configured`], after a product; there is room.
    #[inline(always)]
    pub unsafe fn store(out: [*mut u32; 2], row: usize) {
        // SAFETY: this function's contract.
        unsafe {
            asm!(
                "tilestored [{upper} + {row}], tmm0",
                "tilestored [{upper} + {row} + 64], tmm1",
                "tilestored [{lower} + {row}], tmm2",
                "tilestored [{lower} + {row} + 64], tmm3",
                upper = in(reg) out[0],
                lower = in(reg) out[1],
                row = in(reg) row,
                options(nostack),
            );
        }
    }
}

/// The same step by step, so that other instructions stand between the tiles': the processor looks ahead no further than a few hundred.
#[derive(Clone, Copy)]
pub(super) struct Halves {
    pub a: [*const u32; 2],
    /// Lanes from tile to tile of the left operand.
    pub a_step: usize,
    pub b: [*const u32; 2],
}

impl Halves {
    /// Sums begin at nothing.
    ///
    /// # Safety
    /// Inside [`configured`].
    #[inline(always)]
    pub unsafe fn begin() {
        // SAFETY: this function's contract.
        unsafe {
            asm!(
                "tilezero tmm0",
                "tilezero tmm1",
                "tilezero tmm2",
                "tilezero tmm3",
                out("tmm0") _, out("tmm1") _, out("tmm2") _, out("tmm3") _,
                options(nostack, nomem),
            );
        }
    }

    /// Adds the products of one tile of the depth, and goes on to the next.
    ///
    /// # Safety
    /// As [`Block::multiply_halves`], of one tile; [`Halves::begin`] came before.
    #[inline(always)]
    pub unsafe fn step(&mut self, steps: Steps) {
        let Halves { a: [a0, a1], a_step, b: [b0, b1] } = *self;
        // SAFETY: this function's contract.
        unsafe {
            asm!(
                "tileloadd tmm4, [{a0} + {a_row}]",
                "tileloadd tmm6, [{b0} + {b_row}]",
                "tdpbf16ps tmm0, tmm4, tmm6",
                "tileloadd tmm7, [{b1} + {b_row}]",
                "tdpbf16ps tmm1, tmm4, tmm7",
                "tileloadd tmm5, [{a1} + {a_row}]",
                "tdpbf16ps tmm2, tmm5, tmm6",
                "tdpbf16ps tmm3, tmm5, tmm7",
                a0 = in(reg) a0,
                a1 = in(reg) a1,
                a_row = in(reg) 4 * steps.a_row,
                b0 = in(reg) b0,
                b1 = in(reg) b1,
                b_row = in(reg) 4 * steps.b_row,
                out("tmm0") _, out("tmm1") _, out("tmm2") _, out("tmm3") _,
                out("tmm4") _, out("tmm5") _, out("tmm6") _, out("tmm7") _,
                options(nostack, readonly),
            );
        }
        let b_step = steps.lanes * steps.b_row;
        self.a = [a0.wrapping_add(a_step), a1.wrapping_add(a_step)];
        self.b = [b0.wrapping_add(b_step), b1.wrapping_add(b_step)];
    }
}

/// 64 columns whose rows follow each other, sixteen by sixteen.
pub(super) fn side_by_side(b: *const u32) -> [*const u32; 4] {
    [0, 1, 2, 3].map(|i| b.wrapping_add(i * ROWS))
}

/// A tile of the left operand times the four of a panel of the right one, over the whole depth: for products of few rows. Sums stay
/// in tiles 0 to 3 until they are stored.
pub(super) struct Panel {
    pub a: *const u32,
    /// Four times 16 columns.
    pub b: [*const u32; 4],
    /// What the sums begin at; null: at nothing.
    pub base: *const u32,
    /// Bytes from row to row of the base; 0 repeats one row.
    pub base_row: usize,
}

impl Panel {
    /// As [`Block::multiply_halves`], for 64 columns of as many rows as tiles are configured for.
    ///
    /// # Safety
    /// As there, for such rows.
    #[inline(always)]
    pub unsafe fn multiply_halves(&self, steps: Steps) {
        // SAFETY: this function's contract.
        unsafe {
            asm!(
                "test {base}, {base}",
                "jz 3f",
                "tileloadd tmm0, [{base} + {base_row}]",
                "tileloadd tmm1, [{base} + {base_row} + 64]",
                "tileloadd tmm2, [{base} + {base_row} + 128]",
                "tileloadd tmm3, [{base} + {base_row} + 192]",
                "jmp 2f",
                "3:",
                "tilezero tmm0",
                "tilezero tmm1",
                "tilezero tmm2",
                "tilezero tmm3",
                "2:",
                "tileloadd tmm4, [{a} + {a_row}]",
                "tileloadd tmm6, [{b0} + {b_row}]",
                "tdpbf16ps tmm0, tmm4, tmm6",
                "tileloadd tmm7, [{b1} + {b_row}]",
                "tdpbf16ps tmm1, tmm4, tmm7",
                "tileloadd tmm6, [{b2} + {b_row}]",
                "tdpbf16ps tmm2, tmm4, tmm6",
                "tileloadd tmm7, [{b3} + {b_row}]",
                "tdpbf16ps tmm3, tmm4, tmm7",
                "add {a}, {a_step}",
                "add {b0}, {b_step}",
                "add {b1}, {b_step}",
                "add {b2}, {b_step}",
                "add {b3}, {b_step}",
                "dec {count}",
                "jnz 2b",
                base = in(reg) self.base,
                base_row = in(reg) self.base_row,
                a = inout(reg) self.a => _,
                a_row = in(reg) 4 * steps.a_row,
                a_step = in(reg) 4 * steps.lanes,
                b0 = inout(reg) self.b[0] => _,
                b1 = inout(reg) self.b[1] => _,
                b2 = inout(reg) self.b[2] => _,
                b3 = inout(reg) self.b[3] => _,
                b_row = in(reg) 4 * steps.b_row,
                b_step = in(reg) 4 * steps.lanes * steps.b_row,
                count = inout(reg) steps.count => _,
                out("tmm0") _, out("tmm1") _, out("tmm2") _, out("tmm3") _,
                out("tmm4") _, out("tmm6") _, out("tmm7") _,
                options(nostack, readonly),
            );
        }
    }

    /// Writes 64 columns of sums, rows so many bytes apart.
    ///
    /// # Safety
    /// Inside the same [`configured`], after a product; there is room.
    #[inline(always)]
    pub unsafe fn store(out: *mut u32, row: usize) {
        // SAFETY: this function's contract.
        unsafe {
            asm!(
                "tilestored [{out} + {row}], tmm0",
                "tilestored [{out} + {row} + 64], tmm1",
                "tilestored [{out} + {row} + 128], tmm2",
                "tilestored [{out} + {row} + 192], tmm3",
                out = in(reg) out,
                row = in(reg) row,
                options(nostack),
            );
        }
    }
}

/// A tile of the left operand times two of the right one, side by side, over the whole depth. It leaves tiles 0 to 3 alone.
pub(super) struct Pair {
    pub a: *const u32,
    /// 32 columns side by side.
    pub b: *const u32,
    /// Where the sums go.
    pub out: *mut u32,
    /// Bytes from row to row there.
    pub out_row: usize,
}

impl Pair {
    /// As [`Block::multiply_halves`], for 32 columns of as many rows as tiles are configured for, and writes the sums, which begin at
    /// nothing.
    ///
    /// # Safety
    /// As there, for such rows and lanes of whole tiles; there is room.
    #[inline(always)]
    pub unsafe fn multiply_halves(&self, steps: Steps) {
        // SAFETY: this function's contract; all tiles are of one size.
        unsafe {
            asm!(
                "tilezero tmm5",
                "tilezero tmm7",
                "2:",
                "tileloadd tmm4, [{a} + {a_row}]",
                "tileloadd tmm6, [{b} + {b_row}]",
                "tdpbf16ps tmm5, tmm4, tmm6",
                "tileloadd tmm6, [{b} + {b_row} + 64]",
                "tdpbf16ps tmm7, tmm4, tmm6",
                "add {a}, {a_step}",
                "add {b}, {b_step}",
                "dec {count}",
                "jnz 2b",
                "tilestored [{out} + {out_row}], tmm5",
                "tilestored [{out} + {out_row} + 64], tmm7",
                a = inout(reg) self.a => _,
                a_row = in(reg) 4 * steps.a_row,
                a_step = in(reg) 4 * steps.lanes,
                b = inout(reg) self.b => _,
                b_row = in(reg) 4 * steps.b_row,
                b_step = in(reg) 4 * steps.lanes * steps.b_row,
                count = inout(reg) steps.count => _,
                out = in(reg) self.out,
                out_row = in(reg) self.out_row,
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
    }
}
