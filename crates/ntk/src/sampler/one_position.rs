//! Chains that see one position behind their first layer: a draw is a pass over that layer and a
//! few chi-squares.
//!
//! One unit of a bottleneck block or of a fully connected network, at one input, is such a chain if
//! its layers are linear or ReLU. From the second layer on there is one column c, and (1) to (3) of
//! `sample.rs` need no vectors. With r = |c|^2 a layer gives H = s √r z, where z = W c / √r is
//! normal. Each of its units is on with probability 1/2 (ReLU) or always (linear), whatever |z| is
//! there: with k of them on, the next column's square is s^2 a^2 r, a^2 being the chi-square with k
//! degrees of freedom of z over the units that are on.
//!
//! Back from the last layer L, let T = s^2 r |D|^2, the layer's contribution (3). What (2) passes
//! to the layer before is s (c <z, D> / √r + |D| (I - c c^T / r) F), of which the units of the
//! layer before that are on are kept: c is nonzero there only, so the two parts stay orthogonal,
//! the second of k - 1 dimensions. Hence with b^2 a chi-square of k - 1 degrees, k and a being
//! those of the layer before,
//!
//! (4)  |D'|^2 = s^2 (<z, D>^2 + b^2 |D|^2),  and  <z', D'> = s a <z, D>,
//!
//! as z' = a c / √r over the units that are on. So y = s √r <z, D> is the same for all layers (it
//! is the output: Euler's rule for homogeneous functions), and dividing (4) by the square of the
//! column, r = s'^2 a^2 r',
//!
//! (5)  T' = (y^2 + b^2 T) / a^2,  T_L = s_L^2 r_L,  y = √T_L g  with g normal.
//!
//! A fully connected network's kernel is the sum of the T: a number of draws proportional to its
//! depth, whatever its widths.
//!
//! A first layer with P columns has X = φ(Z L^T) (channels x P, its scale in L, L L^T = s^2 Q),
//! whose entries form the column c of the layer behind it: r = |X|^2. With M the entries that are
//! on and F fresh, both (2) and (3) are sums over channels,
//!
//! (6)  D = e X + d M F  (entry by entry),  d = √(T / r),  e = (y - d <X, F>) / r, (7)  s^2 sum
//! over p, q of Q_pq <D_p, D_q> = |D L|^2 = e^2 |X L|^2 + 2 e d <X L, (M F) L> + d^2 |(M F) L|^2.

use collegial_arch::Activation;
use collegial_core::Rng;

use super::factor::Factor;
use super::first_layer_sums::FirstLayer;
use super::plan::{LinearStep, Plan, Step};

/// A chain of the kind above.
#[derive(Clone, Debug)]
pub(crate) struct OnePositionSampler {
    /// The first layer, if it has several columns.
    first: Option<FirstLayer>,
    /// r of the first layer otherwise.
    square: f64,
    /// The layers with one column, but for the last.
    hidden: Vec<OneColumn>,
    /// s_L^2
    last_square_scale: f64,
}

/// The layers of a plan that has a single column.
pub(super) struct Layers<'a> {
    /// The first, if it has several columns.
    pub first: Option<&'a LinearStep>,
    /// Those with one column, but for the last.
    hidden: Vec<&'a LinearStep>,
    last: &'a LinearStep,
}

impl<'a> Layers<'a> {
    /// Of a plan, if it has a single column.
    pub fn of(plan: &'a Plan) -> Option<Self> {
        let linear = plan.steps.iter().map(|step| match step {
            Step::Linear(step) if matches!(step.activation, Activation::None | Activation::Relu) => {
                Some(step)
            }
            _ => None,
        });
        let steps: Vec<&LinearStep> = linear.collect::<Option<_>>()?;
        let (last, before) = steps.split_last()?;
        let has_one_column = |step: &&&LinearStep| step.positions == 1;
        let single = before.iter().rev().take_while(has_one_column).count();
        if plan.inputs != 1
            || !has_one_column(&last)
            || last.activation != Activation::None
            || single + 1 < before.len()
        {
            return None;
        }
        let (first, hidden) = before.split_at(before.len() - single);
        Some(Self { first: first.first().copied(), hidden: hidden.to_vec(), last })
    }
}

#[derive(Clone, Copy, Debug)]
struct OneColumn {
    units: usize,
    relu: bool,
    square_scale: f64,
}

impl OnePositionSampler {
    /// The sampler of a plan, if it has a single column; with the Gram matrix of the first layer's
    /// patches and its factor.
    pub fn new(plan: &Plan, first_patch_gram: &[f64], first_factor: &Factor) -> Option<Self> {
        let Layers { first, hidden, last } = Layers::of(plan)?;
        Some(Self {
            first: first.map(|step| FirstLayer::new(step, first_factor)),
            square: first_patch_gram[0],
            hidden: hidden.iter().map(|step| OneColumn::new(step)).collect(),
            last_square_scale: last.scale * last.scale,
        })
    }

    /// Normal numbers that a draw takes, but for rejected ones.
    pub fn normals(&self) -> usize {
        self.first.as_ref().map_or(0, FirstLayer::normals) + 2 * self.hidden.len() + 1
    }

    /// Draws the kernel; the buffer may hold anything.
    pub fn draw(&self, buffer: &mut Vec<f32>, rng: &mut Rng) -> f64 {
        let first_layer_sums = self.first.as_ref().map(|layer| layer.draw(buffer, rng));
        let r = first_layer_sums.map_or(self.square, |sums| sums.square);
        // T_L, and the T of the layer reached and of all so far in units of it.
        let mut last = self.last_square_scale * r;
        let (mut reached, mut all) = (1.0, 1.0);
        let g = rng.normal();
        for layer in self.hidden.iter().rev() {
            let on = if layer.relu { rng.heads(layer.units) } else { layer.units };
            let (a2, b2) = (rng.chi_square(on), rng.chi_square(on.saturating_sub(1)));
            if a2 == 0.0 {
                return 0.0;
            }
            last *= layer.square_scale * a2;
            reached = (g * g + b2 * reached) / a2;
            all += reached;
        }
        match first_layer_sums {
            Some(sums) if r > 0.0 => {
                let d = (last * reached / r).sqrt();
                let e = (last.sqrt() * g - d * sums.seen) / r;
                let [xx, xf, ff] = sums.squares;
                last * all + e * e * xx + 2.0 * e * d * xf + d * d * ff
            }
            _ => last * all,
        }
    }
}

impl OneColumn {
    fn new(step: &LinearStep) -> Self {
        Self {
            units: step.outputs,
            relu: step.activation == Activation::Relu,
            square_scale: step.scale * step.scale,
        }
    }
}

#[cfg(test)]
mod tests {
    use collegial_arch::{Sequence, Spec};
    use collegial_core::{Moments, Rng};

    use crate::sampler::{KernelSampler, Output};

    fn chain(channels: usize, side: usize, layers: &str) -> Sequence {
        let input = format!("input = {{ channels = {channels}, height = {side}, width = {side} }}");
        let text = format!("kind = 'sequence'\n{input}\nlayers = [{layers}]");
        Spec::from_toml(&text).unwrap().module().unwrap().member()
    }

    fn conv(width: usize, kernel: usize, activation: &str) -> String {
        format!("{{ type = 'conv', width = {width}, kernel = {kernel}, activation = '{activation}' }},")
    }

    /// Mean and variance with their standard errors; that of a sample variance is sqrt((m4 - s^4) /
    /// n).
    fn estimates(moments: &Moments) -> [(f64, f64); 2] {
        let n = moments.count as f64;
        let variance_error = ((moments.m4 / n - (moments.m2 / n).powi(2)).max(0.0) / n).sqrt();
        [(moments.mean(), moments.standard_error()), (moments.population_variance(), variance_error)]
    }

    /// The short way against the general one. Within 4.5 standard errors of the difference: 18
    /// comparisons, seeds fixed.
    #[test]
    fn one_positions_have_the_law_of_the_general_way() {
        let relu = "relu";
        let cases = [
            ("bottleneck", chain(40, 5, &(conv(20, 1, relu) + &conv(20, 3, relu) + &conv(2, 1, "none")))),
            ("one unit", chain(12, 3, &(conv(1, 1, relu) + &conv(1, 3, relu) + &conv(1, 1, "none")))),
            ("odd widths", chain(12, 4, &(conv(131, 1, relu) + &conv(33, 3, relu) + &conv(1, 1, "none")))),
            (
                "fewer channels than columns",
                chain(2, 3, &(conv(17, 1, relu) + &conv(5, 3, relu) + &conv(1, 1, "none"))),
            ),
            (
                "a map smaller than the kernel",
                chain(6, 2, &(conv(7, 3, relu) + &conv(8, 3, relu) + &conv(1, 1, "none"))),
            ),
            ("a wide layer next to the last", chain(9, 3, &(conv(11, 1, relu) + &conv(1, 3, "none")))),
            (
                "linear layers",
                chain(
                    9,
                    3,
                    &(conv(6, 1, "none") + &conv(3, 3, "none") + &conv(4, 1, relu) + &conv(1, 1, "none")),
                ),
            ),
            (
                "one pixel",
                chain(
                    5,
                    1,
                    &(conv(6, 3, relu) + &conv(4, 1, "none") + &conv(7, 1, relu) + &conv(1, 1, "none")),
                ),
            ),
            ("one layer", chain(5, 3, &conv(1, 3, "none"))),
        ];
        for (name, chain) in cases {
            let short = KernelSampler::at_normal_input(&chain, Output::Unit, 3).unwrap();
            let mut general = short.clone();
            assert!(general.one_position.take().is_some(), "{name} has a single column");
            let draw =
                |sampler: &KernelSampler, stream| estimates(&sampler.tally(4, stream, 0..60_000).moments());
            let pairs = draw(&short, 0).into_iter().zip(draw(&general, 1));
            for (what, ((a, a_error), (b, b_error))) in ["mean", "variance"].iter().zip(pairs) {
                // A single layer's kernel is a constant, the same but for rounding.
                let error = a_error.hypot(b_error).max(1e-7 * a.abs()).max(1e-12);
                assert!((a - b).abs() <= 4.5 * error, "{name}: {what} {a} and {b} +- {error}");
            }
        }
    }

    /// The kernel is homogeneous of degree 2 in the input, exactly so for powers of 2, and far
    /// beyond what f32 holds of its fourth power.
    #[test]
    fn inputs_of_any_size_give_the_same_draw() {
        let chain = chain(8, 3, &(conv(20, 1, "relu") + &conv(20, 3, "relu") + &conv(1, 1, "none")));
        let draw = |size: f32| {
            let input: Vec<f32> = (0..72).map(|i| size * (i as f32).sin()).collect();
            let sampler = KernelSampler::at_inputs(&chain, Output::Unit, &[input]).unwrap();
            let mut kernel = [0.0];
            sampler.draw(&mut sampler.workspace(), &mut Rng::new(5, 0, 0), &mut kernel);
            kernel[0]
        };
        let one = draw(1.0);
        assert!(one > 0.0);
        for size in [2f32.powi(40), 2f32.powi(-40)] {
            assert_eq!(draw(size), one * f64::from(size).powi(2));
        }
        assert_eq!(draw(0.0), 0.0);
    }

    #[test]
    fn other_chains_go_the_general_way() {
        let one_position = |layers: String, output| {
            KernelSampler::at_normal_input(&chain(3, 3, &layers), output, 0).unwrap().one_position.is_some()
        };
        let two = |activation| conv(2, 3, activation) + &conv(1, 1, "none");
        assert!(one_position(two("relu"), Output::Unit));
        assert!(!one_position(two("relu"), Output::PooledUnit));
        assert!(!one_position(two("tanh"), Output::Unit));
        assert!(
            !one_position(conv(2, 3, "relu") + &conv(2, 3, "relu"), Output::Unit),
            "an activation on the output"
        );
        assert!(!one_position(conv(2, 3, "relu") + &conv(2, 3, "relu") + &conv(1, 3, "none"), Output::Unit));
        let inputs = vec![vec![1.0; 27], vec![0.5; 27]];
        let pair = KernelSampler::at_inputs(&chain(3, 3, &two("relu")), Output::Unit, &inputs).unwrap();
        assert!(pair.one_position.is_none());
    }
}
