//! Algorithm 1 as the paper's appendix draws it, and what came out in a sentence each.

use collegial_ntk::Fit;
use collegial_report::{Axis, Figure, Line, Point, Points};

/// α with its interval.
pub fn alpha_sentence(fit: &Fit) -> String {
    format!(
        "{}: alpha = {:.3}, 95 % interval {:.3} to {:.3}, intercept {:+.4}, r^2 = {:.4}",
        fit.module, fit.alpha, fit.alpha_ci.low, fit.alpha_ci.high, fit.intercept, fit.r_squared
    )
}

/// Whether the law holds.
pub fn verdict_sentence(fit: &Fit) -> String {
    let law = &fit.law;
    match law.holds {
        None => return "two widths cannot tell whether the law holds".into(),
        Some(true) => {
            return format!(
                "the law holds for these widths: noise explains the residuals (p = {:.2})",
                law.p_value
            );
        }
        Some(false) => {}
    }
    let p_value =
        if law.p_value < 1e-6 { "p < 0.000001".to_owned() } else { format!("p = {:.6}", law.p_value) };
    format!(
        "warning: the law holds only approximately for these widths: ratios are up to {:.1} % off the line, more than noise explains ({p_value})",
        100.0 * law.largest_misfit
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
