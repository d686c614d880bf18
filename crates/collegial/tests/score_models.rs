//! The column `model` of a table takes what MODEL takes everywhere else.

use std::path::Path;

use collegial::backend::Backends;
use collegial::{Model, Silent, TrainingOptions, export, score, train};
use collegial_arch::Spec;
use collegial_experiments::synthetic;

const NAME: &str = "resnext20-2x4d";

fn export_to(format: &str, path: &Path) {
    let request = serde_json::json!({ "model": NAME, "to": format, "out": path }).to_string();
    export::run(&collegial::request(&request).unwrap(), &Silent).unwrap();
}

/// A run of one epoch.
fn trained(data: &Path, out: &Path) {
    synthetic::write_colours(data, 10, 20, 10, 1).unwrap();
    let request = train::Request {
        model: Model::named(NAME),
        training: TrainingOptions {
            data: data.to_owned(),
            epochs: Some(std::num::NonZeroU32::MIN),
            ..TrainingOptions::default()
        },
        out: Some(out.to_owned()),
        ..train::Request::default()
    };
    train::run(&request, Backends::NATIVE, &Silent, &()).unwrap();
}

#[test]
fn names_specs_weights_and_runs_are_one_network() {
    let place = tempfile::tempdir().unwrap();
    let at = |name: &str| place.path().join(name);
    let spec: Spec = NAME.parse().unwrap();
    std::fs::write(at("net.toml"), spec.to_toml()).unwrap();
    export_to("safetensors", &at("net.safetensors"));
    export_to("onnx", &at("net.onnx"));
    trained(&at("data"), &at("run"));
    let files = ["net.toml", "net.safetensors", "net.onnx", "run", "none.toml", "none.onnx"];
    let paths = files.map(|name| format!("\"{}\"", at(name).display()));
    std::fs::write(at("table.csv"), format!("model\n{NAME}\n{}\n", paths.join("\n"))).unwrap();
    let request = score::Request { table: at("table.csv"), ..score::Request::default() };
    let scored = score::run(&request).unwrap();
    let table = scored.rows();
    assert_eq!(
        table.rows.iter().map(|row| row.row).collect::<Vec<_>>(),
        [1, 2, 3, 4, 5],
        "{:?}",
        table.refused
    );
    assert!(table.rows.iter().all(|row| row.predictors == table.rows[0].predictors), "{:?}", table.rows);
    // What cannot be opened is listed with the reason that every verb gives.
    assert_eq!(table.refused.iter().map(|row| row.row).collect::<Vec<_>>(), [6, 7]);
    for refused in &table.refused {
        let said = Model::named(refused.model.as_deref().unwrap()).bare_spec().unwrap_err().to_string();
        assert_eq!(refused.reason, said);
    }
}
