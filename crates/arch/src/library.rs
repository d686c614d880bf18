//! Names with the library that they come from: `timm/regnety_016`, `torchvision/resnet101`.

use crate::transformer::Embedding;
use crate::{Error, Spec};

/// Reads such a name; `None` where it has another form. A network without a spec is answered with the
/// line of Python that can analyse it.
pub(crate) fn parse(name: &str) -> Option<Result<Spec, Error>> {
    let (library, model) = name.split_once('/')?;
    let (model, call) = match library {
        // What follows a dot says which weights.
        "timm" => (model.split_once('.').map_or(model, |(model, _)| model), "timm.create_model"),
        "torchvision" => (model, "torchvision.models.get_model"),
        _ => return None,
    };
    let is_word = |word: &str| {
        !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
    };
    let ours = if is_word(model) { model.parse::<Spec>().ok() } else { None };
    Some(match ours {
        Some(spec) if is_of_images(&spec) => Ok(spec),
        _ if is_word(model) => Err(Error::Invalid(format!(
            "{name} has no spec here; in Python, collegial.torch.suggest({call}({model:?})) answers for the model itself"
        ))),
        _ => Err(Error::Invalid(format!(
            "{} is no name of a model of {library}; such names have letters, digits and underscores",
            crate::error::shortened(model)
        ))),
    })
}

/// Both libraries have networks of images alone.
fn is_of_images(spec: &Spec) -> bool {
    match spec {
        Spec::Resnext(_) | Spec::Regnet(_) => true,
        Spec::Transformer(network) => matches!(network.embedding, Embedding::Patches { .. }),
        _ => false,
    }
}
