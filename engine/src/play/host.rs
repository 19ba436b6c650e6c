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
    match available_mb() {
        Some(free) => wanted.min((free + held).saturating_sub(SPARE_MB)).max(1),
        None => wanted.max(1),
    }
}

/// Memory the system could give without swapping, where it says so.
fn available_mb() -> Option<usize> {
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
}
