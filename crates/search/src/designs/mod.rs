//! The best integer designs of a whole network.
//!
//! The *score* of a design is the mean, over all the network's blocks, of Var(n_b)/m_b: the
//! variance of the block's tangent kernel at initialisation, by the exact formula where there is
//! one. Without norms every block contributes equally to the mean of the kernel, hence the equal
//! weights. What a block sees matters (thin members pay for correlated positions), so its patches
//! have either independent positions or the covariance that images have there in the network, see
//! [`BlockInputs`].
//!
//! *Primal*: the integer design of lowest score whose real cost fits the budget. *Dual*: the
//! cheapest integer design whose score is not above the baseline's. For given n the score falls and
//! the cost grows with m, so the best m of a width is at the end of what is allowed, and looking at
//! every n looks at every (m, n).

mod answer;
mod blocks;
mod cost;
mod describe;
mod fine;
mod pareto;
mod search;
mod stages;
mod table;
mod variances;
mod width;

pub use answer::{
    BlockVariance, DesignAnswer, DesignOptimum, Edge, FriendlyDesign, Gain, NearbyDesign, OtherInputs,
    ParetoDesign, Redesigned,
};
pub use blocks::{BlockInputs, ScoredBlocks};
pub use fine::FinePoint;
pub use search::DesignSearch;
pub use stages::{BothProblems, Freedom, StageAnswer, StageDesigns};
