//! What this machine has: requests for threads and memory are granted up to its limits.

use crate::workers::cores;

/// Memory left to everything else when a request for hash is cut, in MB.
const SPARE_MB: usize = 256;

/// Threads to start if `wanted` are asked for: at most one for each core, two on a single core. More would
/// slow each other down, take memory, and each hold a minibatch back when the search must stop.
#[must_use]
pub fn threads(wanted: usize) -> usize {
    wanted.clamp(1, cores().max(2))
}

/// MB of tree to reserve if `wanted` are asked for, `held` of which are ours already.
#[must_use]
pub fn hash_mb(wanted: usize, held: usize) -> usize {
    granted_mb(wanted, held, available_mb())
}

/// The same on a machine with `free` MB; None where it does not say.
#[must_use]
pub(super) fn granted_mb(wanted: usize, held: usize, free: Option<usize>) -> usize {
    match free {
        Some(free) => wanted.min((free + held).saturating_sub(SPARE_MB)).max(1),
        None => wanted.max(1),
    }
}

/// Memory the system could give without swapping, in MB, where it says so.
pub(super) fn available_mb() -> Option<usize> {
    let text = std::fs::read_to_string("/proc/meminfo").ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    line.split_whitespace().next()?.parse::<usize>().ok().map(|kb| kb / 1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_requests_are_granted_and_wild_ones_cut() {
        assert_eq!(threads(1), 1);
        assert!(threads(1000) < 1000 || threads(1000) == 1000 && threads(100_000) < 100_000);
        assert_eq!(hash_mb(1, 0), 1);
        assert_eq!(hash_mb(0, 0), 1);
    }

    #[test]
    fn wild_hash_is_cut_to_what_is_free_and_what_is_held() {
        const WILD: usize = 1_048_576;
        assert_eq!(granted_mb(WILD, 0, Some(1000)), 744);
        assert_eq!(granted_mb(WILD, 100, Some(1000)), 844, "what is held can be used again");
        assert_eq!(granted_mb(WILD, 0, Some(100)), 1, "less is free than is spared");
        assert_eq!(granted_mb(700, 0, Some(1000)), 700);
        assert_eq!(granted_mb(WILD, 0, None), WILD, "nobody knows what is free");
    }
}
