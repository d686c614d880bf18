//! `collegial._collegial`: what the Python package `collegial` is built on. No logic: requests come
//! as JSON and arrays as numpy arrays, [`collegial`] answers, and errors become exceptions in
//! Python's words.

mod answer;
mod backend;
mod interruptible;
mod pool;
mod rendering;
mod runtime;

use std::ffi::OsString;

use answer::Answer;
use backend::BACKENDS;
use collegial::{self as ops, Model, ModelRef};
use collegial_core::tensors::Tensor;
use collegial_report::{Align, Table, fragment};
use interruptible::{Listeners, interruptible};
use numpy::{IntoPyArray, PyArray2, PyArrayDyn, PyArrayMethods, PyReadonlyArrayDyn};
use pool::Threads;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use rendering::exception;
use runtime::RUNTIMES;

pyo3::create_exception!(
    collegial,
    CollegialError,
    PyValueError,
    "Something that can be fixed, in one sentence with the offending value and what would be accepted."
);

/// The functions behind the package `collegial`.
#[pymodule]
mod _collegial {
    #[pymodule_export]
    use super::{
        Answer, CollegialError, ask, draws, forward, main, members_within, ntk, redesigned, shard, stages,
        table, to_toml,
    };

    #[pymodule_export]
    #[allow(non_upper_case_globals)]
    const __version__: &str = env!("CARGO_PKG_VERSION");
}

/// Answers a verb's request.
#[pyfunction]
#[pyo3(signature = (verb, request, threads = None, progress = None, epoch = None))]
fn ask<'py>(
    py: Python<'py>,
    verb: &str,
    request: String,
    threads: Option<Threads>,
    progress: Option<Bound<'py, PyAny>>,
    epoch: Option<Bound<'py, PyAny>>,
) -> PyResult<Answer> {
    let verb = verb.to_owned();
    let work = move |watch: &interruptible::Watch| match verb.as_str() {
        // What is counted or in closed form needs no threads.
        "info" => Answer::boxed(ops::info::run(&ops::request(&request)?, watch)?),
        "models" => Answer::boxed(ops::models::run(ops::request(&request)?)?),
        verb => pool::on_threads(threads, || match verb {
            "moments" => Answer::boxed(ops::moments::run(&ops::request(&request)?, watch)?),
            "fit" => Answer::boxed(ops::fit::run(&ops::request(&request)?, watch)?),
            "regress" => Answer::boxed(ops::ntk::regress::run(&ops::request(&request)?, watch)?),
            "merge" => Answer::boxed(ops::merge::run(&ops::request(&request)?, watch)?),
            "score" => Answer::paged(ops::score::run(&ops::request(&request)?)?),
            "search" => Answer::paged(ops::search::run_with(&ops::request(&request)?, RUNTIMES, watch)?),
            "train" => Answer::boxed(ops::train::run(&ops::request(&request)?, BACKENDS, watch, watch)?),
            "evaluate" => Answer::boxed(ops::evaluate::run(&ops::request(&request)?, watch)?),
            "export" => Answer::boxed(ops::export::run(&ops::request(&request)?, watch)?),
            "sweep" => Answer::paged(ops::sweep::run(&ops::request(&request)?, BACKENDS, watch)?),
            "plan" => Answer::boxed(ops::jobs::plan::run(&ops::request(&request)?, BACKENDS, watch)?),
            "job" => Answer::boxed(ops::jobs::job::run(&ops::request(&request)?, BACKENDS, watch)?),
            "gather" => {
                let request: ops::jobs::gather::Request = ops::request(&request)?;
                let call = format!("collegial.gather({:?})", request.directory);
                Answer::boxed(ops::jobs::gather::run(&request, answer::provenance(&call), watch)?)
            }
            "status" => Answer::boxed(ops::jobs::status::run(&ops::request(&request)?)?),
            "validate" => Answer::paged(ops::validate::run(&ops::request(&request)?, BACKENDS, watch)?),
            "reproduce" => Answer::boxed(ops::reproduce::run(&ops::request(&request)?, BACKENDS, watch)?),
            other => Err(ops::Error::UnknownVerb { verb: other.to_owned() }),
        }),
    };
    interruptible(py, &Listeners { progress, epoch }, work)
}

/// A share of a fit's draws as the text of a file that `merge` reads.
#[pyfunction]
#[pyo3(signature = (request, threads = None))]
fn shard(py: Python<'_>, request: String, threads: Option<Threads>) -> PyResult<String> {
    interruptible(py, &Listeners::default(), move |watch| {
        pool::on_threads(threads, || {
            let draws = ops::fit::draw(&ops::request(&request)?, watch)?;
            if draws.interrupted {
                return Err(ops::Error::Interrupted);
            }
            Ok(String::from_utf8_lossy(&draws.kernels.to_file()?).into_owned())
        })
    })
}

/// The kernel between the given inputs, N x N or its diagonal; `None` where it goes to a file.
#[pyfunction]
#[pyo3(signature = (request, inputs = None, threads = None))]
fn ntk<'py>(
    py: Python<'py>,
    request: String,
    inputs: Option<PyReadonlyArrayDyn<'py, f32>>,
    threads: Option<Threads>,
) -> PyResult<Option<Bound<'py, PyArrayDyn<f64>>>> {
    let array = inputs.map(|inputs| array(&inputs)).transpose()?;
    let found = interruptible(py, &Listeners::default(), move |watch| {
        pool::on_threads(threads, || {
            let request = ops::ntk::Request { array, ..ops::request(&request)? };
            if !request.is_tiled() {
                let rows = ops::ntk::run(&request, watch)?.kernel;
                return Ok(Some((rows.concat(), vec![rows.len(), rows.len()])));
            }
            let answer = ops::ntk::tiled::run(&request, watch)?;
            let values = answer.diagonal.or_else(|| answer.kernel.map(|rows| rows.concat()));
            Ok(values.map(|values| (values, answer.shape)))
        })
    })?;
    found.map(|(values, shape)| values.into_pyarray(py).reshape(shape)).transpose()
}

/// Mean and variance over initialisations of the kernel between the given inputs.
#[pyfunction]
#[pyo3(signature = (request, inputs = None, threads = None, progress = None))]
fn draws<'py>(
    py: Python<'py>,
    request: String,
    inputs: Option<PyReadonlyArrayDyn<'py, f32>>,
    threads: Option<Threads>,
    progress: Option<Bound<'py, PyAny>>,
) -> PyResult<Answer> {
    let array = inputs.map(|inputs| array(&inputs)).transpose()?;
    interruptible(py, &Listeners { progress, epoch: None }, move |watch| {
        pool::on_threads(threads, || {
            let request = ops::ntk::Request { array, ..ops::request(&request)? };
            Answer::boxed(ops::draws::run(&request, watch)?)
        })
    })
}

/// The outputs of a network, inputs x outputs.
#[pyfunction]
#[pyo3(signature = (request, inputs, threads = None))]
#[expect(clippy::needless_pass_by_value, reason = "Python's arrays come as values")]
fn forward<'py>(
    py: Python<'py>,
    request: String,
    inputs: PyReadonlyArrayDyn<'py, f32>,
    threads: Option<Threads>,
) -> PyResult<Bound<'py, PyArray2<f32>>> {
    let array = array(&inputs)?;
    let outputs = interruptible(py, &Listeners::default(), move |watch| {
        pool::on_threads(threads, || ops::forward::run(&ops::request(&request)?, &array, watch))
    })?;
    let shape = [outputs.shape()[0], outputs.shape()[1]];
    outputs.into_values().into_pyarray(py).reshape(shape)
}

/// The numbers of a contiguous array.
fn array(inputs: &PyReadonlyArrayDyn<'_, f32>) -> PyResult<Tensor> {
    let view = inputs.as_array();
    Tensor::new(view.shape(), inputs.as_slice()?.to_vec()).map_err(|error| exception(&error.into()))
}

/// The model of a reference as JSON has it.
fn model_of(model: &str) -> Result<Model, ops::Error> {
    let model: ModelRef = serde_json::from_str(model).map_err(ops::Error::Fields)?;
    Ok(model.into())
}

/// The TOML form of a model.
#[pyfunction]
fn to_toml(model: &str) -> PyResult<String> {
    let spec = model_of(model).and_then(|model| model.spec());
    Ok(spec.map_err(|error| exception(&error))?.to_toml())
}

/// The JSON form of a model with another design.
#[pyfunction]
fn redesigned(model: &str, design: &str) -> PyResult<String> {
    let design = design.parse::<ops::model::Redesign>().map_err(ops::Error::from);
    design
        .and_then(|design| ops::model::redesigned(&model_of(model)?, &design))
        .and_then(|spec| ops::to_json(&spec))
        .map_err(|error| exception(&error))
}

/// Every stage of a network: its blocks, the members m of each, and their widths n into and out of
/// the k x k convolution.
#[pyfunction]
fn stages(model: &str) -> PyResult<Vec<(usize, usize, [usize; 2])>> {
    let blocks = Model::named(model).spec().and_then(|spec| Ok(spec.blocks()?));
    let mut stages: Vec<(usize, usize, [usize; 2])> = vec![];
    for block in blocks.map_err(|error| exception(&error))? {
        let one = &block.bottleneck;
        match stages.get_mut(block.stage) {
            Some(stage) => stage.0 += block.count,
            None => {
                stages.push((block.count, one.members, [one.width, one.second_width.unwrap_or(one.width)]));
            }
        }
    }
    Ok(stages)
}

/// The integer correction: the most members whose cost, a function of their number, is within a
/// budget, or the number nearest to it; 0 where not even one is.
#[pyfunction]
#[expect(clippy::needless_pass_by_value, reason = "Python's objects come as values")]
fn members_within(cost: Bound<'_, PyAny>, budget: f64, rule: &str, most: usize) -> PyResult<usize> {
    let rule: ops::search::Rule = serde_json::from_value(rule.into())
        .map_err(|_| CollegialError::new_err(format!("the rule is {rule:?}; take 'nearest' or 'under'")))?;
    ops::search::members_within(budget, rule, most, |members| cost.call1((members,))?.extract())
}

/// Sentences and a table, as text and as HTML; the first column lines up on the left.
#[pyfunction]
#[expect(clippy::needless_pass_by_value, reason = "Python's lists come as values")]
fn table(sentences: Vec<String>, headings: Vec<String>, rows: Vec<Vec<String>>) -> (String, String) {
    let align = |index: usize| if index == 0 { Align::Left } else { Align::Right };
    let columns: Vec<(&str, Align)> =
        headings.iter().enumerate().map(|(index, name)| (name.as_str(), align(index))).collect();
    let mut table = Table::new(&columns);
    for row in rows {
        table.push_row(row);
    }
    let text = format!("{}\n{}", table.to_text(), sentences.join("\n"));
    (text, fragment(&sentences.join("\n\n"), &table))
}

/// The program; gives its exit code.
#[pyfunction]
#[expect(clippy::needless_pass_by_value, reason = "Python's lists come as values")]
fn main(py: Python<'_>, words: Vec<OsString>) -> u8 {
    py.detach(|| collegial::program::main(&words, BACKENDS, RUNTIMES))
}
