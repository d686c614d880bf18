//! The tables of an answer, all within 80 columns.

use collegial_arch::{Design, Designs as Named};
use collegial_report::{Align, Table, grouped, significant};
use collegial_search::{Freedom, Problem, Redesigned, StageDesigns};

use super::Designs;
use super::sentences::percent;

impl Designs {
    /// The baseline, both optima and their neighbours.
    pub(super) fn designs_table(&self) -> Table {
        let answer = &self.answer;
        let mut table = Table::new(&[
            ("", Align::Left),
            ("design", Align::Left),
            ("parameters", Align::Right),
            ("", Align::Right),
            ("FLOPs", Align::Right),
            ("variance", Align::Right),
            ("less", Align::Right),
        ]);
        let row = |name: &str, design: String, counts: [u64; 2], score: f64| {
            [
                name.to_owned(),
                design,
                grouped(counts[0]),
                percent(counts[0] as f64 / answer.baseline_parameters as f64),
                percent(counts[1] as f64 / answer.baseline_flops as f64),
                significant(score, 3),
                format!("{:.2} x", answer.baseline_score / score),
            ]
        };
        let text = |design: Design| self.design_text(design);
        let baseline = answer.baseline_design.map_or_else(|| answer.baseline.clone(), text);
        let own = [answer.baseline_parameters, answer.baseline_flops];
        table.push(row("baseline", baseline, own, answer.baseline_score));
        for (name, problem, best) in [
            (self.primal_group(), Problem::Primal, &answer.primal),
            ("same variance", Problem::Dual, &answer.dual),
        ] {
            table.push(row(name, text(best.design), counts(&best.network), best.network.score));
            for other in answer.nearby.iter().filter(|other| other.problem == problem) {
                table.push(row("  nearby", text(other.design), counts(&other.network), other.network.score));
            }
        }
        table
    }

    /// One design for all stages beside those with more freedom.
    pub(super) fn stages_table(&self) -> Option<Table> {
        let stages = self.stages.as_ref()?;
        let answer = &self.answer;
        let mut table = Table::new(&[
            ("", Align::Left),
            ("design", Align::Left),
            ("params", Align::Right),
            ("FLOPs", Align::Right),
            ("variance", Align::Right),
            ("less", Align::Right),
        ]);
        let mut push = |name: &str, design: String, counts: [u64; 2], score: f64| {
            table.push([
                name.to_owned(),
                design,
                percent(counts[0] as f64 / answer.baseline_parameters as f64),
                percent(counts[1] as f64 / answer.baseline_flops as f64),
                significant(score, 3),
                format!("{:.2} x", answer.baseline_score / score),
            ]);
        };
        let joined = |stages: &StageDesigns| Named::per_stage(&stages.designs).to_string();
        let more = if stages.freedom == Freedom::Widths { "  two widths" } else { "  per stage" };
        for (name, one, of) in [
            (self.primal_group(), &answer.primal, Problem::Primal),
            ("same variance", &answer.dual, Problem::Dual),
        ] {
            push(name, self.design_text(one.design), counts(&one.network), one.network.score);
            let kept = of_problem(&stages.kept, of);
            push(more, joined(kept), [kept.parameters, kept.flops], kept.score);
            if let Some(moved) = stages.moved.as_ref().map(|moved| of_problem(moved, of)) {
                push("  cost moved", joined(moved), [moved.parameters, moved.flops], moved.score);
            }
        }
        Some(table)
    }

    /// Drawn variances beside what the score says.
    pub(super) fn check_table(&self) -> Option<Table> {
        let mut table = Table::new(&[
            ("whole network", Align::Left),
            ("variance", Align::Right),
            ("+-", Align::Right),
            ("less", Align::Right),
            ("95 % interval", Align::Right),
            ("score says", Align::Right),
        ]);
        for (index, row) in self.check.as_ref()?.iter().enumerate() {
            let [low, high] = row.ratio_ci;
            let interval = if index == 0 { String::new() } else { format!("{low:.2} to {high:.2}") };
            table.push([
                row.model.clone(),
                significant(row.variance, 3),
                significant(row.standard_error, 2),
                format!("{:.2} x", row.ratio),
                interval,
                format!("{:.2} x", row.score_ratio),
            ]);
        }
        Some(table)
    }
}

/// The designs of one of the problems.
fn counts(network: &Redesigned) -> [u64; 2] {
    [network.parameters, network.flops]
}

fn of_problem(both: &collegial_search::BothProblems, problem: Problem) -> &StageDesigns {
    match problem {
        Problem::Primal => &both.primal,
        Problem::Dual => &both.dual,
    }
}
