//! Experiment files: what an item is about, and its settings at every scale.

use std::path::{Path, PathBuf};

use collegial_arch::plain_words;
use serde::de::DeserializeOwned;
use toml::{Table as Keys, Value};

use crate::reproduce::{Error, Scale};
use crate::score::Table;

/// The file in a study's folder that says how its records are judged.
pub(crate) const STUDY: &str = "study.toml";

/// An experiment file. Keys of its `[all]` table hold at every scale unless the scale's own table
/// says otherwise.
#[derive(Clone, Debug)]
pub struct Experiment {
    name: &'static str,
    /// What errors call the file.
    file: String,
    /// The study's folder; empty for files that are part of the program.
    folder: PathBuf,
    title: String,
    about: String,
    tables: Keys,
}

impl Experiment {
    /// Reads an experiment file that is part of the program.
    ///
    /// # Errors
    ///
    /// If it is not TOML with `title` and `about`.
    pub fn parse(name: &'static str, text: &str) -> Result<Self, Error> {
        Self::read(name, format!("experiments/{name}.toml"), PathBuf::new(), text)
    }

    /// Reads `study.toml` in a study's folder.
    ///
    /// # Errors
    ///
    /// If it cannot be read, or is not TOML with `title` and `about`.
    pub fn open(name: &'static str, folder: &Path) -> Result<Self, Error> {
        let path = folder.join(STUDY);
        let text = collegial_core::files::read_regular_text(&path);
        let text = text.map_err(|source| Error::Directory { path: path.clone(), source })?;
        Self::read(name, path.display().to_string(), folder.to_owned(), &text)
    }

    fn read(name: &'static str, file: String, folder: PathBuf, text: &str) -> Result<Self, Error> {
        let wrong = |reason: String| Error::experiment(&file, reason);
        let mut tables: Keys =
            toml::from_str(text).map_err(|error| wrong(plain_words(&one_line(error.message()))))?;
        let mut text = |key: &'static str| match tables.remove(key) {
            Some(Value::String(text)) => Ok(text.trim().to_owned()),
            _ => Err(wrong(format!("there is no {key}"))),
        };
        let (title, about) = (text("title")?, text("about")?);
        Ok(Self { name, file, folder, title, about, tables })
    }

    /// The item's name.
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// A table of the study, such as its runs.
    ///
    /// # Errors
    ///
    /// If it cannot be read.
    pub(crate) fn table(&self, name: &str) -> Result<Table, Error> {
        Table::open(&self.folder.join(name))
    }

    /// What the figure or table shows, as a title.
    pub fn title(&self) -> &str {
        &self.title
    }

    /// What it is about and what the paper says, in our words.
    pub fn about(&self) -> &str {
        &self.about
    }

    /// What is smaller than in the paper at this scale, if anything is: the scale's key `reduced`.
    pub fn reduced(&self, scale: Scale) -> Option<&str> {
        self.tables.get(scale.name())?.get("reduced")?.as_str()
    }

    /// The settings at a scale.
    ///
    /// # Errors
    ///
    /// If they do not fit the item's type, with the key.
    pub fn settings<S: DeserializeOwned>(&self, scale: Scale) -> Result<S, Error> {
        let table = |name: &str| self.tables.get(name).and_then(Value::as_table).cloned().unwrap_or_default();
        let mut settings = table("all");
        settings.extend(table(scale.name()));
        settings.remove("reduced");
        settings.try_into().map_err(|error: toml::de::Error| {
            let reason = plain_words(&one_line(error.message()));
            Error::experiment(format!("{} at scale {scale}", self.file), reason)
        })
    }
}

/// A parser's message as the end of a sentence.
fn one_line(message: &str) -> String {
    message.trim().replace('\n', " ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(serde::Deserialize, Debug, PartialEq)]
    #[serde(deny_unknown_fields)]
    struct Settings {
        width: usize,
        trials: u64,
    }

    const FILE: &str = "title = 'T'\nabout = 'A'\n[all]\nwidth = 4\ntrials = 10\n[paper]\ntrials = 2000\n\
                        [smoke]\nreduced = 'trials'\n";

    #[test]
    fn a_scale_overrides_what_holds_at_all() {
        let experiment = Experiment::parse("test", FILE).unwrap();
        assert_eq!(experiment.settings::<Settings>(Scale::Smoke).unwrap(), Settings { width: 4, trials: 10 });
        assert_eq!(experiment.settings::<Settings>(Scale::Paper).unwrap().trials, 2000);
        assert_eq!(experiment.reduced(Scale::Smoke), Some("trials"));
        assert_eq!(experiment.reduced(Scale::Laptop), None);
    }

    #[test]
    fn what_does_not_fit_is_said_with_its_key() {
        let file = format!("{FILE}depth = 3\n");
        let experiment = Experiment::parse("test", &file).unwrap();
        let said = experiment.settings::<Settings>(Scale::Smoke).unwrap_err().to_string();
        assert!(said.contains("depth") && said.contains("at scale smoke"), "{said}");
        assert!(Experiment::parse("test", "title = 'T'").unwrap_err().to_string().contains("no about"));
    }
}
