//! Runtimes whose passes are timed, for a caller that brings those of Python.

pub use collegial_arch::Spec;
pub use collegial_search::Error as SearchError;
use collegial_search::timing::{BATCH, Native};
pub use collegial_search::timing::{Loader, Measurement, Runtime, TimedNetwork};
use collegial_train::export::{Model as Network, onnx};
use serde::Serialize;

use crate::message::{invalid, option, option_with};
use crate::search::Request;
use crate::{Error, to_json};

/// Loads a network into a runtime of Python.
pub type Connector = fn(&Spec, &Measurement) -> Result<Box<dyn TimedNetwork>, SearchError>;

/// The runtimes that a process has: the native one, and those of Python where the caller brings
/// them.
#[derive(Clone, Copy, Debug)]
pub struct Runtimes {
    python: Option<Connector>,
}

impl Runtimes {
    /// The native one alone.
    pub const NATIVE: Self = Self { python: None };

    /// The native one and those of Python.
    pub const fn with_python(connector: Connector) -> Self {
        Self { python: Some(connector) }
    }

    /// The loader that a request asks for.
    pub(crate) fn loader(self, request: &Request) -> Result<Box<dyn Loader>, Error> {
        let (runtime, batch) = (request.runtime, request.batch.map_or(BATCH, std::num::NonZeroUsize::get));
        if runtime == Runtime::Native {
            return match &request.device {
                Some(device) => Err(invalid![
                    format!("the native engine runs on CPUs and not on {device}; "),
                    option_with("runtime", "torch"),
                    " takes a device"
                ]
                .into()),
                None => Ok(Box::new(Native { batch })),
            };
        }
        let connector = self.python.ok_or(Error::NeedsPython)?;
        let device = request.device.clone().unwrap_or_else(|| "cpu".into());
        let measurement = Measurement { runtime, pass: runtime.pass(), batch, device };
        Ok(Box::new(InPython { connector, measurement }))
    }

    /// Refuses options of a measurement where nothing is measured.
    pub(crate) fn check(request: &Request) -> Result<(), Error> {
        let measured = request.cost.has(collegial_arch::Cost::Time) && request.timings.is_none();
        let given = [
            ("runtime", request.runtime != Runtime::Native),
            ("batch", request.batch.is_some()),
            ("device", request.device.is_some()),
        ];
        match given.into_iter().find(|(_, given)| *given && !measured) {
            Some((field, _)) => Err(invalid![
                option(field),
                " says how times are measured, and none are; ask for ",
                option_with("cost", "time"),
                " without ",
                option("timings")
            ]
            .into()),
            None => Ok(()),
        }
    }
}

struct InPython {
    connector: Connector,
    measurement: Measurement,
}

impl Loader for InPython {
    fn measurement(&self) -> Measurement {
        self.measurement.clone()
    }

    fn load(&self, spec: &Spec) -> Result<Box<dyn TimedNetwork>, SearchError> {
        (self.connector)(spec, &self.measurement)
    }
}

/// Arguments of a runtime in Python, as data.
#[derive(Serialize)]
struct Document<'a> {
    spec: &'a Spec,
    /// Channels, height and width of an image.
    image: [usize; 3],
    #[serde(flatten)]
    measurement: &'a Measurement,
}

/// A network and its measurement as JSON: `spec`, `image`, `runtime`, `pass`, `batch`, `device`.
///
/// # Errors
///
/// If the spec is wrong.
pub fn document(spec: &Spec, measurement: &Measurement) -> Result<String, Error> {
    let shape = spec.graph()?.input_shape();
    to_json(&Document { spec, image: [shape.channels, shape.height, shape.width], measurement })
}

/// The network as an ONNX file, with drawn weights.
///
/// # Errors
///
/// If it has no such form, or exceeds the 2 GB of one file.
pub fn onnx_file(spec: &Spec) -> Result<Vec<u8>, Error> {
    let options = onnx::Options { fold: false, data_name: String::new(), beside: false };
    let files = Network::drawn(spec, 0)?.to_onnx(&options)?;
    match files.data {
        None => Ok(files.model),
        Some(_) => Err(invalid!["the network exceeds the 2 GB of an ONNX file"].into()),
    }
}
