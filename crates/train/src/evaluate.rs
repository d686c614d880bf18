//! Evaluation: loss and errors on images that a network was not trained on.

use collegial_nn::{Mode, Network};
use serde::Serialize;

use crate::data::Loader;
use crate::{Error, Loss};

/// Counts over a split.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Evaluation {
    /// Images seen.
    pub images: u64,
    /// The mean loss.
    pub loss: f64,
    /// Images whose class was not ranked first.
    pub errors: u64,
    /// Images whose class was not among the first five.
    pub top5_errors: u64,
    /// How many images of class `row` were taken for class `column`.
    pub confusion: Vec<Vec<u64>>,
}

impl Evaluation {
    fn new(classes: usize) -> Self {
        Self { images: 0, loss: 0.0, errors: 0, top5_errors: 0, confusion: vec![vec![0; classes]; classes] }
    }

    /// Share of wrong first guesses.
    pub fn error(&self) -> f64 {
        self.errors as f64 / self.images.max(1) as f64
    }

    /// Share of images whose class was not among the first five guesses.
    pub fn top5_error(&self) -> f64 {
        self.top5_errors as f64 / self.images.max(1) as f64
    }

    /// Images of a class, and how many of them were wrong.
    pub fn class(&self, class: usize) -> (u64, u64) {
        let row = self.confusion.get(class).map_or(&[][..], Vec::as_slice);
        let images = row.iter().sum();
        (images, images - row.get(class).copied().unwrap_or(0))
    }
}

/// Evaluates on all batches of a loader; `None` if `stopped` said so. Batches must not be larger than the
/// network's.
pub fn evaluate(
    network: &mut Network,
    loss: Loss,
    loader: &mut Loader,
    stopped: &dyn Fn() -> bool,
) -> Result<Option<Evaluation>, Error> {
    evaluate_with(network, loss, loader, None, stopped, &mut |_| ())
}

/// The same; `each` is given the outputs of every batch, image by image. Where the data set's
/// classes are some of the network's, `outputs` says which output is whose, and only these are
/// compared.
pub fn evaluate_with(
    network: &mut Network,
    loss: Loss,
    loader: &mut Loader,
    outputs: Option<&[usize]>,
    stopped: &dyn Fn() -> bool,
    each: &mut dyn FnMut(&[f32]),
) -> Result<Option<Evaluation>, Error> {
    let width = network.graph().output_shape().elements() as usize;
    let mut forward = |images: &[f32], logits: &mut Vec<f32>| {
        logits.extend_from_slice(network.forward(images, Mode::Evaluate)?);
        each(logits);
        Ok(())
    };
    count_all(width, loss, loader, outputs, stopped, &mut forward)
}

/// Computes the outputs of a batch's images, by whichever engine, and adds them to the vector.
pub(crate) type Forward<'a> = &'a mut dyn FnMut(&[f32], &mut Vec<f32>) -> Result<(), Error>;

/// The counts over all batches of a loader; `width` is the number of outputs.
pub(crate) fn count_all(
    width: usize,
    loss: Loss,
    loader: &mut Loader,
    outputs: Option<&[usize]>,
    stopped: &dyn Fn() -> bool,
    forward: Forward<'_>,
) -> Result<Option<Evaluation>, Error> {
    let classes = outputs.map_or(width, <[usize]>::len);
    let (mut all, mut chosen) = (vec![], vec![]);
    let mut evaluation = Evaluation::new(classes);
    let (mut labels, mut unused) = (vec![], vec![]);
    let mut total = 0.0;
    while let Some(batch) = loader.next()? {
        if stopped() {
            return Ok(None);
        }
        let count = batch.labels().len();
        labels.clear();
        labels.extend(batch.labels().iter().map(|&label| label as usize));
        all.clear();
        forward(batch.images(), &mut all)?;
        let logits = match outputs {
            Some(outputs) => {
                chosen.clear();
                chosen.extend(
                    all.chunks_exact(width).flat_map(|row| outputs.iter().map(|&output| row[output])),
                );
                chosen.as_slice()
            }
            None => all.as_slice(),
        };
        unused.resize(logits.len(), 0.0);
        total += loss.compute(logits, &labels, &mut unused)? * count as f64;
        for (row, &label) in logits.chunks_exact(classes).zip(&labels) {
            let rank = rank(row, label);
            evaluation.errors += u64::from(rank > 0);
            evaluation.top5_errors += u64::from(rank > 4);
            evaluation.confusion[label][first(row)] += 1;
        }
        evaluation.images += count as u64;
    }
    evaluation.loss = total / evaluation.images.max(1) as f64;
    Ok(Some(evaluation))
}

/// How many of the batch's images were not ranked first.
pub(crate) fn count_errors(logits: &[f32], labels: &[usize]) -> u64 {
    let classes = logits.len() / labels.len().max(1);
    let rows = logits.chunks_exact(classes.max(1)).zip(labels);
    rows.map(|(row, &label)| u64::from(rank(row, label) > 0)).sum()
}

/// How many classes come before `label`: of equal ones the lower counts first, and no number beats
/// NaN.
fn rank(row: &[f32], label: usize) -> usize {
    let own = row[label];
    let before = |class: usize, other: f32| {
        other > own || (other == own && class < label) || own.is_nan() || other.is_nan()
    };
    row.iter().enumerate().filter(|&(class, &other)| class != label && before(class, other)).count()
}

/// The class ranked first.
fn first(row: &[f32]) -> usize {
    let mut best = 0;
    for (class, &logit) in row.iter().enumerate() {
        if logit > row[best] {
            best = class;
        }
    }
    best
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks() {
        let row = [0.5, 2.0, 2.0, -1.0];
        assert_eq!([0, 1, 2, 3].map(|label| rank(&row, label)), [2, 0, 1, 3]);
        assert_eq!(first(&row), 1);
        assert_eq!(rank(&[f32::NAN, 1.0], 0), 1);
        assert_eq!(rank(&[1.0, f32::NAN], 0), 1);
        assert_eq!(count_errors(&[1.0, 0.0, 1.0, 0.0], &[0, 1]), 1);
    }
}
