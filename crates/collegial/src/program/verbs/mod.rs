//! One file per verb.

pub mod completions;
pub mod evaluate;
pub mod explore;
pub mod export;
pub mod fit;
pub mod gather;
pub mod info;
pub mod job;
pub mod man;
pub mod merge;
pub mod models;
pub mod moments;
pub mod ntk;
pub mod reproduce;
pub mod score;
pub mod search;
pub mod status;
pub mod sweep;
pub mod train;
pub mod validate;
