//! Limit of decompressed sizes: a few kilobytes can claim gigabytes.

use std::sync::LazyLock;

/// The size that any file may decompress to.
const FLOOR: u64 = 64 << 20;
/// How many times its size a larger file may become; photographs of low quality reach a hundred.
const RATIO: u64 = 256;

/// The environment variable that raises the limit, in bytes.
const OPTION: &str = "COLLEGIAL_MAX_UNPACKED";

/// The most bytes that a file of so many bytes may become: 256 times as many, at least 64 MiB, and
/// at least what [`OPTION`] says. Plain files have no such limit.
pub(crate) fn limit(packed: u64) -> u64 {
    static RAISED: LazyLock<u64> =
        LazyLock::new(|| std::env::var(OPTION).ok().and_then(|bytes| bytes.parse().ok()).unwrap_or(0));
    packed.saturating_mul(RATIO).max(FLOOR).max(*RAISED)
}

/// How a file that becomes so many bytes is let through, as a sentence on the limit says it.
pub(crate) fn raised_to(bytes: u64) -> String {
    format!("{OPTION}={bytes} allows it")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_files_may_become_64_mebibytes_and_large_ones_256_times_themselves() {
        assert_eq!(limit(0), 64 << 20);
        assert_eq!(limit(1 << 20), 256 << 20);
        assert_eq!(limit(u64::MAX), u64::MAX);
    }
}
