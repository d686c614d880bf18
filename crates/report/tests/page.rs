//! Pages: what they are made of, that they are well-formed, and that nothing in a name becomes
//! markup.

mod common;

#[path = "../examples/gallery.rs"]
#[allow(dead_code, reason = "its main function is for the command line")]
mod gallery;

use collegial_report::{Align, Axis, Card, Download, Figure, Line, Page, Provenance, Section, Table, Tone};
use common::{figure, parse, text, without_style};
use proptest::prelude::*;

fn small() -> Page {
    let mut table = Table::new(&[("design", Align::Left), ("parameters", Align::Right)]);
    table.push(["37x10d".into(), "13,743,646".into()]);
    let figure =
        Figure::new("Objective").x(Axis::linear("n")).with(Line::new("law", [(1.0, 2.0), (3.0, 1.0)]));
    let card = Card {
        question: "Same cost".into(),
        number: "2.62 ×".into(),
        about: "less kernel variance".into(),
        name: "37x10d".into(),
        note: "99.8 % of the parameters".into(),
        tone: Tone::Cost,
    };
    Page::new("Search")
        .subject("fc6-500")
        .cards([card])
        .verdict("Use `37x10d`.")
        .section(
            Section::new("Why")
                .prose("First.\nStill first.\n\nSecond, with a lone ` backtick.")
                .figure(figure, "The `law`.")
                .table(table, "Designs")
                .details(Section::new("More").download(Download::json("x.json", "{}"))),
        )
        .provenance(Provenance {
            command: "collegial search fc6-500 --seed 7".into(),
            seed: Some(7),
            version: "0.1.0".into(),
        })
}

#[test]
fn a_small_page_looks_like_this() {
    insta::assert_snapshot!(without_style(&small().to_html()));
}

#[test]
fn prose_links_within_the_page_alone() {
    let html = Page::new("Links")
        .section(
            Section::new("Data")
                .prose("See [the <data>](#data), not [1](https://x.org) or [0](1) `[a](#b)`."),
        )
        .to_html();
    let expected =
        "See <a href=\"#data\">the &lt;data&gt;</a>, not [1](https://x.org) or [0](1) <code>[a](#b)</code>.";
    assert!(html.contains(expected), "{html}");
}

#[test]
fn a_page_asks_nothing_of_the_network_and_runs_its_own_script_only() {
    for page in [small(), gallery::page()] {
        let html = page.to_html();
        let document = parse(&html).unwrap();
        for node in document.descendants().filter(roxmltree::Node::is_element) {
            for attribute in node.attributes() {
                assert!(!attribute.name().starts_with("on"), "{attribute:?}");
                if ["href", "src"].contains(&attribute.name()) {
                    let local = attribute.value().starts_with("data:") || attribute.value().starts_with('#');
                    assert!(local, "{attribute:?}");
                }
            }
        }
        assert!(!html.contains("url(") && !html.contains("@import") && !html.contains("fetch"));
        let scripts = document.descendants().filter(|node| node.tag_name().name() == "script");
        let scripts: Vec<_> = scripts.collect();
        assert_eq!(scripts.len(), 1);
        assert_eq!(scripts[0].attribute("src"), None);
    }
}

#[test]
fn the_gallery_shows_every_kind_of_block() {
    let html = gallery::page().to_html();
    let document = parse(&html).unwrap();
    let count = |name: &str| document.descendants().filter(|node| node.tag_name().name() == name).count();
    assert_eq!(count("section"), 4);
    assert_eq!(count("nav"), 1);
    assert_eq!(count("table"), 1);
    assert_eq!(count("details"), 1);
    // 12 figures and a table, each with its data; two downloads of their own.
    assert_eq!(count("figure"), 13);
    let downloads = document.descendants().filter(|node| node.attribute("download").is_some());
    assert_eq!(downloads.count(), 15);
}

#[test]
fn names_never_become_markup() {
    let evil = "<script>alert('x')</script>\"><img src=x onerror=y>&amp;`<b>`";
    let mut table = Table::new(&[(evil, Align::Left)]);
    table.push([evil.into()]);
    let [question, number, about, name, note] = [evil; 5].map(str::to_owned);
    let html = Page::new(evil)
        .subject(evil)
        .cards([Card { question, number, about, name, note, tone: Tone::Base }])
        .verdict(evil)
        .section(
            Section::new(evil)
                .prose(evil)
                .figure(Figure::new(evil).x(Axis::linear(evil)).with(Line::new(evil, [(1.0, 1.0)])), evil)
                .table(table, evil)
                .command(evil)
                .download(Download::csv(evil, evil))
                .details(Section::new(evil)),
        )
        .provenance(Provenance { command: evil.into(), seed: None, version: evil.into() })
        .to_html();
    // One script is the page's own.
    assert_eq!(html.matches("<script").count(), 1);
    assert!(!html.contains("<img") && !html.contains("<b>`") && !html.contains("alert('x')"));
    let document = parse(&html).unwrap();
    let cell =
        document.descendants().find(|node| node.tag_name().name() == "td").and_then(|node| node.text());
    assert_eq!(cell, Some(evil));
}

#[test]
fn sections_of_one_name_have_their_own_ids() {
    let page = (0..4).fold(Page::new(""), |page, _| page.section(Section::new("Same")));
    let html = page.to_html();
    for id in ["same", "same-2", "same-3", "same-4"] {
        assert_eq!(html.matches(&format!("id=\"{id}\"")).count(), 1);
        assert_eq!(html.matches(&format!("href=\"#{id}\"")).count(), 1);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    #[test]
    fn any_page_is_well_formed(
        words in prop::collection::vec(text(), 8),
        figures in prop::collection::vec((figure(), text()), 0..3),
        cells in prop::collection::vec(text(), 0..4),
        seed: Option<u64>,
    ) {
        let mut table = Table::new(&[(words[0].as_str(), Align::Left)]);
        cells.into_iter().for_each(|cell| table.push([cell]));
        let section = Section::new(&words[1])
            .prose(&words[2])
            .figures(figures)
            .table(table, &words[3])
            .command(&words[4])
            .download(Download::csv(&words[5], &words[6]));
        let page = Page::new(&words[7]).verdict(&words[6]).section(section.clone().details(section)).provenance(
            Provenance { command: words[5].clone(), seed, version: words[4].clone() },
        );
        let html = page.to_html();
        let parsed = parse(&html);
        prop_assert!(parsed.is_ok(), "{:?}", parsed.err());
    }
}

#[test]
fn markdown_has_the_same_content_with_files_beside_it() {
    let markdown = small().to_markdown("search");
    let expected = "\
# Search

> Same cost: **2.62 ×** less kernel variance. `37x10d`, 99.8 % of the parameters.

> Use `37x10d`.

## Why

First.
Still first.

Second, with a lone ` backtick.

![Objective](search/objective.svg)

The `law`. [CSV](search/objective.csv)

Designs

| design | parameters |
| --- | ---: |
| 37x10d | 13,743,646 |

### More

[x.json](search/x.json)

Made by

    collegial search fc6-500 --seed 7

Seed 7. Version 0.1.0.
";
    assert_eq!(markdown.text, expected);
    let names: Vec<&str> = markdown.files.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["search/objective.svg", "search/objective.csv", "search/x.json"]);
    assert!(markdown.files[0].1.starts_with("<svg") && markdown.files[2].1 == "{}");
}

#[test]
fn markdown_wraps_prose_but_no_table() {
    let mut table = Table::new(&[("item", Align::Left)]);
    table.push(["words ".repeat(30)]);
    let long = "A sentence of words. ".repeat(12);
    let page =
        Page::new("Long").verdict(&*long).section(Section::new("All").prose(&*long).table(table, &*long));
    let text = page.to_markdown("long").text;
    let (cells, prose): (Vec<_>, Vec<_>) = text.lines().partition(|line| line.starts_with('|'));
    assert!(prose.iter().all(|line| line.len() <= 100), "{text}");
    assert!(prose.iter().filter(|line| line.starts_with("> ")).count() > 2);
    assert!(cells.iter().any(|line| line.len() > 100));
}

#[test]
fn rows_link_to_pages_of_the_same_kind() {
    let mut table = Table::new(&[("item", Align::Left), ("what came out", Align::Left)]);
    table.push(["Fig. 3".into(), "words ".repeat(20)]);
    table.link("fig3");
    let page = Page::new("Index").section(Section::new("All").table(table, ""));
    let html = page.to_html();
    assert!(html.contains("<a href=\"fig3.html\">Fig. 3</a>") && html.contains("class=\"left long\""));
    assert!(page.to_markdown("index").text.contains("| [Fig. 3](fig3.md) |"));
}
