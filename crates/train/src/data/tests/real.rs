//! The real data sets, where they are at hand: in `COLLEGIAL_DATA`, or in `shared/data` beside the
//! repository's parent. Every test here has a twin on files made by itself in `opening` and
//! `parsers`, so that a run without the data still checks every reader; it says so.

use std::path::PathBuf;

use crate::data::{Dataset, Kind, Normalise, Rgb, Split};

fn directory(name: &str) -> Option<PathBuf> {
    let beside = || {
        let here = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
        here.ancestors().map(|dir| dir.join("shared/data")).find(|dir| dir.is_dir())
    };
    let root = std::env::var_os("COLLEGIAL_DATA").map(PathBuf::from).or_else(beside);
    let found = root.map(|root| root.join(name)).filter(|dir| dir.is_dir());
    if found.is_none() {
        println!("no {name} at hand (set COLLEGIAL_DATA): only files made by the tests were read");
    }
    found
}

fn class_counts(split: &Split, classes: usize) -> Vec<usize> {
    let mut counts = vec![0; classes];
    (0..split.len()).for_each(|i| counts[usize::from(split.label(i).unwrap())] += 1);
    counts
}

fn stored(split: &Split) -> &crate::data::Stored {
    match split {
        Split::Stored(stored) => stored,
        Split::Photos(_) => panic!("photographs"),
    }
}

#[test]
fn mnist() {
    let Some(dir) = directory("mnist") else { return };
    let data = Dataset::open(dir).unwrap();
    assert_eq!(data.kind(), Kind::Mnist);
    assert_eq!((data.shape().height, data.shape().width, data.classes()), (28, 28, 10));
    // The published counts.
    let train = [5923, 6742, 5958, 6131, 5842, 5421, 5918, 6265, 5851, 5949];
    assert_eq!(class_counts(data.train(), 10), train);
    assert_eq!(class_counts(data.test(), 10), [980, 1135, 1032, 1010, 982, 892, 958, 1028, 974, 1009]);
    let (mean, deviation) = stored(data.train()).channel_statistics()[0];
    assert!((mean - 0.13066).abs() < 1e-5 && (deviation - 0.30811).abs() < 1e-5, "{mean} {deviation}");
    assert_eq!(data.class_name(7), Some("7"));
}

#[test]
fn cifar_10() {
    let Some(dir) = directory("cifar-10-batches-bin") else { return };
    let data = Dataset::open(dir).unwrap();
    assert_eq!((data.kind(), data.class_name(3)), (Kind::Cifar10, Some("cat")));
    assert_eq!(class_counts(data.train(), 10), [5000; 10]);
    assert_eq!(class_counts(data.test(), 10), [1000; 10]);
    let expected = [(0.491_399_68, 0.247_032_23), (0.482_158_41, 0.243_485_13), (0.446_530_91, 0.261_587_84)];
    for (found, expected) in stored(data.train()).channel_statistics().iter().zip(expected) {
        assert!((found.0 - expected.0).abs() < 1e-7 && (found.1 - expected.1).abs() < 1e-7, "{found:?}");
    }
}

#[test]
fn a_training_batch_of_cifar_10_in_the_test_batchs_place() {
    let Some(dir) = directory("cifar-10-batches-bin") else { return };
    let swapped = tempfile::tempdir().unwrap();
    for name in ["data_batch_1.bin", "data_batch_3.bin", "data_batch_4.bin", "data_batch_5.bin"] {
        std::fs::copy(dir.join(name), swapped.path().join(name)).unwrap();
    }
    std::fs::copy(dir.join("data_batch_2.bin"), swapped.path().join("test_batch.bin")).unwrap();
    std::fs::copy(dir.join("test_batch.bin"), swapped.path().join("data_batch_2.bin")).unwrap();
    let error = Dataset::open(swapped.path()).unwrap_err().to_string();
    assert!(error.contains("test_batch.bin: expected 1,000 test images of each class"), "{error}");
}

#[test]
fn cifar_100() {
    let Some(dir) = directory("cifar-100-binary-subset") else { return };
    let data = Dataset::open(dir).unwrap();
    assert_eq!((data.kind(), data.classes(), data.class_name(0)), (Kind::Cifar100, 100, Some("apple")));
    assert_eq!(class_counts(data.train(), 100), [20; 100]);
    assert_eq!(class_counts(data.test(), 100), [10; 100]);
}

#[test]
fn downsampled_imagenet() {
    let Some(npz) = directory("imagenet32-imagenette-sample-npz") else { return };
    let (Some(pickled), Some(large)) =
        (directory("imagenet32-imagenette-sample-pickle"), directory("imagenet64-imagenette-sample-npz"))
    else {
        return;
    };
    let (npz, pickled, large) =
        (Dataset::open(npz).unwrap(), Dataset::open(pickled).unwrap(), Dataset::open(large).unwrap());
    assert_eq!(
        (npz.kind(), npz.classes(), npz.train().len(), npz.test().len()),
        (Kind::DownsampledImageNet, 1000, 1000, 200)
    );
    assert_eq!((large.shape().height, large.train().len(), large.test().len()), (64, 200, 50));
    assert_eq!(npz.class_name(279), Some("garbage_truck"));
    for (a, b) in [(npz.train(), pickled.train()), (npz.test(), pickled.test())] {
        assert_eq!(stored(a).labels(), stored(b).labels());
        assert!((0..a.len()).all(|i| stored(a).image(i) == stored(b).image(i)));
    }
    assert_eq!(npz.mean_image(), pickled.mean_image());
    // The mean that the files bring is that of their images.
    let computed = stored(npz.train()).mean_image();
    assert!(npz.mean_image().unwrap().iter().zip(computed).all(|(a, b)| (a - b).abs() < 1e-3));
}

#[test]
fn photographs() {
    let Some(dir) = directory("imagenette-224-sample") else { return };
    let data = Dataset::open(dir).unwrap();
    assert_eq!(
        (data.kind(), data.classes(), data.train().len(), data.test().len()),
        (Kind::ClassFolders, 10, 100, 50)
    );
    assert_eq!(data.class_name(0), Some("n01440764"));
    assert_eq!(
        Normalise::usual(&data).unwrap(),
        Normalise::channels(&[(0.485, 0.229), (0.456, 0.224), (0.406, 0.225)])
    );
    for split in [data.train(), data.test()] {
        let Split::Photos(photos) = split else { panic!("not photographs") };
        for i in 0..split.len() {
            let photo = photos.decode(i).unwrap();
            assert_eq!((photo.width(), photo.height()), (224, 224));
        }
    }
}

/// The 32x32 rows were made from these photographs by averaging squares of 7x7 pixels, so they
/// check the JPEG decoder against another one.
#[test]
fn photographs_shrink_to_their_rows() {
    let (Some(dir), Some(npz)) =
        (directory("imagenette-224-sample"), directory("imagenet32-imagenette-sample-npz"))
    else {
        return;
    };
    let data = Dataset::open(&npz).unwrap();
    let rows = std::fs::read_to_string(npz.join("rows.tsv")).unwrap();
    let mut compared = 0;
    for (index, line) in rows.lines().filter(|line| line.starts_with("train_")).enumerate() {
        let file = dir.join(line.rsplit('\t').next().unwrap());
        let (Ok(bytes), Some(row)) = (std::fs::read(file), stored(data.train()).image(index)) else {
            continue;
        };
        let photo = Rgb::decode(&bytes).unwrap();
        let mut worst = 0.0_f64;
        for (i, &expected) in row.iter().enumerate() {
            let (channel, y, x) = (i / 1024, i / 32 % 32 * 7, i % 32 * 7);
            let square = (0..49).map(|k| photo.pixels()[((y + k / 7) * 224 + x + k % 7) * 3 + channel]);
            let mean = square.map(f64::from).sum::<f64>() / 49.0;
            worst = worst.max((mean - f64::from(expected)).abs());
        }
        // Half a step of rounding, and what two decoders may differ by in colour.
        assert!(worst < 4.0, "{line}: {worst}");
        compared += 1;
    }
    assert_eq!(compared, 100, "every training photograph has its row");
}
