//! What this process may use: requests for threads and memory are granted up to the limits of the machine and of a container.

use super::memory_limit::{self, Read};
use crate::workers::cores;
use std::fs;
use std::path::Path;

/// Memory left to everything else when a request for hash is cut, in MB.
const SPARE_MB: usize = 256;

/// Threads to start if `wanted` are asked for: at most one for each core, two on a single core. More would
/// slow each other down, take memory, and each hold a minibatch back when the search must stop. Cores are those of
/// the affinity mask, within a control group's CPU quota (`std::thread::available_parallelism`).
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

/// Memory that machine and limits leave without swapping, in MB, where they say so.
pub(super) fn available_mb() -> Option<usize> {
    let bytes = available(&|path| fs::read_to_string(path).ok())?;
    usize::try_from(bytes >> 20).ok()
}

/// The same in bytes, from the files of `/proc` and `/sys`.
fn available(read: Read<'_>) -> Option<u64> {
    let machine = read(Path::new("/proc/meminfo")).and_then(|text| machine_bytes(&text));
    machine.into_iter().chain(memory_limit::available(read)).min()
}

/// The machine's available memory from the text of `/proc/meminfo`, in bytes.
fn machine_bytes(text: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    line.split_whitespace().next()?.parse::<u64>().ok().map(|kb| kb << 10)
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
    fn a_container_has_less_memory_than_its_machine() {
        let with_limit = |limit: &'static str| {
            available(&move |path| {
                let text = match path.to_str()? {
                    "/proc/meminfo" => "MemTotal:  9000000 kB\nMemAvailable:  8000000 kB\n",
                    "/proc/self/cgroup" => "0::/\n",
                    "/sys/fs/cgroup/memory.max" => limit,
                    _ => return None,
                };
                Some(text.to_owned())
            })
        };
        assert_eq!(with_limit("max\n"), Some(8_000_000 << 10));
        assert_eq!(with_limit("1048576\n"), Some(1 << 20));
        assert_eq!(with_limit("99999999999999\n"), Some(8_000_000 << 10));
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
