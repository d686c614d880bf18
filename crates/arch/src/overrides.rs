//! Settings that a name leaves at their defaults: class count, image size, inputs and outputs of a
//! module.

use crate::shape::Shape;
use crate::transformer::{Embedding, Output};
use crate::{Error, Spec};

/// What to change in a spec; `None` keeps it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Overrides {
    /// Number of classes of a network.
    pub classes: Option<usize>,
    /// Inputs n_0 of a fully connected network, or n_in of a block.
    pub inputs: Option<usize>,
    /// Outputs of a fully connected network, or n_out of a block.
    pub outputs: Option<usize>,
    /// Side of the square images.
    pub image: Option<usize>,
}

/// Why a setting does not apply, and the settings to take in its place.
type Hint = (&'static str, &'static [&'static str]);
const CLASSES_HINT: Hint = ("it has outputs, not classes", &["outputs"]);
const FIXED_PORTS_HINT: Hint = ("its input is an image and its outputs are classes", &["image", "classes"]);
const FLAT_HINT: Hint = ("its input is a vector, not an image", &[]);
const WRITTEN_HINT: Hint = ("write it in the TOML file instead", &[]);

/// A setting that does not apply.
type Refused = (&'static str, Hint);

impl Overrides {
    /// Of a network of images.
    fn of_images(&self, classes: &mut usize, image: &mut usize) -> Result<(), Refused> {
        forbid("inputs", self.inputs, FIXED_PORTS_HINT)?;
        forbid("outputs", self.outputs, FIXED_PORTS_HINT)?;
        set(classes, self.classes);
        set(image, self.image);
        Ok(())
    }

    /// Of a layer of tokens.
    fn of_tokens(&self, inputs: &mut usize) -> Result<(), Refused> {
        forbid("classes", self.classes, WRITTEN_HINT)?;
        forbid("outputs", self.outputs, WRITTEN_HINT)?;
        forbid("image", self.image, FLAT_HINT)?;
        set(inputs, self.inputs);
        Ok(())
    }
}

impl Spec {
    /// The spec with the given settings, checked.
    pub fn with(&self, overrides: &Overrides) -> Result<Self, Error> {
        let mut spec = self.clone();
        spec.set(overrides).map_err(|(option, (reason, instead))| Error::NotApplicable {
            option,
            model: self.name(),
            reason,
            instead,
        })?;
        spec.check()?;
        Ok(spec)
    }

    fn set(&mut self, overrides: &Overrides) -> Result<(), Refused> {
        let Overrides { classes, inputs, outputs, image } = *overrides;
        match self {
            Self::FullyConnected(network) => {
                forbid("image", image, FLAT_HINT)?;
                set(&mut network.inputs, inputs);
                set(&mut network.outputs, classes);
                set(&mut network.outputs, outputs);
            }
            Self::Bottleneck(block) => {
                forbid("classes", classes, CLASSES_HINT)?;
                set(&mut block.inputs, inputs);
                set(&mut block.outputs, outputs);
                set(&mut block.image, image);
            }
            Self::Sequence(sequence) => {
                forbid("classes", classes, CLASSES_HINT)?;
                forbid("outputs", outputs, WRITTEN_HINT)?;
                set(&mut sequence.input.channels, inputs);
                if let Some(side) = image {
                    sequence.input = Shape::image(sequence.input.channels, side);
                }
            }
            Self::Resnext(network) => overrides.of_images(&mut network.classes, &mut network.image)?,
            Self::Regnet(network) => overrides.of_images(&mut network.classes, &mut network.image)?,
            Self::WideResnet(network) => overrides.of_images(&mut network.classes, &mut network.image)?,
            Self::Attention(layer) => overrides.of_tokens(&mut layer.inputs)?,
            Self::FeedForward(layer) => overrides.of_tokens(&mut layer.inputs)?,
            Self::Transformer(network) => {
                forbid("inputs", inputs, WRITTEN_HINT)?;
                forbid("outputs", outputs, WRITTEN_HINT)?;
                match &mut network.output {
                    Output::Classes { classes: own } => set(own, classes),
                    _ => forbid("classes", classes, WRITTEN_HINT)?,
                }
                match &mut network.embedding {
                    Embedding::Patches { image: own, .. } => set(own, image),
                    _ => forbid("image", image, FLAT_HINT)?,
                }
            }
        }
        Ok(())
    }

    /// The settings with which its name means this very network: none at all for most, the class
    /// count for a `resnet50` with other classes. `None` where no settings do, as for a spec with
    /// channels of its own: a name says depth and design alone.
    pub fn settings_beside_name(&self) -> Option<Overrides> {
        let named: Self = self.name().parse().ok()?;
        let (own, usual) = (self.settings(), named.settings());
        let other = |own: Option<usize>, usual: Option<usize>| own.filter(|_| own != usual);
        let needed = Overrides {
            classes: other(own.classes, usual.classes),
            inputs: other(own.inputs, usual.inputs),
            outputs: other(own.outputs, usual.outputs),
            image: other(own.image, usual.image),
        };
        (named.with(&needed).ok()? == *self).then_some(needed)
    }

    /// What [`with`](Self::with) could set, as it is.
    fn settings(&self) -> Overrides {
        let of_images = |classes: usize, image: usize| Overrides {
            classes: Some(classes),
            image: Some(image),
            ..Overrides::default()
        };
        match self {
            Self::FullyConnected(network) => Overrides {
                inputs: Some(network.inputs),
                outputs: Some(network.outputs),
                ..Overrides::default()
            },
            Self::Bottleneck(block) => Overrides {
                inputs: Some(block.inputs),
                outputs: Some(block.outputs),
                image: Some(block.image),
                ..Overrides::default()
            },
            Self::Resnext(network) => of_images(network.classes, network.image),
            Self::Regnet(network) => of_images(network.classes, network.image),
            Self::WideResnet(network) => of_images(network.classes, network.image),
            Self::Transformer(network) => Overrides {
                classes: match network.output {
                    Output::Classes { classes } => Some(classes),
                    _ => None,
                },
                image: match network.embedding {
                    Embedding::Patches { image, .. } => Some(image),
                    _ => None,
                },
                ..Overrides::default()
            },
            Self::Sequence(_) | Self::Attention(_) | Self::FeedForward(_) => Overrides::default(),
        }
    }
}

fn set(field: &mut usize, value: Option<usize>) {
    if let Some(value) = value {
        *field = value;
    }
}

fn forbid(option: &'static str, value: Option<usize>, hint: Hint) -> Result<(), Refused> {
    value.map_or(Ok(()), |_| Err((option, hint)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_with_settings_means_the_network_or_there_are_none() {
        let of = |name: &str, overrides: Overrides| {
            let spec: Spec = name.parse().unwrap();
            spec.with(&overrides).unwrap().settings_beside_name()
        };
        let none = Overrides::default();
        for name in
            ["resnext29-37x10d", "resnet50", "regnet_x_400mf", "wrn28-10", "fc6-30x48", "bottleneck-12x3d"]
        {
            assert_eq!(of(name, none), Some(none), "{name}");
        }
        let classes = Overrides { classes: Some(10), ..none };
        assert_eq!(of("resnet50", classes), Some(classes));
        let both = Overrides { inputs: Some(10), outputs: Some(3), ..none };
        assert_eq!(of("fc3-8", both), Some(both));
        let own = "kind = \"resnext\"\nstem = \"small\"\nblocks = [3, 3, 3]\ndesign = \"1x16d\"\nclasses = 10\n\
                   image = 16\nstem_channels = 8\noutputs = 32\n";
        let own = Spec::from_toml(own).unwrap();
        assert_eq!((own.name().as_str(), own.settings_beside_name()), ("resnext29-1x16d", None));
    }
}
