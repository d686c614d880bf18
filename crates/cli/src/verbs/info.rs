//! `collegial info`: what is in a network, layer by layer and in all.

use clap::Args;
use collegial_arch::{LayerCounts, MAX_DIMENSION, Spec};
use collegial_report::{Align, Table, grouped};
use serde::Serialize;

use crate::arguments::{Common, Format, Model};
use crate::failure::Failure;
use crate::output::{Document, print};

/// Count a network's parameters, FLOPs and activations, per layer and in all
///
/// FLOPs are 2 per multiply-accumulate, 1 per element of a batch norm's output and 1 per element of a residual
/// sum; activations are the elements that convolutions and dense layers put out.
///
/// MODEL can also be the path of a checkpoint, of a run's directory, or of an exported ONNX file.
#[derive(Args)]
pub struct Info {
    #[command(flatten)]
    model: Model,
    /// Print the model as a TOML spec instead, to be edited and given back in place of a name
    #[arg(long)]
    spec: bool,
    /// Images per training step, for the bytes it needs
    #[arg(long, value_name = "IMAGES", default_value_t = 128, value_parser = batch_size, allow_negative_numbers = true)]
    batch: usize,
}

fn batch_size(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(batch) if (1..=MAX_DIMENSION).contains(&batch) => Ok(batch),
        _ => Err(format!("it must be a number between 1 and {MAX_DIMENSION}")),
    }
}

/// The JSON form; scripts rely on its keys.
#[derive(Serialize)]
pub struct Counted {
    model: String,
    parameters: u64,
    flops: u64,
    macs: u64,
    activations: u64,
    weight_bytes: u128,
    batch: usize,
    training_bytes: u128,
    layers: Vec<LayerCounts>,
    spec: Spec,
}

/// Runs the verb.
pub fn run(verb: &Info, common: &Common) -> Result<(), Failure> {
    match common.format() {
        Format::Csv | Format::Table if verb.spec => print(&verb.model.spec()?.to_toml()),
        format => answer(verb)?.show(format),
    }
}

/// Counts.
pub fn answer(verb: &Info) -> Result<Counted, Failure> {
    let spec = verb.model.spec()?;
    let counts = spec.graph()?.counts()?;
    Ok(Counted {
        model: spec.name(),
        parameters: counts.total.parameters,
        flops: counts.total.flops,
        macs: counts.total.macs,
        activations: counts.total.activations,
        weight_bytes: counts.weight_bytes(),
        batch: verb.batch,
        training_bytes: counts.training_bytes(verb.batch),
        layers: counts.layers,
        spec,
    })
}

impl Document for Counted {
    fn text(&self) -> String {
        format!("{}\n{}\n", self.table(true).to_text(), self.sentences().join("\n"))
    }

    fn data(&self) -> Table {
        self.table(false)
    }

    fn summary(&self) -> (Vec<String>, Table) {
        (self.sentences(), self.table(true))
    }
}

impl Counted {
    /// Thousands are set apart for people, not for spreadsheets.
    fn table(&self, for_people: bool) -> Table {
        let number = |value: u64| if for_people { grouped(value) } else { value.to_string() };
        let mut table = Table::new(&[
            ("layer", Align::Left),
            ("kind", Align::Left),
            ("output", Align::Right),
            ("parameters", Align::Right),
            ("FLOPs", Align::Right),
            ("activations", Align::Right),
        ]);
        for layer in &self.layers {
            table.push([
                layer.name.clone(),
                layer.kind.clone(),
                layer.output.map(|side| side.to_string()).join("x"),
                number(layer.counts.parameters),
                number(layer.counts.flops),
                number(layer.counts.activations),
            ]);
        }
        table
    }

    fn sentences(&self) -> Vec<String> {
        let counts = format!(
            "{}: {} parameters, {} FLOPs and {} activations per image",
            self.model,
            grouped(self.parameters),
            grouped(self.flops),
            grouped(self.activations),
        );
        let memory = format!(
            "{} of weights; a training step of {} images holds at least {}",
            bytes(self.weight_bytes),
            self.batch,
            bytes(self.training_bytes),
        );
        vec![counts, memory]
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
