//! TensorBoard event files, scalars only.
//!
//! A file is a sequence of records: length (u64), its checksum, the bytes, their checksum, all little-endian. The bytes
//! are protocol buffers of type `Event`; the checksums are CRC-32C, rotated and shifted so that checksums of data that
//! holds checksums stay sound.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

/// An event file that scalars are appended to.
#[derive(Debug)]
pub struct EventFile {
    file: File,
    path: PathBuf,
}

impl EventFile {
    /// A new file in `directory`, under the name that TensorBoard looks for.
    pub fn create(directory: &Path) -> io::Result<Self> {
        let now = now();
        let stem = format!("events.out.tfevents.{:010}.collegial.{}", now as u64, std::process::id());
        // A run that is resumed within a second gets a number more.
        for number in 0..1000 {
            let path = directory.join(format!("{stem}.{number}"));
            match OpenOptions::new().append(true).create_new(true).open(&path) {
                Ok(mut file) => {
                    file.write_all(&record(&version_event(now)))?;
                    return Ok(Self { file, path });
                }
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(error),
            }
        }
        Err(io::ErrorKind::AlreadyExists.into())
    }

    /// Where it lies.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Appends scalars of one step.
    pub fn scalars(&mut self, step: u64, scalars: &[(&str, f64)]) -> io::Result<()> {
        let now = now();
        let records: Vec<u8> = scalars
            .iter()
            .flat_map(|(tag, value)| record(&scalar_event(now, step, tag, *value as f32)))
            .collect();
        // One write: whoever reads meanwhile sees whole records, and after a crash at most the last is cut.
        self.file.write_all(&records)
    }
}

fn now() -> f64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0.0, |time| time.as_secs_f64())
}

/// Event { wall_time = 1, file_version = 3 }.
fn version_event(time: f64) -> Vec<u8> {
    let mut event = vec![];
    double(&mut event, 1, time);
    bytes(&mut event, 3, b"brain.Event:2");
    event
}

/// Event { wall_time = 1, step = 2, summary = 5 { value = 1 { tag = 1, simple_value = 2 } } }.
fn scalar_event(time: f64, step: u64, tag: &str, scalar: f32) -> Vec<u8> {
    let mut value = vec![];
    bytes(&mut value, 1, tag.as_bytes());
    value.push(2 << 3 | 5);
    value.extend(scalar.to_le_bytes());
    let mut summary = vec![];
    bytes(&mut summary, 1, &value);
    let mut event = vec![];
    double(&mut event, 1, time);
    event.push(2 << 3);
    varint(&mut event, step);
    bytes(&mut event, 5, &summary);
    event
}

/// A field of wire type 1.
fn double(message: &mut Vec<u8>, field: u8, value: f64) {
    message.push(field << 3 | 1);
    message.extend(value.to_le_bytes());
}

/// A field of wire type 2.
fn bytes(message: &mut Vec<u8>, field: u8, content: &[u8]) {
    message.push(field << 3 | 2);
    varint(message, content.len() as u64);
    message.extend(content);
}

fn varint(message: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        message.push(value as u8 | 0x80);
        value >>= 7;
    }
    message.push(value as u8);
}

fn record(content: &[u8]) -> Vec<u8> {
    let length = (content.len() as u64).to_le_bytes();
    let parts: [&[u8]; 4] =
        [&length, &masked_crc(&length).to_le_bytes(), content, &masked_crc(content).to_le_bytes()];
    parts.concat()
}

fn masked_crc(content: &[u8]) -> u32 {
    crc32c(content).rotate_right(15).wrapping_add(0xa282_ead8)
}

/// CRC-32C (Castagnoli), bit by bit: events are few and short.
fn crc32c(content: &[u8]) -> u32 {
    let step = |crc: u32, _| if crc & 1 == 1 { crc >> 1 ^ 0x82f6_3b78 } else { crc >> 1 };
    !content.iter().fold(!0, |crc, byte| (0..8).fold(crc ^ u32::from(*byte), step))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn checksums_of_rfc_3720() {
        assert_eq!(crc32c(b"123456789"), 0xe306_9283);
        assert_eq!(crc32c(&[0; 32]), 0x8a91_36aa);
        assert_eq!(crc32c(&[0xff; 32]), 0x62a8_ab43);
        let ascending: Vec<u8> = (0..32).collect();
        assert_eq!(crc32c(&ascending), 0x46dd_794e);
    }

    /// The bytes that TensorBoard's own writer makes of the same events (`RecordWriter` of tensorboard 2.21, times set to 1.5).
    #[test]
    fn known_bytes() {
        let hex = |bytes: Vec<u8>| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
        assert_eq!(hex(record(&version_event(1.5))), VERSION);
        assert_eq!(hex(record(&scalar_event(1.5, 300, "loss/train", 0.25))), SCALAR);
    }

    const VERSION: &str = "1800000000000000a37f4b2209000000000000f83f1a0d627261696e2e4576656e743a322a28646c";
    const SCALAR: &str =
        "2100000000000000017becf609000000000000f83f10ac022a130a110a0a6c6f73732f747261696e150000803e6c5611a4";

    #[test]
    fn files_never_replace_each_other() {
        let directory = tempfile::tempdir().unwrap();
        let files: Vec<EventFile> = (0..3).map(|_| EventFile::create(directory.path()).unwrap()).collect();
        assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), files.len());
    }
}
