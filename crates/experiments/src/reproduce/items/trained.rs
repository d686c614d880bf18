//! The error columns of the paper's tables, trained by its recipes: the jobs of a plan.

use crate::{Training, mean, standard_error, train_all};
use collegial_arch::{Overrides, Spec};
use collegial_core::Interval;
use collegial_train::data::Kind;
use collegial_train::{Builtin, Data, spec_for};
use serde::{Deserialize, Serialize};

use crate::reproduce::images;
use crate::reproduce::published::Number;
use crate::reproduce::{Comparison, Context, Error, Verdict};

/// A column of test errors, and what it is trained on.
#[derive(Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct ErrorColumn {
    /// In `paper/tables.json`.
    column: String,
    kind: Kind,
    recipe: Builtin,
}

/// The errors of one network in one column.
pub struct Cell {
    column: String,
    model: String,
    /// In per cent, one per run.
    errors: Vec<f64>,
}

/// Every network trained for every column whose data set is there; what is not finished is left
/// out.
pub fn train(
    name: &str,
    columns: &[ErrorColumn],
    specs: &[Spec],
    runs: u32,
    context: &Context,
) -> Result<Vec<Cell>, Error> {
    let mut cells = vec![];
    for ErrorColumn { column, kind, recipe } in columns {
        let Some(dataset) = images::open(context, *kind, None)? else {
            context.monitor.say(&format!("{name}: there is no {} under the data directory", kind.title()));
            continue;
        };
        let recipe = recipe.with(&[])?;
        let mut networks: Vec<Spec> = vec![];
        for spec in specs {
            let bare = spec.with(&Overrides { classes: Some(dataset.classes()), ..Overrides::default() })?;
            let spec = spec_for(&bare, &Overrides::default(), &dataset)?;
            if !networks.contains(&spec) {
                networks.push(spec);
            }
        }
        let classes = dataset.classes();
        let data = Data::new(dataset, &recipe)?;
        let training = Training { name, data: &data, recipe: &recipe, runs };
        let trained = train_all(&training, &networks, context)?;
        for (spec, runs) in networks.iter().zip(trained) {
            let known = runs.iter().filter(|run| !run.test_errors.is_empty());
            let errors = known.map(|run| 100.0 * run.test_error(classes)).collect();
            cells.push(Cell { column: column.clone(), model: spec.name(), errors });
        }
    }
    Ok(cells)
}

/// A published error beside the mean of our runs, with Student's 95 % interval; open with fewer
/// than two runs.
pub fn compare(what: String, published: Number, column: &str, model: &str, cells: &[Cell]) -> Comparison {
    let cell = cells.iter().find(|cell| cell.column == column && cell.model == model);
    let errors = cell.map_or(&[][..], |cell| &cell.errors);
    let Some(error) = standard_error(errors) else {
        return Comparison::open(what, published, Verdict::NotRun("fewer than two runs are finished".into()));
    };
    let mean = mean(errors.iter().copied());
    let Interval { low, high } = Interval::student(mean, error, errors.len() as f64 - 1.0, 0.95);
    Comparison::measured(what, published, mean, [low, high])
}
