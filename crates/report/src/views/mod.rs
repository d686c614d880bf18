//! Results of the other crates as tables, sentences, figures and pages.

pub mod fit;
pub mod search;
pub mod search_page;
