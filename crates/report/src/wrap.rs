//! Text in lines of a terminal's width.

/// The columns of a terminal, where nobody says how many there are.
pub const COLUMNS: usize = 80;

/// A text in lines of at most `columns`, broken at its spaces; lines behind the first begin with
/// `indent` spaces. A word that is longer than a line stays whole, and so does a number with its %.
pub fn wrapped(text: &str, columns: usize, indent: usize) -> Vec<String> {
    let mut lines: Vec<String> = vec![];
    for word in words(text) {
        match lines.last_mut() {
            Some(line) if line.chars().count() + 1 + word.chars().count() <= columns => {
                line.push(' ');
                line.push_str(word);
            }
            Some(_) => lines.push(format!("{}{word}", " ".repeat(indent))),
            None => lines.push(word.to_owned()),
        }
    }
    lines
}

/// The same of every line that is too long, later ones as far to the right as their first.
pub fn wrapped_lines(text: &str, columns: usize) -> String {
    let line = |line: &str| {
        if line.chars().count() <= columns {
            return line.to_owned();
        }
        let words = line.trim_start_matches(' ');
        let indent = line.len() - words.len();
        let lines = wrapped(words, columns.saturating_sub(indent), 0);
        let indented: Vec<String> =
            lines.iter().map(|words| format!("{}{words}", " ".repeat(indent))).collect();
        indented.join("\n")
    };
    text.split('\n').map(line).collect::<Vec<_>>().join("\n")
}

/// What is between spaces; "98 %" is one word.
pub(crate) fn words(text: &str) -> impl Iterator<Item = &str> {
    let is_bound = |at: usize| {
        let digit = text[..at].ends_with(|letter: char| letter.is_ascii_digit());
        digit && text[at + 1..].starts_with('%')
    };
    let mut from = Some(0);
    std::iter::from_fn(move || {
        let start = from?;
        let mut spaces = text[start..].match_indices(' ').map(|(at, _)| start + at);
        let end = spaces.find(|&at| !is_bound(at));
        from = end.map(|at| at + 1);
        Some(&text[start..end.unwrap_or(text.len())])
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_break_at_spaces() {
        assert_eq!(wrapped("a short text of words", 8, 0), ["a short", "text of", "words"]);
        assert_eq!(wrapped("a short text of words", 8, 2), ["a short", "  text", "  of", "  words"]);
        assert_eq!(wrapped("unbreakable", 4, 0), ["unbreakable"]);
        assert_eq!(wrapped("", 4, 0), [""]);
    }

    #[test]
    fn a_number_keeps_its_unit() {
        assert_eq!(
            words("85 to 98 %) of top-1, % b").collect::<Vec<_>>(),
            ["85", "to", "98 %)", "of", "top-1,", "%", "b"]
        );
        assert_eq!(wrapped("85 to 98 %", 8, 0), ["85 to", "98 %"]);
    }

    #[test]
    fn long_lines_keep_their_indent() {
        assert_eq!(wrapped_lines("short\n  a long line\n", 9), "short\n  a long\n  line\n");
    }
}
