//! The learning rate over time: a warm-up, then steps down.

use serde::{Deserialize, Serialize};

use crate::Error;
use crate::recipe::check;

/// A step schedule.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Schedule {
    /// Epochs after which the rate is multiplied by `factor`.
    #[serde(default)]
    pub milestones: Vec<f64>,
    /// The factor of the rate at every milestone.
    #[serde(default = "a_tenth")]
    pub factor: f64,
    /// Epochs over which the rate rises linearly from nothing, step by step.
    #[serde(default)]
    pub warm_up: f64,
}

fn a_tenth() -> f64 {
    0.1
}

impl Default for Schedule {
    fn default() -> Self {
        Self { milestones: vec![], factor: a_tenth(), warm_up: 0.0 }
    }
}

impl Schedule {
    /// The rate of a step, given the rate to start from. Epochs and steps count from 0.
    pub fn rate(&self, start: f64, epoch: u32, step: usize, steps_per_epoch: usize) -> f64 {
        let per_epoch = steps_per_epoch.max(1) as f64;
        let time = f64::from(epoch) + step as f64 / per_epoch;
        let passed = self.milestones.iter().filter(|milestone| **milestone <= time).count();
        let rate = start * self.factor.powi(passed as i32);
        // The first step counts: the rate is never 0.
        let risen = (time + 1.0 / per_epoch) / self.warm_up;
        if risen < 1.0 { rate * risen } else { rate }
    }

    pub(crate) fn check(&self) -> Result<(), Error> {
        let Self { milestones, factor, warm_up } = self;
        let ascending = milestones.windows(2).all(|pair| pair[0] < pair[1]);
        let real = milestones.iter().all(|epoch| epoch.is_finite() && *epoch >= 0.0);
        check("schedule.milestones", format!("{milestones:?}"), ascending && real, "ascending epochs")?;
        check("schedule.factor", factor, factor.is_finite() && *factor > 0.0, "above 0")?;
        check("schedule.warm_up", warm_up, warm_up.is_finite() && *warm_up >= 0.0, "at least 0 epochs")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_down_at_the_milestones() {
        let schedule = Schedule { milestones: vec![150.0, 225.0], factor: 0.1, warm_up: 0.0 };
        let rates = [(0, 0), (149, 389), (150, 0), (224, 389), (225, 0), (299, 0)];
        let rates = rates.map(|(epoch, step)| schedule.rate(0.1, epoch, step, 390));
        for (rate, expected) in rates.iter().zip([0.1, 0.1, 0.01, 0.01, 0.001, 0.001]) {
            assert!((rate / expected - 1.0_f64).abs() < 1e-12, "{rates:?}");
        }
    }

    #[test]
    fn warms_up_linearly() {
        let schedule = Schedule { warm_up: 2.0, ..Schedule::default() };
        let rates: Vec<f64> =
            (0..12).map(|step| schedule.rate(1.0, step / 4, step as usize % 4, 4)).collect();
        let expected: Vec<f64> = (0..12).map(|step| (f64::from(step + 1) / 8.0).min(1.0)).collect();
        assert_eq!(rates, expected);
    }
}
