//! Number formats for tables and sentences.

/// An integer with its thousands set apart: `13,743,646`.
pub fn grouped(value: impl Into<u128>) -> String {
    let digits = value.into().to_string();
    let mut text = String::with_capacity(digits.len() * 4 / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A real number with the given number of significant digits, without an exponent where that stays
/// short.
pub fn significant(value: f64, digits: usize) -> String {
    if value == 0.0 || !value.is_finite() {
        return value.to_string();
    }
    let magnitude = value.abs().log10().floor() as i32;
    if !(-5..15).contains(&magnitude) {
        return format!("{value:.*e}", digits.saturating_sub(1));
    }
    let decimals = (digits as i32 - 1 - magnitude).max(0) as usize;
    format!("{value:.decimals$}")
}

/// A duration as people say it: `48.6 days`.
pub fn duration(seconds: f64) -> String {
    let units = [(365.25 * 86400.0, "years"), (86400.0, "days"), (3600.0, "hours"), (60.0, "minutes")];
    let unit = units.into_iter().find(|(length, _)| seconds >= 2.0 * length);
    let (length, name) = unit.unwrap_or((1.0, "seconds"));
    let digits = if seconds / length < 10.0 { 2 } else { 3 };
    match significant(seconds / length, digits).trim_end_matches(".0") {
        "1" => "1 second".into(),
        count => format!("{count} {name}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thousands_are_set_apart() {
        assert_eq!(grouped(0u64), "0");
        assert_eq!(grouped(999u64), "999");
        assert_eq!(grouped(13_743_646u64), "13,743,646");
        assert_eq!(grouped(u128::from(u64::MAX)), "18,446,744,073,709,551,615");
    }

    #[test]
    fn durations_in_words() {
        for (seconds, expected) in [
            (0.5, "0.50 seconds"),
            (1.0, "1 second"),
            (90.0, "90 seconds"),
            (180.0, "3 minutes"),
            (7.3e3, "2 hours"),
            (4.2e6, "48.6 days"),
            (1.0e8, "3.2 years"),
        ] {
            assert_eq!(duration(seconds), expected);
        }
    }

    #[test]
    fn significant_digits_do_not_depend_on_size() {
        assert_eq!(significant(3.279_123, 4), "3.279");
        assert_eq!(significant(0.001_234_5, 3), "0.00123");
        assert_eq!(significant(1234.5, 2), "1234");
        assert_eq!(significant(1.5e-9, 2), "1.5e-9");
        assert_eq!(significant(-0.5, 3), "-0.500");
        assert_eq!(significant(0.0, 3), "0");
    }
}
