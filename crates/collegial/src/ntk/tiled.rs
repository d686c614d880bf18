//! `ntk` between many inputs: tiles that fit a stated memory, in a file that can be gone on with.

use std::path::{Path, PathBuf};
use std::time::Instant;

use collegial_arch::Spec;
use collegial_core::tensors::TensorTable;
use collegial_nn::memory;
use collegial_ntk::explicit::{Options, Readout, drawn_weights};
use collegial_ntk::tiles::{Cut, Entries, Inputs, Plan, TiledKernel};
use collegial_report::{Align, Table, significant};
use serde::Serialize;
use serde_json::{Value, json};

use super::journal;
use super::kernel_file::KernelFile;
use super::{Basis, Given, Request, content, network};
use crate::{Answer, Error, Monitor, array, files};

/// Memory that it may take where nothing is said and the system does not tell what is free.
const MEMORY: u64 = 4 << 30;

/// A kernel between many inputs, and how it came about.
#[derive(Clone, Debug, Serialize)]
pub struct TiledKernelAnswer {
    /// What it was computed from.
    #[serde(flatten)]
    pub basis: Basis,
    /// Rows and columns, or the length of a diagonal.
    pub shape: Vec<usize>,
    /// The kernel row by row, where it is in no file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kernel: Option<Vec<Vec<f64>>>,
    /// K(x, x), where it is in no file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub diagonal: Option<Vec<f64>>,
    /// The .npy file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<PathBuf>,
    /// Tiles of the kernel.
    pub tiles: usize,
    /// How many of them are finished, by this call or another.
    pub finished: usize,
    /// Inputs of a block: the side of a tile.
    pub side: usize,
    /// Bytes of memory that were planned.
    pub memory: u64,
    /// How long it took.
    pub seconds: f64,
}

/// Computes, or goes on with a file.
///
/// # Errors
///
/// Where network, weights and inputs do not belong together, the memory does not suffice, the file
/// holds another kernel or cannot be written, or the monitor stopped it.
pub fn run(request: &Request, monitor: &dyn Monitor) -> Result<TiledKernelAnswer, Error> {
    files::check_file("out", request.out.as_deref())?;
    let (spec, given) = network(request, monitor)?;
    let (spec, inputs, input) = super::inputs(request, &spec)?;
    let start = Instant::now();
    let problem = Problem::new(request, spec, given, inputs, None)?;
    let (values, plan, finished) = problem.solve(monitor)?;
    let (rows, columns) = plan.shape();
    let diagonal = problem.entries.diagonal;
    let (kernel, diagonal_values) = match values {
        Some(values) if diagonal => (None, Some(values)),
        Some(values) => (Some(values.chunks(columns).map(<[f64]>::to_vec).collect()), None),
        None => (None, None),
    };
    Ok(TiledKernelAnswer {
        basis: Basis {
            model: problem.spec.name(),
            inputs: problem.inputs.len(),
            input,
            weights: problem.source.clone(),
            parametrisation: problem.options.parametrisation,
            norm: problem.options.norm,
            readout: problem.readout(),
            used_weights: problem.weights,
            used_inputs: problem.inputs,
        },
        shape: if diagonal { vec![rows] } else { vec![rows, columns] },
        kernel,
        diagonal: diagonal_values,
        file: request.out.clone(),
        tiles: plan.tiles().len(),
        finished,
        side: plan.cut.side,
        memory: plan.bytes,
        seconds: start.elapsed().as_secs_f64(),
    })
}

/// All that a kernel depends on, and where it goes.
pub(crate) struct Problem<'a> {
    request: &'a Request,
    pub spec: Spec,
    pub options: Options,
    pub entries: Entries,
    pub inputs: Vec<Vec<f32>>,
    /// How many of them have columns.
    columns: usize,
    pub weights: TensorTable,
    /// Where the weights come from.
    pub source: String,
    file: Option<PathBuf>,
}

impl<'a> Problem<'a> {
    pub(crate) fn new(
        request: &'a Request,
        spec: Spec,
        given: Option<Given>,
        inputs: Vec<Vec<f32>>,
        columns: Option<usize>,
    ) -> Result<Self, Error> {
        let mut options = super::options(request, given.as_ref());
        if request.full {
            options.readout = if request.pooled { Readout::PooledTrace } else { Readout::Trace };
        }
        let (weights, file) = match given {
            Some(given) => (given.tensors, Some(given.path)),
            None => (drawn_weights(&spec.graph()?, options.parametrisation, request.seed)?, None),
        };
        let drawn = || format!("drawn, seed {}", request.seed);
        let source = file.as_ref().map_or_else(drawn, |path| path.display().to_string());
        let entries = Entries { by_output: request.full, diagonal: request.diagonal };
        let columns = columns.unwrap_or(inputs.len());
        Ok(Self { request, spec, options, entries, inputs, columns, weights, source, file })
    }

    /// Whose kernel it is, in words.
    pub(crate) fn readout(&self) -> String {
        match (self.entries.by_output, self.options.readout) {
            (true, Readout::PooledTrace) => "all outputs averaged over positions, each".into(),
            (true, _) => "all outputs, each".into(),
            (false, readout) => readout.to_string(),
        }
    }

    fn kernel(&self, cut: Option<Cut>) -> Result<TiledKernel<'_>, Error> {
        let available = || memory::available().map_or(MEMORY, |bytes| bytes / 2);
        let memory = self.request.memory.map_or_else(available, |memory| memory.0);
        let inputs = Inputs { all: &self.inputs, columns: self.columns };
        let graph = self.spec.graph()?;
        TiledKernel::new(&graph, self.options, self.entries, inputs, &self.weights, memory, cut)
            .map_err(|error| self.blamed(error))
    }

    /// The file of weights is named where they do not serve.
    fn blamed(&self, error: collegial_ntk::Error) -> Error {
        match &self.file {
            Some(path) if matches!(error, collegial_ntk::Error::Weights(_)) => content(path, error),
            _ => error.into(),
        }
    }

    /// Computes the tiles: the values where they go to no file, how they were cut, and how many are
    /// finished.
    pub(crate) fn solve(&self, monitor: &dyn Monitor) -> Result<(Option<Vec<f64>>, Plan, usize), Error> {
        let Some(path) = &self.request.out else {
            let mut kernel = self.kernel(None)?;
            let values = self.in_memory(&mut kernel, monitor)?;
            let plan = kernel.plan().clone();
            let count = plan.tiles().len();
            return Ok((Some(values), plan, count));
        };
        let question = self.question();
        let begun = journal::cut(path, &question)?;
        let mut kernel = self.kernel(begun)?;
        let tiles = kernel.plan().tiles();
        if begun.is_none() && tiles.len() == 1 {
            let finished = self.one_tile(&mut kernel, path, monitor)?;
            return Ok((None, kernel.plan().clone(), finished));
        }
        let cut = journal::agree(path, &question, kernel.plan().cut)?;
        if cut != kernel.plan().cut {
            kernel = self.kernel(Some(cut))?;
        }
        let mut file = self.open(path, kernel.plan())?;
        let wanted = self.share(kernel.plan().tiles());
        let missing = file.missing(wanted, monitor)?;
        let result = kernel.run(missing, monitor, &mut |tile, values| file.write(tile, values));
        // What is done before a stop or a failure is kept.
        file.flush()?;
        result.map_err(|error: Error| match error {
            Error::Kernel(error) => self.blamed(error),
            other => other,
        })?;
        let finished = file.finished()?;
        Ok((None, kernel.plan().clone(), finished))
    }

    /// The file of a plan.
    pub(crate) fn open(&self, path: &Path, plan: &Plan) -> Result<KernelFile, Error> {
        KernelFile::open(path, plan.shape(), if self.entries.diagonal { 1 } else { 2 })
    }

    fn share<T>(&self, mut tiles: Vec<T>) -> Vec<T> {
        let Some(share) = self.request.tiles else { return tiles };
        let range = share.range(tiles.len());
        tiles.drain(range).collect()
    }

    /// A kernel of one tile is written as any other file is: there is nothing to go on with.
    fn one_tile(
        &self,
        kernel: &mut TiledKernel<'_>,
        path: &Path,
        monitor: &dyn Monitor,
    ) -> Result<usize, Error> {
        if self.share(kernel.plan().tiles()).is_empty() {
            return Ok(0);
        }
        let values = self.in_memory(kernel, monitor)?;
        let rows = kernel.plan().shape().0;
        let npy = if self.entries.diagonal {
            array::write_vector(values)
        } else {
            array::write_rows(rows, values)?
        };
        files::write_unless_stopped(path, &npy, monitor)?;
        Ok(1)
    }

    /// The whole kernel, row by row.
    fn in_memory(&self, kernel: &mut TiledKernel<'_>, monitor: &dyn Monitor) -> Result<Vec<f64>, Error> {
        let (rows, columns) = kernel.plan().shape();
        super::check_memory(rows, columns, 0)?;
        let mut values = vec![0.0; rows * columns];
        let tiles = kernel.plan().tiles();
        let run = kernel.run(tiles, monitor, &mut |tile, tile_values| {
            for (row, line) in tile.rows.clone().zip(tile_values.chunks_exact(tile.columns.len())) {
                values[row * columns + tile.columns.start..][..line.len()].copy_from_slice(line);
                if tile.mirrored {
                    tile.columns
                        .clone()
                        .zip(line)
                        .for_each(|(at, &value)| values[at * columns + row] = value);
                }
            }
            Ok::<(), collegial_ntk::Error>(())
        });
        run.map_err(|error| self.blamed(error))?;
        Ok(values)
    }

    /// What the kernel depends on, in a form that can be compared.
    fn question(&self) -> Value {
        let Options { parametrisation, norm, .. } = self.options;
        let mut weights = crc32fast::Hasher::new();
        for (name, tensor) in self.weights.iter() {
            weights.update(format!("{name} {:?} ", tensor.shape()).as_bytes());
            tensor.values().iter().for_each(|value| weights.update(&value.to_le_bytes()));
        }
        let mut inputs = crc32fast::Hasher::new();
        self.inputs.iter().flatten().for_each(|value| inputs.update(&value.to_le_bytes()));
        json!({
            "network": self.spec,
            "weights": format!("crc32-{:08x}", weights.finalize()),
            "inputs": format!("{} x {}, crc32-{:08x}", self.inputs.len(), self.columns, inputs.finalize()),
            "outputs": self.readout(),
            "diagonal": self.entries.diagonal,
            "parametrisation": parametrisation,
            "norm": norm,
        })
    }
}

impl TiledKernelAnswer {
    /// The values where there are any, otherwise what the file is.
    fn rows(&self, number: impl Fn(f64) -> String) -> Table {
        if let Some(kernel) = &self.kernel {
            return super::table(kernel, number);
        }
        if let Some(diagonal) = &self.diagonal {
            let mut table = Table::new(&[("row", Align::Left), ("K(x, x)", Align::Right)]);
            for (row, &value) in diagonal.iter().enumerate() {
                table.push_row(vec![row.to_string(), number(value)]);
            }
            return table;
        }
        let columns = ["rows", "columns", "tiles", "finished", "side"].map(|name| (name, Align::Right));
        let mut table = Table::new(&columns);
        let sides = [self.shape[0], self.shape.get(1).copied().unwrap_or(1)];
        table.push_row(
            sides.into_iter().chain([self.tiles, self.finished, self.side]).map(|n| n.to_string()).collect(),
        );
        table
    }
}

impl Answer for TiledKernelAnswer {
    fn seconds(&self) -> Option<f64> {
        Some(self.seconds)
    }

    fn table(&self) -> Table {
        self.rows(|value| value.to_string())
    }

    fn summary(&self) -> (Vec<String>, Table) {
        let Basis { model, readout, inputs, .. } = &self.basis;
        let what = if self.shape.len() == 1 { "diagonal of the kernel" } else { "kernel" };
        let mut sentences = vec![format!("{model}: {what} of {readout} between {inputs} inputs")];
        if let Some(path) = &self.file {
            let rest = if self.finished < self.tiles { ", which other shares complete" } else { "" };
            sentences.push(format!("{}: {} of {} tiles{rest}", path.display(), self.finished, self.tiles));
        }
        (sentences, self.rows(|value| significant(value, 6)))
    }
}
