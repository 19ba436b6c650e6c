//! The trunk's matrix products, in single precision or in bf16.
//!
//! Parameters and all that lies between two products stay in single precision: bf16 holds a product's
//! operands and its result, nothing else. Both casts have a gradient.

use crate::precision::Arithmetic;
use burn::nn::Linear;
use burn::tensor::module::linear as product_of_rows;
use burn::tensor::{FloatDType, Tensor};

/// `a * b`, `[.., rows, inner]` and `[.., inner, columns]` to `[.., rows, columns]`, all of them in single
/// precision whatever is multiplied in.
pub(super) fn matmul<const D: usize>(
    arithmetic: Arithmetic,
    a: Tensor<D>,
    b: Tensor<D>,
) -> Tensor<D> {
    match arithmetic {
        Arithmetic::Single => a.matmul(b),
        Arithmetic::Bf16 => half(a).matmul(half(b)).cast(FloatDType::F32),
    }
}

/// `x * weight + bias`, `[.., inputs]` to `[.., outputs]`; the bias is added in single precision.
pub(super) fn linear<const D: usize>(
    arithmetic: Arithmetic,
    layer: &Linear,
    x: Tensor<D>,
) -> Tensor<D> {
    if arithmetic == Arithmetic::Single {
        return layer.forward(x);
    }
    let product = product_of_rows(half(x), half(layer.weight.val()), None);
    let product = product.cast(FloatDType::F32);
    match &layer.bias {
        Some(bias) => product + bias.val().unsqueeze(),
        None => product,
    }
}

fn half<const D: usize>(x: Tensor<D>) -> Tensor<D> {
    x.cast(FloatDType::BF16)
}
