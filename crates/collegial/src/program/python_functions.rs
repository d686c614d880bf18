//! The functions of the Python package, written from the declarations of the verbs' options: their
//! signatures and docstrings. What they do is written by hand in `python/collegial/_calls.py`.

use std::fmt::Write as _;

use clap::Args;
use collegial_report::wrapped;

use super::declared::{Parameter, about, parameters};
use super::output::Files;
use crate::jobs::{gather, job, status};
use crate::options::Options;
use crate::{
    evaluate, export, fit, forward, info, models, moments, ntk, reproduce, score, search, sweep, train,
    validate,
};

/// Columns of a docstring.
const WIDTH: usize = 100;

/// A function of the package.
struct Function {
    name: &'static str,
    result: &'static str,
    about: Vec<String>,
    parameters: Vec<Parameter>,
    /// Those that may be given by position besides those that must be given, in order.
    first: &'static [&'static str],
    /// A parameter and its types, each with the result that it leads to.
    overloads: Option<(&'static str, [(&'static str, &'static str); 2])>,
}

/// A parameter that only Python has: name, type, default and help.
type Own = (&'static str, &'static str, &'static str, &'static str);

const THREADS: Own = (
    "threads",
    "int | None",
    "None",
    "Number of threads; one per core by default. Results of the native engine do not depend on it",
);
const PROGRESS: Own = (
    "progress",
    "Progress",
    "None",
    "True for a bar, or a callable that is given how much is done and of how much",
);
const EXECUTOR: Own = (
    "executor",
    "Executor",
    "None",
    "Who trains: a number of processes, any `concurrent.futures.Executor` whose workers see `out`, or a function that \
     makes one and is called again when it breaks. Each training then has one thread, or `threads`. By default this process",
);
const DRAWING: Own = (
    "executor",
    "Executor",
    "None",
    "Who draws `trials`: a number of processes, any `concurrent.futures.Executor`, or a function that makes one and is \
     called again when it breaks. The result is that of one process to the bit. By default this process",
);
const TILING: Own = (
    "executor",
    "Executor",
    "None",
    "Who computes the tiles of `out`: a number of processes, or any `concurrent.futures.Executor` whose workers see the \
     same files",
);
const ARRAY: Own = (
    "inputs",
    "numpy.ndarray | None",
    "None",
    "N x channels x height x width, or N x anything of that many values",
);
const EPOCH: Own = (
    "on_epoch",
    "Callable[[dict], object] | None",
    "None",
    "Called with the results of every epoch as soon as it is done",
);

/// Every function of the package that asks a verb, by name.
fn functions() -> Vec<Function> {
    let mut all: Vec<_> =
        [of_networks(), of_kernels(), of_designs(), of_jobs()].into_iter().flatten().collect();
    all.sort_unstable_by_key(|function| function.name);
    all
}

/// The settings of a model that these functions leave to its spec.
const SETTINGS: [&str; 4] = ["classes", "inputs", "outputs", "image"];

/// Of networks and their weights.
fn of_networks() -> Vec<Function> {
    vec![
        Function::of::<evaluate::Request>("evaluate", "EvaluateResult")
            .without(&["logits"])
            .with(&[THREADS, PROGRESS]),
        Function::of::<export::Request>("export", "ExportResult").first(&["out"]),
        Function::of::<forward::Request>("forward", "numpy.ndarray")
            .without(&SETTINGS)
            .first(&["weights"])
            .with(&[ARRAY, THREADS])
            .required(&["weights", "inputs"]),
        Function::of::<info::Request>("info", "InfoResult"),
        Function::of::<models::Request>("models", "ModelsResult"),
        Function::of::<train::Request>("train", "TrainResult")
            .with(&[THREADS, PROGRESS, EPOCH])
            .note(
                "Ctrl-C saves a checkpoint and raises KeyboardInterrupt; the same call with `resume=True` goes on. Notes \
                 go to the logger \"collegial\".",
            ),
    ]
}

/// Of kernels and their moments.
fn of_kernels() -> Vec<Function> {
    vec![
        Function::of::<fit::Request>("fit", "FitResult")
            .without(&["shard"])
            .first(&["widths", "trials", "seed"])
            .files(&["figures"])
            .with(&[DRAWING, THREADS, PROGRESS]),
        Function::of::<moments::Request>("moments", "MomentsResult")
            .first(&["model"]),
        Function::of::<ntk::Request>("ntk", "numpy.ndarray | DrawsResult")
            .without(&SETTINGS)
            .without(&["input", "tiles", "regress", "test_count"])
            .with(&[ARRAY, TILING, THREADS, PROGRESS])
            .first(&["inputs", "count", "seed", "weights"])
            .overloads("draws", [("None = None", "numpy.ndarray"), ("int", "DrawsResult")])
            .note(
                "The kernel is returned as an N x N array; with `draws` a `DrawsResult` has its mean and variance, and with \
                 `out` it is a memory map of the file. Give `model` as `Spec(name, classes=...)` where its name leaves \
                 something open.",
            ),
        Function::of::<ntk::Request>("regress", "RegressResult")
            .about("Predict the classes of a data set by kernel ridge regression with the tangent kernel")
            .note("The ridge is chosen by leave-one-out in closed form")
            .explained("data", "Directory of the data set")
            .explained("count", "Training images, the first ones. By default 1000")
            .explained("test_count", "Test images, the first ones. By default `count`, or all that there are")
            .explained(
                "out",
                "A .npy file for the kernel: a row per image, training images first, a column per training image",
            )
            .without(&SETTINGS)
            .without(&["input", "tiles", "regress", "split", "pooled", "draws", "batch", "full", "diagonal"])
            .first(&["count"])
            .required(&["data"])
            .with(&[THREADS, PROGRESS]),
    ]
}

/// Of designs, and of trainings that compare them.
fn of_designs() -> Vec<Function> {
    vec![
        Function::of::<reproduce::Request>("reproduce", "ReproduceResult")
            .without(&["command"])
            .with(&[EXECUTOR, THREADS, PROGRESS]),
        Function::of::<score::Request>("score", "ScoreResult")
            .first(&["target", "group"])
            .files(&["report", "figures"]),
        Function::of::<search::Request>("search", "SearchResult")
            .first(&["alpha", "cost", "variance", "rule"])
            .files(&["report", "figures"])
            .with(&[THREADS, PROGRESS]),
        Function::of::<sweep::Request>("sweep", "SweepResult").with(&[EXECUTOR, THREADS, PROGRESS]),
        Function::of::<validate::Request>("validate", "ValidateResult")
            .files(&["report", "figures"])
            .with(&[EXECUTOR, THREADS, PROGRESS]),
    ]
}

/// Of the jobs of a plan.
fn of_jobs() -> Vec<Function> {
    vec![
        Function::of::<gather::Request>("gather", "GatherResult"),
        Function::of::<job::Request>("job", "Result")
            .about("Run trainings of a plan, one after the other")
            .note(
                "A job that is finished is left alone, and one that was begun continues from its checkpoint",
            )
            .with(&[THREADS]),
        Function::of::<status::Request>("status", "StatusResult"),
    ]
}

impl Function {
    fn of<R: Options + Args>(name: &'static str, result: &'static str) -> Self {
        let (about, parameters) = (about::<R>(), parameters::<R>());
        Self { name, result, about, parameters, first: &[], overloads: None }
    }

    /// Options that Python does not offer here.
    fn without(mut self, names: &[&str]) -> Self {
        self.parameters.retain(|parameter| !names.contains(&parameter.name.as_str()));
        self
    }

    /// Files beside the result.
    fn files(mut self, names: &[&str]) -> Self {
        let files = parameters::<Files>().into_iter();
        self.parameters.extend(files.filter(|file| names.contains(&file.name.as_str())));
        self
    }

    fn with(mut self, own: &[Own]) -> Self {
        self.parameters.extend(own.iter().map(|&(name, kind, default, help)| Parameter {
            name: name.into(),
            kind: kind.into(),
            default: Some(default.into()),
            help: help.into(),
        }));
        self
    }

    fn first(mut self, names: &'static [&'static str]) -> Self {
        self.first = names;
        self
    }

    fn required(mut self, names: &[&str]) -> Self {
        for parameter in &mut self.parameters {
            if names.contains(&parameter.name.as_str()) {
                parameter.default = None;
                // The weights of a forward pass may be None all the same.
                if parameter.name != "weights" {
                    parameter.kind = parameter.kind.trim_end_matches(" | None").to_owned();
                }
            }
        }
        self
    }

    /// The help of a parameter that means something else here.
    fn explained(mut self, name: &str, help: &str) -> Self {
        let parameter = self.parameters.iter_mut().find(|parameter| parameter.name == name);
        help.clone_into(&mut parameter.expect("it is a parameter").help);
        self
    }

    fn overloads(mut self, name: &'static str, types: [(&'static str, &'static str); 2]) -> Self {
        self.overloads = Some((name, types));
        self
    }

    fn about(mut self, text: &str) -> Self {
        self.about = vec![text.to_owned()];
        self
    }

    fn note(mut self, text: &str) -> Self {
        self.about.push(text.to_owned());
        self
    }

    /// By position first: those that must be given, then those of [`Self::first`].
    fn ordered(&self) -> (Vec<&Parameter>, Vec<&Parameter>) {
        let place = |parameter: &&Parameter| self.first.iter().position(|name| *name == parameter.name);
        let (required, optional): (Vec<_>, Vec<_>) =
            self.parameters.iter().partition(|parameter| parameter.default.is_none());
        let (mut first, rest): (Vec<_>, Vec<_>) =
            optional.into_iter().partition(|parameter| place(parameter).is_some());
        first.sort_by_key(place);
        ([required, first].concat(), rest)
    }

    /// `def ...` with an overload's type of one parameter, where there is one.
    fn signature(&self, overload: Option<(&str, &str)>, result: &str) -> String {
        let line = |parameter: &&Parameter| {
            let Parameter { name, kind, default, .. } = parameter;
            if name == "jobs" {
                return format!("    *{name}: {kind},\n");
            }
            match (overload.filter(|(of, _)| of == name), default) {
                (Some((_, kind)), _) => format!("    {name}: {kind},\n"),
                (None, Some(default)) => format!("    {name}: {kind} = {default},\n"),
                (None, None) => format!("    {name}: {kind},\n"),
            }
        };
        let (first, rest) = self.ordered();
        let first: String = first.iter().map(line).collect();
        let star = if rest.is_empty() || first.contains("    *jobs") { "" } else { "    *,\n" };
        let rest: String = rest.iter().map(line).collect();
        let inside = format!("{first}{star}{rest}");
        let inside = match inside.lines().count() {
            0 => inside,
            1 => inside.trim().trim_end_matches(',').to_owned(),
            _ => format!("\n{inside}"),
        };
        format!("def {}({inside}) -> {result}:", self.name)
    }

    fn written(&self) -> String {
        let mut text = String::new();
        if let Some((name, types)) = self.overloads {
            for (kind, result) in types {
                let _ = write!(text, "@overload\n{} ...\n\n\n", self.signature(Some((name, kind)), result));
            }
        }
        let _ = writeln!(text, "{}", self.signature(None, self.result));
        let docstring = self.docstring();
        let end = if docstring.contains('\n') { "\n    " } else { "" };
        let _ = writeln!(text, "    \"\"\"{}{end}\"\"\"", docstring.trim_start());
        let _ = writeln!(text, "    return _calls.{}(locals())", self.name);
        text
    }

    fn docstring(&self) -> String {
        let paragraph = |text: &String| indented(&closed(text), 4, 0);
        let mut text = self.about.iter().map(paragraph).collect::<Vec<_>>().join("\n\n");
        let (first, rest) = self.ordered();
        let all = [first, rest].concat();
        if !all.is_empty() {
            text.push_str("\n\n    Args:");
        }
        for Parameter { name, help, .. } in all {
            let _ = write!(text, "\n{}", indented(&format!("{name}: {}", closed(help)), 8, 4));
        }
        text
    }
}

/// With a full stop.
fn closed(text: &str) -> String {
    if text.ends_with('.') { text.to_owned() } else { format!("{text}.") }
}

/// Lines at an indent, later ones with a hanging one.
fn indented(text: &str, indent: usize, hanging: usize) -> String {
    let lines = wrapped(text, WIDTH - indent, hanging);
    lines.iter().map(|line| format!("{}{line}", " ".repeat(indent))).collect::<Vec<_>>().join("\n")
}

/// The module `collegial._functions` of the Python package.
pub fn python_functions() -> String {
    let functions = functions();
    let mut results: Vec<&str> = functions
        .iter()
        .flat_map(|function| function.result.split(" | "))
        .filter(|result| result.ends_with("Result"))
        .collect();
    results.sort_unstable();
    results.dedup();
    let results: String = results.iter().map(|result| format!("    {result},\n")).collect();
    let mut text = format!(
        "\"\"\"The functions of the package, one per verb.\n\n\
         Made from the declarations of the options in Rust, see CONTRIBUTING.md:\n\
         `UPDATE_REFERENCE=1 cargo test -p collegial --test reference` writes it anew.\n\"\"\"\n\n\
         from __future__ import annotations\n\n\
         from collections.abc import Callable, Iterable\n\
         from typing import TYPE_CHECKING, Literal, overload\n\n\
         from . import _calls\n\
         from ._results import (\n{results})\n\
         from ._types import Executor, Model, Path, Progress\n\n\
         if TYPE_CHECKING:\n    import numpy\n"
    );
    for function in &functions {
        let _ = write!(text, "\n\n{}", function.written());
    }
    text
}
