//! ONNX Runtime and PyTorch as runtimes that are timed: `collegial._runtimes` runs the networks.

use collegial::runtime::{
    Measurement, Runtime, Runtimes, SearchError as Error, Spec, TimedNetwork, document, onnx_file,
};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

const MODULE: &str = "collegial._runtimes";

/// The runtimes of a Python process; a package is imported when its first network is loaded.
pub const RUNTIMES: Runtimes = Runtimes::with_python(load);

fn load(spec: &Spec, measurement: &Measurement) -> Result<Box<dyn TimedNetwork>, Error> {
    let runtime = measurement.runtime;
    let refused = |reason: String| Error::Runtime { runtime, reason };
    let document = document(spec, measurement).map_err(|error| refused(error.to_string()))?;
    let file = match runtime {
        Runtime::Onnx => onnx_file(spec).map_err(|error| refused(error.to_string()))?,
        _ => vec![],
    };
    let network = Python::attach(|py| -> PyResult<_> {
        let file = PyBytes::new(py, &file);
        Ok(py.import(MODULE)?.call_method1("load", (document, file))?.unbind())
    });
    let network = network.map_err(|error| refused(reason(&error)))?;
    Ok(Box::new(InPython { network, runtime, batch: measurement.batch }))
}

struct InPython {
    network: Py<PyAny>,
    runtime: Runtime,
    batch: usize,
}

impl TimedNetwork for InPython {
    fn pass(&mut self) -> Result<f64, Error> {
        let seconds =
            Python::attach(|py| self.network.call_method0(py, "seconds_of_a_pass")?.extract::<f64>(py));
        let runtime = self.runtime;
        let seconds = seconds.map_err(|error| Error::Runtime { runtime, reason: reason(&error) })?;
        Ok(seconds / self.batch as f64)
    }
}

/// The message of a Python error in one line.
fn reason(error: &PyErr) -> String {
    let text = Python::attach(|py| error.value(py).to_string());
    text.lines().next().unwrap_or_default().trim_end_matches('.').to_owned()
}
