//! Recipes: how a network is trained, as TOML that people read and change.
//!
//! The paper's are part of the program ([`Builtin`]); [`Recipe::for_dataset`] finds the one of a data
//! set, [`Recipe::build`] applies `key=value` changes.

use std::path::Path;

use collegial_arch::plain_words;
use collegial_core::files::read_regular_text;
pub use collegial_nn::{AdamConstants, Parametrisation, UpdateRule};
use serde::{Deserialize, Serialize};
use toml::{Table, Value};

pub use crate::builtin::Builtin;
use crate::data::{Augment, Dataset};
use crate::schedule::Schedule;
use crate::{Error, Loss};

/// How a network is trained.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Recipe {
    /// Passes over the training images.
    pub epochs: u32,
    /// Images per step of the optimiser. An epoch is as many whole batches as there are; what is
    /// left over differs from epoch to epoch.
    pub batch: usize,
    /// Images that are computed at once, a divisor of `batch`; gradients are averaged over the
    /// micro-batches of a step, while batch norms take their statistics from one micro-batch, as
    /// they do from the images of one GPU.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub micro_batch: Option<usize>,
    /// The rate the schedule starts from.
    pub learning_rate: f64,
    /// Rates per layer of a fully connected network, in proportion to 1/fan-in, relative to one
    /// member of this width ([`layer_rates`](crate::layer_rates)). By default all layers have the
    /// same rate.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rates_by_fan_in: Option<usize>,
    /// Train on the first images only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<usize>,
    /// Test on so many images only, spread evenly over the test images.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub test_limit: Option<usize>,
    /// The loss.
    #[serde(default)]
    pub loss: Loss,
    /// The parametrisation of the weights.
    #[serde(default)]
    pub parametrisation: Parametrisation,
    /// The rule of a step.
    pub optimiser: UpdateRule,
    /// How the rate changes.
    #[serde(default)]
    pub schedule: Schedule,
    /// The augmentation of training images.
    pub augment: Augment,
}

/// The TOML of a recipe by name, or of a file.
pub fn load(name_or_path: &Path) -> Result<String, Error> {
    if let Some(recipe) = Builtin::named(name_or_path) {
        return Ok(recipe.toml().to_owned());
    }
    read_regular_text(name_or_path).map_err(|error| {
        let (name, known) = (name_or_path.display(), Builtin::ALL.map(Builtin::name).join(", "));
        Error::Invalid(format!("cannot read the recipe {name}: {error}; known names are {known}"))
    })
}

impl Recipe {
    /// The paper's recipe for a data set.
    pub fn for_dataset(dataset: &Dataset) -> Result<Self, Error> {
        Builtin::of(dataset).with(&[])
    }

    /// Reads TOML, makes the changes (`epochs=5`, `optimiser.momentum=0.8`,
    /// `schedule.milestones=[2,4]`) and checks the result. A change of a `kind` drops the settings
    /// of the old one.
    pub fn build(text: &str, changes: &[String]) -> Result<Self, Error> {
        let mut table: Table = toml::from_str(text).map_err(|error| malformed(&reason(&error)))?;
        for change in changes {
            set(&mut table, change)?;
        }
        let recipe: Self = table.try_into().map_err(|error| match Self::at_fault(text, changes) {
            Some(change) => malformed(&format!("{change}: {}", reason(&error))),
            None => malformed(&reason(&error)),
        })?;
        recipe.check()?;
        Ok(recipe)
    }

    /// The change without which the recipe can be read.
    fn at_fault<'a>(text: &str, changes: &'a [String]) -> Option<&'a String> {
        let reads_without = |left_out: &&String| {
            let mut table: Table = toml::from_str(text).ok()?;
            let mut kept = changes.iter().filter(|change| change != left_out);
            kept.try_for_each(|change| set(&mut table, change)).ok()?;
            table.try_into::<Self>().ok()
        };
        changes.iter().find(|change| reads_without(change).is_some())
    }

    /// The TOML form, which [`build`](Self::build) reads back.
    pub fn to_toml(&self) -> String {
        toml::to_string(self).unwrap_or_else(|error| unreachable!("a recipe is plain TOML data: {error}"))
    }

    /// Images that are computed at once.
    pub fn micro_batch(&self) -> usize {
        self.micro_batch.unwrap_or(self.batch)
    }

    /// The same recipe with batches that `images` training images can fill.
    pub fn for_images(mut self, images: usize) -> Self {
        if self.batch > images {
            let micro = self.micro_batch().min(images).max(1);
            self.batch = images / micro * micro;
            self.micro_batch = (micro < self.batch).then_some(micro);
        }
        self
    }

    fn check(&self) -> Result<(), Error> {
        let count = |what, value: usize| check(what, value, value > 0, "at least 1");
        count("epochs", self.epochs as usize)?;
        count("batch", self.batch)?;
        count("micro_batch", self.micro_batch())?;
        count("limit", self.limit.unwrap_or(1))?;
        count("rates_by_fan_in", self.rates_by_fan_in.unwrap_or(1))?;
        count("test_limit", self.test_limit.unwrap_or(1))?;
        if !self.batch.is_multiple_of(self.micro_batch()) {
            let (batch, micro_batch) = (self.batch, self.micro_batch());
            return Err(Error::Invalid(format!(
                "the recipe's batch of {batch} is not a multiple of its micro_batch of {micro_batch}"
            )));
        }
        let rate = self.learning_rate;
        check("learning_rate", rate, rate.is_finite() && rate > 0.0, "above 0")?;
        check_rule(self.optimiser)?;
        self.schedule.check()
    }
}

/// Refuses constants under which a step is not a descent.
fn check_rule(rule: UpdateRule) -> Result<(), Error> {
    let factor = |what, value| check(what, value, (0.0..1.0).contains(&value), "at least 0 and below 1");
    let decay = match rule {
        UpdateRule::Sgd { momentum, weight_decay, .. } => {
            factor("optimiser.momentum", momentum)?;
            weight_decay
        }
        UpdateRule::Adam(constants) | UpdateRule::AdamW(constants) => {
            let AdamConstants { betas, epsilon, weight_decay } = constants;
            betas.into_iter().try_for_each(|beta| factor("optimiser.betas", beta))?;
            check("optimiser.epsilon", epsilon, epsilon.is_finite() && epsilon > 0.0, "above 0")?;
            weight_decay
        }
    };
    check("optimiser.weight_decay", decay, decay.is_finite() && decay >= 0.0, "at least 0")
}

/// Refuses a value that is out of its range.
pub(crate) fn check(
    field: &'static str,
    value: impl std::fmt::Display,
    holds: bool,
    accepted: &'static str,
) -> Result<(), Error> {
    if holds {
        Ok(())
    } else {
        Err(Error::Invalid(format!("the recipe's {field} is {value}; it must be {accepted}")))
    }
}

fn malformed(reason: &str) -> Error {
    Error::Invalid(format!("the recipe is not valid: {reason}"))
}

fn reason(error: &toml::de::Error) -> String {
    plain_words(&error.message().trim().replace('\n', " "))
}

/// Whether a change (`schedule.milestones=[2,4]`) is of this field of a recipe (`schedule`).
pub fn changes(change: &str, field: &str) -> bool {
    let path = change.split_once('=').map_or(change, |(path, _)| path);
    path.split('.').next().is_some_and(|first| first.trim() == field)
}

/// Makes one change.
fn set(table: &mut Table, change: &str) -> Result<(), Error> {
    let wrong = || {
        Error::Invalid(format!(
            "{change:?} is not a change of a recipe; write it as epochs=5, optimiser.momentum=0.8 or \
         schedule.milestones=[2,4]"
        ))
    };
    let (path, value) = change.split_once('=').ok_or_else(wrong)?;
    let (path, value) = (path.trim(), value.trim());
    // What is not a TOML value is a word without its quotes.
    let value = match toml::from_str::<Table>(&format!("x = {value}")) {
        Ok(mut parsed) => parsed.remove("x").ok_or_else(wrong)?,
        Err(_) => Value::String(value.to_owned()),
    };
    let (parents, key) = path.rsplit_once('.').map_or((None, path), |(parents, key)| (Some(parents), key));
    let mut inner = table;
    for part in parents.into_iter().flat_map(|parents| parents.split('.')) {
        let next = inner.entry(part).or_insert_with(|| Value::Table(Table::new()));
        inner = next.as_table_mut().ok_or_else(wrong)?;
    }
    if key == "kind" && inner.get(key) != Some(&value) {
        inner.clear();
    }
    inner.insert(key.to_owned(), value);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn changed(recipe: Builtin, changes: &[&str]) -> Result<Recipe, String> {
        let changes: Vec<String> = changes.iter().map(ToString::to_string).collect();
        recipe.with(&changes).map_err(|error| error.to_string())
    }

    #[test]
    fn the_papers_numbers() {
        let of = |name| {
            let recipe = changed(name, &[]).unwrap();
            let Schedule { milestones, factor, .. } = recipe.schedule;
            (recipe.epochs, recipe.batch, recipe.learning_rate, milestones, factor)
        };
        assert_eq!(of(Builtin::Cifar10), (300, 128, 0.1, vec![150.0, 225.0], 0.1));
        assert_eq!(of(Builtin::Cifar100), of(Builtin::Cifar10));
        assert_eq!(of(Builtin::Mnist), (70, 128, 1e-3, vec![], 0.1));
        assert_eq!(of(Builtin::Imagenet32), (80, 1024, 0.08, vec![20.0, 40.0, 60.0], 0.2));
        assert_eq!(of(Builtin::Imagenet64), (60, 512, 0.04, vec![20.0, 30.0, 40.0], 0.2));
        assert_eq!(of(Builtin::Imagenet), (100, 256, 0.1, vec![30.0, 60.0, 90.0], 0.1));
        let rule = |name| changed(name, &[]).unwrap().optimiser;
        assert_eq!(rule(Builtin::Cifar10), UpdateRule::SGD);
        assert_eq!(rule(Builtin::Mnist), UpdateRule::ADAM);
    }

    #[test]
    fn every_recipe_reads_back() {
        for name in Builtin::ALL {
            assert_eq!(Builtin::named(Path::new(name.name())), Some(name));
            let recipe = changed(name, &["limit=7", "loss=l2", "parametrisation=ntk"]).unwrap();
            assert_eq!((recipe.loss, recipe.parametrisation), (Loss::L2, Parametrisation::Ntk));
            assert_eq!(Recipe::build(&recipe.to_toml(), &[]).unwrap(), recipe, "{name}");
        }
    }

    #[test]
    fn optimiser_settings_have_defaults() {
        let of = |lines: &str| {
            let text =
                format!("epochs=1\nbatch=1\nlearning_rate=1\n[augment]\nkind='none'\n[optimiser]\n{lines}");
            Recipe::build(&text, &[]).unwrap().optimiser
        };
        assert_eq!(of("kind='sgd'"), UpdateRule::Sgd { momentum: 0.9, nesterov: false, weight_decay: 0.0 });
        assert_eq!(of("kind='sgd'\nmomentum=0.9\nnesterov=false\nweight_decay=0.0005"), UpdateRule::SGD);
        assert_eq!(of("kind='adam'"), UpdateRule::ADAM);
        let adam_w = "kind='adamw'\nbetas=[0.9, 0.999]\nepsilon=1e-8\nweight_decay=0.01";
        assert_eq!(of(adam_w), UpdateRule::ADAMW);
    }

    #[test]
    fn changes() {
        let recipe =
            changed(Builtin::Cifar10, &["epochs = 3", "schedule.milestones=[1, 2.5]", "optimiser.kind=adam"]);
        let recipe = recipe.unwrap();
        assert_eq!((recipe.epochs, recipe.schedule.milestones), (3, vec![1.0, 2.5]));
        assert_eq!(recipe.optimiser, UpdateRule::ADAM);
        let refused = |change: &str| changed(Builtin::Cifar10, &[change]).unwrap_err();
        for (change, sentence) in [
            ("epochs", "write it as epochs=5"),
            ("epochs=0", "epochs is 0"),
            ("epoch=5", "unknown field `epoch`"),
            ("epochs=many", "epochs=many: found the text \"many\", expected a whole number of at least 0"),
            ("micro_batch=100", "not a multiple"),
            ("learning_rate=nan", "learning_rate is NaN"),
            ("optimiser.momentum=1", "momentum is 1"),
            ("optimiser.betas=[0.9, 0.99]", "unknown field `betas`"),
            ("optimiser={kind='adam', betas=[0.9, 1.0]}", "optimiser.betas is 1"),
            ("optimiser={kind='adamw', momentum=0.9}", "unknown field `momentum`"),
            ("schedule.milestones=[5, 4]", "ascending"),
            ("epochs.x=3", "is not a change"),
            ("loss=l1", "unknown value `l1`, expected `cross-entropy` or `l2`"),
            ("parametrisation=NTK", "unknown value `NTK`, expected `standard` or `ntk`"),
        ] {
            let said = refused(change);
            assert!(said.contains(sentence) && !said.contains('\n'), "{change}: {said}");
        }
    }

    #[test]
    fn fields_of_changes() {
        assert!(super::changes("schedule.milestones=[1]", "schedule"));
        assert!(super::changes(" schedule = {factor=0.1}", "schedule"));
        assert!(!super::changes("scheduled=1", "schedule"));
        assert!(!super::changes("loss=schedule", "schedule"));
    }

    #[test]
    fn batches_shrink_to_few_images() {
        let batches = |images| {
            let recipe = changed(Builtin::Imagenet32, &[]).unwrap().for_images(images);
            (recipe.batch, recipe.micro_batch())
        };
        assert_eq!(batches(5000), (1024, 128));
        assert_eq!(batches(1000), (896, 128));
        assert_eq!(batches(100), (100, 100));
    }
}
