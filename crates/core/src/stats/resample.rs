//! The bootstrap.

use rayon::prelude::*;

use crate::Rng;

/// The statistic of `replicates` samples of n indices drawn from 0..n with replacement, in order of
/// replicate.
///
/// Replicate i draws from `Rng::new(seed, stream, i)`, so the result does not depend on the
/// threads. Empty for n = 0. See [`Interval::percentile`](crate::Interval::percentile) for the
/// interval.
pub fn bootstrap<T, F>(seed: u64, stream: u32, replicates: u64, n: usize, statistic: F) -> Vec<T>
where
    T: Send,
    F: Fn(&[usize]) -> T + Sync,
{
    let replicates = if n == 0 { 0 } else { replicates as usize };
    (0..replicates)
        .into_par_iter()
        .map_init(
            || vec![0; n],
            |indices, replicate| {
                let mut rng = Rng::new(seed, stream, replicate as u64);
                indices.fill_with(|| rng.below(n as u64) as usize);
                statistic(indices)
            },
        )
        .collect()
}
