//! The numbers and sentences that the paper prints: `paper/tables.json`, which is part of the
//! program.

use std::sync::LazyLock;

use collegial_arch::{Overrides, Spec};
use serde_json::Value;

use crate::reproduce::Error;

static PAPER: LazyLock<Value> =
    LazyLock::new(|| serde_json::from_str(include_str!("../../paper/tables.json")).unwrap_or_default());

/// A published number with the decimals it was printed with.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Number {
    /// Its value.
    pub value: f64,
    /// How many decimals it has in print.
    pub decimals: usize,
}

impl Number {
    /// As the paper prints it.
    pub fn printed(self) -> String {
        self.round(self.value)
    }

    /// Another value with as many decimals.
    pub fn round(self, value: f64) -> String {
        format!("{value:.*}", self.decimals)
    }

    /// Half a unit of the last printed digit: what rounding may have taken.
    pub fn half_unit(self) -> f64 {
        0.5 * 10f64.powi(-(self.decimals as i32))
    }
}

/// Something the paper says.
#[derive(Clone, Debug, PartialEq)]
pub struct Statement {
    /// What it is about, or the whole claim where there is no number.
    pub says: String,
    /// Where.
    pub place: String,
    /// The number, if it is one.
    pub number: Option<Number>,
}

/// The statement with this id, such as `fig3.efficiency`.
///
/// # Errors
///
/// If there is no such statement.
pub fn statement(id: &str) -> Result<Statement, Error> {
    let entry = &PAPER["statements"][id];
    let text = |key: &str| entry[key].as_str().map(str::to_owned).ok_or_else(|| missing(id));
    let decimals = entry["decimals"].as_u64().map(|decimals| decimals as usize);
    let number = number(&entry["value"])
        .map(|number| Number { decimals: decimals.unwrap_or(number.decimals), ..number });
    Ok(Statement { says: text("says")?, place: text("where")?, number })
}

/// The number of the statement with this id.
///
/// # Errors
///
/// If there is no such statement or it has no number.
pub fn value(id: &str) -> Result<Number, Error> {
    statement(id)?.number.ok_or_else(|| missing(id))
}

/// A published table.
#[derive(Clone, Debug, PartialEq)]
pub struct Table {
    columns: Vec<String>,
    rows: Vec<Vec<Value>>,
}

/// The table with this id, such as `table1_primal_cifar`.
///
/// # Errors
///
/// If there is no such table.
pub fn table(id: &str) -> Result<Table, Error> {
    let array = |key: &str| PAPER[id][key].as_array().ok_or_else(|| missing(id));
    let columns = array("columns")?.iter().filter_map(|name| name.as_str().map(str::to_owned)).collect();
    let rows = array("rows")?.iter().filter_map(|row| row.as_array().cloned()).collect();
    Ok(Table { columns, rows })
}

impl Table {
    /// The rows, in the printed order.
    pub fn rows(&self) -> impl ExactSizeIterator<Item = Row<'_>> {
        self.rows.iter().map(|cells| Row { columns: &self.columns, cells })
    }

    /// The names of the columns, the row's own included.
    pub fn columns(&self) -> &[String] {
        &self.columns
    }
}

/// A row of a published table.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Row<'a> {
    columns: &'a [String],
    cells: &'a [Value],
}

impl<'a> Row<'a> {
    /// Its name as printed: a design or a model, and perhaps how it was trained, `1x128d (1 GPU)`.
    pub fn name(self) -> &'a str {
        self.cells.first().and_then(Value::as_str).unwrap_or_default()
    }

    /// The design or model alone.
    pub fn model(self) -> &'a str {
        self.name().split_once(" (").map_or(self.name(), |(model, _)| model)
    }

    /// The recipe that the paper trained it by, where that is another than the table's.
    pub fn recipe(self) -> Option<&'a str> {
        self.name().split_once(" (").map(|(_, recipe)| recipe.trim_end_matches(')'))
    }

    /// A cell; `None` where the paper prints a dash.
    pub fn number(self, column: &str) -> Option<Number> {
        let at = self.columns.iter().position(|name| name == column)?;
        let cell = number(self.cells.get(at)?)?;
        // JSON drops the last zeros of 4.20; FLOPs and errors have two decimals throughout. Counts
        // of parameters have three digits, and so one decimal or two.
        let fixed = column == "GFLOPs" || column.ends_with("_error");
        Some(if fixed { Number { decimals: 2, ..cell } } else { cell })
    }
}

/// The network of a row; tables of one family print the design alone.
///
/// # Errors
///
/// If it is no known network.
pub fn network(family: &str, model: &str, classes: usize) -> Result<Spec, Error> {
    let spec: Spec =
        if model.contains('-') { model.parse()? } else { format!("{family}-{model}").parse()? };
    Ok(spec.with(&Overrides { classes: Some(classes), ..Overrides::default() })?)
}

fn number(value: &Value) -> Option<Number> {
    let text = value.as_number()?.to_string();
    let decimals = text.split_once('.').map_or(0, |(_, digits)| digits.len());
    Some(Number { value: value.as_f64()?, decimals })
}

fn missing(id: &str) -> Error {
    Error::experiment("paper/tables.json", format!("nothing under {id:?}, or not what is asked for"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_keep_their_decimals() {
        assert_eq!(value("fig3.efficiency").unwrap().printed(), "2.45");
        assert_eq!(value("block.alpha").unwrap().printed(), "1.60");
        let table = table("table5_flops_cifar").unwrap();
        let rows: Vec<Row> = table.rows().collect();
        assert_eq!(
            rows.iter().map(|row| row.name()).collect::<Vec<_>>(),
            ["1x128d", "3x64d", "44x8d", "60x6d"]
        );
        assert_eq!(rows[2].number("GFLOPs").unwrap().printed(), "4.20");
        assert_eq!(rows[2].number("params_M").unwrap().printed(), "12.7");
        assert_eq!(rows[2].number("rho"), None);
    }

    #[test]
    fn rows_of_another_recipe_name_their_model() {
        let tables = ["table1_primal_cifar", "table1_dual_cifar"].map(|id| table(id).unwrap());
        let rows = tables.iter().flat_map(Table::rows).filter(|row| row.recipe().is_some());
        let rows: Vec<_> = rows.map(|row| (row.name(), row.model(), row.recipe())).collect();
        let one_gpu = Some("1 GPU");
        let expected = [("1x128d (1 GPU)", "1x128d", one_gpu), ("10x10d (1 GPU)", "10x10d", one_gpu)];
        assert_eq!(rows, expected);
    }

    #[test]
    fn what_is_not_there_is_named() {
        assert!(value("fig9.x").unwrap_err().to_string().contains("fig9.x"));
        assert!(value("fig2.limit").is_err());
        assert!(table("table9").is_err());
    }
}
