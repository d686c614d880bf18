//! Parameters of Python functions from the declarations of options: types, defaults and help.

use clap::{Arg, Args, Command};

use super::types::Type;
use crate::options::{Entry, Field, Options};

/// A parameter of a Python function.
#[derive(Clone)]
pub struct Parameter {
    pub name: String,
    pub kind: String,
    /// None of a parameter that must be given.
    pub default: Option<String>,
    pub help: String,
}

/// What a reference to a model may be.
const FORMS: &str = "A name, the path or text of a spec, a dict, a `Spec`, or a checkpoint";

/// What changes to a recipe may be.
const FORMS_OF_CHANGES: &str = "; a dict, or texts like these";

/// Words of the program's help, and Python's for them.
const WORDS: [(&str, &str); 3] = [
    ("the same command", "the same call"),
    ("; may be given several times", ", or several"),
    (", in place of printing it", ""),
];

/// Paragraphs of a verb's help that say nothing to Python begin like this.
const OF_THE_PROGRAM: [&str; 3] = ["Exit ", "With --json", "On a terminal"];

/// The parameters of a request, in the order of its declaration.
pub fn parameters<R: Options + Args>() -> Vec<Parameter> {
    let command = R::augment_args(Command::new("request"));
    of_entries(R::ENTRIES, &command)
}

fn of_entries(entries: &[Entry], command: &Command) -> Vec<Parameter> {
    let each = |entry: &Entry| match entry {
        // An array is no JSON: a function that takes one has it as a parameter of its own.
        Entry::Field(field) if field.kind == "Option<Tensor>" => vec![],
        Entry::Field(field) => vec![parameter(field, command)],
        Entry::Group { help, entries } => {
            let mut group = of_entries(entries, command);
            if let Some(model) = group.iter_mut().find(|parameter| parameter.name == "model") {
                model.help = format!("{}. {FORMS}", joined(help));
            }
            group
        }
    };
    entries.iter().flat_map(each).collect()
}

fn parameter(field: &Field, command: &Command) -> Parameter {
    let flag = command.get_arguments().find(|flag| flag.get_id() == field.name);
    Parameter {
        name: field.name.to_owned(),
        kind: Type::of(field, flag).python,
        default: default(field, flag),
        help: described(field.help) + if field.name == "set" { FORMS_OF_CHANGES } else { "" },
    }
}

fn default(field: &Field, flag: Option<&Arg>) -> Option<String> {
    if flag.is_some_and(Arg::is_required_set) {
        return None;
    }
    let said = flag.and_then(|flag| flag.get_default_values().first()).map(|value| value.to_string_lossy());
    Some(match (field.kind, said) {
        (kind, _) if kind.starts_with("Option<") => "None".into(),
        (kind, _) if kind.starts_with("Vec<") => "()".into(),
        ("bool", _) => "False".into(),
        (_, Some(said)) if said.parse::<f64>().is_ok() => said.into_owned(),
        (_, Some(said)) => format!("\"{said}\""),
        ("u64", None) => "0".into(),
        ("String", None) => "\"\"".into(),
        (kind, None) => panic!("no default is known for {kind} of `{}`", field.name),
    })
}

/// A doc comment in one line, with options as a request names them.
pub(super) fn described(help: &str) -> String {
    in_python(&joined(help))
}

/// A doc comment in one line.
fn joined(help: &str) -> String {
    help.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The paragraphs of a verb's help that say something to Python, its arguments by their names.
pub fn about<R: Options + Args>() -> Vec<String> {
    let command = R::augment_args(Command::new("request"));
    let paragraphs = R::ABOUT.split("\n\n").map(joined);
    let kept = paragraphs.filter(|text| !OF_THE_PROGRAM.iter().any(|start| text.starts_with(start)));
    let named = |mut text: String| {
        for argument in command.get_positionals() {
            if let Some([shown]) = argument.get_value_names() {
                text = replaced(&text, shown.as_str(), &format!("`{}`", argument.get_id().as_str()));
            }
        }
        in_python(&text)
    };
    kept.map(named).collect()
}

/// The text with a whole word replaced, whatever punctuation follows it.
fn replaced(text: &str, word: &str, by: &str) -> String {
    let one = |part: &str| match part.strip_prefix(word) {
        Some(end) if end.chars().all(|c| c.is_ascii_punctuation()) => format!("{by}{end}"),
        _ => part.to_owned(),
    };
    text.split(' ').map(one).collect::<Vec<_>>().join(" ")
}

/// Help in Python's words, with flags as parameters and `[default: ...]` as a sentence at its end.
fn in_python(help: &str) -> String {
    let (mut text, mut default) = (help.to_owned(), String::new());
    if let Some((before, rest)) = help.split_once(" [default: ")
        && let Some((value, after)) = rest.split_once(']')
    {
        text = format!("{before}{after}");
        default = format!(". By default {value}");
    }
    let text = WORDS.iter().fold(text + &default, |text, (said, ours)| text.replace(said, ours));
    // Text between backticks is code and stays as it is.
    let parts = text.split('`').enumerate();
    let parts = parts.map(|(index, part)| if index % 2 == 0 { flags(part) } else { part.to_owned() });
    parts.collect::<Vec<_>>().join("`")
}

/// `--multiple-of` as `` `multiple_of` ``.
fn flags(text: &str) -> String {
    let mut pieces = text.split("--");
    let mut renamed = pieces.next().unwrap_or_default().to_owned();
    for piece in pieces {
        let end = piece.find(|c: char| !(c.is_ascii_lowercase() || c == '-')).unwrap_or(piece.len());
        let (flag, rest) = piece.split_at(end);
        renamed += &format!("`{}`{rest}", flag.replace('-', "_"));
    }
    renamed
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::search;

    #[test]
    fn help_is_said_in_pythons_words() {
        assert_eq!(
            in_python("At most [default: 2; 3 with --per-stage], see `fit --out`"),
            "At most, see `fit --out`. By default 2; 3 with `per_stage`"
        );
        assert_eq!(in_python("A column; may be given several times"), "A column, or several");
        assert_eq!(
            replaced("files in DIR: DIRECTORY", "DIR", "`directory`"),
            "files in `directory`: DIRECTORY"
        );
    }

    #[test]
    fn types_and_defaults_are_those_of_the_declaration() {
        let all = parameters::<search::Request>();
        let of = |name: &str| all.iter().find(|parameter| parameter.name == name).unwrap();
        let shown = |name: &str| (of(name).kind.as_str(), of(name).default.as_deref());
        assert_eq!(shown("model"), ("Model", None));
        assert_eq!(shown("alpha"), ("float | None", Some("None")));
        assert_eq!(shown("multiple_of"), ("int", Some("1")));
        assert_eq!(shown("seed"), ("int", Some("0")));
        assert_eq!(shown("cost"), ("str | Iterable[str]", Some("\"params\"")));
        let inputs = "Literal[\"white\", \"network\"]";
        assert_eq!(shown("block_inputs"), (inputs, Some("\"network\"")));
        assert!(of("model").help.starts_with("The baseline. A name"), "{}", of("model").help);
    }
}
