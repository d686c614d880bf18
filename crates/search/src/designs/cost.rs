//! What a network costs as a function of m and n, without building a graph for every candidate.

use collegial_arch::{Cost, Design, Spec, StageDesign};

use crate::Error;

/// The cost of members of one width: fixed + Σ over stages of m_s times what a member costs there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct MemberCosts {
    /// What is there without members.
    pub fixed: i128,
    /// What one member costs at every stage.
    pub stages: Vec<i128>,
    /// What a single member adds to that: the sum over members, an operation of its own, is not
    /// needed then.
    pub alone: i128,
}

impl MemberCosts {
    /// The cost of m_s >= 1 members at every stage.
    pub fn of(&self, members: &[usize]) -> i128 {
        let all = self.stages.iter().zip(members).map(|(step, &members)| step * members as i128);
        self.fixed + all.sum::<i128>() + if members == [1] { self.alone } else { 0 }
    }
}

/// The costs of every width of a model.
#[derive(Clone, Debug)]
pub(super) enum CostModel<'a> {
    /// Networks of bottleneck blocks: a member of widths n1 and n2 costs a n1 + b n2 + q n1 n2 at a
    /// stage.
    Blocks { spec: &'a Spec, fixed: i128, stages: Vec<StageCost> },
    /// Modules whose widths are rounded multiples of n: counted at one, two and three members.
    Counted { spec: &'a Spec, cost: Cost },
}

/// The coefficients of a stage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct StageCost {
    first: i128,
    second: i128,
    product: i128,
}

impl StageCost {
    pub fn of(&self, [n1, n2]: [usize; 2]) -> i128 {
        let (n1, n2) = (n1 as i128, n2 as i128);
        self.first * n1 + self.second * n2 + self.product * n1 * n2
    }
}

impl<'a> CostModel<'a> {
    pub fn new(spec: &'a Spec, cost: Cost) -> Result<Self, Error> {
        match spec {
            Spec::FullyConnected(_) | Spec::Sequence(_) => Ok(Self::Counted { spec, cost }),
            _ => {
                let (fixed, stages) = stage_costs(spec, cost)?;
                Ok(Self::Blocks { spec, fixed, stages })
            }
        }
    }

    pub fn of_width(&self, width: usize) -> Result<MemberCosts, Error> {
        match self {
            Self::Blocks { spec, fixed, stages } => {
                let designs = spec.stage_designs(Design::new(1, width)?)?;
                let costs = stages.iter().zip(&designs).map(|(stage, design)| stage.of(design.widths));
                Ok(MemberCosts { fixed: *fixed, stages: costs.collect(), alone: 0 })
            }
            Self::Counted { spec, cost } => {
                let count = |m| network_cost(&spec.with_design(Design::new(m, width)?)?, *cost);
                let (one, two, three) = (count(1)?, count(2)?, count(3)?);
                let (step, fixed) = (three - two, 3 * two - 2 * three);
                Ok(MemberCosts { fixed, stages: vec![step], alone: one - fixed - step })
            }
        }
    }
}

/// The cost without members, and that of a member at every stage, read off three more counts per
/// stage.
pub(super) fn stage_costs(spec: &Spec, cost: Cost) -> Result<(i128, Vec<StageCost>), Error> {
    let stages = spec.blocks()?.iter().map(|block| block.stage).max().map_or(0, |last| last + 1);
    let one = StageDesign { multiplicity: 1, widths: [1, 1] };
    let count = |stage: usize, design: StageDesign| {
        let mut designs = vec![one; stages];
        designs[stage] = design;
        network_cost(&spec.with_stage_designs(&designs)?, cost)
    };
    let base = count(0, one)?;
    let (mut fixed, mut costs) = (base, vec![]);
    for stage in 0..stages {
        let with = |multiplicity, widths| {
            Ok::<i128, Error>(count(stage, StageDesign { multiplicity, widths })? - base)
        };
        // a + b + q, a + q and b + q.
        let (member, wide, high) = (with(2, [1, 1])?, with(1, [2, 1])?, with(1, [1, 2])?);
        let product = wide + high - member;
        costs.push(StageCost { first: wide - product, second: high - product, product });
        fixed -= member;
    }
    Ok((fixed, costs))
}

/// What a whole model counts.
pub(super) fn network_cost(spec: &Spec, cost: Cost) -> Result<i128, Error> {
    let total = spec.graph()?.counts()?.total.of(cost);
    Ok(total.ok_or(collegial_arch::Error::NotCounted(cost))?.into())
}

/// The number of members at every stage; a module has one stage.
pub(super) fn members(spec: &Spec, design: Design) -> Result<Vec<usize>, Error> {
    match spec {
        Spec::FullyConnected(_) | Spec::Sequence(_) => Ok(vec![design.multiplicity]),
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
        fn costs_are_those_of_the_graph(m in 1usize..40, n in 1usize..70, which in 0usize..8, cost in 0usize..3) {
            let names = [
                "resnext29-1x128d", "resnext50-32x4d", "bottleneck-3x40d", "fc6-500", "fc3-100,50", "resnext38-2x40d",
                "regnet_x_400mf", "regnet_y_400mf",
            ];
            let spec: Spec = names[which].parse().unwrap();
            let cost = [Cost::Params, Cost::Flops, Cost::Activations][cost];
            let design = Design::new(m, n).unwrap();
            let fast = CostModel::new(&spec, cost).unwrap().of_width(n).unwrap();
            let counted = network_cost(&spec.with_design(design).unwrap(), cost).unwrap();
            prop_assert_eq!(fast.of(&members(&spec, design).unwrap()), counted);
        }
    }

    #[test]
    fn time_has_no_count() {
        let refusal = network_cost(&"fc3-8".parse().unwrap(), Cost::Time).unwrap_err().to_string();
        assert_eq!(refusal, "time is measured, not counted; take params, flops or activations");
    }
}
