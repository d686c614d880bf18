//! The estimated cost of a plan's jobs.

use std::time::Instant;

use collegial_arch::{Shape, Spec};
use collegial_nn::{Mode, Network, cross_entropy};
use serde::Serialize;

use super::Listed;
use crate::Error;

/// A test image takes a forward pass only: a third of a training step's multiply-adds.
const TESTED: f64 = 1.0 / 3.0;

/// Images of a timed step at most, so that timing is short; that a larger batch takes as long per
/// image is assumed.
const LARGEST_BATCH: usize = 16;

/// What all jobs take on one worker each.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Bill {
    /// What an hour of it is an hour of.
    pub hours: Hours,
    /// Per network.
    pub lines: Vec<BillLine>,
    /// Jobs that are not finished.
    pub jobs: usize,
    /// Seconds of one worker for all that is not finished.
    pub seconds: f64,
    /// The longest job: no number of workers is faster.
    pub longest: f64,
}

/// What an hour of a bill is an hour of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Hours {
    /// A core with the native engine.
    Core,
    /// A core with PyTorch.
    TorchCore,
    /// A GPU with PyTorch.
    Gpu,
    /// A worker of the machine whose time of a step with PyTorch was given.
    Worker,
}

impl Hours {
    /// "core-hours".
    pub fn unit(self) -> &'static str {
        match self {
            Self::Core | Self::TorchCore => "core-hours",
            Self::Gpu => "GPU-hours",
            Self::Worker => "worker-hours",
        }
    }

    /// "core-hours of PyTorch", where the unit alone does not tell the engine.
    pub fn words(self) -> &'static str {
        if self == Self::TorchCore { "core-hours of PyTorch" } else { self.unit() }
    }
}

/// One network's jobs.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct BillLine {
    /// The network.
    pub model: String,
    /// Jobs that are not finished.
    pub jobs: usize,
    /// Seconds of one training step on one worker.
    pub seconds_per_step: f64,
    /// Seconds of one worker for all of them.
    pub seconds: f64,
}

impl Bill {
    /// From the time of a step of every network, which is put into the jobs; `timed` is called once
    /// per network, and all of them by one kind of worker.
    ///
    /// # Errors
    ///
    /// Those of the timing.
    pub fn of(
        listed: &mut [Listed],
        mut timed: impl FnMut(&Listed) -> Result<(f64, Hours), Error>,
    ) -> Result<Self, Error> {
        let mut bill = Self { hours: Hours::Core, lines: vec![], jobs: 0, seconds: 0.0, longest: 0.0 };
        for listed in listed {
            let at = match bill.lines.iter().position(|line| line.model == listed.job.model) {
                Some(at) => at,
                None => {
                    let seconds_per_step;
                    (seconds_per_step, bill.hours) = timed(listed)?;
                    bill.lines.push(BillLine {
                        model: listed.job.model.clone(),
                        jobs: 0,
                        seconds_per_step,
                        seconds: 0.0,
                    });
                    bill.lines.len() - 1
                }
            };
            let Listed { job, finished, .. } = listed;
            let line = &mut bill.lines[at];
            let seconds =
                line.seconds_per_step * (job.steps as f64 + TESTED * job.tested as f64 / job.batch as f64);
            job.seconds = Some(seconds);
            if !*finished {
                line.jobs += 1;
                line.seconds += seconds;
                bill.jobs += 1;
                bill.seconds += seconds;
                bill.longest = bill.longest.max(seconds);
            }
        }
        Ok(bill)
    }

    /// When so many workers are done: each takes the next job when it is free, so that the end is
    /// between the mean load and that plus one job.
    pub fn finish(&self, workers: usize) -> f64 {
        (self.seconds / workers.max(1) as f64).max(self.longest)
    }

    /// The number of workers from which on the longest job is the floor.
    pub fn useful_workers(&self) -> usize {
        if self.longest > 0.0 { (self.seconds / self.longest).ceil() as usize } else { 1 }
    }
}

/// The fastest of a few training steps on synthetic images, per image, with the threads of the
/// current pool.
///
/// # Errors
///
/// If the engine refuses the network.
pub fn seconds_per_image(spec: &Spec, batch: usize, steps: usize) -> Result<f64, Error> {
    let batch = batch.clamp(1, LARGEST_BATCH);
    let graph = spec.graph()?;
    let mut network = Network::builder(&graph).batch(batch).seed(0).build()?;
    let Shape { channels, .. } = graph.input_shape();
    let elements = batch * channels * graph.input_shape().pixels();
    let input: Vec<f32> = (0..elements).map(|index| (index % 255) as f32 / 127.0 - 1.0).collect();
    let classes = graph.output_shape().channels;
    let labels: Vec<usize> = (0..batch).map(|image| image % classes).collect();
    let mut best = f64::INFINITY;
    for _ in 0..steps.max(1) {
        let start = Instant::now();
        let logits = network.forward(&input, Mode::Train)?;
        let mut gradient = vec![0.0; logits.len()];
        cross_entropy(logits, &labels, &mut gradient)?;
        network.backward(&gradient)?;
        best = best.min(start.elapsed().as_secs_f64());
    }
    Ok(best / batch as f64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::jobs::Job;
    use collegial_train::data::Dataset;
    use collegial_train::{Builtin, Data, Engine};

    fn listed(model: &str, finished: bool, steps: u64) -> Listed {
        let job = Job {
            part: String::new(),
            model: model.into(),
            seed: 0,
            epochs: 1,
            steps,
            batch: 10,
            tested: 0,
            flops: 1,
            seconds: None,
        };
        Listed { job, training: training(), finished }
    }

    /// Some training, which is not looked at.
    fn training() -> collegial_train::Job {
        let directory = tempfile::tempdir().unwrap();
        crate::synthetic::write_digits(directory.path(), 20, 10, 0).unwrap();
        let dataset = Dataset::open(directory.path()).unwrap();
        let recipe = Builtin::Mnist.with(&[]).unwrap();
        let spec = "fc3-8".parse().unwrap();
        let data = Data::new(dataset, &recipe).unwrap();
        collegial_train::Job { spec, recipe, seed: 0, data, engine: Engine::Native }
    }

    #[test]
    fn the_longest_job_is_the_floor() {
        let mut jobs =
            [listed("a", false, 100), listed("a", true, 100), listed("b", false, 50), listed("b", false, 50)];
        let mut timed = 0;
        let bill = Bill::of(&mut jobs, |listed| {
            timed += 1;
            Ok((if listed.job.model == "a" { 2.0 } else { 1.0 }, Hours::Gpu))
        })
        .unwrap();
        assert_eq!((timed, bill.jobs, bill.seconds, bill.longest), (2, 3, 300.0, 200.0));
        assert_eq!(bill.hours.words(), "GPU-hours");
        assert_eq!([1, 2, 100].map(|workers| bill.finish(workers)), [300.0, 200.0, 200.0]);
        assert_eq!(bill.useful_workers(), 2);
        assert_eq!(jobs[3].job.seconds, Some(50.0));
    }

    #[test]
    fn nothing_left_takes_no_time() {
        let bill = Bill::of(&mut [listed("a", true, 3)], |_| Ok((1.0, Hours::Core))).unwrap();
        assert_eq!((bill.jobs, bill.finish(4), bill.useful_workers()), (0, 0.0, 1));
    }
}
