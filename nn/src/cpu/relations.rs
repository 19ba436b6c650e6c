//! Attacks on the boards of a pass and their contribution to the attention bias: a sparse list, a few hundred
//! of the 4,096 pairs of squares.

use crate::encode::Item;
use crate::encode::relations::RELATIONS;
use crate::net::TOKENS;

const SQUARE: usize = TOKENS * TOKENS;

/// One entry of a position's `[64, 64]` and the kind of relation there.
#[derive(Clone, Copy)]
struct RelationEntry {
    at: u16,
    relation: u8,
}

/// The relations of all positions of a pass.
#[derive(Default)]
pub(super) struct Relations {
    entries: Vec<RelationEntry>,
    /// Where each position's entries end.
    ends: Vec<usize>,
}

impl Relations {
    /// Lists the relations of `items`, in order.
    pub(super) fn read(&mut self, items: &[Item<'_>]) {
        self.entries.clear();
        self.ends.clear();
        for item in items {
            item.features.attacks(|attack| {
                let entry =
                    |(at, relation)| RelationEntry { at: at as u16, relation: relation as u8 };
                self.entries.extend(attack.entries().map(entry));
            });
            self.ends.push(self.entries.len());
        }
    }

    /// Each position's entries.
    fn positions(&self) -> impl Iterator<Item = &[RelationEntry]> {
        let starts = std::iter::once(0).chain(self.ends.iter().copied());
        starts.zip(&self.ends).map(|(start, &end)| &self.entries[start..end])
    }

    /// Adds `table`, `[heads, RELATIONS]`, to `bias`, `[positions, heads, 64, 64]`; a shorter `bias` is
    /// zero-extended.
    pub(super) fn add_to(&self, bias: &mut Vec<f32>, table: &[f32]) {
        let heads = table.len() / RELATIONS;
        bias.resize(self.ends.len() * heads * SQUARE, 0.0);
        for (entries, bias) in self.positions().zip(bias.chunks_exact_mut(heads * SQUARE)) {
            let heads = bias.chunks_exact_mut(SQUARE).zip(table.chunks_exact(RELATIONS));
            for (bias, table) in heads {
                for entry in entries {
                    bias[usize::from(entry.at)] += table[usize::from(entry.relation)];
                }
            }
        }
    }

    /// Adds head `head` of `table`, `[heads, RELATIONS]`, to the bias among some squares of position `p`, `[squares,
    /// 64]`, whose columns are the same squares in their order.
    pub(super) fn add_among(
        &self,
        p: usize,
        squares: &[u8],
        head: usize,
        table: &[f32],
        bias: &mut [f32],
    ) {
        let mut places = [None; TOKENS];
        for (place, &square) in squares.iter().enumerate() {
            places[usize::from(square)] = Some(place);
        }
        let table = &table[head * RELATIONS..][..RELATIONS];
        for entry in self.positions().nth(p).unwrap_or_default() {
            let at = usize::from(entry.at);
            if let (Some(row), Some(column)) = (places[at / TOKENS], places[at % TOKENS]) {
                bias[row * TOKENS + column] += table[usize::from(entry.relation)];
            }
        }
    }

    /// Adds to `dtable`, `[heads, RELATIONS]`, from `dbias`, `[positions, heads, 64, 64]`.
    pub(super) fn backward(&self, dbias: &[f32], dtable: &mut [f32]) {
        let heads = dtable.len() / RELATIONS;
        for (entries, dbias) in self.positions().zip(dbias.chunks_exact(heads * SQUARE)) {
            let heads = dbias.chunks_exact(SQUARE).zip(dtable.chunks_exact_mut(RELATIONS));
            for (dbias, dtable) in heads {
                for entry in entries {
                    dtable[usize::from(entry.relation)] += dbias[usize::from(entry.at)];
                }
            }
        }
    }
}
