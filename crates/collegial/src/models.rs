//! `models`: every name that is known, by family.

use collegial_arch::{Family, Model, families, models};
use collegial_report::{Align, Table, grouped, significant};
use serde::Serialize;

use crate::options::options;
use crate::style::wrapped;
use crate::{Answer, Error, Style};

options! {
    /// List every model it knows by name, by family, with its counts
    #[command(after_help = "Example:\n  collegial models --format csv")]
    #[derive(Copy)]
    #[serde(deny_unknown_fields)]
    pub struct Request {}
}

/// The names.
#[derive(Clone, Debug, Serialize)]
pub struct ModelsAnswer {
    /// What their names look like.
    pub families: Vec<Family>,
    /// Every listed model with its counts.
    pub models: Vec<Model>,
}

/// Lists.
///
/// # Errors
///
/// Where a listed model cannot be counted.
pub fn run(_request: Request) -> Result<ModelsAnswer, Error> {
    Ok(ModelsAnswer { families: families(), models: models()? })
}

/// 13,775,178 as `13.8 M`.
pub(crate) fn short(count: u64) -> String {
    let count = count as f64;
    match count {
        _ if count >= 1e9 => format!("{} G", significant(count / 1e9, 3)),
        _ if count >= 1e6 => format!("{} M", significant(count / 1e6, 3)),
        _ => grouped(count as u64),
    }
}

impl ModelsAnswer {
    fn of(&self, family: &str) -> Table {
        let mut table =
            Table::new(&[("name", Align::Left), ("parameters", Align::Right), ("FLOPs", Align::Right)]);
        for model in self.models.iter().filter(|model| model.family == family) {
            table.push([model.name.clone(), short(model.counts.parameters), short(model.counts.flops)]);
        }
        table
    }
}

impl Answer for ModelsAnswer {
    fn text(&self, style: &Style) -> String {
        let family = |family: &Family| {
            let form = wrapped(family.form).join("\n");
            format!("{}\n{form}\n\n{}", style.strong(family.title), self.of(family.title).to_text())
        };
        let all: Vec<String> = self.families.iter().map(family).collect();
        format!("{}\nFLOPs are 2 per multiply-add.\n", all.join("\n"))
    }

    fn table(&self) -> Table {
        let mut table = Table::new(&[
            ("family", Align::Left),
            ("name", Align::Left),
            ("parameters", Align::Right),
            ("flops", Align::Right),
            ("activations", Align::Right),
        ]);
        for model in &self.models {
            let counts = &model.counts;
            table.push([
                model.family.to_owned(),
                model.name.clone(),
                counts.parameters.to_string(),
                counts.flops.to_string(),
                counts.activations.to_string(),
            ]);
        }
        table
    }

    fn summary(&self) -> (Vec<String>, Table) {
        let count = self.models.len();
        (vec![format!("{count} models by name; members and widths can be any numbers")], self.table())
    }
}
