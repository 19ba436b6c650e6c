//! Samples at equal distances.

/// At most `limit` items at equal distances: files are often sorted by theme or rating.
#[must_use]
pub fn spread<T>(items: Vec<T>, limit: usize) -> Vec<T> {
    let count = items.len();
    let wanted = |index: usize| index * limit / count != (index + 1) * limit / count;
    let chosen = items.into_iter().enumerate();
    chosen.filter(|&(index, _)| limit >= count || wanted(index)).map(|(_, thing)| thing).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_are_spread_evenly() {
        let of_ten = |limit| spread((0..10).collect(), limit);
        assert_eq!(of_ten(2), [4, 9]);
        assert_eq!(of_ten(5), [1, 3, 5, 7, 9]);
        assert_eq!((of_ten(10).len(), of_ten(99).len(), of_ten(0).len()), (10, 10, 0));
    }
}
