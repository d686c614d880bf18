//! The tables of an answer, all within 80 columns.

use collegial_arch::{Design, Designs as Named};
use collegial_report::{Align, Table, grouped, significant};
use collegial_search::{Freedom, Problem, Redesigned, StageDesigns};

use super::Designs;
use super::sentences::percent;

impl Designs {
    /// The baseline, both optima and their neighbours. A share of the baseline's time takes the place
    /// of the number of parameters, so that lines stay within 80 columns.
    pub(super) fn designs_table(&self) -> Table {
        let answer = &self.answer;
        let timed = answer.timings.is_some();
        let right = |name| (name, Align::Right);
        let costs = match timed {
            true => [right("parameters"), right("FLOPs"), right("time")],
            false => [right("parameters"), right("share"), right("FLOPs")],
        };
        let mut columns = vec![("compared", Align::Left), ("design", Align::Left)];
        columns.extend(costs);
        columns.extend([right("variance"), right("less")]);
        let mut table = Table::new(&columns);
        let row = |name: &str, design: String, counts: [u64; 2], time: Option<f64>, score: f64| {
            let parameters = percent(counts[0] as f64 / answer.baseline_parameters as f64);
            let flops = percent(counts[1] as f64 / answer.baseline_flops as f64);
            let [first, second, third] = match timed {
                true => [parameters, flops, time.map_or_else(String::new, percent)],
                false => [grouped(counts[0]), parameters, flops],
            };
            let less = format!("{:.2} x", answer.baseline_score / score);
            [name.to_owned(), design, first, second, third, significant(score, 3), less]
        };
        let of = |name: &str, design: Design, network: &Redesigned| {
            row(name, self.design_text(design), counts(network), network.time_share, network.score)
        };
        let text = |design: Design| self.design_text(design);
        let baseline = answer.baseline_design.map_or_else(|| answer.baseline.clone(), text);
        let own = [answer.baseline_parameters, answer.baseline_flops];
        table.push(row("baseline", baseline, own, Some(1.0), answer.baseline_score));
        for (name, problem, best) in [
            (self.primal_group(), Problem::Primal, &answer.primal),
            ("same variance", Problem::Dual, &answer.dual),
        ] {
            table.push(of(name, best.design, &best.network));
            for other in answer.nearby.iter().filter(|other| other.problem == problem) {
                table.push(of("  nearby", other.design, &other.network));
            }
        }
        table
    }

    /// One design for all stages beside those with more freedom.
    pub(super) fn stages_table(&self) -> Option<Table> {
        let stages = self.stages.as_ref()?;
        let answer = &self.answer;
        let mut table = Table::new(&[
            ("compared", Align::Left),
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
            push(more, joined(kept), counts(&kept.network), kept.network.score);
            if let Some(moved) = stages.moved.as_ref().map(|moved| of_problem(moved, of)) {
                push("  cost moved", joined(moved), counts(&moved.network), moved.network.score);
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

fn counts(network: &Redesigned) -> [u64; 2] {
    [network.parameters, network.flops]
}

/// The designs of one of the problems.
fn of_problem(both: &collegial_search::BothProblems, problem: Problem) -> &StageDesigns {
    match problem {
        Problem::Primal => &both.primal,
        Problem::Dual => &both.dual,
    }
}
