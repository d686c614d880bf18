//! The reference of verbs and flags, from the definitions that also make the help.

use std::fmt::Write as _;

use clap::{Arg, Command, CommandFactory};
use collegial_report::wrapped_lines;

use crate::program::arguments::Arguments;

/// Columns of the Markdown's prose.
const WIDTH: usize = 100;

const HEAD: &str = "Made from the program's own definitions; `collegial help VERB` says the same. Results \
                    go to standard output, everything else to standard error. Exit codes: 0 done, 1 the \
                    answer is \"no\", 2 something to fix, said in one sentence, 130 interrupted.";

/// Every verb with its flags, as Markdown.
pub fn reference() -> String {
    let mut program = Arguments::command();
    program.build();
    let mut text = format!("# Verbs and flags\n\n{}\n", wrapped_lines(HEAD, WIDTH));
    let shared = program.get_arguments().filter(|flag| flag.is_global_set());
    text.push_str("\n## Every verb\n\n");
    flags(&mut text, shared);
    for verb in program.get_subcommands().filter(|verb| verb.get_name() != "help") {
        section(&mut text, verb);
    }
    text
}

fn section(text: &mut String, verb: &Command) {
    let name = verb.get_name();
    let positionals = verb.get_positionals().map(|argument| match argument.is_required_set() {
        true => format!(" {}", value(argument)),
        false => format!(" [{}]", value(argument)),
    });
    let _ = write!(text, "\n## {name}\n\n");
    let about = verb.get_long_about().or(verb.get_about()).map(ToString::to_string).unwrap_or_default();
    let _ = write!(text, "{}\n\n", wrapped_lines(&escaped(about.trim()), WIDTH));
    let _ = write!(text, "```text\ncollegial {name}{} [OPTIONS]\n```\n\n", positionals.collect::<String>());
    let mut own: Vec<&Arg> =
        verb.get_arguments().filter(|flag| !flag.is_global_set() && flag.get_id() != "help").collect();
    // As in the help: what has a heading of its own stands at the end.
    own.sort_by_key(|flag| flag.get_help_heading().is_some());
    if !own.is_empty() {
        flags(text, own.into_iter());
    }
    if let Some(example) = verb.get_after_help() {
        let example = example.to_string();
        let lines = example.trim().lines().filter(|line| line.starts_with("  ")).map(str::trim);
        let _ = write!(text, "\n```text\n{}\n```\n", lines.collect::<Vec<_>>().join("\n"));
    }
}

fn flags<'a>(text: &mut String, all: impl Iterator<Item = &'a Arg>) {
    text.push_str("| | |\n|---|---|\n");
    for flag in all {
        let _ = writeln!(text, "| {} | {} |", spelling(flag), meaning(flag));
    }
}

/// `-q`, `--quiet`, or the name of a positional, with its value.
fn spelling(flag: &Arg) -> String {
    if flag.is_positional() {
        return format!("`{}`", value(flag));
    }
    let short = flag.get_short().map(|letter| format!("`-{letter}`, ")).unwrap_or_default();
    let long = flag.get_long().unwrap_or_default();
    match flag.get_action().takes_values() {
        true => format!("{short}`--{long} {}`", value(flag)),
        false => format!("{short}`--{long}`"),
    }
}

fn value(flag: &Arg) -> String {
    let names = flag.get_value_names().unwrap_or_default();
    names.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ").replace('|', "\\|")
}

/// Help, values that are accepted, and the default.
fn meaning(flag: &Arg) -> String {
    let help = flag.get_long_help().or(flag.get_help()).map(ToString::to_string).unwrap_or_default();
    let mut text = escaped(&help.split_whitespace().collect::<Vec<_>>().join(" "));
    let values = flag.get_possible_values();
    if flag.get_action().takes_values() && !values.is_empty() {
        let one = |value: &clap::builder::PossibleValue| match value.get_help() {
            Some(help) => {
                format!("`{}` ({})", value.get_name(), escaped(help.to_string().trim_end_matches('.')))
            }
            None => format!("`{}`", value.get_name()),
        };
        let listed: Vec<String> = values.iter().filter(|value| !value.is_hide_set()).map(one).collect();
        let _ = write!(text, ": {}", listed.join("; "));
    }
    let defaults = flag.get_default_values();
    if flag.get_action().takes_values() && !defaults.is_empty() {
        let defaults: Vec<_> = defaults.iter().map(|value| value.to_string_lossy()).collect();
        let _ = write!(text, ". Default: `{}`", defaults.join(" "));
    }
    text
}

/// Text that Markdown would read otherwise.
fn escaped(text: &str) -> String {
    text.replace('|', "\\|").replace('<', "&lt;")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Examples that take minutes or wait for a browser are not run by the book's tests; their
    /// words are still those that the program takes.
    #[test]
    fn every_verb_has_an_example_that_is_understood() {
        let program = Arguments::command();
        for verb in program.get_subcommands() {
            let help = verb.get_after_help().map(ToString::to_string).unwrap_or_default();
            let examples: Vec<_> =
                help.lines().filter_map(|line| line.strip_prefix("  collegial ")).collect();
            assert!(!examples.is_empty(), "{} has no example", verb.get_name());
            for example in examples {
                let (words, _) = example.split_once(" > ").unwrap_or((example, ""));
                let words = ["collegial"].into_iter().chain(words.split_whitespace());
                let parsed = crate::program::arguments::command().try_get_matches_from(words);
                assert!(parsed.is_ok(), "{example}: {}", parsed.unwrap_err());
            }
        }
    }
}
