//! The explorer's answers as WebAssembly: what the loopback server answers, without a server.
//!
//! The interface is three functions on plain memory, so that no generated glue is needed:
//! [`reserve`] gives room for a name and a body, [`ask`] and [`dropped`] answer. An answer is a
//! pointer and a length packed into one number; its first byte is `+` before JSON and `-` before
//! the sentence of a refusal. The memory of an answer is valid until the next call.

use std::cell::RefCell;

use collegial::explorer::RequestError;

thread_local! {
    /// What the page wrote, and the last answer.
    static MEMORY: RefCell<(Vec<u8>, Vec<u8>)> = const { RefCell::new((vec![], vec![])) };
}

/// Room for so many bytes: a name, then a body.
#[unsafe(no_mangle)]
pub extern "C" fn reserve(length: usize) -> *mut u8 {
    MEMORY.with_borrow_mut(|(given, _)| {
        *given = vec![0; length];
        given.as_mut_ptr()
    })
}

/// Answers the question whose verb is the first `name` bytes of what was written.
#[unsafe(no_mangle)]
pub extern "C" fn ask(name: usize) -> u64 {
    answered(name, collegial::explorer::ask)
}

/// The network of a file whose name is the first `name` bytes of what was written.
#[unsafe(no_mangle)]
pub extern "C" fn dropped(name: usize) -> u64 {
    answered(name, collegial::explorer::dropped)
}

fn answered(name: usize, answer: impl FnOnce(&str, &[u8]) -> Result<String, RequestError>) -> u64 {
    MEMORY.with_borrow_mut(|(given, last)| {
        let (name, body) = given.split_at(name.min(given.len()));
        let answer = answer(&String::from_utf8_lossy(name), body);
        *last = match answer {
            Ok(json) => format!("+{json}"),
            Err(RequestError(sentence)) => format!("-{sentence}"),
        }
        .into_bytes();
        *given = vec![];
        ((last.as_ptr() as u64) << 32) | last.len() as u64
    })
}
