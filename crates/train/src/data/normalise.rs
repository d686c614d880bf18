//! Normalisation: from bytes to the numbers a network sees.

use super::resize::Scratch;
use super::{DataError, Dataset, Kind, Shape, Split, augment};

/// Per channel (mean, standard deviation) of training pixels divided by 255.
pub type Statistics = [(f64, f64)];

const MNIST: &Statistics = &[(0.1307, 0.3081)];
const CIFAR_10: &Statistics = &[(0.4914, 0.2470), (0.4822, 0.2435), (0.4465, 0.2616)];
const CIFAR_100: &Statistics = &[(0.5071, 0.2673), (0.4865, 0.2564), (0.4409, 0.2762)];
const IMAGENET: &Statistics = &[(0.485, 0.229), (0.456, 0.224), (0.406, 0.225)];
/// How many photographs are enough for three means and deviations.
const SAMPLE: usize = 512;

/// How bytes become numbers.
#[derive(Debug, Clone, PartialEq)]
pub enum Normalise {
    /// (byte / 255 - mean) / deviation of the channel, kept as (slope, offset) of the byte.
    Channels(Vec<(f32, f32)>),
    /// (byte - mean image) / 255.
    MeanImage(Vec<f32>),
}

impl Normalise {
    /// The usual one for a data set: the published constants where there are some, the mean image
    /// of downsampled ImageNet, the training split's own statistics otherwise.
    pub fn usual(dataset: &Dataset) -> Result<Self, DataError> {
        if let Some(mean) = dataset.mean_image() {
            return Ok(Self::MeanImage(mean.to_vec()));
        }
        let named = dataset.kind() != Kind::ClassFolders || is_imagenet(dataset);
        match (Self::published(dataset.kind()).filter(|_| named), dataset.train()) {
            (Some(published), _) => Ok(Self::channels(published)),
            (None, Split::Stored(stored)) => Ok(Self::channels(&stored.channel_statistics())),
            (None, Split::Photos(_)) => Ok(Self::channels(&photo_statistics(dataset)?)),
        }
    }

    /// The constants that everybody uses for a data set; class folders are taken for ImageNet.
    pub fn published(kind: Kind) -> Option<&'static Statistics> {
        match kind {
            Kind::Mnist => Some(MNIST),
            Kind::Cifar10 => Some(CIFAR_10),
            Kind::Cifar100 => Some(CIFAR_100),
            Kind::ClassFolders => Some(IMAGENET),
            Kind::FashionMnist | Kind::Idx | Kind::DownsampledImageNet => None,
        }
    }

    /// From means and standard deviations of pixels divided by 255. A channel that never varies is
    /// only centred.
    pub fn channels(statistics: &[(f64, f64)]) -> Self {
        let affine = |&(mean, deviation): &(f64, f64)| {
            let deviation = if deviation > 0.0 { deviation } else { 1.0 };
            ((1.0 / (255.0 * deviation)) as f32, (-mean / deviation) as f32)
        };
        Self::Channels(statistics.iter().map(affine).collect())
    }

    /// Whether it is made for images of this shape.
    pub(crate) fn is_for(&self, shape: Shape) -> bool {
        match self {
            Self::Channels(channels) => channels.len() == shape.channels,
            Self::MeanImage(mean) => mean.len() == shape.len(),
        }
    }

    /// The values of a black border: normalised black after per-channel normalisation, as in the
    /// usual CIFAR code, which pads the bytes; zero after the mean image, as in the code of
    /// downsampled ImageNet, which pads the difference.
    pub(crate) fn border(&self, channel: usize) -> f32 {
        match self {
            Self::Channels(channels) => channels[channel].1,
            Self::MeanImage(_) => 0.0,
        }
    }

    /// Normalises a run of bytes that starts at `start` within a channel's plane.
    #[inline]
    pub(crate) fn run(&self, bytes: &[u8], channel: usize, plane: usize, start: usize, out: &mut [f32]) {
        match self {
            Self::Channels(channels) => {
                let (slope, offset) = channels[channel];
                out.iter_mut().zip(bytes).for_each(|(out, &byte)| *out = f32::from(byte) * slope + offset);
            }
            Self::MeanImage(mean) => {
                let mean = &mean[channel * plane + start..][..bytes.len()];
                let scale = 1.0 / 255.0;
                let pairs = bytes.iter().zip(mean);
                out.iter_mut()
                    .zip(pairs)
                    .for_each(|(out, (&byte, mean))| *out = (f32::from(byte) - mean) * scale);
            }
        }
    }

    /// Normalises values of 0 to 255 in place, one channel after the other.
    pub(crate) fn in_place(&self, values: &mut [f32]) {
        match self {
            Self::Channels(channels) => {
                let plane = values.len() / channels.len();
                for (values, &(slope, offset)) in values.chunks_exact_mut(plane).zip(channels) {
                    values.iter_mut().for_each(|value| *value = *value * slope + offset);
                }
            }
            Self::MeanImage(mean) => {
                values.iter_mut().zip(mean).for_each(|(value, mean)| *value = (*value - mean) / 255.0);
            }
        }
    }
}

/// ImageNet and its subsets name their folders by WordNet identifiers, `n01440764`.
fn is_imagenet(dataset: &Dataset) -> bool {
    let wordnet = |name: &str| {
        name.len() == 9 && name.starts_with('n') && name[1..].bytes().all(|b| b.is_ascii_digit())
    };
    (0..dataset.classes()).all(|label| dataset.class_name(label).is_some_and(wordnet))
}

/// Statistics of evenly spaced training photographs as the network will see them.
fn photo_statistics(dataset: &Dataset) -> Result<Vec<(f64, f64)>, DataError> {
    let Split::Photos(photos) = dataset.train() else { return Ok(Vec::new()) };
    let (length, shape) = (dataset.train().len(), dataset.shape());
    let mut scratch = Scratch::default();
    let mut counts = vec![[0_u64; 256]; shape.channels];
    for index in (0..length).step_by(length.div_ceil(SAMPLE).max(1)) {
        let image = photos.decode(index)?;
        let centre = augment::centre(&image, shape.width, &mut scratch);
        for (i, &byte) in centre.iter().enumerate() {
            counts[i % 3][usize::from(byte)] += 1;
        }
    }
    Ok(counts.iter().map(super::split::moments).collect())
}
