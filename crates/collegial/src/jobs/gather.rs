//! `gather`: of what a plan's jobs have finished, what one process would have made.

use std::path::{Path, PathBuf};

use collegial_experiments::jobs::{Job, Ledger, Plan, Share, Status};
use collegial_experiments::reproduce::write_report;
use collegial_report::{Page, Provenance, Section, Table, capitalised};
use collegial_train::Backends;
use serde_json::{Value, json};

use super::Task;
use super::status::section;
use crate::options::options;
use crate::{Answer, Document, Error, Monitor, Paged, Style, files, reproduce, sweep, to_json, validate};

options! {
    /// Make pages and tables of what the jobs of a plan have finished
    ///
    /// With every job finished, the results are those of one process, to the last bit. Before that,
    /// as many repetitions count as all designs have, pages say so, and what is missing is listed.
    ///
    /// Exit 1: jobs are missing.
    #[command(after_help = "Example:\n  collegial gather plan")]
    #[serde(deny_unknown_fields)]
    pub struct Request {
        /// The plan's directory
        #[arg(value_name = "DIR")]
        pub directory: PathBuf,
    }
}

/// What there is.
pub struct GatherAnswer {
    /// How far the jobs are.
    pub status: Status,
    /// What the finished ones come to; `None` where some design has no finished training.
    pub answer: Option<Box<dyn Answer>>,
    /// The page to look at first: of the results, or of the jobs alone where nothing can be said yet.
    pub page: PathBuf,
}

/// Reads what is finished, and writes pages, figures and data of it into the plan's directory.
///
/// # Errors
///
/// Where there is no plan, or something cannot be written.
pub fn run(request: &Request, provenance: Provenance, monitor: &dyn Monitor) -> Result<GatherAnswer, Error> {
    let directory = std::path::absolute(&request.directory).map_err(Error::reading(&request.directory))?;
    let plan = Plan::<Task>::read(&directory)?;
    let work = Work { jobs: &plan.jobs, directory: &directory, ledger: Ledger::default() };
    let found = match plan.request.clone().settled(&directory)? {
        Task::Validate(request) => validated(&request, &work, provenance.clone(), monitor)?,
        Task::Sweep(request) => swept(&request, &work, provenance.clone(), monitor)?,
        Task::Reproduce(request) => reproduced(&request, &work, monitor)?,
    };
    let status = work.status()?;
    let page = directory.join("jobs.html");
    let (answer, page) = match found {
        Some((answer, page)) => (Some(answer), page),
        None => {
            let jobs = Page::new("Jobs").verdict(NOTHING).section(section(&status)).provenance(provenance);
            files::write_own(&page, jobs.to_html().as_bytes())?;
            (None, page)
        }
    };
    Ok(GatherAnswer { status, answer, page })
}

/// Of a plan that is not done.
const NOTHING: &str = "Nothing can be said yet: some network has no finished training.";

/// A plan's jobs, and the trainings that its request came across.
struct Work<'a> {
    jobs: &'a [Job],
    directory: &'a Path,
    ledger: Ledger,
}

impl Work<'_> {
    /// How far the jobs are; asked once the request was answered. A training that the answer does not
    /// use is not done, whatever its file says, and one that the plan does not list is an error.
    fn status(&self) -> Result<Status, Error> {
        self.ledger.check_listed(self.jobs)?;
        Ok(Status::of(self.jobs, self.directory, Some(&self.ledger)))
    }

    fn unfinished(&self) -> Result<Unfinished, Error> {
        Ok(Unfinished::of(&self.status()?))
    }
}

/// What pages say where jobs are missing; nothing where none is.
struct Unfinished {
    note: String,
    section: Option<Section>,
}

impl Unfinished {
    fn of(status: &Status) -> Self {
        if status.is_complete() {
            return Self { note: String::new(), section: None };
        }
        let note = format!("of {} trainings {} are finished; ", status.jobs, status.done);
        Self { note, section: Some(section(status)) }
    }

    /// A page with what is missing at its end.
    fn on(&self, page: Page) -> Page {
        match &self.section {
            Some(section) => page.section(section.clone()),
            None => page,
        }
    }
}

/// What the finished trainings come to, and its page.
type Outcome = Option<(Box<dyn Answer>, PathBuf)>;

fn validated(
    request: &validate::Request,
    work: &Work,
    provenance: Provenance,
    monitor: &dyn Monitor,
) -> Result<Outcome, Error> {
    let mut answer = validate::answer(request, Share::Nothing(&work.ledger), Backends::NATIVE, monitor)?;
    if work.ledger.is_inconclusive() {
        return Ok(None);
    }
    let unfinished = work.unfinished()?;
    answer.validation.sentence.insert_str(0, &unfinished.note);
    let path = answer.write(provenance.clone())?;
    if unfinished.section.is_some() {
        let page = unfinished.on(answer.page(provenance)?);
        files::write_own(&path, page.to_html().as_bytes())?;
    }
    Ok(Some((Box::new(answer), path)))
}

fn swept(
    request: &sweep::Request,
    work: &Work,
    provenance: Provenance,
    monitor: &dyn Monitor,
) -> Result<Outcome, Error> {
    let answer = sweep::answer(request, Share::Nothing(&work.ledger), Backends::NATIVE, monitor)?;
    if work.ledger.is_inconclusive() {
        return Ok(None);
    }
    let unfinished = work.unfinished()?;
    files::write_own(&answer.out.join("sweep.csv"), answer.table().to_csv().as_bytes())?;
    files::write_own(&answer.out.join("sweep.json"), format!("{}\n", answer.json()?).as_bytes())?;
    let path = answer.out.join("sweep.html");
    let page = unfinished.on(answer.page(provenance)?);
    files::write_own(&path, page.to_html().as_bytes())?;
    Ok(Some((Box::new(answer), path)))
}

fn reproduced(request: &reproduce::Request, work: &Work, monitor: &dyn Monitor) -> Result<Outcome, Error> {
    let mut reports = vec![];
    let take = |report| {
        reports.push(report);
        Ok(())
    };
    let left_out =
        reproduce::compute(request, Share::Nothing(&work.ledger), Backends::NATIVE, monitor, |_| true, take)?;
    if work.ledger.is_inconclusive() {
        return Ok(None);
    }
    let unfinished = work.unfinished()?;
    for report in &mut reports {
        let sentence = format!("{}{}", unfinished.note, report.outcome.sentence);
        report.outcome.sentence = capitalised(&sentence);
        report.outcome.sections.extend(unfinished.section.clone());
        write_report(request.directory(), report)?;
    }
    let answer = reproduce::finish(request, reports, left_out)?;
    let page = answer.first_page.clone();
    Ok(Some((Box::new(answer), page)))
}

impl Document for GatherAnswer {
    fn document(&self) -> Result<String, Error> {
        let answer: Value = match &self.answer {
            Some(answer) => serde_json::from_str(&answer.json()?).map_err(Error::Json)?,
            None => Value::Null,
        };
        to_json(&json!({ "complete": self.status.is_complete(), "status": self.status, "answer": answer }))
    }
}

impl Answer for GatherAnswer {
    fn text(&self, style: &Style) -> String {
        let answer = match &self.answer {
            Some(answer) => answer.text(style),
            None => format!("{NOTHING}\n"),
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
pub(super) fn ranges(indices: &[usize]) -> String {
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
