//! The command line as a user meets it: outputs, errors and exit codes, as snapshots.

use std::process::Command;

/// Runs `collegial` with the words of a line; gives "exit code, stdout, stderr" as one text.
fn run(line: &str) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_collegial"))
        .args(line.split_whitespace())
        .env_remove("CLICOLOR_FORCE")
        .env("NO_COLOR", "1")
        .env("LC_ALL", "C.UTF-8")
        .output()
        .expect("the binary runs");
    let code = output.status.code().map_or("killed".to_owned(), |code| code.to_string());
    let stdout = without_times(&String::from_utf8_lossy(&output.stdout));
    let stderr = String::from_utf8_lossy(&output.stderr);
    format!("$ collegial {line}\nexit {code}\n--- stdout\n{stdout}--- stderr\n{stderr}")
}

/// Seconds differ from run to run: lines such as `0.24 s` and `"seconds": 0.24` lose their number.
fn without_times(text: &str) -> String {
    let line = |line: &str| {
        let is_time = line.strip_suffix(" s").is_some_and(|number| number.parse::<f64>().is_ok());
        match line.split_once("\"seconds\": ") {
            Some((before, _)) => format!("{before}\"seconds\": [time]\n"),
            None if is_time => "[time] s\n".to_owned(),
            None => format!("{line}\n"),
        }
    };
    text.lines().map(line).collect()
}

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
    ntk_json: "ntk bottleneck-2x3d --inputs 4 --image 3 --outputs 4 --count 2 --pooled --norms frozen --json";
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
    search_stages: "search resnext29-1x128d --per-stage";
    search_two_widths: "search resnext29-1x128d --free-widths --cost flops --multiple-of 4";
    search_group_width: "search regnet_y_400mf --budget 5M";
    search_near_best: "search resnext50-32x4d";
    search_check: "search bottleneck-12 --inputs 8 --outputs 8 --image 5 --check --draws 2000 -q";
    search_draws_of_nothing: "search resnext29-1x128d --draws 20";
    search_bad_budget: "search resnext29-1x128d --budget 5Q";
    search_tiny_budget: "search resnext29-1x128d --budget 1k";
    search_nothing_to_split: "search resnet18";
    search_timings_without_time: "search resnext29-1x128d --timings times.csv";
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
fn shards_merge_to_the_result_of_one_process() {
    let directory = tempfile::tempdir().unwrap();
    let file = |name: &str| directory.path().join(name).display().to_string();
    let fit = "fit bottleneck-16 --widths 2,4,8 --trials 330 --seed 5";
    for index in 1..=3 {
        let text = run(&format!(
            "{fit} --shard {index}/3 --out {} --threads {index}",
            file(&format!("{index}.json"))
        ));
        assert!(text.contains("exit 0"), "{text}");
    }
    let merged = run(&format!("merge {} {} {} --json", file("2.json"), file("3.json"), file("1.json")));
    let whole = run(&format!("{fit} --json --out {}", file("whole.json")));
    let points = |text: &str| text.split_once("\"points\"").unwrap().1.split_once(']').unwrap().0.to_owned();
    let alpha = |text: &str| text.split_once("\"alpha\"").unwrap().1.split_once(',').unwrap().0.to_owned();
    assert_eq!((alpha(&merged), points(&merged)), (alpha(&whole), points(&whole)));
    let again = run(&format!("merge {} --json", file("whole.json")));
    assert_eq!(alpha(&again), alpha(&whole));
    let twice = run(&format!("merge {} {}", file("1.json"), file("1.json")));
    assert!(twice.contains("exit 2") && twice.contains("cannot join"), "{twice}");
    std::fs::write(file("cut.json"), &std::fs::read_to_string(file("1.json")).unwrap()[..100]).unwrap();
    assert!(
        run(&format!("merge {}", file("cut.json")))
            .contains("is not a file that `collegial fit --out` wrote")
    );
}

/// A full disk is an error of every verb, help included.
#[cfg(target_os = "linux")]
#[test]
fn output_that_cannot_be_written_is_said() {
    let shell = |line: &str| {
        let line = line.replace("collegial", env!("CARGO_BIN_EXE_collegial"));
        let output = Command::new("bash").args(["-c", &line]).output().expect("bash runs");
        (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
    };
    for verb in ["info fc3-100", "--help", "fit --help", "--version", "man", "completions bash"] {
        let (code, said) = shell(&format!("collegial {verb} > /dev/full"));
        assert_eq!(code, Some(2), "{verb}");
        assert!(said.starts_with("error: cannot write the result: No space left"), "{verb}: {said}");
    }
}

#[test]
fn control_characters_do_not_reach_the_terminal() {
    let text = run("info \u{1b}[31mred.toml");
    assert!(
        text.contains("exit 2") && text.split_once("stdout").unwrap().1.contains("\\u{1b}[31m"),
        "{text}"
    );
    assert!(!text.split_once("stdout").unwrap().1.contains('\u{1b}'), "{text}");
}

/// Shards with other counts, moments or trials once gave an alpha anywhere between -132 and 0.76.
#[test]
fn merge_does_not_trust_its_shards() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("shard.json");
    let out = path.display();
    assert!(run(&format!("fit bottleneck-4 --widths 2,4 --trials 64 --out {out}")).contains("exit 0"));
    let whole = std::fs::read_to_string(&path).unwrap();
    let merge = |text: &str| {
        std::fs::write(&path, text).unwrap();
        run(&format!("merge {out}"))
    };
    assert!(merge(&whole).contains("exit 0"));
    assert!(merge(&whole.replacen("\"seed\":0", "\"seed\":1", 1)).contains("it has changed since"));
    // A shard of 0.1.0, without a checksum.
    let at = whole.find("crc32-").unwrap();
    let old = whole.replacen(&whole[at..at + 14], "none", 1);
    assert!(merge(&old).contains("exit 0"));
    for (before, after, said) in [
        ("\"count\":50", "\"count\":51", "contradict themselves"),
        ("\"m2\":", "\"m2\":-", "contradict themselves"),
        ("\"end\":50", "\"end\":0", "contradict themselves"),
        ("\"trials\":64", "\"trials\":10", "trials beyond the 10 of the run"),
        ("\"width\":2,\"tally", "\"width\":4,\"tally", "ascending order"),
    ] {
        let changed = old.replacen(before, after, 1);
        assert_ne!(changed, old, "{before}");
        let text = merge(&changed);
        assert!(text.contains("exit 2") && text.contains(said), "{before}: {text}");
    }
}

#[test]
fn kernels_of_saved_weights_and_inputs_are_the_same() {
    let directory = tempfile::tempdir().unwrap();
    let file = |name: &str| directory.path().join(name).display().to_string();
    let (weights, input, kernel) = (file("w.safetensors"), file("x.npy"), file("k.npy"));
    let model = "ntk bottleneck-2x3d --inputs 4 --outputs 4 --image 5 --trace --json --seed 7";
    let kernel_of =
        |text: &str| text.split_once("\"kernel\"").unwrap().1.split_once("\"seconds").unwrap().0.to_owned();
    let saved =
        run(&format!("{model} --count 3 --save-weights {weights} --save-input {input} --out {kernel}"));
    assert!(saved.contains("exit 0"), "{saved}");
    let options = "--parametrisation ntk --norms none --threads 1";
    let again = run(&format!("{model} --weights {weights} --input {input} {options}"));
    assert_eq!(kernel_of(&again), kernel_of(&saved));
    let npy = std::fs::read(&kernel).unwrap();
    assert_eq!(npy.len(), 128 + 9 * 8);
    let first: f64 =
        kernel_of(&saved).split(['[', ',']).map(str::trim).find_map(|text| text.parse().ok()).unwrap();
    assert_eq!(f64::from_le_bytes(npy[128..136].try_into().unwrap()), first);

    let refused = |line: &str, reason: &str| {
        let text = run(line);
        assert!(text.contains("exit 2") && text.contains(reason), "{text}");
        assert_eq!(text.split_once("--- stderr\n").unwrap().1.lines().count(), 1, "{text}");
    };
    refused(
        &format!("ntk fc3-20 --input {input}"),
        "holds inputs of shape [100], but the network takes [784, 1, 1]",
    );
    refused(
        &format!("ntk fc3-20 --input {weights}"),
        "expected an .npy array (magic bytes 0x93 NUMPY), found other bytes",
    );
    refused(&format!("ntk fc3-20 --weights {weights}"), "there is no tensor \"fc1.weight\"");
    refused(&format!("ntk fc3-20 --weights {input}"), "it is not a safetensors file");
    refused(&format!("ntk fc3-20 --out {}", file("no/such/k.npy")), "cannot write");
    let mut broken = std::fs::read(&input).unwrap();
    let at = broken.len() - 8;
    broken[at..].copy_from_slice(&f64::NAN.to_le_bytes());
    std::fs::write(&input, &broken).unwrap();
    refused(&format!("{model} --input {input}"), "input 2 contains NaN; inputs must be finite numbers");
    std::fs::write(&input, &broken[..at]).unwrap();
    refused(&format!("{model} --input {input}"), "of an array of F64 of shape [3, 100], found 2392 bytes");
}

/// A .npy file of f4 values.
fn npy(shape: &str, values: &[f32]) -> Vec<u8> {
    let mut header = format!("{{'descr': '<f4', 'fortran_order': False, 'shape': ({shape}), }}");
    while (10 + header.len() + 1) % 64 != 0 {
        header.push(' ');
    }
    header.push('\n');
    let mut file = b"\x93NUMPY\x01\x00".to_vec();
    file.extend((header.len() as u16).to_le_bytes());
    file.extend(header.as_bytes());
    file.extend(values.iter().flat_map(|value| value.to_le_bytes()));
    file
}

#[test]
fn questions_that_have_no_exact_answer_are_refused_in_one_sentence() {
    let directory = tempfile::tempdir().unwrap();
    let file = |name: &str, content: &[u8]| {
        let path = directory.path().join(name);
        std::fs::write(&path, content).unwrap();
        path.display().to_string()
    };
    let refused = |line: &str, reason: &str| {
        let text = run(line);
        assert!(text.contains("exit 2") && text.contains(reason), "{text}");
        assert_eq!(text.split_once("--- stderr\n").unwrap().1.lines().count(), 1, "{text}");
    };
    let block = file(
        "block.toml",
        b"kind = \"bottleneck\"\ninputs = 2\noutputs = 2\nwidth = 4\nmembers = 1\nkernel = 3\nstride = 1\nimage = 3\n",
    );
    let input = |values: &[f32]| file("x.npy", &npy("2, 3, 3", values));
    let moments = |input: &str| format!("moments {block} --input {input}");
    refused(&moments(&input(&[0.0; 18])), "is zero, so its kernel is zero");
    let mut values = [1.0; 18];
    values[4] = f32::NAN;
    refused(&moments(&input(&values)), "NaN; inputs must be finite numbers");
    refused(&moments(&file("y.npy", &npy("3, 3, 2", &[1.0; 18]))), "holds inputs of shape [3, 3, 2]");
    let tanh = file(
        "tanh.toml",
        b"kind = \"sequence\"\ninput = { channels = 6 }\nlayers = [{ type = \"dense\", width = 12, activation = \"tanh\" }, { type = \"dense\", width = 12, activation = \"tanh\" }, { type = \"dense\", width = 1 }]\n",
    );
    refused(&format!("search {tanh} --variance exact"), "layer");
    // Without insisting, it is sampled.
    let sampled = run(&format!("search {tanh} --precision 0.2 --widths 4,12 --json -q"));
    assert!(sampled.contains("exit 0") && sampled.contains("\"variance_source\": \"measured\""), "{sampled}");
    let times = file("times.csv", b"model,seconds\n1x128d,0.2\n16x9d,0.1\n");
    let timed = run(&format!("search resnext29-1x128d --cost time --timings {times} --json"));
    assert!(timed.contains("exit 0") && timed.contains("\"cost\": \"time\""), "{timed}");
}

#[test]
fn kernels_over_initialisations() {
    let model = "ntk bottleneck-2x3d --inputs 4 --outputs 4 --image 5 --pooled --draws 12 --count 2";
    let one = |text: &str| without_times(text).replace(" --threads 1", "");
    for norm in ["none", "frozen", "batch"] {
        let text = run(&format!("{model} --norm {norm} --json"));
        assert!(text.contains("exit 0"), "{text}");
        for key in ["\"mean\"", "\"variance\"", "\"standard_error\"", "\"draws\": 12", "\"off_diagonal\""] {
            assert!(text.contains(key), "{key}: {text}");
        }
        assert!(text.contains(&format!("\"norm\": \"{norm}\"")), "{text}");
        assert_eq!(one(&run(&format!("{model} --norm {norm} --json --threads 1"))), one(&text));
    }
    let refused = |line: &str, reason: &str| {
        let text = run(line);
        assert!(text.contains("exit 2") && text.contains(reason), "{text}");
    };
    refused(&format!("{model} --norm batch --batch 1"), "2 inputs are part of it");
    refused("ntk fc3-20 --draws 1", "a variance needs at least 2");
    refused("ntk fc3-20 --draws 5 --weights w.safetensors", "cannot be used with");
    refused("ntk fc3-20 --norms batch", "none or frozen, not batch");
}

#[test]
fn the_number_of_threads_does_not_change_a_digit() {
    let fit = "fit bottleneck-32 --trials 700 --seed 9 --json";
    let one = run(&format!("{fit} --threads 1"));
    let three = run(&format!("{fit} --threads 3"));
    assert_eq!(one.split_once('{').unwrap().1, three.split_once('{').unwrap().1);
}

#[test]
fn figures_are_written_whole_or_refused() {
    let directory = tempfile::tempdir().unwrap();
    let figure = directory.path().join("fit.svg");
    run(&format!("fit bottleneck-16 --widths 2,4,8 --trials 100 --figure {}", figure.display()));
    assert!(std::fs::read_to_string(&figure).unwrap().contains("</svg>"));
    assert!(std::fs::read_to_string(figure.with_extension("csv")).unwrap().lines().count() > 3);
    let nowhere = directory.path().join("no/such/fit.svg");
    let text = run(&format!("fit bottleneck-16 --widths 2,4 --trials 100 --figure {}", nowhere.display()));
    assert!(text.contains("exit 2") && text.contains("cannot write"), "{text}");
}

#[test]
fn a_report_holds_the_verdict_the_figures_and_the_data() {
    let directory = tempfile::tempdir().unwrap();
    let page = directory.path().join("report.html");
    let figures = directory.path().join("figures");
    let line = format!(
        "search resnext29-1x128d --trials 200 --per-stage --free-widths --report {} --figures {}",
        page.display(),
        figures.display()
    );
    assert!(run(&line).contains("exit 0"));
    let html = std::fs::read_to_string(&page).unwrap();
    for part in ["x10d", "</svg>", "curve.csv", "search.json", "--per-stage", "Seed 0"] {
        assert!(html.contains(part), "{part}");
    }
    for foreign in ["http://", "https://"] {
        let outside = html.replace("http://www.w3.org/", "").contains(foreign);
        assert!(!outside, "the page reaches out to {foreign}");
    }
    for name in ["primal", "dual", "alpha", "residuals"] {
        assert!(
            figures.join(format!("{name}.svg")).is_file() && figures.join(format!("{name}.csv")).is_file()
        );
    }
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

#[cfg(unix)]
#[test]
fn links_are_followed_and_files_are_readable() {
    use std::os::unix::fs::{PermissionsExt, symlink};
    let directory = tempfile::tempdir().unwrap();
    let (real, link) = (directory.path().join("real.json"), directory.path().join("link.json"));
    std::fs::write(&real, "old").unwrap();
    symlink(&real, &link).unwrap();
    run(&format!("fit bottleneck-8 --widths 2,4 --trials 60 --out {}", link.display()));
    assert!(link.symlink_metadata().unwrap().is_symlink());
    assert!(std::fs::read_to_string(&real).unwrap().contains("samples"));
    let fresh = directory.path().join("fresh.json");
    run(&format!("fit bottleneck-8 --widths 2,4 --trials 60 --out {}", fresh.display()));
    assert_ne!(fresh.metadata().unwrap().permissions().mode() & 0o044, 0, "others can read it");
    let csv = directory.path().join("figure.csv");
    let text = run(&format!("fit bottleneck-8 --widths 2,4 --trials 60 --figure {}", csv.display()));
    assert!(text.contains("exit 2") && text.contains("ends in .svg"), "{text}");
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_is_a_sentence() {
    let text = run("fit bottleneck-8 --widths 2,4 --trials 60 --out /dev/full");
    assert!(text.contains("exit 2") && text.contains("cannot write /dev/full: No space left"), "{text}");
    let full = || std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    let status = Command::new(env!("CARGO_BIN_EXE_collegial"))
        .args(["info", "fc3-100"])
        .stdout(full())
        .status()
        .unwrap();
    assert_eq!(status.code(), Some(2));
    let status =
        Command::new(env!("CARGO_BIN_EXE_collegial")).args(["info", "nope"]).stderr(full()).status().unwrap();
    assert_eq!(status.code(), Some(2));
}

/// Waits until a process catches SIGINT and has computed for a second since.
#[cfg(target_os = "linux")]
fn wait_until_at_work(process: u32) {
    let read = |name: &str| std::fs::read_to_string(format!("/proc/{process}/{name}")).unwrap_or_default();
    let catches = || {
        let status = read("status");
        let mask = status.lines().find_map(|line| line.strip_prefix("SigCgt:")).map(str::trim);
        // Signal 2 is the second bit.
        mask.and_then(|mask| u64::from_str_radix(mask, 16).ok()).is_some_and(|mask| mask & 2 != 0)
    };
    // The 14th field, the 12th after the name in brackets, is the time in ticks of a hundredth of a
    // second.
    let ticks = || -> u64 {
        let stat = read("stat");
        let mut fields = stat.rsplit(')').next().unwrap_or_default().split_whitespace();
        fields.nth(11).and_then(|ticks| ticks.parse().ok()).unwrap_or(0)
    };
    let start = std::time::Instant::now();
    let mut begun = None;
    while begun.is_none_or(|begun| ticks() < begun + 100) {
        assert!(start.elapsed().as_secs() < 120, "it did not begin to compute in two minutes");
        if begun.is_none() && catches() {
            begun = Some(ticks());
        }
        std::thread::yield_now();
    }
}

/// Ctrl-C in the middle of a long fit: the draws so far are fitted, printed and saved, and the exit
/// code is 130.
#[cfg(target_os = "linux")]
#[test]
fn an_interrupt_keeps_what_was_drawn() {
    let directory = tempfile::tempdir().unwrap();
    let saved = directory.path().join("draws.json");
    let child = Command::new(env!("CARGO_BIN_EXE_collegial"))
        .args(["fit", "bottleneck-256", "--widths", "64,128,256", "--trials", "100000000", "--json", "--out"])
        .arg(&saved)
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    wait_until_at_work(child.id());
    Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(String::from_utf8_lossy(&output.stdout).contains("\"complete\": false"));
    assert!(run(&format!("merge {}", saved.display())).contains("alpha ="));
}

#[test]
fn a_reader_that_leaves_ends_the_program_as_sigpipe_would() {
    use std::process::Stdio;
    let mut child = Command::new(env!("CARGO_BIN_EXE_collegial"))
        .args(["info", "resnext101-32x4d"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
    assert_eq!(output.status.code(), Some(141));
}

#[test]
fn exports_are_written_and_read_back() {
    let directory = tempfile::tempdir().unwrap();
    let file = |name: &str| directory.path().join(name).display().to_string();
    let (weights, net, script) = (file("a.safetensors"), file("a.onnx"), file("a.py"));
    for (format, path) in [("safetensors", &weights), ("onnx", &net), ("pytorch", &script)] {
        let text = run(&format!("export fc3-4x8 --to {format} --out {path} --seed 3 --json"));
        let bytes = std::fs::metadata(path).unwrap().len();
        for key in [
            "\"model\": \"fc3-4x8\"".to_owned(),
            format!("\"format\": \"{format}\""),
            format!("\"path\": \"{path}\""),
            "\"parameters\": 25664".to_owned(),
            format!("\"bytes\": {bytes}"),
        ] {
            assert!(text.contains("exit 0") && text.contains(&key), "{key} in {text}");
        }
    }
    let again = run(&format!("export {weights} --to onnx --out {} --external-data", file("b.onnx")));
    assert!(
        again.contains(&format!("{0} and {0}.data: fc3-4x8, 25,664 parameters", file("b.onnx"))),
        "{again}"
    );
    for path in [&weights, &net, &file("b.onnx")] {
        assert!(run(&format!("info {path}")).contains("fc3-4x8: 25,664 parameters"), "{path}");
    }
    let refused = |line: &str, reason: &str| {
        let text = run(line);
        assert!(text.contains("exit 2") && text.contains(reason), "{text}");
        assert_eq!(text.split_once("--- stderr\n").unwrap().1.lines().count(), 1, "{text}");
    };
    refused(
        &format!("export {weights} --to safetensors --out {weights}"),
        "would be replaced by its own export",
    );
    refused(&format!("export fc3-8 --to onnx --out {}", file("no/such/a.onnx")), "cannot write");
    refused(&format!("export {weights} --to onnx --classes 7 --out {}", file("c.onnx")), "expected [28, 8]");
    std::fs::write(file("theirs.pth"), b"PK\x03\x04 and so on").unwrap();
    refused(&format!("info {}", file("theirs.pth")), "is a PyTorch file, which can run code when it is read");
    std::fs::write(file("cut.onnx"), &std::fs::read(&net).unwrap()[..500]).unwrap();
    refused(&format!("info {}", file("cut.onnx")), "it is cut off or not a protocol buffer");
    let mut left: Vec<_> =
        std::fs::read_dir(directory.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    left.sort();
    let expected = ["a.onnx", "a.py", "a.safetensors", "b.onnx", "b.onnx.data", "cut.onnx", "theirs.pth"];
    assert_eq!(left, expected, "nothing half-written stays behind");
}
