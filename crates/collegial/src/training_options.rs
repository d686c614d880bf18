//! The options of verbs that train: data, changes to the recipe, and the backend.

use std::num::{NonZeroU32, NonZeroUsize};
use std::path::PathBuf;

use collegial_train::data::Dataset;
use collegial_train::recipe::{self, Builtin, Recipe};
use collegial_train::{Engine, Error as TrainError};

use crate::Error;
use crate::options::options;

options! {
    /// The data, the recipe and the backend of trainings.
    pub struct TrainingOptions {
        /// Directory of the data set
        #[arg(long, value_name = "DIR")]
        #[serde(with = "crate::paths::exact")]
        pub data: PathBuf,
        /// Epochs of every training [default: the recipe's]
        #[arg(long, value_name = "COUNT")]
        pub epochs: Option<NonZeroU32>,
        /// Train on the first images only
        #[arg(long, value_name = "IMAGES")]
        pub limit: Option<NonZeroUsize>,
        /// Change the recipe: learning_rate=0.05, micro_batch=32, schedule.milestones=[5,8],
        /// optimiser.kind=adam
        #[arg(long, value_name = "KEY=VALUE")]
        pub set: Vec<String>,
        /// The backend that trains
        #[arg(long, value_enum)]
        #[serde(skip_serializing_if = "Engine::is_native")]
        pub engine: Engine = Engine::Native,
    }
}

impl TrainingOptions {
    pub(crate) fn dataset(&self) -> Result<Dataset, Error> {
        Ok(Dataset::open(&self.data).map_err(TrainError::from)?)
    }

    /// All changes of the recipe, the number of epochs apart.
    pub(crate) fn changes(&self) -> Vec<String> {
        let limit = self.limit.map(|limit| format!("limit={limit}"));
        self.set.iter().cloned().chain(limit).collect()
    }

    pub(crate) fn epochs_change(&self) -> Option<String> {
        self.epochs.map(|epochs| format!("epochs={epochs}"))
    }

    /// The data set's recipe with changes. A shorter training divides its rate after the same shares
    /// of it.
    pub(crate) fn recipe(&self, dataset: &Dataset) -> Result<Recipe, Error> {
        let changes: Vec<String> = self.changes().into_iter().chain(self.epochs_change()).collect();
        let mut recipe = Builtin::of(dataset).with(&changes)?;
        let usual = Recipe::for_dataset(dataset)?;
        if !self.set.iter().any(|change| recipe::changes(change, "schedule")) {
            let share = f64::from(recipe.epochs) / f64::from(usual.epochs);
            recipe.schedule.milestones.iter_mut().for_each(|milestone| *milestone *= share);
        }
        let images = dataset.train().len();
        Ok(recipe.clone().for_images(recipe.limit.map_or(images, |limit| limit.min(images))))
    }
}
