//! From a row of a table to the network it describes.

use collegial_arch::{Designs, Regnet, Resnext, Spec, StageDesign, Stem};
use serde::Deserialize;

use super::Table;
use crate::Error;

/// Makes a network of what stands in a column `model`.
pub type Resolver<'a> = &'a (dyn Fn(&str) -> Result<Spec, Box<dyn std::error::Error>> + Sync);

/// Takes a column `model` for names such as `resnext29-37x10d`.
///
/// # Errors
///
/// If it is no such name.
pub fn named(model: &str) -> Result<Spec, Box<dyn std::error::Error>> {
    Ok(model.parse()?)
}

/// The network of a row. Three forms are read, the first whose columns are filled in:
///
/// - `blocks` and `outputs` (one number per stage, joined by hyphens: `3-4-6-3`,
///   `256-512-1024-2048`), `m` and `n` (one number per stage, or one that stands for all: m stays
///   and n doubles at every stage), `stem` (`small`: 3x3; `imagenet`: 7x7 and a pool, the default;
///   `c` and `d`: those of ResNet-C and ResNet-D; `simple`: 3x3 of stride 2, every stage halving
///   the image), and if wanted `classes` (1000) and `image` (32 for `small`, else 224);
/// - `depth`, `m` and `n`: a ResNeXt of that depth, as its name `resnext29-37x10d` would say;
/// - `model`: what `resolve` makes a network of.
///
/// # Errors
///
/// If a form is begun but not complete, or the network cannot be.
pub fn row_spec(table: &Table, row: usize, resolve: Resolver) -> Result<Spec, Error> {
    let cell = |column: &str| table.get(row, column);
    if cell("blocks").is_some() {
        return stages(table, row);
    }
    match (cell("depth"), cell("m"), cell("n"), cell("model")) {
        (Some(_), Some(_), Some(_), _) => {
            let [depth, m, n] = ["depth", "m", "n"].map(|column| number(table, row, column));
            Ok(format!("resnext{}-{}x{}d", depth?, m?, n?).parse()?)
        }
        (_, _, _, Some(model)) => resolve(model).map_err(|error| Error::Invalid(error.to_string())),
        _ => Err(Error::Invalid(
            "it names no network: fill in model, or depth, m and n, or blocks, outputs, m and n".into(),
        )),
    }
}

/// How the image enters the network of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum RowStem {
    /// A RegNet's.
    Simple,
    /// A ResNeXt's.
    #[serde(untagged)]
    Resnext(Stem),
}

fn stem(name: &str) -> Result<RowStem, Error> {
    RowStem::deserialize(serde_json::Value::from(name))
        .map_err(|_| Error::Invalid(format!("the stem {name:?} is none of small, imagenet, c, d, simple")))
}

fn stages(table: &Table, row: usize) -> Result<Spec, Error> {
    let blocks = numbers(table, row, "blocks")?;
    let outputs = numbers(table, row, "outputs")?;
    let design = designs(table, row, blocks.len())?;
    if outputs.len() != blocks.len() {
        return Err(Error::Invalid(format!(
            "{blocks} stages have blocks, but {outputs} have outputs",
            blocks = blocks.len(),
            outputs = outputs.len()
        )));
    }
    let stem = stem(table.get(row, "stem").unwrap_or("imagenet"))?;
    let number = |column, default| match table.get(row, column) {
        Some(_) => numbers(table, row, column).map(|list| list[0]),
        None => Ok(default),
    };
    let classes = number("classes", 1000)?;
    let image = number("image", if stem == RowStem::Resnext(Stem::Small) { 32 } else { 224 })?;
    let spec = match stem {
        RowStem::Simple => {
            Spec::Regnet(Regnet { blocks, outputs, design, classes, image, stem_channels: 32, squeeze: None })
        }
        RowStem::Resnext(stem) => {
            let doubles = outputs.windows(2).all(|pair| pair[1] == 2 * pair[0]);
            if !doubles {
                return Err(Error::Invalid(format!(
                    "outputs {outputs:?} do not double from stage to stage; only stem simple takes such"
                )));
            }
            Spec::Resnext(Resnext {
                stem,
                blocks,
                design,
                classes,
                image,
                stem_channels: 64,
                outputs: outputs[0],
                squeeze: None,
            })
        }
    };
    spec.check()?;
    Ok(spec)
}

fn designs(table: &Table, row: usize, stages: usize) -> Result<Designs, Error> {
    let (m, n) = (numbers(table, row, "m")?, numbers(table, row, "n")?);
    if let ([m], [n]) = (&m[..], &n[..]) {
        return Ok(Designs::Doubling(StageDesign::new(*m, [*n; 2])?));
    }
    let at = |list: &[usize], stage: usize, grows: bool| match list {
        [one] if grows => one.saturating_mul(1 << stage),
        [one] => *one,
        list => list[stage],
    };
    for (column, list) in [("m", &m), ("n", &n)] {
        if list.len() != 1 && list.len() != stages {
            return Err(Error::Invalid(format!(
                "{stages} stages, but {values} values of {column}",
                values = list.len()
            )));
        }
    }
    let designs: Result<Vec<StageDesign>, collegial_arch::Error> =
        (0..stages).map(|stage| StageDesign::new(at(&m, stage, false), [at(&n, stage, true); 2])).collect();
    Ok(Designs::PerStage(designs?))
}

fn number(table: &Table, row: usize, column: &'static str) -> Result<usize, Error> {
    let text = table.get(row, column).unwrap_or("");
    let wrong = || Error::Invalid(format!("{column} is {text:?}; write one whole number"));
    text.trim().parse().map_err(|_| wrong())
}

fn numbers(table: &Table, row: usize, column: &str) -> Result<Vec<usize>, Error> {
    let text = table.get(row, column).unwrap_or("");
    let list: Option<Vec<usize>> = text.split('-').map(|number| number.trim().parse().ok()).collect();
    let wrong = || {
        Error::Invalid(format!("{column} is {text:?}; write whole numbers joined by hyphens, one per stage"))
    };
    list.filter(|list| list.len() <= 8).ok_or_else(wrong)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spec(text: &str) -> Result<Spec, Error> {
        row_spec(&Table::from_csv(text.as_bytes()).unwrap(), 0, &named)
    }

    #[test]
    fn three_forms_of_one_network() {
        let name = spec("model\nresnext50-32x4d\n").unwrap();
        assert_eq!(spec("depth,m,n\n50,32,4\n").unwrap(), name);
        assert_eq!(spec("blocks,outputs,m,n\n3-4-6-3,256-512-1024-2048,32,4\n").unwrap(), name);
        let listed = spec("blocks,outputs,m,n\n3-4-6-3,256-512-1024-2048,32-32-32-32,4-8-16-32\n").unwrap();
        let d = "blocks,outputs,m,n,stem\n3-4-6-3,256-512-1024-2048,1,64,d\n";
        assert_eq!(spec(d).unwrap(), spec("model\nresnet50d\n").unwrap());
        let count = |spec: &Spec| spec.graph().unwrap().counts().unwrap().total;
        assert_eq!(count(&listed), count(&name));
        assert_eq!(count(&name).parameters, 25_028_904);
    }

    #[test]
    fn rows_that_are_no_network_say_why() {
        let reason = |text| spec(text).unwrap_err().to_string();
        assert!(reason("model,m\n,4\n").contains("it names no network"));
        assert!(reason("blocks,outputs,m,n\n3-x,256-512,1,4\n").contains("blocks is \"3-x\""));
        assert!(
            reason("blocks,outputs,m,n\n3-3,256,1,4\n").contains("2 stages have blocks, but 1 have outputs")
        );
        assert!(reason("blocks,outputs,m,n\n3-3,256-300,1,4\n").contains("do not double"));
        assert!(reason("blocks,outputs,m,n\n3-3,256-512,1-2-3,4\n").contains("3 values of m"));
        assert!(reason("blocks,outputs,m,n,stem\n3-3,256-512,1,4,vd\n").contains("the stem \"vd\""));
        assert!(reason("model\nresnet18\n").contains("basic blocks"));
        assert_eq!(reason("depth,m,n\nfoo,1,4\n"), "depth is \"foo\"; write one whole number");
        assert!(reason("model\nresnet51\n").contains("\"resnet51\""), "{}", reason("model\nresnet51\n"));
    }
}
