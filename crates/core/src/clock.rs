//! A clock that WebAssembly has too.

/// A clock's reading; `now` takes one and `elapsed` says how long ago that was.
#[cfg(not(target_family = "wasm"))]
pub use std::time::Instant;

/// The same where there is no clock, in WebAssembly without a system: no time passes.
#[cfg(target_family = "wasm")]
#[derive(Clone, Copy, Debug)]
pub struct Instant;

#[cfg(target_family = "wasm")]
impl Instant {
    /// A reading.
    pub fn now() -> Self {
        Self
    }

    /// Nothing.
    pub fn elapsed(&self) -> std::time::Duration {
        std::time::Duration::ZERO
    }
}
