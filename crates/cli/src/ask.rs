//! The verbs without a terminal: the words of a command line in, the result out. This is what the Python wheel calls, so that
//! both have the same options, the same numbers and the same sentences.

use std::path::Path;

use clap::Parser;
pub use collegial_ops::Monitor;
use collegial_ops::array::Array;
use collegial_ops::{self as ops, Answer as Document, Model, Silent, Style, to_json};
use collegial_train::data::npy;

use crate::arguments::{Arguments, Verb};
use crate::failure::{self, Failure};
use crate::verbs;

/// A result in every form.
pub struct Answer {
    /// The document that `--json` prints.
    pub json: String,
    /// What people see on a terminal.
    pub text: String,
    /// The same for a notebook, as a fragment of a page.
    pub html: String,
}

/// Why there is no result.
#[derive(Debug)]
pub enum Refusal {
    /// Something the user can fix, in one sentence.
    Sentence(String),
    /// The monitor said stop.
    Interrupted,
}

impl From<Failure> for Refusal {
    fn from(failure: Failure) -> Self {
        match failure {
            Failure::User(sentence) | Failure::No(sentence) => Self::Sentence(sentence),
            Failure::Interrupted => Self::Interrupted,
            Failure::ReaderLeft => Self::Sentence("the result could not be written".into()),
        }
    }
}

impl From<clap::Error> for Refusal {
    fn from(error: clap::Error) -> Self {
        Self::Sentence(failure::sentence(&error).trim_start_matches("error: ").to_owned())
    }
}

/// Answers `info`, `moments`, `fit` and `search`: `["search", "--alpha=1.6", "resnext29-1x128d"]`.
///
/// # Errors
///
/// The sentence that the program would end with, or that the monitor stopped it.
pub fn ask(words: &[String], monitor: &dyn Monitor) -> Result<Answer, Refusal> {
    let arguments = parse(words)?;
    let common = &arguments.common;
    in_pool(common.threads, || match &arguments.verb {
        Verb::Info(verb) => forms(&ops::info::run(&verb.request())?),
        Verb::Moments(verb) => forms(&ops::moments::run(&verb.request())?),
        Verb::Fit(verb) => forms(&ops::fit::run(&verb.request(common), monitor)?),
        Verb::Search(verb) => {
            let found = ops::search::run(&verb.request(common), monitor)?;
            verbs::search::write_files(verb, &found, common)?;
            forms(&found)
        }
        _ => Err(Failure::User("only info, moments, fit and search are answered here".into())),
    })
}

/// Answers `ntk` with the kernel as a .npy file's content, between the inputs of another one's where it is given.
///
/// # Errors
///
/// The sentence that the program would end with.
pub fn kernel(words: &[String], inputs: Option<&[u8]>) -> Result<Vec<u8>, Refusal> {
    let arguments = parse(words)?;
    let Verb::Ntk(verb) = &arguments.verb else {
        return Err(Refusal::Sentence("only ntk is answered with a kernel".into()));
    };
    in_pool(arguments.common.threads, || {
        let array = inputs.map(array).transpose()?;
        let asked = verb.request(&arguments.common);
        let count = asked.count.filter(|_| array.is_none());
        let request = ops::ntk::Request { array, count, ..asked };
        Ok(ops::ntk::run(&request)?.to_npy())
    })
}

fn array(file: &[u8]) -> Result<Array, Failure> {
    let (shape, values) = npy::read(file).map_err(|mismatch| Failure::User(mismatch.to_string()))?;
    Ok(Array { shape, values })
}

/// The outputs of a network, inputs x outputs, as a .npy file's content, for the inputs of another one's: with the weights of a
/// checkpoint, or with those that training from `seed` starts with. Norms use their running statistics.
///
/// # Errors
///
/// One sentence on what does not fit.
pub fn forward(
    model: &str,
    weights: Option<&Path>,
    inputs: &[u8],
    seed: u64,
    threads: Option<usize>,
) -> Result<Vec<u8>, Refusal> {
    in_pool(threads, || {
        let weights = weights.map(Path::to_owned);
        let request = ops::forward::Request { model: Model::named(model), weights, seed };
        let outputs = ops::forward::run(&request, &array(inputs)?, &Silent)?;
        let values: Vec<f64> = outputs.values.iter().map(|&value| f64::from(value)).collect();
        Ok(npy::write(&outputs.shape, &values))
    })
}

/// The TOML form of a model.
///
/// # Errors
///
/// Where there is no such model.
pub fn to_toml(model: &str) -> Result<String, Refusal> {
    Ok(Model::named(model).spec().map_err(Failure::from)?.to_toml())
}

/// The JSON form of a model with m members of width n, such as `37x10d`, in place of its own.
///
/// # Errors
///
/// Where there is no such model, or it cannot have such a design.
pub fn redesigned(model: &str, design: &str) -> Result<String, Refusal> {
    let spec = ops::model::redesigned(&Model::named(model), design).map_err(Failure::from)?;
    Ok(to_json(&spec).map_err(Failure::from)?)
}

fn parse(words: &[String]) -> Result<Arguments, Refusal> {
    let program = ["collegial"].into_iter();
    let mut arguments = Arguments::try_parse_from(program.chain(words.iter().map(String::as_str)))?;
    arguments.common.quiet = true;
    Ok(arguments)
}

/// Runs on threads that end with the work: a process that forks later finds none of them missing.
fn in_pool<T: Send>(
    threads: Option<usize>,
    work: impl FnOnce() -> Result<T, Failure> + Send,
) -> Result<T, Refusal> {
    let threads = threads.unwrap_or(0);
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
    let pool = pool.map_err(|error| Failure::User(format!("cannot start {threads} threads: {error}")))?;
    Ok(pool.install(work)?)
}

fn forms(document: &dyn Document) -> Result<Answer, Failure> {
    Ok(Answer { json: document.json()?, text: document.text(&Style::default()), html: document.html() })
}
