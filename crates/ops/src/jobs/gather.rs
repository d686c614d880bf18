//! `gather`: of what a plan's jobs have finished, what one process would have made.

use std::path::PathBuf;

use collegial_report::{Provenance, Table, capitalised};
use collegial_reproduce::write_report;
use collegial_trials::jobs::{Ledger, Plan, Share, Status};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::Task;
use crate::{Answer, Error, Monitor, Style, files, reproduce, sweep, to_json, validate};

/// Which plan.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct Request {
    /// The plan's directory.
    pub directory: PathBuf,
}

/// What there is.
pub struct Gathered {
    /// How far the jobs are.
    pub status: Status,
    /// What the finished ones come to; `None` where some design has no finished training.
    pub answer: Option<Box<dyn Answer>>,
    /// The page to look at first.
    pub page: Option<PathBuf>,
}

/// Reads what is finished, and writes pages, figures and data of it into the plan's directory.
///
/// # Errors
///
/// Where there is no plan, or something cannot be written.
pub fn run(request: &Request, provenance: Provenance, monitor: &dyn Monitor) -> Result<Gathered, Error> {
    let directory = std::path::absolute(&request.directory).map_err(Error::reading(&request.directory))?;
    let plan = Plan::<Task>::read(&directory)?;
    let status = Status::of(&plan.jobs, &directory);
    let ledger = Ledger::default();
    let task = plan.request.clone().settled(&directory)?;
    let note = (!status.is_complete())
        .then(|| format!("of {} trainings {} are finished; ", status.jobs, status.done));
    let found = match task {
        Task::Validate(request) => validated(&request, &ledger, note, provenance, monitor)?,
        Task::Sweep(request) => swept(&request, &ledger, monitor)?,
        Task::Reproduce(request) => reproduced(&request, &ledger, note, monitor)?,
    };
    let (answer, page) = found.map_or((None, None), |(answer, page)| (Some(answer), Some(page)));
    Ok(Gathered { status, answer, page })
}

type Found = Option<(Box<dyn Answer>, PathBuf)>;

fn validated(
    request: &validate::Request,
    ledger: &Ledger,
    note: Option<String>,
    provenance: Provenance,
    monitor: &dyn Monitor,
) -> Result<Found, Error> {
    let mut answer = validate::answer(request, Share::Nothing(ledger), monitor)?;
    if ledger.is_inconclusive() {
        return Ok(None);
    }
    answer.validation.sentence.insert_str(0, &note.unwrap_or_default());
    let page = answer.write(provenance)?;
    Ok(Some((Box::new(answer), page)))
}

fn swept(request: &sweep::Request, ledger: &Ledger, monitor: &dyn Monitor) -> Result<Found, Error> {
    let answer = sweep::answer(request, Share::Nothing(ledger), monitor)?;
    if ledger.is_inconclusive() {
        return Ok(None);
    }
    let path = answer.out.join("sweep.csv");
    files::write(&path, answer.table().to_csv().as_bytes())?;
    files::write(&answer.out.join("sweep.json"), format!("{}\n", answer.json()?).as_bytes())?;
    Ok(Some((Box::new(answer), path)))
}

fn reproduced(
    request: &reproduce::Request,
    ledger: &Ledger,
    note: Option<String>,
    monitor: &dyn Monitor,
) -> Result<Found, Error> {
    let mut reports = vec![];
    let note = note.unwrap_or_default();
    reproduce::compute(
        request,
        Share::Nothing(ledger),
        monitor,
        |_| true,
        |mut report| {
            if !ledger.is_inconclusive() {
                report.outcome.sentence = capitalised(&format!("{note}{}", report.outcome.sentence));
                write_report(&request.out, &report)?;
                reports.push(report);
            }
            Ok(())
        },
    )?;
    if ledger.is_inconclusive() {
        return Ok(None);
    }
    let answer = reproduce::finish(request, reports)?;
    let page = answer.first_page.clone();
    Ok(Some((Box::new(answer), page)))
}

impl Answer for Gathered {
    fn json(&self) -> Result<String, Error> {
        let answer: Value = match &self.answer {
            Some(answer) => serde_json::from_str(&answer.json()?).map_err(Error::Json)?,
            None => Value::Null,
        };
        to_json(&json!({ "complete": self.status.is_complete(), "status": self.status, "answer": answer }))
    }

    fn text(&self, style: &Style) -> String {
        let answer = match &self.answer {
            Some(answer) => answer.text(style),
            None => "Nothing can be said yet: some network has no finished training.\n".to_owned(),
        };
        if self.status.is_complete() {
            return answer;
        }
        format!("{answer}\n{}missing: {}\n", self.status.text(style), ranges(&self.status.missing))
    }

    fn table(&self) -> Table {
        self.answer.as_ref().map_or_else(|| self.status.table(), |answer| answer.table())
    }

    fn summary(&self) -> (Vec<String>, Table) {
        self.answer.as_ref().map_or_else(|| self.status.summary(), |answer| answer.summary())
    }
}

/// "0-3, 7, 9-12".
fn ranges(indices: &[usize]) -> String {
    let mut ranges: Vec<(usize, usize)> = vec![];
    for &index in indices {
        match ranges.last_mut() {
            Some((_, last)) if *last + 1 == index => *last = index,
            _ => ranges.push((index, index)),
        }
    }
    let words = |&(first, last): &(usize, usize)| {
        if first == last { first.to_string() } else { format!("{first}-{last}") }
    };
    ranges.iter().map(words).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn missing_jobs_are_listed_as_ranges() {
        assert_eq!(ranges(&[0, 1, 2, 3, 7, 9, 10]), "0-3, 7, 9-10");
        assert_eq!((ranges(&[]), ranges(&[5])), (String::new(), "5".into()));
    }
}
