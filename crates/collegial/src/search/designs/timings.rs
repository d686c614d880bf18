//! Time as the cost: measured here, or read from a file.

use collegial_arch::{Design, Spec};
use collegial_experiments::score::Table as Csv;
use collegial_report::{Align, Table};
use collegial_search::{DesignSearch, Timings, timing};

use super::super::Request;
use super::Designs;
use crate::message::invalid;
use crate::runtime::Runtimes;
use crate::{Error, Monitor};

/// Where times come from.
#[derive(Clone, Copy, Debug)]
pub(in crate::search) enum Times<'a> {
    /// The request's file, or else these runtimes.
    Found(Runtimes),
    /// The content of such a file.
    Given(&'a str),
}

/// The search with the times that were given, or else measured now.
pub(super) fn timed(
    request: &Request,
    baseline: &Spec,
    search: DesignSearch,
    times: Times,
    monitor: &dyn Monitor,
) -> Result<DesignSearch, Error> {
    let timings = match (times, &request.timings) {
        (Times::Given(text), _) => read(&Csv::from_csv(text.as_bytes())?, baseline)?,
        (Times::Found(_), Some(path)) => read(&Csv::open(path)?, baseline)?,
        (Times::Found(runtimes), None) => {
            timing::measure(&search, runtimes.loader(request)?.as_ref(), monitor)?
        }
    };
    Ok(search.timings(timings))
}

/// Rows of `model` and `seconds`: a model is the baseline, the baseline with another design, or a
/// design alone.
fn read(table: &Csv, baseline: &Spec) -> Result<Timings, Error> {
    table.require("model")?;
    table.require("seconds")?;
    let (mut own, mut designs) = (None, vec![]);
    for row in 0..table.len() {
        let (model, seconds) =
            (table.get(row, "model").unwrap_or(""), table.get(row, "seconds").unwrap_or(""));
        let seconds: f64 = seconds.parse().map_err(|_| {
            invalid![format!(
                "row {} of the timings has {seconds:?} for seconds; it must be a number",
                row + 1
            )]
        })?;
        match design(model, baseline) {
            Some(Named::Baseline) => own = Some(seconds),
            Some(Named::Design(design)) => designs.push((design, seconds)),
            None => {
                let (model, baseline) = (model.to_owned(), baseline.name());
                return Err(invalid![format!(
                    "row {} of the timings is {model:?}, which is not {baseline} with another design",
                    row + 1
                )]
                .into());
            }
        }
    }
    let own = own.ok_or_else(|| {
        invalid![format!("the timings lack the baseline; add a row with the time of {}", baseline.name())]
    })?;
    Ok(Timings::given(own, &designs)?)
}

enum Named {
    Baseline,
    Design(Design),
}

fn design(model: &str, baseline: &Spec) -> Option<Named> {
    let name = baseline.name();
    if model == name {
        return Some(Named::Baseline);
    }
    let family = name.rsplit_once('-').map_or(name.as_str(), |(family, _)| family);
    let text = model.strip_prefix(family).and_then(|rest| rest.strip_prefix('-')).unwrap_or(model);
    let design: Design = text.parse().ok()?;
    let same = baseline.with_design(design).ok()? == *baseline;
    Some(if same { Named::Baseline } else { Named::Design(design) })
}

impl Designs {
    /// Every time with its interval.
    pub(super) fn timings_table(&self) -> Option<Table> {
        let timings = self.answer.timings.as_ref()?;
        let mut table = Table::new(&[
            ("timed", Align::Left),
            ("ms", Align::Right),
            ("of the baseline's time", Align::Right),
            ("95 % interval", Align::Right),
        ]);
        let milliseconds = |seconds: f64| format!("{:.2}", 1e3 * seconds);
        table.push([
            self.answer.baseline.clone(),
            milliseconds(timings.baseline),
            "100.0 %".into(),
            String::new(),
        ]);
        for timing in &timings.designs {
            let interval = timing
                .ratio_ci
                .map_or(String::new(), |[low, high]| format!("{:.1} to {:.1} %", 100.0 * low, 100.0 * high));
            table.push([
                timing.design.to_string(),
                milliseconds(timing.seconds),
                format!("{:.1} %", 100.0 * timing.ratio),
                interval,
            ]);
        }
        Some(table)
    }

    /// How far the times can be trusted.
    pub(super) fn timing_sentences(&self) -> Vec<String> {
        let Some(timings) = &self.answer.timings else { return vec![] };
        let Some(how) = &timings.measurement else {
            return vec!["Only designs with a given time were looked at.".into()];
        };
        let unsure: Vec<String> = timings
            .designs
            .iter()
            .filter(|timing| !timing.precise())
            .map(|timing| timing.design.to_string())
            .collect();
        let pass = match how.pass {
            timing::Pass::Training => "Training steps",
            timing::Pass::Inference => "Inference",
        };
        let images = if how.batch == 1 { "1 image".into() } else { format!("{} images", how.batch) };
        let how = format!(
            "{pass} of whole networks by {} on {}, {} each, in turn with the baseline; only these designs were looked at.",
            how.runtime, how.device, images
        );
        match unsure.as_slice() {
            [] => vec![how],
            _ if !timings.any_precise() => vec![
                how,
                format!(
                    "The machine is too busy: no time is known to {:.0} %, so that noise may have decided. The intervals say how far.",
                    100.0 * timing::PRECISION
                ),
            ],
            _ => vec![
                how,
                format!(
                    "The machine is too busy: the time of {} is not known to {:.0} % and left out. Close other programs and ask again.",
                    unsure.join(", "),
                    100.0 * timing::PRECISION
                ),
            ],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(text: &str) -> String {
        let spec: Spec = "resnext29-1x128d".parse().unwrap();
        Csv::from_csv(text.as_bytes())
            .map_err(Error::from)
            .and_then(|csv| read(&csv, &spec))
            .unwrap_err()
            .to_string()
    }

    #[test]
    fn times_are_read_by_model_or_design() {
        let spec: Spec = "resnext29-1x128d".parse().unwrap();
        let csv = Csv::from_csv(b"model,seconds\nresnext29-66x6d,0.3\n1x128d,0.2\n16x9d,0.1\n").unwrap();
        let timings = read(&csv, &spec).unwrap();
        assert!((timings.baseline - 0.2).abs() < 1e-12 && timings.designs.len() == 2);
        assert!((timings.designs[1].ratio - 0.5).abs() < 1e-12 && timings.designs[1].precise());
    }

    #[test]
    fn files_that_are_no_timings_are_refused_in_one_sentence() {
        assert!(refusal("design,seconds\n1x8d,1\n").contains("no column \"model\""));
        assert!(refusal("model,seconds\nresnext29-66x6d,0.3\n").contains("lack the baseline"));
        assert!(refusal("model,seconds\n1x128d,fast\n").contains("must be a number"));
        assert!(
            refusal("model,seconds\nresnet50,0.3\n").contains("not resnext29-1x128d with another design")
        );
        assert!(refusal("model,seconds\n1x128d,-1\n16x9d,2\n").contains("times must be positive"));
        assert!(refusal("model,seconds\n1x128d,1\n").contains("no design was timed"));
    }
}
