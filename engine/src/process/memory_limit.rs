//! Limits on this process's memory that the machine's own figures do not show: those of control groups (containers, services) and
//! RLIMIT_AS (`ulimit -v`). Only Linux has these files.

use std::path::{Component, Path};

/// Reads a file; None if there is none.
pub(super) type ReadFile<'a> = &'a dyn Fn(&Path) -> Option<String>;

/// The files of one version of control groups (Linux, admin-guide/cgroup-v1/memory.rst and cgroup-v2.rst).
struct Hierarchy {
    /// Where it may be mounted.
    mounts: &'static [&'static str],
    limit: &'static str,
    usage: &'static str,
    /// The line of `memory.stat` with the page cache that usage includes and that the kernel drops first.
    reclaimable: &'static str,
}

const V1: Hierarchy = Hierarchy {
    mounts: &["/sys/fs/cgroup/memory"],
    limit: "memory.limit_in_bytes",
    usage: "memory.usage_in_bytes",
    reclaimable: "total_inactive_file",
};
const V2: Hierarchy = Hierarchy {
    mounts: &["/sys/fs/cgroup", "/sys/fs/cgroup/unified"],
    limit: "memory.max",
    usage: "memory.current",
    reclaimable: "inactive_file",
};

/// Bytes that the tightest limit leaves; None without a limit.
pub(super) fn available(read: ReadFile<'_>) -> Option<u64> {
    resident(read).into_iter().chain(address_space(read)).min()
}

/// Bytes that the tightest control group leaves; None without a limit. Memory counts once it is written to.
pub(super) fn resident(read: ReadFile<'_>) -> Option<u64> {
    let memberships = read(Path::new("/proc/self/cgroup")).unwrap_or_default();
    groups(&memberships).filter_map(|(hierarchy, path)| left(&hierarchy, path, read)).min()
}

/// Bytes of memory that this process has written to; 0 where the system does not say.
pub(super) fn written(read: ReadFile<'_>) -> u64 {
    let status = read(Path::new("/proc/self/status")).unwrap_or_default();
    field(&status, "VmRSS:").unwrap_or(0).saturating_mul(1024)
}

/// The groups that limit memory, from `/proc/self/cgroup`: lines of `NUMBER:CONTROLLERS:PATH`, version 2 without controllers.
fn groups(text: &str) -> impl Iterator<Item = (Hierarchy, &str)> {
    text.lines().filter_map(|line| {
        let mut fields = line.splitn(3, ':');
        let (number, controllers, path) = (fields.next()?, fields.next()?, fields.next()?);
        if (number, controllers) == ("0", "") {
            return Some((V2, path));
        }
        controllers.split(',').any(|name| name == "memory").then_some((V1, path))
    })
}

/// Bytes that a group and its ancestors leave. In a container the mount may show the container's group as its root: groups that
/// are not there are left out.
fn left(hierarchy: &Hierarchy, group: &str, read: ReadFile<'_>) -> Option<u64> {
    let group = Path::new(group.trim_start_matches('/'));
    // `..` names a group outside the container's namespace; the root is all that is seen of its ancestors.
    let outside = group.components().any(|part| part == Component::ParentDir);
    let group = if outside { Path::new("") } else { group };
    let folders = hierarchy
        .mounts
        .iter()
        .flat_map(|mount| group.ancestors().map(move |ancestor| Path::new(mount).join(ancestor)));
    folders.filter_map(|folder| left_in(hierarchy, &folder, read)).min()
}

/// The limit of one group less its usage, in bytes; None without a limit.
fn left_in(hierarchy: &Hierarchy, folder: &Path, read: ReadFile<'_>) -> Option<u64> {
    let number = |name: &str| bytes(&read(&folder.join(name))?);
    let limit = number(hierarchy.limit)?;
    let statistics = read(&folder.join("memory.stat")).unwrap_or_default();
    let reclaimable = field(&statistics, hierarchy.reclaimable).unwrap_or(0);
    let used = number(hierarchy.usage).unwrap_or(0).saturating_sub(reclaimable);
    Some(limit.saturating_sub(used))
}

/// A file of one number; None for `max`.
fn bytes(text: &str) -> Option<u64> {
    text.trim().parse().ok()
}

/// The number behind `name` in a text of lines such as `NAME NUMBER`; None for `unlimited`.
fn field(text: &str, name: &str) -> Option<u64> {
    let of_name = |line: &str| {
        let rest = line.strip_prefix(name)?;
        rest.starts_with(char::is_whitespace)
            .then(|| rest.split_whitespace().next()?.parse().ok())?
    };
    text.lines().find_map(of_name)
}

/// Bytes that the soft RLIMIT_AS leaves; None without a limit. Memory counts once it is reserved.
pub(super) fn address_space(read: ReadFile<'_>) -> Option<u64> {
    let limit = field(&read(Path::new("/proc/self/limits"))?, "Max address space")?;
    let used = field(&read(Path::new("/proc/self/status"))?, "VmSize:").unwrap_or(0);
    Some(limit.saturating_sub(used.saturating_mul(1024)))
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMITS: &str = "/proc/self/limits";
    const CGROUP: &str = "/proc/self/cgroup";
    const STATUS: (&str, &str) =
        ("/proc/self/status", "Name:\tmavka\nVmPeak:\t9 kB\nVmSize:\t    1000 kB\n");

    fn of(files: &[(&str, &str)]) -> Option<u64> {
        let read = |path: &Path| {
            let file = files.iter().find(|(name, _)| Path::new(name) == path);
            file.map(|(_, text)| (*text).to_owned())
        };
        available(&read)
    }

    #[test]
    fn a_machine_without_limits_has_none() {
        assert_eq!(of(&[]), None);
        let limits = "Limit                     Soft Limit           Hard Limit           Units     \n\
                      Max address space         unlimited            unlimited            bytes     \n";
        let root = [
            (CGROUP, "0::/\n"),
            ("/sys/fs/cgroup/memory.max", "max\n"),
            ("/sys/fs/cgroup/memory.current", "5000\n"),
            (LIMITS, limits),
            STATUS,
        ];
        assert_eq!(of(&root), None);
        assert_eq!(of(&[(CGROUP, "no\nsuch:lines\n\n")]), None);
    }

    #[test]
    fn the_smallest_of_a_group_and_its_ancestors_counts() {
        let mut files = vec![
            (CGROUP, "0::/a.slice/b.service/c\n"),
            ("/sys/fs/cgroup/a.slice/b.service/c/memory.max", "max\n"),
            ("/sys/fs/cgroup/a.slice/b.service/c/memory.current", "10\n"),
            ("/sys/fs/cgroup/a.slice/b.service/memory.max", "3000\n"),
            ("/sys/fs/cgroup/a.slice/b.service/memory.current", "500\n"),
            ("/sys/fs/cgroup/a.slice/memory.max", "8000\n"),
            ("/sys/fs/cgroup/a.slice/memory.current", "4000\n"),
        ];
        assert_eq!(of(&files), Some(2500));
        let cache = "anon 100\nfile 400\ninactive_file 300\nactive_file 100\n";
        files.push(("/sys/fs/cgroup/a.slice/b.service/memory.stat", cache));
        assert_eq!(of(&files), Some(2800), "page cache is dropped before memory runs out");
        files[6].1 = "7999\n";
        assert_eq!(of(&files), Some(1));
        files[6].1 = "9000\n";
        assert_eq!(of(&files), Some(0));
    }

    #[test]
    fn version_1_has_its_own_names_and_no_word_for_unlimited() {
        let cgroup = "5:cpuset:/\n4:cpu,memory:/docker/f00\n1:name=systemd:/\n0::/\n";
        let files = [
            (CGROUP, cgroup),
            ("/sys/fs/cgroup/memory/docker/f00/memory.limit_in_bytes", "1048576\n"),
            ("/sys/fs/cgroup/memory/docker/f00/memory.usage_in_bytes", "48576\n"),
            (
                "/sys/fs/cgroup/memory/docker/f00/memory.stat",
                "inactive_file 1\ntotal_inactive_file 8576\n",
            ),
            ("/sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n"),
            ("/sys/fs/cgroup/memory/memory.usage_in_bytes", "1048576000\n"),
        ];
        assert_eq!(of(&files), Some(1_048_576 - 40_000));
    }

    #[test]
    fn a_container_whose_mount_begins_at_its_own_group_is_understood() {
        for path in ["/docker/f00", "/../../f00", "/"] {
            let cgroup = format!("4:memory:{path}\n0::{path}\n");
            let v1 = [
                (CGROUP, cgroup.as_str()),
                ("/sys/fs/cgroup/memory/memory.limit_in_bytes", "3000\n"),
                ("/sys/fs/cgroup/memory/memory.usage_in_bytes", "1000\n"),
            ];
            assert_eq!(of(&v1), Some(2000), "{path}");
            let v2 = [
                (CGROUP, cgroup.as_str()),
                ("/sys/fs/cgroup/memory.max", "3000\n"),
                ("/sys/fs/cgroup/memory.current", "1000\n"),
            ];
            assert_eq!(of(&v2), Some(2000), "{path}");
        }
    }

    #[test]
    fn the_address_space_is_limited_by_ulimit() {
        let limits = "Max resident set          unlimited            unlimited            bytes     \n\
                      Max address space         4096000              8192000              bytes     \n";
        assert_eq!(of(&[(LIMITS, limits), STATUS]), Some(4_096_000 - 1_024_000));
        let group =
            [(LIMITS, limits), STATUS, (CGROUP, "0::/\n"), ("/sys/fs/cgroup/memory.max", "2000\n")];
        assert_eq!(of(&group), Some(2000), "the smaller of both");
    }
}
