//! An item's outcome, and the report that is made of it.

use std::time::Instant;

use collegial_report::{Section, Table};
use serde::Serialize;
use serde_json::Value;

use crate::reproduce::{Comparison, Context, Error, Item, Scale, Verdict};

/// What an item found.
#[derive(Debug, Default)]
pub struct Outcome {
    /// One or two sentences: the result, with its numbers.
    pub sentence: String,
    /// Published and obtained.
    pub comparisons: Vec<Comparison>,
    /// The comparisons as the paper lays them out, with captions; where there are none the page
    /// lists the comparisons.
    pub tables: Vec<(Table, String)>,
    /// The figure or figures, first on the page.
    pub figures: Vec<(collegial_report::Figure, String)>,
    /// What else is worth telling, after the comparisons.
    pub sections: Vec<Section>,
    /// Everything obtained, for scripts.
    pub data: Value,
    /// Whether what involves no chance is counts.
    pub counted: bool,
}

/// All of an item's comparisons in a word.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Summary {
    /// Everything was reproduced.
    Reproduced,
    /// All counts were reproduced; what takes training was not run.
    CountsReproduced,
    /// What was decided was reproduced; the rest is undecided, was not run, or needs a larger
    /// scale.
    ReproducedInPart,
    /// Something differs.
    Differs,
    /// Claims that the paper does not make, and all came out.
    Holds,
    /// Some of them did.
    HoldsInPart,
    /// None did.
    Fails,
    /// Nothing could be decided.
    Undecided,
    /// This scale cannot tell.
    NotAtThisScale,
    /// Nothing was run.
    NotRun,
}

impl Summary {
    fn of(Outcome { comparisons, counted, .. }: &Outcome) -> Self {
        let counts_alone = |row: &Comparison| match row.verdict {
            Verdict::Reproduced => row.exact,
            Verdict::NotRun(_) | Verdict::NotAtThisScale(_) => !row.exact,
            _ => false,
        };
        let any = |name: &str| comparisons.iter().any(|comparison| comparison.verdict.name() == name);
        let rest = any("undecided") || any("not at this scale") || any("not run");
        match (any("differs"), any("reproduced"), rest) {
            (true, _, _) => Self::Differs,
            (_, true, true) if *counted && comparisons.iter().all(counts_alone) => Self::CountsReproduced,
            (_, true, true) => Self::ReproducedInPart,
            (_, true, false) => Self::Reproduced,
            _ if any("holds") && (rest || any("does not hold")) => Self::HoldsInPart,
            _ if any("holds") => Self::Holds,
            _ if any("does not hold") => Self::Fails,
            _ if any("undecided") => Self::Undecided,
            _ if any("not at this scale") => Self::NotAtThisScale,
            _ => Self::NotRun,
        }
    }

    /// In words.
    pub fn words(self) -> &'static str {
        match self {
            Self::Reproduced => "reproduced",
            Self::CountsReproduced => "counts reproduced",
            Self::ReproducedInPart => "reproduced in part",
            Self::Differs => "differs",
            Self::Holds => "holds",
            Self::HoldsInPart => "holds in part",
            Self::Fails => "does not hold",
            Self::Undecided => "undecided",
            Self::NotAtThisScale => "not at this scale",
            Self::NotRun => "not run",
        }
    }
}

/// An outcome with all that it takes to get it again.
#[derive(Debug)]
pub struct Report {
    /// The item's name.
    pub item: &'static str,
    /// Its title.
    pub title: String,
    /// What it is about.
    pub about: String,
    /// What is smaller than in the paper.
    pub reduced: Option<String>,
    /// How much was computed.
    pub scale: Scale,
    /// From which seed.
    pub seed: u64,
    /// The command that does it again.
    pub command: String,
    /// How long this run took; finished results cost nothing.
    pub seconds: f64,
    /// All comparisons in a word.
    pub summary: Summary,
    /// What was found.
    pub outcome: Outcome,
}

/// Runs an item.
///
/// # Errors
///
/// Whatever keeps it from an outcome.
pub fn reproduce(item: &Item, context: &Context) -> Result<Report, Error> {
    let start = Instant::now();
    let experiment = item.experiment(context)?;
    let outcome = item.run(&experiment, context)?;
    Ok(Report {
        item: item.name(),
        title: experiment.title().to_owned(),
        about: experiment.about().to_owned(),
        reduced: experiment.reduced(context.scale).map(str::to_owned),
        scale: context.scale,
        seed: context.seed,
        command: context.command.to_owned(),
        seconds: start.elapsed().as_secs_f64(),
        summary: Summary::of(&outcome),
        outcome,
    })
}

/// The JSON form of a report; scripts rely on its keys.
#[derive(Serialize)]
struct Document<'a> {
    item: &'a str,
    title: &'a str,
    scale: &'a str,
    seed: u64,
    verdict: Summary,
    sentence: &'a str,
    reduced: Option<&'a str>,
    comparisons: &'a [Comparison],
    data: &'a Value,
    command: &'a str,
    seconds: f64,
}

impl Report {
    /// Whether a deterministic value differs without a known reason: the
    /// exit code is then 1.
    pub fn fails(&self) -> bool {
        self.outcome.comparisons.iter().any(Comparison::fails)
    }

    /// What differs.
    pub fn differs(&self) -> impl Iterator<Item = &Comparison> {
        self.outcome.comparisons.iter().filter(|row| matches!(row.verdict, Verdict::Differs(_)))
    }

    /// The JSON form.
    pub fn to_json(&self) -> Value {
        let document = Document {
            item: self.item,
            title: &self.title,
            scale: self.scale.name(),
            seed: self.seed,
            verdict: self.summary,
            sentence: &self.outcome.sentence,
            reduced: self.reduced.as_deref(),
            comparisons: &self.outcome.comparisons,
            data: &self.outcome.data,
            command: &self.command,
            seconds: self.seconds,
        };
        serde_json::to_value(document).unwrap_or_default()
    }
}
