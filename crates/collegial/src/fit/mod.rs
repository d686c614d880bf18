//! `fit`: Algorithm 1.

pub(crate) mod view;

use std::borrow::Cow;
use std::time::Duration;

use collegial_arch::Module;
use collegial_core::Instant;
use collegial_core::checksum;
use collegial_experiments::reproduce::drawings::fit as drawings;
use collegial_ntk::fit::{Effort, Measurements, Method, OverInputs, Sampling, Shard, default_widths};
use collegial_ntk::{Error as NtkError, Fit, Output};
use collegial_report::{Figure, Table};
use serde::Serialize;

use crate::message::{invalid, option};
use crate::options::options;
use crate::{Answer, Error, Model, Monitor, Widths};

/// The paper's T.
pub const TRIALS: u64 = 2000;

/// How long draws take where their number is not given.
const TIME: Duration = Duration::from_millis(500);

options! {
    /// Fit alpha of a module's variance law to its kernel at several widths (Algorithm 1)
    ///
    /// Alpha is the slope of a straight line through ln(E[K^2]/E[K]^2) against S(n), for K(x, x) of
    /// one output unit. For convolutions S(n) is the sum of inverse fan-ins over all layers. For
    /// fully connected networks it is L/n, as in the paper's Fig. 3: one term for each of the L
    /// weight matrices.
    ///
    /// Moments are exact where there is a closed form, averaged over standard normal inputs.
    /// Elsewhere half a second of draws is taken, at many inputs. With --trials they are drawn as
    /// printed in the paper, at one input.
    ///
    /// The law is an approximation, and alpha depends on the widths it is fitted to. So points,
    /// residuals and a verdict come with it. Of a network the block of the first stage is taken.
    #[command(after_help = "Example:\n  collegial fit bottleneck-128 --trials 10000")]
    #[serde(deny_unknown_fields)]
    pub struct Request {
        /// The module; of a network the block of its first stage is taken
        #[command(flatten)]
        pub model: Model,
        /// Draws per width at one input (T; the paper takes 2000) [default: none where moments are
        /// exact, else half a second of draws at many inputs]
        #[arg(long, value_name = "T", allow_negative_numbers = true)]
        pub trials: Option<u64>,
        /// Widths to measure: 4,10,16 or 1..256 or 16..256:16 [default: 1,16..256:16 for a
        /// bottleneck, else sixteenths of the width]
        #[arg(long, value_name = "LIST")]
        pub widths: Option<Widths>,
        /// Draw until alpha's 95 % interval is within this share of alpha, such as 0.02; at many
        /// inputs unless --trials says how many at a time
        #[arg(long, value_name = "SHARE", allow_negative_numbers = true)]
        pub precision: Option<f64>,
        /// The kernel of the output averaged over all positions instead of one position's
        #[arg(long)]
        pub pooled: bool,
        /// Take only this share of the draws, such as 2/8; write it with --out and join the shares
        /// with `collegial merge`
        #[arg(long, value_name = "I/N", requires = "out")]
        pub shard: Option<String>,
        /// How the line is fitted
        #[command(flatten)]
        pub line: Line,
        /// Seed of everything random
        #[arg(skip)]
        pub seed: u64,
    }
}

options! {
    /// How the line is fitted.
    #[derive(Copy, Eq)]
    pub struct Line {
        /// Weigh points by their standard errors (the paper weighs all alike)
        #[arg(long)]
        pub weighted: bool,
        /// Force the line through the origin (the paper's has an intercept)
        #[arg(long)]
        pub no_intercept: bool,
    }
}

impl Line {
    fn method(self) -> Method {
        Method { weighted: self.weighted, intercept: !self.no_intercept }
    }
}

/// What was drawn, before a line is put through it.
#[derive(Clone, Debug)]
pub struct Draws {
    /// The kernels.
    pub kernels: Kernels,
    /// How long it took.
    pub seconds: f64,
    /// Whether the monitor stopped it; the draws made before are kept.
    pub interrupted: bool,
}

/// Kernels at several widths.
#[derive(Clone, Debug)]
pub enum Kernels {
    /// At one input, as Algorithm 1 is printed: what shards save and `merge` joins.
    AtOneInput(Measurements),
    /// At many inputs.
    OverInputs(OverInputs),
}

/// The fitted law.
#[derive(Clone, Debug, Serialize)]
pub struct FitAnswer {
    /// Alpha with its points and the verdict on the law.
    #[serde(flatten)]
    pub fit: Fit,
    /// Seed of the draws.
    pub seed: u64,
    /// Whether every requested draw is there.
    pub complete: bool,
    /// How long it took.
    pub seconds: f64,
}

/// Fits, exactly where nothing has to be drawn.
///
/// # Errors
///
/// Where the module cannot be sampled, or the monitor stopped it.
pub fn run(request: &Request, monitor: &dyn Monitor) -> Result<FitAnswer, Error> {
    if let Some(fitted) = exact(request)? {
        return Ok(fitted);
    }
    let draws = draw(request, monitor)?;
    if draws.interrupted { Err(Error::Interrupted) } else { draws.fitted(request.line) }
}

/// Fits exact moments; `None` where draws are requested, or the module has no closed form.
///
/// # Errors
///
/// Where there is no such module, or no line can be put through the widths.
pub fn exact(request: &Request) -> Result<Option<FitAnswer>, Error> {
    let Request { trials: None, precision: None, shard: None, pooled: false, .. } = request else {
        return Ok(None);
    };
    let (start, (module, widths)) = (Instant::now(), module_and_widths(request)?);
    match Fit::exact(&module, &widths, request.line.method()) {
        Ok(fit) => {
            let seconds = start.elapsed().as_secs_f64();
            Ok(Some(FitAnswer { fit, seed: request.seed, complete: true, seconds }))
        }
        Err(NtkError::NoClosedForm { .. }) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

fn module_and_widths(request: &Request) -> Result<(Module, Vec<usize>), Error> {
    let module = request.model.spec()?.analysed_module()?;
    let widths = match &request.widths {
        Some(Widths(widths)) => widths.clone(),
        None => default_widths(&module)?,
    };
    Ok((module, widths))
}

/// Draws; what was drawn before an interruption is kept.
///
/// # Errors
///
/// Where the module cannot be sampled.
pub fn draw(request: &Request, monitor: &dyn Monitor) -> Result<Draws, Error> {
    let (module, widths) = module_and_widths(request)?;
    let output = if request.pooled { Output::PooledUnit } else { Output::Unit };
    let method = request.line.method();
    let start = Instant::now();
    let kernels = match request {
        Request { trials: None, shard: None, seed, precision, .. } => {
            let effort =
                precision.map_or(Effort::Time(TIME), |precision| Effort::Precision(precision, method));
            Kernels::OverInputs(OverInputs::take(&module, &widths, (*seed, output), effort, monitor)?)
        }
        _ => {
            let sampling = Sampling {
                seed: request.seed,
                trials: request.trials.unwrap_or(TRIALS),
                precision: request.precision,
                shard: request.shard.as_deref().map_or(Ok(Shard::ALL), shard)?,
                output,
                method,
            };
            Kernels::AtOneInput(Measurements::take(&module, &widths, &sampling, monitor)?)
        }
    };
    let (seconds, interrupted) = (start.elapsed().as_secs_f64(), monitor.stopped());
    Ok(Draws { kernels, seconds, interrupted })
}

/// A share of the draws, written `2/8`: the second of eight.
///
/// # Errors
///
/// One sentence on what is wrong with it.
pub fn shard(text: &str) -> Result<Shard, Error> {
    let (index, count) =
        text.split_once('/').ok_or_else(|| invalid!["write it as 2/8: the second of eight"])?;
    let number = |text: &str| {
        let number = text.parse::<u64>();
        number.map_err(|_| invalid![format!("{text:?} is not a number; write it as 2/8")])
    };
    Ok(Shard::new(number(index)?, number(count)?)?)
}

impl Draws {
    /// Puts the line through them.
    ///
    /// # Errors
    ///
    /// Where there are too few.
    pub fn fitted(&self, line: Line) -> Result<FitAnswer, Error> {
        let (fit, seed, complete) = match &self.kernels {
            Kernels::AtOneInput(kernels) => {
                (Fit::new(kernels, line.method())?, kernels.seed(), kernels.is_complete())
            }
            Kernels::OverInputs(kernels) => {
                (Fit::over_inputs(kernels, line.method())?, kernels.seed(), !self.interrupted)
            }
        };
        Ok(FitAnswer { fit, seed, complete, seconds: self.seconds })
    }
}

impl Kernels {
    /// The module that was sampled.
    pub fn module_name(&self) -> String {
        match self {
            Self::AtOneInput(kernels) => kernels.module_name(),
            Self::OverInputs(kernels) => kernels.module_name(),
        }
    }

    /// The draws of each width, or the fewest that one has.
    pub fn trials(&self) -> u64 {
        match self {
            Self::AtOneInput(kernels) => kernels.trials,
            Self::OverInputs(kernels) => kernels.trials(),
        }
    }

    /// What `merge` reads: measurements at one input, with a checksum in front.
    ///
    /// # Errors
    ///
    /// Where many inputs were drawn, which are not saved, or a number has no JSON form.
    pub fn to_file(&self) -> Result<Vec<u8>, Error> {
        #[derive(Serialize)]
        struct Sealed<'a> {
            checksum: &'static str,
            #[serde(flatten)]
            measurements: &'a Measurements,
        }
        let Self::AtOneInput(measurements) = self else {
            return Err(invalid![
                "draws at many inputs are not saved; say how many ",
                option("trials"),
                " to take"
            ]
            .into());
        };
        let sealed = Sealed { checksum: checksum::BLANK, measurements };
        let mut file = serde_json::to_vec(&sealed).map_err(Error::Json)?;
        let whole = 0..file.len();
        checksum::seal(&mut file, whole);
        Ok(file)
    }
}

impl FitAnswer {
    /// The measured points and the line.
    pub fn figure(&self) -> Figure {
        drawings::figure(&self.fit)
    }

    fn sentences(&self) -> Vec<String> {
        let fit = &self.fit;
        vec![
            drawings::alpha_sentence(fit),
            drawings::source_sentence(fit),
            drawings::verdict_sentence(fit),
            drawings::model_error_sentence(fit),
        ]
    }
}

impl Answer for FitAnswer {
    fn seconds(&self) -> Option<f64> {
        Some(self.seconds)
    }

    fn table(&self) -> Table {
        view::table(&self.fit)
    }

    fn summary(&self) -> (Vec<String>, Table) {
        (self.sentences(), self.table())
    }

    fn figures(&self) -> Vec<(Cow<'static, str>, Figure)> {
        vec![
            ("alpha.svg".into(), self.figure()),
            ("residuals.svg".into(), drawings::residual_figure(&self.fit)),
        ]
    }
}
