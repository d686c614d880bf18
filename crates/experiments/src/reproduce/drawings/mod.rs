//! The two algorithms as the paper draws them; the program and its pages draw them so too.

pub mod fit;
pub mod search;
