//! Fig. 3: the primal and dual objectives of a fully connected baseline over the width.

use collegial_arch::{Overrides, Spec};
use collegial_report::{Align, Figure, Section, Table, significant};
use collegial_search::Limits;
use collegial_search::paper::{Answer, Exact, Law, Search};
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::reproduce::drawings::search::{dual_figure, gap_sentence, primal_figure};
use crate::reproduce::published;
use crate::reproduce::{Comparison, Context, Error, Experiment, Outcome};

#[derive(Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
struct Settings {
    baseline: String,
    inputs: usize,
    outputs: usize,
    /// Between which alphas the published optimum is looked for, and in what steps.
    alphas: [f64; 2],
    alpha_step: f64,
}

/// Fig. 3.
pub fn run(experiment: &Experiment, context: &Context) -> Result<Outcome, Error> {
    let settings: Settings = experiment.settings(context.scale)?;
    let search = search(&settings)?;
    let alphas = matching_alphas(&settings, &search)?;
    let (Some(low), Some(high)) = (alphas.first(), alphas.last()) else {
        let [low, high] = settings.alphas;
        return Err(Error::experiment(
            "experiments/fig3.toml",
            format!("no alpha between {low} and {high} gives the optimum of Fig. 3"),
        ));
    };
    let alpha = alphas[alphas.len() / 2];
    let answer = search.run(&Law::new(alpha)?)?;
    let exact = search.run(&Exact)?;
    Ok(Outcome {
        sentence: format!(
            "With alpha = {alpha:.2}, members of width {} are best: m = {:.1} of them at the baseline's parameters, m = {:.1} at its variance with {:.2} times fewer parameters. All \
             published numbers hold for alpha from {low:.3} to {high:.3}.",
            answer.primal.width, answer.primal.multiplicity, answer.dual.multiplicity, answer.dual.efficiency
        ),
        comparisons: comparisons(&answer)?,
        figures: figures(&answer, &exact),
        sections: vec![beyond(&answer, &exact)],
        data: json!({
            "alpha": alpha, "alpha_range": [low, high],
            "law": answer, "exact": exact,
        }),
        ..Outcome::default()
    })
}

fn search(settings: &Settings) -> Result<Search, Error> {
    let spec: Spec = settings.baseline.parse()?;
    let ports =
        Overrides { inputs: Some(settings.inputs), outputs: Some(settings.outputs), ..Overrides::default() };
    Ok(Search::new(spec.with(&ports)?))
}

/// The optimum in the order that the paper states it, under the ids of its statements.
fn optimum(answer: &Answer) -> [(&'static str, f64); 5] {
    [
        ("fig3.primal_width", answer.primal.width as f64),
        ("fig3.primal_multiplicity", answer.primal.multiplicity),
        ("fig3.dual_width", answer.dual.width as f64),
        ("fig3.dual_multiplicity", answer.dual.multiplicity),
        ("fig3.efficiency", answer.dual.efficiency),
    ]
}

fn comparisons(answer: &Answer) -> Result<Vec<Comparison>, Error> {
    optimum(answer).into_iter().map(|(id, value)| Comparison::exact_statement(id, value)).collect()
}

/// Every alpha of the grid for which all published numbers come out.
fn matching_alphas(settings: &Settings, search: &Search) -> Result<Vec<f64>, Error> {
    let width = published::value("fig3.primal_width")?.value as usize;
    // A few widths around the published one say whether it is the best, which is all that is asked
    // here.
    let near = search.clone().within(Limits::new().widths((width - 3..=width + 3).collect::<Vec<_>>()));
    let [from, to] = settings.alphas;
    let steps = ((to - from) / settings.alpha_step).round() as usize;
    let mut alphas = vec![];
    for alpha in (0..=steps).map(|step| from + step as f64 * settings.alpha_step) {
        let rows = comparisons(&near.run(&Law::new(alpha)?)?)?;
        if !rows.iter().any(Comparison::fails) {
            alphas.push(alpha);
        }
    }
    Ok(alphas)
}

fn figures(answer: &Answer, exact: &Answer) -> Vec<(Figure, String)> {
    let gap = gap_sentence(answer, exact).map_or(String::new(), |gap| format!(" {gap}."));
    vec![
        (
            primal_figure(answer, Some(exact)),
            format!("Lower is better: the kernel's variance at the baseline's parameters.{gap}"),
        ),
        (
            dual_figure(answer, Some(exact)),
            "Higher is better: how many times fewer parameters have the baseline's variance.".into(),
        ),
    ]
}

/// What the exact variance says.
fn beyond(law: &Answer, exact: &Answer) -> Section {
    let mut table = Table::new(&[
        ("variance", Align::Left),
        ("n", Align::Right),
        ("m primal", Align::Right),
        ("m dual", Align::Right),
        ("rho", Align::Right),
        ("of the baseline", Align::Right),
    ]);
    for (name, answer) in [("the law", law), ("exact", exact)] {
        table.push([
            name.into(),
            answer.primal.width.to_string(),
            format!("{:.2}", answer.primal.multiplicity),
            format!("{:.2}", answer.dual.multiplicity),
            format!("{:.3}", answer.dual.efficiency),
            significant(answer.baseline_variance, 4),
        ]);
    }
    Section::new("With the exact variance")
        .prose(format!(
            "The second moment of this network's kernel is known in closed form. With it in place of the law the optimum is n = {}, \
             m = {:.1} and {:.1}, rho = {:.2}.",
            exact.primal.width, exact.primal.multiplicity, exact.dual.multiplicity, exact.dual.efficiency
        ))
        .table(table, "The optimum by the law and by theory; the last column is the baseline's variance.")
}
