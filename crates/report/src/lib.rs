//! How results are shown: a [`Table`] as aligned text, CSV or Markdown; a [`Figure`] as SVG, CSV or
//! characters on a terminal; and a [`Page`], one self-contained HTML file with both, or Markdown
//! with the figures beside it.
//!
//! This crate computes nothing and knows no result: it takes numbers that others made and gives
//! text back.

mod figure;
mod markup;
mod number;
mod page;
mod table;
mod terminal;

pub use figure::{Axis, Band, Figure, Layer, Line, Mark, Marker, Point, Points, Stroke, VerticalRange};
pub use markup::visible;
pub use number::{grouped, significant};
pub use page::{Download, Markdown, Page, Provenance, Section, fragment};
pub use table::{Align, Table};
pub use terminal::{Glyphs, TextFormat};
