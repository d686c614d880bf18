//! Options of a search that contradict each other or the baseline.

use collegial_arch::{Cost, Spec};
use collegial_nn::Parametrisation;

use super::{Request, VarianceSource, designs};
use crate::Error;
use crate::message::{invalid, option, option_with, verb};

/// Refuses what no search takes.
pub(super) fn options(request: &Request, baseline: &Spec) -> Result<(), Error> {
    if matches!(baseline, Spec::FeedForward(layer) if layer.bias) {
        return Err(invalid![format!(
            "{} has biases, which a search does not count; set bias = false",
            baseline.name()
        )]
        .into());
    }
    check(request)?;
    if request.widths.is_some() && (request.free_widths || request.per_stage) {
        return Err(invalid![
            option("widths"),
            " are those of one design for all stages; leave ",
            option("free_widths"),
            " and ",
            option("per_stage"),
            " out"
        ]
        .into());
    }
    times(request)
}

/// Refuses options of `--check` that it cannot take.
fn check(request: &Request) -> Result<(), Error> {
    if !request.check && (request.draws.is_some() || request.norm.is_some()) {
        return Err(invalid![
            option("draws"),
            " and ",
            option("norm"),
            " belong to ",
            option("check"),
            "; ask for a check as well"
        ]
        .into());
    }
    if let Some(draws) = request.draws.filter(|draws| *draws < designs::FEWEST) {
        let at_least = format!(" is {draws}; a check needs at least {}", designs::FEWEST);
        return Err(invalid![option("draws"), at_least].into());
    }
    Ok(())
}

/// Refuses times with other costs, and counts with times.
fn times(request: &Request) -> Result<(), Error> {
    if request.timings.is_some() && !request.cost.has(Cost::Time) {
        return Err(invalid![
            option("timings"),
            " are times; ask for ",
            option_with("cost", "time"),
            " as well"
        ]
        .into());
    }
    if request.cost.first() == Cost::Time && request.budget.is_some() {
        return Err(invalid![
            option("budget"),
            " is a count, and ",
            option_with("cost", "time"),
            " is measured; leave one of them out"
        ]
        .into());
    }
    Ok(())
}

/// Refuses options that Algorithm 2 as printed does not have.
pub(super) fn as_printed(request: &Request) -> Result<(), Error> {
    if request.cost.only().is_none() || request.tolerance != 0.0 {
        return Err(invalid![
            "Algorithm 2 as printed charges for one cost, without a tolerance; leave out ",
            option("tolerance"),
            ", and name one of ",
            option_with("cost", request.cost.to_string())
        ]
        .into());
    }
    if request.parametrisation != Parametrisation::Ntk {
        return Err(invalid![
            "Algorithm 2 as printed is for the NTK parametrisation; leave ",
            option("parametrisation"),
            " out"
        ]
        .into());
    }
    if request.data.is_some() {
        return Err(invalid![
            option("data"),
            " says what blocks see, and as printed they see white patches; leave it out"
        ]
        .into());
    }
    Ok(())
}

/// Refuses options that a search of the whole network does not have.
pub(super) fn whole_network(request: &Request) -> Result<(), Error> {
    if request.parametrisation != Parametrisation::Ntk && (request.per_stage || request.free_widths) {
        return Err(invalid![
            option("per_stage"),
            " and ",
            option("free_widths"),
            " are for the NTK parametrisation, in which a member's variance does not depend on their number; \
             leave them or ",
            option("parametrisation"),
            " out"
        ]
        .into());
    }
    if request.precision.is_some() && request.variance == Some(VarianceSource::Exact) {
        return Err(invalid![
            option("precision"),
            " belongs to ",
            option_with("variance", "measured"),
            "; for alpha itself see ",
            verb("fit", &["precision"])
        ]
        .into());
    }
    Ok(())
}
