//! The readers of data sets one by one, for fuzzing: each takes any bytes, and answers whether they
//! are of its format.

use super::cifar::{self, Variant};
use super::downsampled::Batch;
use super::{decode, idx};

/// An IDX file of images, plain or gzipped.
pub fn idx_images(bytes: &[u8]) -> bool {
    idx::images(bytes).is_ok_and(|(shape, pixels)| {
        assert_eq!(pixels.len() % shape.len(), 0, "whole images only");
        true
    })
}

/// An IDX file of labels, plain or gzipped.
pub fn idx_labels(bytes: &[u8]) -> bool {
    idx::labels(bytes).is_ok()
}

/// Records of CIFAR-10 and of CIFAR-100.
pub fn cifar(bytes: &[u8]) -> bool {
    [Variant::Ten, Variant::Hundred].into_iter().any(|variant| {
        let (mut pixels, mut labels) = (vec![], vec![]);
        let read = cifar::append(bytes, variant, &mut pixels, &mut labels).is_ok();
        assert_eq!(pixels.len(), labels.len() * cifar::SHAPE.len(), "an image per label");
        assert!(labels.iter().all(|&label| usize::from(label) < variant.classes()));
        read
    })
}

/// A batch of downsampled ImageNet, an archive or a pickle.
pub fn batch(bytes: &[u8]) -> bool {
    Batch::parse(bytes).is_ok_and(|batch| {
        assert_eq!(batch.pixels.len(), batch.labels.len() * 3 * batch.side * batch.side);
        true
    })
}

/// A photograph, JPEG or PNG.
pub fn photograph(bytes: &[u8]) -> bool {
    decode::decode(bytes).is_ok()
}
