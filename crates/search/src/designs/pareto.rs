//! Designs that nothing beats: of less variance at no more cost, or of less cost at no more
//! variance.
//!
//! The cheapest design whose score is at most s is on the front of variance and cost, whatever s
//! is. So the front is read off at scores from the baseline's down to the lowest that is allowed,
//! evenly spaced on a logarithmic scale.

use collegial_arch::Cost;

use super::answer::ParetoDesign;
use super::describe::Describe;
use super::table::{Candidate, EQUAL, Limit, Table, cheapest};
use crate::{Error, Limits};

/// Scores at which a front is read off.
const LEVELS: u32 = 20;

/// The fronts by parameters, by FLOPs and by every other cost that is compared, with both optima.
pub(super) fn pareto(
    describe: &Describe,
    limits: &Limits,
    primal: Candidate,
    dual: Candidate,
) -> Result<Vec<ParetoDesign>, Error> {
    let table = describe.table;
    let mut costs = vec![Cost::Params, Cost::Flops];
    costs.extend(table.allowed.costs.iter().filter(|cost| !costs.contains(cost)).collect::<Vec<_>>());
    let mut found: Vec<(Candidate, Vec<Cost>)> = vec![(primal, vec![]), (dual, vec![])];
    found.dedup_by_key(|(candidate, _)| candidate.design);
    for by in costs {
        for candidate in front(table, limits, by, primal.score)? {
            match found.iter_mut().find(|(known, _)| known.design == candidate.design) {
                Some((_, fronts)) => fronts.push(by),
                None => found.push((candidate, vec![by])),
            }
        }
    }
    found.sort_by_key(|(candidate, _)| (candidate.counts.whole(), candidate.design.width));
    let row = |(candidate, fronts): (Candidate, Vec<Cost>)| ParetoDesign {
        design: candidate.design,
        members: candidate.design.multiplicity,
        width: candidate.design.width,
        network: describe.network(candidate),
        fronts,
        primal: candidate.design == primal.design,
        dual: candidate.design == dual.design,
    };
    Ok(found.into_iter().map(row).collect())
}

/// The designs that are cheapest by one cost at some score, within all limits and, by that cost,
/// the baseline's.
fn front(table: &Table, limits: &Limits, by: Cost, worst: f64) -> Result<Vec<Candidate>, Error> {
    let mut within = table.allowed.limits.clone();
    if !table.allowed.costs.has(by) {
        let own = u64::try_from(table.baseline.counts.by(by)?).unwrap_or(u64::MAX);
        within.push(Limit { cost: by, most: limits.limit(own) });
    }
    let highest = table.baseline.score.max(worst);
    let Some(lowest) = lowest(table, &within)? else { return Ok(vec![]) };
    let mut front: Vec<Candidate> = vec![];
    for level in 0..=LEVELS {
        let share = f64::from(level) / f64::from(LEVELS);
        let target = highest * (lowest / highest).powf(share) * (1.0 + EQUAL);
        if let Some(candidate) = at_most(table, &within, by, target)?
            && front.iter().all(|known| known.design != candidate.design)
        {
            front.push(candidate);
        }
    }
    Ok(front)
}

/// The lowest score within limits.
fn lowest(table: &Table, limits: &[Limit]) -> Result<Option<f64>, Error> {
    let mut scores: Vec<f64> = vec![];
    match &table.timed {
        Some(timed) => {
            for candidate in timed {
                scores.extend(candidate.within(limits)?.then_some(candidate.score));
            }
        }
        None => {
            for width in &table.widths {
                let best = width.candidate(width.most_within(limits, table.allowed.most)?)?;
                scores.extend(best.map(|candidate| candidate.score));
            }
        }
    }
    Ok(scores.into_iter().min_by(f64::total_cmp))
}

/// The cheapest by one cost of score at most `target`, within limits.
fn at_most(table: &Table, limits: &[Limit], by: Cost, target: f64) -> Result<Option<Candidate>, Error> {
    let mut found = vec![];
    let mut consider = |candidate: Candidate| {
        found.extend((candidate.score <= target && candidate.within(limits)?).then_some(candidate));
        Ok::<(), Error>(())
    };
    match &table.timed {
        Some(timed) => timed.iter().try_for_each(|&candidate| consider(candidate))?,
        None => {
            for width in &table.widths {
                if let Some(candidate) = width.candidate(width.dual(target, table.allowed.most)?)? {
                    consider(candidate)?;
                }
            }
        }
    }
    Ok(cheapest(by, found.into_iter()))
}
