//! `ntk` and `moments`: the same kernels by every way, and questions that have no answer.

mod program;

use program::{run, without_times};

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
    let options = "--parametrisation ntk --norm none --threads 1";
    let (copy, file_again) = (file("k.npy"), file("again.npy"));
    assert!(saved.contains(&format!("\"file\": {copy:?}")) && !saved.contains("\"kernel\""), "{saved}");
    run(&format!("{model} --weights {weights} --input {input} {options} --out {file_again}"));
    let npy = std::fs::read(&kernel).unwrap();
    assert!(npy == std::fs::read(&file_again).unwrap());
    assert_eq!(npy.len(), 128 + 9 * 8);
    let again = run(&format!("{model} --weights {weights} --input {input} {options}"));
    let first: f64 =
        kernel_of(&again).split(['[', ',']).map(str::trim).find_map(|text| text.parse().ok()).unwrap();
    let filed = f64::from_le_bytes(npy[128..136].try_into().unwrap());
    assert!((filed / first - 1.0).abs() < 1e-6, "{filed} {first}");

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
    refused(&format!("ntk fc3-20 --out {}", file("no/such/k.npy")), "there is no directory");
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
    // A module without a name takes its file's; its designs have none of their own.
    let relu = file(
        "relu.toml",
        b"kind = \"sequence\"\ninput = { channels = 6 }\nlayers = [{ type = \"dense\", width = 12, activation = \"relu\" }, { type = \"dense\", width = 12, activation = \"relu\" }, { type = \"dense\", width = 1 }]\n",
    );
    let named = run(&format!("search {relu}"));
    assert!(named.contains("d of relu has") && !named.contains("next: collegial export"), "{named}");
    let drawn = run(&format!("fit {tanh} --widths 4,12 --json -q"));
    assert!(drawn.contains("exit 0") && drawn.contains("\"source\": \"sampled\""), "{drawn}");
    let inputs = drawn.split_once("\"inputs\": ").unwrap().1.split_once(',').unwrap().0.to_owned();
    assert!(inputs.parse::<u64>().unwrap() >= 4, "{drawn}");
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
    refused("ntk fc3-20 --norm batch", "none or frozen, not batch");
}

/// Weights were read past their checksum: one flipped bit gave a kernel of infinity, and exit 0.
#[test]
fn weights_that_changed_or_are_no_numbers_give_no_kernel() {
    use collegial_core::tensors::safetensors::Archive;
    use collegial_core::tensors::{Tensor, TensorTable};

    let directory = tempfile::tempdir().unwrap();
    let file = |name: &str| directory.path().join(name);
    let ours = file("ours.safetensors");
    assert!(
        run(&format!("export fc3-6 --inputs 5 --to safetensors --out {}", ours.display())).contains("exit 0")
    );
    let kernel = |path: &std::path::Path| {
        run(&format!("ntk fc3-6 --inputs 5 --count 2 --weights {} --json", path.display()))
    };
    let refused = |path: &std::path::Path, reason: &str| {
        let text = kernel(path);
        assert!(text.contains("exit 2") && text.contains(reason), "{text}");
    };
    assert!(kernel(&ours).contains("exit 0"));

    let mut flipped = std::fs::read(&ours).unwrap();
    // The highest bit of an exponent.
    let last = flipped.len() - 1;
    flipped[last] ^= 0x40;
    std::fs::write(file("flipped.safetensors"), &flipped).unwrap();
    refused(&file("flipped.safetensors"), "has changed since it was written");

    // Another program's file, without a checksum: a row that this kernel does not need, and weights
    // that are numbers whose products are not.
    let mut weights = Archive::from_bytes(&std::fs::read(&ours).unwrap()).unwrap().tensors;
    let changed = |weights: &TensorTable, change: &dyn Fn(&str, &mut [f32])| {
        let mut table = TensorTable::new();
        for (name, tensor) in weights.iter() {
            let mut values = tensor.values().to_vec();
            change(name, &mut values);
            table.insert(name, Tensor::new(tensor.shape(), values).unwrap()).unwrap();
        }
        table
    };
    let write = |name: &str, table: TensorTable| {
        std::fs::write(file(name), Archive::from(table).to_bytes().unwrap()).unwrap();
        file(name)
    };
    let last_name = weights.iter().map(|(name, _)| name.to_owned()).max().unwrap();
    let with_nan = changed(&weights, &|name, values| {
        if name == last_name {
            *values.last_mut().unwrap() = f32::NAN;
        }
    });
    refused(&write("nan.safetensors", with_nan), "has weights that are no numbers");
    weights = changed(&weights, &|_, values| values.iter_mut().for_each(|value| *value = 1e30));
    refused(&write("large.safetensors", weights), "too large");
}

/// A kernel whose process is killed after some tiles is completed by the same command, to the same
/// bytes.
#[cfg(unix)]
#[test]
fn a_killed_kernel_goes_on() {
    use std::process::{Command, Stdio};
    use std::time::{Duration, Instant};
    let directory = tempfile::tempdir().unwrap();
    let ntk = |out: &str| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_collegial"));
        command
            .current_dir(directory.path())
            .args("ntk fc3-200 --inputs 20 --count 4000 --quiet --out".split(' '));
        command.arg(out).stdout(Stdio::null());
        command
    };
    assert!(ntk("whole.npy").status().unwrap().success());
    let mut child = ntk("killed.npy").spawn().unwrap();
    let (journal, start) = (directory.path().join("killed.npy.tiles/0.journal"), Instant::now());
    while std::fs::read(&journal).is_ok_and(|lines| lines.is_empty()) || !journal.exists() {
        assert!(start.elapsed() < Duration::from_secs(60), "no tile in a minute");
        std::thread::sleep(Duration::from_micros(200));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    let lines = std::fs::read_to_string(&journal).unwrap().lines().count();
    assert!((1..36).contains(&lines), "killed in the middle, after {lines} of 36 tiles");
    assert!(ntk("killed.npy").status().unwrap().success());
    let read = |name: &str| std::fs::read(directory.path().join(name)).unwrap();
    assert!(read("killed.npy") == read("whole.npy"));
    assert!(directory.path().join("killed.npy.tiles/1.journal").exists(), "the second process's journal");
}
