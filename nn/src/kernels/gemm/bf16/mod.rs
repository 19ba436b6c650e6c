//! bf16 operands of products: two neighbours along the inner dimension per 32-bit lane.
//!
//! `rows` and `columns` pack left operands, `pairs` reads rows in twos (AVX512_BF16); `amx` multiplies by tiles, and
//! `epilogues` finishes their sums in a training step. The product without AMX is in [`super`].

pub(crate) mod amx;
pub(crate) mod columns;
pub(crate) mod epilogues;
pub(crate) mod pairs;
pub(crate) mod rows;
