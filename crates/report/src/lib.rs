//! How results are shown: a [`Table`] as aligned text, CSV or Markdown; a [`Figure`] as SVG or CSV.
//!
//! This crate computes nothing; it takes numbers that others made and gives text back. What is particular to a result, such
//! as the figures of a search, is in [`views`].

mod figure;
mod markup;
mod number;
mod table;
pub mod views;

pub use figure::{Axis, Band, Figure, Layer, Line, Mark, Marker, Point, Points, Stroke, VerticalRange};
pub use number::{grouped, significant};
pub use table::{Align, Table};
