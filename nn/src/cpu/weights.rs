//! The parameters as the kernels use them: the flat vector, and each matrix packed once for all products.

use super::int8_weights::Weights8;
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
use crate::kernels::attention;
#[cfg(target_arch = "x86_64")]
use crate::kernels::attention::bias_mixture::FixedBasis;
use crate::kernels::gemm::int8::Kernel;
use crate::kernels::gemm::{
    Accumulate, Mat, Method, Operand, Packed, matmul_packed, multiply_rows,
};
use crate::kernels::isa::Isa;
use crate::net::TOKENS;
use crate::net::layout::Layout;
use crate::net::params::Param;
use crate::precision::Arithmetic;
use rayon::iter::{IndexedParallelIterator, IntoParallelRefMutIterator, ParallelIterator};
use rayon::slice::{ParallelSlice, ParallelSliceMut};
use std::collections::BTreeMap;
use std::ops::{Deref, Range};

/// Parameters of a [`Layout`], packed for one arithmetic.
pub struct Weights {
    values: Vec<f32>,
    /// Instruction set of all kernels that compute with them.
    isa: Isa,
    arithmetic: Arithmetic,
    attention: Arithmetic,
    /// Whether matrices are packed transposed.
    transposed: bool,
    /// By the start of the parameter's range.
    packed: BTreeMap<usize, Packed>,
    /// int8 weights, if any.
    weights8: Option<Weights8>,
    /// Quantized patterns of dynamic attention biases; None: mixed by a matrix product.
    basis: Option<Basis>,
}

#[cfg(target_arch = "x86_64")]
type Basis = FixedBasis;
/// Elsewhere always by a matrix product.
#[cfg(not(target_arch = "x86_64"))]
type Basis = std::convert::Infallible;

/// The quantized patterns of the layout's dynamic attention biases, if this CPU has a kernel for them.
fn basis(isa: Isa, layout: &Layout, values: &[f32]) -> Option<Basis> {
    #[cfg(target_arch = "x86_64")]
    {
        let sizes = layout.config.dynamic_bias.as_ref()?;
        FixedBasis::new(isa, &values[layout.bias_basis.clone()], sizes.rank)
    }
    #[cfg(not(target_arch = "x86_64"))]
    {
        let _ = (isa, layout, values);
        None
    }
}

/// Whether attention in bf16 runs by AMX with `isa` on this CPU, with biases in fixed point.
pub(super) fn attends_by_tiles(isa: Isa, layout: &Layout) -> bool {
    #[cfg(target_arch = "x86_64")]
    {
        let sizes = &layout.config;
        !sizes.relations && crate::kernels::amx::attention::supports(isa, sizes.width / sizes.heads)
    }
    #[cfg(not(target_arch = "x86_64"))]
    {
        let _ = (isa, layout);
        false
    }
}

impl Deref for Weights {
    type Target = [f32];

    fn deref(&self) -> &[f32] {
        &self.values
    }
}

/// The parameter that holds the patterns of dynamic attention biases.
const BASIS: &str = "bias_basis";

/// Rows and columns of a parameter that is a product's right operand.
fn sizes(param: &Param) -> Option<(usize, usize)> {
    match param.shape[..] {
        [inputs, outputs] if param.name.ends_with(".weight") => Some((inputs, outputs)),
        [rank, ..] if param.name == BASIS => Some((rank, TOKENS * TOKENS)),
        _ => None,
    }
}

impl Weights {
    /// For the forward pass. Falls back to single precision without a kernel for the arithmetic.
    #[must_use]
    pub fn new(method: Method, layout: &Layout, values: &[f32]) -> Weights {
        let kernel = match method.arithmetic {
            Arithmetic::Int8 => Kernel::fastest(method.isa),
            _ => None,
        };
        match kernel {
            Some(kernel) => Weights::int8(method.isa, kernel, layout, values),
            None => Weights::of(method, layout, values, false),
        }
    }

    /// For the forward pass, with int8 weights for a kernel of this CPU; all else with `isa`.
    #[must_use]
    pub fn int8(isa: Isa, kernel: Kernel, layout: &Layout, values: &[f32]) -> Weights {
        let isa = isa.available();
        let weights8 = Weights8::new(kernel, layout, values);
        let basis = basis(isa, layout, values);
        // Called once: CPUID is slow under some hypervisors.
        let best = Arithmetic::best(isa);
        let rest = |param: &Param| match param.name.as_str() {
            _ if Weights8::holds(param) => None,
            BASIS if basis.is_some() => None,
            _ => Some(best),
        };
        #[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
        let fixed = {
            let method = Method { isa, arithmetic: Arithmetic::Int8 };
            attention::supports(method, layout.config.width / layout.config.heads)
        };
        #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
        let fixed = false;
        let attention = if fixed { Arithmetic::Int8 } else { best };
        let single = Method { isa, arithmetic: Arithmetic::Single };
        let rest = Weights::some(single, layout, values, false, rest);
        Weights { weights8: Some(weights8), attention, basis, ..rest }
    }

    /// For a training step: the forward weights, with int8 as single, and those of the gradient, which needs every
    /// matrix transposed.
    #[must_use]
    pub fn both(method: Method, layout: &Layout, values: &[f32]) -> [Weights; 2] {
        [false, true].map(|transposed| Weights::of(method, layout, values, transposed))
    }

    /// Replaces the values and repacks the matrices in place, on all threads of the rayon pool.
    ///
    /// # Panics
    /// If the number of values differs or weights are in bytes: a fault of the caller.
    pub fn refresh(&mut self, layout: &Layout, values: &[f32]) {
        assert!(self.weights8.is_none() && values.len() == self.values.len(), "{}", values.len());
        let Weights { values: old, isa, packed, transposed, basis: patterns, .. } = self;
        let places = old.par_chunks_mut(1 << 16).zip(values.par_chunks(1 << 16));
        let pack = |(start, packed): (&usize, &mut Packed)| {
            let (rows, cols) = packed.sizes();
            let mat = match transposed {
                true => Mat::new(&values[*start..], cols, rows, rows).t(),
                false => Mat::new(&values[*start..], rows, cols, cols),
            };
            packed.refresh(mat);
        };
        rayon::join(
            || {
                *patterns = patterns.take().and_then(|_| basis(*isa, layout, values));
                places.for_each(|(old, new)| old.copy_from_slice(new));
            },
            || packed.par_iter_mut().for_each(pack),
        );
    }

    fn of(method: Method, layout: &Layout, values: &[f32], transposed: bool) -> Weights {
        let isa = method.isa.available();
        let halves = method.arithmetic == Arithmetic::Bf16 && method.arithmetic.available(isa);
        let arithmetic = if halves { Arithmetic::Bf16 } else { Arithmetic::Single };
        let basis = match halves && !transposed && attends_by_tiles(isa, layout) {
            true => basis(isa, layout, values),
            false => None,
        };
        let packing = |param: &Param| match param.name.as_str() {
            BASIS if basis.is_some() => None,
            _ => Some(arithmetic),
        };
        let method = Method { isa, arithmetic };
        let rest = Weights::some(method, layout, values, transposed, packing);
        Weights { basis, ..rest }
    }

    /// Packs the matrices for which `packing` names an arithmetic.
    fn some(
        Method { isa, arithmetic }: Method,
        layout: &Layout,
        values: &[f32],
        transposed: bool,
        packing: impl Fn(&Param) -> Option<Arithmetic>,
    ) -> Weights {
        let pack = |param: &Param| {
            let (rows, cols) = sizes(param)?;
            let method = Method { isa, arithmetic: packing(param)? };
            let mat = Mat::new(&values[param.range.clone()], rows, cols, cols);
            Some((param.range.start, Packed::new(if transposed { mat.t() } else { mat }, method)))
        };
        let packed = layout.params.iter().filter_map(pack).collect();
        let (values, attention) = (values.to_vec(), arithmetic);
        Weights {
            values,
            isa,
            arithmetic,
            attention,
            transposed,
            packed,
            weights8: None,
            basis: None,
        }
    }

    /// The int8 weights, if any.
    pub(super) fn weights8(&self) -> Option<&Weights8> {
        self.weights8.as_ref()
    }

    /// Quantized patterns of dynamic attention biases; None: mixed by a matrix product.
    #[cfg(target_arch = "x86_64")]
    pub(super) fn basis(&self) -> Option<&FixedBasis> {
        self.basis.as_ref()
    }

    /// Arithmetic of products of weights over all tokens.
    #[must_use]
    pub fn trunk_arithmetic(&self) -> Arithmetic {
        if self.weights8.is_some() { Arithmetic::Int8 } else { self.arithmetic }
    }

    /// Instruction set of the kernels that compute with these weights.
    #[must_use]
    pub fn isa(&self) -> Isa {
        self.isa
    }

    /// Arithmetic of products of two activations.
    #[must_use]
    pub fn arithmetic(&self) -> Arithmetic {
        self.arithmetic
    }

    /// How products of two activations are computed.
    pub(super) fn method(&self) -> Method {
        Method { isa: self.isa, arithmetic: self.arithmetic }
    }

    /// How attention's products are computed: with int8 weights, in the fastest arithmetic.
    pub(super) fn attention(&self) -> Method {
        Method { isa: self.isa, arithmetic: self.attention }
    }

    /// `out (+)= a * b`: `b` is the first `cols` columns of the matrix at `place`, `out` `[.., cols]`.
    ///
    /// # Panics
    /// If no matrix begins there, or shapes do not agree: a fault of the caller.
    pub(super) fn product(
        &self,
        out: &mut [f32],
        cols: usize,
        into: Accumulate<'_>,
        a: Mat<'_>,
        place: &Range<usize>,
    ) {
        matmul_packed(out, cols, into, a, self.packed(place), cols);
    }

    /// [`Weights::product`] for rows `rows` of an operand of [`Weights::arithmetic`].
    ///
    /// # Panics
    /// As [`Weights::product`].
    pub(super) fn product_of_rows(
        &self,
        out: &mut [f32],
        cols: usize,
        into: Accumulate<'_>,
        a: &Operand,
        rows: Range<usize>,
        place: &Range<usize>,
    ) {
        multiply_rows(out, cols, into, a, rows, self.packed(place), cols);
    }

    /// The matrix at `place`, packed.
    ///
    /// # Panics
    /// As [`Weights::product`].
    pub(super) fn packed(&self, place: &Range<usize>) -> &Packed {
        &self.packed[&place.start]
    }
}
