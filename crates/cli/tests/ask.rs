//! The verbs without a terminal, as the Python wheel asks them.

use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};

use collegial::ask::{Monitor, Refusal, ask, forward, kernel, redesigned, to_toml};
use collegial_stats::Silent;
use collegial_train::data::npy;

fn words(line: &str) -> Vec<String> {
    line.split_whitespace().map(ToOwned::to_owned).collect()
}

fn sentence<T>(result: Result<T, Refusal>) -> String {
    match result {
        Err(Refusal::Sentence(sentence)) => sentence,
        Err(Refusal::Interrupted) => panic!("interrupted"),
        Ok(_) => panic!("no refusal"),
    }
}

fn timeless(json: &str) -> serde_json::Value {
    let mut document: serde_json::Value = serde_json::from_str(json).unwrap();
    document.as_object_mut().unwrap().remove("seconds");
    document
}

#[test]
fn answers_are_those_of_the_binary() {
    for line in [
        "search resnext29-1x128d --alpha 1.6",
        "fit bottleneck-32 --trials 60 --widths 4,16 --seed 3 --threads 1",
        "moments --widths 784,48,48",
        "info wrn28-10 --classes 100",
    ] {
        let answer = ask(&words(line), &Silent).unwrap();
        let binary =
            Command::new(env!("CARGO_BIN_EXE_collegial")).args(words(line)).arg("--json").output().unwrap();
        assert_eq!(timeless(&answer.json), timeless(&String::from_utf8(binary.stdout).unwrap()), "{line}");
        assert!(answer.text.contains("---") && answer.html.contains("<table>"), "{line}");
    }
}

#[test]
fn refusals_are_the_sentences_of_the_binary() {
    for line in ["search nothing", "search fc6-500 --cost money", "fit bottleneck-32 --trials 1", "moments"] {
        let said = Command::new(env!("CARGO_BIN_EXE_collegial")).args(words(line)).output().unwrap();
        let said = String::from_utf8(said.stderr).unwrap();
        assert_eq!(said, format!("error: {}\n", sentence(ask(&words(line), &Silent))), "{line}");
    }
    assert!(sentence(ask(&words("merge x"), &Silent)).starts_with("only info"));
    assert!(sentence(kernel(&words("info fc3-8"), None)).starts_with("only ntk"));
}

/// Stops after some reports.
struct Impatient(AtomicUsize);

impl Monitor for Impatient {
    fn progress(&self, _share: f64, _state: Option<&str>) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
    fn stopped(&self) -> bool {
        self.0.load(Ordering::Relaxed) > 3
    }
}

#[test]
fn the_monitor_stops_the_work() {
    for line in ["fit bottleneck-32 --trials 1000000000", "search bottleneck-32 --trials 1000000000"] {
        let result = ask(&words(line), &Impatient(AtomicUsize::new(0)));
        assert!(matches!(result, Err(Refusal::Interrupted)), "{line}");
    }
}

#[test]
fn arrays_go_in_and_come_out() {
    let values: Vec<f64> = (0..3 * 784).map(|at| f64::from(at % 17) / 17.0).collect();
    let x = npy::write(&[3, 784], &values);
    let (shape, matrix) = npy::read(&kernel(&words("ntk fc3-8 --seed 2"), Some(&x)).unwrap()).unwrap();
    assert_eq!((shape, matrix[1] == matrix[3]), (vec![3, 3], true));
    let (shape, logits) = npy::read(&forward("fc3-8", None, &x, 2, Some(1)).unwrap()).unwrap();
    assert_eq!(shape, [3, 10]);
    // With the weights of the same seed in the standard parametrisation, one input at a time.
    let second = npy::write(&[1, 784], &values[784..2 * 784]);
    let (_, alone) = npy::read(&forward("fc3-8", None, &second, 2, None).unwrap()).unwrap();
    let pairs = alone.iter().zip(&logits[10..20]);
    pairs.for_each(|(a, b)| assert!((a - b).abs() <= 1e-6 * (1.0 + b.abs()), "{a} {b}"));
    assert_eq!(
        sentence(forward("fc3-8", None, &npy::write(&[1, 7], &[0.0; 7]), 0, None)),
        "the array holds inputs of shape [7], but the network takes [784, 1, 1]"
    );
}

#[test]
fn models_change_their_form_and_design() {
    let toml = to_toml("resnext29-1x128d").unwrap();
    assert_eq!(redesigned(&toml, "37x10d").unwrap(), redesigned("resnext29-37x10d", "37x10d").unwrap());
    assert!(sentence(redesigned("wrn28-10", "2x3d")).contains("basic blocks: one hidden layer"));
    assert!(sentence(redesigned("fc3-8", "many")).contains("many"));
}
