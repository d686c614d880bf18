//! Theorem 1: how far training moves the tangent kernel of m networks of width n.
//!
//! As the theorem wants it: NTK parametrisation, an analytic activation, half the squared error,
//! and gradient descent on all images in steps so small that it follows the gradient flow. The
//! kernel is that of the one output, between a few images.

use collegial_arch::{Activation, FullyConnected, Spec};
use collegial_core::{Interval, bootstrap};
use collegial_nn::{Mode, Network, Optimiser, Parametrisation, UpdateRule, half_squares};
use collegial_ntk::explicit::{ExplicitKernel, Options};
use collegial_train::data::{Dataset, Split};
use serde::{Deserialize, Serialize};

use crate::mean;
use crate::reproduce::Error;

/// The stream of random numbers that is ours ("slop").
const STREAM: u32 = 0x736c_6f70;

/// Images to train on: each scaled to the length sqrt(n_0), with a target of -1 or 1.
pub struct Task {
    inputs: Vec<Vec<f32>>,
    targets: Vec<f32>,
}

impl Task {
    /// The first training images of a data set in memory; the upper half of the classes is 1.
    ///
    /// # Errors
    ///
    /// If the images are photographs, or there are too few.
    pub fn new(dataset: &Dataset, images: usize) -> Result<Self, Error> {
        let Split::Stored(stored) = dataset.train() else {
            return Err(Error::experiment(
                "the data set",
                "the tangent kernel is followed on stored images, not on photographs",
            ));
        };
        let scaled = |bytes: &[u8]| {
            let length = bytes.iter().map(|&byte| f64::from(byte).powi(2)).sum::<f64>().sqrt().max(1.0);
            let scale = (bytes.len() as f64).sqrt() / length;
            bytes.iter().map(|&byte| (f64::from(byte) * scale) as f32).collect()
        };
        let inputs: Vec<Vec<f32>> = (0..images).map_while(|index| stored.image(index)).map(scaled).collect();
        if inputs.len() < images || images == 0 {
            let reason = format!("{images} images are wanted, it has {found}", found = inputs.len());
            return Err(Error::experiment("the data set", reason));
        }
        let upper = |&label: &u16| if usize::from(label) < dataset.classes() / 2 { -1.0 } else { 1.0 };
        Ok(Self { inputs, targets: stored.labels()[..images].iter().map(upper).collect() })
    }
}

/// How the kernel is followed.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Descent {
    /// Weight matrices L.
    pub depth: usize,
    /// Passes over all images, one step each.
    pub epochs: u32,
    /// The rate of a step.
    pub rate: f64,
    /// Between how many of the images the kernel is taken.
    pub kernel_images: usize,
}

/// m networks of width n.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ensemble {
    /// The multiplicity m.
    pub members: usize,
    /// The width n.
    pub width: usize,
}

impl Ensemble {
    /// m n, which Theorem 1 says is all that counts.
    pub fn size(self) -> f64 {
        (self.members * self.width) as f64
    }

    /// The ensemble of one output on so many inputs.
    pub fn spec(self, inputs: usize, depth: usize) -> Spec {
        Spec::FullyConnected(FullyConnected {
            inputs,
            outputs: 1,
            members: self.members,
            activation: Activation::Erf,
            widths: vec![self.width; depth.saturating_sub(1)],
        })
    }
}

/// What training did to the kernel.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Change {
    /// The mean of |K| over all entries off the diagonal, before.
    pub before: f64,
    /// The mean of |K after - K before| over the same entries.
    pub change: f64,
    /// The loss before and after.
    pub loss: [f64; 2],
}

/// Draws an ensemble, trains it and compares its kernels.
///
/// # Errors
///
/// If the network cannot be built; `stopped` is asked before every step.
pub fn change(
    ensemble: Ensemble,
    task: &Task,
    descent: &Descent,
    seed: u64,
    stopped: &dyn Fn() -> bool,
) -> Result<Change, Error> {
    let (images, inputs) = (task.inputs.len(), task.inputs[0].len());
    let graph = ensemble.spec(inputs, descent.depth).graph()?;
    let mut network = Network::builder(&graph).batch(images).parametrisation(Parametrisation::Ntk).build()?;
    network.initialise(seed);
    let shown = descent.kernel_images.min(images);
    let kernel = ExplicitKernel::new(&graph, Options::default(), &task.inputs[..shown])?;
    let at = |network: &Network| -> Result<Vec<f64>, Error> { Ok(kernel.at(&network.tensors())?) };
    let before = at(&network)?;
    let all: Vec<f32> = task.inputs.concat();
    let mut gradient = vec![0.0; images];
    let rule = UpdateRule::Sgd { momentum: 0.0, weight_decay: 0.0, nesterov: false };
    let mut optimiser = Optimiser::new(rule, network.values().len());
    let mut first = None;
    for _ in 0..descent.epochs {
        if stopped() {
            return Err(Error::Interrupted);
        }
        let loss = half_squares(network.forward(&all, Mode::Train)?, &task.targets, images, &mut gradient)?;
        first.get_or_insert(loss);
        network.backward(&gradient)?;
        network.update(&mut optimiser, descent.rate as f32)?;
    }
    let last = half_squares(network.forward(&all, Mode::Train)?, &task.targets, images, &mut gradient)?;
    let after = at(&network)?;
    let off_diagonal = |f: &dyn Fn(usize) -> f64| {
        let entries: Vec<f64> =
            (0..shown * shown).filter(|at| at / shown != at % shown).map(|at| f(at).abs()).collect();
        mean(entries.into_iter())
    };
    Ok(Change {
        before: off_diagonal(&|at| before[at]),
        change: off_diagonal(&|at| after[at] - before[at]),
        loss: [first.unwrap_or(last), last],
    })
}

/// A slope in log-log with its 95 % interval.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Slope {
    /// Of the least-squares line through the means.
    pub estimate: f64,
    /// Over resampled draws, the sizes being fixed.
    pub interval: [f64; 2],
}

/// The slope of ln(mean of `values[i]`) over ln `sizes[i]`, every size having as many draws.
pub fn slope(sizes: &[f64], values: &[Vec<f64>], seed: u64) -> Slope {
    let draws = values.first().map_or(0, Vec::len);
    let fit = |means: &[f64]| {
        let points: Vec<(f64, f64)> =
            sizes.iter().zip(means).map(|(size, mean)| (size.ln(), mean.ln())).collect();
        let (x, y) = (mean(points.iter().map(|point| point.0)), mean(points.iter().map(|point| point.1)));
        let product: f64 = points.iter().map(|point| (point.0 - x) * (point.1 - y)).sum();
        product / points.iter().map(|point| (point.0 - x).powi(2)).sum::<f64>()
    };
    let means: Vec<f64> = values.iter().map(|draws| mean(draws.iter().copied())).collect();
    let replicates = bootstrap(seed, STREAM, 4000, sizes.len() * draws, |indices| {
        let resampled = indices.chunks_exact(draws).zip(values);
        let means: Vec<f64> =
            resampled.map(|(chunk, values)| mean(chunk.iter().map(|index| values[index % draws]))).collect();
        fit(&means)
    });
    let Interval { low, high } = Interval::percentile(&replicates, 0.95);
    Slope { estimate: fit(&means), interval: [low, high] }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::synthetic;

    fn task(images: usize) -> Task {
        let directory = tempfile::tempdir().unwrap();
        synthetic::write_digits(directory.path(), images, images / 2, 3).unwrap();
        Task::new(&Dataset::open(directory.path()).unwrap(), images).unwrap()
    }

    #[test]
    fn images_have_the_length_of_normal_ones() {
        let task = task(20);
        for input in &task.inputs {
            let square: f64 = input.iter().map(|&x| f64::from(x).powi(2)).sum();
            assert!((square / 784.0 - 1.0).abs() < 1e-5);
        }
        assert_eq!(task.targets[..10], [-1.0, -1.0, -1.0, -1.0, -1.0, 1.0, 1.0, 1.0, 1.0, 1.0]);
    }

    #[test]
    fn a_step_changes_the_outputs_as_the_kernel_says() {
        // One small step of gradient flow moves the outputs by -rate/N K (f - y): the loss falls by
        // rate/N^2 r' K r to first order.
        let task = task(8);
        let ensemble = Ensemble { members: 3, width: 24 };
        let graph = ensemble.spec(784, 4).graph().unwrap();
        let kernel = ExplicitKernel::new(&graph, Options::default(), &task.inputs).unwrap();
        let matrix = kernel
            .at(&collegial_ntk::explicit::drawn_weights(&graph, Parametrisation::Ntk, 5).unwrap())
            .unwrap();
        let mut network =
            Network::builder(&graph).batch(8).parametrisation(Parametrisation::Ntk).build().unwrap();
        network.initialise(5);
        let outputs = network.forward(&task.inputs.concat(), Mode::Train).unwrap();
        let residual: Vec<f64> =
            outputs.iter().zip(&task.targets).map(|(f, y)| f64::from(*f) - f64::from(*y)).collect();
        let form: f64 = (0..64).map(|at| residual[at / 8] * matrix[at] * residual[at % 8]).sum();
        let descent = Descent { depth: 4, epochs: 1, rate: 1e-3, kernel_images: 4 };
        let found = change(ensemble, &task, &descent, 5, &|| false).unwrap();
        let (fall, expected) = (found.loss[0] - found.loss[1], 1e-3 / 64.0 * form);
        assert!((fall / expected - 1.0).abs() < 0.02, "{fall} {expected}");
    }

    #[test]
    fn wider_kernels_move_less() {
        let (task, descent) = (task(16), Descent { depth: 3, epochs: 40, rate: 0.2, kernel_images: 4 });
        let mean_change = |ensemble| {
            let changes = (0..6_u32)
                .map(|seed| change(ensemble, &task, &descent, seed.into(), &|| false).unwrap().change);
            mean(changes)
        };
        let of = |members, width| mean_change(Ensemble { members, width });
        // Sixteen times as large: by Theorem 1 the kernel moves 16 times less; 4 allows for six
        // draws only.
        let narrow = of(1, 8);
        assert!(of(1, 128) < narrow / 4.0 && of(16, 8) < narrow / 4.0);
    }

    #[test]
    fn slopes_are_recognised() {
        let sizes = [10.0, 100.0, 1000.0];
        let values: Vec<Vec<f64>> =
            sizes.iter().map(|size| vec![3.0 / size, 3.3 / size, 2.7 / size]).collect();
        let found = slope(&sizes, &values, 0);
        // Every mean is within 10 % of 3 / size, so a slope is within ln(1.2 / 0.8) / ln(100) of
        // -1.
        assert!((found.estimate + 1.0).abs() < 1e-12);
        assert!(
            found.interval[0] > -1.1 && found.interval[0] < -1.0 && found.interval[1] < -0.9,
            "{found:?}"
        );
    }

    #[test]
    fn stopping_and_too_few_images_are_said() {
        let descent = Descent { depth: 3, epochs: 2, rate: 0.1, kernel_images: 4 };
        let ensemble = Ensemble { members: 1, width: 4 };
        assert!(change(ensemble, &task(10), &descent, 0, &|| true).unwrap_err().is_interruption());
        let directory = tempfile::tempdir().unwrap();
        synthetic::write_digits(directory.path(), 10, 10, 3).unwrap();
        let dataset = Dataset::open(directory.path()).unwrap();
        assert!(Task::new(&dataset, 11).is_err());
    }
}
