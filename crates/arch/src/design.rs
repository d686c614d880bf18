//! A design `m x n d`: m members of width n, written `37x10d` as in ResNeXt.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::Error;
use crate::error::{MAX_DIMENSION, dimension};

/// m parallel members, each of width n (at the first stage, for networks whose stages widen).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Design {
    /// The multiplicity m: how many members.
    pub multiplicity: usize,
    /// The width n of one member.
    pub width: usize,
}

impl Design {
    /// A design of at least one member of at least one unit.
    pub fn new(multiplicity: usize, width: usize) -> Result<Self, Error> {
        dimension("the number of members", multiplicity)?;
        dimension("the width of a member", width)?;
        Ok(Self { multiplicity, width })
    }

    /// Reads `37x10d`, or `37x10` where the `d` is left out; `None` where the text has another
    /// form.
    pub(crate) fn parse(text: &str) -> Option<Result<Self, Error>> {
        let (multiplicity, width) = text.split_once('x')?;
        let width = width.strip_suffix('d').unwrap_or(width);
        let multiplicity = number("the number of members", multiplicity)?;
        let width = number("the width of a member", width)?;
        Some(multiplicity.and_then(|m| width.and_then(|n| Self::new(m, n))))
    }
}

/// Reads a number; `None` if it is not one, an error if it is one of absurd size.
pub(crate) fn number(what: &str, text: &str) -> Option<Result<usize, Error>> {
    if text.is_empty() || !text.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    Some(text.parse().map_err(|_| Error::OutOfRange {
        what: what.to_owned(),
        value: text.to_owned(),
        low: 1,
        high: MAX_DIMENSION,
    }))
}

impl fmt::Display for Design {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Through `pad`, so that tables can align designs.
        f.pad(&format!("{}x{}d", self.multiplicity, self.width))
    }
}

impl TryFrom<String> for Design {
    type Error = Error;
    fn try_from(text: String) -> Result<Self, Error> {
        text.parse()
    }
}

impl std::str::FromStr for Design {
    type Err = Error;
    fn from_str(text: &str) -> Result<Self, Error> {
        Self::parse(text).unwrap_or_else(|| {
            Err(Error::Invalid(format!(
                "{text:?} is not a design; write the number of members and their width, such as 37x10d"
            )))
        })
    }
}

impl From<Design> for String {
    fn from(design: Design) -> Self {
        design.to_string()
    }
}
