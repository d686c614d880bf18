//! Typed messages: sentences whose options and calls are spans, which each front end renders in
//! its own syntax (flags of the program, keywords of Python, labels of the page).
//!
//! ```
//! use collegial::message::{Message, Plain, option};
//! let message = Message::from([option("draws"), " belongs to ".into(), option("check")]);
//! assert_eq!(message.render(&Plain), "draws belongs to check");
//! ```

use std::fmt;

/// A sentence in spans.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Message(Vec<Span>);

/// A piece of a message.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Span {
    /// Text that is the same everywhere.
    Text(String),
    /// An option of a request.
    Setting(Setting),
    /// A verb, with a model and options where the sentence has them.
    Call(Call),
}

/// An option by its name in requests, with its value where the sentence has one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Setting {
    /// The field of the request.
    pub name: String,
    /// Its value as JSON has it, texts without quotes.
    pub value: Option<String>,
}

/// A verb with what is asked of it. With a model it is a whole command, which people copy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Call {
    /// The verb.
    pub verb: &'static str,
    /// Its MODEL.
    pub model: Option<String>,
    /// Its options.
    pub settings: Vec<Setting>,
}

/// The syntax of a front end.
pub trait Rendering: fmt::Debug + Sync {
    /// An option: `--variance law`, or `variance="law"`.
    fn setting(&self, setting: &Setting) -> String;
    /// A verb: `collegial fit`, or `collegial.fit`.
    fn call(&self, call: &Call) -> String;

    /// The same in pieces between which a line can be broken.
    fn call_words(&self, call: &Call) -> Vec<String> {
        vec![self.call(call)]
    }

    /// What ends a line that breaks a call.
    fn unfinished(&self) -> &'static str {
        ""
    }
}

/// Names as requests have them, for logs and `Display`.
#[derive(Clone, Copy, Debug, Default)]
pub struct Plain;

/// An option by its name.
pub fn option(name: &str) -> Span {
    Span::Setting(Setting { name: name.to_owned(), value: None })
}

/// An option with a value.
pub fn option_with(name: &str, value: impl fmt::Display) -> Span {
    Span::Setting(Setting { name: name.to_owned(), value: Some(value.to_string()) })
}

/// A verb, with names of options where the sentence is about them.
pub fn verb(verb: &'static str, options: &[&str]) -> Span {
    let settings = options.iter().map(|name| Setting { name: (*name).to_owned(), value: None });
    Span::Call(Call { verb, model: None, settings: settings.collect() })
}

impl Message {
    /// The sentence in the syntax of a front end.
    pub fn render(&self, rendering: &dyn Rendering) -> String {
        let spans = self.0.iter().map(|span| match span {
            Span::Text(text) => text.clone(),
            Span::Setting(setting) => rendering.setting(setting),
            Span::Call(call) => rendering.call(call),
        });
        spans.collect()
    }

    /// The sentence in lines of at most so many columns, where its words allow it, indented from the
    /// second on. Calls are broken as their syntax has it.
    pub(crate) fn lines(&self, rendering: &dyn Rendering, columns: usize, indent: usize) -> Vec<String> {
        // A word, and what ends the line before it where it begins one.
        let mut words = vec![(String::new(), "")];
        for span in &self.0 {
            let (pieces, end) = match span {
                Span::Text(text) => (text.split(' ').map(str::to_owned).collect(), ""),
                Span::Setting(setting) => (vec![rendering.setting(setting)], ""),
                Span::Call(call) => (rendering.call_words(call), rendering.unfinished()),
            };
            for (at, piece) in pieces.into_iter().enumerate() {
                match words.last_mut() {
                    Some((word, _)) if at == 0 => word.push_str(&piece),
                    _ => words.push((piece, end)),
                }
            }
        }
        let room = columns - rendering.unfinished().len();
        let mut lines: Vec<String> = vec![];
        for (word, end) in words {
            match lines.last_mut() {
                Some(line) if line.chars().count() + 1 + word.chars().count() <= room => {
                    line.push(' ');
                    line.push_str(&word);
                }
                Some(line) => {
                    line.push_str(end);
                    lines.push(format!("{}{word}", " ".repeat(indent)));
                }
                None => lines.push(word),
            }
        }
        lines
    }

    /// The command that this is and nothing else, which people copy.
    pub(crate) fn command(&self) -> Option<&Call> {
        match self.0.as_slice() {
            [Span::Call(call)] if call.model.is_some() => Some(call),
            _ => None,
        }
    }

    /// The same with a span behind it.
    pub(crate) fn then(mut self, span: impl Into<Span>) -> Self {
        self.0.push(span.into());
        self
    }

    /// The same with a span in front.
    pub(crate) fn after(mut self, span: impl Into<Span>) -> Self {
        self.0.insert(0, span.into());
        self
    }
}

impl Rendering for Plain {
    fn setting(&self, Setting { name, value }: &Setting) -> String {
        value.as_ref().map_or_else(|| name.clone(), |value| format!("{name}={value}"))
    }

    fn call(&self, call: &Call) -> String {
        let settings = call.settings.iter().map(|setting| self.setting(setting));
        let words: Vec<String> = call.model.iter().cloned().chain(settings).collect();
        if words.is_empty() { call.verb.to_owned() } else { format!("{}({})", call.verb, words.join(", ")) }
    }
}

/// Options as flags, verbs as commands.
#[derive(Clone, Copy, Debug)]
pub struct Flags;

impl Rendering for Flags {
    fn setting(&self, Setting { name, value }: &Setting) -> String {
        let flag = format!("--{}", name.replace('_', "-"));
        match value.as_deref() {
            // A switch.
            None | Some("true") => flag,
            Some(value) => format!("{flag} {}", quoted(value)),
        }
    }

    fn call(&self, call: &Call) -> String {
        let command = self.call_words(call).join(" ");
        if call.model.is_some() { command } else { format!("`{command}`") }
    }

    fn call_words(&self, Call { verb, model, settings }: &Call) -> Vec<String> {
        let model = model.as_deref().map(|model| format!(" {}", quoted(model)));
        let command = format!("collegial {verb}{}", model.unwrap_or_default());
        std::iter::once(command).chain(settings.iter().map(|setting| self.setting(setting))).collect()
    }

    fn unfinished(&self) -> &'static str {
        " \\"
    }
}

/// A word as a shell takes it.
pub fn quoted(word: &str) -> String {
    let plain = |letter: char| letter.is_ascii_alphanumeric() || "-_./=,:+@%".contains(letter);
    if !word.is_empty() && word.chars().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', "'\\''"))
    }
}

impl fmt::Display for Message {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.render(&Plain))
    }
}

impl From<&str> for Span {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl From<String> for Span {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

impl From<Call> for Span {
    fn from(call: Call) -> Self {
        Self::Call(call)
    }
}

impl From<String> for Message {
    fn from(text: String) -> Self {
        Self(vec![text.into()])
    }
}

impl From<Vec<Span>> for Message {
    fn from(spans: Vec<Span>) -> Self {
        Self(spans)
    }
}

impl<const N: usize> From<[Span; N]> for Message {
    fn from(spans: [Span; N]) -> Self {
        Self(spans.into())
    }
}

/// A message of pieces, each a text or a span.
macro_rules! message {
    ($($piece:expr),+ $(,)?) => {
        $crate::message::Message::from([$($crate::message::Span::from($piece)),+])
    };
}
pub(crate) use message;

/// A request that cannot be answered: options contradict each other, are out of range or missing.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct InvalidRequest(pub Message);

impl InvalidRequest {
    /// A number outside of what is accepted.
    pub(crate) fn out_of_range(name: &str, value: impl fmt::Display, low: f64, high: f64) -> Self {
        Self(message![option(name), format!(" is {value}; it must be between {low} and {high}")])
    }
}

/// The error of a request, as a message of pieces.
macro_rules! invalid {
    ($($piece:expr),+ $(,)?) => {
        $crate::InvalidRequest($crate::message::message![$($piece),+])
    };
}
pub(crate) use invalid;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_are_rendered_and_text_is_not() {
        let call = Call { verb: "export", model: Some("fc3-8".into()), settings: vec![] };
        let message = message!["`alpha=` stays, ", option_with("variance", "law"), " does not: ", call];
        assert_eq!(message.to_string(), "`alpha=` stays, variance=law does not: export(fc3-8)");
        assert_eq!(message![verb("fit", &["out"])].to_string(), "fit(out)");
        assert_eq!(message.clone().after("note: ").to_string(), format!("note: {message}"));
    }

    #[test]
    fn lines_of_a_command_are_one_command() {
        let settings = [("to", "onnx"), ("inputs", "24"), ("out", "my net.onnx")];
        let setting = |(name, value): (&str, &str)| Setting { name: name.into(), value: Some(value.into()) };
        let call =
            Call { verb: "export", model: Some("fc3-8".into()), settings: settings.map(setting).into() };
        let message = message![call].after("next: ").then(" and so on");
        let lines = [
            "next: collegial export fc3-8 --to onnx \\",
            "        --inputs 24 --out 'my net.onnx'",
            "        and so on",
        ];
        assert_eq!(message.lines(&Flags, 41, 8), lines);
        assert_eq!(message.lines(&Flags, 99, 8), [message.render(&Flags)]);
    }
}
