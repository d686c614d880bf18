//! The points of a fit as a table.

use collegial_ntk::Fit;
use collegial_report::{Align, Table, significant};

/// One row per width.
pub fn table(fit: &Fit) -> Table {
    let mut table = Table::new(&[
        ("width", Align::Right),
        ("S(n)", Align::Right),
        ("E[K^2]/E[K]^2", Align::Right),
        ("+-", Align::Right),
        ("variance", Align::Right),
        ("law's", Align::Right),
        ("residual", Align::Right),
        ("trials", Align::Right),
    ]);
    for point in &fit.points {
        table.push([
            point.width.to_string(),
            significant(point.inverse_fan_in_sum, 5),
            significant(point.second_moment_ratio, 6),
            significant(point.standard_error, 2),
            significant(point.variance(), 4),
            significant(point.law_variance, 4),
            format!("{:+.4}", point.residual),
            point.trials.to_string(),
        ]);
    }
    table
}
