//! The page's files, built into the program.

/// A file of the page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct File {
    /// Its path on the server, and its name in a static folder.
    pub name: &'static str,
    /// Its media type.
    pub kind: &'static str,
    /// Its content.
    pub content: &'static str,
}

const HTML: &str = "text/html; charset=utf-8";
const CSS: &str = "text/css; charset=utf-8";
const TEXT: &str = "text/plain; charset=utf-8";
const SCRIPT: &str = "text/javascript; charset=utf-8";

macro_rules! file {
    ($name:literal, $kind:expr) => {
        File { name: $name, kind: $kind, content: include_str!(concat!("../../page/", $name)) }
    };
}

/// What others' trainings say, in full; pages of answers carry it, too.
pub(crate) const EVIDENCE: &str = include_str!("../../page/evidence.md");

/// All of them, the page itself first; report pages have the same style sheets and scripts.
pub const FILES: &[File] = &[
    file!("index.html", HTML),
    file!("idea.md", TEXT),
    File { name: "evidence.md", kind: TEXT, content: EVIDENCE },
    File { name: "palette.css", kind: CSS, content: collegial_report::PALETTE },
    File { name: "look.css", kind: CSS, content: collegial_report::LOOK },
    File { name: "figure.css", kind: CSS, content: collegial_report::FIGURE_STYLE },
    file!("style.css", CSS),
    File { name: "sort.js", kind: SCRIPT, content: collegial_report::SORT_SCRIPT },
    File { name: "save.js", kind: SCRIPT, content: collegial_report::SAVE_SCRIPT },
    file!("main.js", SCRIPT),
    file!("ask.js", SCRIPT),
    file!("state.js", SCRIPT),
    file!("format.js", SCRIPT),
    file!("svg.js", SCRIPT),
    file!("plot.js", SCRIPT),
    file!("plots.js", SCRIPT),
    file!("diagram.js", SCRIPT),
    file!("tables.js", SCRIPT),
    file!("cards.js", SCRIPT),
    file!("front.js", SCRIPT),
    file!("draws.js", SCRIPT),
    file!("take.js", SCRIPT),
    file!("picker.js", SCRIPT),
    file!("share.js", SCRIPT),
    file!("worker.js", SCRIPT),
];

/// What a browser may do with the page: run and load what comes with it, and nothing else.
pub const POLICY: &str = "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; style-src 'self'; connect-src 'self'; \
     img-src 'self' data: blob:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";
