//! `moments`: exact moments of the kernel of fully connected networks and bottleneck blocks.

use std::path::PathBuf;

use collegial_arch::{FullyConnected, Module, Spec};
use collegial_core::tensors::Tensor;
use collegial_nn::Parametrisation;
use collegial_ntk::OnePosition;
use collegial_ntk::exact::ExactMoments;
use collegial_report::{Align, Table, significant};
use serde::Serialize;

use crate::array;
use crate::message::{invalid, option, verb};
use crate::options::options;
use crate::style::wrapped;
use crate::transformer::{self, moments::TransformerMoments};
use crate::{Answer, Error, InvalidRequest, ModelRef, Monitor, Style, Widths};

options! {
    /// Exact mean and variance of the kernel of a fully connected network or a bottleneck block,
    /// without sampling
    ///
    /// The kernel is K(x, x) of the empirical tangent kernel at initialisation, for one output unit
    /// and without biases. Where the output is a map, the unit is its middle position.
    ///
    /// There is a closed form for chains of ReLU and linear layers that are seen at one position
    /// behind their first layer. These are fully connected networks, 1x1 - k x k - 1x1 blocks of any
    /// stride, and TOML modules of that kind.
    ///
    /// The variance is relative to the squared mean and averaged over standard normal inputs. Its
    /// standard deviation over inputs stands beside it; --input fixes one input. At white patches the
    /// variance is that of `search` with --block-inputs white: the patches that the unit sees are
    /// orthogonal and of equal length. The effective alpha is ln(1 + variance) over the sum of
    /// inverse fan-ins: with it the paper's law would give this variance of a member.
    ///
    /// Of a transformer, an attention layer or a feed-forward layer: the variance of every kind of layer,
    /// at the first and the last layer of every stage. Heads are drawn from their law (--draws), and
    /// standard errors are given.
    #[command(after_help = "Example:\n  collegial moments bottleneck-37x10d")]
    #[serde(deny_unknown_fields)]
    pub struct Request {
        /// A module: fc6-500, fc6-30x48, bottleneck-128, a TOML spec of a chain; or a transformer, such
        /// as vit_b_16
        #[arg(
            value_name = "MODULE",
            required_unless_present = "widths",
            conflicts_with = "widths",
            value_hint = clap::ValueHint::AnyPath
        )]
        pub model: Option<ModelRef>,
        /// Widths of a fully connected network in place of a module, the input's first: 784,48,48
        #[arg(long, value_name = "LIST")]
        pub widths: Option<Widths>,
        /// One input from a .npy file of f4 or f8: channels x height x width of the module's input,
        /// 256 x 32 x 32 for bottleneck-128; or the n_0 values for a fully connected network
        #[arg(long, value_name = "FILE")]
        pub input: Option<PathBuf>,
        /// The input itself, in place of a file
        #[arg(skip)]
        #[serde(skip)]
        pub array: Option<Tensor>,
        /// By which weights gradients are taken; with standard, a layer counts in proportion to the
        /// inverse variance of its initial weights
        #[arg(long, value_enum)]
        pub parametrisation: Parametrisation = Parametrisation::Ntk,
        /// Draws of what has no closed form: attention heads, and feed-forward layers with matrices
        /// inside [default: fewer for more tokens]
        #[arg(long, value_name = "T", value_parser = clap::value_parser!(u64).range(2..=100_000_000))]
        pub draws: Option<u64>,
        /// Seed of the draws
        #[arg(skip)]
        pub seed: u64,
    }
}

/// Of a chain, or of the layers of a transformer.
#[derive(Clone, Debug, Serialize)]
#[serde(untagged)]
pub enum MomentsAnswer {
    /// Of a chain, exact.
    Chain(Box<ChainMoments>),
    /// Of layers, drawn where there is no closed form.
    Transformer(Box<TransformerMoments>),
}

/// Mean and variance of one diagonal entry of the kernel.
#[derive(Clone, Debug, Serialize)]
pub struct ChainMoments {
    /// The module's name; `null` where widths were given.
    pub module: Option<String>,
    /// The input's first.
    pub widths: Vec<usize>,
    /// m.
    pub members: usize,
    /// P: how many positions of the first layer the output unit sees.
    pub columns: usize,
    /// Of the weights by which the gradients are taken.
    pub parametrisation: Parametrisation,
    /// Whether an input was given; else standard normal ones are averaged.
    pub at_input: bool,
    /// `E[K]`: at the given input, or for one of average length.
    pub mean: f64,
    /// `E[K^2] / E[K]^2`.
    pub second_moment_ratio: f64,
    /// The same minus one.
    pub variance: f64,
    /// The variance of one member.
    pub member_variance: f64,
    /// The variance at white patches (orthogonal, of equal length), which `search` has with
    /// `block_inputs` white; `null` at an input, or where the unit sees one patch.
    pub white_variance: Option<f64>,
    /// The standard deviation over standard normal inputs of a member's variance at one input.
    pub spread: Option<f64>,
    /// The alpha with which the law would give this variance.
    pub effective_alpha: f64,
}

/// Computes.
///
/// # Errors
///
/// Where there is no such module, no closed form for it (the layer is named), or the input does not
/// fit it.
pub fn run(request: &Request, monitor: &dyn Monitor) -> Result<MomentsAnswer, Error> {
    let spec = spec(request)?;
    if matches!(spec, Spec::Transformer(_) | Spec::Attention(_) | Spec::FeedForward(_)) {
        return of_transformer(request, &spec, monitor);
    }
    if request.draws.is_some() {
        return Err(invalid![
            format!("the moments of {} are exact; leave ", spec.name()),
            option("draws"),
            " out"
        ]
        .into());
    }
    Ok(MomentsAnswer::Chain(Box::new(of_chain(request, &module(&spec)?)?)))
}

fn of_transformer(request: &Request, spec: &Spec, monitor: &dyn Monitor) -> Result<MomentsAnswer, Error> {
    let other = Parametrisation::Ntk != request.parametrisation;
    if request.input.is_some() || request.array.is_some() || other {
        return Err(invalid![
            format!(
                "the layers of {} are seen at tokens of variance 1 in the NTK parametrisation; leave ",
                spec.name()
            ),
            option("input"),
            " and ",
            option("parametrisation"),
            " out"
        ]
        .into());
    }
    if matches!(request.draws, Some(..2)) {
        return Err(InvalidRequest::out_of_range("draws", request.draws.unwrap_or(0), 2.0, 1e8).into());
    }
    let found = transformer::moments::run(spec, request.draws, request.seed, monitor)?;
    Ok(MomentsAnswer::Transformer(Box::new(found)))
}

fn of_chain(request: &Request, module: &Module) -> Result<ChainMoments, Error> {
    let chain = module.sequence();
    if module.widths().is_empty() {
        return Err(invalid![
            "a network without hidden layers has a constant kernel; give at least one hidden width"
        ]
        .into());
    }
    let exact = OnePosition::parametrised(&chain, request.parametrisation)?;
    let (moments, spread) = match input(request)? {
        Some(array) => {
            let shape = chain.input;
            let expected = [shape.channels, shape.height, shape.width];
            // A dense network takes a vector as well.
            if array.shape() != expected && !(shape.pixels() == 1 && array.shape() == &expected[..1]) {
                let name =
                    request.input.as_ref().map_or("the array".into(), |path| path.display().to_string());
                return Err(Error::InputShape { name, found: array.shape().to_vec(), expected });
            }
            (exact.at_input(&chain, array.values())?, None)
        }
        None => {
            let averaged = exact.averaged()?;
            (averaged.moments, Some(averaged.spread))
        }
    };
    let members = module.members();
    let variance = moments.variance() / members as f64;
    if !variance.is_finite() {
        return Err(invalid![format!("the variance of {}'s kernel exceeds the largest number that can be told (1.8e308): it grows by a factor with every layer; take wider or fewer layers", module.name())].into());
    }
    let white_variance = match spread {
        Some(_) if exact.columns() > 1 => Some(exact.white()?.variance() / members as f64),
        _ => None,
    };
    Ok(ChainMoments {
        module: request.model.is_some().then(|| module.name()),
        widths: [chain.input.channels].into_iter().chain(module.widths()).collect(),
        members,
        columns: exact.columns(),
        parametrisation: request.parametrisation,
        at_input: spread.is_none(),
        mean: moments.mean,
        second_moment_ratio: 1.0 + variance,
        variance,
        member_variance: moments.variance(),
        white_variance,
        spread,
        effective_alpha: ExactMoments::effective_alpha(&moments, module.inverse_fan_in_sum()),
    })
}

impl ChainMoments {
    /// What two lines of the table are.
    fn sentences(&self) -> Vec<String> {
        let alpha = "The effective alpha is the one with which the law E[K^2] / E[K]^2 = exp(alpha S), S the \
                     sum of inverse fan-ins, would give the variance of one member.";
        let white = "White patches are orthogonal and of equal length, as search takes them for white block \
                     inputs. Patches of normal inputs come close to that with many channels.";
        let white = self.white_variance.map(|_| white.to_owned());
        [alpha.to_owned()].into_iter().chain(white).collect()
    }
}

fn input(request: &Request) -> Result<Option<Tensor>, Error> {
    match (&request.array, &request.input) {
        (Some(array), _) => Ok(Some(array.clone())),
        (None, Some(path)) => array::read(path).map(Some),
        (None, None) => Ok(None),
    }
}

fn spec(request: &Request) -> Result<Spec, Error> {
    let spec = match (&request.model, &request.widths) {
        (Some(_), Some(_)) => {
            return Err(invalid![
                "a model and ",
                option("widths"),
                " were both given; leave one of them out"
            ]
            .into());
        }
        (Some(model), None) => model.open()?.into_spec(),
        (None, Some(Widths(widths))) => {
            let (inputs, hidden) =
                widths.split_first().map_or((1, &[][..]), |(inputs, hidden)| (*inputs, hidden));
            Spec::FullyConnected(FullyConnected {
                inputs,
                outputs: 1,
                ..FullyConnected::mnist(1, hidden.to_vec())
            })
        }
        (None, None) => return Err(invalid!["give a model or ", option("widths")].into()),
    };
    spec.check()?;
    Ok(spec)
}

fn module(spec: &Spec) -> Result<Module, Error> {
    Ok(spec.module().ok_or_else(|| {
        invalid![
            format!(
                "{} is a whole network; exact moments are those of a module, such as its block: ",
                spec.to_string()
            ),
            verb("search", &[]),
            " gives every block's variance, and ",
            verb("ntk", &["draws"]),
            " draws the network's"
        ]
    })?)
}

impl MomentsAnswer {
    fn inner(&self) -> &dyn Answer {
        match self {
            Self::Chain(chain) => chain.as_ref(),
            Self::Transformer(layers) => layers.as_ref(),
        }
    }
}

impl Answer for MomentsAnswer {
    fn text(&self, style: &Style) -> String {
        self.inner().text(style)
    }

    fn summary(&self) -> (Vec<String>, Table) {
        self.inner().summary()
    }

    fn table(&self) -> Table {
        self.inner().table()
    }
}

impl Answer for ChainMoments {
    fn text(&self, _style: &Style) -> String {
        format!("{}\n{}", self.table().to_text(), wrapped(&self.sentences().join(" ")).join("\n") + "\n")
    }

    fn summary(&self) -> (Vec<String>, Table) {
        (self.sentences(), self.table())
    }

    fn table(&self) -> Table {
        let mut table = Table::new(&[("quantity", Align::Left), ("value", Align::Right)]);
        let widths: Vec<String> = self.widths.iter().map(ToString::to_string).collect();
        table.push(["widths, the input's first".into(), widths.join(",")]);
        table.push(["members m".into(), self.members.to_string()]);
        if self.columns > 1 {
            table.push(["positions P of the first layer".into(), self.columns.to_string()]);
        }
        table.push(["parametrisation".into(), self.parametrisation.to_string()]);
        let mean = if self.at_input { "E[K] at the input" } else { "E[K] at |x|^2 = n_0 per position" };
        table.push([mean.into(), significant(self.mean, 6)]);
        table.push(["E[K^2] / E[K]^2".into(), significant(self.second_moment_ratio, 10)]);
        table.push(["Var[K] / E[K]^2".into(), significant(self.variance, 10)]);
        table.push(["the same of one member".into(), significant(self.member_variance, 10)]);
        if let Some(spread) = self.spread {
            let name = "its standard deviation over inputs";
            table.push([name.into(), significant(spread, 2)]);
        }
        if let Some(variance) = self.white_variance {
            table.push(["Var[K] / E[K]^2 at white patches".into(), significant(variance, 10)]);
        }
        table.push(["effective alpha".into(), significant(self.effective_alpha, 6)]);
        table
    }
}

#[cfg(test)]
mod tests {
    use collegial_search::paper::{Exact, Variance};

    use super::*;

    fn chain(request: &Request) -> Result<ChainMoments, Error> {
        match run(request, &crate::Silent)? {
            MomentsAnswer::Chain(chain) => Ok(*chain),
            MomentsAnswer::Transformer(_) => panic!("a chain"),
        }
    }

    /// At white patches `moments` and the exact variance of Algorithm 2 are one number; both tend to
    /// it with the number of input channels.
    #[test]
    fn white_patches_are_those_of_the_search() {
        let model: ModelRef = "bottleneck-37x10d".parse().unwrap();
        let answer = chain(&Request { model: Some(model.clone()), ..Request::default() }).unwrap();
        let block = model.open().unwrap().into_spec().module().unwrap();
        let searched = Exact.of(&block).unwrap().value;
        let white = answer.white_variance.unwrap();
        assert!((white * 37.0 - searched).abs() < 1e-12, "{white} {searched}");
        assert!(0.0 < answer.variance - white && answer.variance - white < 3e-3 * white);
    }

    /// Variances in the standard parametrisation that were worked out apart from this code, to their
    /// three digits.
    #[test]
    fn layers_of_the_standard_parametrisation_count_by_fan_in() {
        for (model, variance) in [
            ("fc6-200", 0.085),
            ("fc6-7x45", 0.077),
            ("fc6-15x24", 0.089),
            ("fc6-78x5", 0.380),
            ("fc6-132x3", 0.986),
        ] {
            let parametrisation = Parametrisation::Standard;
            let request =
                Request { model: Some(model.parse().unwrap()), parametrisation, ..Request::default() };
            let found = chain(&request).unwrap().variance;
            assert!((found - variance).abs() <= 5.1e-4, "{model}: {found}");
        }
    }

    #[test]
    fn a_variance_beyond_all_numbers_is_refused() {
        let of = |model: &str| chain(&Request { model: Some(model.parse().unwrap()), ..Request::default() });
        assert!(of("fc1000-48").unwrap().variance > 1e40);
        let said = of("fc10000-48").unwrap_err().to_string();
        assert!(said.contains("fc10000-48") && said.contains("wider or fewer layers"), "{said}");
    }
}
