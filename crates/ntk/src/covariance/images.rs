//! The covariance of images: of natural ones by two constants, or of the user's own.

use collegial_arch::Shape;

use super::Lag;
use crate::Error;

/// The correlation that distant pixels of a natural image keep (brightness and colour of the
/// whole), and the distance over which the rest falls to 1/e, as a share of the image's side: C(r)
/// = FAR + (1 - FAR) e^(-r / (RANGE side)).
///
/// Measured on CIFAR-10's first batch by `cargo run --release -p collegial-ntk --example
/// image_covariance -- data_batch_1.bin`: 0.92, 0.81, 0.65, 0.45, 0.30 at 1, 2, 4, 8, 16 pixels
/// along the axes; the formula gives 0.88, 0.79, 0.63, 0.43, 0.27. Natural images look alike at all
/// scales, so larger images are taken to have the same curve over their side.
const FAR: f64 = 0.2;
const RANGE: f64 = 0.2;

/// Lags of own images that are measured along each axis.
const MOST_LAG: usize = 64;

/// Positions per axis, and images, that a measured lag is averaged over at most.
const MOST_POSITIONS: usize = 16;
const MOST_IMAGES: usize = 200;

/// The stationary images that come in, standardised: mean 0 and variance 1 per channel.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Images(Kind);

#[derive(Clone, Debug, Default, PartialEq)]
enum Kind {
    #[default]
    Natural,
    White,
    /// Correlations at lags 0..count along both axes.
    Measured {
        count: usize,
        table: Vec<f64>,
    },
}

impl Images {
    /// Natural images, by two constants.
    pub fn natural() -> Self {
        Self(Kind::Natural)
    }

    /// Images of independent pixels.
    pub fn white() -> Self {
        Self(Kind::White)
    }

    /// The covariance of given images, each of channels x height x width values. Every channel is
    /// standardised over all of them.
    ///
    /// # Errors
    ///
    /// If there are none, one has the wrong length or values that are not finite, or all pixels of
    /// a channel are equal.
    pub fn measured(shape: Shape, images: &[Vec<f32>]) -> Result<Self, Error> {
        let (pixels, expected) = (shape.pixels(), shape.channels * shape.pixels());
        if images.is_empty() {
            return Err(Error::NoInputs);
        }
        for (index, image) in images.iter().enumerate() {
            if image.len() != expected {
                return Err(Error::InputLength { index, found: image.len(), expected });
            }
            if let Some(&value) = image.iter().find(|value| !value.is_finite()) {
                return Err(Error::InputNotFinite { index, value });
            }
        }
        let images = &images[..images.len().min(MOST_IMAGES)];
        let channels = (0..shape.channels)
            .map(|channel| standardise(images.iter().map(|image| &image[channel * pixels..][..pixels])))
            .collect::<Result<Vec<_>, _>>()?;
        let count = shape.height.min(shape.width).min(MOST_LAG + 1);
        let mut table = Vec::with_capacity(count * count);
        for lag in (0..count).flat_map(|y| (0..count).map(move |x| (y, x))) {
            let mean = channels.iter().map(|channel| correlation(channel, shape, lag)).sum::<f64>();
            table.push(mean / channels.len() as f64);
        }
        Ok(Self(Kind::Measured { count, table }))
    }

    /// C(δ) of images of the given side.
    pub fn correlation(&self, (y, x): Lag, side: usize) -> f64 {
        match &self.0 {
            _ if (y, x) == (0, 0) => 1.0,
            Kind::White => 0.0,
            Kind::Natural => {
                let distance = libm::hypot(y as f64, x as f64) / (RANGE * side as f64);
                FAR + (1.0 - FAR) * libm::exp(-distance)
            }
            Kind::Measured { count, table } => {
                let last = count - 1;
                table[y.min(last) * count + x.min(last)] / table[0]
            }
        }
    }
}

/// One channel of all images, with mean 0 and variance 1.
fn standardise<'a>(images: impl Iterator<Item = &'a [f32]>) -> Result<Vec<f64>, Error> {
    let values: Vec<f64> = images.flat_map(|image| image.iter().map(|&value| f64::from(value))).collect();
    let mean = values.iter().sum::<f64>() / values.len() as f64;
    let variance = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / values.len() as f64;
    if variance <= 0.0 {
        return Err(Error::ZeroInput);
    }
    Ok(values.iter().map(|value| (value - mean) / variance.sqrt()).collect())
}

/// The mean product of pixels at a lag, over images and up to 16 x 16 positions.
fn correlation(channel: &[f64], shape: Shape, (y, x): Lag) -> f64 {
    let (rows, columns) = (shape.height - y, shape.width - x);
    let (mut sum, mut count) = (0.0, 0.0);
    for image in channel.chunks_exact(shape.pixels()) {
        for row in (0..rows).step_by(rows.div_ceil(MOST_POSITIONS)) {
            for column in (0..columns).step_by(columns.div_ceil(MOST_POSITIONS)) {
                sum += image[row * shape.width + column] * image[(row + y) * shape.width + column + x];
                count += 1.0;
            }
        }
    }
    sum / count
}

#[cfg(test)]
mod tests {
    use super::*;
    use collegial_core::Rng;

    /// Every pixel the mean of two neighbours in its row, of independent ones: correlation 1/2 at
    /// one column, 0 elsewhere.
    #[test]
    fn own_images_are_measured() {
        let shape = Shape { channels: 2, height: 20, width: 20 };
        let image = |trial: u64| {
            let mut noise = vec![0.0; 2 * 20 * 21];
            Rng::new(3, 0, trial).fill_normal(&mut noise);
            noise.chunks_exact(21).flat_map(|row| row.array_windows().map(|[a, b]| 5.0 + a + b)).collect()
        };
        let images: Vec<Vec<f32>> = (0..200).map(image).collect();
        let measured = Images::measured(shape, &images).unwrap();
        // 2 x 200 x 256 products, neighbours dependent: a standard error of about 0.005.
        for (lag, expected) in [((0, 0), 1.0), ((0, 1), 0.5), ((1, 0), 0.0), ((0, 2), 0.0), ((3, 1), 0.0)] {
            let found = measured.correlation(lag, 20);
            assert!((found - expected).abs() < 0.025, "{lag:?}: {found}");
        }
        let refusal = |images: &[Vec<f32>]| Images::measured(shape, images).unwrap_err().to_string();
        assert!(refusal(&[]).contains("at least one input"));
        assert!(refusal(&[vec![0.0; 800]]).contains("zero"));
        assert!(refusal(&[vec![0.0; 799]]).contains("799"));
        assert!(refusal(&[vec![f32::NAN; 800]]).contains("NaN"));
    }
}
