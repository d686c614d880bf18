//! The loop: it learns, stops and resumes to the bit, accumulates, and refuses what it cannot go on
//! with.

use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use collegial_arch::{Overrides, Spec};
use collegial_core::Monitor;
use collegial_testing::{NETWORK, write_data};
use collegial_train::checkpoint::{Checkpoint, CheckpointFile, MODEL_FILE, ModelHeader, TRAINING_FILE};
use collegial_train::data::{Dataset, Position};
use collegial_train::{
    Backends, Builtin, CheckpointPolicy, Data, Engine, Epoch, Error, Job, Outcome, RunDirectory, Trainer,
    TrainingMonitor, spec_for,
};
use proptest::prelude::*;

/// A job on 200 + 50 images; `changes` are those of the MNIST recipe.
fn job(data: &Path, spec: &str, changes: &[&str], seed: u64) -> Result<Job, Error> {
    if !data.exists() {
        write_data(data, 200, 50);
    }
    let dataset = Dataset::open(data)?;
    let spec = if spec.contains('\n') { Spec::from_toml(spec)? } else { spec.parse()? };
    let changes: Vec<String> =
        ["epochs=3", "batch=20"].iter().chain(changes).map(ToString::to_string).collect();
    let recipe = Builtin::Mnist.with(&changes)?.for_images(dataset.train().len());
    let spec = spec_for(&spec, &Overrides::default(), &dataset)?;
    Ok(Job { spec, data: Data::new(dataset, &recipe)?, recipe, seed, engine: Engine::Native })
}

/// Stops after so many steps, and keeps the epochs.
struct StopAfter {
    steps: AtomicU64,
    epochs: Mutex<Vec<Epoch>>,
    shares: Mutex<Vec<f64>>,
}

impl StopAfter {
    fn new(steps: u64) -> Self {
        Self { steps: AtomicU64::new(steps), epochs: Mutex::default(), shares: Mutex::default() }
    }
}

impl Monitor for StopAfter {
    fn progress(&self, share: f64, state: Option<&str>) {
        self.shares.lock().unwrap().push(share);
        if !state.unwrap().contains("testing") {
            self.steps.fetch_sub(1, Ordering::SeqCst);
        }
    }
    fn stopped(&self) -> bool {
        self.steps.load(Ordering::SeqCst) == 0
    }
}

impl TrainingMonitor for StopAfter {
    fn finished_epoch(&self, epoch: &Epoch) {
        self.epochs.lock().unwrap().push(epoch.clone());
    }
}

const NEVER: u64 = u64::MAX;

/// Parameters and running statistics.
fn weights(trainer: &mut Trainer) -> Vec<f32> {
    let state = trainer.state().unwrap();
    state.network.iter().flat_map(|(_, tensor)| tensor.values().to_vec()).collect()
}

/// Trains to the end, stopped and resumed every `stop` steps; gives all weights and the epochs
/// without their times.
fn train(root: &Path, job: &Job, stop: u64) -> (Vec<f32>, Vec<Epoch>) {
    let mut resumed = false;
    loop {
        let directory = RunDirectory::open(root).unwrap();
        let mut trainer = if resumed {
            Trainer::resume(job.clone(), directory, Backends::NATIVE)
        } else {
            Trainer::begin(job.clone(), directory, Backends::NATIVE)
        }
        .unwrap();
        if trainer.run(&StopAfter::new(stop), CheckpointPolicy::default()).unwrap() == Outcome::Finished {
            let weights = weights(&mut trainer);
            let timeless =
                |epoch: &Epoch| Epoch { seconds: 0.0, images_per_second: 0.0, waited: 0.0, ..epoch.clone() };
            return (weights, trainer.progress().history.iter().map(timeless).collect());
        }
        resumed = true;
    }
}

/// Fully connected members with norms, which see one value per channel and image.
const NORMED: &str = r#"
kind = "sequence"
input = { channels = 64, height = 1, width = 1 }
members = 4
join = "scaled-sum"
layers = [
    { type = "dense", width = 16, norm = "batch", activation = "relu" },
    { type = "dense", width = 10 },
]
"#;

#[test]
fn learns() {
    let root = tempfile::tempdir().unwrap();
    for (name, spec) in [("conv", NETWORK), ("mlp", "fc3-4x16"), ("mlp with norms", NORMED)] {
        let changes = ["epochs=8", "learning_rate=0.01"];
        let job = job(&root.path().join("data"), spec, &changes, 0).unwrap();
        let (_, epochs) = train(&root.path().join(name), &job, NEVER);
        // Guessing is wrong nine times out of ten.
        let (first, last) = (&epochs[0], &epochs[7]);
        assert!(last.loss < 0.5 * first.loss && last.test_error < 0.3, "{name}: {epochs:?}");
        assert!(last.top5_error <= last.test_error);
    }
}

/// Stopped anywhere (within an epoch, at its end, while testing) and resumed: the same weights,
/// statistics and epochs.
#[test]
fn resumes_to_the_bit() {
    let root = tempfile::tempdir().unwrap();
    let optimisers: [&[&str]; 3] = [
        &["schedule.milestones=[1.5]", "schedule.warm_up=1"],
        &["optimiser.kind=sgd", "optimiser.weight_decay=5e-4", "learning_rate=0.1"],
        &["micro_batch=5", "augment.kind=shift", "augment.pad=1", "augment.flip=true"],
    ];
    for (case, changes) in optimisers.iter().enumerate() {
        let job = job(&root.path().join("data"), NETWORK, changes, 3).unwrap();
        let (weights, epochs) = train(&root.path().join(format!("{case}-whole")), &job, NEVER);
        assert_eq!(epochs.len(), 3);
        for stop in [1, 7, 10] {
            let (again, epochs_again) = train(&root.path().join(format!("{case}-{stop}")), &job, stop);
            assert!(
                again.iter().map(|w| w.to_bits()).eq(weights.iter().map(|w| w.to_bits())),
                "{case}, {stop}"
            );
            assert_eq!(epochs_again, epochs, "{case}, {stop}");
        }
    }
}

/// Training and test images count, and a resumed run goes on where it stopped.
#[test]
fn progress_is_that_of_the_whole_run() {
    let root = tempfile::tempdir().unwrap();
    let job = job(&root.path().join("data"), NETWORK, &["epochs=2"], 3).unwrap();
    let run = || RunDirectory::open(&root.path().join("run")).unwrap();
    let first = StopAfter::new(7);
    let mut trainer = Trainer::begin(job.clone(), run(), Backends::NATIVE).unwrap();
    trainer.run(&first, CheckpointPolicy::default()).unwrap();
    drop(trainer);
    let second = StopAfter::new(NEVER);
    let mut trainer = Trainer::resume(job, run(), Backends::NATIVE).unwrap();
    trainer.run(&second, CheckpointPolicy::default()).unwrap();
    let shares = [first.shares.into_inner().unwrap(), second.shares.into_inner().unwrap()].concat();
    // Ten steps of 20 images and batches of 20, 20 and 10 test images per epoch.
    let expected = (0..2).flat_map(|epoch| {
        let steps = (1..=10).map(|step| 60.0 * f64::from(step));
        let tests = [20.0, 40.0, 50.0].map(|tested| 600.0 + tested);
        steps.chain(tests).map(move |done| (650.0 * f64::from(epoch) + done) / 1300.0)
    });
    assert_eq!(shares, expected.collect::<Vec<_>>());
}

#[test]
fn more_epochs_may_follow() {
    let root = tempfile::tempdir().unwrap();
    let data = root.path().join("data");
    let (short, long) =
        (job(&data, NETWORK, &[], 3).unwrap(), job(&data, NETWORK, &["epochs=5"], 3).unwrap());
    train(&root.path().join("a"), &short, NEVER);
    let mut trainer =
        Trainer::resume(long.clone(), RunDirectory::open(&root.path().join("a")).unwrap(), Backends::NATIVE)
            .unwrap();
    trainer.run(&StopAfter::new(NEVER), CheckpointPolicy::default()).unwrap();
    let (expected, _) = train(&root.path().join("b"), &long, NEVER);
    assert_eq!(weights(&mut trainer), expected);
}

/// Without norms, gradients averaged over micro-batches are those of the whole batch, up to
/// rounding: after one step of plain descent, weights of order 0.1 to 1 agree to a few units of the
/// last place (2^-24) times the number of terms.
#[test]
fn micro_batches_add_up() {
    let root = tempfile::tempdir().unwrap();
    let data = root.path().join("data");
    let step = |changes: &[&str]| {
        let sgd = ["epochs=1", "batch=40", "optimiser.kind=sgd", "optimiser.momentum=0", "learning_rate=0.1"];
        let changes: Vec<&str> = sgd.iter().chain(changes).copied().collect();
        let job = job(&data, "fc3-4x16", &changes, 1).unwrap();
        let directory = RunDirectory::open(&root.path().join(changes.len().to_string())).unwrap();
        let mut loader = job.data.training_batches(&job.recipe, 1, Position::default()).unwrap();
        let mut trainer = Trainer::begin(job, directory, Backends::NATIVE).unwrap();
        let loss = trainer.step(loader.next().unwrap().unwrap(), 0.1).unwrap();
        (loss, weights(&mut trainer))
    };
    let ((loss, whole), (loss_again, pieces)) = (step(&[]), step(&["micro_batch=8"]));
    assert!((loss - loss_again).abs() < 1e-6, "{loss} {loss_again}");
    let largest = whole.iter().zip(&pieces).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
    assert!(largest < 2e-6 && whole != pieces, "{largest}");
}

#[test]
fn divergence_is_noticed_and_the_checkpoint_kept() {
    let root = tempfile::tempdir().unwrap();
    let changes = ["optimiser.kind=sgd", "learning_rate=1e30"];
    let job = job(&root.path().join("data"), "fc3-4x16", &changes, 0).unwrap();
    let run = root.path().join("run");
    let mut trainer = Trainer::begin(job, RunDirectory::open(&run).unwrap(), Backends::NATIVE).unwrap();
    let error = trainer.run(&StopAfter::new(NEVER), CheckpointPolicy::default()).unwrap_err();
    assert!(matches!(error, Error::Diverged { epoch: 1, .. }), "{error}");
    let said = error.to_string();
    assert!(said.contains("checkpoint-000000") && said.contains("lower the rate"), "{said}");
    drop(trainer);
    let kept = Checkpoint::read(&run.join("checkpoint-000000")).unwrap();
    assert_eq!(kept.model_header.steps, 0);
}

#[test]
fn a_run_goes_on_only_as_it_began() {
    let root = tempfile::tempdir().unwrap();
    let (data, run) = (root.path().join("data"), root.path().join("run"));
    let open = || RunDirectory::open(&run).unwrap();
    let begun = job(&data, NETWORK, &[], 3).unwrap();
    drop(Trainer::begin(begun.clone(), open(), Backends::NATIVE).unwrap());
    let refused = |job: Job| Trainer::resume(job, open(), Backends::NATIVE).err().unwrap().to_string();
    for (changes, spec, seed, sentence) in [
        (&[][..], NETWORK, 4, "seed: 3 in the run, 4 now"),
        (&["batch=10"], NETWORK, 3, "batch: 20 in the run, 10 now"),
        (&["optimiser.kind=sgd"], NETWORK, 3, "optimiser.kind: adam in the run, sgd now"),
        (&["micro_batch=10"], NETWORK, 3, "micro_batch: not set in the run, 10 now"),
        (&[], "fc3-8", 3, "model: small in the run, fc3-8 now"),
        (&["limit=100"], NETWORK, 3, "data.train: 200 in the run, 100 now"),
    ] {
        let said = refused(job(&data, spec, changes, seed).unwrap());
        assert!(said.contains(sentence) && !said.contains('\n'), "{said}");
    }
    let said = Trainer::begin(begun.clone(), open(), Backends::NATIVE).err().unwrap().to_string();
    assert!(said.contains("holds a run already"), "{said}");
    let empty = RunDirectory::open(&root.path().join("empty")).unwrap();
    assert!(matches!(Trainer::resume(begun, empty, Backends::NATIVE), Err(Error::NoCheckpoint { .. })));
}

/// A million wide: four terabytes of weights, refused before any of it is taken.
#[cfg(target_os = "linux")]
#[test]
fn networks_that_do_not_fit_into_memory_are_refused() {
    let root = tempfile::tempdir().unwrap();
    let job = job(&root.path().join("data"), "fc3-1000000", &[], 0).unwrap();
    let refused =
        Trainer::begin(job, RunDirectory::open(&root.path().join("run")).unwrap(), Backends::NATIVE)
            .err()
            .unwrap();
    let Error::Memory { needed, available, .. } = refused else { panic!("{refused}") };
    // Weights and gradients at least.
    assert!(needed > 2 * 4 * 1_000_000_000_000 && available < needed);
    let left = std::fs::read_dir(root.path().join("run")).unwrap();
    assert!(left.map(|entry| entry.unwrap().file_name()).all(|name| name == "lock"));
}

#[test]
fn networks_must_fit_the_data() {
    let root = tempfile::tempdir().unwrap();
    let data = root.path().join("data");
    let said = |spec: &str| job(&data, spec, &[], 0).err().unwrap().to_string();
    assert!(said("resnext29-4x4d").contains("takes square colour images"), "{}", said("resnext29-4x4d"));
    assert!(said(&NETWORK.replace("width = 10", "width = 9")).contains("puts out 9"));
    assert!(said("bottleneck-8").contains("bottleneck-8 takes 256x"), "{}", said("bottleneck-8"));
    let dataset = Dataset::open(&data).unwrap();
    let given = Overrides { classes: Some(100), ..Overrides::default() };
    let error = spec_for(&"fc3-8".parse().unwrap(), &given, &dataset).unwrap_err().to_string();
    assert_eq!(error, "classes 100 contradicts the data set, which has 10 classes");
}

/// The two files of a fresh checkpoint.
fn files(root: &Path) -> (Job, Vec<u8>, Vec<u8>) {
    let job = job(&root.join("data"), NETWORK, &[], 3).unwrap();
    let trainer =
        Trainer::begin(job.clone(), RunDirectory::open(&root.join("run")).unwrap(), Backends::NATIVE)
            .unwrap();
    let model = trainer.checkpoint();
    let read = |name| std::fs::read(model.with_file_name(name)).unwrap();
    (job, read(MODEL_FILE), read(TRAINING_FILE))
}

#[test]
fn names_are_torchvisions() {
    let root = tempfile::tempdir().unwrap();
    let (_, model, training) = files(root.path());
    let names = |bytes: &[u8]| {
        let tensors = safetensors::SafeTensors::deserialize(bytes).unwrap();
        let mut names: Vec<String> = tensors.names().iter().map(ToString::to_string).collect();
        names.sort();
        names
    };
    let norms = |n| {
        ["bias", "num_batches_tracked", "running_mean", "running_var", "weight"].map(|t| format!("bn{n}.{t}"))
    };
    let mut expected = [norms(1), norms(2)].concat();
    expected.extend(["conv1.weight", "conv2.weight", "fc3.weight"].map(ToOwned::to_owned));
    assert_eq!(names(&model), expected);
    assert!(names(&training).contains(&"conv2.weight.exp_avg_sq".to_owned()));
    let tensors = safetensors::SafeTensors::deserialize(&model).unwrap();
    assert_eq!(tensors.tensor("conv2.weight").unwrap().shape(), [10, 6, 3, 3]);
    assert_eq!(tensors.tensor("bn1.num_batches_tracked").unwrap().shape(), [0_usize; 0]);
}

#[test]
fn files_that_do_not_belong_together() {
    let root = tempfile::tempdir().unwrap();
    let (job, ..) = files(root.path());
    let run = root.path().join("run");
    let first = std::fs::read(run.join("checkpoint-000000").join(TRAINING_FILE)).unwrap();
    let mut trainer = Trainer::resume(job, RunDirectory::open(&run).unwrap(), Backends::NATIVE).unwrap();
    let policy = CheckpointPolicy { steps: Some(1), time: Duration::MAX, ..CheckpointPolicy::default() };
    trainer.run(&StopAfter::new(2), policy).unwrap();
    let latest = trainer.checkpoint();
    std::fs::write(latest.with_file_name(TRAINING_FILE), first).unwrap();
    let said = Checkpoint::read(latest.parent().unwrap()).err().unwrap().to_string();
    assert!(said.contains("it is number 0, but model.safetensors beside it is number 3"), "{said}");
}

/// Two processes that did not see each other's lock could write one file each of one checkpoint.
#[test]
fn files_of_one_number_and_different_steps() {
    let root = tempfile::tempdir().unwrap();
    let (job, ..) = files(root.path());
    let [first, second] = [1, 2].map(|steps| {
        let run = RunDirectory::open(&root.path().join(format!("run-{steps}"))).unwrap();
        let mut trainer = Trainer::begin(job.clone(), run, Backends::NATIVE).unwrap();
        trainer.run(&StopAfter::new(steps), CheckpointPolicy::default()).unwrap();
        trainer.checkpoint().parent().unwrap().to_owned()
    });
    assert_eq!(first.file_name(), second.file_name());
    Checkpoint::read(&first).unwrap();
    std::fs::copy(second.join(TRAINING_FILE), first.join(TRAINING_FILE)).unwrap();
    let said = Checkpoint::read(&first).err().unwrap().to_string();
    assert!(said.contains("it is of step 2, but model.safetensors beside it is of step 1"), "{said}");
}

#[test]
fn weights_of_another_network() {
    let root = tempfile::tempdir().unwrap();
    let (_, model, _) = files(root.path());
    let path = root.path().join("model.safetensors");
    std::fs::write(&path, model).unwrap();
    let file = CheckpointFile::read(&path).unwrap();
    assert_eq!(file.own_header::<ModelHeader>().unwrap().spec, Spec::from_toml(NETWORK).unwrap());
    for (spec, sentence) in [
        (NETWORK.replace("width = 6", "width = 7"), "has the shape"),
        (
            NETWORK.replace(r#"width = 6, kernel = 3, norm = "batch""#, "width = 6, kernel = 3"),
            "has no tensor bn1",
        ),
        (
            NETWORK.replace(
                r#"{ type = "global"#,
                r#"{ type = "conv", width = 5, kernel = 1 }, { type = "global"#,
            ),
            "has no tensor",
        ),
    ] {
        let graph = Spec::from_toml(&spec).unwrap().graph().unwrap();
        let mut network = collegial_nn::Network::builder(&graph).batch(4).build().unwrap();
        let said = file.fill_network(&mut network, "it").unwrap_err().to_string();
        assert!(said.contains("does not fit it") && said.contains(sentence), "{said}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    /// Cut off anywhere or with a byte changed in its header: refused or read, never a panic; cut
    /// off is always refused.
    #[test]
    fn damaged_files(cut in 0.0..1.0_f64, place in 0_usize..2000, byte: u8) {
        thread_local!(static FILE: Vec<u8> = {
            let root = tempfile::tempdir().unwrap();
            files(root.path()).1
        });
        let whole = FILE.with(Clone::clone);
        let root = tempfile::tempdir().unwrap();
        let path = root.path().join("x.safetensors");
        std::fs::write(&path, &whole[..(whole.len() as f64 * cut) as usize]).unwrap();
        let said = CheckpointFile::read(&path).err().map(|error| error.to_string());
        prop_assert!(said.is_some_and(|said| said.contains("not a whole checkpoint") && !said.contains('\n')));
        let mut damaged = whole;
        damaged[place] = byte;
        std::fs::write(&path, damaged).unwrap();
        if let Ok(file) = CheckpointFile::read(&path) {
            let graph = Spec::from_toml(NETWORK).unwrap().graph().unwrap();
            let mut network = collegial_nn::Network::builder(&graph).batch(4).build().unwrap();
            let _ = file.own_header::<ModelHeader>();
            let _ = file.fill_network(&mut network, "small");
        }
    }
}
