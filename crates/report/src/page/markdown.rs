//! The page as Markdown, with its figures and data as files beside it.

use super::{Block, Page, Section, card};
use crate::wrap::{wrapped, wrapped_lines};

/// Columns of prose; tables, commands and links of figures stay in one line.
const COLUMNS: usize = 100;

/// A page's text, and the files that it links to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Markdown {
    /// The Markdown.
    pub text: String,
    /// Path, relative to the text's directory, and content of every figure (SVG), figure's data
    /// (CSV) and download.
    pub files: Vec<(String, String)>,
}

/// Writes blocks and collects files, which get the directory's name before theirs.
struct Writer<'a> {
    directory: &'a str,
    text: String,
    files: Vec<(String, String)>,
}

pub(super) fn render(page: &Page, directory: &str) -> Markdown {
    let mut writer = Writer { directory, text: format!("# {}\n", page.title), files: vec![] };
    for one in &page.cards {
        writer.quote(&card::markdown(one));
    }
    if let Some(verdict) = &page.verdict {
        writer.quote(verdict);
    }
    for section in &page.sections {
        writer.section(section, 2);
    }
    if let Some(provenance) = &page.provenance {
        let seed = provenance.seed.map_or(String::new(), |seed| format!("Seed {seed}. "));
        writer.paragraph("Made by");
        writer.paragraph(&format!("    {}", provenance.command));
        writer.paragraph(&format!("{seed}Version {}.", provenance.version));
    }
    Markdown { text: writer.text, files: writer.files }
}

impl Writer<'_> {
    fn paragraph(&mut self, text: &str) {
        if !text.trim().is_empty() {
            self.text.push_str(&format!("\n{}\n", text.trim_end()));
        }
    }

    fn prose(&mut self, text: &str) {
        self.paragraph(&wrapped_lines(text, COLUMNS));
    }

    fn quote(&mut self, text: &str) {
        let lines = text.lines().flat_map(|line| wrapped(line, COLUMNS - 2, 0));
        let quoted: Vec<String> = lines.map(|line| format!("> {line}").trim_end().into()).collect();
        self.paragraph(&quoted.join("\n"));
    }

    fn section(&mut self, section: &Section, level: usize) {
        self.paragraph(&format!("{} {}", "#".repeat(level), section.heading));
        for block in &section.blocks {
            self.block(block, level);
        }
    }

    fn block(&mut self, block: &Block, level: usize) {
        match block {
            Block::Prose(text) => self.prose(text),
            Block::Figures(panels) => {
                for (figure, caption) in panels {
                    let name = figure.file_name();
                    let (drawing, data) = (self.path(&name, "svg"), self.path(&name, "csv"));
                    self.paragraph(&format!("![{}]({drawing})", figure.title().replace(['[', ']'], "")));
                    self.prose(format!("{} [CSV]({data})", caption.trim()).trim());
                    self.files.push((drawing, figure.to_svg()));
                    self.files.push((data, figure.to_csv()));
                }
            }
            Block::Table(table, caption) => {
                self.prose(caption);
                self.paragraph(&table.to_markdown());
            }
            Block::Details(section) => self.section(section, level + 1),
            Block::Command(line) => self.paragraph(&format!("    {}", line.trim())),
            Block::Download(download) => {
                let path = self.path(&download.name, "");
                self.paragraph(&format!("[{}]({path})", download.name));
                self.files.push((path, download.content.clone()));
            }
        }
    }

    fn path(&self, name: &str, ending: &str) -> String {
        let dot = if ending.is_empty() { "" } else { "." };
        format!("{}/{name}{dot}{ending}", self.directory)
    }
}
