//! Synthetic images with the spectrum of natural ones.

use std::f64::consts::TAU;

use collegial_arch::Shape;
use collegial_core::Rng;

/// Waves per channel.
const WAVES: usize = 60;

/// The stream of random numbers that is ours ("pict").
const STREAM: u32 = 0x7069_6374;

/// Images of channels x height x width values: sums of waves of random direction and phase whose
/// amplitude is one over their frequency (1 to a third of the side in waves per image), every
/// channel with mean 0 and variance 1.
pub(super) fn smooth(shape: Shape, count: usize, seed: u64) -> Vec<Vec<f32>> {
    (0..count as u64)
        .map(|image| {
            let mut rng = Rng::new(seed, STREAM, image);
            (0..shape.channels).flat_map(|_| channel(shape, &mut rng)).collect()
        })
        .collect()
}

fn channel(shape: Shape, rng: &mut Rng) -> Vec<f32> {
    let highest = (shape.width as f64 / 3.0).max(1.0);
    let mut values = vec![0.0; shape.pixels()];
    for _ in 0..WAVES {
        // Frequencies that are uniform in their logarithm, each of equal power, fall like natural
        // images' spectrum.
        let frequency = highest.powf(rng.uniform());
        let (direction, phase) = (TAU * rng.uniform(), TAU * rng.uniform());
        let step = [direction.sin(), direction.cos()].map(|part| TAU * frequency * part / shape.width as f64);
        for (at, value) in values.iter_mut().enumerate() {
            let (row, column) = ((at / shape.width) as f64, (at % shape.width) as f64);
            *value += (step[0] * row + step[1] * column + phase).cos();
        }
    }
    let mean = values.iter().sum::<f64>() / values.len() as f64;
    let square = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / values.len() as f64;
    values.iter().map(|value| ((value - mean) / square.sqrt()) as f32).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Standardised, smooth (neighbours alike), and different from each other.
    #[test]
    fn pictures_are_standardised_and_smooth() {
        let shape = Shape::image(3, 32);
        let images = smooth(shape, 2, 4);
        for channel in images.iter().flat_map(|image| image.chunks_exact(shape.pixels())) {
            let mean = channel.iter().sum::<f32>() / channel.len() as f32;
            let square = channel.iter().map(|x| x * x).sum::<f32>() / channel.len() as f32;
            assert!(mean.abs() < 1e-4 && (square - 1.0).abs() < 1e-3, "{mean} {square}");
            let neighbours = channel.chunks_exact(32).flat_map(|row| row.windows(2));
            let alike = neighbours.map(|pair| pair[0] * pair[1]).sum::<f32>() / (31.0 * 32.0);
            assert!(alike > 0.6, "{alike}");
        }
        assert_ne!(images[0], images[1]);
    }
}
