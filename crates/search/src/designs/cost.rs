//! What a network costs as a function of m and n, without building a graph for every candidate.

use collegial_arch::{Cost, Design, Spec};

use crate::Error;

/// The cost of a model with m members of one width: linear in m from two members on. (A sum over members is an operation of its
/// own, which a single member does not need.)
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemberCosts {
    one: i128,
    two: i128,
    step: i128,
}

impl MemberCosts {
    /// The cost of m >= 1 members.
    pub fn of(&self, members: usize) -> i128 {
        if members <= 1 { self.one } else { self.two + (members as i128 - 2) * self.step }
    }

    /// What one more member costs.
    pub fn per_member(&self) -> i128 {
        self.step
    }

    /// What would be left without any member: the real-valued m of a budget is (budget - fixed) / per member.
    pub fn fixed(&self) -> i128 {
        self.two - 2 * self.step
    }

    /// The largest m whose cost is within the budget, 0 if there is none.
    pub fn largest_within(&self, budget: i128) -> usize {
        match () {
            () if self.one > budget => 0,
            () if self.two > budget => 1,
            () => usize::try_from(2 + (budget - self.two) / self.step.max(1)).unwrap_or(usize::MAX),
        }
    }
}

/// The costs of every width of a model.
#[derive(Clone, Debug)]
pub(super) enum CostModel<'a> {
    /// fixed + m (linear n + square n^2): networks of bottleneck blocks.
    Polynomial { fixed: i128, linear: i128, square: i128 },
    /// Modules whose widths are rounded multiples of n: counted at one, two and three members.
    Counted { spec: &'a Spec, cost: Cost },
}

impl<'a> CostModel<'a> {
    pub fn new(spec: &'a Spec, cost: Cost) -> Result<Self, Error> {
        if !matches!(spec, Spec::Resnext(_) | Spec::Bottleneck(_)) {
            return Ok(Self::Counted { spec, cost });
        }
        // Three counts tell the three coefficients.
        let count = |m, n| counted(spec, cost, m, n);
        let (one, double, wide) = (count(1, 1)?, count(2, 1)?, count(1, 2)?);
        let square = (wide - double) / 2;
        let linear = double - one - square;
        Ok(Self::Polynomial { fixed: one - linear - square, linear, square })
    }

    pub fn of_width(&self, width: usize) -> Result<MemberCosts, Error> {
        match *self {
            Self::Polynomial { fixed, linear, square } => {
                let n = width as i128;
                let step = linear * n + square * n * n;
                Ok(MemberCosts { one: fixed + step, two: fixed + 2 * step, step })
            }
            Self::Counted { spec, cost } => {
                let count = |m| counted(spec, cost, m, width);
                let (one, two, three) = (count(1)?, count(2)?, count(3)?);
                Ok(MemberCosts { one, two, step: three - two })
            }
        }
    }
}

fn counted(spec: &Spec, cost: Cost, multiplicity: usize, width: usize) -> Result<i128, Error> {
    let design = Design::new(multiplicity, width)?;
    Ok(i128::from(spec.with_design(design)?.graph()?.counts()?.total.of(cost)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(48))]
        /// The fast count is the graph's, for networks, blocks and modules of every kind.
        #[test]
        fn costs_are_those_of_the_graph(m in 1usize..40, n in 1usize..70, which in 0usize..6, cost in 0usize..3) {
            let names =
                ["resnext29-1x128d", "resnext50-32x4d", "bottleneck-3x40d", "fc6-500", "fc3-100,50", "resnext38-2x40d"];
            let spec: Spec = names[which].parse().unwrap();
            let cost = [Cost::Params, Cost::Flops, Cost::Activations][cost];
            let fast = CostModel::new(&spec, cost).unwrap().of_width(n).unwrap();
            prop_assert_eq!(fast.of(m), counted(&spec, cost, m, n).unwrap());
        }
    }

    #[test]
    fn the_largest_number_of_members_within_a_budget() {
        let costs = MemberCosts { one: 10, two: 25, step: 7 };
        assert_eq!(
            [9, 10, 24, 25, 31, 32, 39].map(|budget| costs.largest_within(budget)),
            [0, 1, 1, 2, 2, 3, 4]
        );
        assert_eq!(costs.of(4), 39);
    }
}
