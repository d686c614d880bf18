//! The correlation of pixels over their distance in a CIFAR-10 batch: where the constants for
//! natural images come from.
//!
//! `cargo run --release -p collegial-ntk --example image_covariance --
//! cifar-10-batches-bin/data_batch_1.bin`

use collegial_arch::Shape;
use collegial_ntk::covariance::Images;

/// A label and 3 x 32 x 32 pixels.
const RECORD: usize = 1 + 3 * 32 * 32;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let path =
        std::env::args().nth(1).ok_or("give the path of a CIFAR-10 batch, such as data_batch_1.bin")?;
    let bytes = std::fs::read(path)?;
    let image = |record: &[u8]| record[1..].iter().map(|&pixel| f32::from(pixel)).collect();
    let images: Vec<Vec<f32>> = bytes.chunks_exact(RECORD).map(image).collect();
    let measured = Images::measured(Shape::image(3, 32), &images)?;
    println!("pixels  rows  columns  diagonal  formula");
    for lag in [1, 2, 3, 4, 6, 8, 12, 16, 24] {
        let [rows, columns, diagonal] =
            [(lag, 0), (0, lag), (lag, lag)].map(|at| measured.correlation(at, 32));
        let formula = Images::natural().correlation((0, lag), 32);
        println!("{lag:>6} {rows:>5.2} {columns:>8.2} {diagonal:>9.2} {formula:>8.2}");
    }
    Ok(())
}
