//! Runs of Fig. 4 by the paper's recipe that were made before: contrasts of designs that were fixed
//! before any run, setting by setting.

mod runs;

use crate::{mean, standard_error};
use collegial_core::{Regression, centred_logs};
use collegial_report::{
    Align, Axis, Figure, Line, Marker, Point, Points, Section, Stroke, Table, Tone, grouped, significant,
};
use serde::Deserialize;
use serde_json::json;

use crate::reproduce::contrast::{Contrast, Predicted};
use crate::reproduce::{Comparison, Context, Error, Experiment, Outcome, Verdict};
use runs::{Cell, EPOCHS, RUNS, Setting, settings};

/// What the study's file says.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Study {
    /// Every network is `FAMILY-DESIGN`, with these inputs and outputs.
    family: String,
    inputs: usize,
    outputs: usize,
    /// The column of errors that is compared.
    error: String,
    /// Errors this near, in points of a per cent, count as equal.
    equal_within: f64,
    recipe: Recipe,
    baseline: String,
    /// The first is followed over training.
    contrasts: Vec<Planned>,
}

/// What settings vary.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Recipe {
    batch: String,
    schedule: String,
}

/// Two designs whose errors are compared.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Planned {
    /// What is equal.
    at: String,
    first: String,
    second: String,
    /// Of the first beside the second, if it was fixed before any run.
    prediction: Option<Predicted>,
}

impl Planned {
    fn of(&self, setting: &Setting) -> Option<Contrast> {
        setting.contrast(&self.first, &self.second)
    }

    fn title(&self) -> String {
        format!("{} - {}, {}", self.first, self.second, self.at)
    }
}

/// The page of the recorded runs.
pub fn run(experiment: &Experiment, context: &Context) -> Result<Outcome, Error> {
    let study: Study = experiment.settings(context.scale)?;
    let settings = settings(&experiment.table(RUNS)?, &study)?;
    // The varied ones come last.
    let (by_recipe, varied) = settings.split_at(settings.partition_point(|setting| !setting.varied));
    let followed = study.contrasts.first();
    Ok(Outcome {
        sentence: sentence(&study, &settings),
        comparisons: settings.iter().flat_map(|setting| comparisons(&study, setting)).collect(),
        figures: [errors(&study, by_recipe)]
            .into_iter()
            .chain(followed.map(|planned| over_epochs(planned, &settings)))
            .collect(),
        sections: vec![
            contrasts(&study, &settings, context.seed),
            covariates(by_recipe),
            designs("The designs", by_recipe),
            designs("The designs with another batch or schedule", varied),
        ],
        data: json!({ "settings": settings }),
        ..Outcome::default()
    })
}

fn comparisons(study: &Study, setting: &Setting) -> Vec<Comparison> {
    let compare = |planned: &Planned| {
        let predicted = planned.prediction?;
        let Planned { at, first, second, .. } = planned;
        let what = format!("{}: at {at} {first} is {} than {second}", setting.name, predicted.words());
        match planned.of(setting) {
            Some(found) => {
                let verdict = predicted.verdict(&found, study.equal_within);
                Some(Comparison::claim(what, predicted.words(), found.words(), verdict))
            }
            // Where batch or schedule are varied only some designs were trained.
            None if setting.varied => None,
            None => {
                let few = Verdict::NotRun("fewer than two runs of one of them".into());
                Some(Comparison::claim(what, predicted.words(), "not run", few))
            }
        }
    };
    study.contrasts.iter().filter_map(compare).collect()
}

fn sentence(study: &Study, settings: &[Setting]) -> String {
    let of = |planned: &Planned| {
        let found = settings
            .iter()
            .filter_map(|setting| Some((setting.name.as_str(), planned.of(setting)?)))
            .collect::<Vec<_>>();
        format!(" At {} {}.", planned.at, standing(&planned.first, &planned.second, &found))
    };
    let fixed = study.contrasts.iter().filter(|planned| planned.prediction.is_some());
    let all: String = fixed.map(of).collect();
    format!(
        "By the paper's recipe (70 epochs, all images), all designs of a setting at one rate that was not tuned.{all}"
    )
}

/// In which settings the first of two designs has the lower error, by the 95 % intervals; those in
/// which it has not are named.
fn standing(first: &str, second: &str, found: &[(&str, Contrast)]) -> String {
    let told = |(setting, Contrast { difference, interval: [low, high], .. }): &(&str, Contrast)| {
        format!("{setting}: {difference:.2} points, {low:.2} to {high:.2}")
    };
    let which = |how: &str, holds: &dyn Fn([f64; 2]) -> bool| {
        let those: Vec<String> = found.iter().filter(|(_, one)| holds(one.interval)).map(told).collect();
        match those.len() {
            0 => String::new(),
            count => format!("; {how} in {count} ({})", those.join("; ")),
        }
    };
    let better = found.iter().filter(|(_, one)| one.interval[1] < 0.0).map(|(_, one)| -one.difference);
    let (count, least, most) = better.fold((0, f64::INFINITY, 0.0), |(count, least, most), gain| {
        (count + 1, gain.min(least), gain.max(most))
    });
    let by = if count > 0 { format!(", by {least:.2} to {most:.2} points") } else { String::new() };
    format!(
        "{first} has a lower test error than {second} in {count} of {} settings{by}{}{}",
        found.len(),
        which("a higher one", &|[low, _]| low > 0.0),
        which("undecided", &|[low, high]| low <= 0.0 && high >= 0.0)
    )
}

fn errors(study: &Study, settings: &[Setting]) -> (Figure, String) {
    let mut figure = Figure::new("Test error over variance, 70 epochs")
        .x(Axis::log("kernel variance Var(K), exact"))
        .y(Axis::linear("test error, %"));
    // Rings under the points, named where the first setting has them.
    let optimum = study.contrasts.first().map_or("", |planned| &planned.first);
    for (name, design, tone) in
        [("baseline", &*study.baseline, Tone::Base), ("optimum", optimum, Tone::Other)]
    {
        let cells = settings.iter().filter_map(|setting| setting.cell(design));
        let ring = |cell: &Cell| Point::new(cell.variance, mean(cell.scored.iter().copied()));
        let mut points: Vec<Point> = cells.map(ring).collect();
        if let Some(first) = points.first_mut() {
            *first = first.clone().label(format!("{design}, {name}"));
        }
        figure = figure.with(Points::new(name, points).marker(Marker::Ring).tone(tone));
    }
    let markers = [Marker::Circle, Marker::Square, Marker::Triangle].into_iter().cycle();
    for (setting, marker) in settings.iter().zip(markers) {
        let point = |cell: &Cell| {
            let mean = mean(cell.scored.iter().copied());
            let words = format!("{}, {}: {} %", cell.design, setting.name, words(cell));
            let point = Point::new(cell.variance, mean).title(words);
            match standard_error(&cell.scored) {
                Some(error) => point.error(error),
                None => point,
            }
        };
        let points = setting.cells.iter().map(point);
        figure = figure.with(Points::new(setting.name.clone(), points).marker(marker));
    }
    (figure, "Means over runs of the last ten epochs, with standard errors. Other designs are named when the pointer rests on them.".into())
}

fn over_epochs(planned: &Planned, settings: &[Setting]) -> (Figure, String) {
    let mut figure = Figure::new(format!("{} minus {} over training", planned.first, planned.second))
        .x(Axis::linear("epoch that is scored"))
        .y(Axis::linear("difference of test errors, points").include(0.0));
    for (at, setting) in settings.iter().enumerate() {
        let point = |epoch: u32| {
            let found = setting.contrast_after(epoch, &planned.first, &planned.second)?;
            let [low, high] = found.interval;
            // Settings side by side around the epoch, so that bars do not cover each other.
            let x = f64::from(epoch) + at as f64 - 0.5 * (settings.len() - 1) as f64;
            Some(Point::new(x, found.difference).interval(low, high))
        };
        let points: Vec<Point> = EPOCHS.into_iter().filter_map(point).collect();
        if !points.is_empty() {
            figure = figure.with(Points::new(setting.name.clone(), points));
        }
    }
    let figure =
        figure.with(Line::new("", [(6.0, 0.0), (74.0, 0.0)]).stroke(Stroke::Dashed).tone(Tone::Base));
    (figure, "Below 0 the paper's order holds. Single epochs; bars are 95 % intervals.".into())
}

fn contrasts(study: &Study, settings: &[Setting], seed: u64) -> Section {
    let titles: Vec<String> = study.contrasts.iter().map(Planned::title).collect();
    let mut columns = vec![("setting", Align::Left)];
    columns.extend(titles.iter().map(|title| (title.as_str(), Align::Left)));
    columns.push(("rank correlation at equal cost", Align::Left));
    let mut table = Table::new(&columns);
    for setting in settings {
        let of = |planned: &Planned| planned.of(setting).map_or("not run".into(), |found| found.words());
        let correlation = setting.primal_correlation(&study.baseline, seed).map_or("n/a".into(), |found| {
            format!("{}, {} designs", found.correlation.words(), found.designs)
        });
        let cells = [setting.name.clone()].into_iter().chain(study.contrasts.iter().map(of));
        table.push_row(cells.chain([correlation]).collect());
    }
    Section::new("The contrasts").table(
        table,
        "Differences of the mean test error over the last ten epochs, in points of a per cent, with Welch's 95 % interval. The rank correlation is that of Var(K) with the error.",
    )
}

/// Variance, total inner width m n and parameters as explanations of the error, alone and beside
/// each other.
fn covariates(settings: &[Setting]) -> Section {
    let mut table = Table::new(&[
        ("setting", Align::Left),
        ("designs", Align::Right),
        ("explained by", Align::Left),
        ("ln Var(K)", Align::Right),
        ("ln m n", Align::Right),
        ("ln parameters", Align::Right),
        ("adjusted R²", Align::Right),
    ]);
    for setting in settings {
        let variables: [Vec<f64>; 3] = [
            centred_logs(setting.cells.iter().map(|cell| cell.variance)),
            centred_logs(setting.cells.iter().map(|cell| cell.inner_width as f64)),
            centred_logs(setting.cells.iter().map(|cell| cell.parameters as f64)),
        ];
        let errors = centred_logs(setting.cells.iter().map(|cell| mean(cell.scored.iter().copied())));
        for (name, chosen) in [
            ("variance", &[0][..]),
            ("m n", &[1]),
            ("parameters", &[2]),
            ("variance and m n", &[0, 1]),
            ("all three", &[0, 1, 2]),
        ] {
            let columns: Vec<Vec<f64>> = chosen.iter().map(|&at| variables[at].clone()).collect();
            let Some(found) = Regression::centred(&errors, &columns, 1).filter(|found| found.freedom >= 3)
            else {
                continue;
            };
            let slope = |variable: usize| match chosen.iter().position(|&at| at == variable) {
                Some(at) => format!("{:.3} ± {:.3}", found.slopes[at], found.standard_errors[at]),
                None => String::new(),
            };
            table.push_row(vec![
                setting.name.clone(),
                setting.cells.len().to_string(),
                name.into(),
                slope(0),
                slope(1),
                slope(2),
                format!("{:.2}", found.adjusted),
            ]);
        }
    }
    Section::new("Variance, m n or parameters").table(
        table,
        "Least squares of ln error (mean of a design's runs) on the logarithms of the variance, of the total inner width m n and of the parameters, over all designs of a setting, those of equal cost and \
         those of equal variance; slopes with standard errors. The theory has the variance alone: a positive slope for it and none for the others.",
    )
}

fn designs(title: &str, settings: &[Setting]) -> Section {
    let mut columns = vec![
        ("design".to_owned(), Align::Left),
        ("parameters".to_owned(), Align::Right),
        ("m n".to_owned(), Align::Right),
        ("Var(K)".to_owned(), Align::Right),
    ];
    columns.extend(settings.iter().map(|setting| (setting.name.clone(), Align::Right)));
    let columns: Vec<(&str, Align)> = columns.iter().map(|(name, align)| (name.as_str(), *align)).collect();
    let mut table = Table::new(&columns);
    let mut all: Vec<&Cell> = vec![];
    for cell in settings.iter().flat_map(|setting| &setting.cells) {
        if all.iter().all(|known| known.design != cell.design) {
            all.push(cell);
        }
    }
    all.sort_by_key(|cell| cell.inner_width);
    for design in all {
        let mut cells = vec![
            design.design.clone(),
            grouped(design.parameters),
            design.inner_width.to_string(),
            significant(design.variance, 3),
        ];
        cells
            .extend(settings.iter().map(|setting| setting.cell(&design.design).map_or(String::new(), words)));
        table.push_row(cells);
    }
    Section::new(title).table(
        table,
        format!(
            "Mean test error of the last ten epochs in per cent, standard error, number of runs; in the order of m n. {} The paper has 100 repetitions of 17 designs.",
            repetitions(settings)
        ),
    )
}

/// "standard, rate 1e-3: 17 designs, 5 to 10 runs of each; ...".
fn repetitions(settings: &[Setting]) -> String {
    let one = |setting: &Setting| {
        let runs = || setting.cells.iter().map(|cell| cell.scored.len());
        let (fewest, most) = (runs().min().unwrap_or(0), runs().max().unwrap_or(0));
        let runs = if fewest == most { most.to_string() } else { format!("{fewest} to {most}") };
        format!("{}: {} designs, {runs} runs of each", setting.name, setting.cells.len())
    };
    let all: Vec<String> = settings.iter().map(one).collect();
    format!("{}.", all.join("; "))
}

/// "2.06 ± 0.04 (5)".
fn words(cell: &Cell) -> String {
    let errors = &cell.scored;
    let spread = standard_error(errors).map_or("n/a".into(), |error| format!("{error:.2}"));
    format!("{:.2} ± {spread} ({})", mean(errors.iter().copied()), errors.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn standings_name_what_does_not_agree() {
        let of = |low, high| Contrast { difference: 0.5 * (low + high), interval: [low, high], runs: [5, 5] };
        let all = [("a", of(-0.4, -0.2)), ("b", of(-0.1, 0.2)), ("c", of(0.1, 0.3)), ("d", of(-0.2, -0.1))];
        assert_eq!(
            standing("7x45", "132x3", &all),
            "7x45 has a lower test error than 132x3 in 2 of 4 settings, by 0.15 to 0.30 points; a higher one in 1 (c: 0.20 points, 0.10 to 0.30); \
             undecided in 1 (b: 0.05 points, -0.10 to 0.20)"
        );
        assert_eq!(
            standing("7x45", "132x3", &all[2..3]),
            "7x45 has a lower test error than 132x3 in 0 of 1 settings; a higher one in 1 (c: 0.20 points, 0.10 to 0.30)"
        );
    }
}
