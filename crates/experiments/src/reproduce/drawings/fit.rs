//! Algorithm 1 as the paper's appendix draws it, and its results in a sentence each.

use collegial_ntk::Fit;
use collegial_ntk::fit::{Point as FitPoint, Source};
use collegial_report::{Axis, Figure, Line, Point, Points};

/// α, with its interval where it was sampled.
pub fn alpha_sentence(fit: &Fit) -> String {
    let Fit { module, alpha, alpha_ci, intercept, r_squared, .. } = fit;
    let interval = match fit.source {
        Source::Exact => "exact".to_owned(),
        Source::Sampled => format!("95 % interval {:.3} to {:.3}", alpha_ci.low, alpha_ci.high),
    };
    format!("{module}: alpha = {alpha:.3}, {interval}, intercept {intercept:+.4}, r^2 = {r_squared:.4}")
}

/// Where the points come from, and what the interval covers.
pub fn source_sentence(fit: &Fit) -> String {
    let Fit { trials, inputs, .. } = fit;
    match (fit.source, fit.input_spread) {
        (Source::Exact, _) => "exact moments, averaged over standard normal inputs; nothing was drawn".into(),
        (Source::Sampled, Some(spread)) => format!(
            "{trials} draws per width at one standard normal input, as Algorithm 1 is printed; the interval is for the average \
             over inputs: it covers the draws and the choice of the input (alpha's standard deviation over inputs is {spread:.3})"
        ),
        (Source::Sampled, None) if *inputs > 1 => format!(
            "at least {trials} draws per width, at {inputs} standard normal inputs; the interval covers the draws and the choice \
             of the inputs"
        ),
        (Source::Sampled, None) => format!(
            "{trials} draws per width at one standard normal input, as Algorithm 1 is printed; the interval is for this input: \
             it covers the draws, not the choice of the input"
        ),
    }
}

/// Whether the law holds.
pub fn verdict_sentence(fit: &Fit) -> String {
    let law = &fit.law;
    match (law.holds, fit.source) {
        (None, _) => "two widths cannot tell whether the law holds".into(),
        (Some(true), Source::Exact) => "the law holds for these widths".into(),
        (Some(true), Source::Sampled) => {
            format!("the law holds for these widths: noise explains the residuals (p = {:.2})", law.p_value)
        }
        (Some(false), Source::Exact) => "warning: the law holds only approximately for these widths".into(),
        (Some(false), Source::Sampled) => {
            let p_value = if law.p_value < 1e-6 {
                "p < 0.000001".to_owned()
            } else {
                format!("p = {:.6}", law.p_value)
            };
            format!(
                "warning: the law holds only approximately for these widths: residuals are larger than noise explains ({p_value})"
            )
        }
    }
}

/// How far the law's variance is from the points', at the width where it is farthest.
pub fn model_error_sentence(fit: &Fit) -> String {
    let off = |point: &FitPoint| (point.law_variance / point.variance() - 1.0).abs();
    let known = fit.points.iter().filter(|point| point.variance() > 0.0);
    let Some(point) = known.max_by(|a, b| off(a).total_cmp(&off(b))) else {
        return "no variance was measured that the law could be compared with".into();
    };
    let whose = match fit.source {
        Source::Exact => "exact",
        Source::Sampled => "measured",
    };
    format!(
        "model error: the law's variance e^(alpha S) - 1 is up to {:.0} % off the {whose} one (width {}: {:.4}, {whose} {:.4})",
        100.0 * off(point),
        point.width,
        point.law_variance,
        point.variance()
    )
}

/// The paper's appendix figure: ln of the second moment against S(n), with the fitted line.
pub fn figure(fit: &Fit) -> Figure {
    let points = fit.points.iter().map(|point| {
        let error = 1.96 * point.standard_error / point.second_moment_ratio;
        Point::new(point.inverse_fan_in_sum, point.second_moment_ratio.ln()).error(error)
    });
    let ends = fit.points.iter().map(|point| point.inverse_fan_in_sum);
    let line = ends.map(|sum| (sum, fit.intercept + fit.alpha * sum)).filter(|(_, y)| *y > 0.0);
    Figure::new(format!("Second moment of the kernel of {}", fit.module))
        .x(Axis::log("sum of inverse fan-ins S(n)"))
        .y(Axis::log("ln(E[K²] / E[K]²)"))
        .with(Points::new("measured, 95 % intervals", points))
        .with(Line::new(format!("fitted line, alpha = {:.2}", fit.alpha), line))
        .describe(alpha_sentence(fit))
}

/// How far the measurements are from the line.
pub fn residual_figure(fit: &Fit) -> Figure {
    let points = fit.points.iter().map(|point| {
        let error = 1.96 * point.standard_error / point.second_moment_ratio;
        Point::new(point.width as f64, point.residual).error(error)
    });
    let ends = [fit.points.first(), fit.points.last()];
    let zero = ends.into_iter().flatten().map(|point| (point.width as f64, 0.0));
    Figure::new("Residuals of the fit")
        .x(Axis::log("width n"))
        .y(Axis::linear("measured minus line, in ln"))
        .with(Points::new("residual, 95 % intervals", points))
        .with(Line::new("the law", zero))
        .describe(verdict_sentence(fit))
}
