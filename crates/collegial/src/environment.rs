//! The environment variables, declared once: a misspelt one would have no effect.

use std::ffi::{OsStr, OsString};

use crate::message::invalid;
use crate::{Error, InvalidRequest};

/// What all of their names begin with.
const PREFIX: &str = "COLLEGIAL_";

/// What a variable may be set to.
enum Values {
    /// Whoever reads it checks it.
    Any,
    /// A number of bytes.
    Bytes,
    /// One of these words.
    Words(&'static [&'static str]),
}

/// The instruction sets that can be forced here: one of another architecture would have no effect.
const INSTRUCTIONS: &[&str] = if cfg!(target_arch = "x86_64") {
    &["portable", "avx2", "avx512"]
} else if cfg!(target_arch = "aarch64") {
    &["portable", "neon"]
} else {
    &["portable"]
};

/// Those that users set.
const KNOWN: [(&str, Values); 6] = [
    ("COLLEGIAL_INSTRUCTIONS", Values::Words(INSTRUCTIONS)),
    ("COLLEGIAL_MAX_UNPACKED", Values::Bytes),
    ("COLLEGIAL_PORTABLE", Values::Words(&["0", "1"])),
    ("COLLEGIAL_PYTHON", Values::Any),
    ("COLLEGIAL_TORCH_DEVICE", Values::Any),
    ("COLLEGIAL_TORCH_PRECISION", Values::Words(&["f64", "f32", "bf16", "f16"])),
];

/// Those of the tests, which start the program too.
const OF_TESTS: [&str; 4] =
    ["COLLEGIAL_DATA", "COLLEGIAL_EVERY_ALLOCATION", "COLLEGIAL_FUZZ_MUTATIONS", "COLLEGIAL_TARGET"];

/// Checks the environment of this process.
///
/// # Errors
///
/// Where a variable begins with `COLLEGIAL_` and is not known, or has a value that it does not take.
pub fn check() -> Result<(), Error> {
    Ok(check_all(std::env::vars_os())?)
}

fn check_all(variables: impl IntoIterator<Item = (OsString, OsString)>) -> Result<(), InvalidRequest> {
    for (name, value) in variables {
        let name = name.to_string_lossy();
        if name.starts_with(PREFIX) && !OF_TESTS.contains(&&*name) {
            check_one(&name, &value)?;
        }
    }
    Ok(())
}

fn check_one(name: &str, value: &OsStr) -> Result<(), InvalidRequest> {
    let Some((_, values)) = KNOWN.iter().find(|(known, _)| *known == name) else {
        let known = KNOWN.map(|(known, _)| known).join(", ");
        return Err(invalid![format!(
            "{name} is not an environment variable of collegial, which are {known}; unset it"
        )]);
    };
    let text = value.to_string_lossy();
    // Empty is as good as unset.
    let (right, accepted) = match values {
        Values::Any => return Ok(()),
        Values::Bytes => (text.parse::<u64>().is_ok(), "a number of bytes".to_owned()),
        Values::Words(words) => (words.contains(&&*text), words.join(", ")),
    };
    if right || text.is_empty() {
        return Ok(());
    }
    Err(invalid![format!("{name} is {text}; it must be {accepted}")])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn checked(name: &str, value: &str) -> Result<(), InvalidRequest> {
        check_all([("PATH".into(), "/bin".into()), (name.into(), value.into())])
    }

    #[test]
    fn what_is_known_is_taken() {
        for (name, value) in [
            ("COLLEGIAL_INSTRUCTIONS", "portable"),
            ("COLLEGIAL_INSTRUCTIONS", INSTRUCTIONS[INSTRUCTIONS.len() - 1]),
            ("COLLEGIAL_INSTRUCTIONS", ""),
            ("COLLEGIAL_PORTABLE", "1"),
            ("COLLEGIAL_MAX_UNPACKED", "67108864"),
            ("COLLEGIAL_PYTHON", "/anything"),
            ("COLLEGIAL_TORCH_PRECISION", "f32"),
            ("COLLEGIAL_TARGET", "somewhere"),
            ("COLLEGIALITY", "high"),
        ] {
            assert!(checked(name, value).is_ok(), "{name}={value}");
        }
    }

    #[test]
    fn what_is_not_known_is_refused() {
        for (name, value) in [
            ("COLLEGIAL_INSTRUCTION", "avx2"),
            ("COLLEGIAL_INSTRUCTIONS", "avx"),
            ("COLLEGIAL_INSTRUCTIONS", if cfg!(target_arch = "x86_64") { "neon" } else { "avx2" }),
            ("COLLEGIAL_PORTABLE", "yes"),
            ("COLLEGIAL_MAX_UNPACKED", "1G"),
            ("COLLEGIAL_TORCH_PRECISION", "f8"),
            ("COLLEGIAL_", ""),
        ] {
            assert!(checked(name, value).is_err(), "{name}={value}");
        }
    }
}
