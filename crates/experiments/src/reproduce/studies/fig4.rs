//! What the kept runs say: two contrasts that were fixed before any run, setting by setting, with
//! the rules of their verdicts.

use crate::{mean, standard_error};
use collegial_core::{Regression, centred_logs};
use collegial_report::{
    Align, Axis, Figure, Line, Marker, Point, Points, Section, Stroke, Table, Tone, grouped, significant,
};
use serde_json::json;

use super::kept::{Cell, EPOCHS, SCORED, Setting, settings};
use crate::reproduce::contrast::Contrast;
use crate::reproduce::{Comparison, Context, Error, Outcome, Verdict};

/// At equal cost: the optimum against members that are far too thin (7.7 times its variance).
const PRIMAL: (&str, &str) = ("7x45", "132x3");

/// At equal variance: 3.5 times the parameters against the cheapest.
const DUAL: (&str, &str) = ("186x5", "5x45");

/// What the optimum is for: against the baseline (1.37 times its variance).
const BASELINE: (&str, &str) = ("7x45", "1x200");

/// Errors this near, in points of a per cent, count as equal: a twentieth of the errors here.
const MARGIN: f64 = 0.1;

/// The page of the kept runs.
pub(super) fn outcome(context: &Context) -> Result<Outcome, Error> {
    let settings = settings()?;
    // The varied ones come last.
    let (by_recipe, varied) = settings.split_at(settings.partition_point(|setting| !setting.varied));
    Ok(Outcome {
        sentence: sentence(&settings),
        comparisons: settings.iter().flat_map(comparisons).collect(),
        figures: vec![errors(by_recipe), over_epochs(&settings)],
        sections: vec![
            contrasts(&settings, context.seed),
            covariates(by_recipe),
            designs("The designs", by_recipe),
            designs("The designs with another batch or schedule", varied),
        ],
        data: json!({ "settings": settings }),
        ..Outcome::default()
    })
}

fn comparisons(setting: &Setting) -> Vec<Comparison> {
    let name = &setting.name;
    let claim = |what: String, published: &str, found: Option<Contrast>, verdict: Verdict| {
        let obtained = found.map_or("not run".into(), |found| found.words());
        Comparison::claim(what, published, obtained, verdict)
    };
    let of = |(first, second): (&str, &str)| setting.contrast(first, second, SCORED);
    let (primal, dual) = (of(PRIMAL), of(DUAL));
    let claims = [
        claim(
            format!("{name}: at equal cost {} has a lower error than {}", PRIMAL.0, PRIMAL.1),
            "lower",
            primal,
            primal_verdict(primal),
        ),
        claim(
            format!("{name}: at equal variance {} is no better than {}", DUAL.0, DUAL.1),
            "no better",
            dual,
            dual_verdict(dual),
        ),
    ];
    // Where batch or schedule are varied only some designs were trained.
    claims
        .into_iter()
        .filter(|claim| !(setting.varied && matches!(claim.verdict, Verdict::NotRun(_))))
        .collect()
}

/// Lower variance must bring a lower error: the whole interval below 0.
fn primal_verdict(found: Option<Contrast>) -> Verdict {
    match found.map(|found| found.interval) {
        None => Verdict::NotRun("fewer than two runs of one of them".into()),
        Some([_, high]) if high < 0.0 => Verdict::Reproduced,
        Some([low, _]) if low > 0.0 => Verdict::Differs("the design of lower variance is worse".into()),
        Some(_) => Verdict::Undecided("the interval holds 0".into()),
    }
}

/// Cost must not help: the interval above -[`MARGIN`]. An interval below 0 says that it does help.
fn dual_verdict(found: Option<Contrast>) -> Verdict {
    match found.map(|found| found.interval) {
        None => Verdict::NotRun("fewer than two runs of one of them".into()),
        Some([_, high]) if high < 0.0 => Verdict::Differs("the larger cost helps".into()),
        Some([low, _]) if low > -MARGIN => Verdict::Reproduced,
        Some(_) => Verdict::Undecided(format!("the interval holds 0 and also gains above {MARGIN} points")),
    }
}

fn sentence(settings: &[Setting]) -> String {
    let of = |(first, second): (&str, &str)| {
        let found = settings
            .iter()
            .filter_map(|setting| Some((setting.name.as_str(), setting.contrast(first, second, SCORED)?)));
        standing((first, second), &found.collect::<Vec<_>>())
    };
    format!(
        "By the paper's recipe (70 epochs, all images). At equal cost {}. At equal variance {}.",
        of(PRIMAL),
        of(DUAL)
    )
}

/// In which settings the first of two designs has the lower error, by the 95 % intervals; those in
/// which it has not are named.
fn standing((first, second): (&str, &str), found: &[(&str, Contrast)]) -> String {
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

fn errors(settings: &[Setting]) -> (Figure, String) {
    let mut figure = Figure::new("Test error over variance, 70 epochs")
        .x(Axis::log("kernel variance Var(K), exact"))
        .y(Axis::linear("test error, %"));
    // Rings under the points, named where the first setting has them.
    for (name, design, tone) in [("baseline", BASELINE.1, Tone::Base), ("optimum", BASELINE.0, Tone::Other)] {
        let cells = settings.iter().filter_map(|setting| setting.cell(design));
        let ring = |cell: &Cell| Point::new(cell.variance, mean(cell.scored().iter().copied()));
        let mut points: Vec<Point> = cells.map(ring).collect();
        if let Some(first) = points.first_mut() {
            *first = first.clone().label(format!("{design}, {name}"));
        }
        figure = figure.with(Points::new(name, points).marker(Marker::Ring).tone(tone));
    }
    let markers = [Marker::Circle, Marker::Square, Marker::Triangle].into_iter().cycle();
    for (setting, marker) in settings.iter().zip(markers) {
        let point = |cell: &Cell| {
            let mean = mean(cell.scored().iter().copied());
            let words = format!("{}, {}: {} %", cell.design, setting.name, words(cell));
            let point = Point::new(cell.variance, mean).title(words);
            match standard_error(cell.scored()) {
                Some(error) => point.error(error),
                None => point,
            }
        };
        let points = setting.cells.iter().map(point);
        figure = figure.with(Points::new(setting.name.clone(), points).marker(marker));
    }
    (figure, "Means over runs of the last ten epochs, with standard errors. Other designs are named when the pointer rests on them.".into())
}

fn over_epochs(settings: &[Setting]) -> (Figure, String) {
    let mut figure = Figure::new(format!("{} minus {} over training", PRIMAL.0, PRIMAL.1))
        .x(Axis::linear("epoch that is scored"))
        .y(Axis::linear("difference of test errors, points").include(0.0));
    for (at, setting) in settings.iter().enumerate() {
        let point = |epoch: u32| {
            let found = setting.contrast(PRIMAL.0, PRIMAL.1, &format!("test_error_{epoch}"))?;
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

fn contrasts(settings: &[Setting], seed: u64) -> Section {
    let mut table = Table::new(&[
        ("setting", Align::Left),
        ("optimum 7x45 - thin 132x3", Align::Left),
        ("optimum 7x45 - baseline 1x200", Align::Left),
        ("186x5 - 5x45, equal variance", Align::Left),
        ("rank correlation at equal cost", Align::Left),
    ]);
    for setting in settings {
        let of = |(first, second): (&str, &str)| {
            setting.contrast(first, second, SCORED).map_or("not run".into(), |found| found.words())
        };
        let correlation = setting
            .primal_correlation(seed)
            .map_or("n/a".into(), |(found, designs)| format!("{}, {designs} designs", found.words()));
        table.push([setting.name.clone(), of(PRIMAL), of(BASELINE), of(DUAL), correlation]);
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
        let errors = centred_logs(setting.cells.iter().map(|cell| mean(cell.scored().iter().copied())));
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
        let runs = || setting.cells.iter().map(|cell| cell.scored().len());
        let (fewest, most) = (runs().min().unwrap_or(0), runs().max().unwrap_or(0));
        let runs = if fewest == most { most.to_string() } else { format!("{fewest} to {most}") };
        format!("{}: {} designs, {runs} runs of each", setting.name, setting.cells.len())
    };
    let all: Vec<String> = settings.iter().map(one).collect();
    format!("{}.", all.join("; "))
}

/// "2.06 ± 0.04 (5)".
fn words(cell: &Cell) -> String {
    let errors = cell.scored();
    let spread = standard_error(errors).map_or("n/a".into(), |error| format!("{error:.2}"));
    format!("{:.2} ± {spread} ({})", mean(errors.iter().copied()), errors.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(low: f64, high: f64) -> Option<Contrast> {
        Some(Contrast { difference: 0.5 * (low + high), interval: [low, high], runs: [5, 5] })
    }

    #[test]
    fn standings_name_what_does_not_agree() {
        let of = |low, high| found(low, high).expect("a contrast");
        let all = [("a", of(-0.4, -0.2)), ("b", of(-0.1, 0.2)), ("c", of(0.1, 0.3)), ("d", of(-0.2, -0.1))];
        assert_eq!(
            standing(("7x45", "132x3"), &all),
            "7x45 has a lower test error than 132x3 in 2 of 4 settings, by 0.15 to 0.30 points; a higher one in 1 (c: 0.20 points, 0.10 to 0.30); \
             undecided in 1 (b: 0.05 points, -0.10 to 0.20)"
        );
        assert_eq!(
            standing(("7x45", "132x3"), &all[2..3]),
            "7x45 has a lower test error than 132x3 in 0 of 1 settings; a higher one in 1 (c: 0.20 points, 0.10 to 0.30)"
        );
    }

    /// A clear effect, none, a reversed one, and nothing to go by.
    #[test]
    fn verdicts_are_no_stronger_than_their_intervals() {
        let primal = |contrast| primal_verdict(contrast).name();
        assert_eq!(primal(found(-0.4, -0.1)), "reproduced");
        assert_eq!(primal(found(-0.2, 0.1)), "undecided");
        assert_eq!(primal(found(0.05, 0.3)), "differs");
        assert_eq!(primal(None), "not run");
        let dual = |contrast| dual_verdict(contrast).name();
        assert_eq!(dual(found(-0.6, -0.1)), "differs");
        assert_eq!(dual(found(-0.05, 0.05)), "reproduced");
        assert_eq!(dual(found(-0.3, 0.2)), "undecided");
        assert_eq!(dual(found(0.1, 0.4)), "reproduced");
        assert_eq!(dual(None), "not run");
    }
}
