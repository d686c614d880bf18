//! `ntk` over initialisations: mean and variance of the kernel of a whole network.

use std::ops::Range;
use std::time::Instant;

use collegial_arch::Spec;
use collegial_nn::{NormPolicy, Parametrisation, memory};
use collegial_ntk::NetworkDraws;
use collegial_ntk::draws::{DrawStatistics, EntryStatistics};
use collegial_report::{Align, Table, duration, significant};
use serde::Serialize;

use crate::message::{invalid, option};
use crate::ntk::{self, Request};
use crate::{Answer, Error, Monitor};

/// Draws where nothing else is said.
pub const DRAWS: u64 = 100;

/// Seconds from which on the time is said beforehand.
const WORTH_SAYING: f64 = 60.0;

/// Inputs where nothing else is said. The entries of a draw move together: more inputs take longer
/// and hardly narrow the errors.
pub const COUNT: usize = 2;

/// Mean and variance of a network's kernel, with the settings of the draws.
#[derive(Clone, Debug, Serialize)]
pub struct DrawsAnswer {
    /// The network's name.
    pub model: String,
    /// How many inputs.
    pub inputs: usize,
    /// Where they come from.
    pub input: String,
    /// What gradients were taken by.
    pub parametrisation: Parametrisation,
    /// What became of batch norms.
    pub norm: NormPolicy,
    /// Whose kernel it is.
    pub readout: String,
    /// How many initialisations; the first has the seed, the next one more, and so on.
    pub draws: u64,
    /// The mean of K(x, x).
    pub mean: f64,
    /// Its standard error.
    pub mean_standard_error: f64,
    /// The variance of K(x, x) over its mean squared.
    pub variance: f64,
    /// The standard error of that.
    pub standard_error: f64,
    /// The same of the entries between different inputs.
    pub off_diagonal: Option<EntryStatistics>,
    /// How long it took.
    pub seconds: f64,
}

/// Draws the network of a request as often as it says.
///
/// # Errors
///
/// Where network and inputs do not belong together, weights or tiles are asked for, there are fewer
/// than two draws, or the monitor stopped it.
pub fn run(request: &Request, monitor: &dyn Monitor) -> Result<DrawsAnswer, Error> {
    if request.is_tiled() {
        return Err(invalid![
            option("draws"),
            " gives a mean and a variance, not a kernel; leave it out, or ",
            option("out"),
            ", ",
            option("memory"),
            ", ",
            option("full"),
            " and ",
            option("diagonal")
        ]
        .into());
    }
    let draws = request.draws.unwrap_or(DRAWS);
    let (spec, given) = ntk::network(request, monitor)?;
    if given.is_some() {
        return Err(invalid!["draws have weights of their own; leave the given ones out"].into());
    }
    of_spec(request, &spec, draws, monitor)
}

/// Draws a network as often as a request says, whatever its model.
pub(crate) fn of_spec(
    request: &Request,
    spec: &Spec,
    draws: u64,
    monitor: &dyn Monitor,
) -> Result<DrawsAnswer, Error> {
    let Batch { spec, inputs, input, others } = batch(request, spec)?;
    let options = ntk::options(request, None);
    let start = Instant::now();
    let network = NetworkDraws::in_batch(&spec.graph()?, options, &inputs, &others)?;
    check_memory(draws, inputs.len())?;
    let kernels = kernels(&network, request.seed..request.seed.saturating_add(draws), monitor)?;
    let statistics = DrawStatistics::of(&kernels)?;
    Ok(DrawsAnswer {
        model: spec.name(),
        inputs: inputs.len(),
        input,
        parametrisation: options.parametrisation,
        norm: options.norm,
        readout: options.readout.to_string(),
        draws: statistics.draws,
        mean: statistics.diagonal.mean,
        mean_standard_error: statistics.diagonal.mean_standard_error,
        variance: statistics.diagonal.variance,
        standard_error: statistics.diagonal.standard_error,
        off_diagonal: statistics.off_diagonal,
        seconds: start.elapsed().as_secs_f64(),
    })
}

/// The kernels of all draws. The first ones tell how long the others take, which is said where it
/// is long.
fn kernels(network: &NetworkDraws, seeds: Range<u64>, monitor: &dyn Monitor) -> Result<Vec<Vec<f64>>, Error> {
    let start = Instant::now();
    let first = seeds.end.min(seeds.start.saturating_add(rayon::current_num_threads() as u64));
    let mut kernels = network.kernels(seeds.start..first, monitor)?.ok_or(Error::Interrupted)?;
    let others = seeds.end - first;
    let seconds = start.elapsed().as_secs_f64() / kernels.len() as f64 * others as f64;
    if seconds > WORTH_SAYING {
        monitor.say(&format!("to come: {others} more draws, about {} on this machine", duration(seconds)));
    }
    kernels.extend(network.kernels(first..seeds.end, monitor)?.ok_or(Error::Interrupted)?);
    Ok(kernels)
}

/// Refuses draws whose kernels do not fit into memory.
fn check_memory(draws: u64, inputs: usize) -> Result<(), Error> {
    let kernel = (inputs as u64).saturating_mul(inputs as u64).saturating_mul(size_of::<f64>() as u64);
    let needed = kernel.saturating_add(size_of::<Vec<f64>>() as u64).saturating_mul(draws);
    match memory::available() {
        Some(available) if needed > available => Err(invalid![
            format!(
                "{draws} draws of a kernel between {inputs} inputs need {} of memory, but {} are free; take fewer ",
                memory::words(needed),
                memory::words(available)
            ),
            option("draws")
        ]
        .into()),
        _ => Ok(()),
    }
}

/// The images of a draw.
struct Batch {
    /// The network made to measure for them.
    spec: Spec,
    /// Those that the kernel is between.
    inputs: Vec<Vec<f32>>,
    /// Where they come from.
    input: String,
    /// Those that only make up the batch.
    others: Vec<Vec<f32>>,
}

fn batch(request: &Request, spec: &Spec) -> Result<Batch, Error> {
    let given = request.input.is_some() || request.array.is_some();
    let count = request.count.unwrap_or(COUNT);
    let Some(batch) = request.batch else {
        let request =
            Request { count: (!given || request.count.is_some()).then_some(count), ..request.clone() };
        let (spec, inputs, input) = ntk::inputs(&request, spec)?;
        return Ok(Batch { spec, inputs, input, others: vec![] });
    };
    if batch < count {
        return Err(
            invalid![option("batch"), format!(" is {batch}, but {count} inputs are part of it")].into()
        );
    }
    let whole = Request { count: Some(batch), ..request.clone() };
    let (spec, mut inputs, input) = ntk::inputs(&whole, spec)?;
    let others = inputs.split_off(count.min(inputs.len()));
    Ok(Batch { spec, inputs, input, others })
}

impl DrawsAnswer {
    /// One row for K(x, x), one for K(x, x').
    fn rows(&self, number: impl Fn(f64) -> String) -> Table {
        let columns = [
            ("entries", Align::Left),
            ("mean", Align::Right),
            ("+-", Align::Right),
            ("variance", Align::Right),
        ];
        let mut table = Table::new(&[&columns[..], &[("+-", Align::Right)]].concat());
        let mut push = |name: &str, values: [f64; 4]| {
            table.push_row([name.to_owned()].into_iter().chain(values.map(&number)).collect());
        };
        push("K(x, x)", [self.mean, self.mean_standard_error, self.variance, self.standard_error]);
        if let Some(between) = &self.off_diagonal {
            let errors = (between.mean_standard_error, between.standard_error);
            push("K(x, x')", [between.mean, errors.0, between.variance, errors.1]);
        }
        table
    }
}

impl Answer for DrawsAnswer {
    fn seconds(&self) -> Option<f64> {
        Some(self.seconds)
    }

    fn table(&self) -> Table {
        self.rows(|value| value.to_string())
    }

    fn summary(&self) -> (Vec<String>, Table) {
        let Self { model, readout, inputs, draws, .. } = self;
        let norms = match self.norm {
            NormPolicy::None => "norms removed",
            NormPolicy::Frozen => "norms frozen",
            NormPolicy::Batch => "norms over the batch of inputs",
        };
        let sentence = format!(
            "{model}: kernel of {readout} over {draws} initialisations, {inputs} inputs, {norms}; variances are over \
             the mean squared, +- is one standard error"
        );
        (vec![sentence], self.rows(|value| significant(value, 4)))
    }
}
