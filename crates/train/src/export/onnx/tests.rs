//! A small file in full, hostile files, and weights too large for one file.

use std::fs;

use crate::checkpoint::ModelHeader;
use collegial_arch::Spec;
use collegial_nn::Network;
use proptest::prelude::*;

use super::write::write_within;
use super::{Options, read, write};
use collegial_core::protobuf::{Fields, Value};

fn network(name: &str) -> (Network, ModelHeader) {
    let spec: Spec = name.parse().unwrap();
    let mut network = Network::builder(&spec.graph().unwrap()).batch(2).build().unwrap();
    network.initialise(1);
    (network, ModelHeader::untrained(spec))
}

fn options(fold: bool, beside: bool) -> Options {
    Options { fold, beside, data_name: "net.onnx.data".into() }
}

fn small() -> Vec<u8> {
    let (network, header) = network("fc2-2x3");
    write(&network, &header, &options(false, false)).unwrap().model
}

/// What reading a file with these bytes says.
fn said(bytes: &[u8]) -> Result<(), String> {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("net.onnx");
    fs::write(&path, bytes).unwrap();
    read(&path).map(|_| ()).map_err(|error| error.to_string())
}

/// The fields of a message as an indented outline; `levels` says which fields are messages.
fn outline(bytes: &[u8], path: &str, lines: &mut Vec<String>) {
    const MESSAGES: [&str; 19] = [
        "7",
        "7.1",
        "7.1.5",
        "7.1.5.5",
        "7.5",
        "7.11",
        "7.11.2",
        "7.11.2.1",
        "7.11.2.1.2",
        "7.11.2.1.2.1",
        "7.12",
        "7.12.2",
        "7.12.2.1",
        "7.12.2.1.2",
        "7.12.2.1.2.1",
        "8",
        "14",
        "7.5.13",
        "7.1.5.6",
    ];
    for item in Fields(bytes) {
        let (field, value) = item.unwrap();
        let path = if path.is_empty() { field.to_string() } else { format!("{path}.{field}") };
        match value {
            Value::Bytes(inner) if MESSAGES.contains(&path.as_str()) => {
                lines.push(format!("{path}:"));
                outline(inner, &path, lines);
            }
            Value::Bytes(text) => match std::str::from_utf8(text).ok().filter(|text| !text.contains('\0')) {
                Some(text) => lines.push(format!("{path} {text:?}")),
                None => lines.push(format!("{path} {} bytes", text.len())),
            },
            Value::Int(value) => lines.push(format!("{path} {value}")),
            Value::Fixed => lines.push(format!("{path} fixed")),
        }
    }
}

/// Field numbers are those of `onnx.proto`; this file passed `onnx.checker` with `full_check` when
/// it was first written.
#[test]
fn a_small_file_in_full() {
    let mut lines = vec![];
    outline(&small(), "", &mut lines);
    // The checksum covers the version too.
    let is_digits = |text: &str| text.len() == 8 && text.bytes().all(|digit| digit.is_ascii_hexdigit());
    let seal = lines.pop().unwrap();
    let digits = seal.strip_prefix("14.2 \"crc32-").and_then(|rest| rest.strip_suffix('"'));
    assert!(digits.is_some_and(is_digits), "{seal}");
    let found = lines.join("\n") + "\n";
    let expected = include_str!("golden/fc2-2x3.txt").replace("VERSION", env!("CARGO_PKG_VERSION"));
    assert!(found == expected, "the file has changed:\n{found}");
}

#[test]
fn weights_too_large_for_one_file_go_beside_it() {
    let (network, header) = network("fc2-2x3");
    let files = write_within(&network, &header, &options(false, false), 1000).unwrap();
    assert!(files.data.as_ref().is_some_and(|data| data.len() >= 4 * network.values().len()));
    assert_eq!(files, write(&network, &header, &options(false, true)).unwrap());
    let fitting =
        write_within(&network, &header, &options(false, false), 4 * network.values().len()).unwrap();
    assert_eq!(fitting.data, None);
}

#[test]
fn data_beside_the_file_are_checked() {
    let (network, header) = network("fc2-2x3");
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("net.onnx");
    let files = write(&network, &header, &options(false, true)).unwrap();
    let data = files.data.unwrap();
    fs::write(&path, &files.model).unwrap();
    let said = || read(&path).err().map(|error| error.to_string()).unwrap_or_default();
    assert!(said().contains("cannot read"), "{}", said());
    fs::write(directory.path().join("net.onnx.data"), &data[..data.len() - 1]).unwrap();
    assert!(said().contains("net.onnx.data has changed since it was written"), "{}", said());
    fs::write(directory.path().join("net.onnx.data"), &data).unwrap();
    assert_eq!(said(), "");
    for location in ["../net.onnx.data", "/etc/passwd", "", "..", "a/b", "c:\\x"] {
        let options = Options { data_name: location.into(), ..options(false, true) };
        fs::write(&path, write(&network, &header, &options).unwrap().model).unwrap();
        assert!(said().contains("is not the name of a file beside it"), "{location}: {}", said());
    }
}

#[test]
fn a_file_that_is_cut_anywhere_is_refused() {
    let file = small();
    for length in (0..file.len()).step_by(97) {
        let said = said(&file[..length]).unwrap_err();
        assert!(said.contains("is not an ONNX file that collegial wrote") && !said.contains('\n'), "{said}");
    }
    said(&file).unwrap();
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn any_bytes_are_refused(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        prop_assert!(said(&bytes).is_err());
    }

    /// A changed byte is a refusal or another weight, never a panic.
    #[test]
    fn changed_bytes_are_survived(places in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4)) {
        let mut file = small();
        // The graph and the metadata are less than the last and the first 2 kB.
        let length = file.len();
        for (place, byte) in places {
            let place = place.index(4000.min(length));
            file[if place < 2000 { place } else { length - 1 - (place - 2000) }] = byte;
        }
        let _ = said(&file);
    }
}
