//! A network made to measure for a data set: its inputs are the images, its outputs the classes.

use collegial_arch::{Overrides, Spec};

use crate::Error;
use crate::data::Dataset;

/// The spec with the data set's image size and class count. What the user gave must not contradict them.
pub fn spec_for(spec: &Spec, given: &Overrides, dataset: &Dataset) -> Result<Spec, Error> {
    let (shape, classes) = (dataset.shape(), dataset.classes());
    let agree = |option: &str, given: Option<usize>, found: usize, what: &str| match given {
        Some(given) if given != found => {
            Err(Error::Unfit(format!("{option} {given} contradicts the data set, which has {found} {what}")))
        }
        _ => Ok(()),
    };
    agree("--classes", given.classes, classes, "classes")?;
    agree("--outputs", given.outputs, classes, "classes")?;
    let wanted = match spec {
        Spec::FullyConnected(_) => {
            agree("--inputs", given.inputs, shape.len(), "values per image")?;
            Overrides { inputs: Some(shape.len()), classes: Some(classes), image: given.image, outputs: None }
        }
        Spec::Resnext(_) | Spec::WideResnet(_) => {
            if shape.channels != 3 || shape.height != shape.width {
                let model = spec.name();
                return Err(Error::Unfit(format!(
                    "{model} takes square colour images, but those of the data set are {shape}; a fully connected network such as fc6-30x48 takes any"
                )));
            }
            agree("--image", given.image, shape.height, "pixels per side")?;
            Overrides { classes: Some(classes), image: Some(shape.height), ..*given }
        }
        Spec::Bottleneck(_) | Spec::Sequence(_) => *given,
    };
    let spec = spec.with(&wanted)?;
    let graph = spec.graph()?;
    let (input, output) = (graph.input_shape(), graph.output_shape());
    let takes_images = (input.channels, input.height, input.width)
        == (shape.channels, shape.height, shape.width)
        || (input.pixels() == 1 && input.channels == shape.len());
    if !takes_images || output.elements() != classes as u128 {
        return Err(Error::Unfit(format!(
            "{spec} takes {}x{}x{} values and puts out {}, but the images of the data set are {} in {classes} classes",
            input.channels,
            input.height,
            input.width,
            output.elements(),
            shape
        )));
    }
    Ok(spec)
}
