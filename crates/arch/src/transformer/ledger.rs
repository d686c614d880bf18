//! Counts of layers that no graph has, line by line.

use crate::counts::{LayerCounts, Wide};
use crate::{Counts, Error};

/// The lines so far.
#[derive(Default)]
pub(super) struct Ledger {
    prefix: String,
    layers: Vec<LayerCounts>,
    sums: Wide,
    stored: u128,
}

/// A matrix that every position is multiplied by.
pub(super) struct Matrix {
    pub inputs: usize,
    pub outputs: usize,
    pub groups: usize,
    pub bias: bool,
}

impl Matrix {
    pub fn new(inputs: usize, outputs: usize, bias: bool) -> Self {
        Self { inputs, outputs, groups: 1, bias }
    }
}

impl Ledger {
    /// What names of the following lines begin with.
    pub fn begin(&mut self, prefix: String) {
        self.prefix = prefix;
    }

    /// A dense layer at every one of these positions.
    pub fn dense(&mut self, name: &str, positions: usize, matrix: &Matrix) -> Result<(), Error> {
        let Matrix { inputs, outputs, groups, bias } = *matrix;
        let weights = inputs as u128 * outputs as u128 / groups as u128;
        let biases = if bias { outputs as u128 } else { 0 };
        let macs = weights * positions as u128;
        let wide = Wide {
            parameters: weights + biases,
            macs,
            flops: 2 * macs,
            activations: outputs as u128 * positions as u128,
        };
        let kind = if groups > 1 { format!("dense, {groups} groups") } else { "dense".into() };
        self.line(name, &kind, [outputs, positions, 1], wide)
    }

    /// A dense layer whose weights were counted elsewhere.
    pub fn product(
        &mut self,
        name: &str,
        kind: &str,
        positions: usize,
        inputs: usize,
        outputs: usize,
    ) -> Result<(), Error> {
        let activations = positions as u128 * outputs as u128;
        let macs = activations * inputs as u128;
        let wide = Wide { parameters: 0, macs, flops: 2 * macs, activations };
        self.line(name, kind, [outputs, positions, 1], wide)
    }

    /// A table of parameters, which costs nothing to read.
    pub fn table(&mut self, name: &str, kind: &str, rows: usize, features: usize) -> Result<(), Error> {
        let parameters = rows as u128 * features as u128;
        let wide = Wide { parameters, ..Wide::default() };
        if parameters == 0 {
            return Ok(());
        }
        self.line(name, kind, [features, rows, 1], wide)
    }

    /// A norm with so many parameters per feature.
    pub fn norm(
        &mut self,
        name: &str,
        kind: &str,
        positions: usize,
        features: usize,
        each: usize,
    ) -> Result<(), Error> {
        let flops = positions as u128 * features as u128;
        let parameters = (each * features) as u128;
        let wide = Wide { parameters, flops, ..Wide::default() };
        self.line(name, kind, [features, positions, 1], wide)
    }

    /// Sums or products of two arrays, element by element.
    pub fn pointwise(
        &mut self,
        name: &str,
        kind: &str,
        positions: usize,
        features: usize,
    ) -> Result<(), Error> {
        let flops = positions as u128 * features as u128;
        self.line(name, kind, [features, positions, 1], Wide { flops, ..Wide::default() })
    }

    /// The same matrix of other experts: their parameters alone.
    pub fn rest(&mut self, name: &str, experts: usize, each: u128) -> Result<(), Error> {
        let wide = Wide { parameters: experts as u128 * each, ..Wide::default() };
        self.line(&format!("{name}.others"), &format!("of {experts} other experts"), [0, 0, 0], wide)
    }

    /// Any line.
    pub fn line(&mut self, name: &str, kind: &str, output: [usize; 3], wide: Wide) -> Result<(), Error> {
        self.sums.add(&wide);
        self.stored += output.iter().map(|&side| side as u128).product::<u128>();
        let name = format!("{}{name}", self.prefix);
        self.layers.push(LayerCounts { name, kind: kind.to_owned(), output, counts: wide.narrow()? });
        Ok(())
    }

    /// All of them.
    pub fn finish(self) -> Result<Counts, Error> {
        Counts::of_lines(self.layers, &self.sums, self.stored)
    }
}
