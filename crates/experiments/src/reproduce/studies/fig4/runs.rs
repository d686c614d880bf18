//! The recorded runs, setting by setting.

use std::collections::BTreeMap;

use crate::rank_correlation;
use crate::score::Table;
use collegial_arch::{Overrides, Spec};
use collegial_nn::Parametrisation;
use collegial_search::paper::{Exact, Variance as _};
use serde::Serialize;

use super::Study;
use crate::reproduce::Error;
use crate::reproduce::contrast::Contrast;

/// The study's runs.
pub(super) const RUNS: &str = "runs.csv";

/// Epochs whose test errors are recorded.
pub(super) const EPOCHS: [u32; 7] = [10, 20, 30, 40, 50, 60, 70];

/// The column of an epoch.
pub(super) fn epoch_column(epoch: u32) -> String {
    format!("test_error_{epoch}")
}

/// One design in one setting.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Cell {
    /// `7x45`.
    pub design: String,
    /// The exact variance of its kernel.
    pub variance: f64,
    /// Its cost: parameters.
    pub parameters: u64,
    /// m n.
    pub inner_width: usize,
    /// What is compared: the errors of its runs in per cent.
    pub scored: Vec<f64>,
    /// The same after single epochs.
    pub errors: BTreeMap<u32, Vec<f64>>,
}

/// All designs that were trained with one parametrisation, rate, batch and schedule.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Setting {
    /// "standard, rate 1e-3", and batch and schedule where they are varied.
    pub name: String,
    /// Whether batch or schedule are not those of the recipe; then only a few designs were trained.
    pub varied: bool,
    /// What the weights are.
    #[serde(skip)]
    pub parametrisation: Parametrisation,
    /// In the order of their variances.
    pub cells: Vec<Cell>,
}

/// The rank correlation over designs of equal cost.
pub(super) struct EqualCost {
    pub correlation: crate::Correlation,
    pub designs: usize,
}

impl Setting {
    /// A design's cell.
    pub(super) fn cell(&self, design: &str) -> Option<&Cell> {
        self.cells.iter().find(|cell| cell.design == design)
    }

    /// The contrast of two designs.
    pub(super) fn contrast(&self, first: &str, second: &str) -> Option<Contrast> {
        Contrast::of(&self.cell(first)?.scored, &self.cell(second)?.scored)
    }

    /// The same after one epoch.
    pub(super) fn contrast_after(&self, epoch: u32, first: &str, second: &str) -> Option<Contrast> {
        Contrast::of(self.cell(first)?.errors.get(&epoch)?, self.cell(second)?.errors.get(&epoch)?)
    }

    /// The rank correlation of variance and error over the designs of about the baseline's cost,
    /// with as many runs of each as all have.
    pub(super) fn primal_correlation(&self, baseline: &str, seed: u64) -> Option<EqualCost> {
        let baseline = self.cell(baseline)?.parameters as f64;
        let equal = |cell: &&Cell| (cell.parameters as f64 / baseline).ln().abs() < 0.06;
        let cells: Vec<&Cell> =
            self.cells.iter().filter(equal).filter(|cell| cell.scored.len() > 1).collect();
        let runs = cells.iter().map(|cell| cell.scored.len()).min()?;
        let variances: Vec<f64> = cells.iter().map(|cell| cell.variance).collect();
        let errors: Vec<Vec<f64>> = cells.iter().map(|cell| cell.scored[..runs].to_vec()).collect();
        Some(EqualCost { correlation: rank_correlation(&variances, &errors, seed)?, designs: cells.len() })
    }
}

/// One row of the table.
struct Recorded<'a> {
    table: &'a Table,
    row: usize,
}

impl<'a> Recorded<'a> {
    fn wrong(&self, column: &str) -> Error {
        Error::experiment(
            RUNS,
            format!("{column} of row {row} is missing or not what it should be", row = self.row + 1),
        )
    }

    fn text(&self, column: &str) -> Result<&'a str, Error> {
        self.table.get(self.row, column).ok_or_else(|| self.wrong(column))
    }

    /// A test error in per cent.
    fn error(&self, column: &str) -> Result<f64, Error> {
        let error: f64 = self.text(column)?.parse().map_err(|_| self.wrong(column))?;
        if (0.0..=1.0).contains(&error) { Ok(100.0 * error) } else { Err(self.wrong(column)) }
    }

    /// Its setting, without designs.
    fn setting(&self, study: &Study) -> Result<Setting, Error> {
        let parametrisation = self.text("parametrisation")?;
        let (batch, schedule) = (self.text("batch")?, self.text("schedule")?);
        let mut name = format!("{parametrisation}, rate {}", self.text("learning_rate")?);
        if batch != study.recipe.batch {
            name.push_str(&format!(", batch {batch}"));
        }
        if schedule != study.recipe.schedule {
            name.push_str(&format!(", divided by 10 after epochs {schedule}"));
        }
        let varied = batch != study.recipe.batch || schedule != study.recipe.schedule;
        let parametrisation =
            Parametrisation::named(parametrisation).ok_or_else(|| self.wrong("parametrisation"))?;
        Ok(Setting { name, varied, parametrisation, cells: vec![] })
    }
}

/// All runs, setting by setting.
///
/// # Errors
///
/// If the table is not what it should be.
pub(super) fn settings(table: &Table, study: &Study) -> Result<Vec<Setting>, Error> {
    let mut settings: Vec<Setting> = vec![];
    for row in 0..table.len() {
        let row = Recorded { table, row };
        let setting = row.setting(study)?;
        let at = settings.iter().position(|known| known.name == setting.name).unwrap_or_else(|| {
            settings.push(setting);
            settings.len() - 1
        });
        let prefix = format!("{}-", study.family);
        let design = row.text("model")?.strip_prefix(&prefix).ok_or_else(|| row.wrong("model"))?;
        let cells = &mut settings[at].cells;
        let at = match cells.iter().position(|cell| cell.design == design) {
            Some(at) => at,
            None => {
                cells.push(cell(design, study)?);
                cells.len() - 1
            }
        };
        cells[at].scored.push(row.error(&study.error)?);
        for epoch in EPOCHS {
            cells[at].errors.entry(epoch).or_default().push(row.error(&epoch_column(epoch))?);
        }
    }
    for setting in &mut settings {
        setting.cells.sort_by(|a, b| a.variance.total_cmp(&b.variance));
    }
    // The recipe as it is comes first.
    let as_is = Parametrisation::default();
    settings.sort_by_key(|setting| (setting.varied, setting.parametrisation != as_is, setting.name.clone()));
    Ok(settings)
}

/// A design without runs.
fn cell(design: &str, study: &Study) -> Result<Cell, Error> {
    let spec: Spec = format!("{}-{design}", study.family).parse()?;
    let sizes =
        Overrides { inputs: Some(study.inputs), outputs: Some(study.outputs), ..Overrides::default() };
    let spec = spec.with(&sizes)?;
    let module = spec.analysed_module()?;
    let members = module.members();
    Ok(Cell {
        design: design.to_owned(),
        variance: Exact.of(&module)?.value / members as f64,
        parameters: spec.totals()?.parameters,
        inner_width: members * module.width()?,
        scored: vec![],
        errors: BTreeMap::new(),
    })
}
