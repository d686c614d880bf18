//! Lists of widths: `4,10,16`, `1..256`, `16..256:16`, or plain numbers in a list.

use serde::{Deserialize, Serialize};

use crate::written::written;

/// A list of widths, as given. Reads from text or from a list.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Written", into = "Vec<usize>")]
pub struct Widths(pub Vec<usize>);

written!(Widths(Vec<usize>), "widths are a list such as [4, 10, 16], or text such as \"1..256\"");

/// More widths than anybody means.
const MOST: usize = 100_000;

impl std::str::FromStr for Widths {
    type Err = NotWidths;
    fn from_str(text: &str) -> Result<Self, NotWidths> {
        let mut widths = vec![];
        for item in text.split(',') {
            let named = || item.to_owned();
            let (first, last, step) = range(item.trim()).ok_or_else(|| NotWidths::Form { item: named() })?;
            if step == 0 || last < first {
                return Err(NotWidths::EmptyRange { item: named() });
            }
            if (last - first) / step + widths.len() >= MOST {
                return Err(NotWidths::TooMany { item: named(), most: MOST });
            }
            widths.extend((first..=last).step_by(step));
        }
        Ok(Self(widths))
    }
}

/// Text that is no list of widths.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum NotWidths {
    /// Neither a number nor a range.
    #[error("{item:?} is not a width; write 4,10,16 or 1..256 or 16..256:16")]
    Form {
        /// What stands between commas.
        item: String,
    },
    /// A range without a width.
    #[error("the range {item:?} is empty; write it as 16..256:16")]
    EmptyRange {
        /// The range.
        item: String,
    },
    /// More widths than are taken.
    #[error("{item:?} holds too many widths; at most {most} are taken")]
    TooMany {
        /// The range.
        item: String,
        /// How many are taken.
        most: usize,
    },
}

/// `n`, `first..last` or `first..last:step`, both ends included.
fn range(item: &str) -> Option<(usize, usize, usize)> {
    let Some((first, rest)) = item.split_once("..") else {
        let width = item.parse().ok()?;
        return Some((width, width, 1));
    };
    let (last, step) = rest.split_once(':').unwrap_or((rest, "1"));
    Some((first.parse().ok()?, last.trim_start_matches('=').parse().ok()?, step.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_and_ranges() {
        assert_eq!("4,10,16".parse(), Ok(Widths(vec![4, 10, 16])));
        assert_eq!("1,16..48:16".parse(), Ok(Widths(vec![1, 16, 32, 48])));
        assert_eq!("1..3".parse(), Ok(Widths(vec![1, 2, 3])));
        let refused = |text: &str| text.parse::<Widths>().unwrap_err();
        for (wrong, item) in [("", ""), ("a", "a"), ("4,", ""), ("1,-3", "-3")] {
            assert_eq!(refused(wrong), NotWidths::Form { item: item.into() }, "{wrong}");
        }
        for wrong in ["5..2", "1..9:0"] {
            assert_eq!(refused(wrong), NotWidths::EmptyRange { item: wrong.into() });
        }
        let many = "1..99999999999";
        assert_eq!(refused(many), NotWidths::TooMany { item: many.into(), most: 100_000 });
    }
}
