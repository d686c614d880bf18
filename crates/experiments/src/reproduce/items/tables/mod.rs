//! Tables 1 to 5 of the paper: exact columns, designs found by the search, and errors that need
//! training.

mod designs;

use collegial_arch::Spec;
use collegial_report::{Align, Section, Table, duration, grouped};
use collegial_train::Builtin;
use serde::Deserialize;
use serde_json::{Value, json};

use self::designs::Designs;
use super::timing::{self, Timing};
use super::trained::{self, ErrorColumn};
use crate::reproduce::published::{self, Number};
use crate::reproduce::{Comparison, Context, Error, Experiment, Outcome, Share, Verdict};

/// The settings of a table's experiment.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Settings {
    classes: usize,
    /// The recipe of the errors, by name.
    recipe: Builtin,
    /// The data set, in words.
    data: String,
    /// Its training images.
    images: u64,
    repetitions: u32,
    tables: Vec<Part>,
    designs: Vec<Designs>,
    /// Published values that are known to differ, and why.
    #[serde(default)]
    known: Vec<Known>,
    /// What the columns of errors are trained on.
    #[serde(default)]
    errors: Vec<ErrorColumn>,
    /// How first steps are timed; without it nothing is.
    timing: Option<Timing>,
}

/// One of the tables that a published table is made of.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Part {
    /// In `paper/tables.json`.
    id: String,
    caption: String,
    /// The model of a row that prints its design only.
    family: String,
    groups: Vec<Group>,
}

/// Rows that share a baseline.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Group {
    baseline: String,
    rows: usize,
}

/// A published value that is known to differ.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Known {
    row: String,
    column: String,
    why: String,
}

/// One row: the published cells and the network's own counts.
struct Row {
    name: String,
    spec: Spec,
    /// Whether the paper trained it by another recipe.
    other_recipe: bool,
    parameters: u64,
    /// Column, published, obtained.
    exact: Vec<(&'static str, Number, f64)>,
    /// Column and published error.
    errors: Vec<(String, Number)>,
}

/// Runs a table's experiment.
pub fn run(experiment: &Experiment, context: &Context) -> Result<Outcome, Error> {
    let settings: Settings = experiment.settings(context.scale)?;
    let mut outcome = Outcome { counted: true, ..Outcome::default() };
    let (mut data, mut specs) = (vec![], vec![]);
    for part in &settings.tables {
        let rows = rows(part, settings.classes)?;
        for row in &rows {
            specs.push(row.spec.clone());
            data.push(json!({"table": part.id, "row": row.name, "model": row.spec.name(), "parameters": row.parameters,
                "exact": row.exact.iter().map(|(column, _, value)| (*column, *value)).collect::<Vec<_>>()}));
        }
        outcome.comparisons.extend(rows.iter().flat_map(|row| exact_comparisons(row, &settings.known)));
        outcome.tables.push((table(&rows, &settings.known), part.caption.clone()));
    }
    let (section, found) = designs::find(&settings.designs)?;
    outcome.comparisons.extend(found);
    outcome.sections.push(section);
    let counted = outcome.comparisons.len();
    let differing: Vec<String> = outcome
        .comparisons
        .iter()
        .filter_map(|row| match &row.verdict {
            Verdict::Differs(why) => Some(format!(" {} differs: {why}.", row.what)),
            _ => None,
        })
        .collect();
    let errors = errors(experiment.name(), &settings, &specs, context)?;
    for part in &settings.tables {
        for row in rows(part, settings.classes)? {
            let compare = |(column, published): &(String, Number)| {
                let what = format!("{}: {}", row.name, heading(column));
                errors.compare(what, *published, column, &row)
            };
            outcome.comparisons.extend(row.errors.iter().map(compare));
        }
    }
    outcome.sentence = format!(
        "{} of {counted} exact values and designs come out as printed.{} {}",
        counted - differing.len(),
        differing.concat(),
        errors.sentence
    );
    outcome.sections.extend(errors.section);
    outcome.data = json!({"rows": data, "durations": errors.durations});
    Ok(outcome)
}

fn rows(part: &Part, classes: usize) -> Result<Vec<Row>, Error> {
    let table = published::table(&part.id)?;
    let baselines: Vec<&str> = part
        .groups
        .iter()
        .flat_map(|group| std::iter::repeat_n(group.baseline.as_str(), group.rows))
        .collect();
    if baselines.len() != table.rows().len() {
        let (grouped, printed) = (baselines.len(), table.rows().len());
        return Err(Error::experiment(
            &*part.id,
            format!("it has {printed} rows, but {grouped} are in groups"),
        ));
    }
    let mut rows = vec![];
    for (row, baseline) in table.rows().zip(baselines) {
        let spec = published::network(&part.family, row.model(), classes)?;
        let counts = spec.totals()?;
        let base = published::network(&part.family, baseline, classes)?.totals()?;
        let obtained = [
            ("params_M", counts.parameters as f64 / 1e6),
            ("GFLOPs", counts.flops as f64 / 1e9),
            ("rho", base.parameters as f64 / counts.parameters as f64),
        ];
        let exact =
            obtained.into_iter().filter_map(|(column, value)| Some((column, row.number(column)?, value)));
        let errors = table.columns().iter().filter(|column| column.ends_with("_error"));
        let errors = errors.filter_map(|column| Some((column.clone(), row.number(column)?)));
        rows.push(Row {
            name: row.name().to_owned(),
            spec,
            other_recipe: row.recipe().is_some(),
            parameters: counts.parameters,
            exact: exact.collect(),
            errors: errors.collect(),
        });
    }
    Ok(rows)
}

fn exact_comparisons(row: &Row, known: &[Known]) -> Vec<Comparison> {
    let compare = |&(column, published, value): &(&str, Number, f64)| {
        let comparison = Comparison::exact(format!("{}: {}", row.name, heading(column)), published, value);
        match known.iter().find(|known| known.row == row.name && known.column == column) {
            Some(known) => comparison.explain(&known.why),
            None => comparison,
        }
    };
    row.exact.iter().map(compare).collect()
}

/// A column's name for people.
fn heading(column: &str) -> String {
    match column {
        "params_M" => "parameters, millions".into(),
        "top1_error" => "top-1 error, %".into(),
        "top5_error" => "top-5 error, %".into(),
        "C10_error" => "CIFAR-10 error, %".into(),
        "C100_error" => "CIFAR-100 error, %".into(),
        other => other.into(),
    }
}

/// The table as the paper has it: every exact column counted here and as printed, errors as printed.
fn table(rows: &[Row], known: &[Known]) -> Table {
    let mut exact: Vec<&str> = vec![];
    let mut errors: Vec<&str> = vec![];
    for row in rows {
        let new = |column: &&str, known: &Vec<&str>| !known.contains(column);
        exact.extend(
            row.exact.iter().map(|cell| cell.0).filter(|column| new(column, &exact)).collect::<Vec<_>>(),
        );
        errors.extend(
            row.errors
                .iter()
                .map(|cell| cell.0.as_str())
                .filter(|column| new(column, &errors))
                .collect::<Vec<_>>(),
        );
    }
    let mut headings = vec![("model".to_owned(), Align::Left), ("parameters (counted)".into(), Align::Right)];
    for column in &exact {
        // The exact count of parameters is there already.
        if *column != "params_M" {
            headings.push((format!("{column} (counted)"), Align::Right));
        }
        let name = if *column == "params_M" { "millions" } else { column };
        headings.push((format!("{name} (paper)"), Align::Right));
    }
    let short =
        |column: &str| format!("{}, % (paper)", column.trim_end_matches("_error").replace("top", "top-"));
    headings.extend(errors.iter().map(|column| (short(column), Align::Right)));
    headings.push(("counts".into(), Align::Left));
    let headings: Vec<(&str, Align)> = headings.iter().map(|(name, align)| (name.as_str(), *align)).collect();
    let copied = (0..headings.len()).filter(|&column| headings[column].0.ends_with("(paper)"));
    let mut table = Table::new(&headings).copied(copied, "copied from the paper; all else is counted here");
    for row in rows {
        let mut cells = vec![row.name.clone(), grouped(row.parameters)];
        for column in &exact {
            let cell = row.exact.iter().find(|cell| cell.0 == *column);
            if *column != "params_M" {
                let digits = |published: &Number| published.decimals.max(1) + 1;
                cells.push(
                    cell.map_or(String::new(), |(_, published, value)| {
                        format!("{value:.*}", digits(published))
                    }),
                );
            }
            cells.push(cell.map_or("-".into(), |(_, published, _)| published.printed()));
        }
        for column in &errors {
            let cell = row.errors.iter().find(|cell| cell.0 == *column);
            cells.push(cell.map_or("-".into(), |(_, published)| published.printed()));
        }
        let differs = |row: &Comparison| matches!(row.verdict, Verdict::Differs(_));
        let differing = exact_comparisons(row, known).into_iter().find(differs);
        let column = |row: Comparison| row.what.rsplit(": ").next().unwrap_or_default().to_owned();
        cells.push(differing.map_or("counts reproduced".into(), |row| format!("differs: {}", column(row))));
        table.push_row(cells);
    }
    table
}

/// What the error columns come to.
struct Errors {
    sentence: String,
    trainings: Trainings,
    section: Option<Section>,
    durations: Value,
}

/// The trainings behind a column.
enum Trainings {
    /// None, for this reason.
    Open(Verdict),
    /// What the jobs of a plan have finished.
    Trained(Vec<trained::Cell>),
}

impl Errors {
    fn compare(&self, what: String, published: Number, column: &str, row: &Row) -> Comparison {
        match &self.trainings {
            Trainings::Open(verdict) => Comparison::open(what, published, verdict.clone()),
            Trainings::Trained(_) if row.other_recipe => {
                let why = "the paper does not say how its recipe for one GPU differs";
                Comparison::open(what, published, Verdict::NotRun(why.into()))
            }
            Trainings::Trained(cells) => trained::compare(what, published, column, &row.spec.name(), cells),
        }
    }
}

/// The jobs of a plan train; a whole table in one process takes months, so that below paper scale
/// it is said what it would take, and at paper scale the first steps are timed.
fn errors(name: &str, settings: &Settings, specs: &[Spec], context: &Context) -> Result<Errors, Error> {
    let recipe = settings.recipe.with(&[])?;
    let (runs, epochs, images) = (settings.repetitions, recipe.epochs, grouped(settings.images));
    if !matches!(context.share, Share::All) {
        let cells = trained::train(name, &settings.errors, specs, runs, context)?;
        return Ok(Errors {
            sentence: "The errors are those of the jobs that are finished.".into(),
            trainings: Trainings::Trained(cells),
            section: None,
            durations: Value::Null,
        });
    }
    let needs = format!(
        "{runs} runs of {epochs} epochs over the {images} images of {} for every model",
        settings.data
    );
    let untrained = |needs: &str| format!("The errors were not trained, which takes {needs}.");
    let Some(timing) = &settings.timing else {
        let verdict = Verdict::NotAtThisScale(needs.clone());
        return Ok(Errors {
            sentence: untrained(&needs),
            trainings: Trainings::Open(verdict),
            section: None,
            durations: Value::Null,
        });
    };
    let images = settings.images * u64::from(epochs) * u64::from(runs);
    let durations = timing::durations(name, specs, timing, images, context)?;
    let total: f64 = durations.iter().map(|duration| duration.seconds).sum();
    let needs = format!("{needs}, about {} on this machine for all models", duration(total));
    let section = Some(timing::section(&durations, settings.recipe, runs));
    Ok(Errors {
        sentence: untrained(&needs),
        trainings: Trainings::Open(Verdict::NotRun(needs)),
        section,
        durations: json!(durations),
    })
}
