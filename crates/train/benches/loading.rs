//! Images per second: `cargo bench -p collegial-train --bench loading [-- DIRECTORY...]`.
//!
//! Without a directory it makes the data itself: 10,000 images in CIFAR-10's files, and JPEG photographs of 500x375
//! pixels (ImageNet's usual size) in class folders. Every number is the best of several passes on one worker.

use std::error::Error;
use std::f64::consts::TAU;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use collegial_stats::Rng;
use collegial_train::data::{Dataset, Key, Loader, Part, Plan, Scratch, Transform};

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
    Ok(())
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

/// Waves of many lengths and some noise, so that the decoder has as much to do as with a photograph.
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
