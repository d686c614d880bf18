//! The designs of a network's stages: one for all, or one each.

use std::fmt;

use serde::de::{self, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};

use crate::Error;
use crate::design::{Design, number};
use crate::error::{dimension, product, within};

/// m members of inner widths n1 and n2, written `37x10_12d`, or `37x10d` where the two are equal.
///
/// n1 channels go into a member's k x k convolution and n2 come out of it: with m groups it takes m
/// n1 channels to m n2.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct StageDesign {
    /// The multiplicity m.
    pub multiplicity: usize,
    /// The widths n1 and n2 of one member.
    pub widths: [usize; 2],
}

impl StageDesign {
    /// A design of at least one member of at least one unit.
    pub fn new(multiplicity: usize, widths: [usize; 2]) -> Result<Self, Error> {
        dimension("the number of members", multiplicity)?;
        for width in widths {
            dimension("the width of a member", width)?;
        }
        Ok(Self { multiplicity, widths })
    }

    /// The design m x n, if n1 = n2 = n.
    pub fn design(&self) -> Option<Design> {
        let [width, second] = self.widths;
        (width == second).then_some(Design { multiplicity: self.multiplicity, width })
    }

    /// The same number of members, `factor` times as wide.
    fn widened(&self, factor: usize, stage: usize) -> Result<Self, Error> {
        let wide =
            |width| product(format_args!("the width of a member in stage {}", stage + 1), &[width, factor]);
        let [first, second] = self.widths;
        Ok(Self { widths: [wide(first)?, wide(second)?], ..*self })
    }

    /// Reads `37x10d` or `37x10_12d`, the `d` optional; `None` where the text has another form.
    pub(crate) fn parse(text: &str) -> Option<Result<Self, Error>> {
        let (multiplicity, widths) = text.split_once('x')?;
        let widths = widths.strip_suffix('d').unwrap_or(widths);
        let (first, second) = widths.split_once('_').unwrap_or((widths, widths));
        let multiplicity = number("the number of members", multiplicity)?;
        let first = number("the width of a member", first)?;
        let second = number("the width of a member", second)?;
        Some(multiplicity.and_then(|m| Self::new(m, [first?, second?])))
    }
}

impl From<Design> for StageDesign {
    fn from(design: Design) -> Self {
        Self { multiplicity: design.multiplicity, widths: [design.width; 2] }
    }
}

impl fmt::Display for StageDesign {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.design() {
            Some(design) => design.fmt(f),
            None => {
                let [first, second] = self.widths;
                f.pad(&format!("{}x{first}_{second}d", self.multiplicity))
            }
        }
    }
}

impl std::str::FromStr for StageDesign {
    type Err = Error;
    fn from_str(text: &str) -> Result<Self, Error> {
        Self::parse(text).unwrap_or_else(|| {
            Err(Error::Invalid(format!(
                "{text:?} is not a design; write the number of members and their width, such as 37x10d, or their two widths, such as 37x10_12d"
            )))
        })
    }
}

impl TryFrom<String> for StageDesign {
    type Error = Error;
    fn try_from(text: String) -> Result<Self, Error> {
        text.parse()
    }
}

impl From<StageDesign> for String {
    fn from(design: StageDesign) -> Self {
        design.to_string()
    }
}

/// The designs of all stages. In TOML and JSON either one text, `"37x10d"`, or a list with one per
/// stage, `["37x10d", "19x20d", "9x40d"]`; in names the same, joined by hyphens.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(untagged)]
pub enum Designs {
    /// One design whose widths double at every stage: stage s has members of width n 2^s.
    Doubling(StageDesign),
    /// One design per stage.
    PerStage(Vec<StageDesign>),
}

impl Designs {
    /// The design of a stage, counted from 0.
    pub fn stage(&self, stage: usize) -> Result<StageDesign, Error> {
        match self {
            Self::Doubling(design) => design.widened(2usize.saturating_pow(stage as u32), stage),
            Self::PerStage(designs) => designs.get(stage).copied().ok_or_else(|| {
                Error::Invalid(format!(
                    "{} designs were given, but there is a stage {}; give one per stage",
                    designs.len(),
                    stage + 1
                ))
            }),
        }
    }

    /// The design m x n of all stages, if there is one.
    pub fn design(&self) -> Option<Design> {
        match self {
            Self::Doubling(design) => design.design(),
            Self::PerStage(_) => None,
        }
    }

    /// One design per stage, or the one that says the same.
    pub fn per_stage(designs: &[StageDesign]) -> Self {
        let all = Self::PerStage(designs.to_vec());
        let Some(&first) = designs.first() else { return all };
        let doubling = Self::Doubling(first);
        let says_same = |stage: usize| doubling.stage(stage).is_ok_and(|same| same == designs[stage]);
        if designs.len() <= 8 && (0..designs.len()).all(says_same) { doubling } else { all }
    }

    /// Checks that there are as many designs as stages, each with members of at least one unit.
    pub(crate) fn check(&self, stages: usize) -> Result<(), Error> {
        match self {
            Self::PerStage(designs) if designs.len() != stages => Err(Error::Invalid(format!(
                "the network has {stages} stages but {} designs; give one for all stages or one per stage",
                designs.len()
            ))),
            _ => (0..stages).try_for_each(|stage| {
                let StageDesign { multiplicity, widths } = self.stage(stage)?;
                StageDesign::new(multiplicity, widths).map(|_| ())
            }),
        }
    }

    /// Checks all that networks of stages have in common: so many blocks per stage, the classes,
    /// what gates squeeze by, and these designs.
    pub(crate) fn check_network(
        &self,
        blocks: &[usize],
        classes: usize,
        squeeze: Option<usize>,
    ) -> Result<(), Error> {
        within("the number of stages", blocks.len(), 1, 8)?;
        for (stage, &count) in blocks.iter().enumerate() {
            within(format_args!("the number of blocks of stage {}", stage + 1), count, 1, 1000)?;
        }
        dimension("the number of classes", classes)?;
        if let Some(squeeze) = squeeze {
            dimension("what the gates squeeze by", squeeze)?;
        }
        self.check(blocks.len())
    }

    /// Reads designs joined by hyphens or commas; `None` where the text has another form.
    pub(crate) fn parse(text: &str) -> Option<Result<Self, Error>> {
        let designs: Vec<_> = text.split(['-', ',']).map(StageDesign::parse).collect::<Option<_>>()?;
        let designs: Result<Vec<StageDesign>, Error> = designs.into_iter().collect();
        Some(designs.map(|designs| Self::per_stage(&designs)))
    }
}

/// By hand, because the derived form of an untagged enum hides what is wrong with a text.
impl<'de> Deserialize<'de> for Designs {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(DesignsVisitor)
    }
}

struct DesignsVisitor;

impl<'de> Visitor<'de> for DesignsVisitor {
    type Value = Designs;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a design such as \"37x10d\", or a list of one per stage")
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<Designs, E> {
        text.parse().map(Designs::Doubling).map_err(E::custom)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Designs, A::Error> {
        let mut designs = Vec::new();
        while let Some(design) = list.next_element()? {
            designs.push(design);
        }
        Ok(Designs::PerStage(designs))
    }
}

impl From<Design> for Designs {
    fn from(design: Design) -> Self {
        Self::Doubling(design.into())
    }
}

impl fmt::Display for Designs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Doubling(design) => design.fmt(f),
            Self::PerStage(designs) => {
                let texts: Vec<String> = designs.iter().map(StageDesign::to_string).collect();
                f.pad(&texts.join("-"))
            }
        }
    }
}
