//! Networks that others trained: does less kernel variance go with less error in their published
//! tables?
//!
//! Designs are compared only within one recipe and one skeleton (blocks per stage), so that nothing
//! but m and n differs. One table alone is `score`'s.

mod claims;
mod pages;
mod pool;
mod scored;
mod steps;

use serde::Deserialize;
use serde_json::json;

use crate::reproduce::{Context, Error, Experiment, Outcome};
use pool::Pool;
use scored::Scored;
pub use steps::published_steps;

/// What the study's file says.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Study {
    /// The columns whose values together part rows into groups.
    group: Vec<String>,
    /// Of the figure, in order.
    series: Vec<String>,
    tables: Vec<Listed>,
}

/// One published table.
#[derive(Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct Listed {
    file: String,
    title: String,
    /// The column of errors that it is judged by.
    error: String,
    /// Of the figure; a table whose rows cannot be scored has none.
    series: Option<String>,
    source: Source,
    /// What to know of it.
    note: String,
}

/// Whose networks they are.
#[derive(Clone, Copy, Deserialize, PartialEq)]
#[serde(rename_all = "lowercase")]
enum Source {
    /// The claim comes from them: they are shown, and are no part of the test.
    Paper,
    /// They are the test.
    Others,
}

/// What all tables say together.
pub fn run(experiment: &Experiment, context: &Context) -> Result<Outcome, Error> {
    let study: Study = experiment.settings(context.scale)?;
    let seed = context.seed;
    let read = |table: &Listed| Scored::read(table, &experiment.table(&table.file)?, &study.group, seed);
    let all: Vec<Scored> = study.tables.iter().map(read).collect::<Result<_, _>>()?;
    let (compared, not_compared): (Vec<_>, Vec<_>) =
        all.iter().partition(|table| !table.scored.rows.is_empty());
    let others = || compared.iter().filter(|table| table.listed.source == Source::Others);
    let pool = Pool::of(others().map(|table| table.groups()), seed);
    let ordinary = Pool::of(others().map(|table| table.groups_without_outliers()), seed);
    Ok(Outcome {
        sentence: pages::sentence(&pool),
        comparisons: pages::comparisons(&pool),
        figures: vec![pages::figure(&study.series, &compared)],
        sections: vec![
            pages::predictors(&pool),
            pages::together(&pool),
            pages::by_table(&compared, seed),
            pages::sensitivity(&pool, &ordinary, &compared),
            pages::not_compared(&not_compared),
        ],
        data: json!({"others": pool.tests, "without_outliers": ordinary.tests}),
        ..Outcome::default()
    })
}
