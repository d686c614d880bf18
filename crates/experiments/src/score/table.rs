//! Tables of designs: CSV files with a header, or sampled models as JSON.

use std::path::Path;

use serde_json::{Map, Number, Value};

use super::nds;
use crate::Error;

/// Keys of a scored row that are not the table's.
const COMPUTED: [&str; 7] = ["row", "score", "white_score", "law", "parameters", "flops", "inner_width"];

/// The text of a table's cells.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Table {
    columns: Vec<String>,
    rows: Vec<Vec<String>>,
}

impl Table {
    /// Reads a CSV file, or, if its name ends in `.json`, a file of sampled models as those of "On
    /// Network Design Spaces".
    ///
    /// # Errors
    ///
    /// If it cannot be read, or is no such table.
    pub fn open(path: &Path) -> Result<Self, Error> {
        let bytes = read_table(path).map_err(|source| Error::Directory { path: path.to_owned(), source })?;
        let table = if path.extension().is_some_and(|ending| ending == "json") {
            let imagenet = path.file_stem().is_some_and(|name| name.to_string_lossy().contains("_in"));
            nds::table(&bytes, imagenet)
        } else {
            Self::from_csv(&bytes)
        };
        table.map_err(|error| match error {
            Error::Table { reason, .. } => Error::Table { name: path.display().to_string(), reason },
            other => other,
        })
    }

    /// Reads the content of a CSV file; its first line names the columns.
    ///
    /// # Errors
    ///
    /// If lines have different numbers of cells, or a column's name occurs twice.
    pub fn from_csv(bytes: &[u8]) -> Result<Self, Error> {
        let mut reader = csv::ReaderBuilder::new().trim(csv::Trim::All).from_reader(bytes);
        let header = reader.headers().map_err(Error::table)?;
        let columns: Vec<String> = header.iter().map(str::to_owned).collect();
        if columns.is_empty() {
            return Err(Error::table("the table is empty; its first line names the columns"));
        }
        if let Some((_, twice)) = columns.iter().enumerate().find(|(at, name)| columns[..*at].contains(name))
        {
            return Err(Error::table(format!("the column {twice:?} occurs twice")));
        }
        let rows: Result<Vec<Vec<String>>, csv::Error> =
            reader.records().map(|record| Ok(record?.iter().map(str::to_owned).collect())).collect();
        Ok(Self { columns, rows: rows.map_err(Error::table)? })
    }

    /// A table of rows that have as many cells as there are columns.
    pub(super) fn of(columns: Vec<String>, rows: Vec<Vec<String>>) -> Self {
        Self { columns, rows }
    }

    /// Its columns.
    pub fn columns(&self) -> &[String] {
        &self.columns
    }

    /// Number of rows.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Whether there is no row.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// The text of a cell; `None` where the column is missing or the cell is empty.
    pub fn get(&self, row: usize, column: &str) -> Option<&str> {
        let at = self.columns.iter().position(|name| name == column)?;
        self.rows[row].get(at).map(String::as_str).filter(|text| !text.is_empty())
    }

    /// Refuses a column that is not there, with those that are.
    ///
    /// # Errors
    ///
    /// [`Error::Column`].
    pub fn require(&self, column: &str) -> Result<(), Error> {
        if self.columns.iter().any(|name| name == column) {
            return Ok(());
        }
        Err(Error::Column { column: column.to_owned(), columns: self.columns.clone() })
    }

    /// A row by column; cells that are numbers become numbers. A column that has the name of one
    /// that is computed gets `_given` appended.
    pub(super) fn cells(&self, row: usize) -> Map<String, Value> {
        let name = |column: &String| match COMPUTED.contains(&column.as_str()) {
            true => format!("{column}_given"),
            false => column.clone(),
        };
        let value = |text: &String| match text.parse::<f64>().ok().and_then(Number::from_f64) {
            _ if text.is_empty() => Value::Null,
            Some(number) => text.parse::<u64>().map_or(Value::Number(number), Value::from),
            None => Value::String(text.clone()),
        };
        self.columns.iter().map(name).zip(self.rows[row].iter().map(value)).collect()
    }
}

/// A regular file, or standard input, which a shell connects to the end of a pipeline.
fn read_table(path: &Path) -> std::io::Result<Vec<u8>> {
    if path == Path::new("/dev/stdin") {
        std::fs::read(path)
    } else {
        collegial_core::files::read_regular(path)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_are_found_by_column() {
        let table = Table::from_csv(b"model, error\nresnet50, 23.5\nresnet101,\n").unwrap();
        assert_eq!((table.len(), table.get(0, "model"), table.get(1, "error")), (2, Some("resnet50"), None));
        assert_eq!(table.cells(0)["error"], Value::from(23.5));
        assert_eq!(table.cells(1)["error"], Value::Null);
        let sentence = table.require("top1").unwrap_err().to_string();
        assert_eq!(sentence, "the table has no column \"top1\"; it has \"model\", \"error\"");
    }

    #[test]
    fn tables_that_are_none_are_refused() {
        let sentence = |text: &[u8]| Table::from_csv(text).unwrap_err().to_string();
        assert!(sentence(b"a,a\n1,2\n").contains("\"a\" occurs twice"));
        assert!(
            sentence(b"a,b\n1\n").contains("the table cannot be read as a table"),
            "{}",
            sentence(b"a,b\n1\n")
        );
        assert!(sentence(b"a,b\n1,\xff\n").contains("the table cannot be read as a table"));
    }
}
