//! `validate` on made-up images.

use collegial_arch::{Cost, Overrides, Spec};
use collegial_core::Silent;
use collegial_experiments::synthetic;
use collegial_experiments::validate::{Question, Runs, Validation};
use collegial_experiments::{Context, ResultCache};
use collegial_search::paper::Search;
use collegial_search::{Limits, VarianceSource};
use collegial_train::data::Dataset;
use collegial_train::{Builtin, Data, spec_for};

fn validated(model: &str, write: impl Fn(&std::path::Path), cost: Cost, dual: bool) -> Validation {
    let root = tempfile::tempdir().unwrap();
    write(&root.path().join("data"));
    let dataset = Dataset::open(root.path().join("data")).unwrap();
    let spec = if model.contains('\n') { Spec::from_toml(model).unwrap() } else { model.parse().unwrap() };
    let baseline = spec_for(&spec, &Overrides::default(), &dataset).unwrap();
    let changes = ["epochs=1".to_owned(), "batch=25".to_owned()];
    let recipe = Builtin::of(&dataset).with(&changes).unwrap();
    let data = Data::new(dataset, &recipe).unwrap();
    let search = Search::new(baseline.clone()).within(Limits::new().cost(cost));
    let cache = ResultCache::open(root.path().join("parts")).unwrap();
    let context = Context::new(3, &cache, &Silent);
    let question = Question {
        baseline: &baseline,
        search: &search,
        data: &data,
        recipe: &recipe,
        designs: 4,
        runs: Runs::Given(2),
        dual,
    };
    question.answer(&context).unwrap()
}

#[test]
fn fully_connected_networks_have_exact_variances() {
    let digits = |path: &std::path::Path| synthetic::write_digits(path, 100, 50, 1).unwrap();
    let validation = validated("fc4-40", digits, Cost::Params, true);
    assert_eq!((validation.variance_source, validation.alpha), (VarianceSource::Exact, None));
    assert_eq!(validation.primal.rows.len(), 4);
    assert_eq!(validation.primal.rows[0].candidate.design.to_string(), "1x40d");
    let said = format!("test error is {}, that of", validation.primal.correlation_words());
    assert!(validation.sentence.contains(&said), "{}", validation.sentence);
    let verdict = validation.verdict.to_string();
    assert!(validation.sentence.starts_with(&format!("{verdict}: ")), "{}", validation.sentence);
    // Means over runs, so that the range is that of the rows.
    let errors: Vec<f64> =
        validation.dual.as_ref().unwrap().rows.iter().map(|row| 100.0 * row.test_error).collect();
    let low = errors.iter().copied().fold(f64::INFINITY, f64::min);
    let high = errors.iter().copied().fold(0.0, f64::max);
    let said = validation.dual_sentence().unwrap();
    assert!(said.contains(&format!("lie between {low:.2} and {high:.2} %")), "{said}");
    let lowest =
        validation.primal.rows.iter().map(|row| row.candidate.variance).fold(f64::INFINITY, f64::min);
    let best = validation.primal.best_predicted().unwrap();
    assert_eq!((best.candidate.variance, Some(best.candidate.design)), (lowest, validation.best_predicted));
    let json = serde_json::to_value(&validation).unwrap();
    for key in [
        "model",
        "data",
        "cost",
        "verdict",
        "correlation",
        "best_predicted",
        "best_measured",
        "primal",
        "dual",
    ] {
        assert!(!json[key].is_null(), "{key}");
    }
    let row = &json["primal"]["rows"][1];
    for key in ["design", "parameters", "variance", "cost", "test_error", "standard_error", "test_errors"] {
        assert!(!row[key].is_null(), "{key}");
    }
    assert_eq!(validation.figures().len(), 4);
}

#[test]
fn networks_have_the_exact_score() {
    let model = "kind = 'resnext'\nstem = 'imagenet'\nblocks = [1]\ndesign = '1x8d'\nclasses = 10\nimage = 32\n\
                 stem_channels = 4\noutputs = 16\n";
    let colours = |path: &std::path::Path| synthetic::write_colours(path, 10, 50, 25, 1).unwrap();
    let validation = validated(model, colours, Cost::Flops, false);
    assert_eq!((validation.variance_source, validation.cost), (VarianceSource::Exact, Cost::Flops));
    assert!(validation.alpha.is_none() && validation.dual.is_none());
    let images = collegial_ntk::covariance::Images::natural();
    for row in &validation.primal.rows {
        let spec = &row.candidate.spec;
        let blocks =
            collegial_search::ScoredBlocks::of(spec, collegial_search::BlockInputs::Network, &images);
        assert_eq!(row.candidate.variance, blocks.unwrap().score());
    }
    assert_eq!(validation.power.unwrap().runs, 2);
    assert!(validation.primal.rows.iter().all(|row| row.test_errors.len() == 2));
}
