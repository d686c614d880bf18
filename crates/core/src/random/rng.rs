//! The random number generator of all crates.

use crate::random::normal::fill_tiles;
use crate::random::philox::{Key, LANES, TILE, fill_words};

/// A generator positioned at (seed, stream, trial).
///
/// Each such triple has two unrelated tapes: one of 32-bit words ([`next_u32`](Self::next_u32) and
/// all that is made of words) and one of normals ([`normal`](Self::normal),
/// [`fill_normal`](Self::fill_normal)). What a call returns depends only on the triple and on how
/// far earlier calls have moved along the two tapes, never on threads or on the CPU; and the
/// normals are the same however they are split over calls. Different triples give independent
/// numbers.
///
/// A tape holds 2^33 numbers; drawing more from one trial panics rather than repeating itself.
#[derive(Clone, Debug)]
pub struct Rng {
    key: Key,
    /// Numbers taken so far. A buffer holds the tile its position lies in, unless that is the
    /// tile's beginning.
    words: u64,
    normals: u64,
    word_tile: [u32; TILE],
    normal_tile: [f32; TILE],
}

const TAPE: u64 = 1 << 33;
const NORMAL_BLOCKS: u32 = 1 << 31;

/// The first Philox block at a position of a tape: words use the lower half of the block numbers,
/// normals the upper.
fn first_block(position: u64, tape: u32) -> u32 {
    assert!(position < TAPE, "more than 2^33 numbers were drawn from one trial: use another trial or stream");
    tape + (position / TILE as u64) as u32 * LANES as u32
}

impl Rng {
    /// The generator at the beginning of a trial. Cheap: nothing is computed before the first draw.
    pub fn new(seed: u64, stream: u32, trial: u64) -> Self {
        let key = Key { seed, stream, trial };
        Self { key, words: 0, normals: 0, word_tile: [0; TILE], normal_tile: [0.0; TILE] }
    }

    #[inline(never)]
    fn refill_words(&mut self) {
        let block = first_block(self.words, 0);
        fill_words(&self.key, block, std::slice::from_mut(&mut self.word_tile));
    }

    #[inline(never)]
    fn refill_normals(&mut self) {
        let block = first_block(self.normals, NORMAL_BLOCKS);
        fill_tiles(&self.key, block, std::slice::from_mut(&mut self.normal_tile));
    }

    /// 32 random bits.
    #[inline]
    pub fn next_u32(&mut self) -> u32 {
        let slot = self.words as usize % TILE;
        if slot == 0 {
            self.refill_words();
        }
        self.words += 1;
        self.word_tile[slot]
    }

    /// 64 random bits.
    #[inline]
    pub fn next_u64(&mut self) -> u64 {
        u64::from(self.next_u32()) << 32 | u64::from(self.next_u32())
    }

    /// A number uniform in the open interval (0, 1): an odd multiple of 2^-53.
    #[inline]
    pub fn uniform(&mut self) -> f64 {
        ((self.next_u64() >> 12) as f64 + 0.5) * (1.0 / (1u64 << 52) as f64)
    }

    /// An integer uniform in 0..n, without bias (Lemire's multiplication with rejection).
    ///
    /// # Panics
    /// If n is 0, for there is no such integer.
    #[inline]
    pub fn below(&mut self, n: u64) -> u64 {
        assert!(n > 0, "below(0) asks for an integer from an empty range");
        loop {
            let product = u128::from(self.next_u64()) * u128::from(n);
            let low = product as u64;
            // The cheap comparison settles nearly all draws and spares the division.
            if low >= n || low >= n.wrapping_neg() % n {
                return (product >> 64) as u64;
            }
        }
    }

    /// A standard normal number: the next one of [`fill_normal`](Self::fill_normal)'s tape, with
    /// f32's resolution.
    #[inline]
    pub fn normal(&mut self) -> f64 {
        let slot = self.normals as usize % TILE;
        if slot == 0 {
            self.refill_normals();
        }
        self.normals += 1;
        f64::from(self.normal_tile[slot])
    }

    /// Standard normal numbers, in bulk.
    pub fn fill_normal(&mut self, out: &mut [f32]) {
        let slot = self.normals as usize % TILE;
        let buffered = if slot == 0 { 0 } else { out.len().min(TILE - slot) };
        let (head, rest) = out.split_at_mut(buffered);
        head.copy_from_slice(&self.normal_tile[slot..slot + buffered]);
        self.normals += buffered as u64;

        let (tiles, tail) = rest.as_chunks_mut();
        if let Some(last) = (tiles.len() as u64 * TILE as u64).checked_sub(1) {
            first_block(self.normals + last, NORMAL_BLOCKS);
            fill_tiles(&self.key, first_block(self.normals, NORMAL_BLOCKS), tiles);
            self.normals += last + 1;
        }
        if !tail.is_empty() {
            self.refill_normals();
            tail.copy_from_slice(&self.normal_tile[..tail.len()]);
            self.normals += tail.len() as u64;
        }
    }

    /// How many of n fair coins show heads: a binomial number, by counting bits.
    pub fn heads(&mut self, n: usize) -> usize {
        let whole: u32 = (0..n / 32).map(|_| self.next_u32().count_ones()).sum();
        let rest = match n % 32 {
            0 => 0,
            rest => (self.next_u32() >> (32 - rest)).count_ones(),
        };
        (whole + rest) as usize
    }

    /// A chi-square number with k degrees of freedom: the squared length of k normals at the price
    /// of about one.
    ///
    /// Marsaglia and Tsang's rejection for the gamma law of shape k / 2: exact for every k >= 2,
    /// with over 95 % accepted at once; k = 1 is z^2, k = 0 is 0.
    pub fn chi_square(&mut self, k: usize) -> f64 {
        match k {
            0 => return 0.0,
            1 => return self.normal().powi(2),
            _ => {}
        }
        let d = k as f64 / 2.0 - 1.0 / 3.0;
        let c = 1.0 / (3.0 * d.sqrt());
        loop {
            let x = self.normal();
            let cube_root = 1.0 + c * x;
            if cube_root <= 0.0 {
                continue;
            }
            let v = cube_root * cube_root * cube_root;
            let (u, x2) = (self.uniform(), x * x);
            if u < 1.0 - 0.0331 * x2 * x2 || u.ln() < 0.5 * x2 + d * (1.0 - v + v.ln()) {
                return 2.0 * d * v;
            }
        }
    }

    /// A uniformly random order (Fisher and Yates).
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for i in (1..items.len()).rev() {
            items.swap(i, self.below(i as u64 + 1) as usize);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tape_ends_with_a_panic_and_not_a_repetition() {
        let end = || Rng { words: TAPE, normals: TAPE - 64, ..Rng::new(1, 1, 1) };
        assert!(std::panic::catch_unwind(|| end().next_u32()).is_err());
        assert!(std::panic::catch_unwind(|| end().fill_normal(&mut [0.0; 64])).is_ok());
        assert!(std::panic::catch_unwind(|| end().fill_normal(&mut [0.0; 65])).is_err());
        assert!(std::panic::catch_unwind(|| end().fill_normal(&mut [0.0; 128])).is_err());
    }
}
