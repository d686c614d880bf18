//! A sweep that meets a failing disk, or loses power, at any of its operations goes on to the same
//! result.

use std::path::Path;

use collegial_arch::{Overrides, Spec};
use collegial_core::Silent;
use collegial_core::files::faults::{Plan, recorded, with_failures};
use collegial_core::files::power_loss::{Luck, after_power_loss};
use collegial_experiments::validate::{Question, Runs};
use collegial_experiments::{Context, Error, ResultCache, synthetic};
use collegial_search::paper::Search;
use collegial_train::data::Dataset;
use collegial_train::{Builtin, Data, Recipe, spec_for};

struct Sweep {
    baseline: Spec,
    recipe: Recipe,
    data: Data,
}

impl Sweep {
    fn new(directory: &Path) -> Self {
        synthetic::write_digits(directory, 20, 10, 1).unwrap();
        let dataset = Dataset::open(directory).unwrap();
        let spec: Spec = "fc2-8".parse().unwrap();
        let baseline = spec_for(&spec, &Overrides::default(), &dataset).unwrap();
        let changes = ["epochs=1".to_owned(), "batch=10".to_owned()];
        let recipe = Builtin::Mnist.with(&changes).unwrap();
        let data = Data::new(dataset, &recipe).unwrap();
        Self { baseline, recipe, data }
    }

    /// Three designs, one training each; the answer as scripts get it.
    fn run(&self, parts: &Path) -> Result<String, Error> {
        let cache = ResultCache::open(parts)?;
        let search = Search::new(self.baseline.clone());
        let question = Question {
            baseline: &self.baseline,
            search: &search,
            data: &self.data,
            recipe: &self.recipe,
            designs: 3,
            runs: Runs::Given(1),
            dual: false,
        };
        let answer = question.answer(&Context::new(3, &cache, &Silent))?;
        Ok(serde_json::to_string(&answer).unwrap())
    }
}

/// Faults are of a thread: all of the sweep is done on this one.
fn alone<T: Send>(test: impl FnOnce() -> T + Send) -> T {
    rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap().install(test)
}

/// The finished parts; nothing else may be left.
fn finished(parts: &Path) -> usize {
    let entries: Vec<_> = std::fs::read_dir(parts).unwrap().map(|entry| entry.unwrap().path()).collect();
    assert!(
        entries.iter().all(|path| path.extension().is_some_and(|ending| ending == "json")),
        "{entries:?}"
    );
    entries.len()
}

#[test]
fn a_failure_at_any_operation_of_a_sweep_loses_nothing() {
    let root = tempfile::tempdir().unwrap();
    let sweep = Sweep::new(&root.path().join("data"));
    alone(|| {
        let expected = sweep.run(&root.path().join("whole")).unwrap();
        let count = finished(&root.path().join("whole"));
        for kind in [Plan::Once, Plan::FromThenOn] {
            let mut failed = 0;
            for number in 0.. {
                let parts = root.path().join(format!("parts-{number}"));
                let (result, met) = with_failures(kind(number), || sweep.run(&parts));
                if !met {
                    assert_eq!(result.unwrap(), expected);
                    break;
                }
                failed += 1;
                assert_eq!(sweep.run(&parts).unwrap(), expected, "operation {number}");
                assert_eq!(finished(&parts), count, "operation {number}");
                std::fs::remove_dir_all(parts).unwrap();
            }
            assert!(failed > 30, "{failed}");
        }
    });
}

#[test]
fn a_power_loss_after_any_operation_of_a_sweep_loses_no_finished_part() {
    let root = tempfile::tempdir().unwrap();
    let sweep = Sweep::new(&root.path().join("data"));
    alone(|| {
        let whole = root.path().join("whole");
        let (result, steps) = recorded(|| sweep.run(&whole));
        let expected = result.unwrap();
        for done in 0..=steps.len() {
            for luck in Luck::after(done) {
                let parts = root.path().join("after");
                after_power_loss(&steps[..done], luck, &whole, &parts);
                let again =
                    sweep.run(&parts).unwrap_or_else(|error| panic!("after {done}, {luck:?}: {error}"));
                assert_eq!(again, expected, "after {done}, {luck:?}");
                std::fs::remove_dir_all(parts).unwrap();
            }
        }
    });
}
