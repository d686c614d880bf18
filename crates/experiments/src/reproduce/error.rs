//! Constructors of the errors of items.

use crate::Error;

impl Error {
    /// The refusal of a name, with those that there are.
    pub(crate) fn unknown_item(name: &str) -> Self {
        let known: Vec<&str> = crate::reproduce::ITEMS.iter().map(crate::reproduce::Item::name).collect();
        Self::UnknownItem { name: name.to_owned(), known: known.join(", ") }
    }

    /// An experiment that does not fit the program.
    pub(crate) fn experiment(source_name: impl Into<String>, reason: impl Into<String>) -> Self {
        Self::Experiment { source_name: source_name.into(), reason: reason.into() }
    }
}
