//! The best integer designs of a whole network, in sentences, a table and a page.

use std::fmt::Write as _;

use collegial_arch::{Cost, Design, Spec};
use collegial_report::{Align, Download, Page, Provenance, Section, Table, grouped, significant};
use collegial_search::{
    BlockInputs, DesignAnswer, DesignOptimum, DesignSearch, Edge, Gain, Problem, VarianceSource,
};
use collegial_stats::Instant;
use serde::Serialize;

use super::Request;
use crate::{Answer, Error, Monitor, Style, to_json};

/// Both optima of the whole network.
#[derive(Clone, Debug, Serialize)]
pub struct Designs {
    /// The optima, their neighbours and the curve.
    #[serde(flatten)]
    pub answer: DesignAnswer,
    /// The primal's whole name, `resnext29-66x6d`.
    pub primal_model: String,
    /// The dual's.
    pub dual_model: String,
    /// Whether the network has groups that PyTorch's `groups` and `width_per_group` name.
    #[serde(skip)]
    grouped_convolutions: bool,
    /// Seed of the draws, where there were any.
    pub seed: u64,
    /// How long it took.
    pub seconds: f64,
}

/// Searches all (m, n).
pub(super) fn run(
    request: &Request,
    baseline: &Spec,
    cost: Cost,
    monitor: &dyn Monitor,
) -> Result<Designs, Error> {
    let start = Instant::now();
    let mut search = DesignSearch::new(baseline.clone())
        .cost(cost)
        .block_inputs(request.block_inputs)
        .multiple_of(request.multiple_of)
        .sampling(request.precision.unwrap_or(0.01), request.seed);
    if let Some(rule) = request.rule {
        search = search.rule(rule);
    }
    if let Some(budget) = request.budget {
        search = search.budget(budget);
    }
    if let Some(widths) = &request.widths {
        search = search.widths(widths.0.clone());
    }
    if let Some(most) = request.max_multiplicity {
        search = search.max_multiplicity(most);
    }
    let answer = search.run_watched(monitor);
    let answer = answer.map_err(|error| if monitor.stopped() { Error::Interrupted } else { error.into() })?;
    let name = |design: Design| Ok::<String, Error>(baseline.with_design(design)?.name());
    Ok(Designs {
        primal_model: name(answer.primal.design)?,
        dual_model: name(answer.dual.design)?,
        grouped_convolutions: matches!(baseline, Spec::Resnext(_)),
        answer,
        seed: request.seed,
        seconds: start.elapsed().as_secs_f64(),
    })
}

fn unit(cost: Cost) -> &'static str {
    match cost {
        Cost::Params => "parameters",
        Cost::Flops => "FLOPs",
        Cost::Activations => "activations",
    }
}

fn percent(share: f64) -> String {
    format!("{:.1} %", 100.0 * share)
}

impl Designs {
    /// The answer in a few sentences.
    fn sentences(&self) -> Vec<String> {
        let mut sentences = vec![self.primal_sentence(), self.dual_sentence()];
        for (name, optimum) in [("same cost", &self.answer.primal), ("same variance", &self.answer.dual)] {
            sentences.extend(edge_sentence(name, optimum));
        }
        if !self.answer.left_out.is_empty() {
            let widths: Vec<String> = self.answer.left_out.iter().map(ToString::to_string).collect();
            sentences.push(format!(
                "Not looked at: width {}, above the baseline's inner width or not a multiple of what was asked for.",
                widths.join(", ")
            ));
        }
        sentences
    }

    /// What is minimised.
    fn what(&self) -> &'static str {
        if self.answer.other_inputs.is_some() {
            "mean kernel variance of its blocks at initialisation"
        } else {
            "kernel variance at initialisation"
        }
    }

    fn primal_sentence(&self) -> String {
        let DesignAnswer { primal, baseline, cost, .. } = &self.answer;
        let (unit, what) = (unit(*cost), self.what());
        match primal.gain {
            Gain::BaselineIsBest => format!(
                "Same cost: {baseline} is itself the best design. No other m x n within its budget has less {what}."
            ),
            Gain::Better => format!(
                "Same cost: {} has {:.2} times less {what}, with {} of the {unit}.",
                self.primal_model,
                primal.score_ratio,
                percent(1.0 / primal.cost_ratio)
            ),
            Gain::Worse => format!(
                "Same cost: nothing that is allowed is as good as {baseline}. The best, {}, has {:.2} times its {what}.",
                self.primal_model,
                1.0 / primal.score_ratio
            ),
        }
    }

    fn dual_sentence(&self) -> String {
        let DesignAnswer { dual, baseline, cost, .. } = &self.answer;
        let unit = unit(*cost);
        match dual.gain {
            Gain::BaselineIsBest => {
                format!("Same variance: no design with as little variance has fewer {unit} than {baseline}.")
            }
            Gain::Better => format!(
                "Same variance: {} has {:.2} times fewer {unit}, and {} of the variance.",
                self.dual_model,
                dual.cost_ratio,
                percent(1.0 / dual.score_ratio)
            ),
            Gain::Worse => format!(
                "Same variance: nothing that is allowed is cheaper than {baseline}. The cheapest, {}, has {} of the {unit}.",
                self.dual_model,
                percent(1.0 / dual.cost_ratio)
            ),
        }
    }

    /// What the numbers are about.
    fn reading(&self) -> Vec<String> {
        let answer = &self.answer;
        let source = match answer.variance_source {
            VarianceSource::Exact => "computed exactly",
            VarianceSource::Measured | VarianceSource::Law => "sampled",
        };
        let blocks: usize = answer.blocks.iter().map(|block| block.count).sum();
        let what = if blocks > 1 {
            format!("the mean over {blocks} blocks (the whole network's was not drawn)")
        } else {
            "that of the module".into()
        };
        let mut lines = vec![format!(
            "variance: Var[K] / E[K]^2 of a block's tangent kernel K at one input, {what}, {source}"
        )];
        if let Some(other) = &answer.other_inputs {
            let (here, there) = match answer.block_inputs {
                BlockInputs::Network => {
                    ("what images look like there in the network", "white patches, as in the paper")
                }
                BlockInputs::White => {
                    ("white patches, as in the paper", "what images look like there in the network")
                }
            };
            lines.push(format!(
                "blocks see {here}; with {there}, the best are {} and {}, and {} is {} off",
                other.primal,
                other.dual,
                answer.primal.design,
                percent(other.primal_distance)
            ));
        }
        lines
    }

    /// What to do with it.
    fn next(&self) -> Vec<String> {
        let answer = &self.answer;
        let (name, design) = match (answer.primal.gain, answer.dual.gain) {
            (Gain::Better, _) => (&self.primal_model, answer.primal.design),
            (_, Gain::Better) => (&self.dual_model, answer.dual.design),
            _ => return vec![],
        };
        let mut lines = vec![format!("next: collegial export {name} --to pytorch")];
        if self.grouped_convolutions {
            let Design { multiplicity, width } = design;
            lines.push(format!(
                "      or groups={multiplicity}, width_per_group={width} in torchvision and timm"
            ));
        }
        lines
    }

    fn designs_table(&self) -> Table {
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
        let baseline =
            answer.baseline_design.map_or_else(|| answer.baseline.clone(), |design| design.to_string());
        table.push([
            "baseline".into(),
            baseline,
            grouped(answer.baseline_parameters),
            "100.0 %".into(),
            "100.0 %".into(),
            significant(answer.baseline_score, 3),
            "1.00 x".into(),
        ]);
        let row = |name: &str, design: Design, parameters: u64, flops: u64, score: f64, ratio: f64| {
            [
                name.to_owned(),
                design.to_string(),
                grouped(parameters),
                percent(parameters as f64 / answer.baseline_parameters as f64),
                percent(flops as f64 / answer.baseline_flops as f64),
                significant(score, 3),
                format!("{ratio:.2} x"),
            ]
        };
        for (name, problem, best) in
            [("same cost", Problem::Primal, &answer.primal), ("same variance", Problem::Dual, &answer.dual)]
        {
            table.push(row(name, best.design, best.parameters, best.flops, best.score, best.score_ratio));
            for other in answer.nearby.iter().filter(|other| other.problem == problem) {
                table.push(row(
                    "  nearby",
                    other.design,
                    other.parameters,
                    other.flops,
                    other.score,
                    other.score_ratio,
                ));
            }
        }
        table
    }
}

fn edge_sentence(name: &str, optimum: &DesignOptimum) -> Option<String> {
    let (end, other) = match optimum.edge? {
        Edge::Narrowest => ("narrowest", "narrower"),
        Edge::Widest => ("widest", "wider"),
    };
    Some(format!(
        "The {name} optimum is at the {end} width that was looked at, {}; {other} members might be better.",
        optimum.width
    ))
}

impl Answer for Designs {
    fn json(&self) -> Result<String, Error> {
        to_json(self)
    }

    fn text(&self, style: &Style) -> String {
        let mut text = String::new();
        for sentence in self.sentences() {
            for line in wrapped(&sentence) {
                let _ = writeln!(text, "{}", style.strong(&line));
            }
        }
        let _ = write!(text, "\n{}\n", self.designs_table().to_text());
        for line in self.reading().iter().flat_map(|line| wrapped(line)).chain(self.next()) {
            let _ = writeln!(text, "{line}");
        }
        text
    }

    fn table(&self) -> Table {
        super::view::curve_table(&self.answer.curve)
    }

    fn summary(&self) -> (Vec<String>, Table) {
        (self.sentences(), self.designs_table())
    }

    fn page(&self, provenance: Provenance) -> Option<Page> {
        let json = to_json(self).ok()?;
        let sampled = self.answer.variance_source == VarianceSource::Measured;
        let provenance = Provenance { seed: sampled.then_some(self.seed), ..provenance };
        let designs = Section::new("Designs worth trying")
            .prose("Whole networks, in two groups: within the baseline's cost, and with no more than its variance.")
            .table(self.designs_table(), "Shares are of the baseline's counts.");
        let data = Section::new("Data")
            .download(Download::json("search.json", json))
            .download(Download::csv("curve.csv", self.table().to_csv()));
        Some(
            Page::new(format!("The best designs for {}", self.answer.baseline))
                .verdict(self.sentences().join(" "))
                .section(designs)
                .section(Section::new("How to read this").prose(self.reading().join(".\n\n")))
                .section(data)
                .provenance(provenance),
        )
    }
}

/// The text in lines of at most 80 columns.
fn wrapped(text: &str) -> Vec<String> {
    let mut lines: Vec<String> = vec![];
    for word in text.split(' ') {
        match lines.last_mut() {
            Some(line) if line.chars().count() + 1 + word.chars().count() <= 80 => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}
