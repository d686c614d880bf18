//! The HTML page of a search: the verdict, the evidence, and the data behind it.

use collegial_ntk::Fit;
use collegial_report::{Download, Page, Provenance, Section};
use collegial_reproduce::drawings;
use collegial_search::paper::Answer;

use super::view;
use crate::fit::view as fit_view;

/// Builds the page; `json` is the answer as scripts get it, offered for download.
pub fn page(answer: &Answer, fit: Option<&Fit>, json: &str, provenance: Provenance) -> Page {
    let mut page = Page::new(format!("The best members for {}", answer.baseline))
        .verdict(sentences(&view::verdict(answer)))
        .section(optimum(answer))
        .section(designs(answer));
    if let Some(section) = stages(answer) {
        page = page.section(section);
    }
    if let Some(fit) = fit {
        page = page.section(alpha(fit));
    }
    page.section(reading(answer)).section(data(answer, json)).provenance(provenance)
}

/// Sentences in a row, each with its full stop.
fn sentences(parts: &[String]) -> String {
    let closed = parts.iter().map(|part| if part.ends_with('.') { part.clone() } else { format!("{part}.") });
    closed.collect::<Vec<_>>().join(" ")
}

fn optimum(answer: &Answer) -> Section {
    let duality = if answer.strong_duality {
        "Both problems have the same optimal width, as theory says (strong duality)."
    } else {
        "The two problems have different optimal widths here, which theory rules out: noise in the variances decides."
    };
    let prose = format!(
        "{duality} Members of width {} are best: m = {:.2} of them spend the baseline's budget on the single block, m = {:.2} reach its variance with {:.2} times less.",
        answer.primal.width, answer.primal.multiplicity, answer.dual.multiplicity, answer.dual.efficiency
    );
    Section::new("The optimum").prose(prose).figures([
        (
            drawings::search::primal_figure(answer),
            "Lower is better: the kernel's variance at the baseline's cost.".to_owned(),
        ),
        (
            drawings::search::dual_figure(answer),
            "Higher is better: what the same variance costs less.".to_owned(),
        ),
    ])
}

fn designs(answer: &Answer) -> Section {
    Section::new("Designs worth trying")
        .prose(
            "Whole networks after the integer correction. Rho is the baseline's cost divided by the design's. The last column says how far a width's objective is from the \
             optimum's on the single block; below one per cent the difference is hardly measurable, so pick what the hardware likes.",
        )
        .table(view::table(answer), "Counts are of the whole network; the variance is the analysed block's.")
}

fn stages(answer: &Answer) -> Option<Section> {
    let stages = view::stage_table(answer).map(|table| {
        Section::new("Each stage by itself")
            .prose("Later stages have more channels and so optima of their own. The gain is in efficiency of that stage's block.")
            .table(table, "The common width is what one design for all stages has there.")
    });
    let free = view::free_widths_sentence(answer)
        .map(|sentence| Section::new("Every layer's width free").prose(sentences(&[capitalised(&sentence)])));
    match (stages, free) {
        (Some(stages), Some(free)) => Some(stages.details(free)),
        (stages, free) => stages.or(free),
    }
}

fn alpha(fit: &Fit) -> Section {
    let widths =
        Section::new("The measured widths").table(fit_view::table(fit), "Residuals are in ln of the ratio.");
    Section::new("The fit of alpha")
        .prose(sentences(&[
            drawings::fit::alpha_sentence(fit),
            capitalised(&drawings::fit::verdict_sentence(fit)),
        ]))
        .figures([
            (
                drawings::fit::figure(fit),
                "The second moment of the kernel against the sum of inverse fan-ins.".to_owned(),
            ),
            (drawings::fit::residual_figure(fit), "How far the measurements are from the line.".to_owned()),
        ])
        .details(widths)
}

fn reading(answer: &Answer) -> Section {
    Section::new("How to read this").prose(format!(
        "The analysis was made on {}; {}.{} The variance is that of one diagonal entry of the empirical tangent kernel at \
         initialisation, in units of its squared mean. A member's cost counts its norms, the one on its output included.\n\n\
         The law behind the curve is an approximation, and so is the step from one block to a network: the paper shows that designs near the \
         optimum train better, not that the third digit of a curve matters.",
        answer.analysed,
        view::source_sentence(answer),
        view::exact_sentence(answer).map_or(String::new(), |sentence| format!(" {}.", capitalised(&sentence)))
    ))
}

fn data(answer: &Answer, json: &str) -> Section {
    Section::new("Data")
        .download(Download::json("search.json", json))
        .download(Download::csv("curve.csv", view::curve_table(&answer.curve).to_csv()))
}

fn capitalised(sentence: &str) -> String {
    let mut letters = sentence.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}
