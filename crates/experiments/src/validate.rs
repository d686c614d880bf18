//! `collegial validate`: does the prediction hold for this network on this data?
//!
//! The main type is [`Validation`]. A few designs of equal cost are taken from the primal curve of
//! a baseline, trained several times each, and their test errors set beside the kernel variances
//! that were predicted before anything was trained. How often is planned by a pilot: enough runs to
//! find a difference of the wanted size in 80 % of cases ([`power`](crate::power)).

use std::fmt;
use std::time::Instant;

use collegial_arch::{Cost, Design, Module, Spec};
use collegial_ntk::covariance::Images;
use collegial_report::{Figure, Page, Provenance, Section, capitalised, duration};
use collegial_search::paper::{Exact, Law, Search, Variance};
use collegial_search::{BlockInputs, Problem, ScoredBlocks, VarianceSource};
use collegial_train::{Data, Recipe};
use serde::{Serialize, Serializer};

use crate::power::{Power, runs_needed, scatter};
use crate::{Candidate, Context, Correlation, Error, Line, Order, Row, Sweep, Training, fitted_alpha};

/// Dual designs that cost more than so many baselines are left out.
const MOST_EXPENSIVE: f64 = 2.0;

/// What to validate.
pub struct Question<'a> {
    /// The baseline, made to measure for the data.
    pub baseline: &'a Spec,
    /// How cost is counted.
    pub search: &'a Search,
    /// On what.
    pub data: &'a Data,
    /// How.
    pub recipe: &'a Recipe,
    /// How many designs, the baseline included.
    pub designs: usize,
    /// How often each is trained.
    pub runs: Runs,
    /// Whether designs of equal variance are trained too.
    pub dual: bool,
}

/// How often designs are trained.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Runs {
    /// So often.
    Given(u32),
    /// After a pilot of three runs, as often as it takes to find a difference of this share of the
    /// mean error in 80 % of cases, but no oftener than `most`.
    Planned {
        /// The difference that should be found, as a share of the mean test error.
        share: f64,
        /// The most runs of every design.
        most: u32,
    },
}

/// Runs of every design in a pilot: its scatter is pooled over designs.
const PILOT: u32 = 3;

/// The result.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    /// The test error [follows](Order::Follows) the predicted variance, and no design is better
    /// than the best predicted one by more than two standard errors.
    Held,
    /// The runs cannot tell.
    Undecided,
    /// The order is [reversed](Order::Reversed).
    Contradicted,
}

impl Verdict {
    /// That of designs of equal cost.
    pub fn of(primal: &Sweep) -> Self {
        // Single runs have no scatter to compare with.
        if primal.runs() < 2 {
            return Self::Undecided;
        }
        match (primal.order(), primal.best_agrees()) {
            (Order::Reversed, _) => Self::Contradicted,
            (Order::Follows, Some(true)) => Self::Held,
            _ => Self::Undecided,
        }
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Held => "the prediction held",
            Self::Undecided => "undecided",
            Self::Contradicted => "the prediction is contradicted",
        })
    }
}

/// Predicted and measured; scripts rely on its keys.
#[derive(Clone, Debug, Serialize)]
pub struct Validation {
    /// The baseline.
    pub model: String,
    /// The data, in words.
    pub data: String,
    /// `params`, `flops`, ...
    pub cost: Cost,
    /// `law` or `exact`.
    pub variance_source: VarianceSource,
    /// Of the law.
    pub alpha: Option<f64>,
    /// Epochs of every run.
    pub epochs: u32,
    /// Runs of every design.
    pub runs: u32,
    /// Runs of every design that were wanted; the jobs of a plan may not have finished all.
    #[serde(skip)]
    pub planned_runs: u32,
    /// What so many runs can decide; null for one run.
    pub power: Option<Power>,
    /// What it comes to.
    pub verdict: Verdict,
    /// The same in a sentence or two.
    pub sentence: String,
    /// Between predicted variance and mean test error, with its 95 % interval.
    pub correlation: Option<Correlation>,
    /// The design of lowest predicted variance.
    #[serde(serialize_with = "empty_without")]
    pub best_predicted: Option<Design>,
    /// The design of lowest mean test error.
    #[serde(serialize_with = "empty_without")]
    pub best_measured: Option<Design>,
    /// Whether the two are equally good within two standard errors; null where one run each cannot
    /// tell.
    pub best_agrees: Option<bool>,
    /// Designs of equal cost.
    pub primal: Sweep,
    /// Designs of equal variance, if requested.
    pub dual: Option<Sweep>,
}

impl Question<'_> {
    /// Trains and compares.
    ///
    /// # Errors
    ///
    /// If the baseline has no width to change, a design cannot be trained, or the monitor
    /// stops it.
    pub fn answer(&self, context: &Context) -> Result<Validation, Error> {
        let module = self.search.module()?;
        let variance = self.variance(&module, context)?;
        let widest = module.width()?;
        let line = Line {
            baseline: self.baseline,
            search: self.search,
            variance: variance.as_ref(),
            // Members a fiftieth as wide as the baseline are very thin.
            thinnest: widest.div_ceil(50),
            most_expensive: MOST_EXPENSIVE,
        };
        let choose = |problem| -> Result<Vec<Candidate>, Error> {
            line.choose(problem, self.designs)?.into_iter().map(scored).collect()
        };
        let designs = choose(Problem::Primal)?;
        let runs = match self.runs {
            Runs::Given(runs) => runs,
            Runs::Planned { share, most } => self.pilot(&designs, share, most, context)?,
        };
        let training = self.training(runs);
        let primal = Sweep::run(Problem::Primal, &designs, &training, context)?;
        let dual = match self.dual {
            true => Some(Sweep::run(Problem::Dual, &choose(Problem::Dual)?, &training, context)?),
            false => None,
        };
        let verdict = Verdict::of(&primal);
        let design = |row: Option<&Row>| row.map(|row| row.candidate.design);
        Ok(Validation {
            model: self.baseline.name(),
            data: self.data.identity().to_string(),
            cost: self.search.cost(),
            variance_source: variance.source(),
            alpha: variance.alpha(),
            epochs: self.recipe.epochs,
            runs: primal.runs() as u32,
            planned_runs: runs,
            power: Power::of(&primal.rows),
            verdict,
            sentence: sentence(verdict, &primal),
            correlation: primal.correlation,
            best_predicted: design(primal.best_predicted()),
            best_measured: design(primal.best_measured()),
            best_agrees: primal.best_agrees(),
            primal,
            dual,
        })
    }

    /// Every design so often.
    fn training(&self, runs: u32) -> Training<'_> {
        Training { name: "validate", data: self.data, recipe: self.recipe, runs }
    }

    /// Trains designs a few times, says what their scatter asks for, and gives how many runs that
    /// is: those of the pilot as long as its jobs are not finished and nothing can be planned.
    fn pilot(&self, designs: &[Candidate], share: f64, most: u32, context: &Context) -> Result<u32, Error> {
        let (start, runs) = (Instant::now(), PILOT.min(most));
        let pilot = Sweep::run(Problem::Primal, designs, &self.training(runs), context)?;
        if pilot.runs() < runs as usize {
            return Ok(runs);
        }
        let planned = Planned::of(&pilot, share, most, start.elapsed().as_secs_f64());
        context.monitor.say(&planned.sentence);
        Ok(planned.runs)
    }

    /// Exact where theory has it, else the law fitted to the block.
    fn variance(&self, module: &Module, context: &Context) -> Result<Box<dyn Variance>, Error> {
        if Exact.of(module).is_ok() {
            return Ok(Box::new(Exact));
        }
        Ok(Box::new(Law::new(fitted_alpha(module, context)?)?))
    }
}

/// A design as its name, or "" where there is none: no design was trained yet.
fn empty_without<S: Serializer>(design: &Option<Design>, serializer: S) -> Result<S::Ok, S::Error> {
    match design {
        Some(design) => design.serialize(serializer),
        None => serializer.serialize_str(""),
    }
}

/// A network's variance is its score: the mean over its blocks, each with what it sees. Modules
/// keep what they have.
fn scored(candidate: Candidate) -> Result<Candidate, Error> {
    if candidate.spec.module().is_some() {
        return Ok(candidate);
    }
    match ScoredBlocks::of(&candidate.spec, BlockInputs::Network, &Images::natural()) {
        Ok(blocks) => Ok(Candidate { variance: blocks.score(), ..candidate }),
        // A network whose blocks have no closed form keeps the law's.
        Err(_) => Ok(candidate),
    }
}

/// How many runs a pilot asks for.
struct Planned {
    runs: u32,
    sentence: String,
}

impl Planned {
    /// From a pilot that took so many seconds (nothing, if its runs were kept from before).
    fn of(pilot: &Sweep, share: f64, most: u32, seconds: f64) -> Self {
        let done = pilot.rows.iter().map(|row| row.test_errors.len() as u32).min().unwrap_or(0);
        let mean = crate::mean(pilot.rows.iter().map(|row| row.test_error));
        let Some(scatter) = scatter(&pilot.rows) else {
            return Self {
                runs: most,
                sentence: format!("one run tells nothing of the scatter: {most} runs of every design"),
            };
        };
        let wanted = share * mean;
        let needed = runs_needed(scatter, wanted);
        let runs = needed.clamp(done, most.max(done));
        let more = (runs - done) as usize * pilot.rows.len();
        let seconds = seconds / f64::from(done) * f64::from(runs - done);
        let time = match more {
            0 => String::new(),
            _ => format!(", about {} more", duration(seconds)),
        };
        let enough = match needed > runs {
            true => format!(
                ", but {runs} are the most that are allowed: they find {:.2} points",
                100.0 * crate::power::decided(scatter, runs)
            ),
            false => String::new(),
        };
        let sentence = format!(
            "after {done} runs of every design: one run scatters by {:.2} points around {:.2} %. A difference of {:.2} points is found in 80 % of cases by {needed} runs of every \
             design{enough}. {more} runs to go{time}",
            100.0 * scatter,
            100.0 * mean,
            100.0 * wanted
        );
        Self { runs, sentence }
    }
}

fn sentence(verdict: Verdict, primal: &Sweep) -> String {
    let (Some(predicted), Some(measured)) = (primal.best_predicted(), primal.best_measured()) else {
        return format!("{verdict}: nothing was trained");
    };
    let correlation = primal.correlation_words();
    let best = if predicted.candidate.design == measured.candidate.design {
        format!("{} is best as predicted", predicted.candidate.design)
    } else {
        let distance = match primal.best_agrees() {
            Some(true) => "equally good within two standard errors",
            Some(false) => "clearly better",
            None => "of which one run each cannot say whether it is better",
        };
        format!(
            "predicted to be best was {} with {}, measured best is {} with {}, {distance}",
            predicted.candidate.design,
            predicted.error_words(),
            measured.candidate.design,
            measured.error_words()
        )
    };
    let width = primal.width_correlation.map_or("none".into(), |correlation| correlation.words());
    format!(
        "{verdict}: the rank correlation between predicted variance and test error is {correlation}, that of the inner width m n {width}; {best}"
    )
}

impl Validation {
    /// What the dual line says, if it was trained.
    pub fn dual_sentence(&self) -> Option<String> {
        let dual = self.dual.as_ref()?;
        let correlation = dual.correlation_words();
        let [low, high] = dual.range().map(|error| 100.0 * error);
        Some(format!(
            "at equal variance the mean test errors lie between {low:.2} and {high:.2} %; the rank correlation between cost and test error is {correlation}"
        ))
    }

    /// All figures with their file names.
    pub fn figures(&self) -> Vec<(&'static str, Figure)> {
        let mut figures =
            vec![("primal.svg", self.primal.figure()), ("primal-widths.svg", self.primal.width_figure())];
        if let Some(dual) = &self.dual {
            figures.extend([("dual.svg", dual.figure()), ("dual-widths.svg", dual.width_figure())]);
        }
        figures
    }

    /// The whole as a page.
    pub fn page(&self, provenance: Provenance) -> Page {
        let section = |heading: &str, sweep: &Sweep, caption: &str| {
            Section::new(heading)
                .figures([
                    (
                        sweep.figure(),
                        "Every point is a design, with the standard error over its runs.".to_owned(),
                    ),
                    (sweep.width_figure(), "The same over the width of the members.".to_owned()),
                ])
                .table(sweep.table(), caption)
        };
        let mut page = Page::new(format!("Does the variance predict the test error of {}?", self.model))
            .subject(&self.model)
            .verdict(format!("{}.", capitalised(&self.sentence)))
            .section(section("Designs of equal cost", &self.primal, "Cost is a share of the baseline's."));
        if let (Some(dual), Some(sentence)) = (&self.dual, self.dual_sentence()) {
            page = page.section(section("Designs of equal variance", dual, &sentence));
        }
        page.section(Section::new("How to read this").prose(format!(
            "Every design was trained {} times for {} on {}: {}. Variances were predicted before ({}). The interval of the rank correlation comes from resampling designs and runs. The \
             prediction held if it is above 0 and no design beats the best predicted one by more than two standard errors. It is contradicted if the interval is below 0.",
            self.runs,
            if self.epochs == 1 { "1 epoch".to_owned() } else { format!("{} epochs", self.epochs) },
            self.data,
            self.power.map_or("one run of each finds nothing".into(), |power| power.words()),
            self.variance_source
        )))
        .provenance(provenance)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sweep::made_up;

    fn judged(runs: usize, noise: f64, error: impl Fn(usize) -> f64) -> (Verdict, String) {
        let sweep = made_up::sweep(Problem::Primal, runs, noise, error);
        (Verdict::of(&sweep), sentence(Verdict::of(&sweep), &sweep))
    }

    /// The predicted variance falls with the index.
    #[test]
    fn a_clear_effect_none_and_a_reversed_one() {
        let (verdict, said) = judged(5, 0.002, |index| 0.2 - 0.01 * index as f64);
        assert_eq!(verdict, Verdict::Held, "{said}");
        assert!(said.contains("is best as predicted"), "{said}");
        let (verdict, said) = judged(5, 0.02, |_| 0.1);
        assert_eq!(verdict, Verdict::Undecided, "{said}");
        let (verdict, said) = judged(5, 0.002, |index| 0.1 + 0.01 * index as f64);
        assert_eq!(verdict, Verdict::Contradicted, "{said}");
        assert!(said.contains("clearly better"), "{said}");
    }

    /// Quiet runs need no more than the pilot, loud ones are planned, and louder ones meet the
    /// limit, which is said.
    #[test]
    fn runs_are_planned_by_power() {
        let planned = |noise: f64| {
            let pilot = made_up::sweep(Problem::Primal, 3, noise, |_| 0.1);
            Planned::of(&pilot, 0.05, 20, 300.0)
        };
        let quiet = planned(0.0005);
        assert_eq!(quiet.runs, 3, "{}", quiet.sentence);
        let middle = planned(0.004);
        assert!(
            (4..20).contains(&middle.runs) && middle.sentence.contains("minutes more"),
            "{}",
            middle.sentence
        );
        let loud = planned(0.05);
        assert!(loud.runs == 20 && loud.sentence.contains("the most that are allowed"), "{}", loud.sentence);
    }

    /// The order follows, but the best predicted design is clearly worse than the one before it.
    #[test]
    fn an_order_whose_best_is_beaten_is_undecided() {
        let (verdict, said) =
            judged(5, 0.001, |index| if index == 7 { 0.16 } else { 0.2 - 0.01 * index as f64 });
        assert_eq!(verdict, Verdict::Undecided, "{said}");
    }

    #[test]
    fn nothing_is_clearly_better_on_one_run() {
        let (_, said) = judged(1, 0.0, |index| 0.1 + 0.01 * index as f64);
        assert!(
            !said.contains("clearly better") && said.contains("one run each") && said.contains("n/a"),
            "{said}"
        );
    }
}
