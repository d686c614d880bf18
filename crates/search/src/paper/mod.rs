//! Algorithm 2 as printed: one block, a variance law, a real-valued m, then the integer correction.
//!
//! A baseline module of width ñ is replaced by m members of width n. [`Search`] asks a [`Variance`]
//! for Var(n), counts β(n), and finds the width that minimises Var(n) β(n), which is optimal for
//! both problems (strong duality).
//!
//! ```
//! use collegial_search::paper::{Law, Search};
//! let answer = Search::new("resnext29-1x128d".parse()?).run(&Law::new(1.60)?)?;
//! assert_eq!((answer.primal.design, answer.dual.design), ("37x10d".parse()?, "10x10d".parse()?));
//! # Ok::<(), collegial_search::Error>(())
//! ```

mod analysed;
mod answer;
mod correction;
mod curve;
mod free_widths;
mod search;
mod stages;
mod variance;

pub use analysed::Analysed;
pub use answer::{Answer, Nearby, Optimum};
pub use correction::members_within;
pub use curve::Curve;
pub use free_widths::{FreeWidths, free_widths};
pub use search::Search;
pub use stages::{StageOptimum, per_stage};
pub use variance::{Estimate, Exact, Law, Measured, Relaxed, Variance};
