//! The HTML page of a search: the verdict, the evidence, and the data behind it.

use collegial_experiments::reproduce::drawings;
use collegial_ntk::Fit;
use collegial_report::{Download, Page, Provenance, Section, capitalised};
use collegial_search::paper::Answer;

use super::{Paper, view};
use crate::fit::view as fit_view;

/// Builds the page; `json` is the answer as scripts get it, offered for download.
pub fn page(paper: &Paper, json: &str, provenance: Provenance) -> Page {
    let Paper { answer, exact, fit, .. } = paper;
    let mut page = Page::new(format!("The best members for {}", answer.baseline))
        .subject(&answer.baseline)
        .cards(view::cards(answer))
        .verdict(sentences(&view::beyond_cards(answer)))
        .section(optimum(answer, exact.as_ref()))
        .section(designs(answer, exact.as_ref()));
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

fn optimum(answer: &Answer, exact: Option<&Answer>) -> Section {
    let duality = if answer.strong_duality {
        "Both problems have the same optimal width, as theory says (strong duality)."
    } else {
        "The two problems have different optimal widths here, which theory rules out: noise in the variances decides."
    };
    let prose = format!(
        "{duality} Members of width {} are best: m = {:.2} of them spend the baseline's budget on the single block, m = {:.2} reach its variance with {:.2} times less.",
        answer.primal.width, answer.primal.multiplicity, answer.dual.multiplicity, answer.dual.efficiency
    );
    let gap = exact.and_then(|exact| drawings::search::gap_sentence(answer, exact));
    let gap = gap.map_or(String::new(), |gap| format!(" {gap}."));
    Section::new("The optimum").prose(prose).figures([
        (
            drawings::search::primal_figure(answer, exact),
            format!("Lower is better. As many members as the budget pays for.{gap}"),
        ),
        (
            drawings::search::dual_figure(answer, exact),
            "Higher is better. As few members as reach the baseline's variance.".to_owned(),
        ),
    ])
}

fn designs(answer: &Answer, exact: Option<&Answer>) -> Section {
    Section::new("Designs worth trying")
        .prose(
            "Whole networks after the integer correction. Rho is the baseline's cost divided by the design's. The last column says how far a width's objective is from the \
             optimum's on the single block; below one per cent the difference is hardly measurable, so pick what the hardware likes.",
        )
        .table(
            view::table(answer, exact),
            "Counts are of the whole network, FLOPs as a share of the baseline's; variances are the analysed block's.",
        )
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
