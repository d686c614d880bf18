//! The palette: what colours mean, and the style sheet with them in.

use std::sync::LazyLock;

/// The colour of a layer, by what it shows; `look/palette.css` says which colour that is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tone {
    /// Designs of the baseline's cost.
    Cost,
    /// What the fitted law says.
    Law,
    /// Designs of the baseline's variance.
    Variance,
    /// What was drawn or measured.
    Drawn,
    /// Anything else.
    Other,
    /// The baseline.
    Base,
}

impl Tone {
    /// The order in which layers without a tone of their own take theirs.
    pub const CYCLE: [Self; 6] =
        [Self::Cost, Self::Law, Self::Variance, Self::Drawn, Self::Other, Self::Base];

    /// The tone of the layer with this number.
    pub fn nth(number: usize) -> Self {
        Self::CYCLE[number % Self::CYCLE.len()]
    }

    /// Its class in the style sheet.
    pub(crate) fn class(self) -> &'static str {
        match self {
            Self::Cost => "c-cost",
            Self::Law => "c-law",
            Self::Variance => "c-variance",
            Self::Drawn => "c-drawn",
            Self::Other => "c-other",
            Self::Base => "c-base",
        }
    }
}

/// The rules for strokes and text, in the palette's variables.
pub(crate) const STYLE: &str = include_str!("../../look/figure.css");

/// Colours by the names of their variables, light and dark.
pub(crate) const PALETTE: &str = include_str!("../../look/palette.css");

/// [`STYLE`] for a figure that stands alone. Programs that draw SVG outside a browser know no
/// variables, so the colours themselves stand in it, light ones first.
pub(crate) fn standalone_style() -> &'static str {
    static STANDALONE: LazyLock<String> = LazyLock::new(|| {
        let modes: Vec<Vec<(&str, &str)>> =
            PALETTE.lines().filter_map(|line| line.strip_prefix(":root{")).map(variables).collect();
        let [light, dark] = [0, 1].map(|mode| modes.get(mode).map_or(&[][..], Vec::as_slice));
        let coloured: Vec<&str> = STYLE.lines().filter(|rule| rule.contains("var(")).collect();
        let dark = filled(&coloured.join("\n"), dark);
        format!("{}@media screen and (prefers-color-scheme:dark){{\n{dark}\n}}\n", filled(STYLE, light))
    });
    &STANDALONE
}

/// The names and values of a line of the palette.
fn variables(line: &str) -> Vec<(&str, &str)> {
    line.trim_end_matches('}').split(';').filter_map(|pair| pair.split_once(':')).collect()
}

fn filled(rules: &str, palette: &[(&str, &str)]) -> String {
    palette
        .iter()
        .fold(rules.to_owned(), |rules, (name, colour)| rules.replace(&format!("var({name})"), colour))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_figure_alone_has_colours_for_both_modes() {
        let style = standalone_style();
        assert!(!style.contains("var("), "{style}");
        for tone in Tone::CYCLE {
            assert_eq!(style.matches(&format!(".{}{{", tone.class())).count(), 2);
        }
        assert!(style.contains(".c-cost{color:#0b5fa5}") && style.contains(".c-cost{color:#6cb6f5}"));
    }
}
