//! A warning where the loss grows in the first steps, before it becomes infinite.

/// Steps that are looked at.
const STEPS: usize = 20;
/// The mean loss of so many steps, the last of them, is compared with the loss of the first step.
/// That one is of the initial weights, about ln of the number of classes.
const LAST: usize = 5;
/// Growth of the mean that is worth a warning: the noise of a batch and the first moves of a healthy
/// run stay below it.
const FACTOR: f64 = 1.5;
/// Growth of the mean that is told before the last of the steps: a healthy run may peak there, but
/// not as high.
const EARLY: f64 = 3.0;
/// Growth of a single step's loss that is told at once.
const AT_ONCE: f64 = 10.0;

/// A run that is resumed may begin with a loss near 0, of which every batch is a multiple.
const RESUMED: f64 = 1.0;

/// The losses of a run's first steps, or of the first after it was resumed.
pub(super) struct LossGrowth {
    resumed: bool,
    losses: Vec<f64>,
    told: bool,
}

impl LossGrowth {
    /// Begins at a step of the run.
    pub(super) fn from_step(step: u64) -> Self {
        Self { resumed: step > 0, losses: vec![], told: false }
    }

    /// Takes the loss of the next step; gives a sentence, once, if the loss has grown.
    pub(super) fn warning(&mut self, loss: f64, rate: f64) -> Option<String> {
        if self.told || self.losses.len() >= STEPS {
            return None;
        }
        self.losses.push(loss);
        let (first, steps) = (self.losses[0], self.losses.len());
        let usual = if self.resumed { first.max(RESUMED) } else { first };
        let mean = self.losses.last_chunk::<LAST>().map(|last| last.iter().sum::<f64>() / LAST as f64);
        let factor = if steps == STEPS { FACTOR } else { EARLY };
        let grown = match mean {
            _ if loss > AT_ONCE * usual => loss,
            Some(mean) if mean > factor * usual => mean,
            _ => return None,
        };
        self.told = true;
        let since = if self.resumed { " since it was resumed" } else { "" };
        Some(format!(
            "warning: the loss grew from {} to {} in the first {steps} steps{since} at learning rate {rate}; lower \
             learning_rate, or warm up with schedule.warm_up=5",
            shown(first),
            shown(grown)
        ))
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
        let told = warnings(0, |step| 2.0 + 0.1 * step as f64);
        let [(20, told)] = told.as_slice() else { panic!("{told:?}") };
        // The first, and the mean of 3.5, 3.6, ... 3.9.
        assert!(told.contains("from 2.000 to 3.700 in the first 20 steps at learning rate 0.1"), "{told}");
    }

    /// From 2.3 to 4.6 within five steps, where it stays.
    #[test]
    fn growth_in_the_first_steps_is_told() {
        let told = warnings(0, |step| 2.3 * (1.0 + 0.25 * step.min(4) as f64));
        assert!(matches!(told.as_slice(), [(20, _)]), "{told:?}");
    }

    /// Losses that grow sixfold over a run of six steps.
    #[test]
    fn growth_is_told_in_a_short_run() {
        let losses = [2.74, 3.21, 4.60, 8.85, 13.9, 17.1];
        let told = warnings(0, |step| losses[step.min(5) as usize]);
        assert!(matches!(told.as_slice(), [(6, _)]), "{told:?}");
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
    fn a_healthy_run_is_left_alone() {
        assert!(warnings(0, |step| 2.3 + if step < 10 { 0.05 * step as f64 } else { 0.5 }).is_empty());
        // It peaks, and comes back.
        assert!(warnings(0, |step| if (2..8).contains(&step) { 6.0 } else { 2.3 }).is_empty());
    }

    /// A resumed run that has learnt little is looked at from there; the noise of one that has learnt
    /// nearly all is none.
    #[test]
    fn a_resumed_run_is_looked_at_too() {
        let told = warnings(7, |step| 2.0 + step as f64);
        assert!(told[0].1.contains("steps since it was resumed"), "{told:?}");
        assert!(warnings(7, |step| 0.01 + 0.05 * step as f64).is_empty());
    }
}
