//! Downloads: data inside the page, behind a link.

use std::collections::HashSet;

/// A file that the reader can save from the page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Download {
    pub(crate) name: String,
    media_type: &'static str,
    pub(crate) content: String,
}

impl Download {
    /// Comma-separated values under this file name.
    pub fn csv(name: impl Into<String>, content: impl Into<String>) -> Self {
        Self { name: name.into(), media_type: "text/csv", content: content.into() }
    }

    /// JSON under this file name.
    pub fn json(name: impl Into<String>, content: impl Into<String>) -> Self {
        Self { name: name.into(), media_type: "application/json", content: content.into() }
    }

    /// Plain text under this file name.
    pub fn text(name: impl Into<String>, content: impl Into<String>) -> Self {
        Self { name: name.into(), media_type: "text/plain", content: content.into() }
    }

    /// The content as a `data:` link. Base64 is a third longer than the text; percent-encoded
    /// commas and line ends of CSV would often be more.
    pub(crate) fn link(&self) -> String {
        format!("data:{};charset=utf-8;base64,{}", self.media_type, base64(self.content.as_bytes()))
    }

    pub(crate) fn size(&self) -> usize {
        self.content.len()
    }
}

/// Base64 with padding (RFC 4648, section 4).
fn base64(bytes: &[u8]) -> String {
    const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for chunk in bytes.chunks(3) {
        let mut group = [0; 3];
        group[..chunk.len()].copy_from_slice(chunk);
        let bits = u32::from_be_bytes([0, group[0], group[1], group[2]]);
        for position in 0..4 {
            let digit = ALPHABET[(bits >> (18 - 6 * position)) as usize & 63];
            text.push(if position <= chunk.len() { char::from(digit) } else { '=' });
        }
    }
    text
}

/// The names of a page's files: none twice, all with the page's subject in front.
pub(super) struct Names {
    prefix: String,
    taken: HashSet<String>,
}

impl Names {
    pub(super) fn new(subject: Option<&str>) -> Self {
        let prefix = subject.map_or(String::new(), |subject| format!("{}-", slug(subject)));
        Self { prefix, taken: HashSet::new() }
    }

    /// A name with the subject in front, unless it is the subject's own.
    pub(super) fn prefixed(&self, name: &str) -> String {
        let own = !self.prefix.is_empty() && name.starts_with(self.prefix.trim_end_matches('-'));
        if own { name.to_owned() } else { format!("{}{name}", self.prefix) }
    }

    /// The same, with a number behind it where there was one of this name.
    pub(super) fn unique(&mut self, name: &str) -> String {
        let base = self.prefixed(name);
        let numbered = (2..).map(|number| format!("{base}-{number}"));
        let mut candidates = [base.clone()].into_iter().chain(numbered);
        candidates.find(|name| self.taken.insert(name.clone())).unwrap_or(base)
    }
}

/// A name for ids and files: lower-case words joined by hyphens.
pub(crate) fn slug(text: &str) -> String {
    let words = text.split(|character: char| !character.is_ascii_alphanumeric());
    let words: Vec<String> = words.filter(|word| !word.is_empty()).map(str::to_ascii_lowercase).collect();
    let slug: String = words.join("-").chars().take(60).collect();
    if slug.is_empty() { "data".to_owned() } else { slug }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_agrees_with_the_standard() {
        // The test vectors of RFC 4648, section 10.
        let vectors = [
            ("", ""),
            ("f", "Zg=="),
            ("fo", "Zm8="),
            ("foo", "Zm9v"),
            ("foob", "Zm9vYg=="),
            ("fooba", "Zm9vYmE="),
            ("foobar", "Zm9vYmFy"),
        ];
        for (plain, encoded) in vectors {
            assert_eq!(base64(plain.as_bytes()), encoded);
        }
        assert_eq!(base64(&[0xfb, 0xff, 0xfe]), "+//+");
    }

    #[test]
    fn names_are_about_the_subject_and_differ() {
        let mut names = Names::new(Some("resnext29-1x128d"));
        assert_eq!(names.unique("designs"), "resnext29-1x128d-designs");
        assert_eq!(names.unique("designs"), "resnext29-1x128d-designs-2");
        assert_eq!(names.prefixed("curve.csv"), "resnext29-1x128d-curve.csv");
        assert_eq!(Names::new(Some("fig4")).prefixed("fig4.json"), "fig4.json");
        assert_eq!(Names::new(None).prefixed("curve.csv"), "curve.csv");
    }

    #[test]
    fn slugs_are_file_names() {
        assert_eq!(slug("Primal objective: ln(E[K²])"), "primal-objective-ln-e-k");
        assert_eq!(slug("../../<b>"), "b");
        assert_eq!(slug("π"), "data");
    }
}
