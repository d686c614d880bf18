//! The loop around a backend that is not the native one: here one that computes with a native
//! network of its own, so that everything must come out the same to the bit.

use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

use collegial_arch::{Overrides, Spec};
use collegial_core::{Monitor, Silent};
use collegial_nn::{Mode, Network, Optimiser};
use collegial_testing::{NETWORK, write_data};
use collegial_train::backend::{Backend, BackendState, Device, Setup, StepOutput};
use collegial_train::checkpoint::CheckpointFile;
use collegial_train::data::Dataset;
use collegial_train::{
    Backends, Builtin, CheckpointPolicy, Data, Engine, Epoch, Error, Job, Loss, Outcome, RunDirectory,
    Trainer, TrainingMonitor, seconds_per_step, spec_for,
};

/// Images of the steps so far.
static BATCHES: Mutex<Vec<usize>> = Mutex::new(vec![]);

/// Whether the backend computes with other instructions than before.
static OTHER_INSTRUCTIONS: AtomicBool = AtomicBool::new(false);

/// Whether the backend's state lacks a tensor.
static LOSES_A_TENSOR: AtomicBool = AtomicBool::new(false);

const BACKENDS: Backends = Backends::with_torch(mirror);

/// A backend whose own state is how often it was saved.
struct Mirror {
    network: Network,
    optimiser: Optimiser,
    loss: Loss,
    saves: u64,
}

fn mirror(setup: &Setup<'_>) -> Result<Box<dyn Backend>, Error> {
    let Job { spec, recipe, .. } = setup.job;
    let network = Network::builder(&spec.graph()?).batch(recipe.batch).build()?;
    assert!(setup.factors.iter().all(|(_, factor)| *factor == 1.0), "the standard parametrisation");
    let optimiser = Optimiser::new(recipe.optimiser, network.values().len());
    Ok(Box::new(Mirror { network, optimiser, loss: recipe.loss, saves: 0 }))
}

impl Backend for Mirror {
    fn load(&mut self, state: &BackendState) -> Result<(), Error> {
        for (name, tensor) in state.network.iter() {
            self.network.set(name, tensor.values())?;
        }
        for (kind, values) in self.optimiser.state_mut() {
            for entry in self.network.parameters() {
                let tensor = state.optimiser.get(&format!("{}.{kind}", entry.name))?;
                values[entry.range.clone()].copy_from_slice(tensor.values());
            }
        }
        self.optimiser.set_steps(state.steps);
        self.saves = state.extra.as_u64().unwrap_or(0);
        Ok(())
    }

    fn state(&mut self) -> Result<BackendState, Error> {
        self.saves += 1;
        let mut state = BackendState::of(&self.network, &self.optimiser)?;
        state.extra = self.saves.into();
        if LOSES_A_TENSOR.load(Ordering::SeqCst) {
            state.network.remove("fc3.weight")?;
        }
        Ok(state)
    }

    fn step(&mut self, images: &[f32], labels: &[u32], rate: f64) -> Result<StepOutput, Error> {
        BATCHES.lock().unwrap().push(labels.len());
        let labels: Vec<usize> = labels.iter().map(|&label| label as usize).collect();
        let logits = self.network.forward(images, Mode::Train)?;
        let classes = logits.len() / labels.len();
        let wrong = |row: &[f32], label: usize| row.iter().any(|value| *value > row[label]);
        let rows = logits.chunks_exact(classes).zip(&labels);
        let errors = rows.filter(|(row, label)| wrong(row, **label)).count() as u64;
        let mut gradient = vec![0.0; logits.len()];
        let loss = self.loss.compute(logits, &labels, &mut gradient)?;
        self.network.backward(&gradient)?;
        self.network.update(&mut self.optimiser, rate as f32)?;
        Ok(StepOutput { loss: loss * labels.len() as f64, errors })
    }

    fn outputs(&mut self, images: &[f32]) -> Result<Vec<f32>, Error> {
        Ok(self.network.forward(images, Mode::Evaluate)?.to_vec())
    }

    fn device(&self) -> Device {
        Device::Cpu
    }

    fn instructions(&self) -> Option<&'static str> {
        Some(if OTHER_INSTRUCTIONS.load(Ordering::SeqCst) { "portable" } else { "avx2" })
    }
}

/// Keeps what it is told.
#[derive(Default)]
struct Sentences(Mutex<Vec<String>>);

impl Monitor for Sentences {
    fn progress(&self, _: f64, _: Option<&str>) {}
    fn say(&self, sentence: &str) {
        self.0.lock().unwrap().push(sentence.to_owned());
    }
    fn stopped(&self) -> bool {
        false
    }
}

impl TrainingMonitor for Sentences {}

fn job(data: &Path, engine: Engine, epochs: u32) -> Job {
    let dataset = Dataset::open(data).unwrap();
    let changes = [format!("epochs={epochs}"), "batch=20".to_owned()];
    let recipe = Builtin::Mnist.with(&changes).unwrap();
    let spec = spec_for(&Spec::from_toml(NETWORK).unwrap(), &Overrides::default(), &dataset).unwrap();
    Job { spec, data: Data::new(dataset, &recipe).unwrap(), recipe, seed: 4, engine }
}

/// Trains to the end; gives the network's tensors and the epochs without their times.
fn train(run: &Path, job: Job) -> (Vec<(String, Vec<f32>)>, Vec<Epoch>) {
    let directory = RunDirectory::open(run).unwrap();
    let begun = directory.latest().is_some();
    let mut trainer = if begun {
        Trainer::resume(job, directory, BACKENDS)
    } else {
        Trainer::begin(job, directory, BACKENDS)
    }
    .unwrap();
    assert_eq!(trainer.run(&Silent, CheckpointPolicy::default()).unwrap(), Outcome::Finished);
    let untimed =
        |epoch: &Epoch| Epoch { seconds: 0.0, images_per_second: 0.0, waited: 0.0, ..epoch.clone() };
    let history = trainer.progress().history.iter().map(untimed).collect();
    let tensors = CheckpointFile::read(&trainer.checkpoint()).unwrap().into_tensors().unwrap();
    (tensors.iter().map(|(name, tensor)| (name.to_owned(), tensor.values().to_vec())).collect(), history)
}

#[test]
fn another_backend_is_trained_saved_and_resumed_like_the_native_one() {
    let root = tempfile::tempdir().unwrap();
    let data = root.path().join("data");
    write_data(&data, 200, 50);
    let run = |name: &str| root.path().join(name);
    assert!(matches!(Backends::NATIVE.check(Engine::Torch), Err(Error::NoTorch)));
    let begun = Trainer::begin(
        job(&data, Engine::Torch, 3),
        RunDirectory::open(&run("none")).unwrap(),
        Backends::NATIVE,
    );
    assert!(matches!(begun.err(), Some(Error::NoTorch)));

    let native = train(&run("native"), job(&data, Engine::Native, 3));
    assert_eq!(train(&run("foreign"), job(&data, Engine::Torch, 3)), native);
    train(&run("parts"), job(&data, Engine::Torch, 1));
    assert_eq!(train(&run("parts"), job(&data, Engine::Torch, 3)), native);
    // The backend's own state went through the checkpoint: one at the beginning and one per epoch.
    let checkpoint = collegial_train::run::find_model(&run("parts")).unwrap();
    let training = checkpoint.with_file_name(collegial_train::checkpoint::TRAINING_FILE);
    let header: collegial_train::checkpoint::TrainingHeader =
        CheckpointFile::read(&training).unwrap().own_header().unwrap();
    assert_eq!((header.engine, header.backend_state.as_u64()), (Engine::Torch, Some(4)));

    // Steps are quick here, so that the recipe's batch is timed too.
    BATCHES.lock().unwrap().clear();
    let (seconds, device) = seconds_per_step(&job(&data, Engine::Torch, 3), BACKENDS).unwrap();
    assert!(seconds > 0.0 && seconds < 10.0 && device == Device::Cpu, "{seconds} s");
    assert_eq!(*BATCHES.lock().unwrap(), [16, 16, 16, 20, 20, 20]);

    let other = Trainer::resume(
        job(&data, Engine::Native, 4),
        RunDirectory::open(&run("parts")).unwrap(),
        Backends::NATIVE,
    );
    let said = other.err().unwrap().to_string();
    assert!(said.contains("engine") && said.contains("torch"), "{said}");

    let resumed = |epochs| {
        let heard = Sentences::default();
        let directory = RunDirectory::open(&run("parts")).unwrap();
        let mut trainer = Trainer::resume(job(&data, Engine::Torch, epochs), directory, BACKENDS).unwrap();
        trainer.run(&heard, CheckpointPolicy::default()).unwrap();
        heard.0.into_inner().unwrap()
    };
    assert!(resumed(4).is_empty());
    OTHER_INSTRUCTIONS.store(true, Ordering::SeqCst);
    let said = resumed(5);
    assert!(
        said.len() == 1 && said[0].contains("with avx2 instructions and goes on with portable"),
        "{said:?}"
    );

    // A checkpoint with a tensor less would not resume.
    LOSES_A_TENSOR.store(true, Ordering::SeqCst);
    let lossy = RunDirectory::open(&run("lossy")).unwrap();
    let said = Trainer::begin(job(&data, Engine::Torch, 3), lossy, BACKENDS).err().unwrap().to_string();
    assert!(said.contains("tensor fc3.weight is not that of the network"), "{said}");
}
