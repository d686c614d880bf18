//! `info`: what is in a network, layer by layer and in all.

use collegial_arch::{LayerCounts, MAX_DIMENSION, Spec, Totals};
use collegial_report::{Align, Table, grouped};
use serde::Serialize;
use std::num::NonZeroUsize;

use crate::model::{self, Source};
use crate::options::options;
use crate::{Answer, Error, InvalidRequest, Model, Monitor};

options! {
    /// Count a network's parameters, FLOPs and activations, per layer and in all
    ///
    /// FLOPs are 2 per multiply-add, and 1 per element of a batch norm's output or of a residual sum.
    /// --macs shows multiply-adds instead, as timm and fvcore count: 2 per element of a batch norm,
    /// 1 per element that a global average reads, none of a sum. Activations are the elements that
    /// convolutions and dense layers put out.
    ///
    /// MODEL can also be the path of a checkpoint, of a run's directory, or of an exported ONNX file.
    #[command(after_help = "Example:\n  collegial info resnext50-32x4d --batch 256")]
    #[serde(deny_unknown_fields)]
    pub struct Request {
        /// The network
        #[command(flatten)]
        pub model: Model,
        /// Images per training step, for the bytes it needs
        #[arg(long, value_name = "IMAGES", allow_negative_numbers = true)]
        pub batch: usize = 128,
        /// Show multiply-adds in place of FLOPs, as timm and fvcore count
        #[arg(long)]
        pub macs: bool,
        /// Sum layers whose names begin with the same so many parts: 1 for stages, 2 for blocks
        #[arg(long, value_name = "PARTS")]
        pub depth: Option<NonZeroUsize>,
    }
}

/// Its counts.
#[derive(Clone, Debug, Serialize)]
pub struct InfoAnswer {
    /// Its name.
    pub model: String,
    /// Trainable parameters.
    pub parameters: u64,
    /// Floating-point operations per image.
    pub flops: u64,
    /// Multiply-accumulates per image.
    pub macs: u64,
    /// Elements that convolutions and dense layers put out per image.
    pub activations: u64,
    /// Bytes of all weights.
    pub weight_bytes: u128,
    /// Images per training step.
    pub batch: usize,
    /// Bytes that such a step holds at least.
    pub training_bytes: u128,
    /// One entry per layer, or per group of layers where a depth was asked for.
    pub layers: Vec<LayerCounts>,
    /// The network itself.
    pub spec: Spec,
    /// Why a file may be another network's, where only its tensors say which one it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub doubt: Option<String>,
    /// Whether people are shown multiply-adds.
    #[serde(skip)]
    show_macs: bool,
    /// Whether layers are summed.
    #[serde(skip)]
    summed: bool,
}

/// Counts.
///
/// # Errors
///
/// Where there is no such network, or the batch is out of range.
pub fn run(request: &Request, _monitor: &dyn Monitor) -> Result<InfoAnswer, Error> {
    if !(1..=MAX_DIMENSION).contains(&request.batch) {
        let (value, high) = (request.batch as f64, MAX_DIMENSION as f64);
        return Err(InvalidRequest::out_of_range("batch", value, 1.0, high).into());
    }
    let source = request.model.open()?;
    let doubt = match &source {
        Source::Weights(file) => model::doubt(file),
        Source::Spec(_) => None,
    };
    let spec = source.into_spec().with(&request.model.overrides())?;
    let counts = spec.counts()?;
    Ok(InfoAnswer {
        model: spec.name(),
        parameters: counts.total.parameters,
        flops: counts.total.flops,
        macs: counts.total.macs,
        activations: counts.total.activations,
        weight_bytes: counts.weight_bytes(),
        batch: request.batch,
        training_bytes: counts.training_bytes(request.batch),
        layers: match request.depth {
            Some(depth) => summed(&counts.layers, depth.get()),
            None => counts.layers,
        },
        spec,
        doubt,
        show_macs: request.macs,
        summed: request.depth.is_some(),
    })
}

impl Answer for InfoAnswer {
    fn table(&self) -> Table {
        self.layer_table(false)
    }

    fn summary(&self) -> (Vec<String>, Table) {
        (self.sentences(), self.layer_table(true))
    }
}

/// Neighbouring layers whose names share their first parts, as one.
fn summed(layers: &[LayerCounts], depth: usize) -> Vec<LayerCounts> {
    let stem = |layer: &LayerCounts| layer.name.split('.').take(depth).collect::<Vec<_>>().join(".");
    let together = layers.chunk_by(|a, b| stem(a) == stem(b));
    together.filter_map(|group| Some(sum(stem(group.first()?), group))).collect()
}

fn sum(name: String, layers: &[LayerCounts]) -> LayerCounts {
    let [first @ .., last] = layers else { unreachable!("groups have layers") };
    let kind = if first.is_empty() { last.kind.clone() } else { format!("{} layers", layers.len()) };
    let total = |count: fn(&Totals) -> u64| layers.iter().map(|layer| count(&layer.counts)).sum();
    let counts = Totals {
        parameters: total(|counts| counts.parameters),
        macs: total(|counts| counts.macs),
        flops: total(|counts| counts.flops),
        activations: total(|counts| counts.activations),
    };
    LayerCounts { name, kind, output: last.output, counts }
}

impl InfoAnswer {
    /// What operations are called, and a layer's or the network's number of them.
    fn operations(&self, flops: u64, macs: u64) -> (&'static str, u64) {
        if self.show_macs { ("multiply-adds", macs) } else { ("FLOPs", flops) }
    }

    /// For people thousands are set apart, and activations of single layers left out for want of
    /// columns; not for spreadsheets.
    fn layer_table(&self, for_people: bool) -> Table {
        let number = |value: u64| if for_people { grouped(value) } else { value.to_string() };
        let of_all = !for_people || self.summed;
        let mut columns = vec![
            ("layer", Align::Left),
            ("kind", Align::Left),
            ("output", Align::Right),
            ("parameters", Align::Right),
            (self.operations(0, 0).0, Align::Right),
        ];
        columns.extend(of_all.then_some(("activations", Align::Right)));
        let mut table = Table::new(&columns);
        for layer in &self.layers {
            let Totals { parameters, flops, macs, activations, .. } = layer.counts;
            let mut cells = vec![
                layer.name.clone(),
                layer.kind.clone(),
                layer.output.map(|side| side.to_string()).join("x"),
                number(parameters),
                number(self.operations(flops, macs).1),
            ];
            cells.extend(of_all.then(|| number(activations)));
            table.push_row(cells);
        }
        table
    }

    fn sentences(&self) -> Vec<String> {
        let (operations, count) = self.operations(self.flops, self.macs);
        let counts = format!(
            "{}: {} parameters, {} {operations}{} and {} activations per image",
            self.model,
            grouped(self.parameters),
            grouped(count),
            if self.show_macs { "" } else { " (2 per multiply-add)" },
            grouped(self.activations),
        );
        let memory = format!(
            "{} of weights; a training step of {} images holds at least {}",
            bytes(self.weight_bytes),
            self.batch,
            bytes(self.training_bytes),
        );
        [counts, memory].into_iter().chain(self.doubt.clone()).collect()
    }
}

/// Bytes with a unit.
fn bytes(count: u128) -> String {
    match count {
        0..10_000 => format!("{count} bytes"),
        10_000..1_000_000 => format!("{:.1} kB", count as f64 / 1e3),
        1_000_000..1_000_000_000 => format!("{:.1} MB", count as f64 / 1e6),
        _ => format!("{:.2} GB", count as f64 / 1e9),
    }
}
