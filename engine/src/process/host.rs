//! Limits of this process: requests for threads and memory are granted up to the limits of the machine and of a container.

use super::memory_limit::{self, ReadFile};
use super::workers::cores;
use std::fmt;
use std::fs;
use std::path::Path;

/// Memory left to everything else when a request for hash is cut, in MB.
const SPARE_MB: usize = 256;
/// Evaluation cache that is always granted, in MB: the option's default, part of what is spared.
const LEAST_CACHE_MB: usize = 16;

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
pub(crate) fn granted_mb(wanted: usize, held: usize, free: Option<usize>) -> usize {
    match free {
        Some(free) => wanted.min((free + held).saturating_sub(SPARE_MB)).max(1),
        None => wanted.max(1),
    }
}

/// A smaller evaluation cache than was asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CacheShortage {
    wanted_mb: usize,
    got_mb: usize,
}

impl fmt::Display for CacheShortage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let CacheShortage { wanted_mb, got_mb } = self;
        write!(
            f,
            "NNCacheSize {wanted_mb} MB is more than this machine has free; using {got_mb} MB"
        )
    }
}

/// MB of evaluation cache to use if `wanted` are asked for, beside a search with `hash_mb`; the shortage if it is less.
#[must_use]
pub fn cache_mb(wanted: usize, hash_mb: usize) -> (usize, Option<CacheShortage>) {
    cache_mb_of(wanted, hash_mb, &|path| fs::read_to_string(path).ok())
}

/// The same from the files of `/proc` and `/sys`.
fn cache_mb_of(
    wanted: usize,
    hash_mb: usize,
    read: ReadFile<'_>,
) -> (usize, Option<CacheShortage>) {
    let mb = |bytes: u64| usize::try_from(bytes >> 20).unwrap_or(usize::MAX);
    let machine = read(Path::new("/proc/meminfo")).and_then(|text| machine_bytes(&text));
    let resident = machine.into_iter().chain(memory_limit::resident(read)).min();
    // The search's memory is reserved but may not be written to yet. Address space is taken when it is reserved.
    let untouched = hash_mb.saturating_sub(mb(memory_limit::written(read)));
    let resident = resident.map(|free| mb(free).saturating_sub(untouched));
    let free = resident.into_iter().chain(memory_limit::address_space(read).map(mb)).min();
    let most = free.map(|free| free.saturating_sub(SPARE_MB).max(LEAST_CACHE_MB));
    let got_mb = most.map_or(wanted, |most| wanted.min(most));
    (got_mb, (got_mb < wanted).then_some(CacheShortage { wanted_mb: wanted, got_mb }))
}

/// Memory that machine and limits leave without swapping, in MB, where they say so.
pub(crate) fn available_mb() -> Option<usize> {
    let bytes = available(&|path| fs::read_to_string(path).ok())?;
    usize::try_from(bytes >> 20).ok()
}

/// The same in bytes, from the files of `/proc` and `/sys`.
fn available(read: ReadFile<'_>) -> Option<u64> {
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
    fn a_cache_beyond_the_machine_is_cut_and_said() {
        const GB: u64 = 1 << 20;
        let with = |free_kb: u64, written_kb: u64, limit_kb: Option<u64>| {
            move |path: &Path| {
                Some(match path.to_str()? {
                    "/proc/meminfo" => format!("MemAvailable: {free_kb} kB\n"),
                    "/proc/self/status" => {
                        format!("VmSize: {} kB\nVmRSS: {written_kb} kB\n", 2 * GB)
                    }
                    "/proc/self/limits" => {
                        let limit = limit_kb.map(|kb| (kb << 10).to_string());
                        format!("Max address space {}\n", limit.unwrap_or("unlimited".into()))
                    }
                    _ => return None,
                })
            }
        };
        assert_eq!(cache_mb_of(65_536, 64, &|_| None), (65_536, None), "no system says");
        assert_eq!(cache_mb_of(1000, 1024, &with(8 * GB, 0, None)), (1000, None));
        assert_eq!(cache_mb_of(0, 64, &with(GB, 0, None)), (0, None));
        let (got, shortage) = cache_mb_of(65_536, 1024, &with(8 * GB, 0, None));
        assert_eq!(got, 8192 - 1024 - SPARE_MB, "the search may fill its memory");
        assert_eq!(
            shortage.unwrap().to_string(),
            "NNCacheSize 65536 MB is more than this machine has free; using 6912 MB"
        );
        let (got, _) = cache_mb_of(65_536, 1024, &with(8 * GB, 3 * GB, None));
        assert_eq!(got, 8192 - SPARE_MB, "the search's memory is already written to");
        let (got, _) = cache_mb_of(65_536, 1024, &with(8 * GB, 0, Some(4 * GB)));
        assert_eq!(got, 2048 - SPARE_MB, "address space is already reserved");
        let (got, _) = cache_mb_of(65_536, 1 << 20, &with(8 * GB, 0, None));
        assert_eq!(got, LEAST_CACHE_MB, "a wild Hash leaves what is spared");
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
