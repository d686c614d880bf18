//! Loss functions.

use collegial_nn::{Error, cross_entropy, half_squares};
use serde::{Deserialize, Serialize};

/// How far outputs are from labels, averaged over the images.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Loss {
    /// `-ln softmax(outputs)[label]`.
    #[default]
    CrossEntropy,
    /// Half the squared distance to the label's unit vector, as in the paper's Theorem 1: gradient
    /// flow is then linear in the outputs, with the tangent kernel as its matrix.
    L2,
}

impl Loss {
    /// Its mean over the images; writes its gradient by the outputs.
    ///
    /// # Errors
    ///
    /// If there is not one row of outputs per label, or a label is not one of them.
    pub fn compute(self, outputs: &[f32], labels: &[usize], gradient: &mut [f32]) -> Result<f64, Error> {
        match self {
            Self::CrossEntropy => cross_entropy(outputs, labels, gradient),
            Self::L2 => {
                let classes = outputs.len() / labels.len().max(1);
                let mut targets = vec![0.0; outputs.len()];
                for (row, &label) in targets.chunks_exact_mut(classes.max(1)).zip(labels) {
                    *row.get_mut(label).ok_or(Error::Label { label, classes })? = 1.0;
                }
                half_squares(outputs, &targets, labels.len(), gradient)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn squares_by_hand() {
        let mut gradient = [0.0; 4];
        let loss = Loss::L2.compute(&[1.0, 2.0, 0.0, 3.0], &[0, 1], &mut gradient).unwrap();
        // (0 + 4 + 0 + 4) / 2 over two images.
        assert_eq!((loss, gradient), (2.0, [0.0, 1.0, 0.0, 1.0]));
    }

    #[test]
    fn labels_that_are_no_class_are_refused() {
        for loss in [Loss::CrossEntropy, Loss::L2] {
            let error = loss.compute(&[0.0; 4], &[0, 2], &mut [0.0; 4]).unwrap_err();
            assert_eq!(error, Error::Label { label: 2, classes: 2 });
        }
    }
}
