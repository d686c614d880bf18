//! The explorer: a page that shows how the kernel's variance and the cost of a network move with
//! its design.
//!
//! [`ask`] answers the page's questions, every one of them computed by [this library](crate); the page
//! in `page/` only draws. [`Explorer`] serves both on loopback (feature `server`). The same page
//! and [`ask`], compiled to WebAssembly, need no server.
//!
//! ```
//! let question = br#"{"model": "resnext29-1x128d", "multiple_of": 8}"#;
//! let answer = collegial::explorer::ask("search", question)?;
//! assert!(answer.contains("\"primal\""));
//! # Ok::<(), collegial::explorer::RequestError>(())
//! ```

mod ask;
mod cost;
#[cfg(feature = "server")]
mod http;
mod network;
pub mod page;
#[cfg(feature = "server")]
mod server;
mod taken;

pub use ask::{RequestError, ask, dropped};
#[cfg(feature = "server")]
pub use server::{Explorer, ServeError};
