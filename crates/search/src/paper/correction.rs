//! The integer correction: from a real multiplicity at block level to a design whose whole network
//! is within the budget.

use std::ops::Sub;

use collegial_arch::{Cost, Design, Spec};

use crate::{Error, Rule};

/// What a whole network counts.
pub(super) fn network_cost(spec: &Spec, cost: Cost) -> Result<u64, Error> {
    let total = spec.totals()?.of(cost);
    Ok(total.ok_or(collegial_arch::Error::NotCounted(cost))?)
}

/// The multiplicity of members of width n whose network meets the budget by the rule, up to `most`.
pub(super) fn integer_multiplicity(
    spec: &Spec,
    width: usize,
    cost: Cost,
    budget: u64,
    rule: Rule,
    most: usize,
) -> Result<Design, Error> {
    let cost_of = |multiplicity: usize| {
        let count = || network_cost(&spec.with_design(Design::new(multiplicity, width)?)?, cost);
        match count() {
            // A network too large to be described costs too much as well.
            Err(Error::Spec(_)) => Ok(u64::MAX),
            other => other,
        }
    };
    match members_within(budget, rule, most, cost_of)? {
        0 => Err(refusal(spec, width, cost, budget)?),
        multiplicity => Ok(Design::new(multiplicity, width)?),
    }
}

/// The integer correction for any cost that grows with the number of members m: the largest m within
/// the budget, or the m nearest to it, up to `most`. 0 where not even one member is within it.
///
/// # Errors
///
/// Those of the cost.
pub fn members_within<C: Copy + PartialOrd + Sub<Output = C>, E>(
    budget: C,
    rule: Rule,
    most: usize,
    mut cost: impl FnMut(usize) -> Result<C, E>,
) -> Result<usize, E> {
    let low = largest_within(budget, most, &mut cost)?;
    match rule {
        Rule::Nearest if low == 0 => Ok(1.min(most)),
        Rule::Nearest if low < most => {
            let closer = cost(low + 1)? - budget < budget - cost(low)?;
            Ok(low + usize::from(closer))
        }
        Rule::Under | Rule::Nearest => Ok(low),
    }
}

/// The refusal of a budget, with the nearest design that would do: one member of the given width.
pub(super) fn refusal(spec: &Spec, width: usize, cost: Cost, budget: u64) -> Result<Error, Error> {
    let design = Design::new(1, width)?;
    let needs = network_cost(&spec.with_design(design)?, cost)?;
    Ok(Error::Budget { budget, cost, smallest: design, needs })
}

/// The largest m up to `most` whose cost is within the budget, 0 if there is none: the cost grows
/// with m, so by doubling and then halving. (Doubling first, because the cost of a network far
/// beyond the budget may not be countable.)
fn largest_within<C: Copy + PartialOrd, E>(
    budget: C,
    most: usize,
    cost: &mut impl FnMut(usize) -> Result<C, E>,
) -> Result<usize, E> {
    let (mut low, mut high) = (0, 1.min(most));
    let mut within = |multiplicity: usize| Ok(cost(multiplicity)? <= budget);
    while low < high && within(high)? {
        low = high;
        high = high.saturating_mul(2).min(most);
    }
    while low + 1 < high {
        let middle = low + (high - low) / 2;
        if within(middle)? {
            low = middle;
        } else {
            high = middle;
        }
    }
    Ok(low)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Against trying every m.
    #[test]
    fn the_correction_is_that_of_trying_all() {
        for (budget, most) in
            [(0, 9), (6, 9), (7, 9), (100, 9), (100, 40), (101, 40), (u64::MAX, 12), (50, 0)]
        {
            let cost = |m: usize| Ok::<u64, ()>(7 * m as u64 + (m as u64 / 3));
            let within = |m: &usize| cost(*m).unwrap() <= budget;
            let under = (1..=most).filter(within).max().unwrap_or(0);
            let nearest = (1..=most).min_by_key(|&m| (cost(m).unwrap().abs_diff(budget), m)).unwrap_or(0);
            assert_eq!(members_within(budget, Rule::Under, most, cost), Ok(under), "{budget} {most}");
            assert_eq!(members_within(budget, Rule::Nearest, most, cost), Ok(nearest), "{budget} {most}");
        }
        let seconds = |m: usize| Ok::<f64, ()>(0.4 * m as f64);
        assert_eq!(members_within(1.1, Rule::Under, 9, seconds), Ok(2));
        assert_eq!(members_within(1.1, Rule::Nearest, 9, seconds), Ok(3));
        assert_eq!(members_within(10, Rule::Under, 3, |_| Err("no")), Err("no"));
    }
}
