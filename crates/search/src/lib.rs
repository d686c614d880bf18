//! Search for the best design: the number m and the width n of members.
//!
//! A baseline is replaced by m members of width n. The *primal* problem keeps the cost and
//! minimises the kernel's variance Var(n)/m; the *dual* keeps the variance and minimises the cost.
//! [`DesignSearch`] looks at every integer design of the whole network, with exact variances of
//! what its blocks see; [`paper`] is the paper's Algorithm 2 as printed.
//!
//! ```
//! use collegial_search::DesignSearch;
//! let answer = DesignSearch::new("resnext29-1x128d".parse()?).run()?;
//! assert_eq!((answer.primal.design, answer.dual.design), ("66x6d".parse()?, "16x9d".parse()?));
//! # Ok::<(), collegial_search::Error>(())
//! ```

mod costs;
mod curve;
mod designs;
mod error;
mod limits;
pub mod paper;
mod problem;
pub mod timing;
mod verdict;

pub use costs::{Costs, NotCosts};
pub use curve::{CurvePoint, Flat};
pub use designs::{
    BlockInputs, BlockVariance, BothProblems, DesignAnswer, DesignOptimum, DesignSearch, Edge, FinePoint,
    Freedom, FriendlyDesign, Gain, NearbyDesign, OtherInputs, ParetoDesign, Redesigned, ScoredBlocks,
    StageAnswer, StageDesigns,
};
pub use error::Error;
pub use limits::Limits;
pub use problem::{Problem, Rule, VarianceSource};
pub use timing::{Runtime, Timing, Timings};
pub use verdict::Verdict;
