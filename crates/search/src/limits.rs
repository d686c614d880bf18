//! Limits on the designs that a search may choose from.

use crate::error::check_widths;
use crate::{Costs, Error, Rule};

/// What designs may cost, how wide they may be, and how many members they may have.
#[derive(Clone, Debug)]
pub struct Limits {
    pub(crate) costs: Costs,
    pub(crate) tolerance: f64,
    pub(crate) rule: Option<Rule>,
    pub(crate) budget: Option<u64>,
    pub(crate) widths: Option<Vec<usize>>,
    pub(crate) multiple_of: usize,
    pub(crate) max_multiplicity: Option<usize>,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            costs: Costs::default(),
            tolerance: 0.0,
            rule: None,
            budget: None,
            widths: None,
            multiple_of: 1,
            max_multiplicity: None,
        }
    }
}

impl Limits {
    /// The baseline's parameters, and any width up to the baseline's.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the cost β, or several of which none may rise. By default parameters.
    #[must_use]
    pub fn cost(self, costs: impl Into<Costs>) -> Self {
        Self { costs: costs.into(), ..self }
    }

    /// Sets by which share a design may cost more than is allowed: 0.02 is two per cent. By default
    /// by nothing.
    #[must_use]
    pub fn tolerance(self, tolerance: f64) -> Self {
        Self { tolerance, ..self }
    }

    /// Sets how the primal's multiplicity is rounded. By default a search over designs stays within
    /// the budget, and Algorithm 2 goes to the nearest.
    #[must_use]
    pub fn rule(self, rule: impl Into<Option<Rule>>) -> Self {
        Self { rule: rule.into(), ..self }
    }

    /// Sets what the whole network may cost, by the first cost. By default what the baseline costs.
    #[must_use]
    pub fn budget(self, budget: impl Into<Option<u64>>) -> Self {
        Self { budget: budget.into(), ..self }
    }

    /// Sets which widths to look at. By default all up to the whole inner width m n of the baseline,
    /// in Algorithm 2 to the width n of one of its members.
    #[must_use]
    pub fn widths(self, widths: impl Into<Option<Vec<usize>>>) -> Self {
        Self { widths: widths.into(), ..self }
    }

    /// Keeps to widths that are a multiple of this (8 is kind to hardware). By default of 1.
    #[must_use]
    pub fn multiple_of(self, multiple_of: usize) -> Self {
        Self { multiple_of, ..self }
    }

    /// Sets the largest number of members. By default there is no limit.
    #[must_use]
    pub fn max_multiplicity(self, most: impl Into<Option<usize>>) -> Self {
        Self { max_multiplicity: most.into(), ..self }
    }

    /// What a cost may come to, where so much is allowed.
    pub(crate) fn limit(&self, allowed: u64) -> u64 {
        allowed.saturating_add((allowed as f64 * self.tolerance) as u64)
    }

    /// What widths must be a multiple of.
    pub(crate) fn step(&self) -> Result<usize, Error> {
        if self.multiple_of == 0 {
            Err(Error::Invalid("widths cannot be a multiple of 0; give 1 or more".into()))
        } else {
            Ok(self.multiple_of)
        }
    }

    /// The widths up to `most` to look at, ascending, and listed ones that are not allowed.
    pub(crate) fn candidates(&self, most: usize) -> Result<(Vec<usize>, Vec<usize>), Error> {
        let step = self.step()?;
        let Some(widths) = &self.widths else {
            check_widths(most, step)?;
            return Ok(((step..=most).step_by(step).collect(), vec![]));
        };
        let mut widths = widths.clone();
        widths.sort_unstable();
        widths.dedup();
        let allowed = |width: &usize| (1..=most).contains(width) && width.is_multiple_of(step);
        Ok(widths.into_iter().partition(allowed))
    }
}
