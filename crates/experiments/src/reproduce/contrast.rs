//! The difference of two designs' mean errors, with its interval, and the verdict on what was
//! predicted of it.

use crate::{mean, standard_error};
use collegial_core::Interval;
use serde::{Deserialize, Serialize};

use crate::reproduce::Verdict;

/// A difference of two designs' mean errors, in points of a per cent.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub(crate) struct Contrast {
    /// First minus second.
    pub difference: f64,
    /// Its 95 % interval (Welch).
    pub interval: [f64; 2],
    /// Runs of each.
    pub runs: [usize; 2],
}

impl Contrast {
    /// `None` where one of them has fewer than two runs, or neither scatters.
    pub(crate) fn of(first: &[f64], second: &[f64]) -> Option<Self> {
        let (a, b) = (standard_error(first)?, standard_error(second)?);
        let square = a * a + b * b;
        let part = |error: f64, runs: usize| error.powi(4) / (runs as f64 - 1.0);
        let dof = square * square / (part(a, first.len()) + part(b, second.len()));
        let difference = mean(first.iter().copied()) - mean(second.iter().copied());
        let Interval { low, high } = Interval::student(difference, square.sqrt(), dof, 0.95);
        dof.is_finite().then_some(Self {
            difference,
            interval: [low, high],
            runs: [first.len(), second.len()],
        })
    }

    /// "-0.28 points (-0.41 to -0.15; 5 and 4 runs)".
    pub(crate) fn words(&self) -> String {
        let ([low, high], [a, b]) = (self.interval, self.runs);
        format!("{:.2} points ({low:.2} to {high:.2}; {a} and {b} runs)", self.difference)
    }
}

/// What was predicted of a design's error beside another's, before any run.
#[derive(Clone, Copy, Debug, Deserialize)]
pub(crate) enum Predicted {
    #[serde(rename = "worse")]
    Worse,
    #[serde(rename = "equal")]
    Equal,
    #[serde(rename = "better")]
    Better,
    #[serde(rename = "no better")]
    NoBetter,
}

impl Predicted {
    pub(crate) fn words(self) -> &'static str {
        match self {
            Self::Worse => "worse",
            Self::Equal => "equal",
            Self::Better => "better",
            Self::NoBetter => "no better",
        }
    }

    /// A direction holds or fails with the whole interval on one side of 0. Equality holds if the
    /// interval is within the margin, "no better" if it excludes gains above the margin and is not
    /// below 0; both fail if the interval leaves out 0 on the wrong side.
    pub(crate) fn verdict(self, contrast: &Contrast, margin: f64) -> Verdict {
        let [low, high] = contrast.interval;
        let held = match self {
            Self::Worse => low > 0.0,
            Self::Better => high < 0.0,
            Self::Equal => low > -margin && high < margin,
            Self::NoBetter => low > -margin && high >= 0.0,
        };
        match held {
            true => Verdict::Reproduced,
            false if low <= 0.0 && high >= 0.0 => Verdict::Undecided("the interval holds 0".into()),
            false if contrast.difference > 0.0 => Verdict::Differs("it is worse".into()),
            false => Verdict::Differs("it is better".into()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A clear effect, none, a reversed one, and an equality that the interval is too wide for.
    #[test]
    fn verdicts_are_no_stronger_than_their_intervals() {
        let verdict = |predicted: Predicted, low: f64, high: f64| {
            let contrast = Contrast { difference: 0.5 * (low + high), interval: [low, high], runs: [20, 20] };
            predicted.verdict(&contrast, 0.7).name()
        };
        assert_eq!(verdict(Predicted::Worse, 0.1, 1.0), "reproduced");
        assert_eq!(verdict(Predicted::Worse, -0.1, 1.0), "undecided");
        assert_eq!(verdict(Predicted::Worse, -1.0, -0.1), "differs");
        assert_eq!(verdict(Predicted::Better, -1.0, -0.1), "reproduced");
        assert_eq!(verdict(Predicted::Better, -0.2, 0.1), "undecided");
        assert_eq!(verdict(Predicted::Better, 0.1, 1.0), "differs");
        assert_eq!(verdict(Predicted::Equal, 0.1, 0.6), "reproduced");
        assert_eq!(verdict(Predicted::Equal, -0.3, 0.8), "undecided");
        assert_eq!(verdict(Predicted::Equal, 0.2, 0.9), "differs");
        assert_eq!(verdict(Predicted::NoBetter, -4.0, -0.1), "differs");
        assert_eq!(verdict(Predicted::NoBetter, -0.4, -0.1), "differs");
        assert_eq!(verdict(Predicted::NoBetter, -0.5, 0.5), "reproduced");
        assert_eq!(verdict(Predicted::NoBetter, -0.9, 0.2), "undecided");
        assert_eq!(verdict(Predicted::NoBetter, 0.1, 0.9), "reproduced");
    }

    /// Welch's interval of a textbook case: means 2 and 4, variances 1, three runs each: 2 -+ 2.776
    /// * sqrt(2/3).
    #[test]
    fn contrasts() {
        let found = Contrast::of(&[1.0, 2.0, 3.0], &[3.0, 4.0, 5.0]).unwrap();
        assert!((found.difference + 2.0).abs() < 1e-12);
        let half = 2.776_445 * (2.0f64 / 3.0).sqrt();
        assert!((found.interval[0] + 2.0 + half).abs() < 1e-4, "{found:?}");
        assert_eq!((Contrast::of(&[1.0], &[1.0, 2.0]), Contrast::of(&[1.0; 2], &[1.0; 2])), (None, None));
    }
}
