//! One self-contained HTML file: a verdict, the figures and tables behind it, and how to get them
//! again.
//!
//! The page needs no network (a content security policy in it forbids any); it follows the reader's
//! light or dark mode, folds to the width of a phone and prints. Its one script sorts tables,
//! saves figures, and filters a section's table by a range that is dragged over its figures; without
//! it the page says the same. It is written as well-formed XML, so that tests can read it.
//!
//! ```
//! use collegial_report::{Align, Page, Section, Table};
//!
//! let mut designs = Table::new(&[("design", Align::Left), ("parameters", Align::Right)]);
//! designs.push(["37x10d".into(), "13,743,646".into()]);
//! let page = Page::new("Search")
//!     .verdict("`37x10d` has the least kernel variance at the same number of parameters.")
//!     .section(Section::new("Designs").table(designs, "The best designs near the optimum."));
//! assert!(page.to_html().contains("<td>13,743,646</td>"));
//! ```

mod card;
mod download;
mod html;
mod markdown;

pub use card::Card;
pub(crate) use download::slug;
pub use html::fragment;

use crate::{Figure, Table};
pub use download::Download;
pub use markdown::Markdown;

/// A report as one HTML file.
#[derive(Clone, Debug, PartialEq)]
pub struct Page {
    title: String,
    subject: Option<String>,
    cards: Vec<Card>,
    verdict: Option<String>,
    sections: Vec<Section>,
    provenance: Option<Provenance>,
}

/// What it takes to make the same page again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Provenance {
    /// The exact command.
    pub command: String,
    /// The seed, where anything was drawn.
    pub seed: Option<u64>,
    /// The version of the program.
    pub version: String,
}

impl Page {
    /// A page with a title and nothing else.
    pub fn new(title: impl Into<String>) -> Self {
        Self {
            title: title.into(),
            subject: None,
            cards: vec![],
            verdict: None,
            sections: vec![],
            provenance: None,
        }
    }

    /// What the page is about, `resnext29-1x128d`: with it begin the names of all files that can be
    /// saved.
    #[must_use]
    pub fn subject(mut self, name: impl Into<String>) -> Self {
        self.subject = Some(name.into());
        self
    }

    /// The answer's numbers, large, side by side above everything else.
    #[must_use]
    pub fn cards(mut self, cards: impl IntoIterator<Item = Card>) -> Self {
        self.cards.extend(cards);
        self
    }

    /// The answer, in a paragraph set off from the rest. Text between backticks is set as code.
    #[must_use]
    pub fn verdict(mut self, text: impl Into<String>) -> Self {
        self.verdict = Some(text.into());
        self
    }

    /// Appends a section.
    #[must_use]
    pub fn section(mut self, section: Section) -> Self {
        self.sections.push(section);
        self
    }

    /// Says at the foot how the page was made.
    #[must_use]
    pub fn provenance(mut self, provenance: Provenance) -> Self {
        self.provenance = Some(provenance);
        self
    }

    /// The whole file.
    pub fn to_html(&self) -> String {
        html::render(self)
    }

    /// The page as Markdown; its figures and downloads are files in `directory`, a path relative to
    /// the text's own.
    pub fn to_markdown(&self, directory: &str) -> Markdown {
        markdown::render(self, directory)
    }
}

/// A heading and what is under it; inside another section, a block that unfolds.
#[derive(Clone, Debug, PartialEq)]
pub struct Section {
    heading: String,
    blocks: Vec<Block>,
}

#[derive(Clone, Debug, PartialEq)]
enum Block {
    Prose(String),
    Figures(Vec<(Figure, String)>),
    Table(Table, String),
    Details(Section),
    Command(String),
    Download(Download),
}

impl Section {
    /// A section without content.
    pub fn new(heading: impl Into<String>) -> Self {
        Self { heading: heading.into(), blocks: vec![] }
    }

    fn block(mut self, block: Block) -> Self {
        self.blocks.push(block);
        self
    }

    /// Paragraphs, separated by empty lines. Text between backticks is set as code.
    #[must_use]
    pub fn prose(self, text: impl Into<String>) -> Self {
        self.block(Block::Prose(text.into()))
    }

    /// A figure with its caption and its data to download.
    #[must_use]
    pub fn figure(self, figure: Figure, caption: impl Into<String>) -> Self {
        self.block(Block::Figures(vec![(figure, caption.into())]))
    }

    /// Figures with captions, side by side where there is room.
    #[must_use]
    pub fn figures(self, panels: impl IntoIterator<Item = (Figure, String)>) -> Self {
        self.block(Block::Figures(panels.into_iter().collect()))
    }

    /// A table with its caption and its data to download.
    #[must_use]
    pub fn table(self, table: Table, caption: impl Into<String>) -> Self {
        self.block(Block::Table(table, caption.into()))
    }

    /// A section under this one that is folded away until the reader opens it.
    #[must_use]
    pub fn details(self, section: Section) -> Self {
        self.block(Block::Details(section))
    }

    /// A command line, set apart so that it can be copied.
    #[must_use]
    pub fn command(self, line: impl Into<String>) -> Self {
        self.block(Block::Command(line.into()))
    }

    /// A link to data inside the page.
    #[must_use]
    pub fn download(self, download: Download) -> Self {
        self.block(Block::Download(download))
    }
}
