//! The kept corpora and mutations of them, through every reader, without a sanitizer: what a change
//! must pass. `cargo xtask fuzz` does the same under one, led by coverage.
//!
//! `COLLEGIAL_FUZZ_MUTATIONS` is the number of mutations per reader.

use std::path::{Path, PathBuf};

use collegial_fuzz::{READERS, Reader};

/// Mutations per reader; those that open a socket or build networks get fewer.
const MUTATIONS: u64 = 5_000;
const SLOW: [(&str, u64); 5] =
    [("http", 500), ("safetensors", 1_000), ("onnx", 1_000), ("spec", 1_000), ("tensor_table", 2_000)];

#[test]
fn every_reader_takes_its_corpus_and_mutations_of_it() {
    let asked = std::env::var("COLLEGIAL_FUZZ_MUTATIONS").ok().and_then(|count| count.parse().ok());
    for (name, read) in READERS {
        let corpus = corpus(name);
        assert!(!corpus.is_empty(), "{name} has no corpus");
        let taken = corpus.iter().filter(|(path, bytes)| returns(name, read, path, bytes)).count();
        assert!(taken > 0, "{name} takes nothing of its corpus");
        let slow = SLOW.iter().find(|(slow, _)| *slow == name).map(|(_, count)| *count);
        let mut chance = Chance(1);
        for _ in 0..asked.unwrap_or(slow.unwrap_or(MUTATIONS)) {
            let bytes = mutated(&corpus, &mut chance);
            returns(name, read, Path::new("a mutation"), &bytes);
        }
    }
}

fn corpus(name: &str) -> Vec<(PathBuf, Vec<u8>)> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus").join(name);
    let mut paths: Vec<PathBuf> =
        std::fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    paths.into_iter().map(|path| (path.clone(), std::fs::read(path).unwrap())).collect()
}

/// Whether a reader takes the bytes; where it panics, they are kept for a look.
fn returns(name: &str, read: Reader, path: &Path, bytes: &[u8]) -> bool {
    let outcome = std::panic::catch_unwind(|| read(bytes));
    outcome.unwrap_or_else(|_| {
        let kept = std::env::temp_dir().join(format!("collegial-fuzz-{name}"));
        std::fs::write(&kept, bytes).unwrap();
        panic!("{name} panicked on {}; the bytes are in {}", path.display(), kept.display());
    })
}

/// One of the corpus with a few changes: bits, bytes of note, blocks cut, copied and joined.
fn mutated(corpus: &[(PathBuf, Vec<u8>)], chance: &mut Chance) -> Vec<u8> {
    let pick = |chance: &mut Chance| corpus[chance.below(corpus.len())].1.clone();
    let mut bytes = pick(chance);
    for _ in 0..=chance.below(4) {
        let place = chance.below(bytes.len());
        match chance.below(8) {
            0 if !bytes.is_empty() => bytes[place] ^= 1 << chance.below(8),
            1 if !bytes.is_empty() => bytes[place] = [0, 1, 0x7f, 0x80, 0xff, b'9', b'"'][chance.below(7)],
            2 if !bytes.is_empty() => bytes[place] = chance.below(256) as u8,
            3 => bytes.truncate(place),
            4 => drop(bytes.drain(place..bytes.len().min(place + chance.below(16)))),
            5 => {
                let end = bytes.len().min(place + chance.below(16));
                let block = bytes[place..end].to_vec();
                let to = chance.below(bytes.len());
                bytes.splice(to..to, block);
            }
            6 => {
                let other = pick(chance);
                bytes.truncate(place);
                bytes.extend(&other[chance.below(other.len()).min(other.len())..]);
            }
            _ => {
                let digits = ["0", "-1", "1e400", "18446744073709551615", "9999999", "NaN"][chance.below(6)];
                bytes.splice(place..place.min(bytes.len()), digits.bytes());
            }
        }
    }
    bytes
}

/// Xorshift: the same mutations every time.
struct Chance(u64);

impl Chance {
    /// One of 0 to `end` - 1, and 0 below an end of 0.
    fn below(&mut self, end: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as usize % end.max(1)
    }
}
