//! Epochs and runs in lines, all of it as an answer.

use std::borrow::Cow;

use collegial_report::{Align, Axis, Figure, Line, Table};
use serde::Serialize;

use super::{RunEpoch, Summary, TrainAnswer};
use crate::answer::to_json_line;
use crate::style::{counted, wrapped};
use crate::{Answer, Error, Style};

/// One line of JSON.
///
/// # Errors
///
/// Where a number has no JSON form.
pub fn json_line(value: &impl Serialize) -> Result<String, Error> {
    Ok(to_json_line(value)? + "\n")
}

impl RunEpoch {
    /// The heading of [`RunEpoch::csv`].
    pub const CSV_HEADING: &str = "epoch,loss,train_error,test_error,seconds,test_loss,top5_error,learning_rate,images_per_second,waited,seed\n";

    /// The heading of [`RunEpoch::text`].
    pub const TEXT_HEADING: &str =
        "epoch     loss  train error  test error  top-5 error     rate  images/s  seconds\n";

    /// A line of comma-separated values.
    pub fn csv(&self) -> String {
        let (epoch, seed) = (&self.epoch, self.seed);
        let values = [epoch.loss, epoch.train_error, epoch.test_error, epoch.seconds, epoch.test_loss];
        let rest = [epoch.top5_error, epoch.learning_rate, epoch.images_per_second, epoch.waited];
        let values: Vec<String> = values.iter().chain(&rest).map(ToString::to_string).collect();
        format!("{},{},{seed}\n", epoch.epoch, values.join(","))
    }

    /// A line for people.
    pub fn text(&self) -> String {
        let epoch = &self.epoch;
        format!(
            "{:>5}  {:>7.4}  {:>9.2} %  {:>8.2} %  {:>9.1} %  {:>7.2e}  {:>8.0}  {:>7.1}\n",
            epoch.epoch,
            epoch.loss,
            100.0 * epoch.train_error,
            100.0 * epoch.test_error,
            100.0 * epoch.top5_error,
            epoch.learning_rate,
            epoch.images_per_second,
            epoch.seconds,
        )
    }
}

impl Summary {
    /// Mean and standard error over runs.
    pub(super) fn of(errors: &[f64], checkpoints: Vec<std::path::PathBuf>) -> Self {
        Self {
            checkpoint: checkpoints.last().cloned(),
            checkpoints,
            runs: errors.len(),
            test_error: collegial_experiments::mean(errors.iter().copied()),
            standard_error: collegial_experiments::standard_error(errors),
            test_errors: errors.to_vec(),
        }
    }

    /// The same in words.
    pub fn sentence(&self) -> String {
        format!(
            "test error over {}, each the mean over the last tenth of its epochs: {:.2} % +- {} (standard error)",
            counted(self.runs as u64, "run"),
            100.0 * self.test_error,
            self.standard_error.map_or("n/a".into(), |error| format!("{:.2}", 100.0 * error))
        )
    }
}

impl TrainAnswer {
    fn sentences(&self) -> Vec<String> {
        let mut sentences: Vec<String> =
            self.runs.iter().map(|run| format!("checkpoint: {}", run.checkpoint.display())).collect();
        sentences.extend(self.summary.as_ref().map(Summary::sentence));
        sentences
    }
}

impl Answer for TrainAnswer {
    fn text(&self, _style: &Style) -> String {
        let lines: String = self.epochs.iter().map(RunEpoch::text).collect();
        let sentences: Vec<String> = self.sentences().iter().flat_map(|sentence| wrapped(sentence)).collect();
        format!("{}{lines}{}\n", RunEpoch::TEXT_HEADING, sentences.join("\n"))
    }

    fn table(&self) -> Table {
        let headings: Vec<(&str, Align)> =
            RunEpoch::CSV_HEADING.trim_end().split(',').map(|name| (name, Align::Right)).collect();
        let mut table = Table::new(&headings);
        for epoch in &self.epochs {
            table.push_row(epoch.csv().trim_end().split(',').map(ToOwned::to_owned).collect());
        }
        table
    }

    fn summary(&self) -> (Vec<String>, Table) {
        (self.sentences(), self.table())
    }

    fn figures(&self) -> Vec<(Cow<'static, str>, Figure)> {
        let curve = |get: fn(&RunEpoch) -> f64| {
            let points =
                self.epochs.iter().map(move |epoch| (f64::from(epoch.epoch.epoch), 100.0 * get(epoch)));
            points.collect::<Vec<_>>()
        };
        let figure = Figure::new(format!("Training {}", self.model))
            .x(Axis::linear("epoch"))
            .y(Axis::linear("error, %"))
            .with(Line::new("test", curve(|epoch| epoch.epoch.test_error)))
            .with(Line::new("training", curve(|epoch| epoch.epoch.train_error)));
        vec![("training.svg".into(), figure)]
    }
}
