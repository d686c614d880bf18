//! Batches: a split in a seeded order, augmented ahead of time on a thread of its own.

use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, Sender, SyncSender, TryRecvError, channel, sync_channel};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use collegial_core::Rng;
use serde::{Deserialize, Serialize};

use super::augment::{Key, Transform};
use super::resize::Scratch;
use super::{DataError, Dataset, Mismatch, Shape};

/// The stream of random numbers that is ours ("ordr").
const STREAM: u32 = 0x6f72_6472;

/// Which images of a data set.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize)]
#[cfg_attr(feature = "clap", derive(clap::ValueEnum))]
#[serde(rename_all = "lowercase")]
pub enum Part {
    /// The test images.
    Test,
    /// The training images.
    Train,
}

/// In which order an epoch goes through its images.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Order {
    /// A permutation keyed by (seed, epoch).
    Shuffled,
    /// As they are stored.
    Stored,
}

/// A place in the stream of batches; both counts start at 0.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Position {
    /// Which pass over the data.
    pub epoch: u32,
    /// Which batch of that pass.
    pub batch: usize,
}

/// The order and the size of a loader's batches.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Plan {
    /// Images per batch.
    pub batch_size: usize,
    /// Whether an epoch ends with a smaller batch where the size does not divide; otherwise those
    /// images are left out.
    pub keep_partial: bool,
    /// The order within an epoch.
    pub order: Order,
    /// Seeds order and augmentation.
    pub seed: u64,
    /// Where to start: (0, 0), or where an interrupted run left off.
    pub start: Position,
    /// The epoch before which to stop.
    pub end_epoch: u32,
    /// How many finished batches may wait for the consumer.
    pub prefetch: usize,
    /// How many threads decode and augment.
    pub workers: usize,
}

impl Plan {
    /// Shuffled training batches from the beginning.
    pub fn training(batch_size: usize, epochs: u32, seed: u64) -> Self {
        let (order, start) = (Order::Shuffled, Position::default());
        Self {
            batch_size,
            keep_partial: true,
            order,
            seed,
            start,
            end_epoch: epochs,
            prefetch: 4,
            workers: 1,
        }
    }

    /// One pass in stored order.
    pub fn evaluation(batch_size: usize) -> Self {
        Self { order: Order::Stored, ..Self::training(batch_size, 1, 0) }
    }
}

/// Images and their labels.
#[derive(Debug, Default)]
pub struct Batch {
    images: Vec<f32>,
    labels: Vec<u32>,
    position: Position,
}

impl Batch {
    /// All images, one after the other, channel by channel (NCHW).
    pub fn images(&self) -> &[f32] {
        &self.images
    }

    /// The class of each image, from 0.
    pub fn labels(&self) -> &[u32] {
        &self.labels
    }

    /// Where in the stream it stands.
    pub fn position(&self) -> Position {
        self.position
    }
}

/// The order in which an epoch visits `length` images.
pub fn epoch_order(order: Order, length: u32, seed: u64, epoch: u32) -> Vec<u32> {
    let mut indices: Vec<u32> = (0..length).collect();
    if order == Order::Shuffled {
        Rng::new(seed, STREAM, epoch.into()).shuffle(&mut indices);
    }
    indices
}

/// A stream of batches, made ahead of time. Dropping it early stops its thread.
#[derive(Debug)]
pub struct Loader {
    shape: Shape,
    batches_per_epoch: usize,
    remaining: u64,
    current: Option<Batch>,
    waited: Duration,
    stalls: Arc<AtomicU64>,
    finished: Arc<AtomicU64>,
    // Both `None` once dropped: that is what tells the thread to stop.
    full: Option<Receiver<Result<Batch, DataError>>>,
    empty: Option<Sender<Batch>>,
    thread: Option<JoinHandle<()>>,
}

impl Loader {
    /// Starts loading at once.
    pub fn new(
        dataset: Arc<Dataset>,
        part: Part,
        transform: Transform,
        plan: Plan,
    ) -> Result<Self, DataError> {
        Self::held_back(dataset, part, transform, plan, |_| {})
    }

    /// Starts loading after `hold`, which runs on the loader's thread and is given the number of
    /// [stalls](Self::stalls).
    pub(super) fn held_back(
        dataset: Arc<Dataset>,
        part: Part,
        transform: Transform,
        plan: Plan,
        hold: impl FnOnce(&AtomicU64) + Send + 'static,
    ) -> Result<Self, DataError> {
        let job = Job::new(dataset, part, transform, plan)?;
        let (full_sender, full) = sync_channel(job.plan.prefetch);
        let (empty, empty_receiver) = channel();
        // One in the consumer's hands, one being filled, the others waiting: these are all there
        // will ever be.
        for _ in 0..job.plan.prefetch + 2 {
            let _ = empty.send(Batch::default());
        }
        let (shape, batches_per_epoch, remaining) =
            (job.transform.shape(), job.batches_per_epoch(), job.remaining());
        let (finished, stalls) = (Arc::clone(&job.finished), Arc::<AtomicU64>::default());
        let seen = Arc::clone(&stalls);
        let load = move || {
            hold(&seen);
            job.run(&full_sender, &empty_receiver);
        };
        let thread = thread::Builder::new()
            .name("loader".into())
            .spawn(load)
            .map_err(|error| refuse("a thread to load on", error.to_string()))?;
        Ok(Self {
            shape,
            batches_per_epoch,
            remaining,
            current: None,
            waited: Duration::ZERO,
            stalls,
            finished,
            full: Some(full),
            empty: Some(empty),
            thread: Some(thread),
        })
    }

    /// The next batch, `None` after the last. It lives until the next call, which reuses its
    /// memory. After an error there are no more batches.
    #[allow(clippy::should_implement_trait)]
    pub fn next(&mut self) -> Result<Option<&Batch>, DataError> {
        if let (Some(used), Some(empty)) = (self.current.take(), &self.empty) {
            // It fails where the thread has ended, which is no reason to complain.
            let _ = empty.send(used);
        }
        if self.remaining == 0 {
            return Ok(None);
        }
        let received = match self.full.as_ref().map(Receiver::try_recv) {
            Some(Err(TryRecvError::Empty)) => self.wait(),
            other => other.and_then(Result::ok),
        };
        match received.unwrap_or(Err(DataError::Stopped)) {
            Ok(batch) => {
                self.remaining -= 1;
                Ok(Some(self.current.insert(batch)))
            }
            Err(error) => {
                self.remaining = 0;
                Err(error)
            }
        }
    }

    fn wait(&mut self) -> Option<Result<Batch, DataError>> {
        // The clock first: whoever holds the batch back goes by the count, and this thread may be
        // off the CPU for long behind it.
        let start = Instant::now();
        self.stalls.fetch_add(1, Ordering::SeqCst);
        let received = self.full.as_ref().and_then(|full| full.recv().ok());
        self.waited += start.elapsed();
        received
    }

    /// The shape of an image.
    pub fn shape(&self) -> Shape {
        self.shape
    }

    /// How many batches make an epoch.
    pub fn batches_per_epoch(&self) -> usize {
        self.batches_per_epoch
    }

    /// How long the consumer has waited in [`next`](Self::next) so far, the very first batch
    /// included.
    pub fn waited(&self) -> Duration {
        self.waited
    }

    /// How many batches were not prefetched in time: [`next`](Self::next) had to wait for them, or
    /// waits now.
    pub fn stalls(&self) -> Arc<AtomicU64> {
        Arc::clone(&self.stalls)
    }

    /// How many batches have been finished so far, a number that goes on growing while a batch is
    /// in use.
    pub fn finished(&self) -> Arc<AtomicU64> {
        Arc::clone(&self.finished)
    }
}

impl Drop for Loader {
    fn drop(&mut self) {
        (self.full, self.empty) = (None, None);
        if let Some(thread) = self.thread.take() {
            // A panic over there was reported by `next` as the end of the thread.
            let _ = thread.join();
        }
    }
}

fn refuse(expected: impl Into<String>, found: impl Into<String>) -> DataError {
    DataError::Request(Mismatch::new(expected.into(), found.into()))
}

/// The state of the loader's thread.
struct Job {
    dataset: Arc<Dataset>,
    part: Part,
    transform: Transform,
    plan: Plan,
    length: u32,
    finished: Arc<AtomicU64>,
}

impl Job {
    fn new(dataset: Arc<Dataset>, part: Part, transform: Transform, plan: Plan) -> Result<Self, DataError> {
        let images = dataset.split(part).len();
        let length =
            u32::try_from(images).map_err(|_| refuse("fewer than 2^32 images", images.to_string()))?;
        if plan.batch_size == 0 || plan.workers == 0 {
            let found = format!("batch size {} and {} workers", plan.batch_size, plan.workers);
            return Err(refuse("a batch size and a number of workers of at least 1", found));
        }
        if transform.shape() != dataset.shape() {
            return Err(refuse("a transform made for this data set", "one for another shape"));
        }
        let job = Self { dataset, part, transform, plan, length, finished: Arc::default() };
        let (start, per_epoch) = (job.plan.start, job.batches_per_epoch());
        if per_epoch == 0 {
            return Err(refuse(
                format!("batches of at most {images} images"),
                job.plan.batch_size.to_string(),
            ));
        }
        if start.batch >= per_epoch {
            return Err(refuse(
                format!("a start before batch {per_epoch}"),
                format!("batch {}", start.batch),
            ));
        }
        Ok(job)
    }

    fn batches_per_epoch(&self) -> usize {
        let (length, size) = (self.length as usize, self.plan.batch_size);
        if self.plan.keep_partial { length.div_ceil(size) } else { length / size }
    }

    fn remaining(&self) -> u64 {
        let epochs = u64::from(self.plan.end_epoch.saturating_sub(self.plan.start.epoch));
        (epochs * self.batches_per_epoch() as u64).saturating_sub(self.plan.start.batch as u64)
    }

    /// Fills batches until all are done, the consumer is gone, or something cannot be read.
    fn run(&self, full: &SyncSender<Result<Batch, DataError>>, empty: &Receiver<Batch>) {
        let mut scratch: Vec<_> = (0..self.plan.workers).map(|_| Scratch::default()).collect();
        for epoch in self.plan.start.epoch..self.plan.end_epoch {
            let order = epoch_order(self.plan.order, self.length, self.plan.seed, epoch);
            let first = if epoch == self.plan.start.epoch { self.plan.start.batch } else { 0 };
            for batch in first..self.batches_per_epoch() {
                if self.deliver(Position { epoch, batch }, &order, &mut scratch, full, empty).is_break() {
                    return;
                }
            }
        }
    }

    fn deliver(
        &self,
        position: Position,
        order: &[u32],
        scratch: &mut [Scratch],
        full: &SyncSender<Result<Batch, DataError>>,
        empty: &Receiver<Batch>,
    ) -> ControlFlow<()> {
        let Ok(mut batch) = empty.recv() else { return ControlFlow::Break(()) };
        let filled = self.fill(position, order, scratch, &mut batch);
        let failed = filled.is_err();
        let sent = full.send(filled.map(|()| batch));
        // Counted only once it can be taken without waiting.
        self.finished.fetch_add(1, Ordering::SeqCst);
        if failed || sent.is_err() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }

    fn fill(
        &self,
        position: Position,
        order: &[u32],
        scratch: &mut [Scratch],
        batch: &mut Batch,
    ) -> Result<(), DataError> {
        let split = self.dataset.split(self.part);
        let start = position.batch * self.plan.batch_size;
        let indices = &order[start..order.len().min(start + self.plan.batch_size)];
        batch.position = position;
        batch.labels.clear();
        batch.labels.extend(indices.iter().filter_map(|&index| split.label(index as usize)).map(u32::from));
        let size = self.transform.shape().len();
        batch.images.resize(indices.len() * size, 0.0);
        let share = indices.len().div_ceil(scratch.len());
        let work = |indices: &[u32], images: &mut [f32], scratch: &mut Scratch| {
            indices.iter().zip(images.chunks_exact_mut(size)).try_for_each(|(&index, image)| {
                let key = Key { seed: self.plan.seed, epoch: position.epoch, index };
                self.transform.apply(split, key, scratch, image)
            })
        };
        if let [only] = scratch {
            return work(indices, &mut batch.images, only);
        }
        let shares = indices.chunks(share).zip(batch.images.chunks_mut(share * size)).zip(scratch);
        thread::scope(|scope| {
            let threads: Vec<_> = shares
                .map(|((indices, images), scratch)| {
                    thread::Builder::new().spawn_scoped(scope, move || work(indices, images, scratch))
                })
                .collect();
            // In order, so that of several errors the same one is reported every time.
            threads.into_iter().try_for_each(|thread| {
                let thread = thread.map_err(|error| refuse("threads to load on", error.to_string()))?;
                thread.join().unwrap_or(Err(DataError::Stopped))
            })
        })
    }
}
