//! The command line as a user meets it: outputs, errors and exit codes, as snapshots.

mod program;

use std::process::Command;

use program::run;

/// One snapshot per command, named after it.
macro_rules! snapshots {
    ($($name:ident: $line:expr;)+) => {
        $(#[test]
        fn $name() {
            insta::assert_snapshot!(run($line));
        })+
    };
}

snapshots! {
    help: "--help";
    help_info: "info --help";
    no_verb: "";
    unknown_verb: "serch resnext29-1x128d";
    info_table: "info bottleneck-37x10d";
    info_csv: "info fc3-4x20,10 --format csv";
    info_json: "info fc3-100 --json";
    info_spec: "info resnext29-37x10d --classes 100 --spec";
    info_unknown_name: "info resnxt29-37x10d";
    info_no_members: "info resnext29-0x10d";
    info_width_zero: "info bottleneck-0";
    info_absurd_width: "info fc6-100000000000000000000";
    info_absurd_classes: "info resnext29-1x128d --classes 99999999999";
    info_overflowing_classes: "info resnext29-1x128d --classes 99999999999999999999999";
    info_inapplicable: "info resnext29-1x128d --inputs 5";
    info_no_file: "info nowhere.toml";
    info_zero_batch: "info fc3-100 --batch 0";
    zero_threads: "info fc3-100 --threads 0";
    help_moments: "moments --help";
    moments_table: "moments --widths 784,8,8,8";
    moments_json: "moments fc6-30x48 --json";
    moments_of_a_block: "moments bottleneck-8";
    moments_of_a_network: "moments resnext29-1x128d";
    moments_width_zero: "moments --widths 784,0";
    moments_nothing: "moments";
    help_ntk: "ntk --help";
    ntk_table: "ntk fc3-20 --count 3 --seed 5";
    ntk_csv: "ntk fc3-4x6 --inputs 3 --count 2 --trace --format csv";
    ntk_json: "ntk bottleneck-2x3d --inputs 4 --image 3 --outputs 4 --count 2 --pooled --norm frozen --json";
    ntk_no_inputs: "ntk fc3-20 --count 0";
    ntk_no_such_output: "ntk fc3-20 --output 10";
    ntk_no_file: "ntk fc3-20 --input nowhere.npy";
    ntk_no_weights: "ntk fc3-20 --weights nowhere.safetensors";
    ntk_two_sources: "ntk fc3-20 --count 3 --input x.npy";
    help_fit: "fit --help";
    fit_table: "fit bottleneck-16 --widths 2,4,8,16 --trials 500 --seed 3 -q";
    fit_one_width: "fit bottleneck-16 --widths 4";
    fit_width_zero: "fit bottleneck-16 --widths 0,4";
    fit_one_trial: "fit bottleneck-16 --trials 1";
    fit_bad_widths: "fit bottleneck-16 --widths 4,x";
    fit_bad_shard: "fit bottleneck-16 --shard 5/4 --out x.json";
    fit_not_a_module: "fit wrn28-10";
    merge_no_file: "merge nowhere.json";
    help_search: "search --help";
    help_train: "train --help";
    help_evaluate: "evaluate --help";
    help_export: "export --help";
    export_no_format: "export fc3-8";
    export_unknown_format: "export fc3-8 --to caffe";
    export_folded_weights: "export fc3-8 --to safetensors --fold";
    export_recipe_unused: "export fc3-8 --to onnx --recipe mnist";
    export_unknown_recipe: "export fc3-8 --to pytorch --recipe nowhere";
    export_no_module: "export bottleneck-8 --to pytorch";
    export_no_reader: "export resnext38-1x96d --to pytorch";
    export_no_file: "export nowhere.safetensors --to onnx";
    help_reproduce: "reproduce --help";
    reproduce_unknown_item: "reproduce fig9";
    reproduce_unknown_scale: "reproduce fig3 --scale huge";
    reproduce_no_data_directory: "reproduce fig3 --data nowhere";
    train_no_data: "train fc3-8 --data nowhere";
    evaluate_nothing: "evaluate nowhere.safetensors --data nowhere";
    help_models: "models --help";
    models_table: "models";
    search_designs: "search resnext29-1x128d";
    search_standard: "search bottleneck-24 --parametrisation standard";
    search_standard_paper: "search resnext29-1x128d --parametrisation standard --paper";
    search_standard_per_stage: "search resnext29-1x128d --parametrisation standard --per-stage";
    search_stages: "search resnext29-1x128d --per-stage";
    search_two_widths: "search resnext29-1x128d --free-widths --cost flops --multiple-of 4";
    search_group_width: "search regnet_y_400mf --budget 5M";
    search_near_best: "search resnext50-32x4d";
    search_clipped_widths: "search resnext29-1x128d --widths 3..5,500";
    search_check: "search bottleneck-12 --inputs 8 --outputs 8 --image 5 --check --draws 2000 -q";
    search_draws_of_nothing: "search resnext29-1x128d --draws 20";
    search_bad_budget: "search resnext29-1x128d --budget 5Q";
    search_tiny_budget: "search resnext29-1x128d --budget 1k";
    search_nothing_to_split: "search resnet18";
    search_timings_without_time: "search resnext29-1x128d --cost flops --timings times.csv";
    search_budget: "search resnext29-1x128d --budget 5M";
    search_classes: "search resnet50 --classes 10 --multiple-of 4";
    search_time_budget: "search resnext29-1x128d --cost time --budget 5M";
    search_no_timings: "search resnext29-1x128d --cost time --timings nowhere.csv";
    search_paper_time: "search resnext29-1x128d --paper --cost time";
    search_no_data: "search resnext29-1x128d --data nowhere";
    search_best_already: "search resnext50-32x4d --block-inputs white";
    search_table: "search resnext29-1x128d --alpha 1.6";
    search_flops: "search resnext29-1x128d --alpha 1.6 --cost flops --per-stage";
    search_figure_3: "search fc6-500 --inputs 748 --outputs 1 --alpha 3.03";
    search_exact_free: "search fc3-9 --variance exact --free-widths --json";
    search_no_gain: "search bottleneck-128 --inputs 8192 --outputs 8192 --alpha 1.6";
    search_alpha_unused: "search fc3-9 --variance exact --alpha 2";
    search_precision_unused: "search fc3-9 --variance exact --precision 0.1";
    search_stages_measured: "search resnext29-1x128d --variance measured --per-stage";
    search_free_multiple: "search resnext29-1x128d --alpha 1.6 --free-widths --multiple-of 8";
    fit_negative_trials: "fit bottleneck-16 --trials -5";
    fit_endless: "fit bottleneck-16 --trials 18446744073709551615";
    fit_two_widths: "fit bottleneck-16 --widths 4,8 --trials 100 -q";
    many_threads: "info fc3-100 --threads 100000";
    search_under: "search resnext38-1x96d --alpha 1.6 --rule under";
    search_bad_alpha: "search resnext29-1x128d --alpha NaN";
    search_negative_alpha: "search resnext29-1x128d --alpha -1";
    search_narrow: "search resnext29-1x1d --alpha 1.6";
    search_small_budget: "search resnext29-1x128d --alpha 1.6 --budget 1000 --rule under";
    search_no_width: "search resnext29-1x128d --alpha 1.6 --widths 200";
    search_no_inner_width: "search wrn28-10 --alpha 1.6";
}

#[test]
fn totals_of_the_papers_network() {
    let text = run("info resnext29-37x10d");
    assert!(text.contains("resnext29-37x10d: 13,743,646 parameters, 4,527,465,984 FLOPs"), "{text}");
}

#[test]
fn a_spec_that_is_printed_can_be_given_back() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("mine.toml");
    let text = run("info wrn16-2 --classes 7 --spec");
    let (_, spec) = text.split_once("--- stdout\n").unwrap();
    std::fs::write(&path, spec.split("--- stderr").next().unwrap()).unwrap();
    let again = run(&format!("info {} --spec", path.display()));
    assert_eq!(again.split_once("--- stdout").unwrap().1, text.split_once("--- stdout").unwrap().1);
}

#[test]
fn completions_and_manual_pages_are_generated() {
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        assert!(run(&format!("completions {shell}")).contains("info"), "{shell}");
    }
    assert!(run("man").contains(".TH collegial"));
    let directory = tempfile::tempdir().unwrap();
    let pages = directory.path().join("pages");
    assert!(run(&format!("man {}", pages.display())).contains("exit 0"));
    assert!(pages.join("collegial-info.1").is_file());
}

#[test]
fn the_number_of_threads_does_not_change_a_digit() {
    let fit = "fit bottleneck-32 --trials 700 --seed 9 --json";
    let one = run(&format!("{fit} --threads 1"));
    let three = run(&format!("{fit} --threads 3"));
    assert_eq!(one.split_once('{').unwrap().1, three.split_once('{').unwrap().1);
}

#[test]
fn plain_terminals_get_plain_characters() {
    let output = Command::new(env!("CARGO_BIN_EXE_collegial"))
        .args(["search", "resnext29-1x128d", "--alpha", "1.6"])
        .env("LC_ALL", "C")
        .output()
        .unwrap();
    assert!(output.stdout.is_ascii(), "{}", String::from_utf8_lossy(&output.stdout));
}
