//! Memory that this process can still have: what the system has free, and what limits leave of it.

use std::fs::read_to_string;
use std::path::Path;

/// Bytes that can be had without swapping and within the limits of this process (`ulimit -v` and
/// `-d`) and of its control groups, where the system tells them (Linux).
pub fn available() -> Option<u64> {
    available_below(Path::new("/"))
}

/// The same by the files of a system whose root is `root`.
fn available_below(root: &Path) -> Option<u64> {
    let process = root.join("proc/self");
    let system = kibibytes(&root.join("proc/meminfo"), "MemAvailable:");
    let groups = control_groups(root, &process);
    system.into_iter().chain(own_limits(&process)).chain(groups).min()
}

/// A line of a file such as `MemAvailable:   123 kB`, in bytes.
fn kibibytes(path: &Path, name: &str) -> Option<u64> {
    let text = read_to_string(path).ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix(name))?;
    line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()?.checked_mul(1024)
}

/// What RLIMIT_AS and RLIMIT_DATA leave.
fn own_limits(process: &Path) -> impl Iterator<Item = u64> {
    let limits = read_to_string(process.join("limits")).unwrap_or_default();
    let status = process.join("status");
    [("Max address space", "VmSize:"), ("Max data size", "VmData:")].into_iter().filter_map(
        move |(limit, used)| {
            let line = limits.lines().find_map(|line| line.strip_prefix(limit))?;
            // The soft limit comes first; "unlimited" is no number.
            let limit: u64 = line.split_whitespace().next()?.parse().ok()?;
            Some(limit.saturating_sub(kibibytes(&status, used).unwrap_or(0)))
        },
    )
}

/// What the control groups of this process leave, each with those above it. In a container the path
/// may be the host's, of which only the upper directories exist.
fn control_groups(root: &Path, process: &Path) -> Vec<u64> {
    let mounted = root.join("sys/fs/cgroup");
    let groups = read_to_string(process.join("cgroup")).unwrap_or_default();
    let mut left = vec![];
    for line in groups.lines() {
        let mut fields = line.splitn(3, ':').skip(1);
        let (Some(controllers), Some(path)) = (fields.next(), fields.next()) else { continue };
        let (top, version) = match controllers {
            "" => (mounted.clone(), &UNIFIED),
            names if names.split(',').any(|name| name == "memory") => (mounted.join("memory"), &FIRST),
            _ => continue,
        };
        for group in Path::new(path.trim_start_matches('/')).ancestors() {
            // A path that leads out of the mounted tree names no group of it.
            if group.components().all(|part| matches!(part, std::path::Component::Normal(_))) {
                left.extend(version.left(&top.join(group)));
            }
        }
    }
    left
}

/// The files of a control group.
struct Version {
    limit: &'static str,
    used: &'static str,
    /// The field of `memory.stat` that counts the cached pages of files, which are given up first.
    cached: &'static str,
}

const UNIFIED: Version = Version { limit: "memory.max", used: "memory.current", cached: "inactive_file " };
const FIRST: Version =
    Version { limit: "memory.limit_in_bytes", used: "memory.usage_in_bytes", cached: "total_inactive_file " };

impl Version {
    /// What a group leaves; nothing where it has no limit.
    fn left(&self, group: &Path) -> Option<u64> {
        let number = |name: &str| read_to_string(group.join(name)).ok()?.trim().parse::<u64>().ok();
        let statistics = read_to_string(group.join("memory.stat")).unwrap_or_default();
        let cached = statistics.lines().find_map(|line| line.strip_prefix(self.cached)?.trim().parse().ok());
        let used = number(self.used).unwrap_or(0).saturating_sub(cached.unwrap_or(0));
        Some(number(self.limit)?.saturating_sub(used))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A made-up system of these files, all below `root`.
    fn system(files: &[(&str, &str)]) -> tempfile::TempDir {
        let root = tempfile::tempdir().unwrap();
        let meminfo = ("proc/meminfo", "MemTotal: 9000 kB\nMemAvailable:    8000 kB\n");
        for (name, content) in [&[meminfo], files].concat() {
            let path = root.path().join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, content).unwrap();
        }
        root
    }

    fn of(files: &[(&str, &str)]) -> Option<u64> {
        available_below(system(files).path())
    }

    #[test]
    fn without_limits_it_is_what_the_system_has() {
        assert_eq!(of(&[]), Some(8000 << 10));
        let unlimited = "Max data size  unlimited  unlimited  bytes\n";
        assert_eq!(of(&[("proc/self/limits", unlimited), ("proc/self/cgroup", "0::/\n")]), Some(8000 << 10));
        assert_eq!(available_below(tempfile::tempdir().unwrap().path()), None, "no Linux");
    }

    #[test]
    fn own_limits_count_what_is_used_already() {
        let status = ("proc/self/status", "VmSize:\t 1000 kB\nVmData:\t 300 kB\n");
        let space = "Max address space         3072000              unlimited            bytes\n";
        assert_eq!(of(&[status, ("proc/self/limits", space)]), Some(2000 << 10));
        let data = "Max data size             1024000              1024000              bytes\n";
        assert_eq!(of(&[status, ("proc/self/limits", data)]), Some(700 << 10));
        let both = format!("{space}Max data size             1024              1024              bytes\n");
        assert_eq!(of(&[status, ("proc/self/limits", &both)]), Some(0), "more is used than allowed");
    }

    #[test]
    fn unified_control_groups_and_those_above_limit() {
        let group = ("proc/self/cgroup", "0::/jobs/ours\n");
        let ours = ("sys/fs/cgroup/jobs/ours/memory.max", "3000000\n");
        let used = ("sys/fs/cgroup/jobs/ours/memory.current", "1000000\n");
        assert_eq!(of(&[group, ours, used]), Some(2_000_000));
        let cached = ("sys/fs/cgroup/jobs/ours/memory.stat", "anon 1\ninactive_file 400000\n");
        assert_eq!(of(&[group, ours, used, cached]), Some(2_400_000));
        let open = ("sys/fs/cgroup/jobs/ours/memory.max", "max\n");
        assert_eq!(of(&[group, open, used]), Some(8000 << 10));
        let above = ("sys/fs/cgroup/jobs/memory.max", "500000\n");
        assert_eq!(of(&[group, open, used, above]), Some(500_000));
        // In a container: the path is the host's, and the limit lies at the top.
        let top = ("sys/fs/cgroup/memory.max", "70000\n");
        assert_eq!(of(&[("proc/self/cgroup", "0::/host/path\n"), top]), Some(70_000));
        assert_eq!(of(&[("proc/self/cgroup", "0::/../out\n"), top]), Some(70_000));
    }

    #[test]
    fn first_control_groups_limit() {
        let group = ("proc/self/cgroup", "12:cpu,cpuacct:/x\n5:memory:/docker/ab\n1:name=systemd:/y\n");
        let limit = ("sys/fs/cgroup/memory/docker/ab/memory.limit_in_bytes", "900000\n");
        let used = ("sys/fs/cgroup/memory/docker/ab/memory.usage_in_bytes", "500000\n");
        let cached = ("sys/fs/cgroup/memory/docker/ab/memory.stat", "total_inactive_file 100000\n");
        assert_eq!(of(&[group, limit, used, cached]), Some(500_000));
        let none = ("sys/fs/cgroup/memory/docker/ab/memory.limit_in_bytes", "9223372036854771712\n");
        assert_eq!(of(&[group, none, used]), Some(8000 << 10));
        let top = ("sys/fs/cgroup/memory/memory.limit_in_bytes", "4096\n");
        assert_eq!(of(&[group, none, used, top]), Some(4096));
    }
}
