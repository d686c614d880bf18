//! Scales: how much an item computes.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// How much is computed. Designs, counts and efficiencies are exact at every scale; what is drawn
/// or trained is not.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Scale {
    /// Seconds: enough to see that everything works.
    Smoke,
    /// Minutes on two cores.
    Laptop,
    /// The recipe as the paper prints it.
    Paper,
}

impl Scale {
    /// All of them, smallest first.
    pub const ALL: [Self; 3] = [Self::Smoke, Self::Laptop, Self::Paper];

    /// The name on the command line, and of the table in an experiment file.
    pub fn name(self) -> &'static str {
        match self {
            Self::Smoke => "smoke",
            Self::Laptop => "laptop",
            Self::Paper => "paper",
        }
    }
}

impl fmt::Display for Scale {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Scale {
    type Err = NotAScale;
    fn from_str(text: &str) -> Result<Self, NotAScale> {
        let known = Self::ALL.into_iter().find(|scale| scale.name() == text);
        known.ok_or_else(|| NotAScale { word: text.to_owned() })
    }
}

/// A word that names no scale.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{word:?} is not a scale; take smoke, laptop or paper")]
pub struct NotAScale {
    /// The word.
    pub word: String,
}
