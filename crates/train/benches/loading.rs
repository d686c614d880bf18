//! Images per second: `cargo bench -p collegial-train --bench loading [-- DIRECTORY...]`.
//!
//! Without a directory it makes the data itself: 10,000 images each in CIFAR-10's and MNIST's
//! files, and JPEG photographs of 500x375 pixels (ImageNet's usual size) in class folders. Loading
//! is the best of several passes on one worker; beside it stands what the engine consumes: training
//! steps of a network of the paper on all threads, without any loading.

use std::error::Error;
use std::f64::consts::TAU;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use collegial_arch::Overrides;
use collegial_core::Rng;
use collegial_nn::{Mode, Network, Optimiser, UpdateRule, cross_entropy};
use collegial_train::data::{Dataset, Key, Kind, Loader, Part, Plan, Scratch, Transform};
use collegial_train::spec_for;

const PASSES: u32 = 5;
const PHOTOGRAPHS: u64 = 64;
const WIDTH: u16 = 500;
const HEIGHT: u16 = 375;

fn main() -> Result<(), Box<dyn Error>> {
    // Cargo passes --bench.
    let given: Vec<PathBuf> =
        std::env::args().skip(1).filter(|arg| !arg.starts_with('-')).map(PathBuf::from).collect();
    for dir in &given {
        measure(dir, &dir.display().to_string())?;
    }
    if given.is_empty() {
        let dir = tempfile::tempdir()?;
        make_cifar(dir.path())?;
        measure(dir.path(), "CIFAR-10 files, crop + flip + normalise")?;
        let dir = tempfile::tempdir()?;
        make_mnist(dir.path())?;
        measure(dir.path(), "MNIST files, normalise")?;
        let dir = tempfile::tempdir()?;
        make_photographs(dir.path())?;
        measure(dir.path(), "JPEG photographs of 500x375, random resized crop 224 + jitter")?;
    }
    Ok(())
}

fn measure(dir: &Path, name: &str) -> Result<(), Box<dyn Error>> {
    let start = Instant::now();
    let data = Arc::new(Dataset::open(dir)?);
    let images = data.train().len();
    println!(
        "{name}\n  open        {:8.3} s for {images} + {} images",
        start.elapsed().as_secs_f64(),
        data.test().len()
    );
    let transform = Transform::training(&data)?;
    let report = |what: &str, seconds: &[f64]| {
        let best = seconds.iter().copied().fold(f64::INFINITY, f64::min);
        println!("  {what:11} {:8.0} images/s", images as f64 / best);
    };
    let passes = (0..PASSES).map(|epoch| augment(&data, &transform, epoch)).collect::<Result<Vec<_>, _>>()?;
    report("augment", &passes);
    let passes =
        (0..PASSES).map(|seed| load(&data, &transform, seed.into())).collect::<Result<Vec<_>, _>>()?;
    report("loader", &passes);
    let loaded = images as f64 / passes.iter().copied().fold(f64::INFINITY, f64::min);
    let (model, consumed) = consume(&data)?;
    println!(
        "  engine      {consumed:8.0} images/s by {model}: loading is {:.1} times as fast",
        loaded / consumed
    );
    Ok(())
}

/// The paper's network for a data set, and how many images a second it trains on when they are
/// there.
fn consume(data: &Dataset) -> Result<(&'static str, f64), Box<dyn Error>> {
    let (model, batch) = match data.kind() {
        Kind::Mnist | Kind::FashionMnist | Kind::Idx => ("fc6-30x48", 128),
        Kind::ClassFolders => ("resnext50-32x4d", 4),
        _ => ("resnext29-10x10d", 64),
    };
    let spec = spec_for(&model.parse()?, &Overrides::default(), data)?;
    let mut network = Network::builder(&spec.graph()?).batch(batch).build()?;
    network.initialise(1);
    let mut optimiser = Optimiser::new(UpdateRule::SGD, network.values().len());
    let mut images = vec![0.0; batch * data.shape().len()];
    Rng::new(3, 0, 0).fill_normal(&mut images);
    let mut gradient = vec![0.0; batch * data.classes()];
    let labels: Vec<usize> = (0..batch).map(|image| image % data.classes()).collect();
    let mut best = f64::INFINITY;
    for _ in 0..PASSES {
        let start = Instant::now();
        cross_entropy(network.forward(&images, Mode::Train)?, &labels, &mut gradient)?;
        network.backward(&gradient)?;
        network.update(&mut optimiser, 1e-3)?;
        best = best.min(start.elapsed().as_secs_f64());
    }
    Ok((model, batch as f64 / best))
}

/// The work alone, on this thread.
fn augment(data: &Dataset, transform: &Transform, epoch: u32) -> Result<f64, Box<dyn Error>> {
    let mut out = vec![0.0; transform.shape().len()];
    let mut scratch = Scratch::default();
    let start = Instant::now();
    for index in 0..data.train().len() as u32 {
        transform.apply(data.train(), Key { seed: 1, epoch, index }, &mut scratch, &mut out)?;
        std::hint::black_box(&out);
    }
    Ok(start.elapsed().as_secs_f64())
}

/// Through the loader, with a consumer that does nothing.
fn load(data: &Arc<Dataset>, transform: &Transform, seed: u64) -> Result<f64, Box<dyn Error>> {
    let start = Instant::now();
    let mut loader =
        Loader::new(Arc::clone(data), Part::Train, transform.clone(), Plan::training(128, 1, seed))?;
    while let Some(batch) = loader.next()? {
        std::hint::black_box(batch.images());
    }
    Ok(start.elapsed().as_secs_f64())
}

fn make_cifar(dir: &Path) -> Result<(), Box<dyn Error>> {
    let mut rng = Rng::new(1, 0, 0);
    let mut batch = |images: usize| -> Vec<u8> {
        let mut record = || [vec![rng.below(10) as u8], vec![rng.below(256) as u8; 3072]].concat();
        (0..images).flat_map(|_| record()).collect()
    };
    for number in 1..=5 {
        std::fs::write(dir.join(format!("data_batch_{number}.bin")), batch(2000))?;
    }
    std::fs::write(dir.join("test_batch.bin"), batch(100))?;
    Ok(())
}

fn make_mnist(dir: &Path) -> Result<(), Box<dyn Error>> {
    let mut rng = Rng::new(4, 0, 0);
    for (name, count) in [("train", 10_000_u32), ("t10k", 100)] {
        let header =
            |numbers: &[u32]| numbers.iter().flat_map(|number| number.to_be_bytes()).collect::<Vec<_>>();
        let mut bytes =
            |count: u32, below: u64| (0..count).map(|_| rng.below(below) as u8).collect::<Vec<_>>();
        let images = [header(&[0x0803, count, 28, 28]), bytes(784 * count, 256)].concat();
        std::fs::write(dir.join(format!("{name}-images-idx3-ubyte")), images)?;
        let labels = [header(&[0x0801, count]), bytes(count, 10)].concat();
        std::fs::write(dir.join(format!("{name}-labels-idx1-ubyte")), labels)?;
    }
    Ok(())
}

fn make_photographs(dir: &Path) -> Result<(), Box<dyn Error>> {
    let mut bytes = 0;
    for (split, count) in [("train", PHOTOGRAPHS), ("val", 1)] {
        let folder = dir.join(split).join("n00000001");
        std::fs::create_dir_all(&folder)?;
        for i in 0..count {
            let mut file = Vec::new();
            let encoder = jpeg_encoder::Encoder::new(&mut file, 90);
            encoder.encode(&waves(i), WIDTH, HEIGHT, jpeg_encoder::ColorType::Rgb)?;
            bytes += file.len();
            std::fs::write(folder.join(format!("{i}.JPEG")), file)?;
        }
    }
    println!("(photographs of {} kB on average)", bytes / (PHOTOGRAPHS as usize + 1) / 1000);
    Ok(())
}

/// Waves of many lengths and some noise, so that the decoder has as much to do as with a
/// photograph.
fn waves(trial: u64) -> Vec<u8> {
    let mut rng = Rng::new(2, 0, trial);
    let mut wave = |k: u32| [0.3, 0.3, TAU, 60.0].map(|scale| scale * rng.uniform() / f64::from(1 + k / 4));
    let waves: Vec<[f64; 4]> = (0..12).map(&mut wave).collect();
    let mut pixels = Vec::new();
    for at in 0..u32::from(WIDTH) * u32::from(HEIGHT) {
        let (x, y) = (f64::from(at % u32::from(WIDTH)), f64::from(at / u32::from(WIDTH)));
        for channel in 0..3 {
            let wave = |w: &[f64; 4]| w[3] * (w[0] * x + w[1] * y + w[2] + 0.3 * f64::from(channel)).sin();
            pixels.push((128.0 + waves.iter().map(wave).sum::<f64>() + 24.0 * rng.uniform()) as u8);
        }
    }
    pixels
}
