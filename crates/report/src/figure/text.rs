//! Widths of text, approximately. There is no font here to ask, so widths err on the wide side.

/// Estimated width of a line of text in a sans-serif font of the given size.
pub(crate) fn width(text: &str, size: f64) -> f64 {
    let ems: f64 = text.chars().map(em).sum();
    ems * size
}

fn em(character: char) -> f64 {
    match character {
        'i' | 'j' | 'l' | '.' | ',' | ':' | ';' | '\'' | '|' | '!' | ' ' => 0.32,
        'f' | 't' | 'r' | '(' | ')' | '[' | ']' | '-' | '/' | '"' => 0.42,
        '\u{b2}' | '\u{b3}' | '\u{b9}' | '\u{2070}'..='\u{209f}' => 0.42,
        'm' | 'w' | 'M' | 'W' | '@' | '%' => 0.92,
        'A'..='Z' | '+' | '=' | '<' | '>' | '\u{2212}' | '\u{d7}' => 0.7,
        '\u{1100}'.. => 1.05,
        _ => 0.6,
    }
}

/// The text in lines no wider than `room`; a word wider than that is cut short with an ellipsis.
pub(crate) fn wrap(text: &str, size: f64, room: f64) -> Vec<String> {
    let mut lines: Vec<String> = vec![];
    for word in text.split_whitespace() {
        if let Some(line) = lines.last_mut()
            && width(line, size) + width(" ", size) + width(word, size) <= room
        {
            line.push(' ');
            line.push_str(word);
        } else {
            lines.push(shorten(word, size, room));
        }
    }
    lines
}

/// The text, or as much of it as fits before an ellipsis.
pub(crate) fn shorten(text: &str, size: f64, room: f64) -> String {
    if width(text, size) <= room {
        return text.to_owned();
    }
    let mut left = room - width("…", size);
    let fits = |character: &char| {
        left -= em(*character) * size;
        left >= 0.0
    };
    let kept: String = text.chars().take_while(fits).collect();
    format!("{}…", kept.trim_end())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_no_wider_than_the_room() {
        let text = "second moment of the kernel against the sum of inverse fan-ins";
        let lines = wrap(text, 10.0, 150.0);
        assert!(lines.len() > 1 && lines.iter().all(|line| width(line, 10.0) <= 150.0), "{lines:?}");
        assert_eq!(lines.join(" "), text);
        assert_eq!(wrap("", 10.0, 100.0), Vec::<String>::new());
    }

    #[test]
    fn long_words_are_cut() {
        let cut = shorten(&"x".repeat(100), 10.0, 100.0);
        assert!(cut.ends_with('…') && width(&cut, 10.0) <= 100.0, "{cut}");
        assert_eq!(shorten("short", 10.0, 100.0), "short");
    }
}
