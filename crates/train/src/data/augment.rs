//! Augmentation: random views of training images, plain views of test images.
//!
//! All chance comes from a generator keyed by (seed, epoch, image), so that a view does not depend
//! on threads, order or restarts.

use std::fmt;

use collegial_core::Rng;
use serde::{Deserialize, Serialize};

use super::image::Window;
use super::resize::Scratch;
use super::{DataError, Dataset, Kind, Mismatch, Normalise, Photos, Rgb, Shape, Split, Stored};

/// The stream of random numbers that is ours ("augm").
const STREAM: u32 = 0x6175_676d;
/// Share of a photograph's area that a random crop covers, and its width over its height.
const SCALE: (f64, f64) = (0.08, 1.0);
const RATIO: (f64, f64) = (3.0 / 4.0, 4.0 / 3.0);
/// The shorter side to which a photograph is resized before its centre is cut out, per 224 pixels
/// of the cut.
const RESIZE: (usize, usize) = (256, 224);
/// Red, green and blue in the brightness of a pixel (ITU-R 601).
const LUMA: [f32; 3] = [0.299, 0.587, 0.114];

/// Which image in which epoch: all that chance may depend on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Key {
    /// The user's seed.
    pub seed: u64,
    /// Counted from 0.
    pub epoch: u32,
    /// The image's place in its split.
    pub index: u32,
}

impl Key {
    fn rng(self) -> Rng {
        Rng::new(self.seed, STREAM, u64::from(self.epoch) << 32 | u64::from(self.index))
    }
}

/// The augmentation of an image before it is normalised.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Augment {
    /// Nothing random, as for test images: images in memory as they are, the centre of photographs.
    None,
    /// Images in memory: cut out at random after `pad` pixels were added on each side, and mirrored
    /// half of the time.
    Shift {
        /// 4 for CIFAR; 0 leaves the image where it is.
        #[serde(default)]
        pad: usize,
        /// Whether to mirror.
        #[serde(default)]
        flip: bool,
    },
    /// Photographs: a random part at a random aspect, mirrored half of the time, brightness,
    /// contrast and saturation changed by factors of 1 - jitter to 1 + jitter in random order.
    ResizedCrop {
        /// 0.4 in the usual ImageNet recipe.
        #[serde(default)]
        jitter: f64,
    },
}

impl Augment {
    /// The usual training recipe of a data set. Digits are not mirrored, and clothes are left alone
    /// likewise.
    pub fn training(dataset: &Dataset) -> Self {
        match dataset.kind() {
            Kind::Mnist | Kind::FashionMnist | Kind::Idx => Self::None,
            Kind::Cifar10 | Kind::Cifar100 | Kind::DownsampledImageNet => Self::Shift { pad: 4, flip: true },
            Kind::ClassFolders => Self::ResizedCrop { jitter: 0.4 },
        }
    }
}

impl fmt::Display for Augment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::None => write!(f, "none"),
            Self::Shift { pad, flip } => write!(f, "shift with pad {pad} and flip {flip}"),
            Self::ResizedCrop { jitter } => write!(f, "resized-crop with jitter {jitter}"),
        }
    }
}

/// Augmentation and normalisation for one data set.
#[derive(Debug, Clone)]
pub struct Transform {
    shape: Shape,
    augment: Augment,
    normalise: Normalise,
}

impl Transform {
    /// Checks that the three belong together.
    pub fn new(dataset: &Dataset, augment: Augment, normalise: Normalise) -> Result<Self, DataError> {
        let shape = dataset.shape();
        let stored = matches!(dataset.train(), Split::Stored(_));
        let refuse = |expected: &'static str| {
            Err(DataError::Request(Mismatch::new(expected, format!("the augmentation {augment}"))))
        };
        match augment {
            Augment::None => {}
            Augment::Shift { pad, .. } if stored && pad <= shape.height.min(shape.width) => {}
            Augment::Shift { .. } if stored => return refuse("a border no wider than the image"),
            Augment::ResizedCrop { jitter } if !stored && (0.0..=1.0).contains(&jitter) => {}
            Augment::ResizedCrop { .. } if !stored => return refuse("a jitter of 0 to 1"),
            Augment::Shift { .. } | Augment::ResizedCrop { .. } => {
                return refuse("none or shift for images in memory, none or resized-crop for photographs");
            }
        }
        if !normalise.is_for(shape) {
            let expected = format!("a normalisation for images of {shape}");
            return Err(DataError::Request(Mismatch::new(expected, "one for another shape")));
        }
        Ok(Self { shape, augment, normalise })
    }

    /// The usual recipe for training.
    pub fn training(dataset: &Dataset) -> Result<Self, DataError> {
        Self::new(dataset, Augment::training(dataset), Normalise::usual(dataset)?)
    }

    /// The usual recipe for testing.
    pub fn evaluation(dataset: &Dataset) -> Result<Self, DataError> {
        Self::new(dataset, Augment::None, Normalise::usual(dataset)?)
    }

    /// The shape of what [`apply`](Self::apply) writes.
    pub fn shape(&self) -> Shape {
        self.shape
    }

    /// Writes one image of a split, channel by channel, into `out`, which has as many values as the
    /// shape.
    pub fn apply(
        &self,
        split: &Split,
        key: Key,
        scratch: &mut Scratch,
        out: &mut [f32],
    ) -> Result<(), DataError> {
        if out.len() != self.shape.len() {
            let (expected, found) = (self.shape.len().to_string(), out.len().to_string());
            return Err(DataError::Request(Mismatch::new(format!("room for {expected} values"), found)));
        }
        match (split, self.augment) {
            (Split::Stored(stored), Augment::None) => self.shift(stored, 0, false, key, out),
            (Split::Stored(stored), Augment::Shift { pad, flip }) => self.shift(stored, pad, flip, key, out),
            (Split::Photos(photos), Augment::ResizedCrop { jitter }) => {
                self.resized_crop(photos, jitter, key, scratch, out)
            }
            (Split::Photos(photos), Augment::None) => {
                let image = photos.decode(key.index as usize)?;
                to_planes(centre(&image, self.shape.width, scratch), out);
                self.normalise.in_place(out);
                Ok(())
            }
            _ => {
                Err(DataError::Request(Mismatch::new("the data set this transform was made for", "another")))
            }
        }
    }

    fn shift(
        &self,
        stored: &Stored,
        pad: usize,
        flip: bool,
        key: Key,
        out: &mut [f32],
    ) -> Result<(), DataError> {
        let image =
            stored.image(key.index as usize).filter(|image| image.len() == out.len()).ok_or_else(|| {
                DataError::Request(Mismatch::new("an image of this data set", format!("image {}", key.index)))
            })?;
        // An image that stays as it is needs no random numbers.
        let (mut dx, mut dy, mut mirrored) = (0, 0, false);
        if pad > 0 || flip {
            let mut rng = key.rng();
            let places = 2 * pad as u64 + 1;
            (dx, dy) = (rng.below(places) as usize, rng.below(places) as usize);
            mirrored = flip && rng.below(2) == 1;
        }
        let Shape { height, width, .. } = self.shape;
        // Columns of the output that show the image: column x shows column x + dx - pad.
        let (left, right) = (pad.saturating_sub(dx), width.min(width + pad - dx.min(width + pad)));
        let planes = out.chunks_exact_mut(height * width).zip(image.chunks_exact(height * width));
        for (channel, (out, image)) in planes.enumerate() {
            let border = self.normalise.border(channel);
            for (y, row) in out.chunks_exact_mut(width).enumerate() {
                match (y + dy).checked_sub(pad).filter(|&y| y < height) {
                    Some(y) => {
                        let start = y * width + left + dx - pad;
                        row[..left].fill(border);
                        row[right..].fill(border);
                        let bytes = &image[start..start + right - left];
                        self.normalise.run(bytes, channel, height * width, start, &mut row[left..right]);
                    }
                    None => row.fill(border),
                }
                if mirrored {
                    row.reverse();
                }
            }
        }
        Ok(())
    }

    fn resized_crop(
        &self,
        photos: &Photos,
        jitter: f64,
        key: Key,
        scratch: &mut Scratch,
        out: &mut [f32],
    ) -> Result<(), DataError> {
        let image = photos.decode(key.index as usize)?;
        let mut rng = key.rng();
        let window = random_window(&image, &mut rng);
        let pixels = scratch.crop_then_resize(&image, window, self.shape.width);
        to_planes(pixels, out);
        if rng.below(2) == 1 {
            out.chunks_exact_mut(self.shape.width).for_each(<[f32]>::reverse);
        }
        if jitter > 0.0 {
            colour_jitter(out, jitter, &mut rng);
        }
        self.normalise.in_place(out);
        Ok(())
    }
}

/// A window of random area and aspect; after ten that do not fit, the largest central one whose
/// aspect is allowed.
pub(crate) fn random_window(image: &Rgb, rng: &mut Rng) -> Window {
    let (full_width, full_height) = (image.width() as f64, image.height() as f64);
    for _ in 0..10 {
        let area = full_width * full_height * between(SCALE, rng);
        let ratio = between((RATIO.0.ln(), RATIO.1.ln()), rng).exp();
        let (width, height) =
            ((area * ratio).sqrt().round() as usize, (area / ratio).sqrt().round() as usize);
        if (1..=image.width()).contains(&width) && (1..=image.height()).contains(&height) {
            let top = rng.below((image.height() - height + 1) as u64) as usize;
            let left = rng.below((image.width() - width + 1) as u64) as usize;
            return Window { left, top, width, height };
        }
    }
    let clamp = |size: f64, full: usize| (size.round() as usize).clamp(1, full);
    let width = clamp(full_width.min(full_height * RATIO.1), image.width());
    let height = clamp(full_height.min(full_width / RATIO.0), image.height());
    Window { left: (image.width() - width) / 2, top: (image.height() - height) / 2, width, height }
}

fn between((low, high): (f64, f64), rng: &mut Rng) -> f64 {
    low + (high - low) * rng.uniform()
}

/// The shorter side resized to 256 (for a `side` of 224), then the central square.
pub(crate) fn centre<'s>(image: &Rgb, side: usize, scratch: &'s mut Scratch) -> &'s [u8] {
    let short = side * RESIZE.0 / RESIZE.1;
    let (width, height) = (image.width(), image.height());
    let long = |long: usize, other: usize| (short as u64 * long as u64 / other as u64) as usize;
    let full = if width < height { (short, long(height, width)) } else { (long(width, height), short) };
    // Halves are rounded to even, as Python does.
    let offset = |full: usize| ((full - side) as f64 / 2.0).round_ties_even() as usize;
    scratch.resize_then_crop(image, full, (offset(full.0), offset(full.1)), side)
}

/// Interleaved bytes to planes of values of 0 to 255.
fn to_planes(pixels: &[u8], out: &mut [f32]) {
    let plane = out.len() / 3;
    let (red, rest) = out.split_at_mut(plane);
    let (green, blue) = rest.split_at_mut(plane);
    for (((&[r, g, b], red), green), blue) in pixels.as_chunks::<3>().0.iter().zip(red).zip(green).zip(blue) {
        (*red, *green, *blue) = (r.into(), g.into(), b.into());
    }
}

/// Brightness, contrast and saturation of planes of values of 0 to 255, each blended with black,
/// with the mean brightness or with the pixel's own brightness, in random order.
pub(crate) fn colour_jitter(planes: &mut [f32], strength: f64, rng: &mut Rng) {
    let mut order = [Change::Brightness, Change::Contrast, Change::Saturation];
    rng.shuffle(&mut order);
    for change in order {
        let factor = between((1.0 - strength, 1.0 + strength), rng) as f32;
        change.apply(planes, factor);
    }
}

/// One of the three changes of colour.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Change {
    Brightness,
    Contrast,
    Saturation,
}

impl Change {
    pub(crate) fn apply(self, planes: &mut [f32], factor: f32) {
        let plane = planes.len() / 3;
        let (red, rest) = planes.split_at_mut(plane);
        let (green, blue) = rest.split_at_mut(plane);
        let blend = |value: f32, other: f32| (factor * value + (1.0 - factor) * other).clamp(0.0, 255.0);
        let luma = |r: f32, g: f32, b: f32| LUMA[0] * r + LUMA[1] * g + LUMA[2] * b;
        let brightness = || red.iter().zip(&*green).zip(&*blue).map(|((&r, &g), &b)| luma(r, g, b));
        match self {
            Self::Brightness => planes.iter_mut().for_each(|value| *value = blend(*value, 0.0)),
            Self::Contrast => {
                let mean = (brightness().map(f64::from).sum::<f64>() / plane as f64) as f32;
                planes.iter_mut().for_each(|value| *value = blend(*value, mean));
            }
            Self::Saturation => {
                for ((r, g), b) in red.iter_mut().zip(green).zip(blue) {
                    let grey = luma(*r, *g, *b);
                    (*r, *g, *b) = (blend(*r, grey), blend(*g, grey), blend(*b, grey));
                }
            }
        }
    }
}
