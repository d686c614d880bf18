//! The appendix figure: Algorithm 1 on the ResNet block, and what becomes of alpha on other grids
//! and without the law.

use collegial_arch::{Module, Spec};
use collegial_core::Named;
use collegial_ntk::Fit;
use collegial_ntk::fit::{Measurements, Method, Sampling, VarianceSample, measure_variance};
use collegial_report::{Align, Line, Section, Stroke, Table, Tone};
use collegial_search::paper::{Answer, Law, Measured, Search};
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::reproduce::drawings::fit::{figure, residual_figure, verdict_sentence};
use crate::reproduce::drawings::search::dual_figure;
use crate::reproduce::published;
use crate::reproduce::{Comparison, Context, Error, Experiment, Outcome};

#[derive(Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
struct Settings {
    module: String,
    baseline: String,
    /// Sampling per width (T).
    trials: u64,
    /// The first one is held to be the paper's.
    grids: Vec<Grid>,
    /// Standard error of every measured variance, as a share of it.
    precision: f64,
}

/// Widths to measure.
#[derive(Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
struct Grid {
    name: String,
    #[serde(default)]
    first: Vec<usize>,
    range: Option<Range>,
}

/// Both ends included.
#[derive(Clone, Copy, Deserialize, Serialize)]
struct Range {
    from: usize,
    to: usize,
    step: usize,
}

impl Grid {
    fn widths(&self) -> Vec<usize> {
        let range = self.range.iter().flat_map(|range| (range.from..=range.to).step_by(range.step.max(1)));
        self.first.iter().copied().chain(range).collect()
    }
}

/// The appendix figure on alpha.
pub fn run(experiment: &Experiment, context: &Context) -> Result<Outcome, Error> {
    let settings: Settings = experiment.settings(context.scale)?;
    let baseline: Spec = settings.baseline.parse()?;
    let module = settings.module.parse::<Spec>()?.analysed_module()?;
    let mut fits = vec![];
    for grid in &settings.grids {
        fits.push((grid.name.as_str(), fit(grid, &module, settings.trials, context)?));
    }
    let Some((grid, fitted)) = fits.first() else {
        return Err(Error::experiment("experiments/fig-alpha.toml", "it names no grid"));
    };
    let alpha = published::value("block.alpha")?;
    let law = Search::new(baseline.clone()).run(&Law::new(alpha.value)?)?;
    let measured = measured(baseline, settings.precision, context)?;
    let interval = [fitted.alpha_ci.low, fitted.alpha_ci.high];
    let says = published::statement("block.alpha")?.says;
    Ok(Outcome {
        sentence: format!(
            "Widths {grid} and {} draws each give alpha = {:.2} (95 % interval {:.2} to {:.2}).",
            settings.trials, fitted.alpha, interval[0], interval[1]
        ),
        comparisons: vec![Comparison::measured(says, alpha, fitted.alpha, interval)],
        figures: vec![
            (figure(fitted), "The second moment of the kernel and the fitted line.".into()),
            (residual_figure(fitted), "How far the measurements are from the line.".into()),
        ],
        sections: vec![grids(&fits), without_the_law(&law, &measured)],
        data: json!({
            "fits": fits.iter().map(|(name, fit)| json!({"grid": name, "fit": fit})).collect::<Vec<_>>(),
            "law": law, "measured": measured,
        }),
        ..Outcome::default()
    })
}

fn fit(grid: &Grid, module: &Module, trials: u64, context: &Context) -> Result<Fit, Error> {
    let widths = grid.widths();
    let settings = (module.name(), &widths, trials);
    let measurements: Measurements = context.cached("fig-alpha.draws", &settings, || {
        let state = format!("fig-alpha: drawing kernels at {} widths", widths.len());
        let draws = Sampling { trials, ..Sampling::paper(context.seed) };
        Ok(Measurements::take(module, &widths, &draws, &Named::new(context.monitor, &state))?)
    })?;
    Ok(Fit::new(&measurements, Method::default())?)
}

/// Algorithm 2 with the variance measured at every width.
fn measured(baseline: Spec, precision: f64, context: &Context) -> Result<Answer, Error> {
    let search = Search::new(baseline);
    let (module, widths) = (search.module()?, search.candidate_widths()?);
    let settings = (module.name(), &widths, precision);
    let samples: Vec<VarianceSample> = context.cached("fig-alpha.variances", &settings, || {
        let watch = Named::new(context.monitor, "fig-alpha: measuring variances");
        let samples = measure_variance(&module, &widths, precision, context.seed, &watch);
        // A sampler that was stopped says so in its own words.
        context.go_on()?;
        Ok(samples?)
    })?;
    Ok(search.run(&Measured::new(&samples))?)
}

fn grids(fits: &[(&str, Fit)]) -> Section {
    let mut table = Table::new(&[
        ("widths", Align::Left),
        ("alpha", Align::Right),
        ("95 % interval", Align::Right),
        ("intercept", Align::Right),
        ("r²", Align::Right),
        ("largest misfit", Align::Right),
        ("law holds", Align::Left),
    ]);
    for (name, fit) in fits {
        let holds = match fit.law.holds {
            Some(true) => "within noise",
            Some(false) => "approximately",
            None => "cannot tell",
        };
        table.push([
            (*name).to_owned(),
            format!("{:.2}", fit.alpha),
            format!("{:.2} to {:.2}", fit.alpha_ci.low, fit.alpha_ci.high),
            format!("{:+.4}", fit.intercept),
            format!("{:.4}", fit.r_squared),
            format!("{:.1} %", 100.0 * fit.law.largest_misfit),
            holds.to_owned(),
        ]);
    }
    let sentence = fits.first().map(|(_, fit)| verdict_sentence(fit)).unwrap_or_default();
    let by_alpha = |a: &&(&str, Fit), b: &&(&str, Fit)| a.1.alpha.total_cmp(&b.1.alpha);
    let range = match (fits.iter().min_by(by_alpha), fits.iter().max_by(by_alpha)) {
        (Some((low, least)), Some((high, most))) => {
            format!("from {:.2} (widths: {low}) to {:.2} (widths: {high})", least.alpha, most.alpha)
        }
        _ => String::new(),
    };
    Section::new("Alpha depends on the grid")
        .prose(format!(
            "Alpha runs {range}. On the first grid: {}.",
            sentence.trim_start_matches("warning: ")
        ))
        .table(table, "The same block, fitted on several grids of widths. Intervals hold sampling noise, not the misfit.")
}

fn without_the_law(law: &Answer, measured: &Answer) -> Section {
    let mut table = Table::new(&[
        ("variance", Align::Left),
        ("best n", Align::Right),
        ("within 1 %", Align::Right),
        ("n", Align::Right),
        ("m dual", Align::Right),
        ("rho", Align::Right),
        ("95 % interval", Align::Right),
    ]);
    let width = law.dual.width;
    for (name, answer) in [("the law, published alpha", law), ("measured", measured)] {
        let Some(point) = answer.curve.iter().find(|point| point.width == width) else { continue };
        let [low, high] = point.efficiency_ci;
        table.push([
            name.to_owned(),
            answer.dual.width.to_string(),
            format!("{} to {}", answer.flat.low, answer.flat.high),
            width.to_string(),
            format!("{:.2}", point.dual_multiplicity),
            format!("{:.3}", point.efficiency),
            if low < high { format!("{low:.3} to {high:.3}") } else { String::new() },
        ]);
    }
    let curve = law.curve.iter().map(|point| (point.width as f64, point.efficiency));
    let figure = dual_figure(measured, None)
        .with(Line::new("the law, published alpha", curve).stroke(Stroke::Dashed).tone(Tone::Law));
    let at = measured.curve.iter().find(|point| point.width == width);
    let (m, rho) = at.map_or((f64::NAN, f64::NAN), |point| (point.dual_multiplicity, point.efficiency));
    Section::new("Without the law")
        .prose(format!(
            "With the variance measured at every width in place of the law, the best width is {} ({} to {} are within one per cent), but members of width {width} reach the baseline's variance only with m = {m:.1}, where the law says {:.1}: rho is {rho:.2}, not {:.2}.",
            measured.dual.width, measured.flat.low, measured.flat.high, law.dual.multiplicity, law.dual.efficiency
        ))
        .figure(figure, "The dual with measured variances, and by the law.")
        .table(table, "Both at the width that the law finds best.")
}
