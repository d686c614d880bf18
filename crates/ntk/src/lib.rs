//! Tangent kernels of networks at initialisation.
//!
//! The variance of the empirical NTK is what the paper's method rests on. Three ways lead to it,
//! each the oracle of the next: [`exact`] moments (ReLU chains of dense layers and convolutions,
//! bottleneck blocks), the [`KernelSampler`] (any chain of layers, without drawing a weight matrix),
//! and [`explicit`] weights (any network, N x N).
//!
//! [`tiles`] computes kernels between so many inputs that they go to a file piece by piece, and
//! [`regression`] is what people compute them for.
//!
//! [`NetworkDraws`] measures the kernel of a whole network over initialisations, norms over a batch
//! included.
//!
//! [`attention`] has the law of attention heads, and [`feed_forward`] the constants of the layers between
//! them.
//!
//! The main type is [`KernelSampler`]; [`Fit`] is the paper's Algorithm 1 on top of it.
//!
//! # A network of one's own
//!
//! A residual network that no spec describes: built layer by layer, trained for a few steps on
//! made-up images, and its kernel before and after.
//!
//! ```
//! use collegial_arch::{Activation, Conv, Dense, Graph, Shape};
//! use collegial_nn::{Mode, Network, Optimiser, UpdateRule, cross_entropy};
//! use collegial_ntk::explicit::{ExplicitKernel, NormPolicy, Options};
//!
//! let mut graph = Graph::new(Shape { channels: 2, height: 6, width: 6 })?;
//! let stem = graph.conv("stem", graph.input(), Conv::new(8, 3))?;
//! let norm = graph.batch_norm("norm", stem)?;
//! let first = graph.activation("first", norm, Activation::Relu)?;
//! let grouped = graph.conv("grouped", first, Conv::new(8, 3).groups(4))?;
//! let sum = graph.add("sum", grouped, first)?;
//! let second = graph.activation("second", sum, Activation::Relu)?;
//! let pooled = graph.global_average_pool("pooled", second)?;
//! graph.dense("classes", pooled, Dense::new(2).bias(true))?;
//!
//! // Images of class 0 are bright on the left, those of class 1 on the right.
//! let pixel = |n: usize, at: usize| {
//!     if (at % 6 < 3) == (n % 2 == 0) { 1.0 } else { (n + at) as f32 / 90.0 }
//! };
//! let images: Vec<Vec<f32>> = (0..8).map(|n| (0..72).map(|at| pixel(n, at)).collect()).collect();
//! let labels: Vec<usize> = (0..8).map(|n| n % 2).collect();
//!
//! let mut network = Network::builder(&graph).seed(1).build()?;
//! let options = Options { norm: NormPolicy::Frozen, ..Options::default() };
//! let kernel = ExplicitKernel::new(&graph, options, &images[..2])?;
//! let before = kernel.at(&network.tensors())?;
//!
//! let mut optimiser = Optimiser::new(UpdateRule::SGD, network.values().len());
//! let mut losses = vec![];
//! for _ in 0..60 {
//!     let logits = network.forward(&images.concat(), Mode::Train)?;
//!     let mut gradient = vec![0.0; logits.len()];
//!     losses.push(cross_entropy(logits, &labels, &mut gradient)?);
//!     network.backward(&gradient)?;
//!     network.update(&mut optimiser, 0.05)?;
//! }
//! assert!(losses[59] < 0.5 * losses[0], "it learns: {losses:?}");
//! let after = kernel.at(&network.tensors())?;
//! assert!(before[0] > 0.0 && after[0] != before[0] && after[1] == after[2]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub mod attention;
pub mod covariance;
pub mod draws;
mod error;
pub mod exact;
pub mod explicit;
pub mod feed_forward;
pub mod fit;
pub mod mean_kernel;
pub mod regression;
mod sampler;
pub mod tiles;

pub use draws::NetworkDraws;
pub use error::{Error, Obstacle};
pub use exact::{ExactMoments, OnePosition};
pub use explicit::ExplicitKernel;
pub use fit::Fit;
pub use sampler::{BLOCK, KernelSampler, Output, Workspace};
pub use tiles::TiledKernel;
