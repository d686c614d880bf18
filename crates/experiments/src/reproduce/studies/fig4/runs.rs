//! Runs by the paper's recipe that were made before and are kept in `evidence/fig4-runs.csv`: 70
//! epochs on all of MNIST.

use std::collections::BTreeMap;

use crate::rank_correlation;
use crate::score::Table;
use collegial_arch::{Overrides, Spec};
use collegial_nn::Parametrisation;
use collegial_search::paper::{Exact, Variance as _};
use serde::Serialize;

use crate::reproduce::Error;
use crate::reproduce::contrast::Contrast;
use crate::reproduce::error::Misfit;

const CSV: &str = include_str!("../../../../evidence/fig4-runs.csv");

/// The mean over the last ten epochs, which is what is compared: a constant rate leaves single
/// epochs noisy.
pub(super) const SCORED: &str = "test_error_61_to_70";

/// Batch and schedule of the recipe.
const RECIPE: (&str, &str) = ("128", "constant");

/// Epochs whose test errors are kept.
pub(super) const EPOCHS: [u32; 7] = [10, 20, 30, 40, 50, 60, 70];

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
    /// By column, the errors of its runs in per cent.
    pub errors: BTreeMap<String, Vec<f64>>,
}

impl Cell {
    /// What is compared.
    pub(super) fn scored(&self) -> &[f64] {
        &self.errors[SCORED]
    }
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

impl Setting {
    /// A design's cell.
    pub(super) fn cell(&self, design: &str) -> Option<&Cell> {
        self.cells.iter().find(|cell| cell.design == design)
    }

    /// The contrast of two designs in one column.
    pub(super) fn contrast(&self, first: &str, second: &str, column: &str) -> Option<Contrast> {
        Contrast::of(self.cell(first)?.errors.get(column)?, self.cell(second)?.errors.get(column)?)
    }

    /// The rank correlation of variance and error over the designs of about the baseline's cost,
    /// with as many runs of each as all have.
    pub(super) fn primal_correlation(&self, seed: u64) -> Option<(crate::Correlation, usize)> {
        let baseline = self.cell("1x200")?.parameters as f64;
        let equal = |cell: &&Cell| (cell.parameters as f64 / baseline).ln().abs() < 0.06;
        let cells: Vec<&Cell> =
            self.cells.iter().filter(equal).filter(|cell| cell.scored().len() > 1).collect();
        let runs = cells.iter().map(|cell| cell.scored().len()).min()?;
        let variances: Vec<f64> = cells.iter().map(|cell| cell.variance).collect();
        let errors: Vec<Vec<f64>> = cells.iter().map(|cell| cell.scored()[..runs].to_vec()).collect();
        Some((rank_correlation(&variances, &errors, seed)?, cells.len()))
    }
}

/// All runs, setting by setting.
///
/// # Errors
///
/// If the file is not what it should be.
pub(super) fn settings() -> Result<Vec<Setting>, Error> {
    let table = Table::from_csv(CSV.as_bytes())?;
    let wrong = |column: &str| {
        Error::experiment("evidence/fig4-runs.csv", Misfit::Cell { column: column.to_owned() })
    };
    let mut settings: Vec<Setting> = vec![];
    for row in 0..table.len() {
        let text = |column: &str| table.get(row, column).ok_or_else(|| wrong(column));
        let parametrisation = text("parametrisation")?;
        let (batch, schedule) = (text("batch")?, text("schedule")?);
        let mut name = format!("{parametrisation}, rate {}", text("learning_rate")?);
        if batch != RECIPE.0 {
            name.push_str(&format!(", batch {batch}"));
        }
        if schedule != RECIPE.1 {
            name.push_str(&format!(", divided by 10 after epochs {schedule}"));
        }
        let varied = (batch, schedule) != RECIPE;
        let parametrisation =
            Parametrisation::named(parametrisation).ok_or_else(|| wrong("parametrisation"))?;
        let design = text("model")?.trim_start_matches("fc6-").to_owned();
        let at = settings.iter().position(|setting| setting.name == name).unwrap_or_else(|| {
            settings.push(Setting { name, varied, parametrisation, cells: vec![] });
            settings.len() - 1
        });
        let cells = &mut settings[at].cells;
        let at = match cells.iter().position(|cell| cell.design == design) {
            Some(at) => at,
            None => {
                cells.push(cell(design)?);
                cells.len() - 1
            }
        };
        for column in EPOCHS.map(|epoch| format!("test_error_{epoch}")).into_iter().chain([SCORED.to_owned()])
        {
            let error: f64 = text(&column)?.parse().map_err(|_| wrong(&column))?;
            cells[at].errors.entry(column).or_default().push(100.0 * error);
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

fn cell(design: String) -> Result<Cell, Error> {
    let spec: Spec = format!("fc6-{design}").parse()?;
    let mnist = Overrides { inputs: Some(784), outputs: Some(10), ..Overrides::default() };
    let spec = spec.with(&mnist)?;
    let module = spec.analysed_module()?;
    let members = module.members();
    Ok(Cell {
        design,
        variance: Exact.of(&module)?.value / members as f64,
        parameters: spec.graph()?.counts()?.total.parameters,
        inner_width: members * module.width()?,
        errors: BTreeMap::new(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kept_runs_are_whole() {
        let settings = settings().unwrap();
        assert!(settings.len() >= 3);
        assert_eq!(settings[0].name, "standard, rate 1e-3");
        let optimum = settings[0].cell("7x45").unwrap();
        // The counts and the variance of the paper's primal optimum as `search` has them.
        assert_eq!((optimum.parameters, optimum.inner_width), (306_810, 315));
        assert!((optimum.variance - 0.0656).abs() < 5e-5, "{}", optimum.variance);
        assert!(
            optimum.scored().len() >= 5 && optimum.scored().iter().all(|error| (1.0..4.0).contains(error))
        );
    }
}
