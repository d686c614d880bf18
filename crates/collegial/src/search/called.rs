//! Names of the networks of an answer, which can be typed as they are printed.
//!
//! A name says depth and design; channels, gates and stems of a spec of the user's own are not in
//! it. So a network is called by its name only where the name, with the settings that the hint
//! repeats, means this very network; elsewhere by its design and by the name of the baseline's file.

use std::path::Path;

use collegial_arch::{Overrides, Spec};
use serde_json::Value;

use super::Request;
use crate::export::Target;
use crate::message::{Call, Setting, message};
use crate::{Message, Model};

/// The name of a network, where it means this very network: with the settings of
/// [`Spec::settings_beside_name`], or for a network from a file without any.
pub(super) fn known(model: &Model, spec: &Spec) -> Option<String> {
    let settings = spec.settings_beside_name()?;
    let from_file = typed(model).and_then(file_name).is_some();
    (!from_file || settings == Overrides::default()).then(|| spec.name())
}

/// The baseline in sentences: its name where it means it, a module's own name, else that of its file;
/// a spec's text has no name.
pub(super) fn baseline(model: &Model, spec: &Spec) -> String {
    let own = matches!(spec, Spec::Sequence(_)).then(|| spec.name());
    let file = || typed(model).map(|text| file_name(text).unwrap_or(text).to_owned());
    known(model, spec).or(own).or_else(file).unwrap_or_else(|| format!("your {}", spec.name()))
}

/// Another network in sentences: its name where it means it, else its design and whose it is.
pub(super) fn other(name: Option<&str>, design: &str, baseline: &str) -> String {
    name.map_or_else(|| format!("{design} of {baseline}"), str::to_owned)
}

/// The name of a TOML file, without directories and ending: pages tell no directories.
fn file_name(typed: &str) -> Option<&str> {
    Path::new(typed).file_name()?.to_str()?.strip_suffix(".toml")
}

/// The question that exports the network, and what to write into the baseline's file first where no
/// name means it; nothing where there is no such file.
pub(super) fn export(model: &Model, baseline: &Spec, network: &Spec) -> Vec<Message> {
    let export = |name: &str, overrides: &Overrides| {
        let to = setting("to", Target::usual(network).name());
        command("export", name, [vec![to], settings(overrides)].concat())
    };
    if let Some(settings) = network.settings_beside_name() {
        return vec![export(&network.name(), &settings)];
    }
    let file = typed(model).filter(|file| file_name(file).is_some());
    match (file, changed_lines(baseline, network)) {
        (Some(file), Some(changed)) => {
            vec![format!("set {changed} in {file}, then").into(), export(file, &model.overrides())]
        }
        _ => vec![],
    }
}

/// The request itself with one more switch, as it was asked.
pub(super) fn again(request: &Request, switch: &str) -> Option<Message> {
    let settings = [given(request), vec![setting(switch, "true")]].concat();
    typed(&request.model).map(|model| command("search", model, settings))
}

fn command(verb: &'static str, model: &str, settings: Vec<Setting>) -> Message {
    message![Call { verb, model: Some(model.to_owned()), settings }]
}

fn setting(name: &str, value: impl Into<String>) -> Setting {
    Setting { name: name.to_owned(), value: Some(value.into()) }
}

/// MODEL as it was typed, unless it is a spec's text.
fn typed(model: &Model) -> Option<&str> {
    model.model.typed().filter(|text| !text.is_empty())
}

fn settings(overrides: &Overrides) -> Vec<Setting> {
    let Overrides { classes, inputs, outputs, image } = *overrides;
    let all = [("classes", classes), ("inputs", inputs), ("outputs", outputs), ("image", image)];
    all.iter().filter_map(|(name, value)| value.map(|value| setting(name, value.to_string()))).collect()
}

/// The options of a request that are not as by default.
fn given(request: &Request) -> Vec<Setting> {
    let fields = |request: &Request| match serde_json::to_value(request) {
        Ok(Value::Object(fields)) => fields,
        _ => serde_json::Map::new(),
    };
    let usual = fields(&Request::default());
    let changed = fields(request).into_iter().filter(|(name, value)| {
        name != "model" && !value.is_null() && usual.get(name).is_none_or(|usual| usual != value)
    });
    changed.map(|(name, value)| setting(&name, written(&value))).collect()
}

fn written(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Array(items) => items.iter().map(written).collect::<Vec<_>>().join(","),
        other => other.to_string(),
    }
}

/// The lines of the baseline's TOML form that make it the other network, where they are few.
fn changed_lines(baseline: &Spec, network: &Spec) -> Option<String> {
    let (before, after) = (baseline.to_toml(), network.to_toml());
    let before: Vec<&str> = before.lines().collect();
    let changed: Vec<&str> = after.lines().filter(|line| !before.contains(line)).collect();
    let plain = changed.iter().all(|line| line.contains(" = ") && line.len() <= 80);
    let nested = after.contains("[[");
    (plain && !nested && (1..=3).contains(&changed.len())).then(|| changed.join(" and "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::search::Cost;

    const OWN: &str = "kind = \"resnext\"\nstem = \"small\"\nblocks = [1, 1]\ndesign = \"1x16d\"\nclasses = 10\nimage = 16\n\
                       stem_channels = 8\noutputs = 32\n";

    fn networks() -> (Spec, Spec) {
        let baseline = Spec::from_toml(OWN).unwrap();
        let network = baseline.with_design("12x3d".parse().unwrap()).unwrap();
        (baseline, network)
    }

    /// Whose name would mean another network, or none at all.
    #[test]
    fn a_spec_of_ones_own_is_called_by_its_file() {
        let (spec, network) = networks();
        let model = Model::named("nets/mine.toml");
        assert_eq!((known(&model, &spec), known(&Model::default(), &network)), (None, None));
        let inverted = "bottleneck-144x1d".parse::<Spec>().unwrap();
        let narrow = inverted
            .with(&Overrides { inputs: Some(24), outputs: Some(24), ..Overrides::default() })
            .unwrap();
        assert_eq!(
            (baseline(&model, &inverted), baseline(&model, &narrow)),
            (inverted.name(), "mine".into())
        );
        assert_eq!(baseline(&model, &spec), "mine");
        assert_eq!(baseline(&spec.clone().into(), &spec), "your resnext8-1x16d");
        assert_eq!(
            export(&model, &spec, &network).iter().map(ToString::to_string).collect::<Vec<_>>(),
            ["set design = \"12x3d\" in nets/mine.toml, then", "export(nets/mine.toml, to=pytorch)"]
        );
        assert!(export(&spec.clone().into(), &spec, &network).is_empty());
    }

    #[test]
    fn settings_are_repeated() {
        let model = Model { classes: Some(10), ..Model::named("resnet50") };
        let spec = model.spec().unwrap();
        let network = spec.with_design("21x6d".parse().unwrap()).unwrap();
        let exported = export(&model, &spec, &network)[0].to_string();
        assert_eq!(exported, "export(resnext50-21x6d, to=pytorch, classes=10)");
        let request = Request {
            model,
            cost: Cost::Flops.into(),
            widths: Some("4,8".parse().unwrap()),
            per_stage: true,
            ..Request::default()
        };
        let asked = again(&request, "check").unwrap().to_string();
        for part in
            ["search(resnet50, ", "classes=10", "cost=flops", "widths=4,8", "per_stage=true", "check=true)"]
        {
            assert!(asked.contains(part), "{asked}");
        }
        assert!(!asked.contains("seed") && !asked.contains("budget"), "{asked}");
    }
}
