//! Fig. 6 and its twin in the appendix: test errors on CIFAR-100 and CIFAR-10 along the primal and
//! dual curves.

use crate::{Difference, Line, Order, Row, Sweep, Training, fitted_alpha};
use collegial_arch::{Design, Overrides, Spec};
use collegial_report::Section;
use collegial_search::Problem;
use collegial_search::paper::{Law, Search};
use collegial_train::data::{Dataset, Kind};
use collegial_train::{Builtin, Data, spec_for};
use serde::Deserialize;
use serde_json::json;

use crate::reproduce::images::{self, Synthetic};
use crate::reproduce::{Comparison, Context, Error, Experiment, Outcome, Scale, Verdict};

/// Test errors on CIFAR-10 or CIFAR-100.
pub struct Cifar {
    name: &'static str,
    kind: Kind,
    recipe: Builtin,
    /// What the paper says of the dual optimum.
    dual: &'static str,
}

/// Fig. 6.
pub const CIFAR_100: Cifar =
    Cifar { name: "fig-cifar100", kind: Kind::Cifar100, recipe: Builtin::Cifar100, dual: "comparable" };

/// The same in the appendix.
pub const CIFAR_10: Cifar =
    Cifar { name: "fig-cifar10", kind: Kind::Cifar10, recipe: Builtin::Cifar10, dual: "slightly higher" };

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Settings {
    baseline: Spec,
    /// Of the variance law; fitted to the block where it is not given.
    alpha: Option<f64>,
    /// Designs on each curve, the baseline included.
    primal_designs: usize,
    dual_designs: usize,
    thinnest: usize,
    most_expensive: f64,
    runs: u32,
    /// Changes to the recipe.
    recipe: Vec<String>,
    /// With fewer training images than this there is nothing to be seen.
    images: usize,
    synthetic: Option<Synthetic>,
}

const CORRELATED: &str = "at fixed cost, the test error follows the primal curve";
const BEST: &str = "the primal optimum has the lowest test error";
const COMPACT: &str = "the dual optimum's test error, against the baseline's";

impl Cifar {
    /// Trains the designs of both curves.
    pub fn run(&self, experiment: &Experiment, context: &Context) -> Result<Outcome, Error> {
        let settings: Settings = experiment.settings(context.scale)?;
        let nothing = |sentence: String, verdict: &Verdict| Outcome {
            sentence,
            comparisons: [CORRELATED, BEST, COMPACT]
                .map(|what| Comparison::claim(what, "", "", verdict.clone()))
                .into(),
            ..Outcome::default()
        };
        let dataset = images::required(self.name, context, self.kind, settings.synthetic)?;
        let found = dataset.train().len();
        if found < settings.images {
            let why = format!("the data set has {found} training images, {} are wanted", settings.images);
            return Ok(nothing(format!("Nothing was trained: {why}."), &Verdict::NotAtThisScale(why)));
        }
        let trained = self.train(&settings, dataset, context)?;
        Ok(self.outcome(&settings, &trained, context.scale))
    }
}

/// Both lines, and the design that is best on each.
struct Trained {
    alpha: f64,
    primal: Sweep,
    dual: Sweep,
    primal_optimum: Option<Design>,
    dual_optimum: Option<Design>,
}

impl Trained {
    fn best_primal(&self) -> Option<&Row> {
        self.primal.rows.iter().find(|row| Some(row.candidate.design) == self.primal_optimum)
    }

    fn best_dual(&self) -> Option<&Row> {
        self.dual.rows.iter().find(|row| Some(row.candidate.design) == self.dual_optimum)
    }
}

impl Cifar {
    fn train(&self, settings: &Settings, dataset: Dataset, context: &Context) -> Result<Trained, Error> {
        let recipe = self.recipe.with(&settings.recipe)?;
        let recipe = recipe.for_images(dataset.train().len());
        let baseline = spec_for(&settings.baseline, &Overrides::default(), &dataset)?;
        let data = Data::new(dataset, &recipe)?;
        let search = Search::new(baseline.clone());
        let alpha = settings.alpha.map_or_else(|| fitted_alpha(&search.module()?, context), Ok)?;
        let law = Law::new(alpha)?;
        let line = Line {
            baseline: &baseline,
            search: &search,
            variance: &law,
            thinnest: settings.thinnest,
            most_expensive: settings.most_expensive,
        };
        let training = Training { name: self.name, data: &data, recipe: &recipe, runs: settings.runs };
        let sweep = |problem, count| Sweep::run(problem, &line.choose(problem, count)?, &training, context);
        Ok(Trained {
            alpha,
            primal: sweep(Problem::Primal, settings.primal_designs)?,
            dual: sweep(Problem::Dual, settings.dual_designs)?,
            primal_optimum: line.optimum(Problem::Primal)?.map(|candidate| candidate.design),
            dual_optimum: line.optimum(Problem::Dual)?.map(|candidate| candidate.design),
        })
    }

    fn outcome(&self, settings: &Settings, trained: &Trained, scale: Scale) -> Outcome {
        let Trained { alpha, primal, dual, .. } = trained;
        let correlation = primal.correlation_words();
        let best = |row: Option<&Row>| {
            row.map_or(String::new(), |row| format!("{} ({})", row.candidate.design, row.error_words()))
        };
        Outcome {
            sentence: format!(
                "Rank correlation of the predicted variance with the mean test error at fixed cost: {correlation}. Best predicted: {}; best measured: {}. Baseline: {}; at its variance with \
                 fewer parameters: {}.",
                best(trained.best_primal()),
                best(primal.best_measured()),
                best(primal.rows.first()),
                best(trained.best_dual()),
            ),
            comparisons: self.comparisons(trained, scale),
            figures: vec![
                (primal.width_figure(), "Designs of the baseline's cost over the width of their members.".into()),
                (primal.figure(), "The same designs over the variance that is predicted.".into()),
                (dual.width_figure(), "Designs of the baseline's variance over the width of their members.".into()),
                (dual.figure(), "The same designs over what they cost.".into()),
            ],
            sections: vec![
                Section::new("The designs")
                    .prose(format!("Every design was trained {} times; the variance is the law's with alpha = {alpha:.2}.", settings.runs))
                    .table(primal.table(), "On the primal curve: the baseline's cost.")
                    .table(dual.table(), "On the dual curve: the baseline's variance."),
            ],
            data: json!({"alpha": alpha, "primal": primal, "dual": dual}),
            ..Outcome::default()
        }
    }

    fn comparisons(&self, trained: &Trained, scale: Scale) -> Vec<Comparison> {
        let small = || Verdict::NotAtThisScale("too few images, epochs and runs".into());
        let primal = &trained.primal;
        let order = match primal.order() {
            _ if scale == Scale::Smoke => small(),
            Order::Follows => Verdict::Reproduced,
            Order::Reversed => Verdict::Differs("designs of lower variance are worse".into()),
            Order::Unclear => Verdict::NotAtThisScale("the interval of the rank correlation holds 0".into()),
        };
        let best = match (primal.best_agrees(), primal.best_against_baseline()) {
            _ if scale == Scale::Smoke => small(),
            (Some(false), _) => {
                Verdict::Differs("another design is better by more than two standard errors".into())
            }
            (Some(true), Difference::Better) => Verdict::Reproduced,
            (_, Difference::Worse) => Verdict::Differs("it is worse than the baseline".into()),
            (_, Difference::Unknown) | (None, _) => {
                Verdict::NotAtThisScale("one run has no standard error".into())
            }
            (Some(true), Difference::Indistinct) => {
                Verdict::NotAtThisScale("it cannot be told from the baseline".into())
            }
        };
        let words = primal.correlation_words();
        let name = |row: Option<&Row>| row.map_or(String::new(), |row| row.candidate.design.to_string());
        vec![
            Comparison::claim(CORRELATED, "clear correlation", format!("rank correlation {words}"), order),
            Comparison::claim(
                BEST,
                "37x10d is best",
                format!("{} is best", name(primal.best_measured())),
                best,
            ),
            self.compact(primal.rows.first(), trained.best_dual(), scale),
        ]
    }

    /// The dual's optimum beside the baseline. "Slightly" and "comparable" are taken as: within a
    /// tenth of the baseline's error, or not distinguishable from it.
    fn compact(&self, baseline: Option<&Row>, optimum: Option<&Row>, scale: Scale) -> Comparison {
        let (Some(baseline), Some(optimum)) = (baseline, optimum) else {
            return Comparison::claim(
                COMPACT,
                self.dual,
                "",
                Verdict::NotRun("the optimum is the baseline".into()),
            );
        };
        let within_a_tenth = optimum.test_error <= 1.1 * baseline.test_error;
        let verdict = match optimum.compare(baseline) {
            _ if scale == Scale::Smoke => Verdict::NotAtThisScale("too few images, epochs and runs".into()),
            Difference::Better | Difference::Indistinct => Verdict::Reproduced,
            Difference::Worse | Difference::Unknown if within_a_tenth => Verdict::Reproduced,
            Difference::Worse => Verdict::Differs(
                "it is worse by more than a tenth and by more than two standard errors".into(),
            ),
            Difference::Unknown => Verdict::NotAtThisScale("one run has no standard error".into()),
        };
        let obtained = format!(
            "{} for {}, {} for the baseline, {:.2} times fewer parameters",
            optimum.error_words(),
            optimum.candidate.design,
            baseline.error_words(),
            baseline.candidate.parameters as f64 / optimum.candidate.parameters as f64
        );
        Comparison::claim(COMPACT, self.dual, obtained, verdict)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::made_up;

    /// Verdicts on the three claims; the predicted variance falls with the index, and the dual
    /// optimum has this error.
    fn verdicts(runs: usize, noise: f64, slope: f64, dual: f64) -> Vec<&'static str> {
        let primal = made_up::sweep(Problem::Primal, runs, noise, |index| 0.2 + slope * index as f64);
        let optimum = made_up::row(30, 1.0, 0.5, &vec![dual; runs]);
        let dual = Sweep::new(Problem::Dual, vec![optimum.clone()], 0);
        let (primal_optimum, dual_optimum) = (None, Some(optimum.candidate.design));
        let trained = Trained { alpha: 1.6, primal, dual, primal_optimum, dual_optimum };
        let comparisons = CIFAR_100.comparisons(&trained, Scale::Paper);
        comparisons.iter().map(|comparison| comparison.verdict.name()).collect()
    }

    #[test]
    fn a_clear_effect_none_and_a_reversed_one() {
        assert_eq!(verdicts(5, 0.002, -0.01, 0.2), ["reproduced", "reproduced", "reproduced"]);
        assert_eq!(verdicts(5, 0.02, 0.0, 0.2), ["not at this scale", "not at this scale", "reproduced"]);
        assert_eq!(verdicts(5, 0.002, 0.01, 0.3), ["differs", "differs", "differs"]);
    }

    #[test]
    fn one_run_decides_nothing_between_two_designs() {
        let [_, best, compact] = verdicts(1, 0.0, -0.01, 0.3)[..] else { panic!("three claims") };
        assert_eq!((best, compact), ("not at this scale", "not at this scale"));
    }
}
