//! Errors of TOML specs, in one sentence that begins with the line and the nearest key; the long
//! list of all keys comes last.
//!
//! The deserialiser of a tagged enum forgets where a value stood, so the place is looked for: the
//! key that is wrong by itself. Which kind of error it is, and what was expected, the toml crate
//! says in words alone (its error has no kind), so these are read here, and nowhere else: `unknown
//! field`, `unknown variant` and `missing field` are fixed by serde. Where they should change, a
//! sentence loses its hint, and the tests below fail.

use serde::de::DeserializeOwned;
use toml::{Table, Value};

/// Names less alike than this are not offered.
const ALIKE: f64 = 0.75;

/// The sentence for an error that reading `text` as a `T` gave.
pub(crate) fn explained<T: DeserializeOwned>(text: &str, error: &toml::de::Error) -> String {
    let message = error.message().trim().replace('\n', " ");
    let unknown =
        quoted_after(&message, "unknown field ").or_else(|| quoted_after(&message, "unknown variant "));
    let line = match (error.span(), unknown) {
        (Some(span), _) => Some(text[..span.start.min(text.len())].lines().count().max(1)),
        (None, Some(name)) => line_of(text, name),
        // What is missing stands nowhere.
        (None, None) if message.starts_with("missing field") => None,
        (None, None) => culprit::<T>(text, &error.to_string()).and_then(|key| line_of(text, &key)),
    };
    let item = || item_in::<T>(text, &error.to_string());
    let of_value = message.starts_with("invalid ") || message.starts_with("unknown variant ");
    let key = line.filter(|_| of_value).and_then(|line| key_in(text, line));
    let key = key.map(|key| format!("{key}{}: ", item().unwrap_or_default())).unwrap_or_default();
    let place = line.map(|line| format!("line {line}: {key}")).unwrap_or_default();
    let hinted = unknown.and_then(|name| {
        let (wrong, known) = message.split_once(", ")?;
        Some(format!("{wrong}, did you mean `{}`? ({known})", nearest(name, known)?))
    });
    format!("{place}{}", plain_words(&hinted.unwrap_or(message)))
}

/// A deserialiser's sentence with what it expects in words instead of types.
pub fn plain_words(message: &str) -> String {
    let number = "expected a number";
    let positive = "expected a whole number above 0";
    let mut plain = message.replace("invalid type: ", "found ").replace("invalid value: ", "found ");
    plain = plain.replace("unknown variant ", "unknown value ");
    for bits in ["size", "8", "16", "32", "64", "128"] {
        plain = plain.replace(&format!("expected a nonzero u{bits}"), positive);
        plain = plain.replace(&format!("expected u{bits}"), "expected a whole number of at least 0");
        plain = plain.replace(&format!("expected i{bits}"), "expected a whole number");
    }
    for (type_name, words) in [
        ("expected f64", number),
        ("expected f32", number),
        ("expected a sequence", "expected a list"),
        ("expected a map", "expected a table"),
        ("expected a boolean", "expected true or false"),
        ("found floating point ", "found the number "),
        ("found integer ", "found the number "),
        ("found string ", "found the text "),
        ("found boolean ", "found "),
        ("found sequence", "found a list"),
        ("found map", "found a table"),
    ] {
        plain = plain.replace(type_name, words);
    }
    plain
}

/// The key that a line sets.
fn key_in(text: &str, line: usize) -> Option<&str> {
    let (key, _) = text.lines().nth(line - 1)?.split_once('=')?;
    let key = key.trim();
    let plain = |letter: char| letter.is_alphanumeric() || "_-.".contains(letter);
    (!key.is_empty() && key.chars().all(plain)).then_some(key)
}

/// The name in backticks behind some words at the beginning.
fn quoted_after<'a>(message: &'a str, words: &str) -> Option<&'a str> {
    message.strip_prefix(words)?.strip_prefix('`')?.split('`').next()
}

/// The first line that has the name as a key or as a quoted value.
fn line_of(text: &str, name: &str) -> Option<usize> {
    let has = |line: &str| {
        let line = line.split('#').next().unwrap_or_default();
        let as_key = line.match_indices(name).any(|(at, _)| {
            let before = line[..at].chars().next_back();
            let after = line[at + name.len()..].trim_start();
            before.is_none_or(|c| !c.is_alphanumeric() && c != '_' && c != '-') && after.starts_with('=')
        });
        as_key || line.contains(&format!("\"{name}\""))
    };
    text.lines().position(has).map(|index| index + 1)
}

/// The top-level key whose value gives the same error beside nothing but the kind.
fn culprit<T: DeserializeOwned>(text: &str, error: &str) -> Option<String> {
    let table: Table = text.parse().ok()?;
    let (key, _) = table.iter().find(|(key, value)| is_alike::<T>(&table, key, value, error))?;
    Some(key.clone())
}

/// Whether a value beside nothing but the table's kind gives this error.
fn is_alike<T: DeserializeOwned>(table: &Table, key: &str, value: &Value, error: &str) -> bool {
    let kind = table.get("kind").map(|kind| ("kind".to_owned(), kind.clone()));
    let mut alone: Table = kind.into_iter().collect();
    alone.insert(key.to_owned(), value.clone());
    alone.try_into::<T>().is_err_and(|found| found.to_string() == error)
}

/// Where the value of the [`culprit`] is a list of tables: which of them gives the error, and its key
/// without which there is another error or none, as "[2].kernel".
fn item_in<T: DeserializeOwned>(text: &str, error: &str) -> Option<String> {
    let table: Table = text.parse().ok()?;
    let name = culprit::<T>(text, error)?;
    let items: Vec<&Table> = table[&name].as_array()?.iter().filter_map(Value::as_table).collect();
    let same = |item: Table| is_alike::<T>(&table, &name, &Value::Array(vec![item.into()]), error);
    let at = items.iter().position(|&item| same(item.clone()))?;
    let without = |key: &String| {
        let mut rest = items[at].clone();
        rest.remove(key);
        rest
    };
    let key = items[at].keys().find(|key| !same(without(key)))?;
    Some(format!("[{}].{key}", at + 1))
}

/// The expected name that is most like the one that was found.
fn nearest<'a>(name: &str, known: &'a str) -> Option<&'a str> {
    let expected = known.split('`').skip(1).step_by(2);
    let alike = expected.map(|known| (strsim::jaro_winkler(name, known), known));
    alike.filter(|(alike, _)| *alike > ALIKE).max_by(|a, b| a.0.total_cmp(&b.0)).map(|(_, known)| known)
}

#[cfg(test)]
mod tests {
    use crate::Spec;

    const LAYERS: &str = "kind = \"sequence\"\nname = \"a\"\ninput = { channels = 4, height = 1, width = 1 }\n\
                          layers = [\n  { type = \"conv\", width = 48, kernal = 1 },\n]\n";

    fn refusal(text: &str) -> String {
        Spec::from_toml(text).unwrap_err().to_string()
    }

    #[test]
    fn the_line_and_the_nearest_key_are_named() {
        let said = refusal("kind = \"bottleneck\"\ninputs = 3\nwidht = 3\n");
        assert!(
            said.contains("line 3: unknown field `widht`, did you mean `width`? (expected one of "),
            "{said}"
        );
        let said = refusal("kind = \"botleneck\"\nwidth = 3\n");
        assert!(
            said.contains("line 1: kind: unknown value `botleneck`, did you mean `bottleneck`? ("),
            "{said}"
        );
        let said = refusal(LAYERS);
        assert!(said.contains("line 5: unknown field `kernal`, did you mean `kernel`? ("), "{said}");
    }

    #[test]
    fn types_are_said_in_words() {
        for (said, plain) in [
            (
                "invalid type: floating point `1.5`, expected usize",
                "found the number `1.5`, expected a whole number of at least 0",
            ),
            (
                "invalid value: integer `0`, expected a nonzero usize",
                "found the number `0`, expected a whole number above 0",
            ),
            ("invalid type: sequence, expected f64", "found a list, expected a number"),
            ("invalid type: boolean `true`, expected a sequence", "found `true`, expected a list"),
        ] {
            assert_eq!(super::plain_words(said), plain);
        }
    }

    #[test]
    fn a_value_of_the_wrong_type_is_placed() {
        let said = refusal("kind = \"bottleneck\"\nwidth = 3\n# inputs = 4\ninputs = \"x\"\n");
        assert!(
            said.contains("line 4: ")
                && said.ends_with("inputs: found the text \"x\", expected a whole number of at least 0"),
            "{said}"
        );
        let said = refusal("kind = \"resnext\"\nstem = \"small\"\nblocks = [3, 3]\ndesign = \"1by3\"\n");
        assert!(said.contains("line 4: ") && said.contains("1by3"), "{said}");
        assert!(refusal("kind = \"bottleneck\nwidth = 3\n").contains("line 1: "));
        let said = refusal(&LAYERS.replace("kernal = 1", "kernel = \"a\""));
        assert!(said.contains("layers[1].kernel: found the text \"a\", expected a whole number"), "{said}");
        // What is missing has no line.
        assert!(refusal("kind = \"bottleneck\"\ninputs = 3\n").ends_with("missing field `width`"));
    }
}
