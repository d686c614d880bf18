//! How results are shown: the same [`Table`] as aligned text, CSV or Markdown.
//!
//! This crate computes nothing; it takes numbers that others made and gives text back.

mod number;
mod table;

pub use number::{grouped, significant};
pub use table::{Align, Table};
