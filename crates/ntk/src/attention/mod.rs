//! The law of an attention head's tangent kernel, without its weights.
//!
//! Tokens x_t of d features have the Gram matrix G = X X^T / d. A head of width n reads the query
//! token x_0 and has, in the NTK parametrisation, one output unit
//!
//! > f = w·o / √n,  o = Σ_t a_t v_t,  a = softmax_t(s q·k_t / √n),
//!
//! with q = W_Q x_0 / √d, k_t = W_K x_t / √d, v_t = W_V x_t / √d and standard normal weights; s is 1,
//! or 1/√n for [`Logits::InverseWidth`]. What the four gradients need of the weights is little:
//!
//! - q has length |q|^2 = G_00 χ²_n, and the keys along q are a Gaussian vector z ~ N(0, G), so that
//!   a = softmax(s √qq z) with qq = |q|^2 / n;
//! - w has length |w|^2 = χ²_n, and the values along w are g ~ N(0, G), independent of z; so the
//!   output moves with logit t by b_t = √ww a_t (g_t - a·g), ww = |w|^2 / n;
//! - the other n - 1 coordinates of o and of Σ_t b_t k_t are independent Gaussians of variance A =
//!   a^T G a and B = b^T G b.
//!
//! Hence, with two more chi-squares,
//!
//! > K_value = ww A,  K_output = ((a·g)^2 + A χ²_{n-1}) / n,
//! > K_key = s² qq B,  K_query = s² G_00 ((b·z)^2 + B χ²_{n-1}) / n,
//!
//! and K is their sum: 2 T normal numbers and four chi-squares per draw.
//!
//! **Heads that share keys and values** (grouped queries). r heads with queries q_i and output
//! weights w_i read the same k_t and v_t; their outputs are added and divided by √r. The lengths qq
//! and ww become r x r Wishart matrices, Q_ij = q_i·q_j / n and W_ij = w_i·w_j / n; keys are Gaussian
//! along each of the p = min(r, n) directions that the queries span, and values along those of the
//! w_i. The gradients of the shared matrices now hold products of different heads:
//!
//! > K_value = Σ_ij W_ij A_ij / r,  K_key = s² Σ_ij Q_ij B_ij / r
//!
//! with A_ij = a_i^T G a_j and B_ij = b_i^T G b_j. Those of the matrices that every head has for itself
//! are means over heads, of |o_i|^2 / n and of s² G_00 |Σ_t b_it k_t|^2 / n; the n - p directions left
//! add the trace of a Wishart matrix of covariance A (or B) to them. r = 1 is the law above.
//!
//! The main type is [`Head`].

mod depth;
mod tokens;
mod wishart;

use crate::Error;
use crate::sampler::Factor;
use collegial_arch::Attention;
pub use collegial_arch::{Logits, NormOrder};
use collegial_core::{Moments, Monitor, Rng, sample_blocks};
pub use depth::{Block, correlations};
pub use tokens::Tokens;
use wishart::Bartlett;

/// Draws that are made one after another.
const BLOCK: u64 = 64;

/// An attention head, or several that share keys and values, seen at one query token.
#[derive(Clone, Debug)]
pub struct Head {
    tokens: Tokens,
    query: usize,
    width: usize,
    sharing: usize,
    logits: Logits,
}

/// A draw of the kernel, by the matrix that is differentiated.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Terms {
    /// By the value matrix.
    pub value: f64,
    /// By the output matrix.
    pub output: f64,
    /// By the key matrix.
    pub key: f64,
    /// By the query matrix.
    pub query: f64,
}

impl Terms {
    /// K.
    pub fn total(&self) -> f64 {
        self.value + self.output + self.key + self.query
    }
}

impl Head {
    /// A head of width n (at least 1) that sees all tokens; its query is the first. By default it
    /// shares nothing, and its logits are divided by √n.
    pub fn new(tokens: Tokens, width: usize) -> Self {
        Self { tokens, query: 0, width: width.max(1), sharing: 1, logits: Logits::default() }
    }

    /// The heads of an attention layer that share keys and values; a causal one is seen at its last
    /// token, which sees all others. The layer's kernel is the mean over such groups of heads.
    ///
    /// # Errors
    ///
    /// As [`Tokens::correlated`].
    pub fn of_layer(layer: &Attention) -> Result<Self, Error> {
        let tokens = Tokens::correlated(layer.tokens, layer.correlation)?;
        let query = if layer.causal { layer.tokens - 1 } else { 0 };
        Ok(Self::new(tokens, layer.width).query(query).sharing(layer.sharing()).logits(layer.logits))
    }

    /// With another width.
    #[must_use]
    pub fn with_width(self, width: usize) -> Self {
        Self { width: width.max(1), ..self }
    }

    /// Seen at another query token; one behind the last means the last.
    #[must_use]
    pub fn query(self, token: usize) -> Self {
        Self { query: token.min(self.tokens.count() - 1), ..self }
    }

    /// A causal head seen at a token: tokens behind it are not there.
    #[must_use]
    pub fn causal(self, token: usize) -> Self {
        let tokens = self.tokens.first(token + 1);
        Self { query: tokens.count() - 1, tokens, ..self }
    }

    /// How many query heads share the keys and values; by default 1.
    #[must_use]
    pub fn sharing(self, heads: usize) -> Self {
        Self { sharing: heads.max(1), ..self }
    }

    /// By default [`Logits::InverseRoot`].
    #[must_use]
    pub fn logits(self, logits: Logits) -> Self {
        Self { logits, ..self }
    }

    /// How many tokens it sees.
    pub fn tokens(&self) -> usize {
        self.tokens.count()
    }

    /// Moments of K over draws with these trial numbers; `None` where the monitor stopped it. They
    /// are the same bits on any number of threads.
    pub fn moments(&self, seed: u64, stream: u32, trials: u64, monitor: &dyn Monitor) -> Option<Moments> {
        let moments = sample_blocks(0..trials, BLOCK, |trials| {
            let mut scratch = Scratch::default();
            let live = trials.take_while(|_| !monitor.stopped());
            live.map(|trial| self.draw(&mut scratch, &mut Rng::new(seed, stream, trial)).total()).collect()
        });
        (!monitor.stopped()).then_some(moments)
    }

    /// One draw of the kernel.
    pub fn draw(&self, scratch: &mut Scratch, rng: &mut Rng) -> Terms {
        let Scratch { along, keys, values, weights, slopes, factor } = scratch;
        let (count, heads) = (self.tokens.count(), self.sharing);
        let directions = self.width.min(heads);
        let own = self.tokens.variance(self.query);
        let scale = self.logit_scale();

        let queries = Bartlett::draw(heads, self.width, rng).scaled(own.sqrt());
        let outputs = Bartlett::draw(heads, self.width, rng);
        self.tokens.draw(directions, along, keys, rng);
        self.tokens.draw(directions, along, values, rng);

        weights.clear();
        slopes.clear();
        for head in 0..heads {
            let start = head * count;
            weights.extend(queries.combine(head, keys, count).map(|logit| scale * logit));
            softmax(&mut weights[start..]);
            slopes.extend(outputs.combine(head, values, count));
            let (weights, slopes) = (&weights[start..], &mut slopes[start..]);
            let mean = dot(weights, slopes);
            slopes.iter_mut().zip(weights).for_each(|(slope, weight)| *slope = weight * (*slope - mean));
        }
        let attended = self.tokens.gram(weights);
        let moved = self.tokens.gram(slopes);
        let shared = 1.0 / heads as f64;
        Terms {
            value: shared * outputs.trace_with(&attended),
            output: shared * self.length(weights, values, &attended, factor, rng),
            key: shared * scale * scale * queries.trace_with(&moved),
            query: shared * scale * scale * own * self.length(slopes, keys, &moved, factor, rng),
        }
    }

    /// Σ_i |Σ_t c_it y_t|^2 / n for coefficients c and vectors y_t of n coordinates, of which the
    /// directions in `known` were drawn already; `gram` holds c_i^T G c_j.
    fn length(&self, c: &[f64], known: &[f64], gram: &[f64], factor: &mut Factor, rng: &mut Rng) -> f64 {
        let (count, heads, width) = (self.tokens.count(), self.sharing, self.width);
        let directions = known.chunks_exact(count);
        let free = width - directions.len();
        let along: f64 =
            c.chunks_exact(count).flat_map(|c| directions.clone().map(|y| dot(c, y).powi(2))).sum();
        (along + wishart::trace(gram, heads, free, factor, rng)) / width as f64
    }

    /// s: what q·k / √n is multiplied by.
    fn logit_scale(&self) -> f64 {
        match self.logits {
            Logits::InverseRoot => 1.0,
            Logits::InverseWidth => 1.0 / (self.width as f64).sqrt(),
        }
    }
}

/// Buffers of [`Head::draw`].
#[derive(Debug, Default)]
pub struct Scratch {
    along: Vec<f64>,
    keys: Vec<f64>,
    values: Vec<f64>,
    weights: Vec<f64>,
    slopes: Vec<f64>,
    factor: Factor,
}

fn softmax(logits: &mut [f64]) {
    let largest = logits.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    logits.iter_mut().for_each(|logit| *logit = (*logit - largest).exp());
    let sum: f64 = logits.iter().sum();
    logits.iter_mut().for_each(|weight| *weight /= sum);
}

fn dot(x: &[f64], y: &[f64]) -> f64 {
    x.iter().zip(y).map(|(x, y)| x * y).sum()
}
