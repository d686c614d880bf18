//! The integer correction: from a real multiplicity at block level to a design whose whole network fits the budget.

use collegial_arch::{Cost, Design, MAX_DIMENSION, Spec, Totals};
use serde::Serialize;

use crate::Error;

/// Which integer multiplicity the primal takes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Rule {
    /// The one whose network's cost is nearest to the budget (the paper's 37x10d).
    #[default]
    Nearest,
    /// The largest one within the budget (the paper's 22x10d).
    Under,
}

/// The baseline's network with m members of width n in place of its own.
pub(crate) fn with_design(spec: &Spec, design: Design) -> Result<Spec, Error> {
    match spec {
        Spec::Resnext(network) => Ok(Spec::Resnext(network.with_design(design))),
        _ => {
            let module = spec.analysed_module()?;
            Ok(module.scaled_to(design.width)?.with_members(design.multiplicity)?.into())
        }
    }
}

/// What a design's whole network costs.
pub(crate) fn totals(spec: &Spec, design: Design) -> Result<Totals, Error> {
    Ok(with_design(spec, design)?.graph()?.counts()?.total)
}

/// The multiplicity of members of width n whose network meets the budget by the rule, up to `most`.
pub(crate) fn fit_multiplicity(
    spec: &Spec,
    width: usize,
    cost: Cost,
    budget: u64,
    rule: Rule,
    most: usize,
) -> Result<Design, Error> {
    let most = most.min(MAX_DIMENSION / (width << 8).max(1)).max(1);
    let price =
        |multiplicity: usize| Ok::<u64, Error>(totals(spec, Design::new(multiplicity, width)?)?.of(cost));
    // The cost grows with m, so the largest affordable m is found by bisection.
    let (mut low, mut high) = (0, most);
    while low < high {
        let middle = low + (high - low).div_ceil(2);
        if price(middle)? <= budget {
            low = middle;
        } else {
            high = middle - 1;
        }
    }
    let multiplicity = match rule {
        Rule::Under if low == 0 => return Err(too_small(spec, width, cost, budget)?),
        Rule::Under => low,
        Rule::Nearest if low == 0 => 1,
        Rule::Nearest if low < most => {
            let (below, above) = (budget - price(low)?, price(low + 1)?.saturating_sub(budget));
            if above < below { low + 1 } else { low }
        }
        Rule::Nearest => low,
    };
    Ok(Design::new(multiplicity, width)?)
}

/// The refusal of a budget, with the nearest design that would do.
fn too_small(spec: &Spec, width: usize, cost: Cost, budget: u64) -> Result<Error, Error> {
    let design = Design::new(1, width)?;
    let needs = totals(spec, design)?.of(cost);
    Ok(Error::Budget { budget, cost: unit(cost), smallest: design.to_string(), needs })
}

/// The unit of a cost, in words.
pub(crate) fn unit(cost: Cost) -> &'static str {
    match cost {
        Cost::Params => "parameters",
        Cost::Flops => "FLOPs",
        Cost::Activations => "activations",
    }
}
