//! The designs of a table again, by Algorithm 2 with the published alpha.

use collegial_arch::{Cost, Design, Spec};
use collegial_report::{Align, Section, Table};
use collegial_search::paper::{Law, Optimum, Search};
use collegial_search::{Limits, Problem, Rule};
use serde::Deserialize;

use crate::reproduce::published;
use crate::reproduce::{Comparison, Error, Verdict};

/// Designs of a table that the search must find.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Designs {
    table: String,
    problem: Problem,
    baseline: String,
    designs: Vec<Design>,
    #[serde(default)]
    rule: Rule,
    /// A count: the search refuses times, which differ between machines.
    #[serde(default)]
    cost: Cost,
    /// Whether the first design's width is the optimum itself.
    #[serde(default)]
    optimum: bool,
}

/// What Algorithm 2 finds, as a section and compared with what is printed.
pub(super) fn find(wanted: &[Designs]) -> Result<(Section, Vec<Comparison>), Error> {
    let mut table = Table::new(&[
        ("problem", Align::Left),
        ("baseline", Align::Left),
        ("cost", Align::Left),
        ("rule", Align::Left),
        ("published", Align::Right),
        ("m of the block", Align::Right),
        ("obtained", Align::Right),
    ]);
    let alpha = published::value("block.alpha")?;
    let mut comparisons = vec![];
    for entry in wanted {
        let baseline: Spec = entry.baseline.parse()?;
        for (index, &design) in entry.designs.iter().enumerate() {
            entry.check_printed(&baseline, design)?;
            let optimum = entry.optimum && index == 0;
            let found = entry.search(&baseline, design, optimum, alpha.value)?;
            let what = format!(
                "{} design for {}{}",
                entry.problem,
                entry.baseline,
                if optimum { ", the optimum" } else { "" }
            );
            let verdict = if found.design == design {
                Verdict::Reproduced
            } else {
                Verdict::Differs(format!("the search gives {}", found.design))
            };
            let claim = Comparison::claim(what, design.to_string(), found.design.to_string(), verdict);
            comparisons.push(Comparison { exact: true, ..claim });
            table.push([
                entry.problem.to_string(),
                entry.baseline.clone(),
                entry.cost.unit().into(),
                entry.rule_name().into(),
                format!("{design}{}", if optimum { " (optimum)" } else { "" }),
                format!("{:.2}", found.multiplicity),
                found.design.to_string(),
            ]);
        }
    }
    let section = Section::new("How the designs come about")
        .prose(format!(
            "Algorithm 2 with the published alpha = {}. The width is the published one, except where the row is the optimum itself: there it is found too. The real m of the single block becomes an integer on the whole network (primal) or by rounding (dual).",
            alpha.printed()
        ))
        .table(table, "Designs in the vicinity of the optimum, for which the paper gives no rule, are left out.");
    Ok((section, comparisons))
}

impl Designs {
    /// A row of the table is the design alone, or the whole network's name.
    fn check_printed(&self, baseline: &Spec, design: Design) -> Result<(), Error> {
        let names = [design.to_string(), baseline.with_design(design)?.name()];
        if published::table(&self.table)?.rows().any(|row| names.iter().any(|name| name == row.name())) {
            return Ok(());
        }
        Err(Error::experiment(&*self.table, format!("it has no row {design}")))
    }

    fn search(&self, baseline: &Spec, design: Design, optimum: bool, alpha: f64) -> Result<Optimum, Error> {
        let widths = (!optimum).then(|| vec![design.width]);
        let limits = Limits::new().rule(self.rule).cost(self.cost).widths(widths);
        let answer = Search::new(baseline.clone()).within(limits).run(&Law::new(alpha)?)?;
        Ok(match self.problem {
            Problem::Primal => answer.primal,
            Problem::Dual => answer.dual,
        })
    }

    fn rule_name(&self) -> &'static str {
        match (self.problem, self.rule) {
            (Problem::Dual, _) => "rounded",
            (Problem::Primal, Rule::Nearest) => "nearest",
            (Problem::Primal, Rule::Under) => "under budget",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(lines: &str) -> Designs {
        let table = "table = \"table5_flops_cifar\"\nproblem = \"primal\"\nbaseline = \"resnext29-1x128d\"\n";
        toml::from_str(&format!("{table}{lines}")).unwrap()
    }

    #[test]
    fn designs_are_found_again_or_told_apart() {
        let flops = entry("designs = [\"44x8d\"]\ncost = \"flops\"\noptimum = true\n");
        assert_eq!(find(&[flops]).unwrap().1[0].verdict, Verdict::Reproduced);
        // By parameters the same width has another multiplicity.
        let parameters = entry("designs = [\"44x8d\"]\n");
        let verdict = find(&[parameters]).unwrap().1[0].verdict.clone();
        assert!(matches!(verdict, Verdict::Differs(_)), "{verdict:?}");
    }

    #[test]
    fn what_cannot_be_compared_is_refused() {
        let unprinted = find(&[entry("designs = [\"45x8d\"]\n")]).map(drop).unwrap_err().to_string();
        assert!(unprinted.ends_with("it has no row 45x8d"), "{unprinted}");
        let timed = entry("designs = [\"44x8d\"]\ncost = \"time\"\n");
        let timed = find(&[timed]).map(drop).unwrap_err().to_string();
        assert!(timed.contains("time"), "{timed}");
    }
}
