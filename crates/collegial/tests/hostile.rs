//! Files that are made to harm: nested without end, cut off anywhere, or with sizes that nobody has.
//! Each is one sentence and exit code 2, not a crash, and no wait.

use std::path::Path;
use std::process::{Command, Output};

use collegial_testing::{NETWORK, write_data};

fn run(place: &Path, line: &str) -> Output {
    Command::new(env!("CARGO_BIN_EXE_collegial")).current_dir(place).args(line.split(' ')).output().unwrap()
}

/// Refused in one sentence, which is not a whole file.
fn refused(place: &Path, line: &str) {
    let output = run(place, line);
    let said = String::from_utf8_lossy(&output.stderr);
    let shown: String = said.chars().take(500).collect();
    assert_eq!(output.status.code(), Some(2), "{line}: {shown}");
    assert!(said.starts_with("error: ") && said.lines().count() == 1, "{line}: {shown}");
    assert!(said.len() < 4000, "{line}: {} bytes, {shown}", said.len());
}

/// So deep that a reader that calls itself runs out of stack.
const DEPTH: usize = 200_000;

/// A field of a protocol buffer with its length.
fn field(number: u8, content: &[u8]) -> Vec<u8> {
    let mut bytes = vec![number << 3 | 2];
    let mut length = content.len();
    while length >= 128 {
        bytes.push(length as u8 | 128);
        length >>= 7;
    }
    bytes.push(length as u8);
    [&bytes, content].concat()
}

/// A model whose graph has a node with an attribute that is a graph, and so on.
fn nested_onnx(depth: usize) -> Vec<u8> {
    let mut graph = vec![];
    for _ in 0..depth {
        graph = field(1, &field(5, &field(6, &graph)));
    }
    field(7, &graph)
}

fn safetensors(header: &[u8]) -> Vec<u8> {
    [&(header.len() as u64).to_le_bytes(), header].concat()
}

#[test]
fn deep_nesting_is_refused() {
    let root = tempfile::tempdir().unwrap();
    let place = root.path();
    let write = |name: &str, content: &[u8]| {
        let path = place.join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, content).unwrap();
    };
    let opened = "[".repeat(DEPTH);
    let objects = "{\"a\":".repeat(DEPTH);
    let tables = "{a=".repeat(DEPTH);
    write("arrays.toml", format!("kind = {opened}").as_bytes());
    write("tables.toml", format!("kind = {tables}").as_bytes());
    write("dotted.toml", format!("{}b = 1", "a.".repeat(DEPTH)).as_bytes());
    write("arrays.safetensors", &safetensors(format!("{{\"a\":{opened}").as_bytes()));
    write("objects.safetensors", &safetensors(objects.as_bytes()));
    write("net.onnx", &nested_onnx(300));
    write("shard.json", objects.as_bytes());
    write("plan/plan.json", objects.as_bytes());
    write("spec.json", objects.as_bytes());
    let bert = |inside: &str| format!("{{\"model_type\": \"bert\", \"vocab_size\": {inside}");
    write("bert-arrays/config.json", bert(&opened).as_bytes());
    write("bert-objects/config.json", bert(&objects).as_bytes());
    // Nested, and whole.
    let closed = format!("{}{}}}", bert(&opened), "]".repeat(DEPTH));
    write("bert-closed/config.json", closed.as_bytes());
    let kernel = "ntk fc3-6 --inputs 3 --count 600 --out k.npy";
    assert_eq!(run(place, kernel).status.code(), Some(0));
    write("k.npy.tiles/plan.json", format!("{{\"question\": {objects}").as_bytes());
    let header = format!("{{'descr': {}", "(".repeat(60_000));
    let length = (header.len() as u16).to_le_bytes();
    write("x.npy", &[b"\x93NUMPY\x01\x00", &length[..], header.as_bytes()].concat());
    // Lists in lists: EMPTY_LIST as often, then APPEND.
    let pickle = [&b"\x80\x02"[..], &vec![b']'; DEPTH], &vec![b'a'; DEPTH - 1], b"."].concat();
    for number in 1..=10 {
        write(&format!("batches/train_data_batch_{number}"), &pickle);
    }
    write("batches/val_data", &pickle);
    write("quoted.csv", format!("model,error\n\"{}", "fc3-8,\n".repeat(DEPTH)).as_bytes());
    write("wide.csv", format!("model{}\n", ",a".repeat(DEPTH)).as_bytes());
    for line in [
        "info arrays.toml",
        "info tables.toml",
        "search dotted.toml",
        "info arrays.safetensors",
        "export objects.safetensors --to onnx",
        "info net.onnx",
        "info spec.json",
        "info bert-arrays",
        "search bert-objects",
        "info bert-closed",
        kernel,
        "merge shard.json",
        "status plan",
        "job plan 0",
        "gather plan",
        "ntk fc3-8 --input x.npy",
        "train fc2-4 --data batches --epochs 1",
        "train fc2-4 --data batches --epochs 1 --recipe arrays.toml",
        "score quoted.csv --target error",
        "score wide.csv --target error",
    ] {
        refused(place, line);
    }
}

/// Sizes that a header claims: nothing is allocated for them.
#[test]
fn claimed_sizes_are_not_believed() {
    let root = tempfile::tempdir().unwrap();
    let place = root.path();
    let claim = [&(1u64 << 60).to_le_bytes()[..], b"{}"].concat();
    std::fs::write(place.join("w.safetensors"), claim).unwrap();
    refused(place, "info w.safetensors");
    let huge = br#"{"a":{"dtype":"F32","shape":[4294967296,4294967296],"data_offsets":[0,4]}}"#;
    std::fs::write(place.join("w.safetensors"), [&safetensors(huge)[..], &[0; 4]].concat()).unwrap();
    refused(place, "info w.safetensors");
    let header = "{'descr': '<f8', 'fortran_order': False, 'shape': (4294967295, 4294967295), }\n";
    let length = (header.len() as u16).to_le_bytes();
    let npy = [b"\x93NUMPY\x01\x00", &length[..], header.as_bytes()].concat();
    std::fs::write(place.join("x.npy"), npy).unwrap();
    refused(place, "ntk fc3-8 --input x.npy");
    // Headers of photographs of 65,535 x 65,535 with nothing behind them.
    let mut png = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\xff\xff\0\0\xff\xff\x08\x02\0\0\0".to_vec();
    png.extend(crc32fast::hash(&png[12..]).to_be_bytes());
    let jpeg = b"\xff\xd8\xff\xc0\0\x11\x08\xff\xff\xff\xff\x03\x01\x11\0\x02\x11\x01\x03\x11\x01".to_vec();
    for (name, photograph) in [("a.png", png), ("a.jpg", jpeg)] {
        for folder in ["train/a", "train/b", "val/a", "val/b"] {
            let folder = place.join(name.replace('.', "-")).join(folder);
            std::fs::create_dir_all(&folder).unwrap();
            std::fs::write(folder.join(name), &photograph).unwrap();
        }
        let line = format!("ntk resnext50-1x1d --count 1 --data {}", name.replace('.', "-"));
        refused(place, &line);
    }
    for (split, count) in [("train", u32::MAX), ("t10k", u32::MAX)] {
        let head = |words: &[u32]| words.iter().flat_map(|word| word.to_be_bytes()).collect::<Vec<u8>>();
        let digits = place.join("digits");
        std::fs::create_dir_all(&digits).unwrap();
        let images = head(&[0x0803, count, u32::MAX, u32::MAX]);
        std::fs::write(digits.join(format!("{split}-images-idx3-ubyte")), images).unwrap();
        std::fs::write(digits.join(format!("{split}-labels-idx1-ubyte")), head(&[0x0801, count])).unwrap();
    }
    refused(place, "ntk fc2-4 --count 1 --data digits");
}

/// A file that was being written when the power went, at any length: noticed, or not needed.
#[test]
fn newest_files_may_be_cut_anywhere() {
    let root = tempfile::tempdir().unwrap();
    let place = root.path();
    write_data(&place.join("data"), 40, 20);
    std::fs::write(place.join("small.toml"), NETWORK).unwrap();
    let answered = |line: &str| {
        let output = run(place, line);
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(matches!(output.status.code(), Some(0 | 1)), "{line}: {said}");
    };
    let train = "train small.toml --data data --set batch=20 --epochs 1 --resume --out run";
    answered(train);
    answered("fit bottleneck-4 --trials 100 --widths 1,2,4 --out shard.json");
    answered("validate fc2-8 --data data --epochs 1 --runs 1 --designs 3 --plan plan");
    answered("job plan 0-2");
    answered("export fc3-8 --to onnx --out net.onnx");
    let newest = |directory: &str, prefix: &str| {
        let entries = std::fs::read_dir(place.join(directory)).unwrap().map(|entry| entry.unwrap().path());
        let names = entries.map(|path| path.file_name().unwrap().to_str().unwrap().to_owned());
        format!("{directory}/{}", names.filter(|name| name.starts_with(prefix)).max().unwrap())
    };
    let checkpoint = newest("run", "checkpoint-");
    let longer = train.replace("--epochs 1", "--epochs 2");
    for (file, line) in [
        (format!("{checkpoint}/model.safetensors"), longer.as_str()),
        (newest(&checkpoint, "t"), longer.as_str()),
        ("shard.json".into(), "merge shard.json"),
        ("net.onnx".into(), "info net.onnx"),
        ("plan/plan.json".into(), "gather plan"),
        ("small.toml".into(), "info small.toml"),
    ] {
        let path = place.join(&file);
        let whole = std::fs::read(&path).unwrap();
        for part in 0..12 {
            let length = if part == 11 { whole.len() - 1 } else { part * whole.len() / 12 };
            std::fs::write(&path, &whole[..length]).unwrap();
            let output = run(place, line);
            let said = String::from_utf8_lossy(&output.stderr);
            let errors = said.lines().filter(|line| line.starts_with("error: ")).count();
            // A text without its last line end is the same text.
            let same = part == 11 && file == "small.toml" && output.status.code() == Some(0);
            assert!(same || output.status.code() == Some(2), "{file} cut at {length}: {said}");
            assert!(same || (errors == 1 && !said.contains("panicked")), "{file} cut at {length}: {said}");
        }
        std::fs::write(&path, whole).unwrap();
    }
    // A finished part of a sweep that is cut is computed again.
    let part = newest("plan/parts", "");
    let whole = std::fs::read(place.join(&part)).unwrap();
    for length in [0, 1, whole.len() / 2, whole.len() - 1] {
        std::fs::write(place.join(&part), &whole[..length]).unwrap();
        answered("gather plan");
        answered("job plan 0-2");
    }
    answered("gather plan");
    answered(&longer);
}
