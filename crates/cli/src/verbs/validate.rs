//! `collegial validate`: does the variance rank trained test errors?

use std::num::{NonZeroU32, NonZeroUsize};
use std::path::{Path, PathBuf};

use clap::Args;
use collegial_arch::{Cost, Spec};
use collegial_report::Provenance;
use collegial_search::Search;
use collegial_train::data::Dataset;
use collegial_train::recipe::{self, Recipe};
use collegial_train::{Data, Error, spec_for};
use collegial_trials::validate::{Question, Verdict};
use collegial_trials::{Context, Parts};

use crate::arguments::{Common, Format, Model};
use crate::failure::Failure;
use crate::output::{print, print_json, to_json, write_figure, write_file};
use crate::terminal;
use crate::verbs::reproduce::Watch;
use crate::verbs::search::CostName;

/// Train designs of equal cost and see whether the predicted variance ranks their test errors
///
/// Takes designs from the primal curve of MODEL, from the baseline to very thin members, the predicted optimum among them, trains each
/// several times by the recipe of the data set, and gives the rank correlation between predicted variance and mean test error. An
/// interrupted validation goes on with the same command. Exit 1: the prediction is contradicted.
#[derive(Args)]
pub struct Validate {
    #[command(flatten)]
    model: Model,
    /// Directory of the data set
    #[arg(long, value_name = "DIR")]
    data: PathBuf,
    /// Designs to train, the baseline included
    #[arg(long, value_name = "COUNT", default_value_t = 8, value_parser = designs)]
    designs: usize,
    /// Trainings of every design
    #[arg(long, value_name = "COUNT", default_value = "5")]
    runs: NonZeroU32,
    /// Epochs of every training [default: the recipe's]
    #[arg(long, value_name = "COUNT")]
    epochs: Option<NonZeroU32>,
    /// Train on the first images only
    #[arg(long, value_name = "IMAGES")]
    limit: Option<NonZeroUsize>,
    /// What is kept equal
    #[arg(long, value_enum, default_value_t = CostName::Params)]
    cost: CostName,
    /// Also train designs of equal variance, on the dual curve
    #[arg(long)]
    dual: bool,
    /// Change the recipe: learning_rate=0.05, batch=64, schedule.milestones=[5,8]
    #[arg(long, value_name = "KEY=VALUE")]
    set: Vec<String>,
    /// Where the page, figures, data and finished runs go [default: runs/validate-MODEL-DATA]
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
}

fn designs(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(count) if (3..=100).contains(&count) => Ok(count),
        _ => Err("it must be a number between 3 and 100".into()),
    }
}

/// Runs the verb.
pub fn run(verb: &Validate, common: &Common) -> Result<(), Failure> {
    let dataset = Dataset::open(&verb.data).map_err(Error::from)?;
    let baseline = spec_for(&Spec::load(&verb.model.model)?, &verb.model.overrides(), &dataset)?;
    let search = search(verb, &baseline)?;
    let recipe = recipe(verb, &dataset)?;
    let out = verb.out.clone().unwrap_or_else(|| {
        Path::new("runs").join(format!("validate-{}-{}", baseline.name(), recipe::name_for(&dataset)))
    });
    let data = Data::new(dataset, &recipe)?;
    let parts = Parts::open(out.join("parts"))?;
    let watch = Watch::new(common);
    let question = Question {
        baseline: &baseline,
        search: &search,
        data: &data,
        recipe: &recipe,
        designs: verb.designs,
        runs: verb.runs.get(),
        dual: verb.dual,
    };
    let context = Context { seed: common.seed, parts: &parts, monitor: &watch };
    let validation = question.answer(&context)?;
    drop(watch);
    for (name, figure) in validation.figures() {
        write_figure(&out.join(name), &figure)?;
    }
    let provenance = Provenance {
        command: terminal::command_line(),
        seed: Some(common.seed),
        version: format!("collegial {}", env!("CARGO_PKG_VERSION")),
    };
    write_file(&out.join("validation.json"), &format!("{}\n", to_json(&validation)?))?;
    write_file(&out.join("validation.html"), &validation.page(provenance).to_html())?;
    match common.format() {
        Format::Json => print_json(&validation)?,
        Format::Csv => print(&validation.primal.table().to_csv())?,
        Format::Table => {
            let mut text = format!(
                "{}\n\n{}",
                terminal::bold(&validation.sentence),
                validation.primal.table().to_text()
            );
            if let (Some(dual), Some(sentence)) = (&validation.dual, validation.dual_sentence()) {
                text.push_str(&format!("\n{sentence}\n\n{}", dual.table().to_text()));
            }
            print(&text)?;
        }
    }
    common.say(&format!("page: {}", out.join("validation.html").display()));
    match validation.verdict {
        Verdict::Contradicted => Err(Failure::No(validation.sentence)),
        Verdict::Held | Verdict::Undecided => Ok(()),
    }
}

fn search(verb: &Validate, baseline: &Spec) -> Result<Search, Failure> {
    let search = Search::new(baseline.clone());
    let cost = match verb.cost {
        CostName::Params => Cost::Params,
        CostName::Flops => Cost::Flops,
        CostName::Activations => Cost::Activations,
        CostName::Time => {
            let sentence = "designs are compared at a cost that stays the same from run to run; take params, flops or activations";
            return Err(Failure::User(sentence.into()));
        }
    };
    Ok(search.cost(cost))
}

fn recipe(verb: &Validate, dataset: &Dataset) -> Result<Recipe, Failure> {
    let mut changes = verb.set.clone();
    changes.extend(verb.limit.map(|limit| format!("limit={limit}")));
    changes.extend(verb.epochs.map(|epochs| format!("epochs={epochs}")));
    let mut recipe = Recipe::build(recipe::text(recipe::name_for(dataset)).unwrap_or_default(), &changes)?;
    let usual = Recipe::for_dataset(dataset)?;
    if !verb.set.iter().any(|change| change.starts_with("schedule")) {
        // A shorter training divides its rate after the same shares of it.
        let share = f64::from(recipe.epochs) / f64::from(usual.epochs);
        recipe.schedule.milestones.iter_mut().for_each(|milestone| *milestone *= share);
    }
    let images = dataset.train().len();
    Ok(recipe.clone().fitted(recipe.limit.map_or(images, |limit| limit.min(images))))
}
