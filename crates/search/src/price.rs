//! What a member and a network cost: counted off the spec, or measured on this machine.

use std::collections::HashMap;
use std::fmt;
use std::sync::Mutex;
use std::time::Instant;

use collegial_arch::{Cost, Module, Spec};
use collegial_nn::{Mode, Network};

use crate::Error;

/// β as a function: of one member, and of a whole network.
pub trait Price: fmt::Debug + Send + Sync {
    /// `params`, `flops`, `activations` or `time`.
    fn name(&self) -> &'static str;
    /// What is counted, in words: `parameters`.
    fn unit(&self) -> &'static str;
    /// β(n) of one member of `module`.
    fn of_member(&self, module: &Module) -> Result<u64, Error>;
    /// The same of a whole network.
    fn of_network(&self, network: &Spec) -> Result<u64, Error>;
    /// The count behind it, if it is one: free widths need its formula.
    fn counted(&self) -> Option<Cost> {
        None
    }
}

impl Price for Cost {
    fn name(&self) -> &'static str {
        match self {
            Self::Params => "params",
            Self::Flops => "flops",
            Self::Activations => "activations",
        }
    }

    fn unit(&self) -> &'static str {
        match self {
            Self::Params => "parameters",
            Self::Flops => "FLOPs",
            Self::Activations => "activations",
        }
    }

    fn of_member(&self, module: &Module) -> Result<u64, Error> {
        Ok(module.member_cost(*self)?)
    }

    fn of_network(&self, network: &Spec) -> Result<u64, Error> {
        Ok(network.graph()?.counts()?.total.of(*self))
    }

    fn counted(&self) -> Option<Cost> {
        Some(*self)
    }
}

/// Nanoseconds of a training step per image (forward and backward), on this machine and the current thread pool.
///
/// A member is never computed alone: its time is that of the module with as many members as the baseline's parameters pay for,
/// in its grouped form, divided by their number. Times are the best of a few runs and remembered, so one search sees one time per
/// network.
#[derive(Debug)]
pub struct Time {
    /// Parameters that a module's members may have together.
    parameters: u64,
    known: Mutex<HashMap<String, u64>>,
}

/// Images per timed step.
const BATCH: usize = 2;

/// A measurement ends after this many seconds, once it has been repeated.
const SECONDS: f64 = 0.02;

/// Repetitions at least and at most.
const REPETITIONS: std::ops::RangeInclusive<usize> = 2..=20;

impl Time {
    /// Times members of the given baseline.
    pub fn new(baseline: &Module) -> Result<Self, Error> {
        let parameters = baseline.members() as u64 * baseline.member_cost(Cost::Params)?;
        Ok(Self { parameters, known: Mutex::default() })
    }

    fn measure(&self, spec: &Spec) -> Result<u64, Error> {
        let key = spec.to_toml();
        let known = |table: &Mutex<HashMap<String, u64>>| {
            table.lock().ok().and_then(|table| table.get(&key).copied())
        };
        if let Some(time) = known(&self.known) {
            return Ok(time);
        }
        let time = step_nanoseconds(spec)?;
        if let Ok(mut table) = self.known.lock() {
            table.insert(key, time);
        }
        Ok(time)
    }
}

fn step_nanoseconds(spec: &Spec) -> Result<u64, Error> {
    let graph = spec.graph()?;
    let refuse = |error: collegial_nn::Error| Error::Timing(error.to_string());
    let mut network = Network::builder(&graph).batch(BATCH).seed(0).build().map_err(refuse)?;
    let elements = |shape: collegial_arch::Shape| BATCH * shape.channels * shape.pixels();
    let input = vec![0.5; elements(graph.input_shape())];
    let gradient = vec![1e-3; elements(graph.output_shape())];
    let (start, mut best) = (Instant::now(), f64::INFINITY);
    for repetition in 1..=*REPETITIONS.end() {
        let step = Instant::now();
        network.forward(&input, Mode::Train).map_err(refuse)?;
        network.backward(&gradient).map_err(refuse)?;
        best = best.min(step.elapsed().as_secs_f64());
        if repetition >= *REPETITIONS.start() && start.elapsed().as_secs_f64() > SECONDS {
            break;
        }
    }
    Ok((best / BATCH as f64 * 1e9).max(1.0) as u64)
}

impl Price for Time {
    fn name(&self) -> &'static str {
        "time"
    }

    fn unit(&self) -> &'static str {
        "training time"
    }

    fn of_member(&self, module: &Module) -> Result<u64, Error> {
        let members = (self.parameters as f64 / module.member_cost(Cost::Params)? as f64).round().max(1.0);
        let together = self.measure(&module.with_members(members as usize)?.into())?;
        Ok(((together as f64 / members).round() as u64).max(1))
    }

    fn of_network(&self, network: &Spec) -> Result<u64, Error> {
        self.measure(network)
    }
}
