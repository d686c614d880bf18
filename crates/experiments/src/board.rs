//! The progress of many trainings together, for the monitor.

use std::sync::{Mutex, PoisonError};

use collegial_core::Monitor;
use collegial_train::TrainingMonitor;

use crate::Context;

/// How far all runs are, weighted by what they cost; runs that were kept weigh nothing, so that the
/// remaining time is right.
pub(crate) struct Board<'a> {
    context: &'a Context<'a>,
    weights: Vec<f64>,
    shares: Mutex<Vec<f64>>,
}

impl<'a> Board<'a> {
    /// One of runs that cost so much.
    pub(crate) fn new(context: &'a Context<'a>, weights: Vec<f64>) -> Self {
        let shares = Mutex::new(vec![0.0; weights.len()]);
        Self { context, weights, shares }
    }

    /// The view of one run.
    pub(crate) fn watch(&'a self, index: usize, design: String) -> Watch<'a> {
        Watch { board: self, index, design }
    }
}

/// One run's view of the board.
pub(crate) struct Watch<'a> {
    board: &'a Board<'a>,
    index: usize,
    design: String,
}

impl Watch<'_> {
    /// Says how far this run is.
    pub(crate) fn show(&self, share: f64, state: &str) {
        let Board { context, weights, shares } = self.board;
        let mut shares = shares.lock().unwrap_or_else(PoisonError::into_inner);
        shares[self.index] = share;
        let done: f64 = weights.iter().zip(shares.iter()).map(|(weight, share)| weight * share).sum();
        let total: f64 = weights.iter().sum();
        let finished =
            weights.iter().zip(shares.iter()).filter(|&(weight, share)| *weight == 0.0 || *share >= 1.0);
        let (finished, all, design) = (finished.count(), weights.len(), &self.design);
        drop(shares);
        let state = format!("{finished} of {all} runs, {design}: {state}");
        context.monitor.progress(done / total.max(1.0), Some(&state));
    }
}

impl Monitor for Watch<'_> {
    fn progress(&self, share: f64, state: Option<&str>) {
        self.show(share.min(0.999), state.unwrap_or_default());
    }

    fn stopped(&self) -> bool {
        self.board.context.monitor.stopped()
    }
}

impl TrainingMonitor for Watch<'_> {}
