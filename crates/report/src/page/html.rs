//! The page's elements.

use super::download::{Names, slug};
use super::{Block, Download, Page, Provenance, Section, card};
use crate::figure::{Format, PALETTE, STYLE as FIGURE_STYLE};
use crate::markup::escape;
use crate::{Figure, Table};

/// Cards and tables, and what only pages have.
const STYLES: [&str; 4] = [PALETTE, crate::LOOK, include_str!("page.css"), FIGURE_STYLE];

/// What sorts and saves, and the page's own few lines.
const SCRIPTS: [&str; 3] = [crate::SORT_SCRIPT, crate::SAVE_SCRIPT, include_str!("page.js")];

/// Fewer sections than this are found by scrolling.
const SECTIONS_WITH_CONTENTS: usize = 4;

pub(super) fn render(page: &Page) -> String {
    let title = escape(&page.title);
    let cards = card::html(&page.cards);
    let verdict = page.verdict.as_ref().map(|text| paragraphs(text)).filter(|text| !text.is_empty());
    let verdict = verdict.map_or(String::new(), |text| format!("<div class=\"verdict\">\n{text}</div>\n"));
    let ids = section_ids(&page.sections);
    let contents = contents(&page.sections, &ids);
    let mut writer = Writer { names: Names::new(page.subject.as_deref()) };
    let sections: String =
        page.sections.iter().zip(&ids).map(|(section, id)| writer.top_section(section, id)).collect();
    let footer = page.provenance.as_ref().map_or(String::new(), footer);
    let (style, script) = (STYLES.concat(), SCRIPTS.concat());
    format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\"/>\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>\n\
         <meta name=\"color-scheme\" content=\"light dark\"/>\n\
         <meta http-equiv=\"Content-Security-Policy\" \
         content=\"default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:\"/>\n\
         <link rel=\"icon\" href=\"data:,\"/>\n\
         <title>{title}</title>\n<style>\n{style}</style>\n</head>\n<body>\n<main>\n\
         <header>\n<h1>{title}</h1>\n{cards}{verdict}</header>\n{contents}{sections}{footer}</main>\n\
         <script type=\"module\">//<![CDATA[\n{script}//]]></script>\n</body>\n</html>\n"
    )
}

fn section_ids(sections: &[Section]) -> Vec<String> {
    let mut ids = Names::new(None);
    sections.iter().map(|section| ids.unique(&slug(&section.heading))).collect()
}

fn contents(sections: &[Section], ids: &[String]) -> String {
    if sections.len() < SECTIONS_WITH_CONTENTS {
        return String::new();
    }
    let entries = sections.iter().zip(ids);
    let item = |(section, id): (&Section, &String)| {
        format!("<li><a href=\"#{id}\">{}</a></li>\n", inline(&section.heading))
    };
    let items: String = entries.map(item).collect();
    format!("<nav aria-label=\"Contents\">\n<ul>\n{items}</ul>\n</nav>\n")
}

/// Writes blocks, and names the files in them.
struct Writer {
    names: Names,
}

impl Writer {
    fn top_section(&mut self, section: &Section, id: &str) -> String {
        let heading = inline(&section.heading);
        format!("<section id=\"{id}\">\n<h2>{heading}</h2>\n{}</section>\n", self.blocks(section))
    }

    fn blocks(&mut self, section: &Section) -> String {
        section.blocks.iter().map(|block| self.block(block, &section.heading)).collect()
    }

    fn block(&mut self, block: &Block, heading: &str) -> String {
        match block {
            Block::Prose(text) => paragraphs(text),
            Block::Figures(panels) => self.figures(panels),
            Block::Table(table, caption) => self.table(table, caption, heading),
            Block::Details(section) => {
                let summary = inline(&section.heading);
                format!("<details>\n<summary>{summary}</summary>\n{}</details>\n", self.blocks(section))
            }
            Block::Command(line) => command(line),
            Block::Download(download) => {
                let (name, size) = (self.names.prefixed(&download.name), size(download.size()));
                format!("<p>{} <small>({size})</small></p>\n", anchor(download, &name, &name))
            }
        }
    }

    fn figures(&mut self, panels: &[(Figure, String)]) -> String {
        let format = if panels.len() > 1 { Format::PANEL } else { Format::WIDE };
        let figures: String =
            panels.iter().map(|(figure, caption)| self.figure(figure, caption, format)).collect();
        if panels.len() > 1 { format!("<div class=\"pair\">\n{figures}</div>\n") } else { figures }
    }

    /// Both forms of the drawing; the style sheet shows the one that suits the width of its box.
    fn figure(&mut self, figure: &Figure, caption: &str, format: Format) -> String {
        let (wide, narrow) = (figure.to_inline_svg(format), figure.to_inline_svg(Format::NARROW));
        let file = self.names.unique(&figure.file_name());
        let caption = figcaption(caption, &figure.to_csv(), &file);
        format!(
            "<figure data-file=\"{file}\">\n<div class=\"plot\">\n<div class=\"wide\">\n{wide}</div>\n\
             <div class=\"narrow\">\n{narrow}</div>\n</div>\n{caption}</figure>\n"
        )
    }

    fn table(&mut self, table: &Table, caption: &str, heading: &str) -> String {
        let label = if caption.trim().is_empty() { heading } else { caption.trim() };
        let file = self.names.unique(&slug(heading));
        format!(
            "<figure class=\"table\">\n{}<div class=\"scroll\" role=\"region\" tabindex=\"0\" aria-label=\"{}\">\n{}</div>\n</figure>\n",
            figcaption(caption, &table.to_csv(), &file),
            escape(label),
            table.to_html(),
        )
    }
}

/// Paragraphs are separated by empty lines.
fn paragraphs(text: &str) -> String {
    let mut paragraphs: Vec<Vec<&str>> = vec![vec![]];
    for line in text.lines() {
        match paragraphs.last_mut() {
            Some(paragraph) if !line.trim().is_empty() => paragraph.push(line.trim()),
            _ => paragraphs.push(vec![]),
        }
    }
    let filled = paragraphs.iter().filter(|lines| !lines.is_empty());
    filled.map(|lines| format!("<p>{}</p>\n", inline(&lines.join("\n")))).collect()
}

/// Escaped text in which pairs of backticks make code, and `[words](#section)` links within the
/// page; a backtick without its partner stays one.
fn inline(text: &str) -> String {
    let pieces: Vec<&str> = text.split('`').collect();
    let unpaired = pieces.len().is_multiple_of(2);
    let mut html = String::new();
    for (index, piece) in pieces.iter().enumerate() {
        let last = index + 1 == pieces.len();
        match index.is_multiple_of(2) {
            true => html.push_str(&linked(piece)),
            false if last && unpaired => html.push_str(&format!("`{}", escape(piece))),
            false => html.push_str(&format!("<code>{}</code>", escape(piece))),
        }
    }
    html
}

/// Escaped text with links to the page's own sections.
fn linked(text: &str) -> String {
    let link = || {
        let (before, rest) = text.split_once("](#")?;
        let (before, words) = before.rsplit_once('[')?;
        let (id, after) = rest.split_once(')')?;
        Some(format!("{}<a href=\"#{}\">{}</a>{}", escape(before), escape(id), escape(words), linked(after)))
    };
    link().unwrap_or_else(|| escape(text))
}

fn figcaption(caption: &str, csv: &str, file: &str) -> String {
    let caption = inline(caption.trim());
    let name = format!("{file}.csv");
    let link = anchor(&Download::csv(name.as_str(), csv), &name, "CSV");
    format!("<figcaption><span>{caption}</span><span class=\"saves\">{link}</span></figcaption>\n")
}

/// Paragraphs and a table without a page around them, for notebooks.
pub fn fragment(text: &str, table: &Table) -> String {
    format!("{}{}", paragraphs(text), table.to_html())
}

/// Words are kept whole where they fit, so that a line does not break inside a flag.
fn command(line: &str) -> String {
    let words = line.trim_end().split(' ').map(|word| format!("<span>{}</span>", escape(word)));
    format!("<pre class=\"command\"><code>{}</code></pre>\n", words.collect::<Vec<_>>().join(" "))
}

fn anchor(download: &Download, name: &str, text: &str) -> String {
    let (name, link, text) = (escape(name), download.link(), escape(text));
    format!("<a download=\"{name}\" href=\"{link}\">{text}</a>")
}

fn size(bytes: usize) -> String {
    if bytes < 1000 { format!("{bytes} bytes") } else { format!("{:.1} kB", bytes as f64 / 1000.0) }
}

fn footer(provenance: &Provenance) -> String {
    let seed = provenance.seed.map_or(String::new(), |seed| format!("Seed {seed}. "));
    let version = escape(&provenance.version);
    format!(
        "<footer>\n<p>Made by</p>\n{}<p>{seed}Version {version}.</p>\n</footer>\n",
        command(&provenance.command)
    )
}
