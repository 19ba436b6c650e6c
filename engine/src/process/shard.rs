//! One of several equal parts of a work, for several processes or machines.

use std::fmt;
use std::ops::Range;
use std::str::FromStr;

/// Part `K` of `N`, read from `K/N`, both from 1. The default is the whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shard {
    /// From 0.
    part: usize,
    /// At least 1.
    parts: usize,
}

impl Default for Shard {
    fn default() -> Shard {
        Shard { part: 0, parts: 1 }
    }
}

/// A text that is no shard.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ShardError;

impl fmt::Display for ShardError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("expected K/N such as 2/4, K from 1 to N")
    }
}

impl std::error::Error for ShardError {}

impl FromStr for Shard {
    type Err = ShardError;

    fn from_str(text: &str) -> Result<Shard, ShardError> {
        let (part, parts) = text.split_once('/').ok_or(ShardError)?;
        let [part, parts] = [part, parts].map(|number| number.parse::<usize>());
        match (part, parts) {
            (Ok(part), Ok(parts)) if (1..=parts).contains(&part) => {
                Ok(Shard { part: part - 1, parts })
            }
            _ => Err(ShardError),
        }
    }
}

impl Shard {
    /// The contiguous part of a list: the parts in order are the list.
    #[must_use]
    pub fn slice<T>(self, list: &[T]) -> &[T] {
        &list[self.range(list.len())]
    }

    /// The places of the contiguous part of `all` things.
    #[must_use]
    pub fn range(self, all: usize) -> Range<usize> {
        let bound = |part: usize| all * part / self.parts;
        bound(self.part)..bound(self.part + 1)
    }

    /// The number that the `index`-th thing of this part has in the whole, whose things are dealt in turn.
    #[must_use]
    pub fn dealt(self, index: u64) -> u64 {
        index * self.parts as u64 + self.part as u64
    }

    /// How many of `all` things this part gets if they are dealt in turn.
    #[must_use]
    pub fn count(self, all: u64) -> u64 {
        all.saturating_sub(self.part as u64).div_ceil(self.parts as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_parts_are_the_whole() {
        let list: Vec<u64> = (0..11).collect();
        for parts in 1..=13 {
            let all = (1..=parts).map(|part| format!("{part}/{parts}").parse::<Shard>().unwrap());
            let all: Vec<Shard> = all.collect();
            assert_eq!(
                all.iter().flat_map(|shard| shard.slice(&list)).copied().collect::<Vec<_>>(),
                list
            );
            let dealt = all.iter().flat_map(|shard| (0..shard.count(11)).map(|i| shard.dealt(i)));
            let mut dealt: Vec<u64> = dealt.collect();
            dealt.sort_unstable();
            assert_eq!(dealt, list);
        }
        assert_eq!(Shard::default().slice(&list), list);
    }

    #[test]
    fn other_texts_are_refused() {
        for text in ["", "1", "0/2", "3/2", "1/0", "a/2", "1/2/3", "-1/2"] {
            assert_eq!(text.parse::<Shard>(), Err(ShardError), "{text}");
        }
    }
}
