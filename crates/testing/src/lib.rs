//! Test fixtures that several crates share: a small data set that can be learnt, and a small network
//! with batch norms and groups.
//!
//! For development only: a dev-dependency of the crates of this workspace, without a promise of
//! stability. It is published so that their packaged tests compile.

use std::path::Path;

/// Writes 8x8 images in MNIST's files: noise, with a bright bar where the class says.
///
/// # Panics
///
/// If the files cannot be written.
pub fn write_data(directory: &Path, train: u32, test: u32) {
    std::fs::create_dir_all(directory).unwrap();
    for (name, count, seed) in [("train", train, 1), ("t10k", test, 2)] {
        let (mut pixels, mut labels) = (vec![], vec![]);
        let mut state: u64 = seed;
        for index in 0..count {
            let label = (index * 7 + index / 10) % 10;
            labels.push(label as u8);
            for place in 0..64_u32 {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                let lit = if label < 8 { place / 8 == label } else { place % 8 == label - 8 };
                pixels.push((state >> 57) as u8 + if lit { 120 } else { 0 });
            }
        }
        let head = |numbers: &[u32]| numbers.iter().flat_map(|n| n.to_be_bytes()).collect::<Vec<u8>>();
        let images = [head(&[0x0803, count, 8, 8]), pixels].concat();
        std::fs::write(directory.join(format!("{name}-images-idx3-ubyte")), images).unwrap();
        let labels = [head(&[0x0801, count]), labels].concat();
        std::fs::write(directory.join(format!("{name}-labels-idx1-ubyte")), labels).unwrap();
    }
}

/// Two members of two convolutions with batch norms.
pub const NETWORK: &str = r#"
kind = "sequence"
name = "small"
input = { channels = 1, height = 8, width = 8 }
members = 2
layers = [
    { type = "conv", width = 6, kernel = 3, norm = "batch", activation = "relu" },
    { type = "conv", width = 5, kernel = 3, stride = 2, norm = "batch", activation = "relu" },
    { type = "global-average-pool" },
    { type = "dense", width = 10 },
]
"#;
