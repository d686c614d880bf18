//! `ntk --regress`: how well the kernel itself predicts the classes of a data set.

use std::path::{Path, PathBuf};
use std::time::Instant;

use collegial_core::Interval;
use collegial_nn::{NormPolicy, Parametrisation};
use collegial_ntk::regression::{Predictor, Ridge};
use collegial_report::{Align, Table, significant};
use collegial_train::data::{Dataset, Part};
use collegial_train::{Error as TrainError, spec_for};
use serde::Serialize;

use super::tiled::Problem;
use super::{Request, check_memory, inputs_twice, network};
use crate::message::{invalid, option};
use crate::{Answer, Error, Monitor};

/// Training images where nothing else is said.
pub const COUNT: usize = 1000;

/// How well a kernel predicts, and how that came about.
#[derive(Clone, Debug, Serialize)]
pub struct RegressAnswer {
    /// The network's name.
    pub model: String,
    /// How many training images.
    pub inputs: usize,
    /// How many test images.
    pub test_inputs: usize,
    /// Where they come from.
    pub input: String,
    /// Where the weights come from.
    pub weights: String,
    /// What gradients were taken by.
    pub parametrisation: Parametrisation,
    /// What became of batch norms.
    pub norm: NormPolicy,
    /// Whose kernel it is.
    pub readout: String,
    /// What was added to the kernel's diagonal.
    pub ridge: f64,
    /// Share of training images whose class is not predicted from the others.
    pub leave_one_out_error: f64,
    /// Share of test images whose class is not predicted.
    pub test_error: f64,
    /// Where the error on other test images lies, 95 %.
    pub test_error_ci: [f64; 2],
    /// All ridges that were tried.
    pub ridges: Vec<Ridge>,
    /// The .npy file of the kernel: a row per image, training images first, a column per training
    /// image.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<PathBuf>,
    /// How long it took.
    pub seconds: f64,
}

/// Computes the kernel, chooses the ridge and predicts the test images.
///
/// # Errors
///
/// As [`tiled::run`](super::tiled::run), and where there is no data set to learn from.
pub fn run(request: &Request, monitor: &dyn Monitor) -> Result<RegressAnswer, Error> {
    let directory = data_directory(request)?;
    let (spec, given) = network(request, monitor)?;
    let dataset = Dataset::open(directory).map_err(TrainError::from)?;
    let spec = spec_for(&spec, &request.model.overrides(), &dataset)?;
    let count = request.count.unwrap_or(COUNT);
    let tested = request.test_count.unwrap_or(count).min(dataset.test().len());
    // The kernel, and a copy of it in each of the factors.
    check_memory(count + tested, 2 * count, spec.graph()?.input_shape().elements())?;
    let images = |part, count| dataset.first(part, count).map_err(TrainError::from);
    let mut inputs = images(Part::Train, count)?;
    inputs.extend(images(Part::Test, tested)?);
    let labels = |part: Part, count: usize| -> Vec<usize> {
        let label = |index| dataset.split(part).label(index);
        (0..count).filter_map(label).map(usize::from).collect()
    };
    let (train, test) = (labels(Part::Train, count), labels(Part::Test, tested));
    let (classes, start) = (dataset.classes(), Instant::now());
    drop(dataset);
    let problem = Problem::new(request, spec, given, inputs, Some(count))?;
    let (values, plan, _) = problem.solve(monitor)?;
    let values = match (values, &request.out) {
        (Some(values), _) => values,
        (None, Some(path)) => problem.open(path, &plan)?.rows(0..plan.shape().0)?,
        (None, None) => return Err(Error::Interrupted),
    };
    let predictor = Predictor::fit(&values[..count * count], &train, classes, monitor)?;
    let rows = values[count * count..].chunks_exact(count);
    let errors = rows.zip(&test).filter(|(row, label)| predictor.class(row) != **label).count();
    let interval = Interval::wilson(errors as u64, tested as u64, 0.95);
    Ok(RegressAnswer {
        model: problem.spec.name(),
        inputs: count,
        test_inputs: tested,
        input: format!("the first training and test images of {}", directory.display()),
        weights: problem.source.clone(),
        parametrisation: problem.options.parametrisation,
        norm: problem.options.norm,
        readout: problem.readout(),
        ridge: predictor.best.ridge,
        leave_one_out_error: predictor.best.leave_one_out_error,
        test_error: errors as f64 / tested as f64,
        test_error_ci: [interval.low, interval.high],
        ridges: predictor.tried,
        file: request.out.clone(),
        seconds: start.elapsed().as_secs_f64(),
    })
}

/// The directory of the labelled images, where the request is one for a regression.
fn data_directory(request: &Request) -> Result<&Path, Error> {
    let directory = request
        .data
        .as_ref()
        .ok_or_else(|| invalid![option("regress"), " needs labelled images: give their ", option("data")])?;
    if request.input.is_some() || request.array.is_some() {
        return Err(inputs_twice());
    }
    if request.full || request.diagonal || request.tiles.is_some() {
        return Err(invalid![
            option("regress"),
            " takes the whole kernel of one output or of their sum: leave out ",
            option("full"),
            ", ",
            option("diagonal"),
            " and ",
            option("tiles")
        ]
        .into());
    }
    Ok(directory)
}

impl RegressAnswer {
    /// One row per ridge.
    fn rows(&self, number: impl Fn(f64) -> String) -> Table {
        let columns = ["ridge", "leave-one-out error", "squared error"].map(|name| (name, Align::Right));
        let mut table = Table::new(&columns);
        for ridge in &self.ridges {
            let row = [ridge.ridge, ridge.leave_one_out_error, ridge.squared_error];
            table.push_row(row.map(&number).to_vec());
        }
        table
    }
}

impl Answer for RegressAnswer {
    fn seconds(&self) -> Option<f64> {
        Some(self.seconds)
    }

    fn table(&self) -> Table {
        self.rows(|value| value.to_string())
    }

    fn summary(&self) -> (Vec<String>, Table) {
        let per_cent = |share: f64| format!("{:.2} %", 100.0 * share);
        let [low, high] = self.test_error_ci.map(|share| 100.0 * share);
        let sentence = format!(
            "{}: the kernel of {} at {} training images errs on {} of {} test images (95 %: {low:.2} to {high:.2}); ridge {} \
             by leave-one-out, which errs on {}",
            self.model,
            self.readout,
            self.inputs,
            per_cent(self.test_error),
            self.test_inputs,
            significant(self.ridge, 3),
            per_cent(self.leave_one_out_error)
        );
        (vec![sentence], self.rows(|value| significant(value, 4)))
    }
}
