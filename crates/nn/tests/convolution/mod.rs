//! The definition of a convolution, fixed operands and runs of the kernels, for their tests.

use collegial_nn::kernels::{Conv, ConvShape, Isa};

pub const PASSES: [&str; 3] = ["forward", "data gradient", "weight gradient"];

/// Deterministic values in [-1, 1), from a counter (SplitMix64).
pub fn values(len: usize, seed: u64) -> Vec<f32> {
    let draw = |i: usize| {
        let mut z = (i as u64).wrapping_add(seed << 32).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        ((z >> 40) as f32) / (1 << 23) as f32 - 1.0
    };
    (0..len).map(draw).collect()
}

/// Inputs, weights and gradients of the output.
pub struct Data {
    pub input: Vec<f32>,
    pub weights: Vec<f32>,
    pub out_grad: Vec<f32>,
}

impl Data {
    pub fn new(s: &ConvShape) -> Self {
        Self {
            input: values(s.input_len(), 1),
            weights: values(s.weight_len(), 2),
            out_grad: values(s.output_len(), 3),
        }
    }

    /// The factors of a multiplication that [`definition`] visits.
    pub fn factors(&self, input: usize, weight: usize, output: usize) -> [f64; 3] {
        [self.input[input], self.weights[weight], self.out_grad[output]].map(f64::from)
    }
}

/// Calls `visit(input index, weight index, output index)` for every multiplication of the
/// convolution.
pub fn definition(s: &ConvShape, mut visit: impl FnMut(usize, usize, usize)) {
    let (out_height, out_width) = (s.out_height(), s.out_width());
    for n in 0..s.batch {
        for o in 0..s.groups * s.outputs {
            for c in 0..s.inputs {
                let channel = (n * s.groups + o / s.outputs) * s.inputs + c;
                for (kh, kw) in (0..s.kernel * s.kernel).map(|p| (p / s.kernel, p % s.kernel)) {
                    for (i, j) in (0..out_height * out_width).map(|p| (p / out_width, p % out_width)) {
                        let y = (i * s.stride + kh).wrapping_sub(s.padding);
                        let x = (j * s.stride + kw).wrapping_sub(s.padding);
                        if y < s.height && x < s.width {
                            visit(
                                (channel * s.height + y) * s.width + x,
                                ((o * s.inputs + c) * s.kernel + kh) * s.kernel + kw,
                                ((n * s.groups * s.outputs + o) * out_height + i) * out_width + j,
                            );
                        }
                    }
                }
            }
        }
    }
}

/// Output, data gradient and weight gradient, with scratch and results full of NaN before: neither
/// may be read before it is written.
pub fn run(conv: &Conv, data: &Data, threads: usize) -> [Vec<f32>; 3] {
    let s = conv.shape();
    let mut results = [s.output_len(), s.input_len(), s.weight_len()].map(|len| vec![f32::NAN; len]);
    // Miri has zeros at once, and fills an array number by number.
    let blank = if cfg!(miri) { 0.0 } else { f32::NAN };
    let mut scratch = vec![blank; conv.scratch_len(threads)];
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("a pool starts");
    pool.install(|| {
        let [output, in_grad, weight_grad] = &mut results;
        conv.forward(&data.input, &data.weights, output, &mut scratch);
        if !cfg!(miri) {
            scratch.fill(blank);
        }
        conv.data_gradient(&data.out_grad, &data.weights, in_grad, &mut scratch);
        if !cfg!(miri) {
            scratch.fill(blank);
        }
        conv.weight_gradient(&data.input, &data.out_grad, weight_grad, &mut scratch);
    });
    results
}

/// The instruction sets that this CPU has, widest first.
pub fn available() -> impl Iterator<Item = Isa> {
    Isa::ALL.into_iter().filter(|isa| isa.is_available())
}
