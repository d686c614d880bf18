//! Steps of a chore, timed: each prints what it took, and the last lines list them all.

use std::time::{Duration, Instant};

use crate::Failed;

/// The steps that ran so far; dropping it prints the list.
#[derive(Default)]
pub struct Steps(Vec<(String, Duration, bool)>);

impl Steps {
    /// Runs a step, and prints its duration.
    pub fn run<T>(&mut self, name: &str, work: impl FnOnce() -> Result<T, Failed>) -> Result<T, Failed> {
        eprintln!("xtask: {name} ...");
        let start = Instant::now();
        let outcome = work();
        let took = start.elapsed();
        eprintln!("{}", line(name, took, outcome.is_ok()));
        self.0.push((name.to_owned(), took, outcome.is_ok()));
        outcome
    }
}

impl Drop for Steps {
    fn drop(&mut self) {
        if self.0.len() > 1 {
            eprintln!("xtask: all steps:");
            for (name, took, passed) in &self.0 {
                eprintln!("{}", line(name, *took, *passed));
            }
        }
    }
}

fn line(name: &str, took: Duration, passed: bool) -> String {
    let verdict = if passed { "" } else { "  FAILED" };
    format!("xtask: {:>7.1} s  {name}{verdict}", took.as_secs_f64())
}
