//! `score`: a table of designs with their scores, and how they rank a column of errors.

mod show;

use std::borrow::Cow;
use std::path::PathBuf;

use collegial_experiments::score::{NotCompared, Question, ScoredTable, Table as Designs};
use collegial_nn::Parametrisation;
use collegial_report::{Figure, Page, Provenance, Table};
use serde::Serialize;

use crate::message::{invalid, option_with};
use crate::options::options;
use crate::style::wrapped;
use crate::{Answer, Error, ModelRef, Paged, Style};

/// So many rows that are not scored are listed on a terminal.
const SHOWN: usize = 20;

options! {
    /// Score a table of designs, and say how the scores rank a column of errors
    ///
    /// TABLE is a CSV file with one network per row, in one of three forms. A column `model` holds
    /// what MODEL is elsewhere: a name, a spec, a run, a checkpoint, a safetensors or ONNX file.
    /// Columns `depth`, `m`, `n` describe a ResNeXt. Columns `blocks`, `outputs`, `m`, `n` have one
    /// number per stage, joined by hyphens, with `stem` (small, imagenet, c, d or simple), `classes`
    /// and `image` if wanted.
    ///
    /// TABLE may also be a JSON file of sampled models of "On Network Design Spaces"; `_in` in its
    /// name means ImageNet. A row whose column `left_out` gives a reason is listed, not scored.
    ///
    /// Every row gets its exact score: the mean kernel variance of its blocks at initialisation, with
    /// the inputs that blocks see and with white ones. It also gets the paper's law, parameters,
    /// FLOPs and inner width m n. With --target their rank correlations with that column follow,
    /// within the groups of --group, with bootstrap intervals, and partial ones given parameters and
    /// FLOPs.
    #[command(after_help = "Example:\n  collegial score designs.csv --target top1_error --group recipe")]
    #[serde(deny_unknown_fields)]
    pub struct Request {
        /// A CSV file with one design per row, or a JSON file of sampled models
        #[arg(value_name = "TABLE")]
        pub table: PathBuf,
        /// A column of errors to correlate with; may be given several times
        #[arg(long, value_name = "COLUMN")]
        pub target: Vec<String>,
        /// A column whose values part the rows into groups, such as a training recipe; may be given
        /// several times
        #[arg(long, value_name = "COLUMN")]
        pub group: Vec<String>,
        /// By which weights gradients are taken: with standard, those that people train with, a layer
        /// counts in proportion to the inverse variance of its initial weights
        #[arg(long, value_enum)]
        pub parametrisation: Parametrisation = Parametrisation::Ntk,
        /// Seed of the bootstrap
        #[arg(skip)]
        pub seed: u64,
    }
}

/// The table with all that was computed of it.
#[derive(Clone, Debug, Serialize)]
pub struct ScoreAnswer {
    /// By which weights gradients are taken.
    parametrisation: Parametrisation,
    #[serde(flatten)]
    table: ScoredTable,
    #[serde(skip)]
    name: String,
    #[serde(skip)]
    question: Question,
}

/// Scores every row.
///
/// # Errors
///
/// If the table cannot be read, has not the columns that were named, or no row of it can be scored.
pub fn run(request: &Request) -> Result<ScoreAnswer, Error> {
    let table = Designs::open(&request.table)?;
    let question =
        Question { targets: request.target.clone(), group: request.group.clone(), seed: request.seed };
    let name = request.table.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned());
    let resolve = |model: &str| {
        let model: ModelRef = model.parse().map_err(Error::from)?;
        Ok(model.open()?.into_spec())
    };
    let table = ScoredTable::parametrised(&table, &question, &resolve, request.parametrisation)?;
    match (table.rows.is_empty(), table.refused.first()) {
        (true, None) => Err(invalid![format!("{} has no row to score.", request.table.display())].into()),
        (true, Some(row)) => {
            let all = table.refused.len();
            let what = format!("{} has no row that can be scored", request.table.display());
            Err(invalid![format!("{what} (of {all}); row {}: {}", row.row, row.reason)].into())
        }
        (false, _) => {
            check_errors(&table, request)?;
            Ok(ScoreAnswer { parametrisation: request.parametrisation, table, name, question })
        }
    }
}

/// A target without a single error is a mistake.
fn check_errors(table: &ScoredTable, request: &Request) -> Result<(), Error> {
    for target in &request.target {
        let without = |left: &&NotCompared| left.row.is_some() && left.target == *target;
        let left: Vec<&NotCompared> = table.not_compared.iter().filter(without).collect();
        if let [first, ..] = left[..]
            && left.len() == table.rows.len()
        {
            let (file, rows) = (request.table.display(), table.rows.len());
            let (row, reason) = (first.row.unwrap_or_default(), &first.reason);
            return Err(invalid![
                format!("no row of {file} that is scored ({rows}) has an error in the column of "),
                option_with("target", target),
                format!("; row {row}: {reason}")
            ]
            .into());
        }
    }
    Ok(())
}

impl ScoreAnswer {
    /// The rows and their scores.
    pub fn rows(&self) -> &ScoredTable {
        &self.table
    }

    fn sentences(&self) -> Vec<String> {
        let (rows, refused) = (self.table.rows.len(), self.table.refused.len());
        let mut sentences = vec![format!(
            "The score is the mean over a network's blocks of the exact kernel variance at initialisation. Designs scored: {rows}."
        )];
        if self.parametrisation == Parametrisation::Standard {
            sentences.push(
                "Variances are those of the standard parametrisation: a layer counts in proportion to the \
                 inverse variance of its initial weights."
                    .into(),
            );
        }
        if refused > 0 {
            sentences.push(format!("Not scored: {refused}, listed with the reason."));
        }
        let (rows, groups): (Vec<_>, Vec<_>) =
            self.table.not_compared.iter().partition(|left| left.row.is_some());
        if !rows.is_empty() {
            sentences.push(format!("Without an error to compare with: {}, listed below.", rows.len()));
        }
        if !groups.is_empty() {
            sentences.push(format!("Groups too small to correlate: {}, listed below.", groups.len()));
        }
        sentences
    }
}

impl Answer for ScoreAnswer {
    fn text(&self, _style: &Style) -> String {
        let lines = |sentence: &String| wrapped(sentence).join("\n") + "\n";
        let mut text: String = self.sentences().iter().map(lines).collect();
        text.push('\n');
        if self.table.correlations.is_empty() {
            text.push_str(&show::computed_first(&self.table, usize::MAX).to_text());
        } else {
            text.push_str(&show::by_group(&self.table));
            text.push_str(&lines(
                &"A positive rank correlation means that the predictor is right: errors grow with variances and fall with \
                  sizes. n/a: too few designs for an interval, or all resamples alike."
                    .into(),
            ));
        }
        let refused = self.table.refused.iter().map(|row| format!("row {}: {}", row.row, row.reason));
        let left = self.table.not_compared.iter().map(show::not_compared);
        let reasons: Vec<String> = refused.chain(left).collect();
        for reason in reasons.iter().take(SHOWN) {
            text.push_str(&lines(reason));
        }
        if let Some(more) = reasons.len().checked_sub(SHOWN + 1) {
            text.push_str(&format!("and {} more such lines, which the JSON form has\n", more + 1));
        }
        text
    }

    fn table(&self) -> Table {
        show::rows(&self.table)
    }

    fn summary(&self) -> (Vec<String>, Table) {
        let table = match self.table.correlations.as_slice() {
            [] => self.table(),
            correlations => show::correlations(correlations),
        };
        (self.sentences(), table)
    }

    fn figures(&self) -> Vec<(Cow<'static, str>, Figure)> {
        let groups = self.table.groups(&self.question);
        if groups.is_empty() {
            return vec![];
        }
        let all = [("score.svg".into(), show::all_groups(&groups))];
        all.into_iter().chain(show::each_group(&groups)).collect()
    }
}

impl Paged for ScoreAnswer {
    fn page(&self, provenance: Provenance) -> Result<Page, Error> {
        Ok(show::page(self, provenance))
    }
}
