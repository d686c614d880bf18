//! Products of small matrices, a few rows at a time in vector registers.
//!
//! Every number of a product is one running sum over the depth in ascending order, whatever the
//! blocks and the vectors, so results depend neither on the CPU nor on how rows are shared out.

use collegial_core::multiversion;

/// Rows worked on together: with two AVX2 registers to a row, as many as there are registers for.
const ROWS: usize = 6;

/// Numbers of a row worked on together: two AVX2 registers, or one of AVX-512.
const WIDE: usize = 16;

/// The same for rows that are shorter than that.
const NARROW: usize = 8;

multiversion! {
    /// `out[to..to + n] += sum over k < depth of a[from + k] * b[k * stride..k * stride + n]` for
    /// every pair (from, to) of `rows`, which are different places of `out`.
    pub(crate) fn add_product(
        rows: &[(usize, usize)],
        a: &[f32],
        depth: usize,
        b: &[f32],
        stride: usize,
        n: usize,
        out: &mut [f32],
    ) {
        // Blocks of nearly equal size: nine rows are five and four.
        let mut rest = rows;
        while !rest.is_empty() && n > 0 {
            let (block, later) = rest.split_at(rest.len().div_ceil(rest.len().div_ceil(ROWS)));
            rest = later;
            match block.len() {
                1 => strip::<1>(block, a, depth, b, stride, n, out),
                2 => strip::<2>(block, a, depth, b, stride, n, out),
                3 => strip::<3>(block, a, depth, b, stride, n, out),
                4 => strip::<4>(block, a, depth, b, stride, n, out),
                5 => strip::<5>(block, a, depth, b, stride, n, out),
                _ => strip::<ROWS>(block, a, depth, b, stride, n, out),
            }
        }
    }
}

/// R whole rows of the result.
#[inline(always)]
fn strip<const R: usize>(
    rows: &[(usize, usize)],
    a: &[f32],
    depth: usize,
    b: &[f32],
    stride: usize,
    n: usize,
    out: &mut [f32],
) {
    let to: [usize; R] = std::array::from_fn(|r| rows[r].1);
    let a: [&[f32]; R] = std::array::from_fn(|r| &a[rows[r].0..][..depth]);
    if n >= WIDE {
        vectors::<R, WIDE>(&a, depth, b, stride, n, &to, out);
    } else if n >= NARROW {
        vectors::<R, NARROW>(&a, depth, b, stride, n, &to, out);
    } else {
        for at in 0..n {
            let sums = panel::<R, 1>(&a, depth, b, stride, at, &to, out);
            store(&sums, at, &to, out);
        }
    }
}

/// The same for n >= N. A last vector that is not full begins earlier: what it has in common with
/// the one before is computed twice, and stored last.
#[inline(always)]
fn vectors<const R: usize, const N: usize>(
    a: &[&[f32]; R],
    depth: usize,
    b: &[f32],
    stride: usize,
    n: usize,
    to: &[usize; R],
    out: &mut [f32],
) {
    let last = (!n.is_multiple_of(N)).then(|| panel::<R, N>(a, depth, b, stride, n - N, to, out));
    for at in (0..=n - N).step_by(N) {
        let sums = panel::<R, N>(a, depth, b, stride, at, to, out);
        store(&sums, at, to, out);
    }
    if let Some(sums) = last {
        store(&sums, n - N, to, out);
    }
}

/// R rows of N numbers from `at` on.
#[inline(always)]
fn panel<const R: usize, const N: usize>(
    a: &[&[f32]; R],
    depth: usize,
    b: &[f32],
    stride: usize,
    at: usize,
    to: &[usize; R],
    out: &[f32],
) -> [[f32; N]; R] {
    let mut sums: [[f32; N]; R] = std::array::from_fn(|r| vector(out, to[r] + at));
    for k in 0..depth {
        let b: [f32; N] = vector(b, k * stride + at);
        for (sum, a) in sums.iter_mut().zip(a) {
            let (before, factor) = (*sum, a[k]);
            *sum = std::array::from_fn(|lane| before[lane] + factor * b[lane]);
        }
    }
    sums
}

/// The N numbers from `at` on.
#[inline(always)]
pub(super) fn vector<const N: usize>(from: &[f32], at: usize) -> [f32; N] {
    let from = &from[at..at + N];
    std::array::from_fn(|lane| from[lane])
}

#[inline(always)]
fn store<const R: usize, const N: usize>(sums: &[[f32; N]; R], at: usize, to: &[usize; R], out: &mut [f32]) {
    for r in 0..R {
        out[to[r] + at..to[r] + at + N].copy_from_slice(&sums[r]);
    }
}

multiversion! {
    /// Turns `rows` rows of `length` numbers over: `out[i * stride + row] = x[row * length + i]`.
    pub(crate) fn transpose(x: &[f32], rows: usize, length: usize, stride: usize, out: &mut [f32]) {
        for (row, x) in x.chunks_exact(length).take(rows).enumerate() {
            for (out, x) in out[row..].iter_mut().step_by(stride).zip(x) {
                *out = *x;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use collegial_core::Rng;
    use proptest::prelude::*;

    fn normals(count: usize, trial: u64) -> Vec<f32> {
        let mut values = vec![0.0; count];
        Rng::new(1, 2, trial).fill_normal(&mut values);
        values
    }

    proptest! {
        #[test]
        fn products_are_running_sums(rows in 0usize..20, depth in 0usize..40, n in 0usize..50, gap in 0usize..3, seed in 0u64..100) {
            let (a, b) = (normals(rows * depth, seed), normals(depth * (n + gap), seed + 1000));
            let mut out = normals(rows * (n + gap), seed + 2000);
            let mut expected = out.clone();
            // Rows of the result in reverse order.
            let places: Vec<(usize, usize)> = (0..rows).map(|row| (row * depth, (rows - 1 - row) * (n + gap))).collect();
            add_product(&places, &a, depth, &b, n + gap, n, &mut out);
            for (from, to) in places {
                for i in 0..n {
                    for k in 0..depth {
                        expected[to + i] += a[from + k] * b[k * (n + gap) + i];
                    }
                }
            }
            prop_assert_eq!(out, expected);
        }

        #[test]
        fn matrices_turn_over(rows in 0usize..20, length in 1usize..20, gap in 0usize..9, seed in 0u64..100) {
            let x = normals(rows * length, seed);
            let mut out = vec![0.0; length * (rows + gap)];
            if rows > 0 {
                transpose(&x, rows, length, rows + gap, &mut out);
            }
            for (index, value) in out.iter().enumerate() {
                let (i, row) = (index / (rows + gap).max(1), index % (rows + gap).max(1));
                prop_assert_eq!(*value, if row < rows { x[row * length + i] } else { 0.0 });
            }
        }
    }
}
