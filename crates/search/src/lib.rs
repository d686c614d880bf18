//! Which design is best: the paper's Algorithm 2.
//!
//! A baseline module of width ñ is replaced by m members of width n. The *primal* problem keeps the cost and minimises the
//! kernel's variance Var(n)/m; the *dual* keeps the variance and minimises the cost m β(n). Both have the same optimal width,
//! the one that minimises Var(n) β(n). [`Search`] asks a [`Variance`] for Var(n) and a [`Price`] for β(n), and knows nothing of
//! where they come from.
//!
//! ```
//! use collegial_search::{Law, Search};
//! let answer = Search::new("resnext29-1x128d".parse()?).run(&Law::new(1.60)?)?;
//! assert_eq!((answer.primal.design.as_str(), answer.dual.design.as_str()), ("37x10d", "10x10d"));
//! # Ok::<(), collegial_search::Error>(())
//! ```

mod answer;
mod curve;
mod designs;
mod error;
mod free_widths;
mod network;
mod price;
mod search;
mod stages;
mod variance;

pub use answer::{Answer, Flat, Nearby, Optimum, Problem};
pub use curve::{Curve, CurvePoint};
pub use designs::{
    BlockInputs, BlockVariance, DesignAnswer, DesignOptimum, DesignSearch, Edge, Gain, MemberCosts,
    MemberWidths, NearbyDesign, OtherInputs, ScoredBlocks, StageAnswer, StageDesigns, VarianceSource,
    stage_designs,
};
pub use error::Error;
pub use free_widths::{FreeWidths, free_widths};
pub use network::{Rule, with_design};
pub use price::{Price, Time};
pub use search::Search;
pub use stages::{StageOptimum, per_stage};
pub use variance::{Estimate, Exact, Law, Measured, Relaxed, Variance};
