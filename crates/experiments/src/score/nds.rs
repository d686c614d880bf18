//! Sampled-model files of "On Network Design Spaces for Visual Recognition" (Radosavovic et al.
//! 2019) as tables.
//!
//! Such a file is a JSON list of trained models, or an object whose members are such lists (`top`,
//! `mid`). A model has `net` with `block_type`, `ds` (blocks per stage), `ws` (outputs), `bot_muls`
//! or `bms` (inner width over outputs) and `num_gs` (groups) or `gws` (width of a group), and,
//! beside it, `min_test_top1`, `params` and `flops`.
//!
//! The networks are read as RegNets, the one family here whose stages have widths of their own,
//! with an image for which every stage's map has the size it has in theirs. The stem is then
//! another one, so that counts differ by it.

use serde_json::{Map, Value};

use super::Table;
use crate::Error;

/// The columns of the table.
const COLUMNS: [&str; 13] = [
    "model",
    "blocks",
    "outputs",
    "m",
    "n",
    "stem",
    "classes",
    "image",
    "min_test_top1",
    "params",
    "macs",
    "depth",
    "left_out",
];

/// The table of such a file. Names with `_in` are of ImageNet, all others of CIFAR-10.
///
/// # Errors
///
/// If it is no JSON, or no list of models.
pub(super) fn table(bytes: &[u8], imagenet: bool) -> Result<Table, Error> {
    let document: Value = serde_json::from_slice(bytes).map_err(Error::table)?;
    let models: Vec<&Value> = match &document {
        Value::Array(models) => models.iter().collect(),
        Value::Object(lists) => lists.values().filter_map(Value::as_array).flatten().collect(),
        _ => vec![],
    };
    if !models.iter().any(|model| model["net"].is_object()) {
        return Err(Error::table("it is JSON, but no list of sampled models with a key \"net\""));
    }
    let rows = models.iter().enumerate().map(|(at, model)| row(at, model, imagenet)).collect();
    Ok(Table::of(COLUMNS.map(str::to_owned).to_vec(), rows))
}

fn row(at: usize, model: &Value, imagenet: bool) -> Vec<String> {
    let number = |key: &str| model[key].as_f64().map_or(String::new(), |value| value.to_string());
    // A stem of stride 2 and a first stage of stride 2: the first stage of CIFAR's networks works
    // on 32 x 32.
    let (classes, image) = if imagenet { ("1000", "224") } else { ("10", "128") };
    let net = model["net"].as_object();
    let design = net.map_or_else(|| Err("it has no key net".into()), stages);
    let (lists, left_out) = match design {
        Ok(lists) => (lists.each_ref().map(|list| joined(list)), String::new()),
        Err(reason) => (Default::default(), reason),
    };
    let depth: usize = lists[0].split('-').filter_map(|blocks| blocks.parse::<usize>().ok()).sum();
    let [blocks, outputs, m, n] = lists;
    vec![
        format!("model {}", at + 1),
        blocks,
        outputs,
        m,
        n,
        "simple".into(),
        classes.into(),
        image.into(),
        number("min_test_top1"),
        number("params"),
        number("flops"),
        depth.to_string(),
        left_out,
    ]
}

/// Blocks, outputs, m and n of every stage.
fn stages(net: &Map<String, Value>) -> Result<[Vec<usize>; 4], String> {
    let block = net.get("block_type").and_then(Value::as_str).unwrap_or("res_bottleneck_block");
    if !block.contains("bottleneck") {
        return Err(format!("its blocks are of type {block}, not bottlenecks"));
    }
    let list = |keys: [&str; 2]| {
        let found = keys.iter().find_map(|key| net.get(*key)?.as_array());
        found.map(|list| list.iter().filter_map(Value::as_f64).collect::<Vec<f64>>())
    };
    let (Some(blocks), Some(outputs)) = (list(["ds", "ds"]), list(["ws", "ws"])) else {
        return Err("its net has no ds or no ws".into());
    };
    let ratios = list(["bms", "bot_muls"]).unwrap_or_else(|| vec![1.0; blocks.len()]);
    let (counts, widths) = (list(["num_gs", "num_gs"]), list(["gws", "gws"]));
    let mut all: [Vec<usize>; 4] = Default::default();
    for stage in 0..blocks.len() {
        let at = |list: &[f64]| list.get(stage).copied().ok_or("its lists have different lengths".to_owned());
        let inner = (at(&outputs)? * at(&ratios)?).round();
        let (m, n) = match (&counts, &widths) {
            (Some(counts), _) => (at(counts)?, inner / at(counts)?),
            (None, Some(widths)) => (inner / at(widths)?, at(widths)?),
            (None, None) => (1.0, inner),
        };
        if m < 1.0 || n < 1.0 || m.fract() != 0.0 || n.fract() != 0.0 {
            return Err(format!(
                "stage {} has an inner width of {inner}, which its groups do not divide",
                stage + 1
            ));
        }
        for (list, value) in all.iter_mut().zip([at(&blocks)?, at(&outputs)?, m, n]) {
            list.push(value as usize);
        }
    }
    Ok(all)
}

fn joined(list: &[usize]) -> String {
    list.iter().map(usize::to_string).collect::<Vec<_>>().join("-")
}

#[cfg(test)]
mod tests {
    use super::super::{Question, ScoredTable};
    use super::*;

    const FILE: &str = r#"[
        {"net": {"block_type": "res_bottleneck_block", "ds": [2, 1, 3], "ws": [32, 64, 96], "ss": [1, 2, 2],
                 "bot_muls": [1.0, 0.5, 0.25], "num_gs": [4, 2, 1]},
         "min_test_top1": 6.5, "params": 123456, "flops": 1000000, "optim": {"base_lr": 0.1}},
        {"net": {"ds": [1], "ws": [64], "bms": [0.5], "gws": [8]}, "min_test_top1": 9.0},
        {"net": {"block_type": "vanilla_block", "ds": [1], "ws": [64]}, "min_test_top1": 9.0},
        {"net": {"ds": [1], "ws": [30], "bms": [0.5], "num_gs": [4]}, "min_test_top1": 9.0}]"#;

    #[test]
    fn sampled_models_become_rows() {
        let table = table(FILE.as_bytes(), false).unwrap();
        let cells = |row| ["blocks", "outputs", "m", "n", "left_out"].map(|column| table.get(row, column));
        assert_eq!(cells(0), [Some("2-1-3"), Some("32-64-96"), Some("4-2-1"), Some("8-16-24"), None]);
        assert_eq!(cells(1), [Some("1"), Some("64"), Some("4"), Some("8"), None]);
        let question = Question { targets: vec!["min_test_top1".into()], ..Question::default() };
        let scored = ScoredTable::new(&table, &question).unwrap();
        assert_eq!((scored.rows.len(), scored.refused.len()), (2, 2), "{:?}", scored.refused);
        assert!(scored.refused[0].reason.contains("vanilla_block"), "{:?}", scored.refused[0]);
        assert!(scored.refused[1].reason.contains("inner width of 15"), "{:?}", scored.refused[1]);
        // The blocks of the second model: one of 4 x 8 channels.
        assert_eq!(scored.rows[1].predictors.inner_width, 32.0);
    }

    #[test]
    fn what_is_no_such_file_is_said() {
        let sentence = |text: &str| table(text.as_bytes(), false).unwrap_err().to_string();
        assert!(sentence("[1, 2]").contains("no list of sampled models"));
        assert!(sentence("{\"a\": ").contains("cannot be read as a table"));
        let nested = "{\"top\": [{\"net\": {\"ds\": [1], \"ws\": [8]}}], \"mid\": []}";
        assert_eq!(table(nested.as_bytes(), true).unwrap().len(), 1);
    }
}
