//! `collegial moments`: exact moments of the kernel of a fully connected ReLU network.

use clap::Args;
use collegial_arch::{Activation, FullyConnected, Spec};
use collegial_ntk::exact;
use collegial_report::{Align, Table, significant};
use serde::Serialize;

use crate::arguments::Common;
use crate::failure::Failure;
use crate::output::Document;
use crate::widths::Widths;

/// Exact mean and variance of the kernel of a fully connected ReLU network, without sampling
///
/// K(x, x) is the diagonal entry of the empirical tangent kernel of one output at initialisation (NTK parametrisation, no
/// biases). Its mean is given for an input with |x|^2 = n_0; the variance, in units of the squared mean, is the same for every
/// input.
#[derive(Args)]
pub struct Moments {
    /// A fully connected model such as fc6-500 or fc6-30x48
    #[arg(value_name = "MODEL", required_unless_present = "widths", conflicts_with = "widths")]
    model: Option<String>,
    /// Widths in place of a model, the input's first: 784,48,48
    #[arg(long, value_name = "LIST")]
    widths: Option<Widths>,
}

/// The JSON form; scripts rely on its keys.
#[derive(Serialize)]
pub struct Exact {
    widths: Vec<usize>,
    members: usize,
    mean: f64,
    second_moment_ratio: f64,
    variance: f64,
    member_variance: f64,
    effective_alpha: f64,
}

/// Runs the verb.
pub fn run(verb: &Moments, common: &Common) -> Result<(), Failure> {
    answer(verb)?.show(common.format())
}

/// Computes.
pub fn answer(verb: &Moments) -> Result<Exact, Failure> {
    let network = network(verb)?;
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

impl Document for Exact {
    fn text(&self) -> String {
        table(self).to_text()
    }

    fn data(&self) -> Table {
        table(self)
    }

    fn summary(&self) -> (Vec<String>, Table) {
        (vec![], table(self))
    }
}

fn network(verb: &Moments) -> Result<FullyConnected, Failure> {
    let spec = match (&verb.model, &verb.widths) {
        (Some(model), _) => Spec::load(model)?,
        (None, Some(Widths(widths))) => {
            let (inputs, hidden) =
                widths.split_first().map_or((1, &[][..]), |(inputs, hidden)| (*inputs, hidden));
            Spec::FullyConnected(FullyConnected {
                inputs,
                outputs: 1,
                ..FullyConnected::mnist(1, hidden.to_vec())
            })
        }
        (None, None) => return Err(Failure::User("give a model or --widths".into())),
    };
    spec.check()?;
    match spec {
        Spec::FullyConnected(network) if network.widths.is_empty() => Err(Failure::User(
            "a network without hidden layers has a constant kernel; give at least one hidden width".into(),
        )),
        Spec::FullyConnected(network) if network.activation == Activation::Relu => Ok(network),
        other => Err(Failure::User(format!(
            "exact moments are known for fully connected ReLU networks only, not for {other}; `collegial fit` samples others"
        ))),
    }
}

fn table(document: &Exact) -> Table {
    let mut table = Table::new(&[("quantity", Align::Left), ("value", Align::Right)]);
    let widths: Vec<String> = document.widths.iter().map(ToString::to_string).collect();
    table.push(["widths, the input's first".into(), widths.join(",")]);
    table.push(["members m".into(), document.members.to_string()]);
    table.push(["E[K] at |x|^2 = n_0".into(), significant(document.mean, 6)]);
    table.push(["E[K^2] / E[K]^2".into(), significant(document.second_moment_ratio, 10)]);
    table.push(["Var[K] / E[K]^2".into(), significant(document.variance, 10)]);
    table.push(["the same of one member".into(), significant(document.member_variance, 10)]);
    table.push(["effective alpha".into(), significant(document.effective_alpha, 6)]);
    table
}
