//! Made-up images in the files of MNIST and CIFAR, for the smoke scale: every class has a pattern,
//! every image noise on it.

use std::path::Path;

use collegial_core::Rng;

use crate::Error;
use collegial_core::files::{disk, write_inside};

/// The stream of random numbers that is ours ("synt").
const STREAM: u32 = 0x7379_6e74;

/// How much of an image is its class's pattern; the rest is noise.
const PATTERN: f64 = 0.25;

/// Writes images of 28x28 as the four files of MNIST.
///
/// # Errors
///
/// If a file cannot be written.
pub fn write_digits(directory: &Path, train: usize, test: usize, seed: u64) -> Result<(), Error> {
    const SIDE: usize = 28;
    let patterns = patterns(10, SIDE * SIDE, seed);
    for (part, (name, count)) in [("train", train), ("t10k", test)].into_iter().enumerate() {
        let (mut pixels, mut labels) = (vec![], vec![]);
        for index in 0..count {
            let label = index % 10;
            labels.push(label as u8);
            pixels.extend(image(&patterns[label], seed, part, index));
        }
        let head = |numbers: &[usize]| -> Vec<u8> {
            numbers.iter().flat_map(|&number| (number as u32).to_be_bytes()).collect()
        };
        let images = [head(&[0x0803, count, SIDE, SIDE]), pixels].concat();
        let labels = [head(&[0x0801, count]), labels].concat();
        write(&directory.join(format!("{name}-images-idx3-ubyte")), &images)?;
        write(&directory.join(format!("{name}-labels-idx1-ubyte")), &labels)?;
    }
    Ok(())
}

/// Writes colour images of 32x32 as the files of CIFAR-10, or with 100 classes as those of
/// CIFAR-100.
///
/// # Errors
///
/// If a file cannot be written.
pub fn write_colours(
    directory: &Path,
    classes: usize,
    train: usize,
    test: usize,
    seed: u64,
) -> Result<(), Error> {
    let patterns = patterns(classes, 3 * 32 * 32, seed);
    let records = |part: usize, indices: std::ops::Range<usize>| -> Vec<u8> {
        let record = |index: usize| {
            let label = index % classes;
            // CIFAR-100 has a coarse label first.
            let head = if classes == 100 { vec![(label / 5) as u8, label as u8] } else { vec![label as u8] };
            head.into_iter().chain(image(&patterns[label], seed, part, index))
        };
        indices.flat_map(record).collect()
    };
    if classes == 100 {
        write(&directory.join("train.bin"), &records(0, 0..train))?;
        return write(&directory.join("test.bin"), &records(1, 0..test));
    }
    for batch in 0..5 {
        let file = directory.join(format!("data_batch_{}.bin", batch + 1));
        write(&file, &records(0, batch * train / 5..(batch + 1) * train / 5))?;
    }
    write(&directory.join("test_batch.bin"), &records(1, 0..test))
}

fn patterns(classes: usize, len: usize, seed: u64) -> Vec<Vec<f64>> {
    let pattern = |class: usize| {
        let mut rng = Rng::new(seed, STREAM, class as u64);
        (0..len).map(|_| rng.uniform()).collect()
    };
    (0..classes).map(pattern).collect()
}

fn image<'a>(pattern: &'a [f64], seed: u64, part: usize, index: usize) -> impl Iterator<Item = u8> + use<'a> {
    let mut rng = Rng::new(seed, STREAM, 1000 + 2 * index as u64 + part as u64);
    pattern.iter().map(move |value| (255.0 * (PATTERN * value + (1.0 - PATTERN) * rng.uniform())) as u8)
}

fn write(path: &Path, content: &[u8]) -> Result<(), Error> {
    if let Some(parent) = path.parent() {
        disk::create_inside(parent).map_err(|source| Error::Directory { path: parent.into(), source })?;
    }
    Ok(write_inside(path, content)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use collegial_train::data::{Dataset, Kind};

    #[test]
    fn the_readers_know_the_files() {
        let root = tempfile::tempdir().unwrap();
        let path = |name: &str| root.path().join(name);
        write_digits(&path("digits"), 40, 20, 1).unwrap();
        write_colours(&path("ten"), 10, 50, 20, 1).unwrap();
        write_colours(&path("hundred"), 100, 200, 100, 1).unwrap();
        for (name, kind, train, test) in [
            ("digits", Kind::Idx, 40, 20),
            ("ten", Kind::Cifar10, 50, 20),
            ("hundred", Kind::Cifar100, 200, 100),
        ] {
            let dataset = Dataset::open(path(name)).unwrap();
            assert_eq!((dataset.kind(), dataset.train().len(), dataset.test().len()), (kind, train, test));
        }
    }
}
