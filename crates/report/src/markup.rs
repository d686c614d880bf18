//! Text made safe for where it goes, and short numbers.

/// Text made safe for element content and double-quoted attributes; characters that XML forbids
/// become U+FFFD.
pub(crate) fn escape(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            '\'' => safe.push_str("&#39;"),
            // A bare carriage return would be read back as a line feed.
            '\r' => safe.push_str("&#13;"),
            '\t' | '\n' => safe.push(character),
            '\0'..='\u{1f}' | '\u{7f}'..='\u{9f}' | '\u{fffe}' | '\u{ffff}' => safe.push('\u{fffd}'),
            _ => safe.push(character),
        }
    }
    safe
}

/// A sentence with a capital, as pages begin them; terminals do not.
pub fn capitalised(sentence: &str) -> String {
    let mut letters = sentence.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

/// A sentence with a full stop, unless it ends in a mark of its own.
pub fn closed(sentence: &str) -> String {
    let sentence = sentence.trim_end();
    let stop = if sentence.ends_with(['.', '?', '!', ':']) { "" } else { "." };
    format!("{sentence}{stop}")
}

/// A list in a sentence: "a, b and c".
pub fn listed(items: &[String]) -> String {
    match items {
        [] => String::new(),
        [only] => only.clone(),
        [first @ .., last] => format!("{} and {last}", first.join(", ")),
    }
}

/// Text made safe for a terminal: control characters, which could move the cursor or hide what
/// follows, are shown as Rust writes them; line ends and tabs stay.
pub fn visible(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for character in text.chars() {
        if character.is_control() && !matches!(character, '\n' | '\t') {
            safe.extend(character.escape_default());
        } else {
            safe.push(character);
        }
    }
    safe
}

/// A coordinate with at most two decimals and no trailing zeros, so that files are small and equal
/// everywhere.
pub(crate) fn coordinate(value: f64) -> String {
    // Far outside any drawing; keeps digits few where a range was set much narrower than the data.
    let value = value.clamp(-100_000.0, 100_000.0);
    let text = format!("{value:.2}");
    let text = text.trim_end_matches('0').trim_end_matches('.');
    if text == "-0" { "0".to_owned() } else { text.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markup_characters_are_escaped() {
        assert_eq!(escape("<script>\"a\" & 'b'"), "&lt;script&gt;&quot;a&quot; &amp; &#39;b&#39;");
        assert_eq!(escape("a\u{0}b\u{b}c\u{ffff}\n"), "a\u{fffd}b\u{fffd}c\u{fffd}\n");
    }

    #[test]
    fn sentences_end_with_a_mark() {
        assert_eq!(closed("a word"), "a word.");
        assert_eq!(closed("a word.\n"), "a word.");
        assert_eq!(closed("did you mean b?"), "did you mean b?");
    }

    #[test]
    fn control_characters_are_shown() {
        assert_eq!(visible("a\u{1b}[31mb\u{9b}c\r\n\td é"), "a\\u{1b}[31mb\\u{9b}c\\r\n\td é");
    }

    #[test]
    fn coordinates_are_short() {
        assert_eq!(coordinate(12.0), "12");
        assert_eq!(coordinate(12.5), "12.5");
        assert_eq!(coordinate(0.126), "0.13");
        assert_eq!(coordinate(-0.001), "0");
        assert_eq!(coordinate(1e300), "100000");
        assert_eq!(coordinate(100.0), "100");
    }
}
