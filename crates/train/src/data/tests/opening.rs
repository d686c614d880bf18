//! `Dataset::open` on directories made here: whole ones, and ones with something wrong.

use std::path::Path;

use proptest::prelude::*;
use tempfile::{TempDir, tempdir};

use super::make::{self, Rows, write};
use crate::data::{Dataset, Kind, Normalise, Split};

fn mnist() -> TempDir {
    let dir = tempdir().unwrap();
    write(dir.path(), "train-images-idx3-ubyte.gz", &make::gzip(&make::idx_images(6, 28, 28, 1)));
    write(dir.path(), "train-labels-idx1-ubyte.gz", &make::gzip(&make::idx_labels(&[0, 1, 2, 3, 4, 9])));
    write(dir.path(), "t10k-images-idx3-ubyte", &make::idx_images(2, 28, 28, 2));
    write(dir.path(), "t10k-labels.idx1-ubyte", &make::idx_labels(&[5, 6]));
    dir
}

fn cifar_10() -> TempDir {
    let dir = tempdir().unwrap();
    for batch in 1..=5_u8 {
        write(dir.path(), &format!("data_batch_{batch}.bin"), &make::cifar(&[&[batch], &[0]], batch.into()));
    }
    write(dir.path(), "test_batch.bin", &make::cifar(&[&[9], &[8]], 9));
    dir
}

fn cifar_100() -> TempDir {
    let dir = tempdir().unwrap();
    write(dir.path(), "train.bin", &make::cifar(&[&[1, 50], &[2, 60]], 1));
    write(dir.path(), "test.bin", &make::cifar(&[&[1, 99]], 2));
    write(
        dir.path(),
        "fine_label_names.txt",
        (0..100).map(|i| format!("c{i}\n")).collect::<String>().as_bytes(),
    );
    dir
}

fn rows(batch: u64, mean: bool) -> Rows {
    Rows { side: 8, labels: vec![1, 1000, batch as u16 + 5], seed: batch, mean }
}

fn downsampled(pickled: bool) -> TempDir {
    let dir = tempdir().unwrap();
    for (name, batch, mean) in
        [("train_data_batch_1", 1, true), ("train_data_batch_2", 2, true), ("val_data", 3, false)]
    {
        let rows = rows(batch, mean);
        let (suffix, bytes) = if pickled { ("", rows.pickle()) } else { (".npz", rows.npz(batch == 2)) };
        write(dir.path(), &format!("{name}{suffix}"), &bytes);
    }
    write(dir.path(), "map_clsloc.txt", b"n02119789 1 kit_fox\nn02100735 2 English_setter\n");
    dir
}

fn folders() -> TempDir {
    let dir = tempdir().unwrap();
    make::folders(dir.path(), &["ape", "bee"], 3);
    dir
}

fn summary(dir: &TempDir) -> (Kind, usize, usize, usize, [usize; 3]) {
    let data = Dataset::open(dir.path()).unwrap();
    let shape = data.shape();
    (
        data.kind(),
        data.classes(),
        data.train().len(),
        data.test().len(),
        [shape.channels, shape.height, shape.width],
    )
}

#[test]
fn each_layout_is_recognised() {
    assert_eq!(summary(&mnist()), (Kind::Idx, 10, 6, 2, [1, 28, 28]));
    assert_eq!(summary(&cifar_10()), (Kind::Cifar10, 10, 10, 2, [3, 32, 32]));
    assert_eq!(summary(&cifar_100()), (Kind::Cifar100, 100, 2, 1, [3, 32, 32]));
    for pickled in [false, true] {
        assert_eq!(summary(&downsampled(pickled)), (Kind::DownsampledImageNet, 1000, 6, 3, [3, 8, 8]));
    }
    assert_eq!(summary(&folders()), (Kind::ClassFolders, 2, 6, 6, [3, 224, 224]));
}

#[test]
fn labels_pixels_and_names_arrive_where_they_belong() {
    let dir = cifar_10();
    let data = Dataset::open(dir.path()).unwrap();
    let Split::Stored(train) = data.train() else { panic!("in memory") };
    assert_eq!(train.labels(), [1, 0, 2, 0, 3, 0, 4, 0, 5, 0]);
    assert_eq!(train.image(5).unwrap(), &make::noise(2 * 3072, 3)[3072..]);
    assert_eq!(train.image(10), None);
    assert_eq!(Dataset::open(cifar_100().path()).unwrap().class_name(99), Some("c99"));
    let data = Dataset::open(downsampled(true).path()).unwrap();
    assert_eq!(
        (data.class_name(0), data.class_name(1), data.class_name(2)),
        (Some("kit_fox"), Some("English_setter"), None)
    );
    assert_eq!(
        (data.train().label(1), data.train().label(5), data.test().label(2)),
        (Some(999), Some(6), Some(7))
    );
    assert_eq!(data.mean_image(), Some([100.0; 192].as_slice()));
    let dir = folders();
    let data = Dataset::open(dir.path()).unwrap();
    assert_eq!(
        (data.class_name(1), data.train().label(2), data.train().label(3)),
        (Some("bee"), Some(0), Some(1))
    );
    let Split::Photos(photos) = data.train() else { panic!("photographs") };
    assert_eq!(photos.path(3).unwrap(), dir.path().join("train/bee/0.JPEG"));
    assert_eq!((photos.decode(4).unwrap().width(), photos.decode(4).unwrap().height()), (33, 51));
}

#[test]
fn without_a_mean_in_the_files_it_is_computed() {
    let dir = tempdir().unwrap();
    write(dir.path(), "train_data_batch_1", &rows(1, false).pickle());
    write(dir.path(), "val_data", &rows(2, false).pickle());
    let data = Dataset::open(dir.path()).unwrap();
    let pixels = rows(1, false).data();
    let expected: Vec<f32> = (0..192)
        .map(|i| [0, 192, 384].iter().map(|row| f32::from(pixels[row + i])).sum::<f32>() / 3.0)
        .collect();
    assert!(data.mean_image().unwrap().iter().zip(&expected).all(|(a, b)| (a - b).abs() < 1e-4));
}

#[test]
fn statistics_of_photographs_that_are_not_imagenet_are_computed() {
    let dir = tempdir().unwrap();
    let flat = |value: u8| {
        make::png(20, 20, png::ColorType::Rgb, png::BitDepth::Eight, &[value, 0, 255].repeat(400))
    };
    for (i, value) in [51, 153].into_iter().enumerate() {
        write(dir.path(), &format!("train/a/{i}.png"), &flat(value));
        write(dir.path(), &format!("val/a/{i}.png"), &flat(value));
    }
    let data = Dataset::open(dir.path()).unwrap();
    // Red is 0.2 or 0.6: mean 0.4, deviation 0.2. The others never vary.
    assert_eq!(Normalise::usual(&data).unwrap(), Normalise::channels(&[(0.4, 0.2), (0.0, 0.0), (1.0, 0.0)]));
}

#[test]
fn the_only_data_set_below_a_directory_is_found() {
    let dir = tempdir().unwrap();
    let refused = || Dataset::open(dir.path()).unwrap_err().to_string();
    assert!(refused().contains("found none of their files"), "{}", refused());
    write(dir.path(), "cifar-100-binary/train.bin", &make::cifar(&[&[1, 50]], 1));
    write(dir.path(), "cifar-100-binary/test.bin", &make::cifar(&[&[1, 50]], 2));
    assert_eq!(Dataset::open(dir.path()).unwrap().kind(), Kind::Cifar100);
    write(dir.path(), "other/train.bin", &[]);
    assert!(refused().contains("several: choose one of cifar-100-binary, other"), "{}", refused());
    write(dir.path(), "test_batch.bin", &[]);
    write(dir.path(), "val_data", &[]);
    assert!(refused().contains("files of both CIFAR-10"), "{}", refused());
    let missing = Dataset::open(dir.path().join("nowhere")).unwrap_err().to_string();
    assert!(missing.starts_with("cannot read") && missing.contains("nowhere"), "{missing}");
}

/// Damages a directory and returns the sentence without the directory's own name, after checking
/// that it is one.
fn refusal(dir: &TempDir, damage: impl Fn(&Path)) -> String {
    Dataset::open(dir.path()).unwrap();
    damage(dir.path());
    let error = Dataset::open(dir.path()).unwrap_err().to_string();
    assert!(error.ends_with('.') && !error.contains('\n'), "one sentence: {error}");
    error.replace(&format!("{}/", dir.path().display()), "").replace(&dir.path().display().to_string(), "DIR")
}

#[test]
fn mnist_with_something_wrong() {
    let copy = |from: &'static str, to: &'static str| {
        move |dir: &Path| {
            std::fs::copy(dir.join(from), dir.join(to)).unwrap();
        }
    };
    assert_eq!(
        refusal(&mnist(), copy("t10k-labels.idx1-ubyte", "t10k-images-idx3-ubyte")),
        "t10k-images-idx3-ubyte: expected an IDX image file (magic number 0x00000803), found an IDX label file."
    );
    let counts = refusal(&mnist(), copy("train-images-idx3-ubyte.gz", "t10k-images-idx3-ubyte"));
    assert_eq!(
        counts,
        "t10k-labels.idx1-ubyte: expected as many images of 784 bytes as labels, and at least one, found 4704 bytes of \
         images and 2 labels."
    );
    assert_eq!(
        refusal(&mnist(), |dir| std::fs::remove_file(dir.join("train-labels-idx1-ubyte.gz")).unwrap()),
        "train-labels-idx1-ubyte: expected an IDX file, plain or .gz, found no such file."
    );
    assert_eq!(
        refusal(&mnist(), |dir| write(dir, "t10k-labels.idx1-ubyte", &make::idx_labels(&[5, 10]))),
        "t10k-labels.idx1-ubyte: expected labels of 0 to 9, found label 10 at image 1."
    );
    let swapped = refusal(&mnist(), |dir| {
        write(dir, "t10k-images-idx3-ubyte", &make::idx_images(7, 28, 28, 1));
        write(dir, "t10k-labels.idx1-ubyte", &make::idx_labels(&[0; 7]));
    });
    assert!(swapped.contains("as if train and t10k were swapped"), "{swapped}");
    let copied = refusal(&mnist(), |dir| {
        write(dir, "t10k-images-idx3-ubyte", &make::idx_images(6, 28, 28, 1));
        write(dir, "t10k-labels.idx1-ubyte", &make::idx_labels(&[0, 1, 2, 3, 4, 9]));
    });
    assert!(copied.contains("a copy of the train files"), "{copied}");
}

#[test]
fn cifar_with_something_wrong() {
    assert_eq!(
        refusal(&cifar_10(), |dir| write(dir, "data_batch_3.bin", &[1; 3072])),
        "data_batch_3.bin: expected one or more CIFAR-10 records of 3073 bytes, found 3072 bytes, which is not a multiple."
    );
    assert_eq!(
        refusal(&cifar_10(), |dir| write(dir, "data_batch_3.bin", &[10; 3073])),
        "data_batch_3.bin: expected labels of 0 to 9, found label 10 in record 0."
    );
    assert_eq!(
        refusal(&cifar_10(), |dir| std::fs::remove_file(dir.join("test_batch.bin")).unwrap()),
        "test_batch.bin: expected a file of CIFAR-10 records, found no such file."
    );
    assert_eq!(
        refusal(&cifar_10(), |dir| {
            std::fs::copy(dir.join("data_batch_4.bin"), dir.join("test_batch.bin")).unwrap();
        }),
        "test_batch.bin: expected images that are in no training file, found a copy of data_batch_4.bin."
    );
    assert_eq!(
        refusal(&cifar_100(), |dir| {
            write(dir, "train.bin", &make::cifar(&[&[1, 50]], 2));
            write(dir, "test.bin", &make::cifar(&[&[1, 50], &[2, 60]], 1));
        }),
        "test.bin: expected fewer images than for training, found more, as if train and test were swapped."
    );
    assert_eq!(
        refusal(&cifar_100(), |dir| write(dir, "fine_label_names.txt", b"apple\nbaby\n")),
        "fine_label_names.txt: expected 100 class names, found 2."
    );
}

#[test]
fn downsampled_imagenet_with_something_wrong() {
    for pickled in [false, true] {
        let suffix = if pickled { "" } else { ".npz" };
        let put = |name: &str, rows: &Rows| {
            let (name, bytes) =
                (format!("{name}{suffix}"), if pickled { rows.pickle() } else { rows.npz(true) });
            move |dir: &Path| write(dir, &name, &bytes)
        };
        let dir = || downsampled(pickled);
        let said = refusal(&dir(), put("train_data_batch_2", &rows(3, false)));
        let expected = "expected the mean image of the batches before it, found another or none, as in a batch of another set or split.";
        assert_eq!(said, format!("train_data_batch_2{suffix}: {expected}"));
        let said = refusal(&dir(), put("val_data", &rows(2, true)));
        assert!(
            said.starts_with(&format!("val_data{suffix}: expected images that are in no training batch")),
            "{said}"
        );
        let said =
            refusal(&dir(), put("val_data", &Rows { side: 16, labels: vec![1], seed: 1, mean: false }));
        assert_eq!(said, format!("val_data{suffix}: expected images of 8x8, found 16x16."));
        let said = refusal(&dir(), |dir| {
            std::fs::remove_file(dir.join(format!("train_data_batch_1{suffix}"))).unwrap();
        });
        assert_eq!(said, "train_data_batch_1: expected a training batch, found no such file.");
        let said = refusal(&dir(), |dir| {
            let path = dir.join(format!("val_data{suffix}"));
            let bytes = std::fs::read(&path).unwrap();
            std::fs::write(path, &bytes[..bytes.len() - 30]).unwrap();
        });
        assert!(said.starts_with(&format!("val_data{suffix}: expected a complete")), "{said}");
        let said = refusal(&dir(), |dir| write(dir, &format!("val_data{suffix}"), b"hello"));
        assert!(said.contains("found neither"), "{said}");
    }
    let said = refusal(&downsampled(true), |dir| write(dir, "map_clsloc.txt", b"kit_fox"));
    assert!(said.starts_with("map_clsloc.txt: expected lines of"), "{said}");
}

#[test]
fn class_folders_with_something_wrong() {
    assert_eq!(
        refusal(&folders(), |dir| write(dir, "train/ape/notes.txt", b"hello")),
        "train/ape/notes.txt: expected a photograph named .jpeg, .jpg or .png, found something else."
    );
    assert_eq!(
        refusal(&folders(), |dir| write(dir, "val/ILSVRC2012_val_1.JPEG", &make::jpeg(9, 9))),
        "val/ILSVRC2012_val_1.JPEG: expected nothing but class folders beside it, found a file."
    );
    assert_eq!(
        refusal(&folders(), |dir| write(dir, "val/cow/1.JPEG", &make::jpeg(9, 9))),
        "val/cow: expected a class that train/ has too, found one it has not."
    );
    assert_eq!(
        refusal(&folders(), |dir| std::fs::create_dir(dir.join("train/cow")).unwrap()),
        "train/cow: expected photographs, found none."
    );
    assert!(
        refusal(&folders(), |dir| std::fs::remove_dir_all(dir.join("val")).unwrap())
            .starts_with("cannot read val")
    );
    let dir = folders();
    write(dir.path(), "train/ape/.DS_Store", b"hidden files are nobody's business");
    write(dir.path(), "train/ape/0.JPEG", b"not a photograph");
    let data = Dataset::open(dir.path()).unwrap();
    let Split::Photos(photos) = data.train() else { panic!("photographs") };
    let error = photos.decode(0).unwrap_err().to_string();
    assert!(
        error.ends_with("train/ape/0.JPEG: expected a JPEG or PNG photograph, found neither."),
        "{error}"
    );
    assert!(photos.decode(99).is_err());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    /// Folders of files with any content open (their names are right), and decoding each returns
    /// one way or the other.
    #[test]
    fn class_folders_of_arbitrary_files(
        contents in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..200), 1..4),
        opening in prop::sample::select(vec![b"".as_slice(), b"\xff\xd8\xff\xe0", b"\x89PNG\r\n\x1a\n"]),
    ) {
        let dir = tempdir().unwrap();
        for (i, content) in contents.iter().enumerate() {
            write(dir.path(), &format!("train/a/{i}.jpg"), &[opening, content.as_slice()].concat());
            write(dir.path(), &format!("val/a/{i}.png"), content);
        }
        let data = Dataset::open(dir.path()).unwrap();
        let Split::Photos(photos) = data.train() else { panic!("photographs") };
        for i in 0..data.train().len() {
            if let Err(error) = photos.decode(i) {
                let (error, named) = (error.to_string(), format!("train/a/{i}.jpg: expected "));
                prop_assert!(error.contains(&named), "{}", error);
            }
        }
    }

    /// One file of a whole set replaced by another of the same set, or cut: a sentence or a data
    /// set, never a panic.
    #[test]
    fn shuffled_files(set in 0..5_usize, from in any::<prop::sample::Index>(), to in any::<prop::sample::Index>(), keep in 0.0..=1.0) {
        let dir = [mnist, cifar_10, cifar_100, || downsampled(false), || downsampled(true)][set]();
        let mut files: Vec<_> = std::fs::read_dir(dir.path()).unwrap().map(|entry| entry.unwrap().path()).collect();
        files.sort();
        let bytes = std::fs::read(from.get(&files)).unwrap();
        std::fs::write(to.get(&files), &bytes[..(bytes.len() as f64 * keep) as usize]).unwrap();
        if let Err(error) = Dataset::open(dir.path()) {
            let error = error.to_string();
            prop_assert!(error.contains("expected ") && error.ends_with('.'), "{}", error);
        }
    }
}
