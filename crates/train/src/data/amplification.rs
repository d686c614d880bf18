//! How much a compressed file may become: a few kilobytes can claim gigabytes.

/// What any file may become.
const FLOOR: u64 = 64 << 20;
/// How many times its size a larger file may become; photographs of low quality reach a hundred.
const RATIO: u64 = 256;

/// The most bytes that a file of so many bytes may become: 256 times as many, and at least 64 MiB.
/// Plain files have no such limit, so that whoever means it unpacks first.
pub(crate) fn limit(packed: u64) -> u64 {
    packed.saturating_mul(RATIO).max(FLOOR)
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
