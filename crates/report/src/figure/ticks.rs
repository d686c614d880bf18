//! Round numbers along an axis.

use super::axis::Scale;
use crate::grouped;

/// A labelled position.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Tick {
    pub(crate) value: f64,
    pub(crate) label: String,
}

/// The ticks of an axis: those with a label and, on a logarithmic one, those without.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Ticks {
    pub(crate) major: Vec<Tick>,
    pub(crate) minor: Vec<f64>,
}

/// At most `most` (or two, if that is more) labelled ticks within the scale.
pub(crate) fn ticks(scale: &Scale, most: usize) -> Ticks {
    let most = most.max(2);
    if scale.logarithmic { logarithmic(scale, most) } else { linear(scale.low, scale.high, most) }
}

/// `digits` x 10^`exponent`, exact in decimal, so that labels never show rounding noise.
#[derive(Clone, Copy, Debug)]
struct Decimal {
    digits: i64,
    exponent: i32,
}

impl Decimal {
    fn value(self) -> f64 {
        // Division by a power of ten rounds once; multiplication by its inverse would round twice.
        if self.exponent < 0 {
            self.digits as f64 / 10f64.powi(-self.exponent)
        } else {
            self.digits as f64 * 10f64.powi(self.exponent)
        }
    }
}

fn linear(low: f64, high: f64, most: usize) -> Ticks {
    let steps = (low.min(high), high.max(low));
    let raw = (steps.1 - steps.0) / most as f64;
    let exponent = raw.log10().floor() as i32;
    // The first round step that leaves at most `most` ticks; the last one always does.
    let candidates = [1, 2, 5, 10, 20, 50].map(|digits| Decimal { digits, exponent });
    let multiples = |step: Decimal| {
        let first = (steps.0 / step.value() - 1e-9).ceil() as i64;
        let last = (steps.1 / step.value() + 1e-9).floor() as i64;
        first..=last
    };
    let count = |step: &Decimal| multiples(*step).count();
    let step = candidates.iter().find(|step| count(step) <= most).unwrap_or(&candidates[5]);
    // 10 x 10^e is 1 x 10^(e+1): fewer digits in the labels.
    let step = match step.digits {
        digits @ 10.. => Decimal { digits: digits / 10, exponent: exponent + 1 },
        _ => *step,
    };
    let decimals: Vec<Decimal> =
        multiples(step).map(|k| Decimal { digits: k * step.digits, exponent: step.exponent }).collect();
    Ticks { major: labelled(&decimals), minor: vec![] }
}

fn logarithmic(scale: &Scale, most: usize) -> Ticks {
    let inside = |tick: &Decimal| scale.contains(tick.value());
    let decades = (scale.low.floor() as i32)..=(scale.high.ceil() as i32);
    let all = |digits: &[i64], every: i32| -> Vec<Decimal> {
        let decades = decades.clone().filter(|exponent| exponent.rem_euclid(every) == 0);
        let ticks =
            decades.flat_map(|exponent| digits.iter().map(move |&digits| Decimal { digits, exponent }));
        ticks.filter(inside).collect()
    };
    let one_to_nine = [1, 2, 3, 4, 5, 6, 7, 8, 9];
    let dense = all(&one_to_nine, 1);
    if dense.len() < 3 {
        // Less than a piece of a decade: nothing is round there but the steps of a linear axis.
        let mut ticks = linear(10f64.powf(scale.low), 10f64.powf(scale.high), most);
        ticks.major.retain(|tick| scale.contains(tick.value));
        return ticks;
    }
    let within_decades = [&one_to_nine[..], &[1, 2, 5], &[1, 3], &[1]].map(|digits| all(digits, 1));
    // No more than 633 decades in f64, so some spacing fits.
    let sparse = [2, 3, 5, 10, 20, 50, 100, 200, 500].map(|every| all(&[1], every));
    let fitting = within_decades.into_iter().chain(sparse).find(|ticks| (1..=most).contains(&ticks.len()));
    let major = labelled(&fitting.unwrap_or_default());
    let minor = if decades.clone().count() > 8 { all(&[1], 1) } else { dense };
    let minor = minor.into_iter().map(Decimal::value);
    Ticks { minor: minor.filter(|value| major.iter().all(|tick| tick.value != *value)).collect(), major }
}

/// Labels in one common form: plain decimals where they stay short, powers of ten otherwise.
fn labelled(decimals: &[Decimal]) -> Vec<Tick> {
    let sizes = || decimals.iter().map(|tick| tick.value().abs()).filter(|&size| size > 0.0);
    let largest = sizes().fold(0.0, f64::max);
    let plain = largest < 1e6 && sizes().all(|size| size >= 0.999e-4);
    // All ticks of a linear axis share one power; those of a logarithmic axis have their own
    // already.
    let shared = decimals.windows(2).all(|pair| pair[0].exponent == pair[1].exponent) && decimals.len() > 1;
    let power = |tick: &Decimal| if shared { largest.log10().floor() as i32 } else { tick.exponent };
    let label = |tick: &Decimal| match (tick.digits, plain) {
        (0, _) => "0".to_owned(),
        (_, true) => plain_label(*tick, shared),
        (_, false) => power_label(*tick, power(tick)),
    };
    decimals.iter().map(|tick| Tick { value: tick.value(), label: label(tick) }).collect()
}

fn plain_label(tick: Decimal, keep_zeros: bool) -> String {
    let decimals = usize::try_from(-tick.exponent).unwrap_or(0);
    let size = tick.value().abs();
    let sign = if tick.digits < 0 { "\u{2212}" } else { "" };
    if decimals == 0 && size >= 10_000.0 {
        return format!("{sign}{}", grouped(size as u64));
    }
    let text = format!("{sign}{size:.decimals$}");
    if keep_zeros || !text.contains('.') {
        return text;
    }
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

fn power_label(tick: Decimal, power: i32) -> String {
    let decimals = usize::try_from(power - tick.exponent).unwrap_or(0);
    let mantissa = Decimal { digits: tick.digits.abs(), exponent: tick.exponent - power }.value();
    let sign = if tick.digits < 0 { "\u{2212}" } else { "" };
    if mantissa == 1.0 && decimals == 0 {
        return format!("{sign}10{}", superscript(power));
    }
    format!("{sign}{mantissa:.decimals$}\u{d7}10{}", superscript(power))
}

const SUPERSCRIPTS: [char; 10] = ['⁰', '¹', '²', '³', '⁴', '⁵', '⁶', '⁷', '⁸', '⁹'];

fn superscript(number: i32) -> String {
    let raise = |character: char| match character.to_digit(10) {
        Some(digit) => SUPERSCRIPTS[digit as usize],
        None => '⁻',
    };
    number.to_string().chars().map(raise).collect()
}

#[cfg(test)]
mod tests {
    use super::super::axis::Axis;
    use super::*;
    use proptest::prelude::*;

    fn labels(axis: &Axis, most: usize) -> Vec<String> {
        ticks(&axis.scale([]), most).major.into_iter().map(|tick| tick.label).collect()
    }

    #[test]
    fn linear_ticks_are_round() {
        assert_eq!(labels(&Axis::linear("").range(0.0, 1.0), 6), ["0", "0.2", "0.4", "0.6", "0.8", "1.0"]);
        assert_eq!(labels(&Axis::linear("").range(-3.0, 7.0), 6), ["\u{2212}2", "0", "2", "4", "6"]);
        assert_eq!(labels(&Axis::linear("").range(0.0, 0.031), 5), ["0", "0.01", "0.02", "0.03"]);
        assert_eq!(labels(&Axis::linear("").range(9000.0, 21_000.0), 4), ["10,000", "15,000", "20,000"]);
        let millions = ["0", "0.5×10⁷", "1.0×10⁷", "1.5×10⁷"];
        assert_eq!(labels(&Axis::linear("").range(0.0, 1.6e7), 5), millions);
        assert_eq!(
            labels(&Axis::linear("").range(0.0, 4.1e-7), 5),
            ["0", "10⁻⁷", "2×10⁻⁷", "3×10⁻⁷", "4×10⁻⁷"]
        );
    }

    #[test]
    fn logarithmic_ticks_are_one_two_five() {
        let widths = ["1", "2", "5", "10", "20", "50", "100"];
        assert_eq!(labels(&Axis::log("").range(1.0, 128.0), 8), widths);
        assert_eq!(labels(&Axis::log("").range(0.01, 10.0), 5), ["0.01", "0.1", "1", "10"]);
        assert_eq!(labels(&Axis::log("").range(1.0, 1e12), 5), ["10⁰", "10³", "10⁶", "10⁹", "10¹²"]);
        assert_eq!(labels(&Axis::log("").range(1.1, 1.45), 5), ["1.1", "1.2", "1.3", "1.4"]);
        assert_eq!(labels(&Axis::log("").range(1e6, 5e6), 4), ["10⁶", "2×10⁶", "5×10⁶"]);
        let minor = ticks(&Axis::log("").range(1.0, 10.0).scale([]), 4).minor;
        assert_eq!(minor, [3.0, 4.0, 6.0, 7.0, 8.0, 9.0]);
    }

    /// A label in ASCII: `1.5e6`, `-3`.
    fn ascii_label(label: &str) -> String {
        let lower = |character: char| match character {
            '⁻' | '\u{2212}' => '-',
            _ => SUPERSCRIPTS
                .iter()
                .position(|&raised| raised == character)
                .map_or(character, |digit| char::from(b'0' + digit as u8)),
        };
        match label.find(|character: char| character == '⁻' || SUPERSCRIPTS.contains(&character)) {
            None => label.chars().map(lower).collect(),
            Some(at) => {
                let (base, power) = label.split_at(at);
                let sign_and_mantissa = base.trim_end_matches("10").trim_end_matches('\u{d7}');
                let mantissa =
                    if sign_and_mantissa.ends_with(|c: char| c.is_ascii_digit()) { "" } else { "1" };
                format!("{sign_and_mantissa}{mantissa}e{power}").chars().map(lower).collect()
            }
        }
    }

    proptest! {
        #[test]
        fn ticks_lie_inside_in_order_and_say_their_value(
            a in prop_oneof![-1e3..1e3, any::<f64>()],
            b in prop_oneof![-1e3..1e3, any::<f64>()],
            logarithmic: bool,
            most in 0usize..20,
        ) {
            let axis = if logarithmic { Axis::log("") } else { Axis::linear("") };
            let scale = axis.scale([a, b]);
            let ticks = ticks(&scale, most);
            prop_assert!(ticks.major.len() <= most.max(2), "{ticks:?}");
            prop_assert!(ticks.major.is_sorted_by(|one, other| one.value < other.value), "{ticks:?}");
            for tick in &ticks.major {
                prop_assert!(scale.contains(tick.value));
                let said: f64 = ascii_label(&tick.label).replace(',', "").parse().unwrap();
                prop_assert!((said - tick.value).abs() <= 1e-12 * tick.value.abs(), "{tick:?}");
            }
        }
    }
}
