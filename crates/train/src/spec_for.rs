//! Input and output sizes of a network, set to a data set's images and classes.

use collegial_arch::{Overrides, Spec};

use crate::Error;
use crate::data::{Dataset, Shape};

/// The spec with the data set's image size and class count. What the user gave must not contradict
/// them.
pub fn spec_for(spec: &Spec, given: &Overrides, dataset: &Dataset) -> Result<Spec, Error> {
    let (shape, classes) = (dataset.shape(), dataset.classes());
    let agree = |setting, given: Option<usize>, found: usize, what| match given {
        Some(given) if given != found => Err(Error::Invalid(format!(
            "{setting} {given} contradicts the data set, which has {found} {what}"
        ))),
        _ => Ok(()),
    };
    agree("classes", given.classes, classes, "classes")?;
    agree("outputs", given.outputs, classes, "classes")?;
    let wanted = match spec {
        Spec::FullyConnected(_) => {
            agree("inputs", given.inputs, shape.len(), "values per image")?;
            Overrides { inputs: Some(shape.len()), classes: Some(classes), image: given.image, outputs: None }
        }
        Spec::Resnext(_) | Spec::Regnet(_) | Spec::WideResnet(_) => {
            if shape.channels != 3 || shape.height != shape.width {
                return Err(Error::Invalid(format!(
                    "{model} takes square colour images, but those of the data set are {shape}; a fully \
                     connected network such as fc6-30x48 takes any",
                    model = spec.name()
                )));
            }
            agree("image", given.image, shape.height, "pixels per side")?;
            Overrides { classes: Some(classes), image: Some(shape.height), ..*given }
        }
        Spec::Bottleneck(_)
        | Spec::Sequence(_)
        | Spec::Attention(_)
        | Spec::FeedForward(_)
        | Spec::Transformer(_) => *given,
    };
    let spec = spec.with(&wanted)?;
    let graph = spec.graph()?;
    let (input, output) = (graph.input_shape(), graph.output_shape());
    let input = Shape { channels: input.channels, height: input.height, width: input.width };
    let takes_images = input == shape || (input.plane() == 1 && input.channels == shape.len());
    if !takes_images || output.elements() != classes as u128 {
        let outputs = u64::try_from(output.elements()).unwrap_or(u64::MAX);
        let model = spec.to_string();
        return Err(Error::Invalid(format!(
            "{model} takes {input} values and puts out {outputs}, but the images of the data set are \
             {shape} in {classes} classes"
        )));
    }
    Ok(spec)
}
