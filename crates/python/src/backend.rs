//! The PyTorch backend of training: `collegial.torch.engine` does the work of a [`Backend`].

use collegial::backend::{
    Backend, BackendState, Backends, Device, Setup, StepOutput, TrainError as Error, document,
};
use collegial_core::tensors::{Tensor, TensorTable};
use numpy::{IntoPyArray, PyArrayMethods, PyReadonlyArrayDyn, PyUntypedArrayMethods};
use pyo3::prelude::*;
use pyo3::types::PyDict;

const MODULE: &str = "collegial.torch.engine";

/// The backends of a Python process: native, and PyTorch, which is imported when the first training
/// with it begins.
pub const BACKENDS: Backends = Backends::with_torch(start);

fn start(setup: &Setup<'_>) -> Result<Box<dyn Backend>, Error> {
    let document = document(setup).map_err(|error| Error::Backend { reason: error.to_string() })?;
    let shape = setup.job.data.dataset().shape();
    let image = [shape.channels, shape.height, shape.width];
    let engine = Python::attach(|py| -> PyResult<_> {
        let engine = py.import(MODULE)?.call_method1("start", (document,))?;
        let on_cpu = engine.getattr("on_cpu")?.extract::<bool>()?;
        Ok((engine.unbind(), on_cpu))
    });
    let (engine, on_cpu) = engine.map_err(|error| refused(&error))?;
    Ok(Box::new(Torch { engine, image, device: if on_cpu { Device::Cpu } else { Device::Gpu } }))
}

/// The Python object, the shape of an image, and where it computes.
struct Torch {
    engine: Py<PyAny>,
    image: [usize; 3],
    device: Device,
}

impl Backend for Torch {
    fn load(&mut self, state: &BackendState) -> Result<(), Error> {
        Python::attach(|py| -> PyResult<()> {
            let arrays = (arrays(py, &state.network)?, arrays(py, &state.optimiser)?);
            let extra = state.extra.to_string();
            self.engine.call_method1(py, "load", (arrays.0, arrays.1, state.steps, extra)).map(drop)
        })
        .map_err(|error| refused(&error))
    }

    fn state(&mut self) -> Result<BackendState, Error> {
        Python::attach(|py| -> PyResult<_> {
            let (network, optimiser, steps, extra): (Bound<'_, PyDict>, Bound<'_, PyDict>, u64, String) =
                self.engine.bind(py).call_method0("state")?.extract()?;
            Ok((tensors(&network)?, tensors(&optimiser)?, steps, extra))
        })
        .map_err(|error| refused(&error))
        .and_then(|(network, optimiser, steps, extra)| {
            let extra = serde_json::from_str(&extra).map_err(Error::Header)?;
            Ok(BackendState { network: table(network)?, optimiser: table(optimiser)?, steps, extra })
        })
    }

    fn step(&mut self, images: &[f32], labels: &[u32], rate: f64) -> Result<StepOutput, Error> {
        let count = labels.len() as f64;
        Python::attach(|py| -> PyResult<StepOutput> {
            let labels: Vec<i64> = labels.iter().map(|&label| i64::from(label)).collect();
            let words = (self.batch(py, images)?, labels.into_pyarray(py), rate);
            let (mean, errors): (f64, u64) = self.engine.bind(py).call_method1("step", words)?.extract()?;
            Ok(StepOutput { loss: mean * count, errors })
        })
        .map_err(|error| refused(&error))
    }

    fn outputs(&mut self, images: &[f32]) -> Result<Vec<f32>, Error> {
        Python::attach(|py| -> PyResult<_> {
            let outputs = self.engine.bind(py).call_method1("outputs", (self.batch(py, images)?,))?;
            Ok(outputs.extract::<PyReadonlyArrayDyn<'_, f32>>()?.as_slice()?.to_vec())
        })
        .map_err(|error| refused(&error))
    }

    fn device(&self) -> Device {
        self.device
    }
}

impl Torch {
    /// Images x channels x height x width.
    fn batch<'py>(&self, py: Python<'py>, images: &[f32]) -> PyResult<Bound<'py, PyAny>> {
        let [channels, height, width] = self.image;
        let count = images.len() / (channels * height * width).max(1);
        let array = images.to_vec().into_pyarray(py).reshape([count, channels, height, width])?;
        Ok(array.into_any())
    }
}

impl Drop for Torch {
    fn drop(&mut self) {
        // It may fail in a process that is ending.
        let _ = Python::attach(|py| self.engine.call_method0(py, "close").map(drop));
    }
}

fn arrays<'py>(py: Python<'py>, table: &TensorTable) -> PyResult<Bound<'py, PyDict>> {
    let arrays = PyDict::new(py);
    for (name, tensor) in table.iter() {
        arrays.set_item(name, tensor.values().to_vec().into_pyarray(py).reshape(tensor.shape())?)?;
    }
    Ok(arrays)
}

/// A tensor's name, shape and values.
type Named = (String, Vec<usize>, Vec<f32>);

fn tensors(arrays: &Bound<'_, PyDict>) -> PyResult<Vec<Named>> {
    let tensor = |(name, array): (Bound<'_, PyAny>, Bound<'_, PyAny>)| {
        let array = array.extract::<PyReadonlyArrayDyn<'_, f32>>()?;
        Ok((name.extract()?, array.shape().to_vec(), array.as_slice()?.to_vec()))
    };
    arrays.iter().map(tensor).collect()
}

fn table(tensors: Vec<Named>) -> Result<TensorTable, Error> {
    let mut table = TensorTable::new();
    for (name, shape, values) in tensors {
        table.insert(name, Tensor::new(&*shape, values)?)?;
    }
    Ok(table)
}

/// The sentence of an exception; of one that is not ours, with its type.
fn refused(error: &PyErr) -> Error {
    let ours = |py: Python<'_>| {
        error.is_instance_of::<crate::CollegialError>(py)
            || error.is_instance_of::<pyo3::exceptions::PyImportError>(py)
    };
    let reason = Python::attach(|py| {
        let text = error.value(py).to_string();
        let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
        let kind = error.get_type(py).name().map_or_else(|_| "exception".into(), |name| name.to_string());
        if ours(py) { line } else { format!("PyTorch failed: {kind}: {line}") }
    });
    Error::Backend { reason }
}
