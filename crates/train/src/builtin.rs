//! Built-in recipes.

use std::fmt;
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::data::{Dataset, Kind};
use crate::{Error, Recipe};

/// A recipe of `recipes/` in the source tree, by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Builtin {
    /// The paper's for CIFAR-10.
    Cifar10,
    /// The paper's for CIFAR-100.
    Cifar100,
    /// The paper's for MNIST.
    Mnist,
    /// The paper's for ImageNet of 32 x 32 pixels.
    Imagenet32,
    /// The paper's for ImageNet of 64 x 64 pixels.
    Imagenet64,
    /// The paper's for ImageNet.
    Imagenet,
}

impl Builtin {
    /// All of them.
    pub const ALL: [Self; 6] =
        [Self::Cifar10, Self::Cifar100, Self::Mnist, Self::Imagenet32, Self::Imagenet64, Self::Imagenet];

    /// The one that belongs to a data set.
    pub fn of(dataset: &Dataset) -> Self {
        match dataset.kind() {
            Kind::Mnist | Kind::FashionMnist | Kind::Idx => Self::Mnist,
            Kind::Cifar10 => Self::Cifar10,
            Kind::Cifar100 => Self::Cifar100,
            Kind::DownsampledImageNet if dataset.shape().height >= 64 => Self::Imagenet64,
            Kind::DownsampledImageNet => Self::Imagenet32,
            Kind::ClassFolders => Self::Imagenet,
        }
    }

    /// The one of this name; any other path is a file's.
    pub fn named(name: &Path) -> Option<Self> {
        Self::ALL.into_iter().find(|recipe| Path::new(recipe.name()) == name)
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Cifar10 => "cifar10",
            Self::Cifar100 => "cifar100",
            Self::Mnist => "mnist",
            Self::Imagenet32 => "imagenet32",
            Self::Imagenet64 => "imagenet64",
            Self::Imagenet => "imagenet",
        }
    }

    /// Its TOML.
    pub fn toml(self) -> &'static str {
        match self {
            Self::Cifar10 => include_str!("../recipes/cifar10.toml"),
            Self::Cifar100 => include_str!("../recipes/cifar100.toml"),
            Self::Mnist => include_str!("../recipes/mnist.toml"),
            Self::Imagenet32 => include_str!("../recipes/imagenet32.toml"),
            Self::Imagenet64 => include_str!("../recipes/imagenet64.toml"),
            Self::Imagenet => include_str!("../recipes/imagenet.toml"),
        }
    }

    /// The recipe with changes, see [`Recipe::build`].
    ///
    /// # Errors
    ///
    /// If a change is none, or its result is not a recipe.
    pub fn with(self, changes: &[String]) -> Result<Recipe, Error> {
        Recipe::build(self.toml(), changes)
    }
}

impl fmt::Display for Builtin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
