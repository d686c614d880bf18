//! Where things are written: pages do not tell it, and what killed processes left there goes.
#![cfg(unix)]

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, SystemTime};

use collegial_testing::{NETWORK, write_data};

/// Every verb that writes, in this order: later lines read what earlier ones leave. `@` stands for a
/// directory by its absolute path.
const LINES: [&str; 18] = [
    "train @/small.toml --data @/data --set batch=20 --epochs 1 --resume --out @/run",
    "export @/run --to onnx --out @/exports/small.onnx",
    "export fc2-8 --to pytorch --out @/exports/script.py",
    "ntk @/run --data @/data --count 2 --out @/kernels/kernel.npy",
    "ntk fc3-8 --count 2 --save-weights @/kernels/w.safetensors --save-input @/kernels/x.npy",
    "fit bottleneck-4 --trials 100 --widths 1,2,4 --out @/shards/shard.json --figure @/figures/line.svg",
    "merge @/shards/shard.json --figure @/figures/merged.svg",
    "reproduce table5 --scale smoke --out @/pages",
    "score @/table.csv --target error --report @/reports/scores.html",
    "search resnext29-1x8d --timings @/times.csv --cost time --report @/reports/search.html --figures @/figures",
    "search resnext29-1x8d --data @/images --report @/reports/images.html",
    "search resnext29-1x8d --timings=@/times.csv --report=@/reports/again.html",
    "validate fc2-8 --data @/data --epochs 1 --runs 1 --designs 3 --out @/validation",
    "sweep @/small.toml fc2-8 --data @/data --epochs 1 --runs 1 --out @/sweep",
    "validate fc2-8 --data @/data --epochs 1 --runs 1 --designs 3 --plan @/plan",
    "job @/plan 0-2",
    "status @/plan",
    "gather @/plan",
];

/// What a process that was killed leaves, by how long ago it was.
const STALE: &str = ".collegial-stale";
const FRESH: &str = ".collegial-fresh";

fn run_all(place: &Path) {
    for line in LINES {
        let line = line.replace('@', place.to_str().unwrap());
        let output = Command::new(env!("CARGO_BIN_EXE_collegial")).args(line.split(' ')).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(matches!(output.status.code(), Some(0 | 1)), "{line}: {said}");
        assert!(!said.contains("error:"), "{line}: {said}");
    }
}

/// CIFAR-10's files, with four images each.
fn write_images(directory: &Path) {
    std::fs::create_dir(directory).unwrap();
    let batches = (1..=5).map(|number| format!("data_batch_{number}.bin"));
    for (number, name) in batches.chain(["test_batch.bin".to_owned()]).enumerate() {
        let image = |label: usize| {
            let pixel = move |at: usize| (at * (7 * number + label + 3) % 251) as u8;
            [label as u8].into_iter().chain((0..3072).map(pixel))
        };
        std::fs::write(directory.join(name), (0..4).flat_map(image).collect::<Vec<u8>>()).unwrap();
    }
}

/// All directories below one.
fn directories(root: &Path) -> Vec<PathBuf> {
    let mut found = vec![root.to_owned()];
    let mut next = 0;
    while let Some(directory) = found.get(next) {
        let entries = std::fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path());
        let below: Vec<PathBuf> = entries.filter(|path| path.is_dir()).collect();
        found.extend(below);
        next += 1;
    }
    found
}

/// What stands around a path.
fn around(page: &str, path: &Path) -> String {
    let at = page.find(path.to_str().unwrap()).unwrap_or(0);
    page.chars().skip(page[..at].chars().count().saturating_sub(100)).take(250).collect()
}

#[test]
fn pages_tell_no_directories_and_stale_temporaries_go() {
    let root = tempfile::tempdir().unwrap();
    let place = root.path().join("whose");
    write_data(&place.join("data"), 40, 20);
    write_images(&place.join("images"));
    std::fs::write(place.join("small.toml"), NETWORK).unwrap();
    let table = "model,error\nresnext29-1x8d,5\nresnext29-2x8d,4\nresnext29-4x4d,4.5\nresnext29-3x8d,3\n";
    std::fs::write(place.join("table.csv"), table).unwrap();
    std::fs::write(place.join("times.csv"), "model,seconds\nresnext29-1x8d,1\nresnext29-2x4d,2\n").unwrap();
    let written = ["exports", "kernels", "shards", "figures", "reports"];
    written.iter().for_each(|name| std::fs::create_dir(place.join(name)).unwrap());
    run_all(&place);
    let mut pages = 0;
    for directory in directories(&place) {
        for path in std::fs::read_dir(&directory).unwrap().map(|entry| entry.unwrap().path()) {
            let shown = ["html", "svg"].iter().any(|ending| path.extension().is_some_and(|e| e == *ending));
            if shown {
                let page = std::fs::read_to_string(&path).unwrap();
                assert!(
                    !page.contains(root.path().to_str().unwrap()),
                    "{} tells where: {}",
                    path.display(),
                    around(&page, root.path())
                );
                pages += 1;
            }
        }
    }
    assert!(pages >= 10, "{pages} pages");
    // The same once more, with what killed processes left an hour ago and just now.
    let places = written.map(|name| place.join(name)).into_iter();
    let kept = ["run", "pages", "validation", "validation/parts", "sweep/parts", "plan", "plan/parts"]
        .map(|name| place.join(name));
    let places: Vec<PathBuf> = places.chain(kept).collect();
    for directory in &places {
        std::fs::write(directory.join(FRESH), "half").unwrap();
        let stale = std::fs::File::create(directory.join(STALE)).unwrap();
        stale.set_modified(SystemTime::now() - Duration::from_secs(7200)).unwrap();
    }
    run_all(&place);
    for directory in &places {
        assert!(!directory.join(STALE).exists(), "{} keeps it", directory.display());
    }
    // Somebody may still write this one.
    assert!(places[0].join(FRESH).exists());
}
