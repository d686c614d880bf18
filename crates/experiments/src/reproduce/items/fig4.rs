//! Fig. 4: test errors on MNIST along the primal curve, at fixed cost, and along the dual curve, at
//! fixed variance.

use crate::{Difference, Line, Order, Row, Sweep, Training};
use collegial_arch::{Overrides, Spec};
use collegial_report::Section;
use collegial_search::Problem;
use collegial_search::paper::{Exact, Search};
use collegial_train::data::{Dataset, Kind};
use collegial_train::{Builtin, Data, spec_for};
use serde::Deserialize;
use serde_json::json;

use crate::reproduce::images::{self, Synthetic};
use crate::reproduce::{Comparison, Context, Error, Experiment, Outcome, Scale, Verdict};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Settings {
    baseline: String,
    /// Designs on each curve, the baseline included.
    designs: usize,
    thinnest: usize,
    /// Dual designs that cost more than so many baselines are left out.
    most_expensive: f64,
    runs: u32,
    /// Changes to the recipe of MNIST.
    recipe: Vec<String>,
    synthetic: Option<Synthetic>,
}

const PRIMAL: &str = "at fixed cost, the test error follows Var(K)";
const DUAL: &str = "at fixed Var(K), a larger cost does not lower the test error";

/// Fig. 4.
pub fn run(experiment: &Experiment, context: &Context) -> Result<Outcome, Error> {
    let settings: Settings = experiment.settings(context.scale)?;
    let dataset = images::required(experiment.name(), context, Kind::Mnist, settings.synthetic)?;
    let (primal, dual) = train(&settings, dataset, context)?;
    let [low, high] = primal.range().map(|error| 100.0 * error);
    let [dual_low, dual_high] = dual.range().map(|error| 100.0 * error);
    Ok(Outcome {
        sentence: format!(
            "Rank correlation of the predicted variance with the mean test error at fixed cost: {}; of the cost with the test error at fixed variance: {}. Mean \
             errors range from {low:.2} to {high:.2} % at fixed cost, from {dual_low:.2} to {dual_high:.2} % at fixed variance.",
            primal.correlation_words(),
            dual.correlation_words()
        ),
        comparisons: vec![primal_comparison(&primal, context.scale), dual_comparison(&dual, context.scale)],
        figures: vec![
            (
                primal.figure(),
                "One point per design of the same cost; lower variance should be lower error.".into(),
            ),
            (dual.figure(), "One point per design of the same variance; cost should not matter.".into()),
            (primal.width_figure(), "The same designs over the width of their members.".into()),
            (dual.width_figure(), "The same designs over the width of their members.".into()),
        ],
        sections: vec![
            Section::new("The designs")
                .prose(format!(
                    "Every design was trained {} times; errors are means with standard errors.",
                    primal.runs()
                ))
                .table(primal.table(), "On the primal curve: the baseline's cost.")
                .table(dual.table(), "On the dual curve: the baseline's variance."),
        ],
        data: json!({"primal": primal, "dual": dual}),
        ..Outcome::default()
    })
}

fn train(settings: &Settings, dataset: Dataset, context: &Context) -> Result<(Sweep, Sweep), Error> {
    let recipe = Builtin::Mnist.with(&settings.recipe)?;
    let recipe = recipe.for_images(dataset.train().len());
    let spec: Spec = settings.baseline.parse()?;
    let baseline = spec_for(&spec, &Overrides::default(), &dataset)?;
    let data = Data::new(dataset, &recipe)?;
    let search = Search::new(baseline.clone());
    let line = Line {
        baseline: &baseline,
        search: &search,
        variance: &Exact,
        thinnest: settings.thinnest,
        most_expensive: settings.most_expensive,
    };
    let training = Training { name: "fig4", data: &data, recipe: &recipe, runs: settings.runs };
    let sweep = |problem| {
        let designs = line.choose(problem, settings.designs)?;
        Sweep::run(problem, &designs, &training, context)
    };
    Ok((sweep(Problem::Primal)?, sweep(Problem::Dual)?))
}

/// Whether the test error follows the variance at fixed cost, by the interval of the rank
/// correlation.
fn primal_comparison(primal: &Sweep, scale: Scale) -> Comparison {
    let verdict = match primal.order() {
        _ if scale == Scale::Smoke => too_small(),
        Order::Follows => Verdict::Reproduced,
        Order::Reversed => Verdict::Differs("designs of lower variance are worse".into()),
        Order::Unclear => Verdict::NotAtThisScale("the interval of the rank correlation holds 0".into()),
    };
    let obtained = format!("rank correlation {}", primal.correlation_words());
    Comparison::claim(PRIMAL, "highly correlated", obtained, verdict)
}

/// A rank correlation over so few designs proves nothing by holding 0, so the most expensive design
/// must do no better than the cheapest.
fn dual_comparison(dual: &Sweep, scale: Scale) -> Comparison {
    let by_cost = |a: &&Row, b: &&Row| a.candidate.cost.total_cmp(&b.candidate.cost);
    let ends = dual.rows.iter().min_by(by_cost).zip(dual.rows.iter().max_by(by_cost));
    let verdict = match ends {
        _ if scale == Scale::Smoke => too_small(),
        None => Verdict::NotAtThisScale("there is no design".into()),
        Some((cheapest, dearest)) => match dearest.compare(cheapest) {
            Difference::Better => Verdict::Differs(format!(
                "{}, the most expensive, has {} and {}, the cheapest, {}",
                dearest.candidate.design,
                dearest.error_words(),
                cheapest.candidate.design,
                cheapest.error_words()
            )),
            Difference::Worse | Difference::Indistinct => Verdict::Reproduced,
            Difference::Unknown => Verdict::NotAtThisScale("one run has no standard error".into()),
        },
    };
    let obtained = format!("rank correlation {}", dual.correlation_words());
    Comparison::claim(DUAL, "no improvement", obtained, verdict)
}

fn too_small() -> Verdict {
    Verdict::NotAtThisScale("too few images, epochs and runs".into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::made_up::sweep;

    fn verdicts(
        problem: Problem,
        runs: usize,
        noise: f64,
        error: impl Fn(usize) -> f64,
    ) -> [&'static str; 2] {
        let sweep = sweep(problem, runs, noise, error);
        [Scale::Smoke, Scale::Paper].map(|scale| match problem {
            Problem::Primal => primal_comparison(&sweep, scale).verdict.name(),
            Problem::Dual => dual_comparison(&sweep, scale).verdict.name(),
        })
    }

    /// The predicted variance falls with the index.
    #[test]
    fn the_primal_claim_needs_an_order() {
        let of = |noise, slope: f64| verdicts(Problem::Primal, 5, noise, |index| 0.2 + slope * index as f64);
        assert_eq!(of(0.002, -0.01), ["not at this scale", "reproduced"]);
        assert_eq!(of(0.02, 0.0), ["not at this scale", "not at this scale"]);
        assert_eq!(of(0.002, 0.01), ["not at this scale", "differs"]);
    }

    /// The cost falls with the index: the first design is the most expensive.
    #[test]
    fn the_dual_claim_fails_only_if_cost_clearly_pays() {
        let of = |runs, noise, slope: f64| {
            verdicts(Problem::Dual, runs, noise, |index| 0.1 + slope * index as f64)[1]
        };
        assert_eq!(of(5, 0.002, 0.01), "differs");
        assert_eq!(of(5, 0.02, 0.0), "reproduced");
        assert_eq!(of(5, 0.002, -0.01), "reproduced");
        assert_eq!(of(1, 0.002, 0.01), "not at this scale", "one run is not enough to tell");
    }
}
