//! The blocks of a network, as a search needs them.

use serde::Serialize;

use crate::bottleneck::Bottleneck;

/// Equal bottleneck blocks in a row.
///
/// What a block sees and costs is all in its [`Bottleneck`]: channels in and out, inner widths n,
/// multiplicity m, stride, shortcut and the side of the image that comes in.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Block {
    /// The stage that they belong to, counted from 0.
    pub stage: usize,
    /// How many there are.
    pub count: usize,
    /// One of them.
    #[serde(flatten)]
    pub bottleneck: Bottleneck,
}
