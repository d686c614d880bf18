//! `moments`: exact moments of the kernel of a fully connected ReLU network.

use std::path::PathBuf;

use collegial_arch::{Activation, FullyConnected, Spec};
use collegial_ntk::exact;
use collegial_report::{Align, Table, significant};
use serde::{Deserialize, Serialize};

use crate::{Answer, Error, Model, Style, Widths, to_json};

/// Which network: a model, or widths in its place.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct Request {
    /// A fully connected model such as `fc6-500`.
    pub model: Option<PathBuf>,
    /// Widths in place of a model, the input's first.
    pub widths: Option<Widths>,
}

/// Mean and variance of one diagonal entry of the kernel.
#[derive(Clone, Debug, Serialize)]
pub struct Exact {
    /// The input's first.
    pub widths: Vec<usize>,
    /// m.
    pub members: usize,
    /// E[K] for an input with |x|^2 = n_0.
    pub mean: f64,
    /// E[K^2] / E[K]^2.
    pub second_moment_ratio: f64,
    /// The same minus one.
    pub variance: f64,
    /// The variance of one member.
    pub member_variance: f64,
    /// The alpha with which the law would give this variance.
    pub effective_alpha: f64,
}

/// Computes.
///
/// # Errors
///
/// Where there is no such network, or no closed form for it.
pub fn run(request: &Request) -> Result<Exact, Error> {
    let network = network(request)?;
    let moments = exact::moments(&network.widths)?;
    let members = network.members as f64;
    let variance = moments.variance() / members;
    Ok(Exact {
        widths: [network.inputs].into_iter().chain(network.widths.clone()).collect(),
        members: network.members,
        mean: moments.mean,
        second_moment_ratio: 1.0 + variance,
        variance,
        member_variance: moments.variance(),
        effective_alpha: moments.effective_alpha(network.inverse_width_sum()),
    })
}

fn network(request: &Request) -> Result<FullyConnected, Error> {
    let spec = match (&request.model, &request.widths) {
        (Some(_), Some(_)) => {
            return Err(Error::request("a model and `widths=` were both given; leave one of them out"));
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
        (None, None) => return Err(Error::request("give a model or `widths=`")),
    };
    spec.check()?;
    match spec {
        Spec::FullyConnected(network) if network.widths.is_empty() => Err(Error::request(
            "a network without hidden layers has a constant kernel; give at least one hidden width",
        )),
        Spec::FullyConnected(network) if network.activation == Activation::Relu => Ok(network),
        other => Err(Error::request(format!(
            "exact moments are known for fully connected ReLU networks only, not for {other}; `fit()` samples others"
        ))),
    }
}

impl Answer for Exact {
    fn json(&self) -> Result<String, Error> {
        to_json(self)
    }

    fn text(&self, _style: &Style) -> String {
        self.table().to_text()
    }

    fn summary(&self) -> (Vec<String>, Table) {
        (vec![], self.table())
    }

    fn table(&self) -> Table {
        let mut table = Table::new(&[("quantity", Align::Left), ("value", Align::Right)]);
        let widths: Vec<String> = self.widths.iter().map(ToString::to_string).collect();
        table.push(["widths, the input's first".into(), widths.join(",")]);
        table.push(["members m".into(), self.members.to_string()]);
        table.push(["E[K] at |x|^2 = n_0".into(), significant(self.mean, 6)]);
        table.push(["E[K^2] / E[K]^2".into(), significant(self.second_moment_ratio, 10)]);
        table.push(["Var[K] / E[K]^2".into(), significant(self.variance, 10)]);
        table.push(["the same of one member".into(), significant(self.member_variance, 10)]);
        table.push(["effective alpha".into(), significant(self.effective_alpha, 6)]);
        table
    }
}
