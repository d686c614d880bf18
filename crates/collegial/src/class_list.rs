//! Class lists: the outputs of a network that stand for the classes of a data set that has other
//! classes, or fewer.

use std::path::Path;

use collegial_train::data::Dataset;

use crate::{ContentError, Error};

/// The output of every class of the data set. A file has a line for every output: the name of its
/// class, alone or in front of a description, as in ImageNet's `synset_words.txt`.
pub fn outputs_of_classes(path: &Path, outputs: usize, dataset: &Dataset) -> Result<Vec<usize>, Error> {
    let text = collegial_core::files::read_regular_text(path).map_err(Error::reading(path))?;
    let refuse = |reason: ContentError| Error::Content { path: path.to_owned(), reason };
    let lines: Vec<&str> = text.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    if lines.len() != outputs {
        return Err(refuse(ContentError::Invalid(format!(
            "it names {named} classes, but the network has {outputs} outputs",
            named = lines.len()
        ))));
    }
    let find = |class: usize| {
        let name = dataset.class_name(class).ok_or_else(|| {
            refuse(ContentError::Invalid(format!("class {class} of the data set has no name to be found by")))
        })?;
        let is_named = |line: &&str| *line == name || line.split_whitespace().next() == Some(name);
        let mut found = lines.iter().enumerate().filter(|(_, line)| is_named(line)).map(|(output, _)| output);
        match (found.next(), found.next()) {
            (Some(output), None) => Ok(output),
            (None, _) => Err(refuse(ContentError::Invalid(format!(
                "it has no line for the class {name:?} of the data set"
            )))),
            (Some(_), Some(_)) => {
                Err(refuse(ContentError::Invalid(format!("it has several lines for the class {name:?}"))))
            }
        }
    };
    (0..dataset.classes()).map(find).collect()
}
