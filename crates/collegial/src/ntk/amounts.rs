//! Amounts as people write them: `4G` of memory, the share `2/8` of the tiles.

use serde::{Deserialize, Serialize};

use crate::written::written;

/// Bytes of memory. Reads from a number of bytes, or from text with a unit: K, M, G and T stand for
/// powers of 1024.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Written", into = "u64")]
pub struct Memory(pub u64);

written!(Memory(u64), "memory is a number of bytes, or text such as \"4G\"");

/// Text that is no amount of memory.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{text:?} is not an amount of memory; write 4G, 1.5G, 800M or bytes")]
pub struct NotMemory {
    /// The text.
    pub text: String,
}

impl std::str::FromStr for Memory {
    type Err = NotMemory;
    fn from_str(text: &str) -> Result<Self, NotMemory> {
        let refusal = || NotMemory { text: text.to_owned() };
        let short = text.trim().trim_end_matches("iB").trim_end_matches('B');
        let units = [('K', 10), ('M', 20), ('G', 30), ('T', 40)];
        let unit = units.iter().find_map(|(unit, bits)| {
            let number = short.strip_suffix([*unit, unit.to_ascii_lowercase()])?;
            Some((number, 1u64 << bits))
        });
        let (number, unit) = unit.unwrap_or((short, 1));
        let number: f64 = number.trim_end().parse().map_err(|_| refusal())?;
        let bytes = number * unit as f64;
        // NaN is not in it either.
        if (1.0..=u64::MAX as f64).contains(&bytes) { Ok(Self(bytes as u64)) } else { Err(refusal()) }
    }
}

/// One of several equal shares of the tiles, counted from 1: `2/8`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Share {
    number: usize,
    of: usize,
}

impl Share {
    /// Where a share of so many things begins and ends.
    pub(crate) fn range(self, count: usize) -> std::ops::Range<usize> {
        let at = |number: usize| (number as u128 * count as u128 / self.of as u128) as usize;
        at(self.number - 1)..at(self.number)
    }
}

/// Text that is no share.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{text:?} is not a share; write 2/8 for the second of eight")]
pub struct NotAShare {
    /// The text.
    pub text: String,
}

impl std::str::FromStr for Share {
    type Err = NotAShare;
    fn from_str(text: &str) -> Result<Self, NotAShare> {
        let numbers = text.split_once('/').map(|(number, of)| (number.trim().parse(), of.trim().parse()));
        match numbers {
            Some((Ok(number), Ok(of))) if (1..=of).contains(&number) => Ok(Self { number, of }),
            _ => Err(NotAShare { text: text.to_owned() }),
        }
    }
}

impl TryFrom<String> for Share {
    type Error = NotAShare;
    fn try_from(text: String) -> Result<Self, NotAShare> {
        text.parse()
    }
}

impl From<Share> for String {
    fn from(share: Share) -> Self {
        format!("{}/{}", share.number, share.of)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_reads_as_people_write_it() {
        let bytes = |text: &str| text.parse::<Memory>().map(|memory| memory.0);
        for (text, expected) in [
            ("4G", 4 << 30),
            ("1.5g", 3 << 29),
            ("800M", 800 << 20),
            ("2GiB", 2 << 30),
            ("5000", 5000),
            ("7 KB", 7168),
        ] {
            assert_eq!(bytes(text), Ok(expected), "{text}");
        }
        for text in ["", "G", "-1G", "0", "NaN", "infM", "4X", "1e30T"] {
            assert_eq!(bytes(text), Err(NotMemory { text: text.into() }));
        }
    }

    #[test]
    fn shares_cover_everything_once() {
        for (count, of) in [(0, 3), (1, 4), (10, 3), (78, 7)] {
            let shares =
                (1..=of).map(|number| format!("{number}/{of}").parse::<Share>().unwrap().range(count));
            let all: Vec<usize> = shares.flatten().collect();
            assert_eq!(all, (0..count).collect::<Vec<_>>());
        }
        for text in ["0/2", "3/2", "1", "1/0", "a/b", "1/2/3"] {
            assert!(text.parse::<Share>().is_err(), "{text}");
        }
    }
}
