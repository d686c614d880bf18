//! Budgets: `13775178`, `25.6M`, `1.2G`, or a plain number.

use serde::{Deserialize, Serialize};

use crate::written::written;

/// What a whole network may cost. Reads from a number, or from text with a unit: k, M, G (or B) and
/// T stand for powers of a thousand.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Written", into = "u64")]
pub struct Budget(pub u64);

written!(Budget(u64), "a budget is a number such as 25600000, or text such as \"25.6M\"");

impl std::str::FromStr for Budget {
    type Err = NotABudget;
    fn from_str(text: &str) -> Result<Self, NotABudget> {
        let refusal = || NotABudget { text: text.to_owned() };
        let text = text.trim();
        let (number, power) = match text.char_indices().next_back() {
            Some((at, unit)) if unit.is_alphabetic() => (&text[..at], power(unit).ok_or_else(refusal)?),
            _ => (text, 0),
        };
        digits(number, power).map(Self).ok_or_else(refusal)
    }
}

/// Text that is no budget.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{text:?} is not a budget; write a whole number such as 25600000, or 25.6M or 1.2G")]
pub struct NotABudget {
    /// The text.
    pub text: String,
}

/// How many zeros a unit stands for.
fn power(unit: char) -> Option<usize> {
    match unit {
        'k' | 'K' => Some(3),
        'M' | 'm' => Some(6),
        'G' | 'g' | 'B' | 'b' => Some(9),
        'T' | 't' => Some(12),
        _ => None,
    }
}

/// A decimal number times a power of ten, exactly; `None` unless it is a whole number that fits.
fn digits(number: &str, power: usize) -> Option<u64> {
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    let all_digits = |text: &str| text.bytes().all(|digit| digit.is_ascii_digit());
    if whole.is_empty() || !all_digits(whole) || !all_digits(fraction) {
        return None;
    }
    let fraction = fraction.trim_end_matches('0');
    let zeros = power.checked_sub(fraction.len())?;
    format!("{whole}{fraction}{}", "0".repeat(zeros)).parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn budgets_with_and_without_units() {
        for (text, value) in [
            ("13775178", 13_775_178),
            ("5M", 5_000_000),
            ("25.6M", 25_600_000),
            ("1.2G", 1_200_000_000),
            ("0.5k", 500),
            ("4.10B", 4_100_000_000),
            ("3t", 3_000_000_000_000),
            ("7.0", 7),
        ] {
            assert_eq!(text.parse(), Ok(Budget(value)), "{text}");
        }
        for wrong in ["", "M", "1.5", "1.2345k", "-5M", "5 M", "5Q", "1e9", ".5M", "99999999999T", "1.2.3M"] {
            assert_eq!(wrong.parse::<Budget>(), Err(NotABudget { text: wrong.into() }));
        }
        assert_eq!(serde_json::from_str::<Budget>("12").unwrap(), Budget(12));
        assert_eq!(serde_json::from_str::<Budget>("\"1.5k\"").unwrap(), Budget(1500));
    }
}
