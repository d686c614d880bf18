//! MODEL as it was given: a name, a file, or a spec.

use std::ffi::OsString;
use std::fmt;
use std::path::{Path, PathBuf, is_separator};
use std::str::FromStr;

use collegial_arch::Spec;
use collegial_core::files::read_regular_text;
use collegial_train::export::WeightFile;
use serde::de::value::MapAccessDeserializer;
use serde::de::{MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::model::Source;
use crate::{Error, paths};

/// A reference to a model. Reading one looks at its letters alone; [`open`](Self::open) looks at
/// files.
#[derive(Clone, Debug, PartialEq)]
pub enum ModelRef {
    /// A word: a model's name, or a run's directory in the working directory.
    Name(String),
    /// A path, by its separators or its ending; it need not be UTF-8.
    File(PathBuf),
    /// The network itself.
    Spec(Box<Spec>),
}

impl ModelRef {
    /// The network, with its weights where they come along. A word that is a model's name is never
    /// a file: write `./wrn28-10` for a directory of that name.
    ///
    /// # Errors
    ///
    /// Where there is no such model, or its file cannot be read.
    pub fn open(&self) -> Result<Source, Error> {
        match self {
            Self::Spec(spec) => Ok(Source::Spec(spec.as_ref().clone())),
            Self::File(path) => open(path),
            Self::Name(name) => match name.parse() {
                Err(_) if Path::new(name).exists() => open(Path::new(name)),
                spec => Ok(Source::Spec(spec?)),
            },
        }
    }

    /// The network, if no file has to be opened for it.
    ///
    /// # Errors
    ///
    /// Where there is no model of that name; a path is none.
    pub fn without_files(&self) -> Result<Spec, Error> {
        match self {
            Self::Spec(spec) => Ok(spec.as_ref().clone()),
            Self::Name(name) => Ok(name.parse()?),
            Self::File(path) => Ok(path.to_string_lossy().parse()?),
        }
    }

    /// As it was typed, if it was: a name or a path that is text.
    pub fn typed(&self) -> Option<&str> {
        match self {
            Self::Name(name) => Some(name),
            Self::File(path) => path.to_str(),
            Self::Spec(_) => None,
        }
    }
}

/// What a directory of Hugging Face's has beside the weights.
const CONFIGURATION: &str = "config.json";

/// A spec's file, a configuration of Hugging Face's or a directory with one, a file of weights, or the
/// directory of a run.
fn open(path: &Path) -> Result<Source, Error> {
    let configuration = path.join(CONFIGURATION);
    if configuration.is_file() {
        let text = read_regular_text(&configuration).map_err(Error::reading(&configuration))?;
        return Ok(Source::Spec(Spec::of_file(&configuration, &text)?));
    }
    let ending = path.extension().and_then(|ending| ending.to_str());
    let is_spec = matches!(ending, Some("toml" | "json"));
    match path.to_str() {
        None if !is_spec => Ok(Source::Weights(Box::new(WeightFile::open(path, None)?))),
        Some(text) if WeightFile::is_meant(text) => {
            Ok(Source::Weights(Box::new(WeightFile::open(path, None)?)))
        }
        Some(text) if !is_spec && !path.exists() => Ok(Source::Spec(text.parse()?)),
        _ => {
            let text = read_regular_text(path).map_err(Error::reading(path))?;
            Ok(Source::Spec(Spec::of_file(path, &text)?))
        }
    }
}

/// No name: a request must give one.
impl Default for ModelRef {
    fn default() -> Self {
        Self::Name(String::new())
    }
}

impl From<Spec> for ModelRef {
    fn from(spec: Spec) -> Self {
        Self::Spec(Box::new(spec))
    }
}

/// A name, a path, or the text of a spec: JSON begins with a brace, TOML has more than one line.
impl FromStr for ModelRef {
    type Err = collegial_arch::Error;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if text.trim_start().starts_with('{') {
            return Spec::from_json(text).map(Self::from);
        }
        if text.trim_end().contains('\n') {
            return Spec::from_toml(text).map(Self::from);
        }
        // The dot of regnet_x_1.6gf begins no ending.
        let ending = Path::new(text).extension().and_then(|ending| ending.to_str()).unwrap_or_default();
        let is_path = text.contains(is_separator) || ending.starts_with(|c: char| c.is_ascii_alphabetic());
        Ok(if is_path { Self::File(text.into()) } else { Self::Name(text.to_owned()) })
    }
}

/// The same for words of a command line, which need not be UTF-8.
impl TryFrom<OsString> for ModelRef {
    type Error = collegial_arch::Error;

    fn try_from(word: OsString) -> Result<Self, Self::Error> {
        word.into_string().map_or_else(|word| Ok(Self::File(word.into())), |text| text.parse())
    }
}

#[cfg(feature = "program")]
impl clap::builder::ValueParserFactory for ModelRef {
    type Parser = clap::builder::ValueParser;

    fn value_parser() -> Self::Parser {
        use clap::builder::TypedValueParser;
        clap::builder::OsStringValueParser::new().try_map(Self::try_from).into()
    }
}

/// A name or path as text, a path that is not UTF-8 as its bytes, a spec as an object.
impl Serialize for ModelRef {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Name(name) => name.serialize(serializer),
            Self::File(path) => paths::exact::serialize(path, serializer),
            Self::Spec(spec) => spec.serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for ModelRef {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Forms)
    }
}

/// The forms that a reference takes in JSON.
struct Forms;

impl<'de> Visitor<'de> for Forms {
    type Value = ModelRef;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a model: a name, a path, or a spec")
    }

    fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<ModelRef, E> {
        text.parse().map_err(E::custom)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut bytes: A) -> Result<ModelRef, A::Error> {
        let mut path = vec![];
        while let Some(byte) = bytes.next_element()? {
            path.push(byte);
        }
        paths::of_bytes(path).map(ModelRef::File)
    }

    fn visit_map<A: MapAccess<'de>>(self, fields: A) -> Result<ModelRef, A::Error> {
        let spec = Spec::deserialize(MapAccessDeserializer::new(fields))?;
        spec.check().map_err(serde::de::Error::custom)?;
        Ok(spec.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> ModelRef {
        text.parse().unwrap()
    }

    #[test]
    fn letters_tell_names_paths_and_specs() {
        for name in ["resnext29-37x10d", "regnet_x_1.6gf", "fc6-500", "run", ""] {
            assert_eq!(of(name), ModelRef::Name(name.into()));
        }
        for path in ["mine.toml", "./wrn28-10", "runs/a", "net.onnx", "net.pth"] {
            assert_eq!(of(path), ModelRef::File(path.into()));
        }
        let spec: Spec = "fc3-4x20".parse().unwrap();
        let json = serde_json::to_string(&spec).unwrap();
        for text in [spec.to_toml(), json.clone()] {
            assert_eq!(of(&text), spec.clone().into());
        }
        assert_eq!(serde_json::from_str::<ModelRef>(&json).unwrap(), spec.into());
        assert!("{\"kind\": \"cat\"}".parse::<ModelRef>().is_err());
    }

    #[test]
    fn what_is_written_is_read_as_it_was() {
        let spec: Spec = "bottleneck-12x6d".parse().unwrap();
        let mut all = vec![of("fc6-500"), of("a/b.toml"), spec.into()];
        #[cfg(unix)]
        {
            use std::os::unix::ffi::OsStringExt;
            all.push(ModelRef::try_from(OsString::from_vec(b"d\xff".to_vec())).unwrap());
        }
        for model in all {
            let text = serde_json::to_string(&model).unwrap();
            assert_eq!(serde_json::from_str::<ModelRef>(&text).unwrap(), model, "{text}");
        }
    }

    /// A word is a model's name first; a directory's only if it is none.
    #[test]
    fn configurations_are_read_by_their_file_or_directory() {
        let directory = tempfile::tempdir().unwrap();
        let (path, file) = (directory.path(), directory.path().join(CONFIGURATION));
        let bert = r#"{"model_type": "bert", "_name_or_path": "a/tiny-bert", "vocab_size": 100,
            "max_position_embeddings": 16, "hidden_size": 8, "num_hidden_layers": 2, "num_attention_heads": 2,
            "intermediate_size": 32}"#;
        std::fs::write(&file, bert).unwrap();
        for given in [path, &file] {
            let spec = of(given.to_str().unwrap()).open().unwrap().into_spec();
            assert_eq!(spec.name(), "tiny-bert");
        }
        std::fs::write(&file, r#"{"model_type": "bert"}"#).unwrap();
        let Err(error) = of(path.to_str().unwrap()).open() else { panic!("a key is missing") };
        assert!(error.to_string().contains("lacks the key \"max_position_embeddings\""), "{error}");
    }

    #[test]
    fn libraries_stand_before_their_names() {
        for (name, same) in [
            ("timm/regnety_016", "regnety_016"),
            ("timm/resnet50.a1_in1k", "resnet50"),
            ("torchvision/resnet101", "resnet101"),
            ("torchvision/vit_b_16", "vit_b_16"),
        ] {
            let spec: Spec = same.parse().unwrap();
            assert_eq!(of(name).open().unwrap().into_spec(), spec, "{name}");
            assert_eq!(of(name).without_files().unwrap(), spec, "{name}");
        }
        for (name, said) in [
            (
                "timm/efficientnet_b0.ra_in1k",
                "collegial.torch.suggest(timm.create_model(\"efficientnet_b0\")) answers",
            ),
            ("torchvision/vgg16", "collegial.torch.suggest(torchvision.models.get_model(\"vgg16\")) answers"),
            ("timm/gpt2", "has no spec here"),
            ("timm/fc6-500", "is no name of a model of timm"),
            ("timm/", "is no name of a model of timm"),
        ] {
            let Err(error) = of(name).open() else { panic!("{name}") };
            assert!(error.to_string().contains(said), "{name}: {error}");
        }
    }

    #[test]
    fn only_open_looks_at_files() {
        assert!(of("src").without_files().is_err());
        assert!(matches!(of("src").open(), Err(Error::Export(_) | Error::Train(_))));
        assert!(matches!(of("fc3-8").open(), Ok(Source::Spec(_))));
    }
}
