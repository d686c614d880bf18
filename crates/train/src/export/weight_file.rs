//! A file of weights: ours, torchvision's or timm's safetensors, or ONNX of ours.

use std::io::Read as _;
use std::path::Path;

use crate::checkpoint::{CheckpointFile, ModelHeader};
use crate::{Loss, run};
use collegial_arch::Spec;
use collegial_core::files::open_regular;
use collegial_nn::Network;

use crate::export::{Error, foreign, infer, onnx};

/// Endings of the files that `torch.save` writes.
const PICKLED: [&str; 5] = ["pth", "pt", "bin", "ckpt", "pkl"];

/// Tensors in a file, with the network that they are the weights of.
pub struct WeightFile {
    file: CheckpointFile,
    header: ModelHeader,
    folded: bool,
    /// Whether only names and shapes of its tensors say which network it is.
    told: bool,
}

impl WeightFile {
    /// Whether a text is meant as the path of such a file, or of a checkpoint's directory, and not
    /// as a model's name; a directory that happens to have a model's name is written `./wrn28-10`.
    pub fn is_meant(name_or_path: &str) -> bool {
        let path = Path::new(name_or_path);
        let ending = path.extension().and_then(|ending| ending.to_str()).unwrap_or_default();
        let file = ["safetensors", "onnx"].contains(&ending) || PICKLED.contains(&ending);
        file || is_safetensors(path) || (path.is_dir() && name_or_path.parse::<Spec>().is_err())
    }

    /// Opens a file, a checkpoint's directory or a run's. The network is the one `named`, else the
    /// one that the header names, else the one that names and shapes of the tensors tell.
    pub fn open(path: &Path, named: Option<Spec>) -> Result<Self, Error> {
        let path = run::find_model(path)?;
        let ending = ending(&path);
        if ending == "onnx" {
            return Self::of_onnx(onnx::read(&path)?, named);
        }
        if is_pickled(&path, ending) {
            return Err(Error::pickled(&path));
        }
        Self::of_safetensors(CheckpointFile::read(&path)?, named)
    }

    /// The same for the content of a file of this name; nothing is read, so an ONNX file must hold
    /// its weights itself.
    pub fn parse(name: &Path, content: &[u8]) -> Result<Self, Error> {
        let ending = ending(name);
        if ending == "onnx" {
            return Self::of_onnx(onnx::parse(name, content)?, None);
        }
        if pickles(ending, content) {
            return Err(Error::pickled(name));
        }
        Self::of_safetensors(CheckpointFile::parse(name, content)?, None)
    }

    fn of_onnx((file, header): (CheckpointFile, onnx::Header), named: Option<Spec>) -> Result<Self, Error> {
        let folded = header.folded;
        Self { file, header: header.model, folded, told: false }.named(named).checked()
    }

    fn of_safetensors(file: CheckpointFile, named: Option<Spec>) -> Result<Self, Error> {
        let names = foreign::Names::of(&file.shapes());
        let file = if names.differ() { file.renamed(|name| names.ours(name))? } else { file };
        if let Some(header) = file.header::<ModelHeader>()? {
            return Self { file, header, folded: false, told: false }.named(named).checked();
        }
        Self::foreign(file, named)?.checked()
    }

    /// The file of another program.
    fn foreign(file: CheckpointFile, named: Option<Spec>) -> Result<Self, Error> {
        let told = named.is_none();
        let spec = match named {
            Some(spec) => spec,
            None => Self::told(&file)?,
        };
        Ok(Self { file, header: ModelHeader::untrained(spec), folded: false, told })
    }

    /// The network that names and shapes of the tensors tell.
    fn told(file: &CheckpointFile) -> Result<Spec, Error> {
        let (path, shapes) = (file.path(), file.shapes());
        let unknown = |reason| Error::Unrecognised { path: path.to_owned(), reason };
        let spec = infer::spec(&shapes).map_err(unknown)?;
        match foreign::tensor_besides(&shapes, &spec)? {
            Some(tensor) => {
                let (path, model, tensor) = (path.to_owned(), spec.name(), tensor.to_owned());
                Err(Error::Invalid(format!(
                    "{} is no {model}: it has the tensor {tensor} besides; as a PyTorch model, `suggest` \
                     of collegial.torch takes it",
                    path.display()
                )))
            }
            None => Ok(spec),
        }
    }

    /// The network.
    pub fn spec(&self) -> &Spec {
        &self.header.spec
    }

    /// Where the tensors were read from.
    pub fn path(&self) -> &Path {
        self.file.path()
    }

    /// The loss it was trained with.
    pub fn loss(&self) -> Loss {
        self.header.loss
    }

    /// Why the file may be another network's, where only its tensors say which one it is.
    pub fn doubt(&self) -> Option<&'static str> {
        if self.told { foreign::doubt(self.spec()) } else { None }
    }

    pub(crate) fn header(&self) -> &ModelHeader {
        &self.header
    }

    pub(crate) fn batches(&self) -> u64 {
        self.file.batches()
    }

    /// A network of this spec with the file's weights, which must be all of its weights and nothing
    /// else.
    pub fn network(&self, spec: &Spec) -> Result<Network, Error> {
        if self.folded {
            return Err(Error::Invalid(format!(
                "the batch norms of {} are folded into its convolutions; export the checkpoint that it \
                 was made from",
                self.path().display()
            )));
        }
        let graph = spec.graph()?;
        let mut network = Network::builder(&graph).parametrisation(self.header.parametrisation).build()?;
        self.file.fill_network(&mut network, &spec.name())?;
        Ok(network)
    }

    /// The same, for inference on batches of a size.
    pub fn inference(&self, spec: &Spec, batch: usize) -> Result<Network, Error> {
        if !self.folded {
            return Ok(self.network(spec)?.inference(batch)?);
        }
        let graph = spec.graph()?;
        let mut network = Network::builder(&graph).batch(batch).folded_inference().build()?;
        self.file.fill_network(&mut network, &spec.name())?;
        Ok(network)
    }

    fn named(self, named: Option<Spec>) -> Self {
        let spec = named.unwrap_or(self.header.spec);
        Self { header: ModelHeader { spec, ..self.header }, ..self }
    }

    /// Before any memory is planned for what a header claims.
    fn checked(self) -> Result<Self, Error> {
        let expected = self.spec().totals()?.parameters;
        let shapes = self.file.shapes();
        let count =
            |shape: &Vec<usize>| shape.iter().fold(1u64, |count, &side| count.saturating_mul(side as u64));
        let found = shapes.values().map(count).fold(0, u64::saturating_add);
        // Folding replaces four numbers per channel by one.
        if found < expected && !self.folded || found < expected / 4 {
            let (path, model) = (self.path().to_owned(), self.spec().name());
            return Err(Error::Invalid(format!(
                "{} does not fit {model}, which has {expected} parameters: the file holds only {found} \
                 numbers",
                path.display()
            )));
        }
        Ok(self)
    }
}

fn ending(path: &Path) -> &str {
    path.extension().and_then(|ending| ending.to_str()).unwrap_or_default()
}

/// By its content, whatever its ending: the length of a header that lies within the file, then JSON.
fn is_safetensors(path: &Path) -> bool {
    let start = || {
        let mut start = [0; 9];
        let mut file = open_regular(path)?;
        file.read_exact(&mut start)?;
        Ok::<_, std::io::Error>((start, file.metadata()?.len()))
    };
    start().is_ok_and(|([length @ .., brace], size)| brace == b'{' && u64::from_le_bytes(length) < size)
}

/// By its ending, or by its first bytes.
fn is_pickled(path: &Path, ending: &str) -> bool {
    let mut start = [0; 4];
    let read = open_regular(path).and_then(|mut file| file.read_exact(&mut start));
    read.is_ok() && pickles(ending, &start)
}

/// A zip archive or a pickle.
fn pickles(ending: &str, start: &[u8]) -> bool {
    ending != "safetensors" && (PICKLED.contains(&ending) || start.starts_with(b"PK\x03\x04"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn safetensors_are_told_by_content() {
        let directory = tempfile::tempdir().unwrap();
        let holds = |content: &[u8]| {
            let path = directory.path().join("weights.st");
            std::fs::write(&path, content).unwrap();
            WeightFile::is_meant(path.to_str().unwrap())
        };
        assert!(holds(b"\x02\0\0\0\0\0\0\0{}"));
        // A header that does not end within the file, a spec in TOML or JSON, and nothing.
        for content in [&b"\xff\xff\0\0\0\0\0\0{}"[..], b"kind = { }", b"{\"kind\": {}}", b""] {
            assert!(!holds(content), "{content:?}");
        }
    }
}
