//! Weights of the layers of a chain in its kernel.

use collegial_arch::{Join, Linear, Sequence};
use collegial_nn::{Fans, Parametrisation};

/// λ_l = 1/σ_l^2 of every layer, by which its contribution is multiplied: σ_l is the standard
/// deviation with which the training engine draws the layer's weights, 1 in the NTK
/// parametrisation.
///
/// The fan-out of a convolution is that of all members, so that λ depends on m as well as on the
/// widths.
#[derive(Clone, Debug)]
pub struct LayerWeights {
    parametrisation: Parametrisation,
    layers: Vec<Linear>,
    inputs: f64,
    join: Join,
}

impl LayerWeights {
    /// Of a chain's layers, whatever their widths and number of members.
    pub fn of(chain: &Sequence, parametrisation: Parametrisation) -> Self {
        let (layers, inputs) = (chain.linear_layers().collect(), chain.input.channels as f64);
        Self { parametrisation, layers, inputs, join: chain.join }
    }

    /// Of which weights.
    pub fn parametrisation(&self) -> Parametrisation {
        self.parametrisation
    }

    /// σ_l of m members of the widths n_1..n_{L-1}, both positive and perhaps real-valued.
    pub fn deviations(&self, widths: &[f64], members: f64) -> Vec<f64> {
        let of = |(index, layer): (usize, &Linear)| {
            let joins = index == widths.len() && self.join == Join::LastLayer;
            let before = index.checked_sub(1).map_or(self.inputs, |before| widths[before]);
            let width = widths.get(index).copied().unwrap_or(layer.width as f64);
            let (inputs, outputs) = match joins {
                true if index > 0 => (before * members, width),
                true => (before, width),
                false => (before, width * members),
            };
            Fans::of_linear(layer, inputs, outputs).deviation(self.parametrisation)
        };
        self.layers.iter().enumerate().map(of).collect()
    }

    /// λ_l there.
    pub fn at(&self, widths: &[f64], members: f64) -> Vec<f64> {
        self.deviations(widths, members).iter().map(|deviation| deviation.powi(-2)).collect()
    }

    /// How many members the output is a sum of; a scaled sum counts as one.
    pub(super) fn summed(&self, members: usize) -> f64 {
        match self.join {
            Join::LastLayer => members as f64,
            Join::ScaledSum => 1.0,
        }
    }
}
