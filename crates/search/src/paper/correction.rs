//! The integer correction: from a real multiplicity at block level to a design whose whole network
//! is within the budget.

use collegial_arch::{Cost, Design, Spec};

use crate::{Error, Rule};

/// What a whole network counts.
pub(super) fn network_cost(spec: &Spec, cost: Cost) -> Result<u64, Error> {
    let total = spec.graph()?.counts()?.total.of(cost);
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
    let cost_of =
        |multiplicity: usize| network_cost(&spec.with_design(Design::new(multiplicity, width)?)?, cost);
    let low = largest_within(budget, most, &cost_of)?;
    let multiplicity = match rule {
        Rule::Under if low == 0 => return Err(refusal(spec, width, cost, budget)?),
        Rule::Nearest if low == 0 => 1,
        Rule::Nearest if low < most => match cost_of(low + 1) {
            Ok(above) if above.abs_diff(budget) < budget.abs_diff(cost_of(low)?) => low + 1,
            _ => low,
        },
        Rule::Under | Rule::Nearest => low,
    };
    Ok(Design::new(multiplicity, width)?)
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
fn largest_within(
    budget: u64,
    most: usize,
    cost: &dyn Fn(usize) -> Result<u64, Error>,
) -> Result<usize, Error> {
    let (mut low, mut high) = (0, 1.min(most));
    // A network too large to be described costs too much as well.
    let within = |multiplicity: usize| match cost(multiplicity) {
        Ok(cost) => Ok(cost <= budget),
        Err(Error::Spec(_)) => Ok(false),
        Err(other) => Err(other),
    };
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
