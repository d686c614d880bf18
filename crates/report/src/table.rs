//! Tables as text, CSV, Markdown and HTML.

use crate::markup::{escape, visible};

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
}

impl Table {
    /// An empty table with the given headings.
    pub fn new(columns: &[(&str, Align)]) -> Self {
        let columns = columns.iter().map(|&(name, align)| (name.to_owned(), align)).collect();
        Self { columns, rows: vec![], links: vec![] }
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

    /// The rows with the pages that their first cells link to.
    pub(crate) fn linked_rows(&self) -> impl Iterator<Item = (&[String], Option<&str>)> {
        self.rows.iter().map(Vec::as_slice).zip(self.links.iter().map(Option::as_deref))
    }

    /// Aligned text with a rule under the headings. Where it would be wider than 80 columns, long
    /// cells are broken into lines.
    pub fn to_text(&self) -> String {
        let headings: Vec<String> = self.columns.iter().map(|(name, _)| visible(name)).collect();
        let rows: Vec<Vec<String>> =
            self.rows.iter().map(|row| row.iter().map(|cell| visible(cell)).collect()).collect();
        let lines = || rows.iter().chain([&headings]);
        let width = |column: usize| lines().map(|row| row[column].chars().count()).max().unwrap_or(0);
        let mut widths: Vec<usize> = (0..self.columns.len()).map(width).collect();
        // A number that is broken reads as two: names and headings give way first.
        let number = |column: usize| match self.columns[column].1 {
            Align::Left => NARROWEST,
            Align::Right => {
                rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0).max(NARROWEST)
            }
        };
        narrow(&mut widths, &(0..self.columns.len()).map(number).collect::<Vec<_>>());
        narrow(&mut widths, &vec![NARROWEST; self.columns.len()]);
        let rule: Vec<String> = widths.iter().map(|&width| "-".repeat(width)).collect();
        let rows: String = rows.iter().map(|row| self.lines(row, &widths)).collect();
        format!("{}{}\n{rows}", self.lines(&headings, &widths), rule.join("  "))
    }

    /// A row, whose cells may need several lines.
    fn lines(&self, cells: &[String], widths: &[usize]) -> String {
        let broken: Vec<Vec<String>> =
            cells.iter().zip(widths).map(|(cell, &width)| broken(cell, width)).collect();
        let height = broken.iter().map(Vec::len).max().unwrap_or(1).max(1);
        let part = |cell: &Vec<String>, line: usize| cell.get(line).cloned().unwrap_or_default();
        let line = |line| broken.iter().map(|cell| part(cell, line)).collect::<Vec<_>>();
        (0..height).map(|at| self.line(&line(at), widths)).collect()
    }

    fn line(&self, cells: &[String], widths: &[usize]) -> String {
        let padded: Vec<String> = cells
            .iter()
            .zip(&self.columns)
            .zip(widths)
            .map(|((cell, (_, align)), &width)| match align {
                Align::Left => format!("{cell:<width$}"),
                Align::Right => format!("{cell:>width$}"),
            })
            .collect();
        format!("{}\n", padded.join("  ").trim_end())
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

    /// A `<table>` element; cells that line up on the left have the class `left`.
    pub fn to_html(&self) -> String {
        let class = |align: Align| if align == Align::Left { " class=\"left\"" } else { "" };
        let heading = |(name, align): &(String, Align)| {
            format!("<th scope=\"col\"{}>{}</th>", class(*align), escape(name))
        };
        let headings: String = self.columns.iter().map(heading).collect();
        let row = |(cells, link): (&[String], Option<&str>)| {
            let cells = cells.iter().zip(&self.columns).enumerate();
            let cells = cells.map(|(index, (cell, (_, align)))| {
                let text = match link.filter(|_| index == 0) {
                    Some(page) => format!("<a href=\"{}.html\">{}</a>", escape(page), escape(cell)),
                    None => escape(cell),
                };
                let class = match (align, cell.chars().count() > LONG_CELL) {
                    (Align::Left, true) => " class=\"left long\"",
                    (Align::Right, true) => " class=\"long\"",
                    (_, false) => class(*align),
                };
                format!("<td{class}>{text}</td>")
            });
            format!("<tr>{}</tr>\n", cells.collect::<String>())
        };
        let rows: String = self.linked_rows().map(row).collect();
        format!("<table>\n<thead><tr>{headings}</tr></thead>\n<tbody>\n{rows}</tbody>\n</table>\n")
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
            let mut cells: Vec<String> = row.iter().map(|cell| escape(cell)).collect();
            if let (Some(page), Some(first)) = (link, cells.first_mut()) {
                *first = format!("[{first}]({page}.md)");
            }
            text.push_str(&format!("| {} |\n", cells.join(" | ")));
        }
        text
    }
}

/// The columns of a terminal.
const TERMINAL: usize = 80;

/// No column is made narrower than this.
const NARROWEST: usize = 8;

/// Takes from the widest columns what does not fit into a terminal, down to a least width of each.
fn narrow(widths: &mut [usize], least: &[usize]) {
    let gaps = 2 * widths.len().saturating_sub(1);
    while widths.iter().sum::<usize>() + gaps > TERMINAL {
        match widths.iter_mut().zip(least).filter(|(width, least)| **width > **least).max() {
            Some((widest, _)) => *widest -= 1,
            None => return,
        }
    }
}

/// A cell in pieces of at most so many characters, broken behind spaces and marks where it has any.
fn broken(cell: &str, width: usize) -> Vec<String> {
    let mut rest: Vec<char> = cell.chars().collect();
    let mut pieces = vec![];
    while rest.len() > width {
        let fits = &rest[..width + 1];
        let space = fits.iter().rposition(|letter| *letter == ' ').filter(|at| *at > 0);
        let mark = || fits[..width].iter().rposition(|letter| "-_./,:;".contains(*letter)).map(|at| at + 1);
        let end = space.or_else(mark).unwrap_or(width);
        let piece: String = rest.drain(..end).collect();
        pieces.push(piece.trim_end().to_owned());
        if rest.first() == Some(&' ') {
            rest.remove(0);
        }
    }
    pieces.push(rest.into_iter().collect());
    pieces
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
        assert_eq!(broken("abcdefgh", 3), ["abc", "def", "gh"]);
        assert_eq!(broken("", 3), [""]);
        assert_eq!(broken("ab cd", 2), ["ab", "cd"]);
    }

    #[test]
    fn numbers_stay_whole_where_headings_and_names_can_give_way() {
        let number = |name| (name, Align::Right);
        let mut table = Table::new(&[
            ("a kind of layer", Align::Left),
            number("a variance of the kernel"),
            number("the same of one member"),
            number("what it was drawn with"),
        ]);
        let cells = ["feed-forward layers", "0.000762510", "0.012345678901", "0.00019"];
        table.push(cells.map(str::to_owned));
        let text = table.to_text();
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
        assert!(cells[1..].iter().all(|number| text.contains(number)), "{text}");
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
