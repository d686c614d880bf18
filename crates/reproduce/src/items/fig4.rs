//! Fig. 4: test errors on MNIST along the primal curve, at fixed cost, and along the dual curve, at fixed variance.

use collegial_arch::{Overrides, Spec};
use collegial_report::Section;
use collegial_search::{Exact, Problem, Search};
use collegial_train::data::{Dataset, Kind};
use collegial_train::{Data, Recipe, recipe, spec_for};
use serde::Deserialize;
use serde_json::json;

use crate::trials::images::{self, Synthetic};
use crate::trials::{Line, Row, Sweep, Training};
use crate::{Comparison, Context, Error, Experiment, Item, Outcome, Scale, Verdict};

/// Fig. 4.
pub struct Fig4;

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

impl Item for Fig4 {
    fn name(&self) -> &'static str {
        "fig4"
    }

    fn experiment(&self) -> &'static str {
        include_str!("../../experiments/fig4.toml")
    }

    fn run(&self, experiment: &Experiment, context: &Context) -> Result<Outcome, Error> {
        let settings: Settings = experiment.settings(context.scale)?;
        let Some(dataset) = images::open(context, Kind::Mnist, settings.synthetic)? else {
            let open = |what| Comparison::claim(what, "", "", Verdict::no_data("MNIST"));
            return Ok(Outcome {
                sentence: "There is no MNIST under the data directory.".into(),
                comparisons: vec![open(PRIMAL), open(DUAL)],
                ..Outcome::default()
            });
        };
        let (primal, dual) = train(&settings, dataset, context)?;
        let [low, high] = primal.range().map(|error| 100.0 * error);
        let [dual_low, dual_high] = dual.range().map(|error| 100.0 * error);
        Ok(Outcome {
            sentence: format!(
                "Rank correlation of the predicted variance with the mean test error at fixed cost: {}; of the cost with the test error at fixed variance: {}. Mean \
                 errors range from {low:.2} to {high:.2} % at fixed cost, from {dual_low:.2} to {dual_high:.2} % at fixed variance.",
                words(&primal),
                words(&dual)
            ),
            comparisons: vec![
                primal_comparison(&primal, context.scale),
                dual_comparison(&dual, context.scale),
            ],
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
                        settings.runs
                    ))
                    .table(primal.table(), "On the primal curve: the baseline's cost.")
                    .table(dual.table(), "On the dual curve: the baseline's variance."),
            ],
            data: json!({"primal": primal, "dual": dual}),
            ..Outcome::default()
        })
    }
}

fn train(settings: &Settings, dataset: Dataset, context: &Context) -> Result<(Sweep, Sweep), Error> {
    let recipe = Recipe::build(recipe::text("mnist").unwrap_or_default(), &settings.recipe)?;
    let recipe = recipe.fitted(dataset.train().len());
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
    let sweep = |problem| Sweep::run(problem, &line.choose(problem, settings.designs)?, &training, context);
    Ok((sweep(Problem::Primal)?, sweep(Problem::Dual)?))
}

fn words(sweep: &Sweep) -> String {
    sweep.correlation.map_or("none".into(), |correlation| correlation.words())
}

fn primal_comparison(primal: &Sweep, scale: Scale) -> Comparison {
    let verdict = match primal.correlation {
        _ if scale == Scale::Smoke => too_small(),
        Some(correlation) if correlation.is_positive() => Verdict::Reproduced,
        Some(correlation) if correlation.is_negative() => {
            Verdict::Differs("designs of lower variance are worse".into())
        }
        _ => Verdict::NotAtThisScale("the interval of the rank correlation holds 0".into()),
    };
    Comparison::claim(PRIMAL, "highly correlated", format!("rank correlation {}", words(primal)), verdict)
}

/// A rank correlation over so few designs proves nothing by holding 0, so the most expensive design must do no better than the
/// cheapest.
fn dual_comparison(dual: &Sweep, scale: Scale) -> Comparison {
    let by_cost = |a: &&Row, b: &&Row| a.candidate.cost.total_cmp(&b.candidate.cost);
    let ends = dual.rows.iter().min_by(by_cost).zip(dual.rows.iter().max_by(by_cost));
    let verdict = match ends {
        _ if scale == Scale::Smoke => too_small(),
        Some((cheapest, dearest)) if dearest.is_better_than(cheapest) => Verdict::Differs(format!(
            "{}, the most expensive, has {} and {}, the cheapest, {}",
            dearest.candidate.design,
            dearest.error_words(),
            cheapest.candidate.design,
            cheapest.error_words()
        )),
        Some(_) => Verdict::Reproduced,
        None => Verdict::NotAtThisScale("there is no design".into()),
    };
    Comparison::claim(DUAL, "no improvement", format!("rank correlation {}", words(dual)), verdict)
}

fn too_small() -> Verdict {
    Verdict::NotAtThisScale("too few images, epochs and runs".into())
}
