//! What a compressed file may become: a limit that is named where it is met, and that can be
//! raised.

use std::io::{Cursor, Write};
use std::path::Path;
use std::process::Command;

/// The variable that raises the limit.
const LIMIT: &str = "COLLEGIAL_MAX_UNPACKED";

/// A gzip file of zeros behind a header.
fn gzip(header: &[u32], zeros: usize) -> Vec<u8> {
    let mut file = flate2::write::GzEncoder::new(vec![], flate2::Compression::best());
    header.iter().for_each(|word| file.write_all(&word.to_be_bytes()).unwrap());
    file.write_all(&vec![0; zeros]).unwrap();
    file.finish().unwrap()
}

/// MNIST's files with so many black images for training.
fn write_idx(directory: &Path, images: u32) {
    for (split, count) in [("train", images), ("t10k", 2)] {
        let pixels = gzip(&[0x0803, count, 28, 28], count as usize * 784);
        std::fs::write(directory.join(format!("{split}-images-idx3-ubyte.gz")), pixels).unwrap();
        let labels = gzip(&[0x0801, count], count as usize);
        std::fs::write(directory.join(format!("{split}-labels-idx1-ubyte.gz")), labels).unwrap();
    }
}

fn npy(shape: &str, bytes: &[u8]) -> Vec<u8> {
    let header = format!("{{'descr': '|u1', 'fortran_order': False, 'shape': {shape}, }}\n");
    let length = (header.len() as u16).to_le_bytes();
    [b"\x93NUMPY\x01\x00", &length[..], header.as_bytes(), bytes].concat()
}

/// Batches of downsampled ImageNet, 8x8, with so many black images in the first.
fn write_npz(directory: &Path, images: usize) {
    let batches = (1..=10).map(|number| format!("train_data_batch_{number}.npz"));
    for (index, name) in batches.chain(["val_data.npz".to_owned()]).enumerate() {
        // No two batches are alike.
        let count = if index == 0 { images } else { index };
        let mut archive = zip::ZipWriter::new(Cursor::new(vec![]));
        let members = [
            ("data.npy", npy(&format!("({count}, 192)"), &vec![0; 192 * count])),
            ("labels.npy", npy(&format!("({count},)"), &vec![1; count])),
        ];
        for (member, bytes) in members {
            archive.start_file(member, zip::write::SimpleFileOptions::default()).unwrap();
            archive.write_all(&bytes).unwrap();
        }
        std::fs::write(directory.join(name), archive.finish().unwrap().into_inner()).unwrap();
    }
}

/// Class folders with one black photograph of this side each.
fn write_photographs(directory: &Path, side: u32) {
    let mut file = vec![];
    let mut encoder = png::Encoder::new(&mut file, side, side);
    encoder.set_color(png::ColorType::Grayscale);
    let mut writer = encoder.write_header().unwrap();
    writer.write_image_data(&vec![0; side as usize * side as usize]).unwrap();
    writer.finish().unwrap();
    for folder in ["train/a", "train/b", "val/a", "val/b"] {
        std::fs::create_dir_all(directory.join(folder)).unwrap();
        std::fs::write(directory.join(folder).join("photograph.png"), &file).unwrap();
    }
}

/// The exit code and what is said about data that claim more than 64 MiB, with and without the
/// variable.
fn kernel(directory: &Path, model: &str, limit: Option<&str>) -> (Option<i32>, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_collegial"));
    command.args(["ntk", model, "--count", "1", "--data"]).arg(directory).env_remove(LIMIT);
    let output = command.envs(limit.map(|limit| (LIMIT, limit))).output().unwrap();
    (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
}

/// Every reader of packed files names the variable, with a value that lets the file through.
#[test]
fn a_file_that_unpacks_to_too_much_says_which_limit_lets_it_through() {
    let root = tempfile::tempdir().unwrap();
    let place = |name: &str| {
        std::fs::create_dir(root.path().join(name)).unwrap();
        root.path().join(name)
    };
    let (idx, npz, photographs) = (place("idx"), place("npz"), place("photographs"));
    write_idx(&idx, 90_000);
    write_npz(&npz, 360_000);
    write_photographs(&photographs, 5000);
    for (directory, model) in [(idx, "fc2-4"), (npz, "fc2-4"), (photographs, "resnext50-1x1d")] {
        let (code, said) = kernel(&directory, model, None);
        assert_eq!(code, Some(2), "{said}");
        let named = said.split_once(&format!("{LIMIT}=")).unwrap_or_else(|| panic!("{said}")).1;
        let (bytes, _) = named.split_once(" allows it").unwrap();
        assert!(bytes.parse::<u64>().unwrap() > 64 << 20, "{said}");
        let (code, said) = kernel(&directory, model, Some("67108864"));
        assert_eq!(code, Some(2), "{said}");
        let (code, said) = kernel(&directory, model, Some(bytes));
        assert_eq!(code, Some(0), "{said}");
    }
}
