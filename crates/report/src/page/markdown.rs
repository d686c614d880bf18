//! The page as Markdown, with its figures and data as files beside it.

use super::{Block, Page, Section, card};

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
        writer.paragraph(&format!("> {}", card::markdown(one)));
    }
    if let Some(verdict) = &page.verdict {
        let quoted: Vec<String> = verdict.lines().map(|line| format!("> {line}").trim_end().into()).collect();
        writer.paragraph(&quoted.join("\n"));
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

    fn section(&mut self, section: &Section, level: usize) {
        self.paragraph(&format!("{} {}", "#".repeat(level), section.heading));
        for block in &section.blocks {
            self.block(block, level);
        }
    }

    fn block(&mut self, block: &Block, level: usize) {
        match block {
            Block::Prose(text) => self.paragraph(text),
            Block::Figures(panels) => {
                for (figure, caption) in panels {
                    let name = figure.file_name();
                    let (drawing, data) = (self.path(&name, "svg"), self.path(&name, "csv"));
                    self.paragraph(&format!("![{}]({drawing})", figure.title().replace(['[', ']'], "")));
                    self.paragraph(format!("{} [CSV]({data})", caption.trim()).trim());
                    self.files.push((drawing, figure.to_svg()));
                    self.files.push((data, figure.to_csv()));
                }
            }
            Block::Table(table, caption) => {
                self.paragraph(caption);
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
