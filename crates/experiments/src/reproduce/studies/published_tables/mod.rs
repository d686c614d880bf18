//! Networks that others trained: does less kernel variance go with less error in their published
//! tables?
//!
//! One item per table ([`run`]), and one over all of them ([`summary`]). A table's file is in
//! `evidence/`, with its sources in `evidence/README.md`. Designs are compared only within one
//! recipe and one skeleton (blocks per stage), so that nothing but m and n differs.

mod body;
mod claims;
mod show;
mod summary;

use serde::Deserialize;
use serde_json::json;

use crate::reproduce::{Context, Error, Experiment, Outcome, item};
use body::Body;
pub use summary::run as summary;

/// One published table.
struct Table {
    /// The item's name.
    name: &'static str,
    csv: &'static str,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Settings {
    /// Columns of errors; the first is the one that verdicts are about.
    targets: Vec<String>,
}

macro_rules! tables {
    ($($name:literal: $file:literal;)+) => {
        /// The tables, the paper's own first.
        const TABLES: &[Table] = &[$(Table {
            name: concat!("evidence-", $name),
            csv: include_str!(concat!("../../../../evidence/", $file, ".csv")),
        }),+];
    };
}

tables! {
    "paper": "collegial-cifar";
    "resnext": "resnext-imagenet-2017";
    "cifar-zoo": "resnext-cifar-zoo";
    "cifar-readmes": "resnext-cifar-readmes";
    "wrn": "wrn-grouped-cifar10";
    "timm": "timm-imagenet-groups";
    "imgclsmob": "imgclsmob-imagenet";
    "paddleclas": "paddleclas-imagenet";
    "mmpretrain": "mmpretrain-imagenet";
    "pycls": "regnet-pycls";
    "resnest": "resnest-fast-ablation";
    "deep-roots": "deep-roots-filter-groups";
}

/// Published tables none of whose rows has a grouped bottleneck: kept, and listed with the reason.
const NOT_COMPARED: [(&str, &str); 2] = [
    ("ShuffleNet at equal cost", include_str!("../../../../evidence/shufflenet-groups.csv")),
    ("Interleaved group convolutions", include_str!("../../../../evidence/igc-imagenet.csv")),
];

impl Table {
    fn body(&self, seed: u64) -> Result<Body, Error> {
        let experiment = item(self.name)?.experiment()?;
        let settings: Settings = experiment.settings(crate::reproduce::Scale::Paper)?;
        Body::read(self.name, experiment.title(), self.csv, settings.targets, seed)
    }
}

/// What one table says.
pub fn run(experiment: &Experiment, context: &Context) -> Result<Outcome, Error> {
    let unknown = || Error::unknown_item(experiment.name());
    let table = TABLES.iter().find(|table| table.name == experiment.name()).ok_or_else(unknown)?;
    let body = table.body(context.seed)?;
    let groups = body.groups(body.primary());
    let tests = claims::tests(&groups, context.seed);
    Ok(Outcome {
        sentence: show::sentence(&body, &tests),
        comparisons: claims::comparisons(&tests),
        figures: show::figures(&groups),
        sections: show::sections(&body, context.seed),
        data: json!({"table": body.scored, "tests": tests}),
        ..Outcome::default()
    })
}
