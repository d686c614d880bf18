//! Published and obtained, side by side.

use std::fmt;

use serde::Serialize;

use crate::reproduce::Error;
use crate::reproduce::published::{self, Number};

/// What a comparison comes to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "verdict", content = "why", rename_all = "kebab-case")]
pub enum Verdict {
    /// The published value or claim was reproduced.
    Reproduced,
    /// It did not; why, as far as is known.
    Differs(String),
    /// A claim that the paper does not make came out.
    Holds,
    /// It did not; why, as far as is known.
    Fails(String),
    /// What there is cannot tell; why.
    Undecided(String),
    /// This scale cannot tell; what would be needed.
    NotAtThisScale(String),
    /// Nothing was run; what is missing.
    NotRun(String),
}

impl Verdict {
    /// The verdict without its reason.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Reproduced => "reproduced",
            Self::Differs(_) => "differs",
            Self::Holds => "holds",
            Self::Fails(_) => "does not hold",
            Self::Undecided(_) => "undecided",
            Self::NotAtThisScale(_) => "not at this scale",
            Self::NotRun(_) => "not run",
        }
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Reproduced | Self::Holds => f.write_str(self.name()),
            Self::Differs(why)
            | Self::Fails(why)
            | Self::Undecided(why)
            | Self::NotAtThisScale(why)
            | Self::NotRun(why) => {
                write!(f, "{}: {why}", self.name())
            }
        }
    }
}

/// One published value or claim beside the obtained one.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Comparison {
    /// What is compared.
    pub what: String,
    /// As printed in the paper.
    pub published: String,
    /// The obtained value; empty where nothing was run.
    pub obtained: String,
    /// Its 95 % interval, where it was drawn or trained.
    pub interval: Option<[f64; 2]>,
    /// Whether it involves no chance, so that it must come out at every scale.
    pub exact: bool,
    /// Whether it is known why it differs, so that it is no failure.
    pub explained: bool,
    /// What it comes to.
    #[serde(flatten)]
    pub verdict: Verdict,
}

impl Comparison {
    /// A value that involves no chance: it must equal the published one after rounding.
    pub fn exact(what: impl Into<String>, published: Number, obtained: f64) -> Self {
        let same = published.round(obtained) == published.printed();
        let verdict = if same {
            Verdict::Reproduced
        } else {
            Verdict::Differs(format!(
                "{} rounds to {}",
                digits(obtained, published),
                published.round(obtained)
            ))
        };
        Self {
            what: what.into(),
            published: published.printed(),
            obtained: digits(obtained, published),
            interval: None,
            exact: true,
            explained: false,
            verdict,
        }
    }

    /// The same with the reason why it differs, if it does.
    #[must_use]
    pub fn explain(self, why: &str) -> Self {
        match self.verdict {
            Verdict::Differs(_) => {
                Self { verdict: Verdict::Differs(why.to_owned()), explained: true, ..self }
            }
            _ => self,
        }
    }

    /// The same for a statement of `paper/tables.json`.
    ///
    /// # Errors
    ///
    /// If there is no such statement.
    pub fn exact_statement(id: &str, obtained: f64) -> Result<Self, Error> {
        let statement = published::statement(id)?;
        Ok(Self::exact(statement.says, published::value(id)?, obtained))
    }

    /// A value with a 95 % interval: the published one, anywhere within its rounding, must lie in
    /// it.
    pub fn measured(what: impl Into<String>, published: Number, obtained: f64, interval: [f64; 2]) -> Self {
        let [low, high] = interval;
        let half = published.half_unit();
        let inside = low <= published.value + half && published.value - half <= high;
        let verdict = if inside {
            Verdict::Reproduced
        } else {
            Verdict::Differs("the published value is outside the 95 % interval".into())
        };
        Self {
            what: what.into(),
            published: published.printed(),
            obtained: format!("{obtained:.*}", published.decimals.max(2)),
            interval: Some(interval),
            exact: false,
            explained: false,
            verdict,
        }
    }

    /// A claim and its result, both in words.
    pub fn claim(
        what: impl Into<String>,
        published: impl Into<String>,
        obtained: impl Into<String>,
        verdict: Verdict,
    ) -> Self {
        let (what, published, obtained) = (what.into(), published.into(), obtained.into());
        Self { what, published, obtained, interval: None, exact: false, explained: false, verdict }
    }

    /// A published value with nothing to set beside it.
    pub fn open(what: impl Into<String>, published: Number, verdict: Verdict) -> Self {
        Self::claim(what, published.printed(), "", verdict)
    }

    /// Whether a deterministic value differs without a known reason.
    pub fn fails(&self) -> bool {
        self.exact && !self.explained && matches!(self.verdict, Verdict::Differs(_))
    }

    /// The obtained value with its interval.
    pub fn obtained_with_interval(&self) -> String {
        match self.interval {
            Some([low, high]) => {
                let decimals = self.obtained.split_once('.').map_or(0, |(_, digits)| digits.len());
                format!("{} ({low:.decimals$} to {high:.decimals$})", self.obtained)
            }
            None => self.obtained.clone(),
        }
    }
}

/// Two more decimals than printed, so that rounding can be followed; whole numbers stay whole.
fn digits(value: f64, published: Number) -> String {
    if published.decimals == 0 && value.fract() == 0.0 {
        return format!("{value:.0}");
    }
    format!("{value:.*}", published.decimals + 2)
}

#[cfg(test)]
mod tests {
    use super::*;

    const RHO: Number = Number { value: 3.3, decimals: 1 };

    #[test]
    fn exact_values_are_compared_as_printed() {
        let same = Comparison::exact("rho", RHO, 3.261_17);
        assert_eq!((same.verdict, same.obtained.as_str()), (Verdict::Reproduced, "3.261"));
        let other = Comparison::exact("rho", RHO, 3.24);
        assert!(other.fails() && other.verdict.to_string() == "differs: 3.240 rounds to 3.2");
        let explained = other.explain("a misprint");
        assert!(!explained.fails() && explained.verdict.to_string() == "differs: a misprint");
        assert_eq!(Comparison::exact("n", Number { value: 48.0, decimals: 0 }, 48.0).obtained, "48");
    }

    #[test]
    fn measured_values_need_the_published_one_in_their_interval() {
        let verdict = |interval| Comparison::measured("rho", RHO, 3.4, interval).verdict;
        assert_eq!(verdict([3.349, 3.5]), Verdict::Reproduced);
        assert_eq!(verdict([3.36, 3.5]).name(), "differs");
        let shown = Comparison::measured("rho", RHO, 3.4, [3.3, 3.5]).obtained_with_interval();
        assert_eq!(shown, "3.40 (3.30 to 3.50)");
    }
}
