//! Learning rates per layer of fully connected members.
//!
//! In the standard parametrisation a step of Adam moves every weight by about the rate, so a
//! pre-activation moves by about rate x fan-in, and the output of m members by rate x fan-in x
//! sqrt(m). With n_0 the width of the network for which the rate was chosen, equal moves need
//!
//! > first layer: rate,  inner layers: rate n_0 / n,  output: rate n_0 / (n sqrt(m)).

use collegial_arch::{Graph, Op};

use crate::Error;

/// The factor of every parameter's rate, by name, relative to one member of width `reference`.
///
/// # Errors
///
/// If a layer with weights is not fully connected.
pub fn layer_rates(graph: &Graph, reference: usize) -> Result<Vec<(String, f64)>, Error> {
    let mut layers = vec![];
    for node in &graph.nodes {
        match node.op {
            Op::Dense { groups, .. } => {
                layers.push((node, graph.nodes[node.inputs[0]].shape.channels / groups, groups));
            }
            Op::Conv { .. } => {
                return Err(Error::Invalid(format!(
                    "rates_by_fan_in is for fully connected networks; {layer} is a convolution",
                    layer = node.name
                )));
            }
            _ => {}
        }
    }
    let last = layers.len().saturating_sub(1);
    let factor = |index: usize, fan_in: usize, groups: usize| match index {
        0 => 1.0,
        _ if index == last => reference as f64 / (fan_in as f64 * (groups as f64).sqrt()),
        _ => reference as f64 / fan_in as f64,
    };
    let rate = |(index, &(node, fan_in, groups)): (usize, &(&collegial_arch::Node, usize, usize))| {
        (node.name.to_string(), factor(index, fan_in, groups))
    };
    Ok(layers.iter().enumerate().map(rate).collect())
}

#[cfg(test)]
mod tests {
    use collegial_arch::Spec;

    use super::*;

    fn factors(name: &str) -> Result<Vec<f64>, Error> {
        let graph = name.parse::<Spec>().unwrap().graph().unwrap();
        Ok(layer_rates(&graph, 200)?.into_iter().map(|(_, factor)| factor).collect())
    }

    #[test]
    fn layers_inside_thin_members_learn_faster() {
        assert_eq!(factors("fc3-200").unwrap(), [1.0, 1.0, 1.0]);
        assert_eq!(factors("fc4-16x5").unwrap(), [1.0, 40.0, 40.0, 10.0]);
    }

    #[test]
    fn convolutions_are_refused() {
        let said = factors("resnext29-10x10d").unwrap_err().to_string();
        assert!(said.contains("conv1") && said.contains("fully connected"), "{said}");
    }
}
