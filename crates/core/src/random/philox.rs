//! Philox4x32-10, the counter-based generator of Salmon, Moraes, Dror and Shaw (SC 2011).
//!
//! A block of four words is a keyed bijection of a 128-bit counter, so any block can be computed by
//! anyone at any time. The key is the seed; the counter is (block, trial low, trial high, stream).

use crate::multiversion;

const M0: u64 = 0xD251_1F53;
const M1: u64 = 0xCD9E_8D57;
const W0: u32 = 0x9E37_79B9;
const W1: u32 = 0xBB67_AE85;
const ROUNDS: usize = 10;
const LOW: u64 = 0xFFFF_FFFF;

/// Blocks computed side by side.
pub const LANES: usize = 16;
/// Words of a tile: [`LANES`] consecutive blocks, all first words, then all second words, and so
/// on.
pub const TILE: usize = 4 * LANES;

/// One block, word by word: the definition, and the reference of the vectorised form.
pub fn block(counter: [u32; 4], key: [u32; 2]) -> [u32; 4] {
    let ([mut c0, mut c1, mut c2, mut c3], [mut k0, mut k1]) = (counter, key);
    for _ in 0..ROUNDS {
        let (p0, p1) = (M0 * u64::from(c0), M1 * u64::from(c2));
        (c0, c1, c2, c3) = ((p1 >> 32) as u32 ^ c1 ^ k0, p1 as u32, (p0 >> 32) as u32 ^ c3 ^ k1, p0 as u32);
        (k0, k1) = (k0.wrapping_add(W0), k1.wrapping_add(W1));
    }
    [c0, c1, c2, c3]
}

/// Where a generator stands: everything in Philox's input but the block number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Key {
    /// The user's seed.
    pub seed: u64,
    /// Which use of chance this is (weights, augmentation, ...).
    pub stream: u32,
    /// Which trial of that use.
    pub trial: u64,
}

impl Key {
    /// Philox's counter for a block of this key.
    pub fn counter(&self, block: u32) -> [u32; 4] {
        [block, self.trial as u32, (self.trial >> 32) as u32, self.stream]
    }

    /// Philox's key.
    pub fn words(&self) -> [u32; 2] {
        [self.seed as u32, (self.seed >> 32) as u32]
    }
}

/// The part of Philox that is the same for all blocks of a key.
///
/// Only the first counter word varies, so half of the first two rounds and an xor of the third are
/// done once here. Everything is held in 64 bits: the vector multiplier reads the low halves of
/// 64-bit lanes and ignores what stands above, so that words can carry garbage there and need no
/// packing between rounds.
pub(crate) struct Schedule {
    second: u64,
    third: [u64; 2],
    keys: [[u64; 2]; ROUNDS - 2],
}

impl Schedule {
    #[inline]
    pub(crate) fn new(key: &Key) -> Self {
        let [_, c1, c2, c3] = key.counter(0).map(u64::from);
        let [k0, k1] = key.words();
        let round = |i: u32| {
            [u64::from(k0.wrapping_add(W0.wrapping_mul(i))), u64::from(k1.wrapping_add(W1.wrapping_mul(i)))]
        };
        let p1 = M1 * c2;
        let p0 = M0 * ((p1 >> 32) ^ c1 ^ round(0)[0]);
        let mut keys = std::array::from_fn(|i| round(i as u32 + 2));
        keys[0][1] ^= p0 & LOW;
        Self { second: c3 ^ round(0)[1], third: [(p1 & LOW) ^ round(1)[0], (p0 >> 32) ^ round(1)[1]], keys }
    }

    /// N blocks, round by round together: their chains of multiplications overlap. Each word is in
    /// the low half of its result.
    #[inline(always)]
    fn blocks<const N: usize>(&self, numbers: [u32; N]) -> [[u64; 4]; N] {
        let mut blocks = numbers.map(|number| {
            let p0 = M0 * u64::from(number);
            let p1 = M1 * (((p0 >> 32) ^ self.second) & LOW);
            [(p1 >> 32) ^ self.third[0], p1, p0 ^ self.third[1], 0]
        });
        // The fourth word, 0 here, is constant at this point and was taken into the key of the next
        // round.
        for [k0, k1] in self.keys {
            for [c0, c1, c2, c3] in &mut blocks {
                let (p0, p1) = (M0 * (*c0 & LOW), M1 * (*c2 & LOW));
                (*c0, *c1, *c2, *c3) = ((p1 >> 32) ^ (*c1 ^ k0), p1, (p0 >> 32) ^ (*c3 ^ k1), p0);
            }
        }
        blocks
    }

    /// The words of [`LANES`] consecutive blocks.
    #[inline(always)]
    pub(crate) fn tile(&self, first: u32, out: &mut [u32; TILE]) {
        const HALF: usize = LANES / 2;
        for lane in 0..HALF {
            let number = first.wrapping_add(lane as u32);
            let [left, right] = self.blocks([number, number.wrapping_add(HALF as u32)]);
            for word in 0..4 {
                out[word * LANES + lane] = left[word] as u32;
                out[word * LANES + HALF + lane] = right[word] as u32;
            }
        }
    }
}

#[inline(always)]
fn words_body(key: &Key, first_block: u32, out: &mut [[u32; TILE]]) {
    let schedule = Schedule::new(key);
    for (tile, out) in out.iter_mut().enumerate() {
        schedule.tile(first_block.wrapping_add((tile * LANES) as u32), out);
    }
}

multiversion! {
    /// Fills whole tiles with the blocks from `first_block` on.
    pub fn fill_words(key: &Key, first_block: u32, out: &mut [[u32; TILE]]) {
        words_body(key, first_block, out);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The vectors published with Random123 for philox4x32-10.
    #[test]
    fn known_answers() {
        assert_eq!(block([0; 4], [0; 2]), [0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8]);
        assert_eq!(block([!0; 4], [!0; 2]), [0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd]);
        assert_eq!(
            block([0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344], [0xa4093822, 0x299f31d0]),
            [0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1]
        );
    }

    #[test]
    fn tiles_are_blocks_side_by_side() {
        let keys = [
            Key { seed: 0, stream: 0, trial: 0 },
            Key { seed: !0, stream: !0, trial: !0 },
            Key { seed: 0x299f31d0_a4093822, stream: 0x03707344, trial: 0x13198a2e_85a308d3 },
        ];
        for key in keys {
            for first in [0, 8, 0x243f6a88, 0x8000_0000, u32::MAX - 3] {
                let mut dispatched = [[0; TILE]; 3];
                fill_words(&key, first, &mut dispatched);
                let mut portable = [[0; TILE]; 3];
                words_body(&key, first, &mut portable);
                assert_eq!(dispatched, portable);
                for (i, &word) in dispatched.as_flattened().iter().enumerate() {
                    let (tile, word_of_block, lane) = (i / TILE, i % TILE / LANES, i % LANES);
                    let number = first.wrapping_add((tile * LANES + lane) as u32);
                    assert_eq!(word, block(key.counter(number), key.words())[word_of_block]);
                }
            }
        }
    }
}
