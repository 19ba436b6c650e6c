//! bf16 operands of products: two neighbours along the inner dimension per 32-bit lane.
//!
//! `rows` and `columns` pack left operands, `pairs` reads rows in twos (AVX512_BF16). The product is in [`super`], by
//! AMX in [`crate::amx`].

pub(crate) mod columns;
pub(crate) mod pairs;
pub(crate) mod rows;
