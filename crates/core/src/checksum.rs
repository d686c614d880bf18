//! A checksum that lies inside the file it protects.
//!
//! A file is written with the text [`BLANK`] in the field `checksum` of its header; [`seal`] puts the
//! CRC-32 of the whole file, with that text as it is, in place of the zeros. So every byte is
//! covered whatever the format, other programs see one more text, and nothing lies beside the file
//! that could be lost.

use std::ops::Range;

/// What the CRC-32 of a file is written over.
pub const BLANK: &str = "crc32-00000000";
const PREFIX: &[u8] = b"crc32-";

/// The end of the field's name. A text such as a network's name may hold a checksum too.
const FIELD: &[u8] = b"checksum";

/// What lies between field and value: in JSON, in JSON within a text of JSON, and in ONNX's protobuf.
/// Within a text of any of them, quotes are escaped once more.
const SEPARATORS: [&[u8]; 5] = [br#"":""#, br#"": ""#, br#"\":\""#, br#"\": \""#, b"\x12\x0e"];

/// What opening a file found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Checked {
    /// The checksum is that of the content.
    Intact,
    /// The file carries none. Only files of other programs may.
    Absent,
    /// The content has changed since it was written.
    Broken,
}

/// Writes the checksum of a file over the [`BLANK`] of the first field within the range; a file
/// without one stays as it is.
pub fn seal(file: &mut [u8], within: Range<usize>) {
    let is_blank = |at: &usize| file[*at..].starts_with(BLANK.as_bytes());
    if let Some(at) = find(file, within).filter(is_blank) {
        let digits = format!("{:08x}", crc32fast::hash(file));
        file[at + PREFIX.len()..at + BLANK.len()].copy_from_slice(digits.as_bytes());
    }
}

/// Compares a file with the checksum within the range.
pub fn check(file: &[u8], within: Range<usize>) -> Checked {
    let Some(at) = find(file, within) else { return Checked::Absent };
    let digits = at + PREFIX.len()..at + BLANK.len();
    let Some(stored) = file.get(digits.clone()) else { return Checked::Broken };
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(&file[..digits.start]);
    hasher.update(b"00000000");
    hasher.update(&file[digits.end..]);
    let expected = format!("{:08x}", hasher.finalize());
    if stored == expected.as_bytes() { Checked::Intact } else { Checked::Broken }
}

/// The header of a safetensors file: its length in eight bytes, then as much JSON.
pub fn safetensors_header(file: &[u8]) -> Range<usize> {
    let length = file.first_chunk().map_or(0, |bytes| u64::from_le_bytes(*bytes));
    let end = usize::try_from(length).unwrap_or(usize::MAX).saturating_add(8);
    0..end.min(file.len())
}

/// Where the value of the first field begins.
fn find(file: &[u8], within: Range<usize>) -> Option<usize> {
    let searched = file.get(within.clone())?;
    let value = |at: usize| {
        let rest = searched[at..].strip_prefix(FIELD)?;
        let of = |separator: &&&[u8]| {
            rest.strip_prefix(**separator).is_some_and(|value| value.starts_with(PREFIX))
        };
        SEPARATORS.iter().find(of).map(|separator| within.start + at + FIELD.len() + separator.len())
    };
    (0..searched.len()).find_map(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_changed_bit_is_noticed() {
        let mut file = format!("{{\"checksum\":\"{BLANK}\"}} and the rest").into_bytes();
        let all = 0..file.len();
        assert_eq!(check(&file, all.clone()), Checked::Broken, "zeros are no checksum");
        seal(&mut file, all.clone());
        assert_eq!(check(&file, all.clone()), Checked::Intact);
        let value = find(&file, all.clone()).unwrap();
        for bit in 0..8 * file.len() {
            let mut changed = file.clone();
            changed[bit / 8] ^= 1 << (bit % 8);
            // Without field or prefix no checksum is found; readers refuse a file of ours without it.
            let lost = (2..value + PREFIX.len()).contains(&(bit / 8));
            let expected = if lost { Checked::Absent } else { Checked::Broken };
            assert_eq!(check(&changed, all.clone()), expected, "bit {bit}");
        }
    }

    #[test]
    fn files_of_other_programs_are_left_alone() {
        let mut file = b"\x08\0\0\0\0\0\0\0{\"a\":{}}".to_vec();
        let before = file.clone();
        let header = safetensors_header(&file);
        seal(&mut file, header.clone());
        assert_eq!((file, check(&before, header)), (before.clone(), Checked::Absent));
        assert_eq!(check(b"checksum\":\"crc32-12", 0..19), Checked::Broken);
        assert_eq!(check(b"crc32-12", 0..8), Checked::Absent);
        assert_eq!(safetensors_header(&[0xff; 20]), 0..20);
        assert_eq!(safetensors_header(&[1]), 0..1);
    }
    /// Such names do not stand for the field, wherever the field is.
    #[test]
    fn texts_with_a_checksum_are_passed_over() {
        for name in ["crc32-net", "crc32-00000000", BLANK, "checksum\":\"crc32-00000000", "checksum crc32-"] {
            let inner = serde_json::json!({ "name": name, "seal": { "checksum": BLANK } }).to_string();
            let outer = serde_json::json!({ "header": inner, "name": name }).to_string();
            for mut file in [inner.into_bytes(), outer.into_bytes()] {
                let all = 0..file.len();
                seal(&mut file, all.clone());
                assert_eq!(check(&file, all), Checked::Intact, "{name}");
                let names = String::from_utf8_lossy(&file).matches(BLANK).count();
                assert!(names <= 2 && (names > 0) == name.contains(BLANK), "{name}: {names}");
            }
        }
    }
}
