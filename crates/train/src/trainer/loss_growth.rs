//! A warning where the loss grows in the first steps, before it becomes infinite.

/// Steps that are looked at.
const STEPS: u64 = 20;
/// Steps whose mean loss is the loss at the start; the last as many are compared with it.
const ENDS: u64 = 5;
/// Growth that is worth a warning: the noise of a batch and the first moves of a healthy run stay
/// below it.
const FACTOR: f64 = 1.5;

/// The mean losses at the start and at the end of a run's first steps.
pub(super) struct LossGrowth {
    step: u64,
    start: f64,
    end: f64,
}

impl LossGrowth {
    /// Begins at a step; a run that is past the first steps is not looked at.
    pub(super) fn from_step(step: u64) -> Self {
        let step = if step == 0 { 0 } else { STEPS };
        Self { step, start: 0.0, end: 0.0 }
    }

    /// Takes the loss of the next step; after the last of them gives a sentence if the loss has grown.
    pub(super) fn warning(&mut self, loss: f64, rate: f64) -> Option<String> {
        if self.step >= STEPS {
            return None;
        }
        if self.step < ENDS {
            self.start += loss / ENDS as f64;
        } else if self.step >= STEPS - ENDS {
            self.end += loss / ENDS as f64;
        }
        self.step += 1;
        let grown = self.step == STEPS && self.end > FACTOR * self.start;
        grown.then(|| {
            format!(
                "warning: the loss grew from {:.3} to {:.3} in the first {STEPS} steps at learning rate {rate}; \
                 lower learning_rate, or warm up with schedule.warm_up=5",
                self.start, self.end
            )
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn warnings(from: u64, loss: impl Fn(u64) -> f64) -> Vec<String> {
        let mut growth = LossGrowth::from_step(from);
        (0..100).filter_map(|step| growth.warning(loss(step), 0.1)).collect()
    }

    #[test]
    fn growth_is_told_once() {
        let told = warnings(0, |step| 2.0 + step as f64);
        // Means of 2..=6 and of 17..=21.
        assert_eq!(told.len(), 1);
        assert!(
            told[0].contains("from 4.000 to 19.000 in the first 20 steps at learning rate 0.1"),
            "{told:?}"
        );
    }

    #[test]
    fn a_healthy_run_and_a_resumed_one_are_left_alone() {
        assert!(warnings(0, |step| 2.3 + if step < 10 { 0.05 * step as f64 } else { 0.5 }).is_empty());
        assert!(warnings(7, |step| 2.0 + step as f64).is_empty());
    }
}
