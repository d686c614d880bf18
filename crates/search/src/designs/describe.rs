//! The description of a design in the result.

use collegial_arch::{Design, Spec};

use super::answer::{DesignOptimum, Edge, Gain, NearbyDesign, Redesigned};
use super::table::{Candidate, Table};
use crate::Problem;

/// Turns candidates of a table into what the answer says of them.
pub(super) struct Describe<'a> {
    pub baseline: &'a Spec,
    pub table: &'a Table<'a>,
    /// Nanoseconds, where designs were timed.
    pub baseline_time: Option<u64>,
}

/// The m x n of a baseline, where it is one.
pub(super) fn baseline_design(spec: &Spec) -> Option<Design> {
    if let Some(module) = spec.module() {
        return Some(Design { multiplicity: module.members(), width: module.width().ok()? });
    }
    let first = spec.blocks().ok()?.into_iter().next()?.bottleneck;
    let design = Design { multiplicity: first.members, width: first.width };
    (spec.with_design(design).ok()? == *spec).then_some(design)
}

impl Describe<'_> {
    pub fn network(&self, candidate: Candidate) -> Redesigned {
        let [parameters, flops, activations] = candidate.counts.whole();
        let Table { baseline, .. } = self.table;
        Redesigned {
            parameters,
            flops,
            activations,
            time_share: candidate.time.zip(self.baseline_time).map(|(own, whole)| own as f64 / whole as f64),
            score: candidate.score,
            variance: candidate.score,
            score_ratio: baseline.score / candidate.score,
            cost_ratio: baseline.cost as f64 / self.table.first_cost(&candidate),
        }
    }

    /// The best design of a problem.
    pub fn optimum(&self, problem: Problem, best: Candidate) -> DesignOptimum {
        let network = self.network(best);
        let Table { widths, allowed, baseline, .. } = self.table;
        let width = best.design.width;
        let at = widths.partition_point(|other| other.width < width);
        let edge = match () {
            // One is as narrow as members get.
            () if at == 0 && width > 1 => Some(Edge::Narrowest),
            () if at + 1 == widths.len() && best.design.multiplicity > 1 => Some(Edge::Widest),
            () => None,
        };
        let gained = match problem {
            Problem::Primal => network.score_ratio,
            Problem::Dual => network.cost_ratio,
        };
        let gain = match () {
            () if baseline_design(self.baseline) == Some(best.design) => Gain::BaselineIsBest,
            () if gained >= 1.0 => Gain::Better,
            () => Gain::Worse,
        };
        DesignOptimum {
            width,
            multiplicity: match problem {
                Problem::Primal => widths[at].real_primal(&allowed.limits),
                Problem::Dual => widths[at].real_dual(baseline.score),
            },
            design: best.design,
            members: best.design.multiplicity,
            network,
            efficiency: widths[at].efficiency(baseline.cost, baseline.score),
            gain,
            edge,
        }
    }

    /// A design of another width beside the best.
    pub fn nearby(&self, problem: Problem, candidate: Candidate, best: Candidate) -> NearbyDesign {
        let distance = match problem {
            Problem::Primal => candidate.score / best.score - 1.0,
            Problem::Dual => self.table.first_cost(&candidate) / self.table.first_cost(&best) - 1.0,
        };
        NearbyDesign {
            problem,
            design: candidate.design,
            members: candidate.design.multiplicity,
            width: candidate.design.width,
            network: self.network(candidate),
            distance,
        }
    }
}
