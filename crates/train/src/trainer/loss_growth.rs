//! A warning where the loss grows in the first steps, before it becomes infinite.

/// Steps that are looked at.
const STEPS: u64 = 20;
/// The mean loss of so many steps, the last of them, is compared with the loss of the first step.
/// That one is of the initial weights, about ln of the number of classes.
const LAST: u64 = 5;
/// Growth of the mean that is worth a warning: the noise of a batch and the first moves of a healthy
/// run stay below it.
const FACTOR: f64 = 1.5;
/// Growth of a single step's loss that is told at once.
const AT_ONCE: f64 = 10.0;

/// The loss of a run's first step, and what became of it.
pub(super) struct LossGrowth {
    step: u64,
    first: f64,
    last: f64,
}

impl LossGrowth {
    /// Begins at a step; a run that is past the first steps is not looked at.
    pub(super) fn from_step(step: u64) -> Self {
        let step = if step == 0 { 0 } else { STEPS };
        Self { step, first: 0.0, last: 0.0 }
    }

    /// Takes the loss of the next step; gives a sentence, once, if the loss has grown.
    pub(super) fn warning(&mut self, loss: f64, rate: f64) -> Option<String> {
        if self.step >= STEPS {
            return None;
        }
        if self.step == 0 {
            self.first = loss;
        }
        if self.step >= STEPS - LAST {
            self.last += loss / LAST as f64;
        }
        self.step += 1;
        let grown = match self.step {
            _ if loss > AT_ONCE * self.first => Some(loss),
            STEPS if self.last > FACTOR * self.first => Some(self.last),
            _ => None,
        };
        let steps = self.step;
        grown.map(|grown| {
            self.step = STEPS;
            format!(
                "warning: the loss grew from {} to {} in the first {steps} steps at learning rate {rate}; lower \
                 learning_rate, or warm up with schedule.warm_up=5",
                shown(self.first),
                shown(grown)
            )
        })
    }
}

/// With a power of ten where the loss explodes.
fn shown(loss: f64) -> String {
    if loss < 1e5 { format!("{loss:.3}") } else { format!("{loss:.3e}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each warning with the step that it came at, from 1.
    fn warnings(from: u64, loss: impl Fn(u64) -> f64) -> Vec<(u64, String)> {
        let mut growth = LossGrowth::from_step(from);
        (0..100).filter_map(|step| Some((step + 1, growth.warning(loss(step), 0.1)?))).collect()
    }

    #[test]
    fn growth_is_told_once() {
        let told = warnings(0, |step| 2.0 + 0.5 * step as f64);
        let [(20, told)] = told.as_slice() else { panic!("{told:?}") };
        // The first, and the mean of 9.5, 10, ... 11.5.
        assert!(told.contains("from 2.000 to 10.500 in the first 20 steps at learning rate 0.1"), "{told}");
    }

    /// From 2.3 to 4.6 within five steps, where it stays.
    #[test]
    fn growth_in_the_first_steps_is_told() {
        let told = warnings(0, |step| 2.3 * (1.0 + 0.25 * step.min(4) as f64));
        assert!(matches!(told.as_slice(), [(20, _)]), "{told:?}");
    }

    #[test]
    fn an_explosion_is_told_at_once() {
        let told = warnings(0, |step| 2.3 * 3f64.powi(i32::try_from(step).unwrap()));
        let [(4, told)] = told.as_slice() else { panic!("{told:?}") };
        assert!(told.contains("from 2.300 to 62.100 in the first 4 steps"), "{told}");
        let told = warnings(0, |step| if step < 15 { 2.3 } else { 2.8e7 });
        assert!(told[0].1.contains("to 2.800e7 in the first 16 steps"), "{told:?}");
    }

    #[test]
    fn a_healthy_run_and_a_resumed_one_are_left_alone() {
        assert!(warnings(0, |step| 2.3 + if step < 10 { 0.05 * step as f64 } else { 0.5 }).is_empty());
        assert!(warnings(7, |step| 2.0 + step as f64).is_empty());
    }
}
