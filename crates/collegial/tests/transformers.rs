//! Transformers from the outside: verdicts, moments, counts, refusals, and the tables of heads.

mod program;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use program::run;
use serde_json::Value;

fn json(line: &str) -> Value {
    let text = run(&format!("{line} --json"));
    let (_, rest) = text.split_once("--- stdout\n").unwrap();
    let answer = rest.rsplit_once("--- stderr").unwrap().0.replace("[time]", "0");
    assert!(text.contains("\nexit 0\n"), "{text}");
    serde_json::from_str(&answer).unwrap_or_else(|error| panic!("{line}: {error}"))
}

fn written(directory: &Path, name: &str, text: &str) -> PathBuf {
    let path = directory.join(name);
    std::fs::write(&path, text).unwrap();
    path
}

#[test]
fn every_kind_of_layer_gets_a_verdict() {
    let answer = json("search llama-256x4x4x512 --widths 16,64,100");
    let verdicts = answer["verdicts"].as_array().unwrap();
    let words: Vec<&str> = verdicts.iter().map(|verdict| verdict["verdict"].as_str().unwrap()).collect();
    assert_eq!(words, ["split-neutral", "split-neutral"]);
    let heads = verdicts[0]["heads"].as_array().unwrap();
    // 100 does not divide the total width; both ends have the other two.
    let widths: Vec<u64> = heads.iter().map(|head| head["width"].as_u64().unwrap()).collect();
    assert_eq!(widths, [16, 64, 16, 64]);
    assert_eq!(heads[0]["correlation"], 0.0);
    assert!(heads[2]["correlation"].as_f64().unwrap() > 0.0, "{heads:?}");
    for head in heads {
        assert_eq!(head["heads"].as_u64().unwrap() * head["width"].as_u64().unwrap(), 256);
    }
    let constant = verdicts[1]["constant"].as_f64().unwrap();
    assert!((constant - 10.93).abs() < 5e-3, "{constant}");
}

/// Moments of a layer are those of the search at the same width and seed, and a layer's variance is a
/// head's over their number.
#[test]
fn moments_and_verdicts_are_one_law() {
    let moments = json("moments llama-256x4x4x512");
    let search = json("search llama-256x4x4x512 --widths 64");
    for end in 0..2 {
        let (layer, head) = (&moments["layers"][end], &search["verdicts"][0]["heads"][end]);
        assert_eq!(layer["variance"], head["variance"]);
        let share = layer["member_variance"].as_f64().unwrap() / 4.0;
        assert!((share - layer["variance"].as_f64().unwrap()).abs() < 1e-12);
        assert!(layer["standard_error"].as_f64().unwrap() > 0.0);
    }
    assert_eq!(moments["layers"][2]["kind"], "feed-forward");
    assert_eq!(moments["layers"][2]["standard_error"], Value::Null);
}

/// At 80 columns: a number in two lines reads as two numbers.
#[test]
fn moments_have_every_number_on_one_line() {
    let line = "moments llama-4096x32x8x14336x2 --draws 500";
    let (text, answer) = (run(line), json(line));
    let table = text.split_once("--- stdout\n").unwrap().1.split("A query sees").next().unwrap();
    assert!(table.lines().all(|line| line.chars().count() <= 80), "{table}");
    for layer in answer["layers"].as_array().unwrap() {
        for key in ["mean", "variance", "member_variance"] {
            let number = layer[key].as_f64().unwrap();
            let close =
                |word: &str| word.parse::<f64>().is_ok_and(|found| (found / number - 1.0).abs() < 1e-3);
            assert!(table.split_whitespace().any(close), "{key} {number}: {table}");
        }
    }
}

#[test]
fn a_matrix_inside_is_searched_and_a_router_is_not_covered() {
    let place = tempfile::tempdir().unwrap();
    let of = |name: &str, more: &str| {
        let text = format!("kind = \"feed-forward\"\ninputs = 64\nactivation = \"relu\"\n{more}\n");
        written(place.path(), name, &text).display().to_string()
    };
    let blocks = json(&format!("search {}", of("blocks.toml", "widths = [64, 64]")));
    assert_eq!((&blocks["verdict"], &blocks["variance_source"]), (&"variance".into(), &"exact".into()));
    assert!(blocks["primal"]["score_ratio"].as_f64().unwrap() > 1.0, "{}", blocks["primal"]);
    // The same chain, written as a sequence, is the same question.
    let layer = |width: usize, activation: &str| {
        format!("{{ type = \"dense\", width = {width}, activation = \"{activation}\" }}")
    };
    let chain = format!(
        "kind = \"sequence\"\ninput = {{ channels = 64, height = 1, width = 1 }}\nlayers = [{}, {}, {}]\n",
        layer(64, "relu"),
        layer(64, "relu"),
        layer(64, "none"),
    );
    let chain = json(&format!("search {}", written(place.path(), "chain.toml", &chain).display()));
    for problem in ["primal", "dual"] {
        assert_eq!(blocks[problem]["design"], chain[problem]["design"]);
    }
    let routed =
        json(&format!("search {}", of("routed.toml", "widths = [64]\nexperts = 8\nexperts_per_token = 2")));
    assert_eq!(routed["verdicts"][0]["verdict"], "not-covered");
    let biased = run(&format!("search {}", of("biased.toml", "widths = [64, 64]\nbias = true")));
    assert!(biased.contains("exit 2") && biased.contains("set bias = false"), "{biased}");
}

/// A table without a row says nothing; one without some layers says which.
#[test]
fn moments_of_routed_layers_are_refused_or_named() {
    let place = tempfile::tempdir().unwrap();
    let layer = "kind = \"feed-forward\"\ninputs = 64\nwidths = [64]\nexperts = 8\nexperts_per_token = 2\n";
    let text = run(&format!("moments {}", written(place.path(), "routed.toml", layer).display()));
    let error = text.split_once("--- stderr\n").unwrap().1;
    assert!(text.contains("\nexit 2\n") && error.lines().count() == 1, "{text}");
    assert!(error.contains("picks 2 of 8 feed-forward layers"), "{text}");
    let mixtral = r#"{"model_type": "mixtral", "vocab_size": 100, "max_position_embeddings": 8, "hidden_size": 16,
        "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 32, "num_local_experts": 8,
        "num_experts_per_tok": 2}"#;
    let text = run(&format!("moments {}", written(place.path(), "mixtral.json", mixtral).display()));
    let said = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(said.contains("exit 0") && said.contains("attention"), "{text}");
    assert!(said.contains("the theory does not know routing: these layers have no row."), "{text}");
}

#[test]
fn what_cannot_be_done_is_refused_in_one_sentence() {
    for (line, said) in [
        ("train gpt2 --data nowhere", "nowhere"),
        ("export gpt2 --to onnx", "which the CPU engine does not run"),
        ("export vit_b_16 --to pytorch", "vit_b_16"),
        ("ntk gpt2", "which the CPU engine does not run"),
        ("fit gpt2", "which the CPU engine does not run"),
        ("search gpt2 --cost flops", "--cost does not apply to gpt2"),
        ("search gpt2 --check", "--check does not apply to gpt2"),
        ("moments gpt2 --parametrisation standard", "leave --input and --parametrisation out"),
        ("moments fc3-8 --draws 10", "the moments of fc3-8 are exact"),
        ("search timm/efficientnet_b0", "collegial.torch.suggest(timm.create_model(\"efficientnet_b0\"))"),
    ] {
        let text = run(line);
        let error = text.split_once("--- stderr\n").unwrap().1;
        assert!(text.contains("\nexit 2\n") && error.contains(said), "{text}");
        assert_eq!(error.trim_end().lines().count(), 1, "{text}");
    }
}

/// The rows of a table under its line with the source.
fn rows(name: &str) -> Vec<BTreeMap<String, String>> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../research/heads").join(name);
    let text = std::fs::read_to_string(path).unwrap();
    let mut lines = text.lines().skip(1).map(|line| line.split(',').map(str::to_owned));
    let names: Vec<String> = lines.next().unwrap().collect();
    lines.map(|cells| names.iter().cloned().zip(cells).collect()).collect()
}

/// The largest value over the smallest between head widths 16 and 128, by group.
fn spreads(name: &str, group: &str, value: &str) -> Vec<f64> {
    let mut groups: BTreeMap<String, Vec<f64>> = BTreeMap::new();
    for row in rows(name) {
        let width: usize = row["head_dim_n"].parse().unwrap();
        if (16..=128).contains(&width) {
            groups.entry(row[group].clone()).or_default().push(row[value].parse().unwrap());
        }
    }
    let mut all: Vec<f64> = groups
        .values()
        .map(|values| {
            let most = values.iter().copied().fold(f64::MIN, f64::max);
            most / values.iter().copied().fold(f64::MAX, f64::min)
        })
        .collect();
    all.sort_by(f64::total_cmp);
    all
}

/// What the answer and the documents say of published tables is what the tables say.
#[test]
fn published_tables_say_what_is_said_of_them() {
    let per_cent = |ratio: f64| format!("{:.1} %", 100.0 * (ratio - 1.0));
    let translation = per_cent(spreads("vaswani2017.csv", "d_model", "dev_ppl")[0]);
    let characters = per_cent(spreads("nanogpt-tinystories.csv", "n_embd", "val_loss_5000")[0]);
    let surfaces = spreads("senpai-transolver.csv", "pr", "value");
    assert_eq!(surfaces.len(), 8);
    let (least, most) = (per_cent(surfaces[0]), per_cent(surfaces[7]));
    let sentence = json("search llama-64x4x4x128")["verdicts"][0]["sentence"].to_string();
    for part in [
        format!("{translation} (translation)"),
        format!("{characters} (a character model)"),
        format!("up to {most} between widths 24 and 48"),
    ] {
        assert!(sentence.contains(&part), "{sentence}: {part}");
    }
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/evidence.md");
    let said = std::fs::read_to_string(docs).unwrap().replace('\n', " ");
    let least = least.trim_end_matches(" %");
    assert!(said.contains(&format!("{translation} [1], {characters} [2], and {least} to {most} [3]")));
}
