//! The loader: order, resumption, threads, errors, shutdown.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use collegial_core::Monitor;
use proptest::prelude::*;

use super::make;
use crate::data::{
    Dataset, Key, Kind, Loader, Order, Part, Plan, Position, Scratch, Shape, Transform, epoch_order,
};
use crate::{
    Backends, Builtin, CheckpointPolicy, Data, Engine, Job, Outcome, RunDirectory, Trainer, TrainingMonitor,
    spec_for,
};

const SHAPE: Shape = Shape { channels: 3, height: 8, width: 8 };

fn dataset() -> Arc<Dataset> {
    Arc::new(make::in_memory(Kind::Cifar10, SHAPE, 23, 7))
}

fn loader(data: &Arc<Dataset>, plan: Plan) -> Loader {
    Loader::new(Arc::clone(data), Part::Train, Transform::training(data).unwrap(), plan).unwrap()
}

type Copied = (Position, Vec<f32>, Vec<u32>);

fn collect(mut loader: Loader) -> Vec<Copied> {
    let mut batches = Vec::new();
    while let Some(batch) = loader.next().unwrap() {
        let (images, labels) = (batch.images().to_vec(), batch.labels().to_vec());
        batches.push((batch.position(), images, labels));
    }
    batches
}

/// Without threads, channels or reused memory.
fn slow(data: &Dataset, plan: &Plan) -> Vec<Copied> {
    let transform = Transform::training(data).unwrap();
    let mut batches = Vec::new();
    for epoch in 0..plan.end_epoch {
        let order = epoch_order(plan.order, 23, plan.seed, epoch);
        let chunks: Vec<_> = order
            .chunks(plan.batch_size)
            .filter(|c| plan.keep_partial || c.len() == plan.batch_size)
            .collect();
        for (batch, chunk) in chunks.iter().enumerate() {
            let mut images = Vec::new();
            for &index in *chunk {
                let mut image = vec![0.0; SHAPE.len()];
                let key = Key { seed: plan.seed, epoch, index };
                transform.apply(data.train(), key, &mut Scratch::default(), &mut image).unwrap();
                images.extend(image);
            }
            let labels = chunk.iter().map(|&i| u32::from(data.train().label(i as usize).unwrap())).collect();
            let position = Position { epoch, batch };
            if position >= plan.start {
                batches.push((position, images, labels));
            }
        }
    }
    batches
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    /// Whatever the batch size, threads and buffers, and wherever it starts, the stream is the slow
    /// one's.
    #[test]
    fn the_stream_is_the_slow_one(
        batch_size in 1..30_usize, workers in 1..4_usize, prefetch in 0..4_usize, seed: u64, shuffled: bool,
        keep_partial: bool, start_epoch in 0..3_u32, start_batch in any::<prop::sample::Index>(),
    ) {
        prop_assume!(keep_partial || batch_size <= 23);
        let data = dataset();
        let per_epoch = if keep_partial { 23_usize.div_ceil(batch_size) } else { 23 / batch_size };
        let order = if shuffled { Order::Shuffled } else { Order::Stored };
        let start = Position { epoch: start_epoch, batch: start_batch.index(per_epoch) };
        let plan = Plan { batch_size, keep_partial, order, seed, start, end_epoch: 3, prefetch, workers };
        let loader = loader(&data, plan.clone());
        prop_assert_eq!(loader.batches_per_epoch(), per_epoch);
        prop_assert_eq!(collect(loader), slow(&data, &plan));
    }

    #[test]
    fn orders_are_permutations(length in 0..200_u32, seed: u64, epoch: u32) {
        let mut order = epoch_order(Order::Shuffled, length, seed, epoch);
        order.sort_unstable();
        prop_assert_eq!(order, (0..length).collect::<Vec<_>>());
    }
}

#[test]
fn epochs_differ() {
    let order = |seed, epoch| epoch_order(Order::Shuffled, 50, seed, epoch);
    assert_eq!(order(1, 0), order(1, 0));
    assert_ne!(order(1, 0), order(1, 1));
    assert_ne!(order(1, 0), order(2, 0));
}

#[test]
fn memory_is_reused() {
    let data = dataset();
    let mut loader = loader(&data, Plan { prefetch: 1, keep_partial: false, ..Plan::training(5, 20, 1) });
    let mut addresses = std::collections::BTreeSet::new();
    while let Some(batch) = loader.next().unwrap() {
        addresses.insert(batch.images().as_ptr());
    }
    // One waiting, one at the consumer's, one being filled.
    assert!(addresses.len() <= 3, "{} buffers", addresses.len());
    assert!(loader.next().unwrap().is_none(), "the end is the end");
}

#[test]
fn dropping_early_ends_the_thread() {
    let data = dataset();
    for taken in [0, 1, 5] {
        let mut loader = loader(&data, Plan { prefetch: 2, ..Plan::training(2, 1_000_000, 1) });
        for _ in 0..taken {
            assert!(loader.next().unwrap().is_some());
        }
        drop(loader);
        // The thread held the only other reference, and `drop` waits for it.
        assert_eq!(Arc::strong_count(&data), 1);
    }
}

/// Until so many batches are finished; a minute means never.
fn wait_for(finished: &AtomicU64, batches: u64) {
    let start = Instant::now();
    while finished.load(Ordering::SeqCst) < batches {
        assert!(start.elapsed() < Duration::from_secs(60), "{batches} batches were not finished in a minute");
        std::thread::yield_now();
    }
}

/// While the consumer is busy with a batch, as many others are made as may wait, so that it never
/// has to.
#[test]
fn batches_are_made_while_another_is_in_use() {
    let (data, prefetch) = (dataset(), 3);
    let mut loader = loader(&data, Plan { prefetch, ..Plan::training(5, 4, 1) });
    let (finished, total) = (loader.finished(), 4 * loader.batches_per_epoch() as u64);
    wait_for(&finished, prefetch as u64);
    for taken in 1..=total {
        assert!(loader.next().unwrap().is_some());
        wait_for(&finished, (taken + prefetch as u64).min(total));
    }
    assert_eq!((loader.stalls().load(Ordering::SeqCst), loader.waited()), (0, Duration::ZERO));
}

/// A step that lasts until the next batch is there, as one does whose network is slower than the
/// loader.
struct SlowStep {
    finished: Arc<AtomicU64>,
    done: AtomicU64,
    total: u64,
}

impl Monitor for SlowStep {
    fn progress(&self, _share: f64, state: Option<&str>) {
        if state.is_some_and(|state| state.contains("testing")) {
            return;
        }
        let done = self.done.fetch_add(1, Ordering::SeqCst) + 1;
        wait_for(&self.finished, (done + 1).min(self.total));
    }
    fn stopped(&self) -> bool {
        false
    }
}

impl TrainingMonitor for SlowStep {}

#[test]
fn the_training_loop_never_waits_for_batches_that_are_there() {
    let (root, dataset) = (tempfile::tempdir().unwrap(), make::in_memory(Kind::Cifar10, SHAPE, 23, 7));
    let changes = ["epochs=3", "batch=4", "learning_rate=1e-3"].map(ToOwned::to_owned);
    let recipe = Builtin::Cifar10.with(&changes).unwrap();
    let spec = spec_for(&"fc3-2x4".parse().unwrap(), &Default::default(), &dataset).unwrap();
    let job =
        Job { spec, data: Data::new(dataset, &recipe).unwrap(), recipe, seed: 0, engine: Engine::Native };
    let mut trainer =
        Trainer::begin(job, RunDirectory::open(root.path()).unwrap(), Backends::NATIVE).unwrap();
    let mut loader = trainer.loader().unwrap();
    wait_for(&loader.finished(), 1);
    let monitor = SlowStep { finished: loader.finished(), done: AtomicU64::new(0), total: 15 };
    assert_eq!(
        trainer.run_on(&mut loader, &monitor, CheckpointPolicy::default()).unwrap(),
        Outcome::Finished
    );
    assert_eq!((trainer.progress().steps, loader.stalls().load(Ordering::SeqCst)), (15, 0));
    assert!(trainer.progress().history.iter().all(|epoch| epoch.waited == 0.0));
}

/// The first batch is loaded a while after the consumer waits for it.
#[test]
fn waiting_is_measured() {
    const HELD_BACK: Duration = Duration::from_millis(20);
    let data = dataset();
    let transform = Transform::evaluation(&data).unwrap();
    let hold = |stalls: &AtomicU64| {
        wait_for(stalls, 1);
        std::thread::sleep(HELD_BACK);
    };
    let plan = Plan::evaluation(23);
    let mut loader = Loader::held_back(Arc::clone(&data), Part::Train, transform, plan, hold).unwrap();
    assert_eq!((loader.waited(), loader.stalls().load(Ordering::SeqCst)), (Duration::ZERO, 0));
    assert_eq!(loader.next().unwrap().unwrap().labels().len(), 23);
    assert!(loader.waited() >= HELD_BACK, "{:?}", loader.waited());
    assert_eq!(loader.stalls().load(Ordering::SeqCst), 1);
}

#[test]
fn an_unreadable_photograph_reaches_the_consumer() {
    let dir = tempfile::tempdir().unwrap();
    make::folders(dir.path(), &["a", "b"], 3);
    let data = Arc::new(Dataset::open(dir.path()).unwrap());
    for workers in [1, 3] {
        let transform = Transform::evaluation(&data).unwrap();
        make::write(dir.path(), "val/b/0.JPEG", b"broken");
        let plan = Plan { workers, ..Plan::evaluation(2) };
        let mut loader = Loader::new(Arc::clone(&data), Part::Test, transform, plan).unwrap();
        assert_eq!(loader.next().unwrap().unwrap().labels(), [0, 0]);
        // The second batch holds a/2 and b/0.
        let error = loader.next().unwrap_err().to_string();
        assert!(
            error.ends_with("val/b/0.JPEG: expected a JPEG or PNG photograph, found neither."),
            "{error}"
        );
        assert!(loader.next().unwrap().is_none());
        make::write(dir.path(), "val/b/0.JPEG", &make::jpeg(9, 9));
    }
}

#[test]
fn plans_that_cannot_be_followed_are_refused() {
    let data = dataset();
    let refused = |plan| {
        let transform = Transform::training(&data).unwrap();
        Loader::new(Arc::clone(&data), Part::Train, transform, plan).map(drop).unwrap_err().to_string()
    };
    let plan = || Plan::training(5, 2, 1);
    assert!(refused(Plan { batch_size: 0, ..plan() }).contains("found batch size 0"));
    assert!(refused(Plan { workers: 0, ..plan() }).contains("0 workers"));
    assert!(
        refused(Plan { batch_size: 24, keep_partial: false, ..plan() })
            .contains("at most 23 images, found 24")
    );
    let start = Position { epoch: 0, batch: 5 };
    assert!(refused(Plan { start, ..plan() }).contains("a start before batch 5, found batch 5"));
    let done = Plan { start: Position { epoch: 2, batch: 0 }, ..plan() };
    assert!(collect(loader(&data, done)).is_empty(), "nothing is left of a finished run");
}
