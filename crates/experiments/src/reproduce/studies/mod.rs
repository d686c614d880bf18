//! Studies: records of trainings that were made before, judged by rules that stand beside them.
//!
//! A study is a folder of `research/` with a README, its tables as CSV, and `study.toml`: title, text
//! and the rule. Nothing of it is compiled in; a study is read as a user's own table is.

mod fig4;
mod prediction;
mod published_tables;

pub use fig4::run as fig4;
pub use prediction::run as prediction;
pub use published_tables::{published_steps, run as published_tables};
