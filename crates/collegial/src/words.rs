//! Sentences in the words of the caller: the program's flags, or Python's keywords.
//!
//! Sentences of the libraries name a request's field as `` `alpha=` ``, a field with its value as
//! `` `variance=law` ``, a verb as `` `fit()` ``, a verb's field as `` `fit(precision=)` `` and a
//! whole question as `` `export(fc3-8, to=onnx)` ``. The program turns them into flags, Python into
//! keywords.

/// How a door names fields and verbs.
pub trait Words {
    /// A field, with its value where the sentence has one: `--variance law`, or `variance="law"`.
    fn field(&self, name: &str, value: Option<&str>) -> String;
    /// A verb, with a model and fields where the sentence has them: `collegial fit`, or
    /// `collegial.fit`. With a model it is a whole question, which people copy.
    fn verb(&self, name: &str, model: Option<&str>, fields: &[Field<'_>]) -> String;
}

/// A field of a call, with its value where the sentence has one.
pub type Field<'a> = (&'a str, Option<&'a str>);

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
    let field = |text| {
        let (field, value) = str::split_once(text, '=').filter(|(field, _)| is_name(field))?;
        Some((field, Some(value).filter(|value| !value.is_empty())))
    };
    if let Some((verb, arguments)) = quoted.strip_suffix(')').and_then(|call| call.split_once('(')) {
        let mut arguments = arguments.split(", ").filter(|argument| !argument.is_empty()).peekable();
        let model = arguments.next_if(|first| !first.contains('='));
        let fields: Option<Vec<Field<'_>>> = arguments.map(field).collect();
        return fields.filter(|_| is_name(verb)).map(|fields| words.verb(verb, model, &fields));
    }
    field(quoted).map(|(field, value)| words.field(field, value))
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
        fn verb(&self, name: &str, model: Option<&str>, fields: &[Field<'_>]) -> String {
            let flags = fields.iter().map(|(name, value)| self.field(name, *value));
            let words: Vec<String> = model.map(str::to_owned).into_iter().chain(flags).collect();
            format!("`collegial {name} {}`", words.join(" ")).replace(" `", "`")
        }
    }

    #[test]
    fn fields_and_verbs_are_translated_and_nothing_else_is() {
        for (sentence, expected) in [
            ("`alpha=` belongs to `variance=law`", "--alpha belongs to --variance law"),
            ("see `fit(precision=)`", "see `collegial fit --precision`"),
            ("`export(fc3-8, to=onnx, fold=)`", "`collegial export fc3-8 --to onnx --fold`"),
            ("`export(to=onnx, fc3-8)` `f(A=)`", "`export(to=onnx, fc3-8)` `f(A=)`"),
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
