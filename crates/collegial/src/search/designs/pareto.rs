//! The designs that nothing beats, as pictures: variance over each cost.

use collegial_arch::Cost;
use collegial_report::{
    Align, Axis, Figure, Line, Mark, Marker, Point, Points, Section, Stroke, Table, Tone, grouped,
    significant,
};
use collegial_search::{DesignOptimum, ParetoDesign, Redesigned};

use super::Designs;
use super::sentences::fewer;

impl Designs {
    /// Variance over parameters, over FLOPs, and over every other cost that is compared, time too
    /// where it was measured.
    pub(super) fn fronts(&self) -> impl Iterator<Item = (Cost, Figure)> {
        let has = |cost: &Cost| self.answer.pareto.iter().any(|row| row.fronts.contains(cost));
        let costs = [Cost::Params, Cost::Flops, Cost::Activations, Cost::Time];
        costs.into_iter().filter(has).map(|cost| (cost, self.front(cost)))
    }

    fn front(&self, cost: Cost) -> Figure {
        let answer = &self.answer;
        let mut rows: Vec<(f64, &ParetoDesign)> = answer
            .pareto
            .iter()
            .filter(|row| row.fronts.contains(&cost))
            .filter_map(|row| Some((price(cost, &row.network)?, row)))
            .collect();
        rows.sort_by(|one, other| one.0.total_cmp(&other.0));
        let title = |at: f64, row: &ParetoDesign| {
            let name = self.design_text(row.design);
            format!("{name}: {}, {:.2} times less variance", written(cost, at), row.network.score_ratio)
        };
        let points = rows.iter().map(|&(at, row)| Point::new(at, row.network.score).title(title(at, row)));
        let axis = if cost == Cost::Time { "time, the baseline's being 1" } else { cost.unit() };
        let figure = Figure::new(format!("Variance against {}", cost.unit()))
            .file(format!("pareto-{cost}"))
            .x(Axis::log(axis))
            .y(Axis::log("mean kernel variance of the blocks"))
            .with(
                Line::new("", rows.iter().map(|&(at, row)| (at, row.network.score)))
                    .stroke(Stroke::Solid)
                    .tone(Tone::Other),
            )
            .with(Points::new("nothing beats it", points).marker(Marker::Circle).tone(Tone::Other));
        let own = match cost {
            Cost::Params => answer.baseline_parameters as f64,
            Cost::Flops => answer.baseline_flops as f64,
            Cost::Activations => answer.baseline_activations as f64,
            Cost::Time => 1.0,
        };
        let baseline =
            Point::new(own, answer.baseline_score).title(format!("{}, the baseline", answer.baseline));
        let figure = figure.with(Points::new("baseline", [baseline]).marker(Marker::Ring).tone(Tone::Base));
        let mark = |figure: Figure, (best, tone): (&DesignOptimum, Tone)| match price(cost, &best.network) {
            Some(at) => {
                figure.with(Mark::new(self.design_text(best.design), at, best.network.score).tone(tone))
            }
            None => figure,
        };
        let optima = [(&answer.primal, Tone::Cost), (&answer.dual, Tone::Variance)];
        optima.into_iter().fold(figure, mark).describe(format!(
            "Designs that nothing beats in both variance and {}, from {} to {}.",
            cost.unit(),
            rows.first().map_or(String::new(), |(at, _)| written(cost, *at)),
            rows.last().map_or(String::new(), |(at, _)| written(cost, *at)),
        ))
    }

    pub(super) fn fronts_section(&self) -> Section {
        let panel = |(cost, figure): (Cost, Figure)| {
            let best =
                [self.answer.primal.design, self.answer.dual.design].map(|design| self.design_text(design));
            (
                figure,
                format!(
                    "Lower and further left is better: whatever has less variance than a point has more {}. Marked: {}, the best at the same cost, and {}, the best at the same variance.",
                    cost.unit(),
                    best[0],
                    best[1]
                ),
            )
        };
        Section::new("Variance against cost")
            .figures(self.fronts().map(panel))
            .table(self.fronts_table(), "The designs of the figures. No design with as little variance has less of what is under \"unbeaten in\".")
    }

    /// The designs of all fronts and both optima, by the whole network's parameters.
    fn fronts_table(&self) -> Table {
        let answer = &self.answer;
        let timed = answer.pareto.iter().any(|row| row.network.time_share.is_some());
        let cost = answer.cost.first();
        let fewer = format!("times {} {}", fewer(cost), cost.unit());
        let time = timed.then_some("time share");
        let numbers = ["parameters", "FLOPs", "activations"].into_iter().chain(time);
        let numbers = numbers.chain(["variance", "times less variance", &fewer]);
        let mut columns = vec![("design", Align::Left)];
        columns.extend(numbers.map(|name| (name, Align::Right)));
        columns.extend([("unbeaten in", Align::Left), ("best at", Align::Left)]);
        let mut table = Table::new(&columns);
        for row in &answer.pareto {
            let network = &row.network;
            let costs: Vec<&str> = row.fronts.iter().map(|cost| cost.unit()).collect();
            let primal = row.primal.then(|| self.primal_group());
            let best: Vec<&str> = primal.into_iter().chain(row.dual.then_some("same variance")).collect();
            let mut cells = vec![self.design_text(row.design)];
            cells.extend([network.parameters, network.flops, network.activations].map(grouped));
            let share = |share: Option<f64>| share.map_or("-".to_owned(), |share| format!("{share:.3}"));
            cells.extend(timed.then(|| share(network.time_share)));
            cells.push(significant(network.score, 3));
            cells.extend([network.score_ratio, network.cost_ratio].map(|ratio| format!("{ratio:.2} x")));
            cells.extend([costs.join(", "), best.join(", ")]);
            table.push_row(cells);
        }
        table
    }
}

/// What a network costs; its time as a share of the baseline's.
fn price(cost: Cost, network: &Redesigned) -> Option<f64> {
    match cost {
        Cost::Params => Some(network.parameters as f64),
        Cost::Flops => Some(network.flops as f64),
        Cost::Activations => Some(network.activations as f64),
        Cost::Time => network.time_share,
    }
}

fn written(cost: Cost, price: f64) -> String {
    match cost {
        Cost::Time => format!("{price:.3} of the baseline's time"),
        _ => format!("{} {}", grouped(price as u64), cost.unit()),
    }
}
