//! Exact mean and second moment of K(x, x) for bias-free fully connected ReLU networks, without sampling.
//!
//! At one input a ReLU network has the law of a linear network with independent Bernoulli(1/2) masks: the sign of a neuron's
//! incoming row can be flipped and absorbed by its outgoing column. With hidden widths n_1..n_H, let T_l, l = 1..H+1, be layer l's
//! contribution to the kernel, divided by its mean (all layers have the same). Fourth moments multiply along the layers:
//!
//! > F_k = prod over i <= k of (1 + 5/n_i),   B_l = prod over i >= l of (1 + 5/n_i),   E[T_l^2] = F_{l-1} B_l.
//!
//! For l < l' the forward activations h behind layer l' - 1 and the derivatives R that layer l's contribution carries there are
//! dependent; by symmetry E[h_i h_j R_k R_l] = p d_ij d_kl + q (d_ik d_jl + d_il d_jk), and one layer of width w maps
//! (p, q) to (4/w^2) (w(p+2q)/2 + w(w-1)p/4, w(p+2q)/2 + w(w-1)q/4), starting from (1, 0) at layer l.

use serde::Serialize;

use crate::Error;

/// Mean and second moment of the diagonal kernel entry.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct ExactMoments {
    /// E[K(x, x)] for an input with |x|^2 = n_0, which every standard normal input has on average. (It scales with |x|^2.)
    pub mean: f64,
    /// E[K^2] / E[K]^2, whatever the input.
    pub second_moment_ratio: f64,
}

impl ExactMoments {
    /// Var[K] / E[K]^2.
    pub fn variance(&self) -> f64 {
        self.second_moment_ratio - 1.0
    }

    /// The α with which the law e^{α S} - 1 gives this variance, S being the sum of inverse fan-ins.
    pub fn effective_alpha(&self, inverse_fan_in_sum: f64) -> f64 {
        self.second_moment_ratio.ln() / inverse_fan_in_sum
    }
}

/// The exact moments for the given hidden widths, in O(layers^2).
///
/// ```
/// let moments = collegial_ntk::exact::moments(&[8, 8, 8])?;
/// assert_eq!(moments.second_moment_ratio, 2.986328125);
/// # Ok::<(), collegial_ntk::Error>(())
/// ```
pub fn moments(hidden: &[usize]) -> Result<ExactMoments, Error> {
    if let Some(layer) = hidden.iter().position(|&width| width == 0) {
        return Err(Error::Widths(format!(
            "hidden layer {} has width 0; widths must be at least 1",
            layer + 1
        )));
    }
    let widths: Vec<f64> = hidden.iter().map(|&width| width as f64).collect();
    // Every layer contributes 1 to the mean: gains of 2 undo the masks, and the last layer's is 1.
    let mean = (widths.len() + 1) as f64;
    Ok(ExactMoments { mean, second_moment_ratio: second_moment_ratio(&widths) })
}

/// E[K^2] / E[K]^2 for positive hidden widths, real-valued ones included: it is a sum of products of inverse widths.
pub fn second_moment_ratio(widths: &[f64]) -> f64 {
    let layers = widths.len() + 1;
    let (forward, backward) = fourth_moments(widths);
    let mut sum = 0.0;
    for first in 0..layers {
        sum += forward[first] * backward[first];
        let (mut p, mut q) = (1.0, 0.0);
        for (later, &w) in widths.iter().enumerate().skip(first) {
            let scale = 4.0 / (w * w);
            let active = w * (p + 2.0 * q) / 2.0;
            (p, q) = (scale * (active + w * (w - 1.0) * p / 4.0), scale * (active + w * (w - 1.0) * q / 4.0));
            sum += 2.0 * forward[first] * p * backward[later + 1];
        }
    }
    sum / (layers * layers) as f64
}

/// F_0..F_H and B_1..B_{H+1}, both indexed from 0.
fn fourth_moments(widths: &[f64]) -> (Vec<f64>, Vec<f64>) {
    let growth = |w: &f64| 1.0 + 5.0 / w;
    let mut forward = vec![1.0];
    for w in widths {
        forward.push(forward[forward.len() - 1] * growth(w));
    }
    let mut backward = vec![1.0];
    for w in widths.iter().rev() {
        backward.push(backward[backward.len() - 1] * growth(w));
    }
    backward.reverse();
    (forward, backward)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn closed_values() {
        assert_eq!(moments(&[6, 5]).unwrap().second_moment_ratio, 2.6);
        assert_eq!(moments(&[8, 8, 8]).unwrap().second_moment_ratio, 2.986_328_125);
        assert_eq!(moments(&[]).unwrap(), ExactMoments { mean: 1.0, second_moment_ratio: 1.0 });
    }

    #[test]
    fn variance_vanishes_with_width_like_its_inverse() {
        let wide = moments(&[100_000; 3]).unwrap().variance();
        let wider = moments(&[200_000; 3]).unwrap().variance();
        assert!((wide / wider - 2.0).abs() < 1e-3);
    }

    #[test]
    fn the_order_of_widths_can_be_reversed() {
        let (a, b) = (moments(&[3, 7, 20]).unwrap(), moments(&[20, 7, 3]).unwrap());
        assert!((a.second_moment_ratio - b.second_moment_ratio).abs() < 1e-12);
    }

    #[test]
    fn a_width_of_zero_is_refused() {
        let sentence = moments(&[4, 0]).unwrap_err().to_string();
        assert_eq!(sentence, "hidden layer 2 has width 0; widths must be at least 1");
    }
}
