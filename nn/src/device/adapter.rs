//! Names and kinds of cards, before and after they are opened.

/// An adapter of wgpu: a card, or software that stands in for one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Adapter {
    /// As its driver calls it.
    pub name: String,
    /// Discrete, integrated, virtual, other or software.
    pub kind: &'static str,
    /// Vulkan, Metal or Dx12.
    pub api: String,
}

/// A card that computes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Card {
    /// As its driver calls it.
    pub name: String,
    /// It is no card: its driver computes on the CPU.
    pub is_software: bool,
}
