//! `collegial evaluate`: the test error of a checkpoint.

use std::path::PathBuf;

use clap::Args;
use collegial_arch::{Overrides, Spec};
use collegial_export::WeightFile;
use collegial_report::{Align, Table};
use collegial_stats::Monitor as _;
use collegial_train::data::{Dataset, npy};
use collegial_train::{Data, Error, Evaluation, Recipe, evaluate_with, spec_for};
use serde::Serialize;

use crate::arguments::{Common, Format};
use crate::failure::Failure;
use crate::output::{print, write_bytes};
use crate::progress::Progress;

/// Test a checkpoint: error, top-5 error, errors per class and the confusion matrix
///
/// Takes checkpoints of `collegial train`, files of `collegial export --to safetensors|onnx`, and safetensors files of torchvision's
/// and timm's ResNets and ResNeXts, whose design is told from their tensors.
#[derive(Args)]
pub struct Evaluate {
    /// A .safetensors or .onnx file, the directory of a checkpoint, or that of a run
    #[arg(value_name = "CHECKPOINT")]
    checkpoint: PathBuf,
    /// Directory of the data set
    #[arg(long, value_name = "DIR")]
    data: PathBuf,
    /// The network, by name or TOML spec [default: what the file says or its tensors tell]
    #[arg(long, value_name = "MODEL")]
    model: Option<String>,
    /// Images computed at once
    #[arg(long, value_name = "COUNT", default_value_t = 128, value_parser = clap::value_parser!(u16).range(1..))]
    batch: u16,
    /// Write the network's outputs, images x classes, to this .npy file
    #[arg(long, value_name = "FILE")]
    logits: Option<PathBuf>,
}

/// The largest confusion matrix that people want to see.
const READABLE: usize = 20;

/// The JSON form; scripts rely on its keys.
#[derive(Serialize)]
struct Document<'a> {
    checkpoint: PathBuf,
    model: String,
    images: u64,
    loss: f64,
    test_error: f64,
    top5_error: f64,
    classes: Vec<Class>,
    confusion: &'a [Vec<u64>],
}

#[derive(Serialize)]
struct Class {
    class: usize,
    name: Option<String>,
    images: u64,
    errors: u64,
    error: Option<f64>,
    /// The class it was most often taken for.
    mistaken_for: Option<usize>,
}

/// Runs the verb.
pub fn run(verb: &Evaluate, common: &Common) -> Result<(), Failure> {
    let named = verb.model.as_deref().map(Spec::load).transpose()?;
    let file = WeightFile::open(&verb.checkpoint, named)?;
    if file.lacks_checksum() {
        common.say(&format!("note: {} carries no checksum: version 0.1.0 wrote it", file.path().display()));
    }
    let dataset = Dataset::open(&verb.data).map_err(Error::from)?;
    let (path, model) = (file.path().to_owned(), file.spec().name());
    let (outputs, count) = (file.spec().graph()?.output_shape().elements(), dataset.classes());
    if verb.model.is_none() && outputs != count as u128 {
        let path = path.display();
        let message = format!("{path} has {outputs} outputs, but the data set has {count} classes");
        return Err(Failure::User(message));
    }
    let fitted = spec_for(file.spec(), &Overrides::default(), &dataset)?;
    let recipe = Recipe::for_dataset(&dataset)?;
    let data = Data::new(dataset, &recipe)?;
    let batch = usize::from(verb.batch).min(data.dataset().test().len());
    let loss = file.loss();
    let mut network = file.inference(&fitted, batch)?;
    drop(file);
    let progress = Progress::new("testing", common);
    let mut loader = data.test_batches(batch).map_err(Error::from)?;
    let mut logits = vec![];
    let mut keep = |batch: &[f32]| {
        if verb.logits.is_some() {
            logits.extend(batch.iter().map(|&logit| f64::from(logit)));
        }
    };
    let evaluation = evaluate_with(&mut network, loss, &mut loader, &|| progress.stopped(), &mut keep)?;
    drop(progress);
    let Some(evaluation) = evaluation else { return Err(Failure::Interrupted) };
    if let Some(path) = &verb.logits {
        let shape = [evaluation.images as usize, evaluation.confusion.len()];
        write_bytes(path, &npy::write(&shape, &logits))?;
    }
    let classes = classes(&evaluation, data.dataset());
    show(&evaluation, classes, (path, model), common)
}

fn classes(evaluation: &Evaluation, dataset: &Dataset) -> Vec<Class> {
    let class = |class: usize| {
        let (images, errors) = evaluation.class(class);
        let others = evaluation.confusion[class].iter().enumerate();
        let worst = others.filter(|&(other, &count)| other != class && count > 0);
        Class {
            class,
            name: dataset.class_name(class).map(ToOwned::to_owned),
            images,
            errors,
            error: (images > 0).then(|| errors as f64 / images as f64),
            // Of equal counts the first.
            mistaken_for: worst.rev().max_by_key(|&(_, count)| *count).map(|(other, _)| other),
        }
    };
    (0..evaluation.confusion.len()).map(class).collect()
}

fn show(
    evaluation: &Evaluation,
    classes: Vec<Class>,
    (checkpoint, model): (PathBuf, String),
    common: &Common,
) -> Result<(), Failure> {
    match common.format() {
        Format::Json => {
            let document = Document {
                checkpoint,
                model,
                images: evaluation.images,
                loss: evaluation.loss,
                test_error: evaluation.error(),
                top5_error: evaluation.top5_error(),
                classes,
                confusion: &evaluation.confusion,
            };
            // In one line: a matrix of a thousand classes would take a million.
            let text = serde_json::to_string(&document)
                .map_err(|error| Failure::User(format!("the result has no JSON form: {error}")))?;
            print(&format!("{text}\n"))
        }
        Format::Csv => print(&class_table(&classes).to_csv()),
        Format::Table => {
            let matrix = if classes.len() <= READABLE {
                format!("\ntrue class by row, guess by column\n{}", confusion_table(evaluation).to_text())
            } else {
                "\nthe confusion matrix is in --json\n".to_owned()
            };
            // A sample of ImageNet has images of a few of its thousand classes.
            let all = classes.len();
            let seen: Vec<Class> = classes.into_iter().filter(|class| class.images > 0).collect();
            let rest = match all - seen.len() {
                0 => String::new(),
                unseen => format!("{unseen} classes have no test images\n"),
            };
            let table = class_table(&seen).to_text();
            print(&format!("{table}{rest}{matrix}\n{}", summary(evaluation, &model)))
        }
    }
}

fn class_table(classes: &[Class]) -> Table {
    let mut table = Table::new(&[
        ("class", Align::Right),
        ("name", Align::Left),
        ("images", Align::Right),
        ("errors", Align::Right),
        ("error", Align::Right),
        ("mistaken for", Align::Right),
    ]);
    for class in classes {
        table.push([
            class.class.to_string(),
            class.name.clone().unwrap_or_default(),
            class.images.to_string(),
            class.errors.to_string(),
            class.error.map(|error| format!("{error:.4}")).unwrap_or_default(),
            class.mistaken_for.map(|other| other.to_string()).unwrap_or_default(),
        ]);
    }
    table
}

fn confusion_table(evaluation: &Evaluation) -> Table {
    let numbers: Vec<String> = (0..evaluation.confusion.len()).map(|class| class.to_string()).collect();
    let mut columns = vec![("", Align::Right)];
    columns.extend(numbers.iter().map(|number| (number.as_str(), Align::Right)));
    let mut table = Table::new(&columns);
    for (class, row) in evaluation.confusion.iter().enumerate() {
        table.push_row([class.to_string()].into_iter().chain(row.iter().map(u64::to_string)).collect());
    }
    table
}

fn summary(evaluation: &Evaluation, model: &str) -> String {
    format!(
        "{model}: {:.2} % error ({} of {} images), {:.2} % top-5, loss {:.4}\n",
        100.0 * evaluation.error(),
        evaluation.errors,
        evaluation.images,
        100.0 * evaluation.top5_error(),
        evaluation.loss
    )
}
