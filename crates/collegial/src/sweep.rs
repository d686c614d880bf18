//! `sweep`: any networks, each trained several times on one data set.

use std::borrow::Cow;
use std::num::NonZeroU32;
use std::path::{Path, PathBuf};

use collegial_arch::Overrides;
use collegial_experiments::jobs::Share;
use collegial_experiments::{Context, ResultCache, Training, mean, standard_error, train_all};
use collegial_report::{Align, Axis, Figure, Page, Point, Points, Provenance, Section, Table, grouped};
use collegial_train::Builtin;
use collegial_train::{Backends, Data, spec_for};
use serde::Serialize;

use crate::message::{invalid, option};
use crate::options::options;
use crate::reproduce::told;
use crate::style::{counted, wrapped};
use crate::{Answer, Error, ModelRef, Monitor, Paged, Style, TrainingOptions, files};

options! {
    /// Train any networks several times each, and give their mean test errors
    ///
    /// An interrupted sweep goes on with the same command. `validate` chooses the designs itself and
    /// asks whether the variance ranks them.
    #[command(after_help = "Example:\n  collegial sweep fc6-200 fc6-7x45 --data mnist --runs 5")]
    #[serde(deny_unknown_fields)]
    pub struct Request {
        /// Names, or paths of specs
        #[arg(value_name = "MODEL", required = true, value_hint = clap::ValueHint::AnyPath)]
        pub models: Vec<ModelRef>,
        /// Data, recipe and backend
        #[command(flatten)]
        pub training: TrainingOptions,
        /// Trainings of every network, with seeds from --seed on
        #[arg(long, value_name = "COUNT")]
        pub runs: NonZeroU32 = NonZeroU32::new(5).unwrap(),
        /// Where finished runs are kept [default: runs/sweep-DATA]
        #[arg(long, value_name = "DIR")]
        #[serde(with = "crate::paths::exact_option")]
        pub out: Option<PathBuf>,
        /// Seed of everything random
        #[arg(skip)]
        pub seed: u64,
    }
}

/// The results of every network.
#[derive(Clone, Debug, Serialize)]
pub struct SweepAnswer {
    /// The data, in words.
    pub data: String,
    /// Epochs of every run.
    pub epochs: u32,
    /// In the order of the request.
    pub networks: Vec<Network>,
    /// Where finished runs are kept.
    #[serde(skip)]
    pub out: PathBuf,
    /// Seed of the first run.
    #[serde(skip)]
    pub seed: u64,
}

/// The results of one network.
#[derive(Clone, Debug, Serialize)]
pub struct Network {
    /// Its name.
    pub model: String,
    /// Its parameters.
    pub parameters: u64,
    /// The mean test error of its runs; null where none is finished.
    pub test_error: Option<f64>,
    /// Its standard error; one run has none.
    pub standard_error: Option<f64>,
    /// Of every run, in the order of seeds.
    pub test_errors: Vec<f64>,
}

/// Trains. An interrupted sweep goes on with the same request.
///
/// # Errors
///
/// Where a network cannot be trained on the data, or the monitor stopped it.
pub fn run(request: &Request, backends: Backends, monitor: &dyn Monitor) -> Result<SweepAnswer, Error> {
    backends.check(request.training.engine)?;
    answer(request, Share::All, backends, monitor)
}

/// The same with a share of the trainings.
pub(crate) fn answer(
    request: &Request,
    share: Share<'_>,
    backends: Backends,
    monitor: &dyn Monitor,
) -> Result<SweepAnswer, Error> {
    if request.models.is_empty() {
        return Err(invalid![option("models"), " is empty; name networks to train"].into());
    }
    files::check_directory("out", request.out.as_deref())?;
    let dataset = request.training.dataset()?;
    let spec = |model: &ModelRef| -> Result<_, Error> {
        Ok(spec_for(&model.open()?.into_spec(), &Overrides::default(), &dataset)?)
    };
    let specs = request.models.iter().map(spec).collect::<Result<Vec<_>, _>>()?;
    let recipe = request.training.recipe(&dataset)?;
    let default = || Path::new("runs").join(format!("sweep-{}", Builtin::of(&dataset)));
    let out = files::directory_or(request.out.as_deref(), default)?;
    let classes = dataset.classes();
    let data = Data::new(dataset, &recipe)?;
    let cache = ResultCache::open(out.join("parts"))?;
    let engine = request.training.engine;
    let context = Context { share, engine, backends, ..Context::new(request.seed, &cache, monitor) };
    let training = Training { name: "sweep", data: &data, recipe: &recipe, runs: request.runs.get() };
    let trained = train_all(&training, &specs, &context).map_err(|error| told(error, monitor))?;
    let mut networks = vec![];
    for (spec, runs) in specs.iter().zip(&trained) {
        let test_errors: Vec<f64> = runs.iter().map(|run| run.test_error(classes)).collect();
        networks.push(Network {
            model: spec.name(),
            parameters: spec.totals()?.parameters,
            test_error: (!test_errors.is_empty()).then(|| mean(test_errors.iter().copied())),
            standard_error: standard_error(&test_errors),
            test_errors,
        });
    }
    Ok(SweepAnswer {
        data: data.identity().to_string(),
        epochs: recipe.epochs,
        networks,
        out,
        seed: request.seed,
    })
}

impl Answer for SweepAnswer {
    fn text(&self, _style: &Style) -> String {
        let (sentences, table) = self.summary();
        let lines: Vec<String> = sentences.iter().flat_map(|sentence| wrapped(sentence)).collect();
        format!("{}\n\n{}", lines.join("\n"), table.to_text())
    }

    fn table(&self) -> Table {
        let mut table = Table::new(&[
            ("model", Align::Left),
            ("parameters", Align::Right),
            ("test error", Align::Right),
            ("standard error", Align::Right),
            ("runs", Align::Right),
        ]);
        for network in &self.networks {
            let per_cent =
                |value: Option<f64>| value.map_or("n/a".into(), |value| format!("{:.2} %", 100.0 * value));
            table.push([
                network.model.clone(),
                grouped(network.parameters),
                per_cent(network.test_error),
                per_cent(network.standard_error),
                network.test_errors.len().to_string(),
            ]);
        }
        table
    }

    fn summary(&self) -> (Vec<String>, Table) {
        let sentence = format!(
            "Mean test errors of {} after {} on {}.",
            counted(self.networks.len() as u64, "network"),
            counted(self.epochs, "epoch"),
            self.data
        );
        (vec![sentence], self.table())
    }

    fn figures(&self) -> Vec<(Cow<'static, str>, Figure)> {
        let point = |network: &Network| {
            let point = Point::new(network.parameters as f64, 100.0 * network.test_error?);
            let point = point.label(&network.model);
            Some(match network.standard_error {
                Some(error) => point.error(100.0 * error),
                None => point,
            })
        };
        let figure = Figure::new("Test errors of the networks")
            .x(Axis::log("parameters"))
            .y(Axis::linear("test error, %"))
            .with(Points::new("", self.networks.iter().filter_map(point)));
        vec![("sweep.svg".into(), figure)]
    }
}

impl Paged for SweepAnswer {
    fn page(&self, provenance: Provenance) -> Result<Page, Error> {
        let (sentences, table) = self.summary();
        let mut section = Section::new("Networks");
        for (_, figure) in self.figures() {
            section = section.figure(figure, "Means over the runs; bars are one standard error.");
        }
        let page = Page::new("Sweep")
            .verdict(sentences.concat())
            .section(section.table(table, "Every network, in the order of the request."));
        Ok(page.provenance(Provenance { seed: Some(self.seed), ..provenance }))
    }
}
