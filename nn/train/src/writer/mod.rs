//! Training of the decoder that writes search trees ([`nn::writer`]): a batch of traces, the decoder in burn, and one
//! optimiser step after the other.

mod batch;
mod lessons;
mod twin;

pub use lessons::Lessons;
pub use twin::WriterSums;

#[cfg(test)]
mod tests;
