//! Counts of a network as a function of m and n, without building a graph for every candidate.

use std::ops::{Add, Mul, Sub};

use collegial_arch::{Cost, Design, Spec, StageDesign, Totals};

use crate::Error;

/// Parameters, FLOPs and activations, or how much they grow by.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Counts([i128; 3]);

impl Counts {
    /// What a whole model counts.
    pub fn of(spec: &Spec) -> Result<Self, Error> {
        let Totals { parameters, flops, activations, .. } = spec.totals()?;
        Ok(Self([parameters, flops, activations].map(i128::from)))
    }

    /// The count that a cost charges for.
    pub fn by(&self, cost: Cost) -> Result<i128, Error> {
        match cost {
            Cost::Params => Ok(self.0[0]),
            Cost::Flops => Ok(self.0[1]),
            Cost::Activations => Ok(self.0[2]),
            Cost::Time => Err(collegial_arch::Error::NotCounted(cost).into()),
        }
    }

    /// Parameters, FLOPs and activations of a whole model.
    pub fn whole(&self) -> [u64; 3] {
        self.0.map(|count| u64::try_from(count.max(0)).unwrap_or(u64::MAX))
    }

    fn with(self, other: Self, of: impl Fn(i128, i128) -> i128) -> Self {
        Self(std::array::from_fn(|at| of(self.0[at], other.0[at])))
    }
}

impl Add for Counts {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        self.with(other, |a, b| a + b)
    }
}

impl Sub for Counts {
    type Output = Self;
    fn sub(self, other: Self) -> Self {
        self.with(other, |a, b| a - b)
    }
}

impl Mul<i128> for Counts {
    type Output = Self;
    fn mul(self, times: i128) -> Self {
        Self(self.0.map(|count| count * times))
    }
}

/// The counts of members of one width: fixed + Σ over stages of m_s times what a member adds there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct MemberCosts {
    /// What is there without members.
    pub fixed: Counts,
    /// What one member adds at every stage.
    pub stages: Vec<Counts>,
    /// What a single member adds to that: the sum over members, an operation of its own, is not
    /// needed then.
    pub alone: Counts,
}

impl MemberCosts {
    /// The counts of m_s >= 1 members at every stage.
    pub fn of(&self, members: &[usize]) -> Counts {
        let all = self.stages.iter().zip(members).map(|(step, &members)| *step * members as i128);
        let sum = all.fold(self.fixed, Add::add);
        if members == [1] { sum + self.alone } else { sum }
    }

    /// The counts of m >= 1 members at all stages.
    pub fn of_equal(&self, m: usize) -> Counts {
        let member = self.stages.iter().copied().fold(Counts::default(), Add::add);
        let sum = self.fixed + member * m as i128;
        if m == 1 && self.stages.len() == 1 { sum + self.alone } else { sum }
    }
}

/// The costs of every width of a model.
#[derive(Clone, Debug)]
pub(super) enum CostModel<'a> {
    /// Networks of bottleneck blocks: a member of widths n1 and n2 costs a n1 + b n2 + q n1 n2 at a
    /// stage.
    Blocks { spec: &'a Spec, fixed: Counts, stages: Vec<StageCost<Counts>> },
    /// Modules whose widths are rounded multiples of n: counted at one, two and three members.
    Counted { spec: &'a Spec },
}

/// The coefficients of a stage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct StageCost<T> {
    first: T,
    second: T,
    product: T,
}

impl<T: Copy + Add<Output = T> + Mul<i128, Output = T>> StageCost<T> {
    pub fn of(&self, [n1, n2]: [usize; 2]) -> T {
        let (n1, n2) = (n1 as i128, n2 as i128);
        self.first * n1 + self.second * n2 + self.product * (n1 * n2)
    }
}

impl StageCost<Counts> {
    /// The coefficients of one count.
    pub fn by(&self, cost: Cost) -> Result<StageCost<i128>, Error> {
        let Self { first, second, product } = self;
        Ok(StageCost { first: first.by(cost)?, second: second.by(cost)?, product: product.by(cost)? })
    }
}

impl<'a> CostModel<'a> {
    pub fn new(spec: &'a Spec) -> Result<Self, Error> {
        match spec {
            Spec::FullyConnected(_) | Spec::Sequence(_) | Spec::FeedForward(_) => Ok(Self::Counted { spec }),
            _ => {
                let (fixed, stages) = stage_costs(spec)?;
                Ok(Self::Blocks { spec, fixed, stages })
            }
        }
    }

    pub fn of_width(&self, width: usize) -> Result<MemberCosts, Error> {
        match self {
            Self::Blocks { spec, fixed, stages } => {
                let designs = spec.stage_designs(Design::new(1, width)?)?;
                let costs = stages.iter().zip(&designs).map(|(stage, design)| stage.of(design.widths));
                Ok(MemberCosts { fixed: *fixed, stages: costs.collect(), alone: Counts::default() })
            }
            Self::Counted { spec } => {
                let count = |m| Counts::of(&spec.with_design(Design::new(m, width)?)?);
                let (one, two, three) = (count(1)?, count(2)?, count(3)?);
                let (step, fixed) = (three - two, two * 3 - three * 2);
                Ok(MemberCosts { fixed, stages: vec![step], alone: one - fixed - step })
            }
        }
    }
}

/// The counts without members, and those of a member at every stage, read off three more graphs per
/// stage.
pub(super) fn stage_costs(spec: &Spec) -> Result<(Counts, Vec<StageCost<Counts>>), Error> {
    let stages = spec.blocks()?.iter().map(|block| block.stage).max().map_or(0, |last| last + 1);
    let one = StageDesign { multiplicity: 1, widths: [1, 1] };
    let count = |stage: usize, design: StageDesign| {
        let mut designs = vec![one; stages];
        designs[stage] = design;
        Counts::of(&spec.with_stage_designs(&designs)?)
    };
    let base = count(0, one)?;
    let (mut fixed, mut costs) = (base, vec![]);
    for stage in 0..stages {
        let with = |multiplicity, widths| {
            Ok::<Counts, Error>(count(stage, StageDesign { multiplicity, widths })? - base)
        };
        // a + b + q, a + q and b + q.
        let (member, wide, high) = (with(2, [1, 1])?, with(1, [2, 1])?, with(1, [1, 2])?);
        let product = wide + high - member;
        costs.push(StageCost { first: wide - product, second: high - product, product });
        fixed = fixed - member;
    }
    Ok((fixed, costs))
}

/// Whether one design means the same number of members at all stages.
pub(super) fn has_equal_members(spec: &Spec) -> bool {
    !matches!(spec, Spec::Regnet(_))
}

/// The number of members at every stage; a module has one stage.
pub(super) fn members(spec: &Spec, design: Design) -> Result<Vec<usize>, Error> {
    match spec {
        Spec::FullyConnected(_) | Spec::Sequence(_) | Spec::FeedForward(_) => Ok(vec![design.multiplicity]),
        _ => Ok(spec.stage_designs(design)?.iter().map(|stage| stage.multiplicity).collect()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        /// The fast count is the graph's, for networks, blocks and modules of every kind.
        #[test]
        fn costs_are_those_of_the_graph(m in 1usize..40, n in 1usize..70, which in 0usize..10) {
            let names = [
                "resnext29-1x128d", "resnext50-32x4d", "bottleneck-3x40d", "fc6-500", "fc3-100,50", "resnext38-2x40d",
                "regnet_x_400mf", "regnet_y_400mf", "bottleneck-2x32_48d", "bottleneck-5x9_4d",
            ];
            let spec: Spec = names[which].parse().unwrap();
            let design = Design::new(m, n).unwrap();
            let fast = CostModel::new(&spec).unwrap().of_width(n).unwrap();
            let counted = Counts::of(&spec.with_design(design).unwrap()).unwrap();
            let members = members(&spec, design).unwrap();
            prop_assert_eq!(fast.of(&members), counted);
            if has_equal_members(&spec) {
                prop_assert!(members.iter().all(|&members| members == m));
                prop_assert_eq!(fast.of_equal(m), counted);
            }
        }
    }

    #[test]
    fn time_has_no_count() {
        let refusal = Counts::default().by(Cost::Time).unwrap_err().to_string();
        assert_eq!(refusal, "time is measured, not counted; take params, flops or activations");
    }
}
