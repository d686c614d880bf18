//! Specifications of networks: data, not code.
//!
//! The main type is [`Spec`]. It has a name (`"resnext29-37x10d".parse::<Spec>()`), a TOML form
//! that users write for their own modules, and a [`Graph`] of elementary operations that engines
//! interpret and that [`Counts`] adds up. No number is ever computed *with* a network here; this
//! crate only says what is in it.
//!
//! In the paper's words (section 4): a *module* [`Module`] has a width vector **n** that Algorithm
//! 1 scales, a cost β(**n**) ([`Module::member_cost`]) and a multiplicity m; a *network* stacks
//! modules.
//!
//! ```
//! use collegial_arch::Spec;
//! let spec: Spec = "resnext29-37x10d".parse()?;
//! assert_eq!(spec.totals()?.parameters, 13_743_646);
//! # Ok::<(), collegial_arch::Error>(())
//! ```

mod block;
mod bottleneck;
mod builder;
mod counts;
mod design;
mod error;
mod fully_connected;
mod graph;
mod layers;
mod library;
mod module;
mod names;
mod overrides;
mod regnet;
mod regnet_models;
mod resnext;
mod sequence;
mod shape;
mod spec;
mod squeeze_excitation;
mod stage_design;
mod toml_error;
mod transformer;
mod unsupported;
mod wide_resnet;
mod zoo;

pub use block::Block;
pub use bottleneck::Bottleneck;
pub use builder::{Conv, Dense, MaxPool};
pub use counts::{Cost, Counts, LayerCounts, Totals};
pub use design::Design;
pub use error::{Error, MAX_DIMENSION};
pub use fully_connected::FullyConnected;
pub use graph::{Graph, Node, NodeId, Op};
pub use module::Module;
pub use overrides::Overrides;
pub use regnet::{LinearRule, Regnet, Rounding};
pub use resnext::{Resnext, Stem};
pub use sequence::{Activation, Join, Layer, Linear, Norm, Sequence, Shortcut};
pub use shape::Shape;
pub use spec::Spec;
pub use stage_design::{Designs, StageDesign};
pub use toml_error::plain_words;
pub use transformer::{
    Attention, Embedding, FeedForward, Logits, NormOrder, Output, TokenNorm, Transformer, TransformerStage,
};
pub use unsupported::Unsupported;
pub use wide_resnet::WideResnet;
pub use zoo::{Family, Model, NAME_FORMS, aliases, families, models};
