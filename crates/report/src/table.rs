//! Tables as text, CSV, Markdown and HTML.

use crate::markup::{escape, visible};
use crate::wrap::{COLUMNS, words};

/// On which side a column's cells line up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Align {
    /// Names.
    Left,
    /// Numbers.
    Right,
}

/// Text longer than this is broken into lines inside its cell.
const LONG_CELL: usize = 24;

/// Columns with headings, and rows of cells.
#[derive(Clone, Debug, PartialEq)]
pub struct Table {
    columns: Vec<(String, Align)>,
    rows: Vec<Vec<String>>,
    links: Vec<Option<String>>,
    /// Columns of values that others found, and what is said of them.
    copied: Vec<usize>,
    legend: Option<String>,
    one_line: bool,
}

impl Table {
    /// An empty table with the given headings.
    pub fn new(columns: &[(&str, Align)]) -> Self {
        let columns = columns.iter().map(|&(name, align)| (name.to_owned(), align)).collect();
        Self { columns, rows: vec![], links: vec![], copied: vec![], legend: None, one_line: false }
    }

    /// Appends a row; it must have as many cells as there are columns.
    pub fn push<const N: usize>(&mut self, cells: [String; N]) {
        self.push_row(cells.into());
    }

    /// Appends a row whose length is only known at run time.
    pub fn push_row(&mut self, cells: Vec<String>) {
        assert_eq!(cells.len(), self.columns.len(), "a row has one cell per column");
        self.rows.push(cells);
        self.links.push(None);
    }

    /// Makes the first cell of the last row a link, on pages, to the page of this name (without its
    /// ending) beside it.
    pub fn link(&mut self, page: &str) {
        if let Some(last) = self.links.last_mut() {
            *last = Some(page.to_owned());
        }
    }

    /// Sets these columns apart, because their values were copied and not computed; the legend says
    /// from where. They are in italics on pages, and in parentheses on a terminal.
    #[must_use]
    pub fn copied(mut self, columns: impl IntoIterator<Item = usize>, legend: &str) -> Self {
        self.copied = columns.into_iter().collect();
        self.legend = (!self.copied.is_empty()).then(|| legend.to_owned());
        self
    }

    /// Keeps every row on one line of a page, however wide that is.
    #[must_use]
    pub fn one_line(mut self) -> Self {
        self.one_line = true;
        self
    }

    fn is_copied(&self, column: usize) -> bool {
        self.copied.contains(&column)
    }

    /// The rows with the pages that their first cells link to.
    pub(crate) fn linked_rows(&self) -> impl Iterator<Item = (&[String], Option<&str>)> {
        self.rows.iter().map(Vec::as_slice).zip(self.links.iter().map(Option::as_deref))
    }

    /// Aligned text with a rule under the headings. Where it would be wider than a terminal, long
    /// cells are broken into lines, and columns that still have no room follow in a table of their
    /// own, which begins with the first column again. Copied cells are in parentheses.
    pub fn to_text(&self) -> String {
        let headings: Vec<String> = self.columns.iter().map(|(name, _)| visible(name)).collect();
        let cell = |(column, cell): (usize, &String)| match self.is_copied(column) && is_value(cell) {
            true => format!("({})", visible(cell)),
            false => visible(cell),
        };
        let rows: Vec<Vec<String>> =
            self.rows.iter().map(|row| row.iter().enumerate().map(cell).collect()).collect();
        let widest = |column: usize, width: fn(&str) -> usize| {
            rows.iter().chain([&headings]).map(|row| width(&row[column])).max().unwrap_or(0)
        };
        let all = 0..self.columns.len();
        let natural: Vec<usize> = all.clone().map(|column| widest(column, length)).collect();
        let least: Vec<usize> = all.map(|column| widest(column, longest_piece)).collect();
        let part = |columns: Vec<usize>| {
            let mut widths: Vec<usize> = columns.iter().map(|&column| natural[column]).collect();
            narrow(&mut widths, &columns.iter().map(|&column| least[column]).collect::<Vec<_>>());
            let chosen: Vec<(usize, usize)> = columns.into_iter().zip(widths).collect();
            let rule: Vec<String> = chosen.iter().map(|&(_, width)| "-".repeat(width)).collect();
            let rows: String = rows.iter().map(|row| self.lines(row, &chosen)).collect();
            format!("{}{}\n{rows}", self.lines(&headings, &chosen), rule.join("  "))
        };
        let parts: Vec<String> = parts(&natural, &least).into_iter().map(part).collect();
        let legend = match &self.legend {
            Some(legend) => format!("In parentheses: {legend}.\n"),
            None => String::new(),
        };
        parts.join("\n") + &legend
    }

    /// Some columns of a row, with their widths; the cells may need several lines.
    fn lines(&self, cells: &[String], columns: &[(usize, usize)]) -> String {
        let broken: Vec<Vec<String>> =
            columns.iter().map(|&(column, width)| broken(&cells[column], width)).collect();
        let height = broken.iter().map(Vec::len).max().unwrap_or(1).max(1);
        let line = |line: usize| {
            let padded = columns.iter().zip(&broken).map(|(&(column, width), cell)| {
                let cell = cell.get(line).map_or("", String::as_str);
                match self.columns[column].1 {
                    Align::Left => format!("{cell:<width$}"),
                    Align::Right => format!("{cell:>width$}"),
                }
            });
            format!("{}\n", padded.collect::<Vec<_>>().join("  ").trim_end())
        };
        (0..height).map(line).collect()
    }

    /// Comma-separated values, quoted where needed (RFC 4180); text that a spreadsheet would take
    /// for a formula has an apostrophe in front.
    pub fn to_csv(&self) -> String {
        let headings = self.columns.iter().map(|(name, _)| name.as_str());
        let mut text = csv_line(headings);
        for row in &self.rows {
            text.push_str(&csv_line(row.iter().map(String::as_str)));
        }
        text
    }

    /// A `<table>` element; cells that line up on the left have the class `left`, long ones `long`,
    /// copied ones `copied`.
    pub fn to_html(&self) -> String {
        let class = |column: usize, long: bool| {
            let left = (self.columns[column].1 == Align::Left).then_some("left");
            let long = (long && !self.one_line).then_some("long");
            let copied = self.is_copied(column).then_some("copied");
            let classes: Vec<&str> = [left, long, copied].into_iter().flatten().collect();
            if classes.is_empty() { String::new() } else { format!(" class=\"{}\"", classes.join(" ")) }
        };
        let heading = |(column, (name, _)): (usize, &(String, Align))| {
            format!("<th scope=\"col\"{}>{}</th>", class(column, false), escape(name))
        };
        let headings: String = self.columns.iter().enumerate().map(heading).collect();
        let row = |(cells, link): (&[String], Option<&str>)| {
            let cells = cells.iter().enumerate().map(|(column, cell)| {
                let text = match link.filter(|_| column == 0) {
                    Some(page) => format!("<a href=\"{}.html\">{}</a>", escape(page), escape(cell)),
                    None if self.is_copied(column) && is_value(cell) => format!("<i>{}</i>", escape(cell)),
                    None => escape(cell),
                };
                format!("<td{}>{text}</td>", class(column, length(cell) > LONG_CELL))
            });
            format!("<tr>{}</tr>\n", cells.collect::<String>())
        };
        let rows: String = self.linked_rows().map(row).collect();
        let legend = self.legend.as_ref().map_or(String::new(), |legend| {
            format!("<caption><i class=\"copied\">Italics</i>: {}.</caption>\n", escape(legend))
        });
        format!("<table>\n{legend}<thead><tr>{headings}</tr></thead>\n<tbody>\n{rows}</tbody>\n</table>\n")
    }

    /// A Markdown table.
    pub fn to_markdown(&self) -> String {
        let escape = |cell: &str| cell.replace('|', "\\|");
        let headings: Vec<String> = self.columns.iter().map(|(name, _)| escape(name)).collect();
        let rule: Vec<&str> = self
            .columns
            .iter()
            .map(|(_, align)| if *align == Align::Left { "---" } else { "---:" })
            .collect();
        let mut text = format!("| {} |\n| {} |\n", headings.join(" | "), rule.join(" | "));
        for (row, link) in self.linked_rows() {
            let cell = |(column, cell): (usize, &String)| match self.is_copied(column) && is_value(cell) {
                true => format!("*{}*", escape(cell)),
                false => escape(cell),
            };
            let mut cells: Vec<String> = row.iter().enumerate().map(cell).collect();
            if let (Some(page), Some(first)) = (link, cells.first_mut()) {
                *first = format!("[{first}]({page}.md)");
            }
            text.push_str(&format!("| {} |\n", cells.join(" | ")));
        }
        if let Some(legend) = &self.legend {
            text.push_str(&format!("\n*Italics*: {legend}.\n"));
        }
        text
    }
}

/// Between two columns.
const GAP: usize = 2;

/// A column of long text is given this width at least before the columns behind it are put into
/// a table of their own.
const COMFORTABLE: usize = 16;

/// A word beyond this length is cut, so that two columns have room in any case.
const LONGEST: usize = (COLUMNS - GAP) / 2;

fn length(text: &str) -> usize {
    text.chars().count()
}

fn total(widths: impl Iterator<Item = usize>) -> usize {
    widths.map(|width| width + GAP).sum::<usize>().saturating_sub(GAP)
}

/// The columns side by side where they have room; otherwise in several tables.
fn parts(natural: &[usize], least: &[usize]) -> Vec<Vec<usize>> {
    let all = (0..least.len()).collect::<Vec<_>>();
    if total(least.iter().copied()) <= COLUMNS {
        return vec![all];
    }
    let wanted = |column: usize| least[column].max(natural[column].min(COMFORTABLE));
    let mut parts = vec![vec![0]];
    for column in 1..least.len() {
        match parts.last_mut() {
            Some(part)
                if part.len() == 1 || total(part.iter().copied().chain([column]).map(wanted)) <= COLUMNS =>
            {
                part.push(column);
            }
            _ => parts.push(vec![0, column]),
        }
    }
    parts
}

/// Takes from the widest columns what does not fit into a terminal, and from none more than its
/// longest words leave.
fn narrow(widths: &mut [usize], least: &[usize]) {
    while total(widths.iter().copied()) > COLUMNS {
        let able = widths.iter_mut().zip(least).filter(|(width, least)| **width > **least);
        match able.max_by_key(|(width, _)| **width) {
            Some((widest, _)) => *widest -= 1,
            None => return,
        }
    }
}

/// The pieces of a cell that a line may end behind, each with whether a space stands before it: its
/// words, and the parts of a long path or name, which end in a mark. Numbers stay whole.
fn pieces(cell: &str) -> Vec<(bool, String)> {
    let mut pieces = vec![];
    for (number, word) in words(cell).enumerate() {
        let letters: Vec<char> = word.chars().collect();
        let mut start = 0;
        for at in 1..=letters.len() {
            let digit = |at: usize| letters.get(at).is_some_and(char::is_ascii_digit);
            let is_mark = letters.len() > LONG_CELL
                && "-_./:;".contains(letters[at - 1])
                && !(at > 1 && digit(at - 2) && digit(at));
            if is_mark || at == letters.len() || at - start == LONGEST {
                pieces.push((number > 0 && start == 0, letters[start..at].iter().collect()));
                start = at;
            }
        }
        if letters.is_empty() {
            pieces.push((number > 0, String::new()));
        }
    }
    pieces
}

fn longest_piece(cell: &str) -> usize {
    pieces(cell).iter().map(|(_, piece)| length(piece)).max().unwrap_or(0)
}

/// A cell in lines of at most so many characters, as far as its pieces allow.
fn broken(cell: &str, width: usize) -> Vec<String> {
    if length(cell) <= width {
        return vec![cell.to_owned()];
    }
    let mut lines: Vec<String> = vec![];
    for (spaced, piece) in pieces(cell) {
        match lines.last_mut() {
            Some(line) if length(line) + usize::from(spaced) + length(&piece) <= width => {
                line.push_str(if spaced { " " } else { "" });
                line.push_str(&piece);
            }
            _ => lines.push(piece),
        }
    }
    lines
}

/// Whether a cell says something.
fn is_value(cell: &str) -> bool {
    !matches!(cell, "" | "-")
}

pub(crate) fn csv_line<'a>(cells: impl Iterator<Item = &'a str>) -> String {
    let quoted: Vec<String> = cells
        .map(|cell| {
            let formula = cell.starts_with(['=', '+', '-', '@', '\t', '\r']) && !is_number(cell);
            let mark = if formula { "'" } else { "" };
            if formula || cell.contains([',', '"', '\n', '\r']) {
                format!("\"{mark}{}\"", cell.replace('"', "\"\""))
            } else {
                cell.to_owned()
            }
        })
        .collect();
    format!("{}\n", quoted.join(","))
}

/// Whether a cell is a number, perhaps with grouped digits, or a dash for none.
fn is_number(cell: &str) -> bool {
    cell == "-" || cell.replace(',', "").parse::<f64>().is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn example() -> Table {
        let mut table = Table::new(&[("design", Align::Left), ("parameters", Align::Right)]);
        table.push(["37x10d".into(), "13,743,646".into()]);
        table.push(["a \"b\" | c".into(), "5".into()]);
        table
    }

    #[test]
    fn text_lines_up() {
        let expected = "\
design     parameters
---------  ----------
37x10d     13,743,646
a \"b\" | c           5
";
        assert_eq!(example().to_text(), expected);
    }

    #[test]
    fn wide_tables_fold_their_longest_cells() {
        let mut table = Table::new(&[("name", Align::Left), ("why", Align::Left), ("n", Align::Right)]);
        let why = "a reason in so many words that no terminal of eighty columns holds it beside a name";
        table.push(["trunk_output.block1.block1-0.f.a.0".into(), why.into(), "12".into()]);
        let text = table.to_text();
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
        let joined = |column: std::ops::Range<usize>| -> String {
            let part = |line: &str| line.chars().skip(column.start).take(column.len()).collect::<String>();
            text.lines().skip(2).map(part).map(|part| part.trim().to_owned()).collect::<Vec<_>>().join(" ")
        };
        let rule: Vec<usize> = text.lines().nth(1).unwrap().split("  ").map(str::len).collect();
        assert_eq!(joined(rule[0] + 2..rule[0] + 2 + rule[1]), why, "{text}");
        assert_eq!(broken("abcdefgh", 3), ["abcdefgh"]);
        assert_eq!(broken("", 3), [""]);
        assert_eq!(broken("ab cd", 2), ["ab", "cd"]);
        let path = "block1.0/a_path-1.5-of_more-than-24";
        assert_eq!(broken(path, 16), ["block1.0/a_path-", "1.5-of_more-", "than-24"]);
        assert_eq!(broken(&"x".repeat(50), 39), ["x".repeat(39), "x".repeat(11)]);
    }

    #[test]
    fn numbers_and_words_are_whole_in_tables_without_room() {
        let names: Vec<String> = (0..12).map(|column| format!("column {column}")).collect();
        let headings: Vec<(&str, Align)> = names.iter().map(|name| (name.as_str(), Align::Right)).collect();
        let mut table = Table::new(&[&[("design", Align::Left)], &headings[..]].concat());
        table.push_row(
            [String::from("37x10d")].into_iter().chain((0..12).map(|_| "13,743,646".into())).collect(),
        );
        let text = table.to_text();
        assert!(text.lines().all(|line| length(line) <= 80), "{text}");
        assert_eq!(text.matches("13,743,646").count(), 12, "{text}");
        assert_eq!(text.matches("37x10d").count(), 2, "every part says which row it is: {text}");
        assert!(names.iter().all(|name| text.contains(name)), "{text}");
    }

    #[test]
    fn what_was_copied_is_set_apart() {
        let mut table = Table::new(&[("design", Align::Left), ("error", Align::Right)]);
        table.push(["37x10d".into(), "3.82".into()]);
        table.push(["1x1d".into(), "-".into()]);
        let table = table.copied([1], "copied from the paper");
        let (text, html, markdown) = (table.to_text(), table.to_html(), table.to_markdown());
        assert!(
            text.contains("(3.82)") && text.ends_with("In parentheses: copied from the paper.\n"),
            "{text}"
        );
        assert!(html.contains("<td class=\"copied\"><i>3.82</i></td>"), "{html}");
        assert!(html.contains("<td class=\"copied\">-</td>"), "{html}");
        assert!(html.contains("Italics</i>: copied from the paper.</caption>"), "{html}");
        assert!(
            markdown.contains("| 37x10d | *3.82* |") && markdown.contains("*Italics*: copied"),
            "{markdown}"
        );
        assert!(table.to_csv().contains("37x10d,3.82"));
    }

    #[test]
    fn csv_quotes_what_needs_it() {
        assert_eq!(example().to_csv(), "design,parameters\n37x10d,\"13,743,646\"\n\"a \"\"b\"\" | c\",5\n");
    }

    #[test]
    fn csv_holds_no_formulas() {
        let cells = ["=1+1", "+x", "-x", "@a", "-1.5e-3", "+2", "-12,345", "-"];
        let expected = "\"'=1+1\",\"'+x\",\"'-x\",\"'@a\",-1.5e-3,+2,\"-12,345\",-\n";
        assert_eq!(csv_line(cells.into_iter()), expected);
    }

    #[test]
    fn text_shows_control_characters_and_still_lines_up() {
        let mut table = Table::new(&[("name", Align::Left), ("n", Align::Right)]);
        table.push(["\u{1b}[2J".into(), "1".into()]);
        assert_eq!(table.to_text(), "name       n\n---------  -\n\\u{1b}[2J  1\n");
    }

    #[test]
    fn markdown_escapes_bars() {
        assert!(example().to_markdown().contains("| a \"b\" \\| c | 5 |"));
        assert!(example().to_markdown().contains("| --- | ---: |"));
    }
}
