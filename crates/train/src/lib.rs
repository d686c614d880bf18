//! Does the design hold up: data sets, augmentation and batches for training collegial ensembles.
//!
//! The main type is [`data::Dataset`]: [`Dataset::open`](data::Dataset::open) recognises a directory by what it
//! holds (MNIST, CIFAR, downsampled ImageNet, class folders of photographs), checks it and hands out a training
//! and a test split; [`data::Loader`] turns a split into a stream of augmented batches. These are the data of the
//! paper's section 5 and appendices A and B. Nothing is ever downloaded.

pub mod data;
