//! Export and import of networks: files of PyTorch, timm and ONNX runtimes.
//!
//! The main type is [`Model`], a spec with its weights, drawn or read. It becomes a safetensors
//! file under torchvision's names ([`Model::to_safetensors`]), an ONNX graph of plain operators
//! ([`Model::to_onnx`]), or, without its weights, one Python file that trains the network with
//! PyTorch ([`pytorch::script`]). [`WeightFile`] reads the first two back; where another program
//! wrote the file, [`infer`] tells the design `m x n d` of the paper's section 5 from names and
//! shapes of the tensors.

mod error;
mod foreign;
pub mod infer;
mod model;
pub mod onnx;
pub mod pytorch;
mod weight_file;

pub use error::Error;
pub use model::Model;
pub use weight_file::WeightFile;
