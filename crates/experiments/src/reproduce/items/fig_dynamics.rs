//! The appendix's figure of Theorem 1: how far training moves the tangent kernel, over width and
//! multiplicity.

use crate::{in_parallel, standard_error};
use collegial_core::{Interval, bootstrap};
use collegial_report::{Align, Axis, Figure, Line, Point, Points, Section, Stroke, Table, significant};
use collegial_train::data::Kind;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::dynamics::{Change, Descent, Ensemble, Slope, Task, change, slope};
use crate::reproduce::images::{self, Synthetic};
use crate::reproduce::{Comparison, Context, Error, Experiment, Outcome, Scale, Verdict};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Settings {
    /// Every d gives a baseline of width d^2, an ensemble of d networks of width d, and one of the
    /// baseline's size in parameters.
    sides: Vec<usize>,
    /// The width of the members of the third panel.
    constant_width: usize,
    images: usize,
    runs: u64,
    descent: Descent,
    synthetic: Option<Synthetic>,
}

/// One panel: ensembles of growing size, and the change of the kernel in every draw.
#[derive(Serialize)]
struct Panel {
    name: &'static str,
    ensembles: Vec<Ensemble>,
    parameters: Vec<u64>,
    changes: Vec<Vec<Change>>,
    slope: Slope,
}

const CLAIMS: [&str; 3] = [
    "(a) one network: slope of the change over m n in log-log",
    "(b) m = n = d: slope of the change over m n in log-log",
    "(c) constant width: slope of the change over m n in log-log",
];
const EQUAL: &str = "(a) and (b) change equally at equal m n: ratio (b) / (a)";
const SMALLER: &str = "(c) changes less than (a) at equal parameters: ratio (c) / (a)";

/// The figure of Theorem 1.
pub fn run(experiment: &Experiment, context: &Context) -> Result<Outcome, Error> {
    let settings: Settings = experiment.settings(context.scale)?;
    let dataset = images::required(experiment.name(), context, Kind::Mnist, settings.synthetic)?;
    let task = Task::new(&dataset, settings.images)?;
    let panels = follow(&settings, &task, dataset.shape().len(), context)?;
    let equal = ratio(&panels[1], &panels[0], context.seed);
    let smaller = ratio(&panels[2], &panels[0], context.seed);
    Ok(Outcome {
        sentence: format!(
            "Over m n the change of the kernel falls with slopes {}; Theorem 1 says -1. At equal m n an ensemble changes {:.2} ({:.2} to {:.2}) times as much as a single network, at equal \
             parameters members of width {} change {:.2} ({:.2} to {:.2}) times as much.",
            panels.iter().map(|panel| words(&panel.slope)).collect::<Vec<_>>().join(", "),
            equal[0],
            equal[1],
            equal[2],
            settings.constant_width,
            smaller[0],
            smaller[1],
            smaller[2]
        ),
        comparisons: comparisons(&panels, equal, smaller, context.scale),
        figures: vec![
            (
                size_figure(&panels),
                "Theorem 1: at equal m n the kernel moves equally. The dotted line has slope -1.".into(),
            ),
            (
                parameter_figure(&panels),
                "At equal parameters many members of constant width move less than one wide network.".into(),
            ),
        ],
        sections: vec![
            Section::new("Every size")
                .table(table(&panels), "Means over all draws and all entries off the diagonal."),
        ],
        data: json!({"panels": panels, "equal_size_ratio": equal, "equal_parameters_ratio": smaller}),
        ..Outcome::default()
    })
}

/// The ensembles of the three panels.
fn ensembles(settings: &Settings, inputs: usize) -> Result<[Vec<Ensemble>; 3], Error> {
    let one = |width| Ensemble { members: 1, width };
    let width = settings.constant_width;
    let member = parameters(one(width), settings, inputs)? as f64;
    let mut matched = vec![];
    for side in &settings.sides {
        let members = (parameters(one(side * side), settings, inputs)? as f64 / member).round() as usize;
        // A baseline of less than two members is no match for an ensemble.
        if members >= 2 {
            matched.push(Ensemble { members, width });
        }
    }
    Ok([
        settings.sides.iter().map(|side| one(side * side)).collect(),
        settings.sides.iter().map(|&side| Ensemble { members: side, width: side }).collect(),
        matched,
    ])
}

fn parameters(ensemble: Ensemble, settings: &Settings, inputs: usize) -> Result<u64, Error> {
    Ok(ensemble.spec(inputs, settings.descent.depth).totals()?.parameters)
}

/// Trains all of them; every draw is a result.
fn follow(settings: &Settings, task: &Task, inputs: usize, context: &Context) -> Result<Vec<Panel>, Error> {
    let panels = ensembles(settings, inputs)?;
    let all: Vec<Ensemble> = panels.concat();
    let runs = settings.runs as usize;
    let draws = in_parallel(all.len() * runs, rayon::current_num_threads(), |index| {
        let (ensemble, run) = (all[index % all.len()], (index / all.len()) as u64);
        let key = (ensemble, run, settings.descent, settings.images, inputs);
        let share = index as f64 / (all.len() * runs) as f64;
        let Ensemble { members, width } = ensemble;
        context
            .monitor
            .progress(share, Some(&format!("draw {} of {runs}: m = {members}, n = {width}", run + 1)));
        context.cached("dynamics", &key, || {
            change(ensemble, task, &settings.descent, context.seed.wrapping_add(run), &|| {
                context.monitor.stopped()
            })
        })
    })?;
    let changes: Vec<Vec<Change>> =
        (0..all.len()).map(|at| draws.iter().skip(at).step_by(all.len()).copied().collect()).collect();
    let mut changes = changes.into_iter();
    let names = ["one network of width d²", "d networks of width d", "networks of constant width"];
    let mut found = vec![];
    for (name, ensembles) in names.into_iter().zip(panels) {
        let changes: Vec<Vec<Change>> = changes.by_ref().take(ensembles.len()).collect();
        let sizes: Vec<f64> = ensembles.iter().map(|ensemble| ensemble.size()).collect();
        let slope = slope(&sizes, &absolute(&changes), context.seed);
        let parameters: Result<Vec<u64>, Error> =
            ensembles.iter().map(|ensemble| parameters(*ensemble, settings, inputs)).collect();
        found.push(Panel { name, ensembles, parameters: parameters?, changes, slope });
    }
    Ok(found)
}

fn absolute(changes: &[Vec<Change>]) -> Vec<Vec<f64>> {
    changes.iter().map(|draws| draws.iter().map(|draw| draw.change).collect()).collect()
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// The geometric mean over d of how much more one panel changes than another, with its 95 %
/// interval over resampled draws. Where one panel lacks the smallest d, the others are compared.
fn ratio(of: &Panel, to: &Panel, seed: u64) -> [f64; 3] {
    let (of, to) = (absolute(&of.changes), absolute(&to.changes));
    let to = &to[to.len().saturating_sub(of.len())..];
    let runs = of.first().map_or(1, Vec::len);
    let ratio = |pick: &dyn Fn(usize, &[f64]) -> f64| {
        let logs: Vec<f64> = of
            .iter()
            .zip(to)
            .enumerate()
            .map(|(d, (a, b))| (pick(2 * d, a) / pick(2 * d + 1, b)).ln())
            .collect();
        mean(&logs).exp()
    };
    let replicates = bootstrap(seed, 0x7261_7469, 4000, 2 * of.len() * runs, |indices| {
        ratio(&|at, draws| {
            let chunk = &indices[at * runs..(at + 1) * runs];
            mean(&chunk.iter().map(|index| draws[index % runs]).collect::<Vec<_>>())
        })
    });
    let Interval { low, high } = Interval::percentile(&replicates, 0.95);
    [ratio(&|_, draws| mean(draws)), low, high]
}

fn words(slope: &Slope) -> String {
    format!("{:.2} ({:.2} to {:.2})", slope.estimate, slope.interval[0], slope.interval[1])
}

fn comparisons(panels: &[Panel], equal: [f64; 3], smaller: [f64; 3], scale: Scale) -> Vec<Comparison> {
    let judged = |holds: bool, why: &str| match (scale, holds) {
        (Scale::Smoke, _) => Verdict::NotAtThisScale("too few images, draws and sizes".into()),
        (_, true) => Verdict::Reproduced,
        (_, false) => Verdict::Differs(why.into()),
    };
    let mut rows = vec![];
    for (what, panel) in CLAIMS.into_iter().zip(panels) {
        let [low, high] = panel.slope.interval;
        // O(1/mn) is an upper bound: falling faster is no contradiction, but it is said.
        let why = if low > -1.0 {
            "it falls more slowly than 1/(m n) at these sizes"
        } else {
            "it falls faster than 1/(m n)"
        };
        rows.push(Comparison::claim(
            what,
            "-1",
            words(&panel.slope),
            judged(low <= -1.0 && -1.0 <= high, why),
        ));
    }
    let shown = |[ratio, low, high]: [f64; 3]| format!("{ratio:.2} ({low:.2} to {high:.2})");
    let similar = judged((0.5..=2.0).contains(&equal[0]), "more than a factor of two apart");
    rows.push(Comparison::claim(EQUAL, "similar", shown(equal), similar));
    rows.push(Comparison::claim(
        SMALLER,
        "below 1",
        shown(smaller),
        judged(smaller[2] < 1.0, "the interval is not below 1"),
    ));
    rows
}

fn points<'a>(panel: &'a Panel, x: impl Fn(usize) -> f64 + 'a) -> Points {
    let point = move |(at, draws): (usize, Vec<f64>)| {
        let point = Point::new(x(at), mean(&draws));
        standard_error(&draws).map_or(point.clone(), |error| point.error(error))
    };
    Points::new(panel.name, absolute(&panel.changes).into_iter().enumerate().map(point))
}

const CHANGE: &str = "mean |K after − K before|";

/// All three panels over m n.
fn size_figure(panels: &[Panel]) -> Figure {
    let mut figure =
        Figure::new("Change of the tangent kernel over m n").x(Axis::log("m n")).y(Axis::log(CHANGE));
    for panel in panels {
        figure = figure.with(points(panel, |at| panel.ensembles[at].size()));
    }
    let sizes = || panels.iter().flat_map(|panel| &panel.ensembles).map(|ensemble| ensemble.size());
    let (low, high) = (sizes().fold(f64::INFINITY, f64::min), sizes().fold(0.0, f64::max));
    // Through the middle of the first panel.
    let first = &panels[0];
    let log = |values: &[f64]| mean(&values.iter().map(|value| value.ln()).collect::<Vec<_>>());
    let means: Vec<f64> = absolute(&first.changes).iter().map(|draws| mean(draws)).collect();
    let product = (log(&means)
        + log(&first.ensembles.iter().map(|ensemble| ensemble.size()).collect::<Vec<_>>()))
    .exp();
    let line = [(low, product / low), (high, product / high)];
    figure.with(Line::new("slope −1", line).stroke(Stroke::Dotted))
}

/// One network and members of constant width over the parameters.
fn parameter_figure(panels: &[Panel]) -> Figure {
    let figure = Figure::new("Change of the tangent kernel over the parameters");
    let figure = figure.x(Axis::log("parameters")).y(Axis::log(CHANGE));
    let with = |figure: Figure, panel: &Panel| figure.with(points(panel, |at| panel.parameters[at] as f64));
    [&panels[0], &panels[2]].into_iter().fold(figure, with)
}

fn table(panels: &[Panel]) -> Table {
    let right = Align::Right;
    let mut table = Table::new(&[
        ("panel", Align::Left),
        ("m", right),
        ("n", right),
        ("m n", right),
        ("|K| before", right),
        ("change", right),
        ("relative", right),
        ("loss before", right),
        ("loss after", right),
    ]);
    for panel in panels {
        for (ensemble, draws) in panel.ensembles.iter().zip(&panel.changes) {
            let of = |f: &dyn Fn(&Change) -> f64| mean(&draws.iter().map(f).collect::<Vec<_>>());
            let (before, change) = (of(&|draw| draw.before), of(&|draw| draw.change));
            table.push([
                panel.name.into(),
                ensemble.members.to_string(),
                ensemble.width.to_string(),
                format!("{:.0}", ensemble.size()),
                significant(before, 3),
                significant(change, 3),
                significant(change / before, 3),
                significant(of(&|draw| draw.loss[0]), 3),
                significant(of(&|draw| draw.loss[1]), 3),
            ]);
        }
    }
    table
}
