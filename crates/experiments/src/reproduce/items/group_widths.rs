//! The group widths of the published RegNets, and those that the score recommends at equal cost.

use collegial_arch::{Cost, Spec, families};
use collegial_core::{Interval, bootstrap, spearman};
use collegial_report::{Align, Axis, Figure, Line, Points, Section, Stroke, Table};
use collegial_search::{DesignSearch, Limits};
use serde::Serialize;
use serde_json::json;

use crate::reproduce::{Comparison, Context, Error, Experiment, Outcome, Verdict};

/// Keys the draws of networks for intervals.
const STREAM: u32 = 0x6777;
const REPLICATES: u64 = 2000;

/// A published network, and what the search says.
#[derive(Serialize)]
struct Row {
    model: String,
    parameters: u64,
    /// The published group width, in the last stage; narrow first stages may have less.
    published: usize,
    /// By parameters, then by FLOPs.
    recommended: [Recommended; 2],
}

/// The best group width at equal cost.
#[derive(Serialize)]
struct Recommended {
    width: usize,
    /// The narrowest and the widest group within 5 % of the best efficiency.
    near: [usize; 2],
    /// How many times cheaper it is than the published network at that one's score.
    efficiency: f64,
    /// Its inner width m n over the published one at equal cost.
    inner_width: f64,
}

/// Group widths of RegNets.
pub fn run(_experiment: &Experiment, context: &Context) -> Result<Outcome, Error> {
    let names = families().into_iter().filter(|family| family.title == "RegNet");
    let rows: Vec<Row> = names.flat_map(|family| family.names).map(row).collect::<Result<_, _>>()?;
    Ok(Outcome {
        sentence: sentence(&rows, context.seed),
        comparisons: comparisons(&rows, context.seed),
        figures: vec![figure(&rows)],
        sections: vec![why(&rows), all(&rows)],
        data: json!({"networks": rows}),
        ..Outcome::default()
    })
}

fn row(model: String) -> Result<Row, Error> {
    let spec: Spec = model.parse()?;
    let blocks = spec.blocks()?;
    let published = blocks.last().map_or(0, |block| block.bottleneck.width);
    let first = blocks.first().map_or(1, |block| block.bottleneck.members * block.bottleneck.width);
    let recommended = |cost| -> Result<Recommended, Error> {
        let curve = DesignSearch::new(spec.clone()).within(Limits::new().cost(cost)).run()?.curve;
        let best = curve.iter().max_by(|a, b| a.efficiency.total_cmp(&b.efficiency));
        let best = best.ok_or_else(|| Error::experiment(model.as_str(), "it has no width"))?;
        let near = curve.iter().filter(|point| point.efficiency >= 0.95 * best.efficiency);
        let near: Vec<usize> = near.map(|point| point.width).collect();
        let ends = [near.iter().min(), near.iter().max()];
        Ok(Recommended {
            width: best.width,
            near: ends.map(|width| width.copied().unwrap_or(best.width)),
            efficiency: best.efficiency,
            inner_width: best.primal_multiplicity * best.width as f64 / first as f64,
        })
    };
    let recommended = [recommended(Cost::Params)?, recommended(Cost::Flops)?];
    let parameters = spec.totals()?.parameters;
    Ok(Row { model, parameters, published, recommended })
}

/// What is compared at equal cost, by the place in [`Row::recommended`].
const COSTS: [&str; 2] = ["parameters", "FLOPs"];

impl Row {
    /// The published group width over the recommended one.
    fn ratio(&self, cost: usize) -> f64 {
        self.published as f64 / self.recommended[cost].width as f64
    }

    /// Whether the published width is as good as the best but for 5 % of the cost.
    fn agrees(&self, cost: usize) -> bool {
        self.recommended[cost].efficiency <= 1.05
    }
}

/// Spearman's correlation of published and recommended widths, with a 95 % interval over networks.
fn correlation(rows: &[Row], cost: usize, seed: u64) -> (f64, [f64; 2]) {
    let of = |chosen: &[usize]| {
        let (x, y): (Vec<f64>, Vec<f64>) = chosen
            .iter()
            .map(|&at| (rows[at].published as f64, rows[at].recommended[cost].width as f64))
            .unzip();
        spearman(&x, &y).unwrap_or(f64::NAN)
    };
    let replicates = bootstrap(seed, STREAM, REPLICATES, rows.len(), of);
    let values: Vec<f64> = replicates.into_iter().filter(|value| !value.is_nan()).collect();
    let Interval { low, high } = Interval::percentile(&values, 0.95);
    let everything: Vec<usize> = (0..rows.len()).collect();
    (of(&everything), [low, high])
}

fn sentence(rows: &[Row], seed: u64) -> String {
    let (value, [low, high]) = correlation(rows, 0, seed);
    let agree = rows.iter().filter(|row| row.agrees(0)).count();
    let near = rows.iter().filter(|row| (0.5..=2.0).contains(&row.ratio(0))).count();
    let most = rows.iter().map(|row| row.ratio(0)).fold(0.0, f64::max);
    format!(
        "{} RegNets: at equal parameters, recommended and published group widths have a rank correlation of {value:.2} ({low:.2} to {high:.2}); {agree} published ones \
         cost at most 5 % more than the best at the same score, {near} are within a factor of 2, and the largest is {most:.1} times as wide as recommended.",
        rows.len()
    )
}

fn comparisons(rows: &[Row], seed: u64) -> Vec<Comparison> {
    let ranked = (0..COSTS.len()).map(|cost| {
        let (value, [low, high]) = correlation(rows, cost, seed);
        let verdict = if low > 0.0 {
            Verdict::Reproduced
        } else if high < 0.0 {
            Verdict::Differs("where published groups are wider, narrower ones are recommended".into())
        } else {
            Verdict::Undecided("the interval of the rank correlation holds 0".into())
        };
        Comparison::claim(
            format!(
                "networks with wider published groups have wider recommended ones at equal {}",
                COSTS[cost]
            ),
            "not in the paper",
            format!("rank correlation {value:.2} ({low:.2} to {high:.2})"),
            verdict,
        )
    });
    let equal = (0..COSTS.len()).map(|cost| {
        let agree = rows.iter().filter(|row| row.agrees(cost)).count();
        let verdict = if agree == rows.len() {
            Verdict::Reproduced
        } else {
            Verdict::Differs("large networks have wider groups than recommended".into())
        };
        Comparison::claim(
            format!("published group widths are the best at equal {}, but for 5 % of the cost", COSTS[cost]),
            "not in the paper",
            format!("{agree} of {} networks", rows.len()),
            verdict,
        )
    });
    ranked.chain(equal).collect()
}

fn figure(rows: &[Row]) -> (Figure, String) {
    let widest = rows.iter().map(|row| row.published).max().unwrap_or(1) as f64;
    let narrowest = rows.iter().map(|row| row.published).min().unwrap_or(1) as f64;
    let points =
        |cost: usize| rows.iter().map(move |row| (row.published as f64, row.recommended[cost].width as f64));
    let figure = Figure::new("Recommended over published group widths of RegNets")
        .x(Axis::log("published group width g"))
        .y(Axis::log("recommended group width"))
        .with(Points::new("at equal parameters", points(0).collect::<Vec<_>>()))
        .with(Points::new("at equal FLOPs", points(1).collect::<Vec<_>>()))
        .with(Line::new("equal", [(narrowest, narrowest), (widest, widest)]).stroke(Stroke::Dashed));
    (figure, "One point per network and cost; below the line the published groups are the wider ones.".into())
}

/// Where they differ, and what that has to do with.
fn why(rows: &[Row]) -> Section {
    let by_size = |large: bool| rows.iter().filter(move |row| (row.parameters > 15_000_000) == large);
    let mean = |large: bool, of: &dyn Fn(&Row) -> f64| {
        let count = by_size(large).count().max(1) as f64;
        (by_size(large).map(|row| of(row).ln()).sum::<f64>() / count).exp()
    };
    let mut table = Table::new(&[
        ("networks", Align::Left),
        ("number", Align::Right),
        ("published over recommended width", Align::Right),
        ("cheaper at the same score", Align::Right),
        ("inner width at equal cost", Align::Right),
    ]);
    for (large, name) in [(false, "up to 15 M parameters"), (true, "more")] {
        table.push([
            name.into(),
            by_size(large).count().to_string(),
            format!("{:.2}", mean(large, &|row| row.ratio(0))),
            format!("{:.2} x", mean(large, &|row| row.recommended[0].efficiency)),
            format!("{:.2} x", mean(large, &|row| row.recommended[0].inner_width)),
        ]);
    }
    let recommended = |row: &Row| row.recommended[0].width;
    let published = |row: &Row| row.published;
    let least = |of: fn(&Row) -> usize| rows.iter().map(of).min().unwrap_or(0);
    let most = |of: fn(&Row) -> usize| rows.iter().map(of).max().unwrap_or(0);
    Section::new("Where they differ, and why")
        .prose(format!(
            "A member of width n costs n (inputs + outputs) in its 1x1 convolutions and 9 n^2 in its 3x3 one. Wide groups spend the cost on the second and leave few members to average over; \
             narrow ones have more variance each. The best width between the two grows with the channels, but slowly: from {} to {} over these networks, where published ones go from {} to {}. \
             In small RegNets the two are about the same, in large ones the published groups are several times as wide.",
            least(recommended), most(recommended), least(published), most(published)
        ))
        .prose(
            "A recommended width is the best with a real-valued number of groups. `collegial search NAME` and `collegial.torch.suggest(model)` name networks that can be built: whole groups in \
             the first stage, and the others in proportion. Where that stage has two or three groups, a whole one is a large step, and the answer can be the published network itself although \
             another width is recommended here; `search` then says both.",
        )
        .prose(
            "Two things set the questions apart. In a RegNet m n is the number of the stage's outputs (a bottleneck ratio of 1), so that g divides a given inner width; here \
             the inner width may grow by what narrower groups save, and it does. And RegNets were chosen by the error of trained networks, not by the variance at initialisation, which leaves much \
             room: widths within 5 % of the best efficiency reach over a factor of three or more (the last table).",
        )
        .table(table, "Geometric means over networks, at equal parameters.")
}

fn all(rows: &[Row]) -> Section {
    let mut table = Table::new(&[
        ("network", Align::Left),
        ("published g", Align::Right),
        ("by parameters", Align::Right),
        ("within 5 %", Align::Right),
        ("cheaper", Align::Right),
        ("by FLOPs", Align::Right),
        ("within 5 %", Align::Right),
        ("cheaper", Align::Right),
    ]);
    for row in rows {
        let mut cells = vec![row.model.clone(), row.published.to_string()];
        for Recommended { width, near: [low, high], efficiency, .. } in &row.recommended {
            cells.extend([width.to_string(), format!("{low} to {high}"), format!("{efficiency:.2} x")]);
        }
        table.push_row(cells);
    }
    Section::new("Every network")
        .prose(
            "Cheaper: how many times, at the published network's score, groups of the recommended width are.",
        )
        .table(table, "Recommended group widths at equal cost, and those within 5 % of their efficiency.")
}
