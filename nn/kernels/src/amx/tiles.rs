//! AMX tiles (Intel servers from Sapphire Rapids on): registers of 16 rows of 64 bytes; one instruction
//! multiplies two of them and adds the product to a third. A 32-bit lane is two bf16 or four bytes of an
//! operand, or one sum.

use std::arch::asm;

/// Rows of a tile, and lanes per row.
pub(crate) const ROWS: usize = 16;
/// Rows and columns of a block: 2 x 2 tiles, so that each loaded tile is used twice.
pub(crate) const BLOCK: usize = 2 * ROWS;

/// Operand of LDTILECFG: palette 1, then bytes per row and rows of each of eight tiles.
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

/// Configures the tiles for `height` rows and operands `lanes` deep, runs `work`, and releases the tiles.
///
/// Configuration and tiles persist from one block of assembly to the next. The Rust Reference ("Rules for
/// inline assembly", asm.rules.reg-not-output) requires a block to preserve the registers that an operand can
/// name and does not; other registers follow the rules of the target. No operand can name the configuration,
/// and the Reference has no rule of x86-64 for it. asm.rules.not-successive lets the compiler insert its own
/// code between the blocks. Such code would touch the configuration or a tile only if AMX were enabled as a
/// target feature, which it is nowhere here; `work` is this crate's code.
///
/// # Safety
/// [`Isa::Amx`](crate::isa::Isa::Amx) has been found; both numbers are from 1 to 16; `work` does not configure
/// tiles itself.
#[inline(always)]
pub(crate) unsafe fn configured(height: usize, lanes: usize, work: impl FnOnce()) {
    // SAFETY: AMX was found, and both numbers are 1 to 16, by this function's contract; released below.
    unsafe { configure(height, lanes) };
    work();
    // SAFETY: the tiles were configured above, so AMX is there.
    unsafe { release() };
}

/// First half of [`configured`]; [`release`] has to follow. Use where a closure might not inline into the
/// target_feature function.
///
/// # Safety
/// As [`configured`].
#[inline(always)]
pub(crate) unsafe fn configure(height: usize, lanes: usize) {
    let config = Config::new(height, lanes);
    // SAFETY: AMX was found by this function's contract; the configuration is valid (1 to 16 rows and lanes)
    // and outlives the instruction.
    unsafe { asm!("ldtilecfg [{}]", in(reg) &raw const config, options(nostack, readonly)) };
}

/// Releases the tiles.
///
/// # Safety
/// After [`configure`].
#[inline(always)]
pub(crate) unsafe fn release() {
    // SAFETY: [`configure`] ran, so AMX is there; the instruction touches no memory.
    unsafe { asm!("tilerelease", options(nostack, nomem)) };
}

/// Strides of a product's operands.
#[derive(Clone, Copy)]
pub(crate) struct Steps {
    /// Lanes between rows of the left operand, and of the right one.
    pub a_row: usize,
    pub b_row: usize,
    /// Lanes of depth per tile.
    pub lanes: usize,
    pub count: usize,
}

/// Two tiles of the left operand times two of the right one, over the whole depth. Sums stay in tiles 0 to 3
/// until they are stored, so that other work can overlap.
///
/// The assembly reads the fields by their offsets.
#[repr(C)]
pub(crate) struct Block {
    pub a: [*const u32; 2],
    pub b: [*const u32; 2],
    /// Initial sums of the upper and the lower two tiles; null: zero.
    pub base: [*const u32; 2],
    /// Bytes between rows of the base; 0 repeats one row.
    pub base_row: usize,
}

/// The block's assembly; `$dot` is the multiply instruction.
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
    /// Adds bf16 products to the base, in single precision.
    ///
    /// # Safety
    /// Inside [`configured`] for 16 rows and `steps.lanes`; each of the four operands has `steps.count >= 1`
    /// tiles along the depth; 32 x 32 lanes lie at the base unless it is null.
    #[inline(always)]
    pub unsafe fn multiply_halves(&self, steps: Steps) {
        // SAFETY: AMX is configured; `steps.count` tiles of each operand and 32 x 32 lanes of a base that is
        // not null exist, by this function's contract.
        unsafe { multiply!("tdpbf16ps", self, steps) };
    }

    /// Adds products of unsigned bytes (left) and signed bytes (right), in 32-bit integers.
    ///
    /// # Safety
    /// As [`Block::multiply_halves`].
    #[inline(always)]
    pub unsafe fn multiply_bytes(&self, steps: Steps) {
        // SAFETY: AMX is configured; `steps.count` tiles of each operand and 32 x 32 lanes of a base that is
        // not null exist, by this function's contract.
        unsafe { multiply!("tdpbusd", self, steps) };
    }

    /// Adds products of signed bytes, in 32-bit integers.
    ///
    /// # Safety
    /// As [`Block::multiply_halves`].
    #[inline(always)]
    pub unsafe fn multiply_signed(&self, steps: Steps) {
        // SAFETY: AMX is configured; `steps.count` tiles of each operand and 32 x 32 lanes of a base that is
        // not null exist, by this function's contract.
        unsafe { multiply!("tdpbssd", self, steps) };
    }

    /// Writes 32 x 32 sums, the upper 16 rows to `out[0]`, the lower 16 to `out[1]`, rows `row` bytes apart.
    ///
    /// # Safety
    /// Inside the same [`configured`], after a product; each destination has room for 16 rows of 32 lanes.
    #[inline(always)]
    pub unsafe fn store(out: [*mut u32; 2], row: usize) {
        // SAFETY: AMX is configured for 16 x 16 tiles; both destinations have room for 16 rows of 32 lanes, by
        // this function's contract.
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

/// [`Block`] step by step, so that other instructions can be placed between the tiles': the out-of-order window
/// spans only a few hundred.
#[derive(Clone, Copy)]
pub(crate) struct SteppedBlock {
    pub a: [*const u32; 2],
    /// Lanes from tile to tile of the left operand.
    pub a_step: usize,
    pub b: [*const u32; 2],
}

impl SteppedBlock {
    /// Zeroes the sums.
    ///
    /// # Safety
    /// Inside [`configured`].
    #[inline(always)]
    pub unsafe fn begin() {
        // SAFETY: AMX is configured by this function's contract; registers only.
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

    /// Adds the products of one tile of the depth and advances to the next.
    ///
    /// # Safety
    /// As [`Block::multiply_halves`], of one tile; [`SteppedBlock::begin`] came before.
    #[inline(always)]
    pub unsafe fn step(&mut self, steps: Steps) {
        let SteppedBlock { a: [a0, a1], a_step, b: [b0, b1] } = *self;
        // SAFETY: AMX is configured; one tile of each of the four operands exists, by this function's contract.
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

/// Four tiles of a panel of 64 columns, side by side.
pub(crate) fn side_by_side(b: *const u32) -> [*const u32; 4] {
    [0, 1, 2, 3].map(|i| b.wrapping_add(i * ROWS))
}

/// One tile of the left operand times the four of a panel of the right one, over the whole depth: for products
/// of few rows. Sums stay in tiles 0 to 3 until they are stored.
pub(crate) struct Panel {
    pub a: *const u32,
    /// Four tiles of 16 columns.
    pub b: [*const u32; 4],
    /// Initial sums; null: zero.
    pub base: *const u32,
    /// Bytes between rows of the base; 0 repeats one row.
    pub base_row: usize,
}

impl Panel {
    /// [`Block::multiply_halves`] for 64 columns and the configured number of rows.
    ///
    /// # Safety
    /// As there, for these rows and columns.
    #[inline(always)]
    pub unsafe fn multiply_halves(&self, steps: Steps) {
        // SAFETY: AMX is configured; `steps.count` tiles of `a` and of each of `b`, and the configured rows of
        // 64 lanes of a base that is not null exist, by this function's contract.
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

    /// Writes 64 columns of sums, rows `row` bytes apart.
    ///
    /// # Safety
    /// Inside the same [`configured`], after a product; `out` has room for the configured rows of 64 lanes.
    #[inline(always)]
    pub unsafe fn store(out: *mut u32, row: usize) {
        // SAFETY: AMX is configured; `out` has room for the configured rows of 64 lanes, by this function's
        // contract.
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

/// One tile of the left operand times two adjacent ones of the right one, over the whole depth. Leaves tiles 0
/// to 3 untouched.
pub(crate) struct Pair {
    pub a: *const u32,
    /// 32 columns side by side.
    pub b: *const u32,
    /// Destination of the sums.
    pub out: *mut u32,
    /// Bytes between its rows.
    pub out_row: usize,
}

impl Pair {
    /// [`Block::multiply_halves`] for 32 columns and the configured number of rows, from zero; writes the sums.
    ///
    /// # Safety
    /// As there, for these rows, with 16 lanes per tile; `out` has room for them.
    #[inline(always)]
    pub unsafe fn multiply_halves(&self, steps: Steps) {
        // SAFETY: AMX is configured for tiles of 16 lanes, so tiles 5 and 7 have one shape; `steps.count` tiles
        // of `a` and `b` and room for 32 lanes a row exist, by this function's contract.
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
