//! The page's elements.

use super::download::slug;
use super::{Block, Download, Page, Provenance, Section};
use crate::figure::Format;
use crate::markup::escape;
use crate::{Align, Figure, Table, figure};
use std::collections::HashSet;

const STYLE: &str = include_str!("page.css");

/// Fewer sections than this are found by scrolling.
const SECTIONS_WITH_CONTENTS: usize = 4;

/// Text longer than this is broken into lines inside its cell.
const LONG_CELL: usize = 40;

pub(super) fn render(page: &Page) -> String {
    let title = escape(&page.title);
    let verdict = page
        .verdict
        .as_ref()
        .map_or(String::new(), |text| format!("<div class=\"verdict\">\n{}</div>\n", paragraphs(text)));
    let ids = section_ids(&page.sections);
    let contents = contents(&page.sections, &ids);
    let sections: String =
        page.sections.iter().zip(&ids).map(|(section, id)| top_section(section, id)).collect();
    let footer = page.provenance.as_ref().map_or(String::new(), footer);
    let style = format!("{STYLE}{}", figure::STYLE);
    format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\"/>\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>\n\
         <meta name=\"color-scheme\" content=\"light dark\"/>\n\
         <meta http-equiv=\"Content-Security-Policy\" \
         content=\"default-src 'none'; style-src 'unsafe-inline'; img-src data:\"/>\n\
         <link rel=\"icon\" href=\"data:,\"/>\n\
         <title>{title}</title>\n<style>\n{style}</style>\n</head>\n<body>\n<main>\n\
         <header>\n<h1>{title}</h1>\n{verdict}</header>\n{contents}{sections}{footer}</main>\n</body>\n</html>\n"
    )
}

fn section_ids(sections: &[Section]) -> Vec<String> {
    let mut taken = HashSet::new();
    let mut unique = |heading: &str| {
        let base = slug(heading);
        let numbered = (2..).map(|number| format!("{base}-{number}"));
        let mut candidates = [base.clone()].into_iter().chain(numbered);
        candidates.find(|id| taken.insert(id.clone())).unwrap_or(base)
    };
    sections.iter().map(|section| unique(&section.heading)).collect()
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

fn top_section(section: &Section, id: &str) -> String {
    let heading = inline(&section.heading);
    format!("<section id=\"{id}\">\n<h2>{heading}</h2>\n{}</section>\n", blocks(section))
}

fn blocks(section: &Section) -> String {
    section.blocks.iter().map(block).collect()
}

fn block(block: &Block) -> String {
    match block {
        Block::Prose(text) => paragraphs(text),
        Block::Figures(panels) => figures(panels),
        Block::Table(table, caption) => table_block(table, caption),
        Block::Details(section) => {
            let summary = inline(&section.heading);
            format!("<details>\n<summary>{summary}</summary>\n{}</details>\n", blocks(section))
        }
        Block::Command(line) => command(line),
        Block::Preformatted(text) => format!("<pre tabindex=\"0\">{}</pre>\n", escape(text)),
        Block::Download(download) => {
            format!(
                "<p>{} <small>({})</small></p>\n",
                anchor(download, &download.name),
                size(download.size())
            )
        }
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

/// Escaped text in which pairs of backticks make code; a backtick without its partner stays one.
fn inline(text: &str) -> String {
    let pieces: Vec<&str> = text.split('`').collect();
    let unpaired = pieces.len().is_multiple_of(2);
    let mut html = String::new();
    for (index, piece) in pieces.iter().enumerate() {
        let piece = escape(piece);
        let last = index + 1 == pieces.len();
        match index.is_multiple_of(2) {
            true => html.push_str(&piece),
            false if last && unpaired => html.push_str(&format!("`{piece}")),
            false => html.push_str(&format!("<code>{piece}</code>")),
        }
    }
    html
}

fn figures(panels: &[(Figure, String)]) -> String {
    let format = if panels.len() > 1 { Format::PANEL } else { Format::WIDE };
    let figures: String =
        panels.iter().map(|(figure, caption)| figure_block(figure, caption, format)).collect();
    if panels.len() > 1 { format!("<div class=\"panels\">\n{figures}</div>\n") } else { figures }
}

/// Both forms of the drawing; the style sheet shows the one that suits the width of its box.
fn figure_block(figure: &Figure, caption: &str, format: Format) -> String {
    let (wide, narrow) = (figure.to_inline_svg(format), figure.to_inline_svg(Format::NARROW));
    let data = Download::csv(format!("{}.csv", slug(figure.title())), figure.to_csv());
    format!(
        "<figure>\n<div class=\"plot\">\n<div class=\"wide\">\n{wide}</div>\n<div class=\"narrow\">\n{narrow}</div>\n\
         </div>\n{}</figure>\n",
        figcaption(caption, &data)
    )
}

fn figcaption(caption: &str, data: &Download) -> String {
    let caption = inline(caption.trim());
    let space = if caption.is_empty() { "" } else { " " };
    format!("<figcaption>{caption}{space}<span class=\"data\">{}</span></figcaption>\n", anchor(data, "CSV"))
}

fn table_block(table: &Table, caption: &str) -> String {
    let class = |align: Align| if align == Align::Left { " class=\"left\"" } else { "" };
    let headings = table.columns().iter();
    let headings: String = headings
        .map(|(name, align)| format!("<th scope=\"col\"{}>{}</th>", class(*align), escape(name)))
        .collect();
    let row = |(cells, link): (&[String], Option<&str>)| {
        let cells = cells.iter().zip(table.columns()).enumerate();
        let cells = cells.map(|(index, (cell, (_, align)))| {
            let text = match link.filter(|_| index == 0) {
                Some(page) => format!("<a href=\"{}.html\">{}</a>", escape(page), escape(cell)),
                None => escape(cell),
            };
            let long = *align == Align::Left && cell.chars().count() > LONG_CELL;
            format!("<td{}>{text}</td>", if long { " class=\"left long\"" } else { class(*align) })
        });
        format!("<tr>{}</tr>\n", cells.collect::<String>())
    };
    let rows: String = table.linked_rows().map(row).collect();
    let label = if caption.trim().is_empty() { "Table" } else { caption.trim() };
    let name = format!("{}.csv", slug(label));
    format!(
        "<figure class=\"table\">\n{}<div class=\"scroll\" role=\"region\" tabindex=\"0\" aria-label=\"{}\">\n<table>\n\
         <thead><tr>{headings}</tr></thead>\n<tbody>\n{rows}</tbody>\n</table>\n</div>\n</figure>\n",
        figcaption(caption, &Download::csv(name, table.to_csv())),
        escape(label),
    )
}

/// Words are kept whole where they fit, so that a line does not break inside a flag.
fn command(line: &str) -> String {
    let words = line.trim_end().split(' ').map(|word| format!("<span>{}</span>", escape(word)));
    format!("<pre class=\"command\"><code>{}</code></pre>\n", words.collect::<Vec<_>>().join(" "))
}

fn anchor(download: &Download, text: &str) -> String {
    let (name, link, text) = (escape(&download.name), download.link(), escape(text));
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
