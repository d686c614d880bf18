//! Error sentences in the words of whoever asked.
//!
//! Sentences of the libraries name a request's field as `` `alpha=` ``, a field with its value as
//! `` `variance=law` ``, a verb as `` `fit()` `` and a verb's field as `` `fit(precision=)` ``. The
//! program turns them into flags, Python into keywords.

/// How a door names fields and verbs.
pub trait Words {
    /// A field, with its value where the sentence has one: `--variance law`, or `variance="law"`.
    fn field(&self, name: &str, value: Option<&str>) -> String;
    /// A verb, with one of its fields where the sentence has one: `collegial fit`, or
    /// `collegial.fit`.
    fn verb(&self, name: &str, field: Option<&str>) -> String;
}

/// The sentence with its fields and verbs in the door's words; other text between backticks stays
/// as it is.
pub fn spoken(sentence: &str, words: &dyn Words) -> String {
    let mut text = String::with_capacity(sentence.len());
    let mut rest = sentence;
    while let Some((before, tail)) = rest.split_once('`') {
        text.push_str(before);
        let Some((quoted, after)) = tail.split_once('`') else {
            text.push('`');
            rest = tail;
            break;
        };
        text.push_str(&translated(quoted, words).unwrap_or_else(|| format!("`{quoted}`")));
        rest = after;
    }
    text + rest
}

fn translated(quoted: &str, words: &dyn Words) -> Option<String> {
    let is_name = |name: &str| !name.is_empty() && name.bytes().all(|c| c.is_ascii_lowercase() || c == b'_');
    if let Some((verb, field)) = quoted.strip_suffix(')').and_then(|call| call.split_once('(')) {
        let field = field.strip_suffix('=').unwrap_or(field);
        let known = is_name(verb) && (field.is_empty() || is_name(field));
        return known.then(|| words.verb(verb, Some(field).filter(|field| !field.is_empty())));
    }
    let (field, value) = quoted.split_once('=').filter(|(field, _)| is_name(field))?;
    Some(words.field(field, Some(value).filter(|value| !value.is_empty())))
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Flags;

    impl Words for Flags {
        fn field(&self, name: &str, value: Option<&str>) -> String {
            let flag = format!("--{}", name.replace('_', "-"));
            value.map_or(flag.clone(), |value| format!("{flag} {value}"))
        }
        fn verb(&self, name: &str, field: Option<&str>) -> String {
            let flag = field.map_or(String::new(), |field| format!(" --{field}"));
            format!("`collegial {name}{flag}`")
        }
    }

    #[test]
    fn fields_and_verbs_are_translated_and_nothing_else_is() {
        for (sentence, expected) in [
            ("`alpha=` belongs to `variance=law`", "--alpha belongs to --variance law"),
            ("see `fit(precision=)`", "see `collegial fit --precision`"),
            ("`fit()` samples; `per_stage=` too", "`collegial fit` samples; --per-stage too"),
            ("unknown field `widht`, expected `width`", "unknown field `widht`, expected `width`"),
            ("a ` alone and `set=x=1`", "a ` alone and `set=x=1`"),
            ("`X=1` `()` `a b=`", "`X=1` `()` `a b=`"),
            ("", ""),
        ] {
            assert_eq!(spoken(sentence, &Flags), expected);
        }
    }
}
