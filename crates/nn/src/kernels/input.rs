//! Input of a convolution: an array, or the norm and ReLU of one, applied as it is read.
//!
//! A norm in front of a convolution need not be stored: every kernel copies its input into a layout
//! of its own (panels, padded images, transformed tiles), and can apply the norm on the way. The
//! arithmetic is that of the passes over memory, without fused multiply-adds, so that results have
//! the bits that a stored norm would give.

use super::simd::Vector;
use collegial_core::multiversion;

/// An input of `[image][channel][pixel]`, read through an affine map where there is one.
#[derive(Clone, Copy)]
pub(crate) struct Input<'a> {
    pub values: &'a [f32],
    pub through: Option<Affine<'a>>,
}

impl<'a> Input<'a> {
    /// The values as they are.
    pub(crate) fn plain(values: &'a [f32]) -> Self {
        Self { values, through: None }
    }

    /// The map of a channel, counted over all groups.
    pub(crate) fn channel(&self, channel: usize) -> Option<ChannelMap> {
        self.through.map(|through| through.channel(channel))
    }
}

/// `max(slope x + shift, floor)`, a slope and a shift for every channel: a norm, and a ReLU if the
/// floor is 0.
#[derive(Clone, Copy)]
pub(crate) struct Affine<'a> {
    pub slopes: &'a [f32],
    pub shifts: &'a [f32],
    /// 0 for a ReLU, minus infinity for none.
    pub floor: f32,
}

impl Affine<'_> {
    /// Of channels from one on.
    pub(crate) fn from(self, channel: usize) -> Self {
        Self { slopes: &self.slopes[channel..], shifts: &self.shifts[channel..], ..self }
    }

    pub(crate) fn channel(&self, channel: usize) -> ChannelMap {
        ChannelMap { slope: self.slopes[channel], shift: self.shifts[channel], floor: self.floor }
    }
}

/// The map of one channel.
#[derive(Clone, Copy)]
pub(crate) struct ChannelMap {
    slope: f32,
    shift: f32,
    floor: f32,
}

impl ChannelMap {
    /// A NaN stays, so that divergence shows.
    #[inline(always)]
    pub(crate) fn of(self, x: f32) -> f32 {
        let x = self.slope * x + self.shift;
        if x < self.floor { self.floor } else { x }
    }

    /// The same of eight values.
    ///
    /// # Safety
    ///
    /// As for [`Vector`].
    #[inline(always)]
    pub(crate) unsafe fn of_vector<V: Vector>(self, x: V) -> V {
        // SAFETY: the caller's.
        unsafe { V::splat(self.floor).max(V::splat(self.slope).mul(x).add(V::splat(self.shift))) }
    }
}

multiversion! {
    /// Replaces values of a channel by their images.
    pub(crate) fn map_in_place(x: &mut [f32], map: ChannelMap) {
        for x in x {
            *x = map.of(*x);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernels::{Conv, ConvShape, Isa, Method, Operands};
    use proptest::prelude::*;

    fn values(len: usize, seed: f32) -> Vec<f32> {
        (0..len).map(|i| ((i as f32 + seed) * 0.71).sin() * 3.0).collect()
    }

    fn bits(values: &[f32]) -> Vec<u32> {
        values.iter().map(|x| x.to_bits()).collect()
    }

    /// Both passes that read an input give the bits that a stored norm gives.
    fn check(shape: ConvShape, isa: Isa, method: Method, floor: f32) {
        let conv = Conv::with_method(shape, isa, method).expect("a valid shape");
        let (channels, pixels) = (shape.groups * shape.inputs, shape.in_pixels());
        let x = values(shape.batch * channels * pixels, 1.0);
        let (slopes, shifts) = (values(channels, 2.0), values(channels, 3.0));
        let through = Affine { slopes: &slopes, shifts: &shifts, floor };
        let stored: Vec<f32> = x
            .iter()
            .enumerate()
            .map(|(i, x)| slopes[i / pixels % channels] * x + shifts[i / pixels % channels])
            .map(|x| if x < floor { floor } else { x })
            .collect();
        let out_len = shape.batch * shape.groups * shape.outputs * shape.out_pixels();
        let (weights, gradient) = (values(shape.weight_len(), 4.0), values(out_len, 5.0));
        // Miri has zeros at once, and fills an array number by number.
        let blank = if cfg!(miri) { 0.0 } else { f32::NAN };
        let mut scratch = vec![blank; conv.scratch_len(rayon::current_num_threads())];
        let input = Input { values: &x, through: Some(through) };

        let mut outputs = [vec![0.0; out_len], vec![0.0; out_len]];
        conv.forward(&stored, &weights, &mut outputs[0], &mut scratch);
        let operands = Operands { input, ..Operands::plain(&stored, &weights) };
        conv.forward_of(operands, &mut outputs[1], &mut scratch);
        assert_eq!(bits(&outputs[0]), bits(&outputs[1]), "{shape:?} {isa:?} {method:?}");

        let mut gradients = [vec![0.0; weights.len()], vec![0.0; weights.len()]];
        conv.weight_gradient(&stored, &gradient, &mut gradients[0], &mut scratch);
        conv.weight_gradient_of(input, &gradient, &mut gradients[1], &mut scratch);
        assert_eq!(bits(&gradients[0]), bits(&gradients[1]), "{shape:?} {isa:?} {method:?}");
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn reading_through_a_norm_has_the_bits_of_a_stored_one(
            (batch, groups) in (1_usize..4, 1_usize..4),
            (inputs, outputs) in (1_usize..40, 1_usize..40),
            (height, width) in (1_usize..12, 1_usize..20),
            (kernel, stride) in (prop_oneof![Just(1_usize), Just(3)], 1_usize..3),
            relu in any::<bool>(),
            method in prop_oneof![Just(Method::Fastest), Just(Method::Winograd2), Just(Method::Winograd4)],
        ) {
            let padding = kernel / 2;
            let shape = ConvShape { batch, groups, inputs, outputs, height, width, kernel, stride, padding };
            let floor = if relu { 0.0 } else { f32::NEG_INFINITY };
            for isa in Isa::ALL.into_iter().filter(|isa| isa.is_available()) {
                check(shape, isa, method, floor);
            }
        }
    }

    /// Every way to read an input, small enough for Miri.
    #[test]
    fn smallest_inputs_are_read_through_a_norm() {
        let unit = ConvShape::grouped3x3(1, 1, 1, 1, 1);
        for (shape, method) in [
            (ConvShape { inputs: 2, width: 2, ..unit }, Method::Direct),
            (ConvShape { inputs: 2, width: 3, ..unit }, Method::Winograd2),
            (ConvShape::pointwise(1, 32, 32, 1, 1), Method::Fastest),
        ] {
            for isa in Isa::ALL.into_iter().filter(|isa| isa.is_available()) {
                check(shape, isa, method, 0.0);
            }
        }
    }

    /// Layers of thin networks and their edges: groups of 7 and 10, one pixel, one column, planes
    /// that are read in place otherwise, products with a stride and with shared pixels.
    #[test]
    fn layers_of_thin_networks() {
        let shape = |[batch, groups, inputs, outputs, height, width, kernel, stride]: [usize; 8]| {
            let padding = kernel / 2;
            ConvShape { batch, groups, inputs, outputs, height, width, kernel, stride, padding }
        };
        for sizes in [
            [2, 1, 100, 256, 16, 16, 1, 1],
            [2, 1, 16, 64, 16, 16, 1, 1],
            [1, 3, 40, 33, 8, 8, 1, 2],
            [1, 1, 64, 500, 1, 1, 1, 1],
            [1, 4, 10, 10, 1, 48, 1, 1],
            [3, 5, 10, 10, 16, 16, 3, 1],
            [3, 5, 10, 10, 16, 16, 3, 2],
            [1, 4, 7, 7, 9, 1, 3, 1],
            [2, 2, 4, 4, 32, 32, 3, 2],
            [2, 1, 64, 32, 8, 8, 3, 1],
            [2, 1, 64, 32, 8, 8, 3, 2],
        ] {
            for isa in Isa::ALL.into_iter().filter(|isa| isa.is_available()) {
                check(shape(sizes), isa, Method::Fastest, 0.0);
            }
        }
    }
}
