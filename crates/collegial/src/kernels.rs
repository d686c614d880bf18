//! `kernels`: draws of the kernel of a module, to look at beside its exact moments.

use collegial_arch::Sequence;
use collegial_core::{Moments, Rng};
use collegial_ntk::{KernelSampler, OnePosition, Output};
use collegial_report::{Align, Table, significant};
use rayon::prelude::*;
use serde::Serialize;

use crate::message::{invalid, option};
use crate::options::options;
use crate::{Answer, Error, Model, Monitor, Style};

/// Draws of members that one request may ask for.
const MOST: u64 = 20_000_000;

/// Multiplications that one request may ask for: about a minute.
const MOST_WORK: f64 = 3e11;

/// The stream of the input; members have the streams from 0 on.
const INPUT_STREAM: u32 = u32::MAX;

options! {
    /// Draw the kernel of a module, to look at beside its exact moments
    #[serde(deny_unknown_fields)]
    pub struct Request {
        /// The module; of a network the block of its first stage is taken
        #[command(flatten)]
        pub model: Model,
        /// Draws of the whole ensemble
        #[arg(long)]
        pub draws: u64 = 1000,
        /// The number of the first draw: those from 1000 on go on where a thousand from 0 ended
        #[arg(skip)]
        pub first: u64,
        /// Seed of the input and the draws
        #[arg(skip)]
        pub seed: u64,
    }
}

/// Kernels of an ensemble at one standard normal input, in units of their mean.
#[derive(Clone, Debug, Serialize)]
pub struct KernelsAnswer {
    /// The module's name.
    pub module: String,
    /// m: every draw is the mean of so many members' kernels.
    pub members: usize,
    /// K / E\[K\] of every draw; where theory has no mean, over the mean of the draws.
    pub kernels: Vec<f64>,
    /// Var\[K\] / E\[K\]^2 of the draws.
    pub variance: f64,
    /// Its standard error.
    pub standard_error: f64,
    /// The exact variance at the same input, where theory has it.
    pub exact_variance: Option<f64>,
}

/// Draws.
///
/// # Errors
///
/// Where there is no module, it cannot be sampled, more draws are requested than one answer holds or
/// a minute makes, or the monitor stopped it.
pub fn run(request: &Request, monitor: &dyn Monitor) -> Result<KernelsAnswer, Error> {
    let module = request.model.spec()?.analysed_module()?;
    let (chain, members) = (module.member(), module.members());
    let most = MOST / members.max(1) as u64;
    if !(2..=most).contains(&request.draws) {
        return Err(invalid![
            option("draws"),
            format!(" is {}; with {members} members it must be between 2 and {most}", request.draws)
        ]
        .into());
    }
    if request.first > MOST {
        return Err(invalid![
            option("first"),
            format!(" is {}; it must be between 0 and {MOST}", request.first)
        ]
        .into());
    }
    let input = normal_input(&chain, request.seed);
    let exact = OnePosition::new(&chain).ok().and_then(|exact| exact.at_input(&chain, &input).ok());
    let raw = draw(&chain, members, &input, request, monitor)?;
    let mut moments = Moments::new();
    raw.iter().for_each(|&kernel| moments.push(kernel));
    let mean = exact.as_ref().map_or(moments.mean, |exact| exact.mean);
    Ok(KernelsAnswer {
        module: module.name(),
        members,
        kernels: raw.into_iter().map(|kernel| kernel / mean).collect(),
        variance: moments.second_moment_ratio() - 1.0,
        standard_error: moments.second_moment_ratio_standard_error(),
        exact_variance: exact.map(|exact| exact.variance() / members as f64),
    })
}

fn normal_input(chain: &Sequence, seed: u64) -> Vec<f32> {
    let mut input = vec![0.0; chain.input.channels * chain.input.pixels()];
    Rng::new(seed, INPUT_STREAM, 0).fill_normal(&mut input);
    input
}

/// One kernel per draw: the mean over members, each with a stream of its own.
fn draw(
    chain: &Sequence,
    members: usize,
    input: &[f32],
    request: &Request,
    monitor: &dyn Monitor,
) -> Result<Vec<f64>, Error> {
    let sampler = KernelSampler::at_inputs(chain, Output::Unit, &[input.to_vec()])?;
    let work = sampler.work_per_draw() * members as f64 * request.draws as f64;
    if work > MOST_WORK {
        return Err(invalid![
            option("draws"),
            format!(
                " is {}: draws of {members} members take {work:.0e} multiplications, more than one answer takes ({MOST_WORK:.0e})",
                request.draws
            )
        ]
        .into());
    }
    let one = |workspace: &mut _, trial: u64| {
        let mut kernel = [0.0];
        let mut sum = 0.0;
        for member in 0..members {
            // The kernels are thrown away then.
            if monitor.stopped() {
                break;
            }
            sampler.draw(workspace, &mut Rng::new(request.seed, member as u32, trial), &mut kernel);
            sum += kernel[0];
        }
        sum / members as f64
    };
    let draws = request.first..request.first + request.draws;
    let kernels = draws.into_par_iter().map_init(|| sampler.workspace(), one).collect();
    if monitor.stopped() { Err(Error::Interrupted) } else { Ok(kernels) }
}

impl Answer for KernelsAnswer {
    fn text(&self, _style: &Style) -> String {
        format!("{}\n", self.sentences().join("\n"))
    }

    fn table(&self) -> Table {
        let mut table = Table::new(&[("kernel_over_mean", Align::Right)]);
        for kernel in &self.kernels {
            table.push([kernel.to_string()]);
        }
        table
    }

    fn summary(&self) -> (Vec<String>, Table) {
        (self.sentences(), Table::new(&[]))
    }
}

impl KernelsAnswer {
    fn sentences(&self) -> Vec<String> {
        let drawn = format!(
            "{}: {} draws of the kernel at one standard normal input, Var[K] / E[K]^2 = {} +- {}",
            self.module,
            self.kernels.len(),
            significant(self.variance, 3),
            significant(self.standard_error, 2)
        );
        let exact = self.exact_variance.map(|exact| format!("exactly {}", significant(exact, 4)));
        std::iter::once(drawn).chain(exact).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Silent;

    fn kernels(model: &str, draws: u64) -> KernelsAnswer {
        run(&Request { model: Model::named(model), draws, seed: 3, ..Request::default() }, &Silent).unwrap()
    }

    /// One member and many, one pixel and nine: within five standard errors of theory.
    #[test]
    fn draws_have_the_exact_moments() {
        for model in ["fc3-8", "fc4-5x7", "bottleneck-1", "bottleneck-7", "bottleneck-12x6d"] {
            let drawn = kernels(model, 4000);
            let exact = drawn.exact_variance.unwrap();
            let off = (drawn.variance - exact).abs();
            assert!(off < 5.0 * drawn.standard_error, "{model}: {} and {exact}", drawn.variance);
            let mean = drawn.kernels.iter().sum::<f64>() / 4000.0;
            assert!((mean - 1.0).abs() < 5.0 * (exact / 4000.0).sqrt(), "{model}: mean {mean}");
        }
    }

    #[test]
    fn draws_go_on_where_others_ended() {
        let part = |first, draws| {
            let model = Model::named("bottleneck-3x4d");
            run(&Request { model, draws, first, ..Request::default() }, &Silent).unwrap().kernels
        };
        assert_eq!([part(0, 30), part(30, 20), part(50, 7)].concat(), part(0, 57));
        let far = Request { model: Model::named("fc3-8"), first: u64::MAX, ..Request::default() };
        assert!(run(&far, &Silent).unwrap_err().to_string().contains("first is 18446744073709551615"));
    }

    #[test]
    fn threads_do_not_show_and_too_many_draws_are_refused() {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
        let alone = pool.install(|| kernels("bottleneck-3x4d", 200));
        assert_eq!(alone.kernels, kernels("bottleneck-3x4d", 200).kernels);
        let asked = Request { model: Model::named("fc3-8"), draws: 1 << 40, ..Request::default() };
        assert!(run(&asked, &Silent).unwrap_err().to_string().contains("must be between 2 and 20000000"));
        // Few draws of much work each.
        let model = Model::named("bottleneck-4096");
        let wide = Request { model, draws: 1_000_000, ..Request::default() };
        assert!(run(&wide, &Silent).unwrap_err().to_string().contains("multiplications"));
    }
}
