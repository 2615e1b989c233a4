//! The memory that a process may use.

use std::path::Path;

/// The memory to assume if it is unknown.
const UNKNOWN_BYTES: usize = 2 << 30;

/// The memory that this process may use, in bytes.
pub fn available_memory() -> usize {
    limit().unwrap_or(UNKNOWN_BYTES)
}

/// The memory that this process may use, in bytes, if it is known.
pub fn limit() -> Option<usize> {
    available(Path::new("/"), address_space())
}

/// The part of the address space (`ulimit -v`) that can become memory in use, in bytes: stacks and
/// arenas are reserved and mostly untouched. `None`: there is no limit.
pub fn address_space() -> Option<usize> {
    let (soft, _) = rlimit::getrlimit(rlimit::Resource::AS).ok()?;
    (soft != rlimit::INFINITY).then(|| usize::try_from(soft / 2).unwrap_or(usize::MAX))
}

/// The least of the machine's memory, the limits of the control groups and `other`, in bytes.
fn available(root: &Path, other: Option<usize>) -> Option<usize> {
    let groups = std::fs::read_to_string(root.join("proc/self/cgroup")).unwrap_or_default();
    let limits = groups.lines().flat_map(|group| limits_of(root, group));
    limits.chain(machine(root)).chain(other).min()
}

/// `MemTotal:       16303320 kB`
fn machine(root: &Path) -> Option<usize> {
    let text = std::fs::read_to_string(root.join("proc/meminfo")).ok()?;
    let total = text.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
    let kib: usize = total.trim().strip_suffix("kB")?.trim().parse().ok()?;
    kib.checked_mul(1024)
}

/// The limits of a group, `0::/path` (version 2) or `5:memory:/path` (version 1), and of its
/// parent groups. Within a container the path may exist only outside: then the limit of the mounted
/// root counts.
fn limits_of(root: &Path, group: &str) -> Vec<usize> {
    let mut parts = group.splitn(3, ':').skip(1);
    let (mounted, file) = match parts.next() {
        Some("") => ("sys/fs/cgroup", "memory.max"),
        Some(controllers) if controllers.split(',').any(|name| name == "memory") => {
            ("sys/fs/cgroup/memory", "memory.limit_in_bytes")
        }
        _ => return Vec::new(),
    };
    let within = Path::new(parts.next().unwrap_or_default().trim_start_matches('/'));
    let limit = |within: &Path| {
        let text = std::fs::read_to_string(root.join(mounted).join(within).join(file)).ok()?;
        // `max` is no limit.
        text.trim().parse::<usize>().ok()
    };
    within.ancestors().filter_map(limit).collect()
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn root(files: &[(&str, &str)]) -> tempfile::TempDir {
        let root = tempfile::tempdir().unwrap();
        for (path, text) in files {
            let path = root.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        root
    }

    #[test]
    fn the_lowest_memory_limit_counts() {
        let machine = ("proc/meminfo", "MemTotal:       1000 kB\nMemFree: 1 kB\n");
        let no_limit =
            [machine, ("proc/self/cgroup", "0::/a\n"), ("sys/fs/cgroup/a/memory.max", "max\n")];
        let outer = [
            machine,
            ("proc/self/cgroup", "0::/a/b\n"),
            ("sys/fs/cgroup/a/memory.max", "5000\n"),
            ("sys/fs/cgroup/a/b/memory.max", "max\n"),
        ];
        let first = [
            machine,
            ("proc/self/cgroup", "5:cpu,memory:/elsewhere\n1:name=systemd:/\n"),
            ("sys/fs/cgroup/memory/memory.limit_in_bytes", "7000\n"),
        ];
        for (files, expected) in
            [(&[machine][..], 1_024_000), (&no_limit, 1_024_000), (&outer, 5_000), (&first, 7_000)]
        {
            assert_eq!(available(root(files).path(), None), Some(expected), "{files:?}");
        }
        assert_eq!(available(root(&[]).path(), None), None);
        let limited = available(root(&no_limit).path(), Some(1_000));
        assert_eq!(limited, Some(1_000), "the limit of the address space counts, too");
    }
}
