//! Settings that a name leaves at their defaults: class count, image size, inputs and outputs of a
//! module.

use crate::shape::Shape;
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

const CLASSES_HINT: &str = "it has outputs, not classes; use `outputs=`";
const FIXED_PORTS_HINT: &str =
    "its input is an image and its outputs are classes; use `image=` and `classes=`";
const FLAT_HINT: &str = "its input is a vector, not an image";
const WRITTEN_HINT: &str = "write it in the TOML file instead";

impl Spec {
    /// The spec with the given settings, checked.
    pub fn with(&self, overrides: &Overrides) -> Result<Self, Error> {
        let mut spec = self.clone();
        let model = self.name();
        let refuse = |option, reason| Error::NotApplicable { option, model: model.clone(), reason };
        let Overrides { classes, inputs, outputs, image } = *overrides;
        match &mut spec {
            Spec::FullyConnected(network) => {
                forbid(image, || refuse("image", FLAT_HINT))?;
                set(&mut network.inputs, inputs);
                set(&mut network.outputs, classes);
                set(&mut network.outputs, outputs);
            }
            Spec::Bottleneck(block) => {
                forbid(classes, || refuse("classes", CLASSES_HINT))?;
                set(&mut block.inputs, inputs);
                set(&mut block.outputs, outputs);
                set(&mut block.image, image);
            }
            Spec::Sequence(sequence) => {
                forbid(classes, || refuse("classes", CLASSES_HINT))?;
                forbid(outputs, || refuse("outputs", WRITTEN_HINT))?;
                set(&mut sequence.input.channels, inputs);
                if let Some(side) = image {
                    sequence.input = Shape::image(sequence.input.channels, side);
                }
            }
            Spec::Resnext(network) => {
                forbid(inputs, || refuse("inputs", FIXED_PORTS_HINT))?;
                forbid(outputs, || refuse("outputs", FIXED_PORTS_HINT))?;
                set(&mut network.classes, classes);
                set(&mut network.image, image);
            }
            Spec::Regnet(network) => {
                forbid(inputs, || refuse("inputs", FIXED_PORTS_HINT))?;
                forbid(outputs, || refuse("outputs", FIXED_PORTS_HINT))?;
                set(&mut network.classes, classes);
                set(&mut network.image, image);
            }
            Spec::WideResnet(network) => {
                forbid(inputs, || refuse("inputs", FIXED_PORTS_HINT))?;
                forbid(outputs, || refuse("outputs", FIXED_PORTS_HINT))?;
                set(&mut network.classes, classes);
                set(&mut network.image, image);
            }
        }
        spec.check()?;
        Ok(spec)
    }
}

fn set(field: &mut usize, value: Option<usize>) {
    if let Some(value) = value {
        *field = value;
    }
}

fn forbid(value: Option<usize>, error: impl FnOnce() -> Error) -> Result<(), Error> {
    value.map_or(Ok(()), |_| Err(error()))
}
