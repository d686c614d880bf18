//! A training job: a network, a recipe, a seed and the data, checked to belong together.

use std::sync::Arc;

use collegial_arch::Spec;

use crate::checkpoint::Checkpoint;
use crate::data::{
    Augment, DataError, Dataset, Identity, Loader, Normalise, Part, Plan, Position, Split, Transform,
};
use crate::recipe::Recipe;
use crate::{Difference, Engine, Error};

/// A data set with the views of it that a recipe asks for.
#[derive(Clone, Debug)]
pub struct Data {
    dataset: Arc<Dataset>,
    identity: Identity,
    training: Transform,
    test: Transform,
}

impl Data {
    /// Applies the recipe's limits and augmentation. Normalisation is that of the whole data set.
    pub fn new(mut dataset: Dataset, recipe: &Recipe) -> Result<Self, Error> {
        let normalise = Normalise::usual(&dataset)?;
        if let Some(limit) = recipe.limit {
            dataset.limit_training(limit);
        }
        if let Some(limit) = recipe.test_limit {
            dataset.limit_test(limit);
        }
        let training = Transform::new(&dataset, recipe.augment, normalise.clone())?;
        let test = Transform::new(&dataset, Augment::None, normalise)?;
        let identity = Identity::of(&dataset)?;
        Ok(Self { dataset: Arc::new(dataset), identity, training, test })
    }

    /// The data set.
    pub fn dataset(&self) -> &Dataset {
        &self.dataset
    }

    /// Kind, sizes and fingerprint, which a resumed run must find again.
    pub fn identity(&self) -> &Identity {
        &self.identity
    }

    /// The fields in which these data differ from those that a run began with.
    fn differences(&self, saved: &Identity) -> Vec<Difference> {
        let under_data =
            |difference: Difference| Difference { field: format!("data.{}", difference.field), ..difference };
        Difference::between(saved, &self.identity).into_iter().map(under_data).collect()
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

/// A training job.
#[derive(Clone, Debug)]
pub struct Job {
    /// The network, made to measure by [`spec_for`](crate::spec_for()).
    pub spec: Spec,
    /// How it is trained.
    pub recipe: Recipe,
    /// Seeds weights, order and augmentation.
    pub seed: u64,
    /// The data it is trained on.
    pub data: Data,
    /// The backend that computes it.
    pub engine: Engine,
}

impl Job {
    /// Steps of an epoch: whole batches only.
    pub fn steps_per_epoch(&self) -> usize {
        self.data.dataset.train().len() / self.recipe.batch
    }

    /// Whether a run was begun with this job; only the number of epochs may differ.
    pub(crate) fn check_resumes(&self, checkpoint: &Checkpoint) -> Result<(), Error> {
        let (model, training) = (&checkpoint.model_header, &checkpoint.training_header);
        let mut differences = vec![];
        if model.spec != self.spec {
            differences = Difference::between(&model.spec, &self.spec);
            if model.spec.name() != self.spec.name() {
                differences.insert(0, Difference::new("model", model.spec.name(), self.spec.name()));
            }
        }
        if training.seed != self.seed {
            differences.push(Difference::new("seed", training.seed, self.seed));
        }
        if training.engine != self.engine {
            differences.push(Difference::new("engine", training.engine, self.engine));
        }
        differences.extend(self.data.differences(&training.data));
        differences.extend(
            Difference::between(&training.recipe, &self.recipe)
                .into_iter()
                .filter(|difference| difference.field != "epochs"),
        );
        if differences.is_empty() { Ok(()) } else { Err(Error::OtherRun { differences }) }
    }
}
