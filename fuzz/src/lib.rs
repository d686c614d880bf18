//! Every reader of files and requests, each as a function of any bytes.
//!
//! A function must return: a panic, a failed assertion, an overflow and what a sanitizer reports
//! are findings. The targets in `fuzz_targets/` hand libFuzzer's bytes to these functions, and
//! `tests/replay.rs` the kept corpora and mutations of them.

mod data;
mod files;
mod http;
mod table;
mod texts;

pub use data::{cifar, gz, idx, jpeg, npy, npz, pickle, png};
pub use files::{onnx, plan, run_state, safetensors, shard};
pub use http::http;
pub use table::tensor_table;
pub use texts::{recipe, spec};

/// Whether bytes were taken for what the reader reads; the replay counts them.
pub type Reader = fn(&[u8]) -> bool;

/// The readers by the names of their targets and corpora.
pub const READERS: [(&str, Reader); 17] = [
    ("idx", idx),
    ("gz", gz),
    ("cifar", cifar),
    ("npz", npz),
    ("npy", npy),
    ("pickle", pickle),
    ("jpeg", jpeg),
    ("png", png),
    ("safetensors", safetensors),
    ("tensor_table", tensor_table),
    ("onnx", onnx),
    ("spec", spec),
    ("recipe", recipe),
    ("shard", shard),
    ("plan", plan),
    ("run_state", run_state),
    ("http", http),
];
