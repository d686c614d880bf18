//! Backends of training, for a caller that brings PyTorch.

use collegial_arch::Spec;
pub use collegial_train::backend::{
    Backend, BackendState, Backends, Constructor, Device, Engine, Setup, StepOutput,
};
pub use collegial_train::{Error as TrainError, Recipe};
use serde::Serialize;

use crate::{Error, to_json};

/// Arguments of a backend's constructor, as data.
#[derive(Serialize)]
struct Document<'a> {
    spec: &'a Spec,
    recipe: &'a Recipe,
    /// Channels, height and width of an image.
    image: [usize; 3],
    /// Names of parameters, and what their layers multiply them by where that is not 1.
    factors: Vec<(&'a str, f64)>,
    /// Names of parameters, and the factors of their rates where these are not 1.
    rates: Vec<(&'a str, f64)>,
    threads: usize,
}

/// The setup of a backend as JSON: `spec`, `recipe`, `image`, `factors`, `rates` and `threads`.
///
/// # Errors
///
/// Where a number has no JSON form.
pub fn document(setup: &Setup<'_>) -> Result<String, Error> {
    let shape = setup.job.data.dataset().shape();
    to_json(&Document {
        spec: &setup.job.spec,
        recipe: &setup.job.recipe,
        image: [shape.channels, shape.height, shape.width],
        factors: other_than_one(&setup.factors),
        rates: other_than_one(&setup.rates),
        threads: setup.threads,
    })
}

fn other_than_one(factors: &[(String, f64)]) -> Vec<(&str, f64)> {
    let factors = factors.iter().map(|(name, factor)| (name.as_str(), *factor));
    factors.filter(|(_, factor)| *factor != 1.0).collect()
}
