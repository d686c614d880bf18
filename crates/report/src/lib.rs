//! Rendering of results: a [`Table`] as aligned text, CSV or Markdown; a [`Figure`] as SVG or
//! CSV; and a [`Page`], one self-contained HTML file with both, or Markdown with the figures beside
//! it.
//!
//! This crate computes nothing and knows no result: it takes numbers that others made and gives
//! text back.

mod figure;
mod markup;
mod number;
mod page;
mod table;
mod wrap;

pub use figure::{Axis, Band, Figure, Layer, Line, Mark, Marker, Point, Points, Stroke, Tone, VerticalRange};
pub use markup::{capitalised, closed, listed, visible};
pub use number::{duration, grouped, significant};
pub use page::{Card, Download, Markdown, Page, Provenance, Section, fragment};
pub use table::{Align, Table};
pub use wrap::{COLUMNS, wrapped, wrapped_lines};

/// The style of cards and tables, on pages and in the explorer; colours are in [`PALETTE`].
pub const LOOK: &str = include_str!("../look/look.css");

/// The colours as CSS variables, light and dark.
pub const PALETTE: &str = figure::PALETTE;

/// The style of drawings, in the palette's variables.
pub const FIGURE_STYLE: &str = figure::STYLE;

/// A script (a module) that makes tables sortable.
pub const SORT_SCRIPT: &str = include_str!("../look/sort.js");

/// A script (a module) that saves drawings as SVG and PNG.
pub const SAVE_SCRIPT: &str = include_str!("../look/save.js");
