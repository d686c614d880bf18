//! `moments`: exact moments of the kernel of fully connected networks and bottleneck blocks.

use std::path::PathBuf;

use collegial_arch::{FullyConnected, Module, Spec};
use collegial_core::tensors::Tensor;
use collegial_ntk::SingleColumn;
use collegial_ntk::exact::ExactMoments;
use collegial_report::{Align, Table, significant};
use serde::{Deserialize, Serialize};

use crate::array;
use crate::style::wrapped;
use crate::{Answer, Error, Model, Refusal, Style, Widths};

/// Which network: a model, or widths in its place.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct Request {
    /// A module: `fc6-500`, `bottleneck-128`, or a chain of one's own.
    pub model: Option<PathBuf>,
    /// Widths of a fully connected network in place of a model, the input's first.
    pub widths: Option<Widths>,
    /// A .npy file with one input, channels x height x width; by default standard normal inputs are
    /// averaged.
    pub input: Option<PathBuf>,
    /// The input itself, in place of a file.
    #[serde(skip)]
    pub array: Option<Tensor>,
}

/// Mean and variance of one diagonal entry of the kernel.
#[derive(Clone, Debug, Serialize)]
pub struct Exact {
    /// The module's name; `null` where widths were given.
    pub module: Option<String>,
    /// The input's first.
    pub widths: Vec<usize>,
    /// m.
    pub members: usize,
    /// P: how many positions of the first layer the output unit sees.
    pub columns: usize,
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
pub fn run(request: &Request) -> Result<Exact, Error> {
    let module = module(request)?;
    let chain = module.member();
    if module.widths().is_empty() {
        return Err(Refusal::NoHiddenLayers.into());
    }
    let exact = SingleColumn::new(&chain)?;
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
        return Err(Refusal::VarianceTooLarge { model: module.name() }.into());
    }
    Ok(Exact {
        module: request.model.is_some().then(|| module.name()),
        widths: [chain.input.channels].into_iter().chain(module.widths()).collect(),
        members,
        columns: exact.columns(),
        at_input: spread.is_none(),
        mean: moments.mean,
        second_moment_ratio: 1.0 + variance,
        variance,
        member_variance: moments.variance(),
        spread,
        effective_alpha: ExactMoments::effective_alpha(&moments, module.inverse_fan_in_sum()),
    })
}

impl Exact {
    /// What the last line of the table is.
    fn alpha_sentence(&self) -> String {
        "The effective alpha is the one with which the law E[K^2] / E[K]^2 = exp(alpha S), S the sum of \
         inverse fan-ins, would give the variance of one member."
            .into()
    }
}

fn input(request: &Request) -> Result<Option<Tensor>, Error> {
    match (&request.array, &request.input) {
        (Some(array), _) => Ok(Some(array.clone())),
        (None, Some(path)) => array::read(path).map(Some),
        (None, None) => Ok(None),
    }
}

fn module(request: &Request) -> Result<Module, Error> {
    let spec = match (&request.model, &request.widths) {
        (Some(_), Some(_)) => {
            return Err(Refusal::ModelAndWidths.into());
        }
        (Some(model), None) => Model::named(model).spec()?,
        (None, Some(Widths(widths))) => {
            let (inputs, hidden) =
                widths.split_first().map_or((1, &[][..]), |(inputs, hidden)| (*inputs, hidden));
            Spec::FullyConnected(FullyConnected {
                inputs,
                outputs: 1,
                ..FullyConnected::mnist(1, hidden.to_vec())
            })
        }
        (None, None) => return Err(Refusal::NoModel.into()),
    };
    spec.check()?;
    Ok(spec.module().ok_or_else(|| Refusal::WholeNetwork { model: spec.to_string() })?)
}

impl Answer for Exact {
    fn text(&self, _style: &Style) -> String {
        format!("{}\n{}", self.table().to_text(), wrapped(&self.alpha_sentence()).join("\n") + "\n")
    }

    fn summary(&self) -> (Vec<String>, Table) {
        (vec![self.alpha_sentence()], self.table())
    }

    fn table(&self) -> Table {
        let mut table = Table::new(&[("quantity", Align::Left), ("value", Align::Right)]);
        let widths: Vec<String> = self.widths.iter().map(ToString::to_string).collect();
        table.push(["widths, the input's first".into(), widths.join(",")]);
        table.push(["members m".into(), self.members.to_string()]);
        if self.columns > 1 {
            table.push(["positions P of the first layer".into(), self.columns.to_string()]);
        }
        let mean = if self.at_input { "E[K] at the input" } else { "E[K] at |x|^2 = n_0 per position" };
        table.push([mean.into(), significant(self.mean, 6)]);
        table.push(["E[K^2] / E[K]^2".into(), significant(self.second_moment_ratio, 10)]);
        table.push(["Var[K] / E[K]^2".into(), significant(self.variance, 10)]);
        table.push(["the same of one member".into(), significant(self.member_variance, 10)]);
        if let Some(spread) = self.spread {
            let name = "its standard deviation over inputs";
            table.push([name.into(), significant(spread, 2)]);
        }
        table.push(["effective alpha".into(), significant(self.effective_alpha, 6)]);
        table
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_variance_beyond_all_numbers_is_refused() {
        let of = |model: &str| run(&Request { model: Some(model.into()), ..Request::default() });
        assert!(of("fc1000-48").unwrap().variance > 1e40);
        let said = of("fc10000-48").unwrap_err().to_string();
        assert!(said.contains("fc10000-48") && said.contains("wider or fewer layers"), "{said}");
    }
}
