//! One file per verb.

pub mod completions;
pub mod info;
pub mod man;
