//! What is to be trained: a network, a recipe, a seed and the data, checked to belong together.

use std::sync::Arc;

use collegial_arch::Spec;

use crate::Error;
use crate::checkpoint::Checkpoint;
use crate::data::{Augment, DataError, Dataset, Loader, Normalise, Part, Plan, Position, Split, Transform};
use crate::recipe::Recipe;

/// A data set with the views of it that a recipe asks for.
#[derive(Clone, Debug)]
pub struct Data {
    dataset: Arc<Dataset>,
    training: Transform,
    test: Transform,
}

impl Data {
    /// Applies the recipe's limit and augmentation. Normalisation is that of the whole data set.
    pub fn new(mut dataset: Dataset, recipe: &Recipe) -> Result<Self, Error> {
        let normalise = Normalise::usual(&dataset)?;
        if let Some(limit) = recipe.limit {
            dataset.limit_training(limit);
        }
        let training = Transform::new(&dataset, recipe.augment.for_dataset(&dataset), normalise.clone())?;
        let test = Transform::new(&dataset, Augment::evaluation(&dataset), normalise)?;
        Ok(Self { dataset: Arc::new(dataset), training, test })
    }

    /// The data set.
    pub fn dataset(&self) -> &Dataset {
        &self.dataset
    }

    /// In words: what a resumed run must find again.
    pub fn description(&self) -> String {
        let (data, kind) = (&self.dataset, self.dataset.kind());
        let (train, test, classes) = (data.train().len(), data.test().len(), data.classes());
        format!("{kind:?} with {train} + {test} images of {} in {classes} classes", data.shape())
    }

    /// Shuffled, augmented batches from `start` on.
    pub fn training_batches(&self, recipe: &Recipe, seed: u64, start: Position) -> Result<Loader, DataError> {
        let plan = Plan {
            keep_partial: false,
            start,
            workers: self.workers(),
            prefetch: 2,
            ..Plan::training(recipe.batch, recipe.epochs, seed)
        };
        Loader::new(Arc::clone(&self.dataset), Part::Train, self.training.clone(), plan)
    }

    /// All test images once.
    pub fn test_batches(&self, batch: usize) -> Result<Loader, DataError> {
        let plan = Plan { workers: self.workers(), prefetch: 2, ..Plan::evaluation(batch) };
        Loader::new(Arc::clone(&self.dataset), Part::Test, self.test.clone(), plan)
    }

    /// Photographs take as much work as training on them; images in memory hardly any.
    fn workers(&self) -> usize {
        match self.dataset.train() {
            Split::Photos(_) => rayon::current_num_threads(),
            Split::Stored(_) => 1,
        }
    }
}

/// What is to be trained.
#[derive(Clone, Debug)]
pub struct Job {
    /// The network, made to measure by [`spec_for`](crate::spec_for()).
    pub spec: Spec,
    /// How.
    pub recipe: Recipe,
    /// Seeds weights, order and augmentation.
    pub seed: u64,
    /// On what.
    pub data: Data,
}

impl Job {
    /// Steps of an epoch: whole batches only.
    pub fn steps_per_epoch(&self) -> usize {
        self.data.dataset.train().len() / self.recipe.batch
    }

    /// Whether a run was begun with this job; only the number of epochs may differ.
    pub(crate) fn check_resumes(&self, checkpoint: &Checkpoint) -> Result<(), Error> {
        let (model, training) = (&checkpoint.model_header, &checkpoint.training_header);
        let same = |what, saved: String, given: String| {
            if saved == given { Ok(()) } else { Err(Error::OtherRun { what, saved, given }) }
        };
        same("model", model.spec.name(), self.spec.name())?;
        if model.spec != self.spec {
            return same("spec", model.spec.to_toml(), self.spec.to_toml())
                .map_err(|error| Error::Unfit(error.to_string().replace('\n', "; ")));
        }
        same("seed", training.seed.to_string(), self.seed.to_string())?;
        same("data set", training.data.clone(), self.data.description())?;
        let (saved, given) = (training.recipe.to_toml(), self.recipe.to_toml());
        let differs = |(a, b): &(&str, &str)| a != b && !a.starts_with("epochs");
        match saved.lines().zip(given.lines()).find(differs) {
            Some((a, b)) => same("recipe", a.to_owned(), b.to_owned()),
            None if saved.lines().count() != given.lines().count() => {
                same("recipe", saved.replace('\n', "; "), given.replace('\n', "; "))
            }
            None => Ok(()),
        }
    }
}
