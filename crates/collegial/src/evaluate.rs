//! `evaluate`: the test error of a checkpoint.

use std::num::NonZeroU16;
use std::path::PathBuf;

use collegial_arch::Overrides;
use collegial_report::{Align, Table};
use collegial_train::data::Dataset;
use collegial_train::export::WeightFile;
use collegial_train::{Data, Error as TrainError, Evaluation, Recipe, evaluate_with, spec_for};
use serde::Serialize;

use crate::array;
use crate::class_list::outputs_of_classes;
use crate::model::{Source, note_doubts};
use crate::options::options;
use crate::style::wrapped;
use crate::{Answer, ContentError, Error, ModelRef, Monitor, Style};

options! {
    /// Test a checkpoint: error, top-5 error, errors per class and the confusion matrix
    ///
    /// CHECKPOINT is a checkpoint of `collegial train`, or a file of `collegial export` (safetensors
    /// or ONNX). Safetensors files of torchvision's and timm's ResNets and ResNeXts are read too;
    /// their tensors tell the design.
    #[command(after_help = "Example:\n  collegial evaluate run --data cifar10")]
    #[serde(deny_unknown_fields)]
    pub struct Request {
        /// A .safetensors or .onnx file, the directory of a checkpoint, or that of a run
        #[arg(value_name = "CHECKPOINT")]
        pub checkpoint: PathBuf,
        /// Directory of the data set
        #[arg(long, value_name = "DIR")]
        pub data: PathBuf,
        /// The network, by name or TOML spec [default: what the file says or its tensors tell]
        #[arg(long, value_name = "MODEL", value_hint = clap::ValueHint::AnyPath)]
        pub model: Option<ModelRef>,
        /// The classes of the network's outputs, one name per line, for a data set that has some of
        /// them
        #[arg(long, value_name = "FILE")]
        pub class_list: Option<PathBuf>,
        /// Images computed at once
        #[arg(long, value_name = "COUNT")]
        pub batch: NonZeroU16 = BATCH,
        /// Whether the network's outputs are kept
        #[arg(skip)]
        pub logits: bool,
    }
}

/// Images computed at once where nothing else is said.
const BATCH: NonZeroU16 = NonZeroU16::new(128).unwrap();

/// The largest confusion matrix that people want to see.
const READABLE: usize = 20;

/// Errors in all and by class.
#[derive(Clone, Debug, Serialize)]
pub struct EvaluateAnswer {
    /// The file that was read.
    pub checkpoint: PathBuf,
    /// The network's name.
    pub model: String,
    /// How many outputs the network has, where only those of the data set's classes were compared.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub outputs: Option<usize>,
    /// Test images.
    pub images: u64,
    /// Mean loss.
    pub loss: f64,
    /// Share of images that are wrong.
    pub test_error: f64,
    /// Share of images whose class is not among the first five guesses.
    pub top5_error: f64,
    /// One entry per class.
    pub classes: Vec<Class>,
    /// True class by row, guess by column.
    pub confusion: Vec<Vec<u64>>,
    /// The network's outputs, images x classes, where requested.
    #[serde(skip)]
    pub logits: Vec<f32>,
}

/// One class.
#[derive(Clone, Debug, Serialize)]
pub struct Class {
    /// Its number.
    pub class: usize,
    /// Its name, where the data set has one.
    pub name: Option<String>,
    /// Its test images.
    pub images: u64,
    /// How many of them are wrong.
    pub errors: u64,
    /// The same as a share; none without images.
    pub error: Option<f64>,
    /// The class it was most often taken for.
    pub mistaken_for: Option<usize>,
}

/// Tests.
///
/// # Errors
///
/// Where weights, network and data do not belong together, or the monitor stopped it.
pub fn run(request: &Request, monitor: &dyn Monitor) -> Result<EvaluateAnswer, Error> {
    let named = request.model.as_ref().map(ModelRef::open).transpose()?.map(Source::into_spec);
    let file = WeightFile::open(&request.checkpoint, named)?;
    note_doubts(&file, monitor);
    let dataset = Dataset::open(&request.data).map_err(TrainError::from)?;
    let (checkpoint, model) = (file.path().to_owned(), file.spec().name());
    let outputs = file.spec().graph()?.output_shape().elements();
    let list = request.class_list.as_deref();
    let chosen = list.map(|path| outputs_of_classes(path, outputs as usize, &dataset)).transpose()?;
    let count = dataset.classes();
    if request.model.is_none() && chosen.is_none() && outputs != count as u128 {
        let reason = ContentError::Outputs { outputs, classes: count };
        return Err(Error::Content { path: checkpoint, reason });
    }
    let mut fitted = spec_for(file.spec(), &Overrides::default(), &dataset)?;
    if chosen.is_some() {
        fitted = fitted.with(&Overrides { classes: Some(outputs as usize), ..Overrides::default() })?;
    }
    let recipe = Recipe::for_dataset(&dataset)?;
    let data = Data::new(dataset, &recipe)?;
    let batch = usize::from(request.batch.get()).min(data.dataset().test().len());
    let loss = file.loss();
    let mut network = file.inference(&fitted, batch)?;
    drop(file);
    let mut loader = data.test_batches(batch).map_err(TrainError::from)?;
    let mut logits = vec![];
    let mut keep = |batch: &[f32]| {
        if request.logits {
            logits.extend_from_slice(batch);
        }
    };
    let stopped = || monitor.stopped();
    let evaluation = evaluate_with(&mut network, loss, &mut loader, chosen.as_deref(), &stopped, &mut keep)?;
    let evaluation = evaluation.ok_or(Error::Interrupted)?;
    Ok(EvaluateAnswer {
        checkpoint,
        model,
        outputs: chosen.is_some().then_some(outputs as usize),
        images: evaluation.images,
        loss: evaluation.loss,
        test_error: evaluation.error(),
        top5_error: evaluation.top5_error(),
        classes: classes(&evaluation, data.dataset()),
        confusion: evaluation.confusion,
        logits,
    })
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

impl EvaluateAnswer {
    /// The outputs, images x classes, as a .npy file.
    ///
    /// # Errors
    ///
    /// If there are not as many for every image.
    pub fn logits_to_npy(&self) -> Result<Vec<u8>, Error> {
        let values: Vec<f64> = self.logits.iter().map(|&logit| f64::from(logit)).collect();
        array::write_rows(self.images as usize, values)
    }

    fn sentence(&self) -> String {
        let errors: u64 = self.classes.iter().map(|class| class.errors).sum();
        let among = self.outputs.map_or(String::new(), |outputs| {
            format!(", among the {} of its {outputs} classes that the data set has", self.classes.len())
        });
        format!(
            "{}: {:.2} % error ({errors} of {} images), {:.2} % top-5 error, loss {:.4}{among}",
            self.model,
            100.0 * self.test_error,
            self.images,
            100.0 * self.top5_error,
            self.loss
        )
    }

    /// The classes that have images; a sample of ImageNet has a few of its thousand.
    fn seen(&self) -> Vec<&Class> {
        self.classes.iter().filter(|class| class.images > 0).collect()
    }

    fn confusion_table(&self) -> Table {
        let numbers: Vec<String> = (0..self.confusion.len()).map(|class| class.to_string()).collect();
        let mut columns = vec![("", Align::Right)];
        columns.extend(numbers.iter().map(|number| (number.as_str(), Align::Right)));
        let mut table = Table::new(&columns);
        for (class, row) in self.confusion.iter().enumerate() {
            table.push_row([class.to_string()].into_iter().chain(row.iter().map(u64::to_string)).collect());
        }
        table
    }
}

impl Answer for EvaluateAnswer {
    /// In one line: a matrix of a thousand classes would take a million.
    fn json(&self) -> Result<String, Error> {
        crate::answer::to_json_line(self)
    }

    fn text(&self, _style: &Style) -> String {
        let matrix = if self.classes.len() <= READABLE {
            format!("\ntrue class by row, guess by column\n{}", self.confusion_table().to_text())
        } else {
            "\nthe confusion matrix is in the JSON form\n".to_owned()
        };
        let seen = self.seen();
        let rest = match self.classes.len() - seen.len() {
            0 => String::new(),
            unseen => format!("{unseen} classes have no test images\n"),
        };
        let sentence = wrapped(&self.sentence()).join("\n");
        format!("{}{rest}{matrix}\n{sentence}\n", class_table(&seen).to_text())
    }

    fn table(&self) -> Table {
        class_table(&self.classes.iter().collect::<Vec<_>>())
    }

    fn summary(&self) -> (Vec<String>, Table) {
        (vec![self.sentence()], class_table(&self.seen()))
    }
}

fn class_table(classes: &[&Class]) -> Table {
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
