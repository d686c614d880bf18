//! TensorBoard event files, scalars only.
//!
//! A file is a sequence of records: length (u64), its checksum, the bytes, their checksum, all
//! little-endian. The bytes are protocol buffers of type `Event`; the checksums are CRC-32C,
//! rotated and shifted so that checksums of data that holds checksums stay sound.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use collegial_core::files::disk;

use collegial_core::protobuf::Message;

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
            match disk::create_for_appending(&path) {
                Ok(mut file) => {
                    disk::append(&mut file, &path, &record(&version_event(now)))?;
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
        // One write: whoever reads meanwhile sees whole records, and after a crash at most the last
        // is cut.
        disk::append(&mut self.file, &self.path, &records)
    }
}

fn now() -> f64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0.0, |time| time.as_secs_f64())
}

/// Event { wall_time = 1, file_version = 3 }.
fn version_event(time: f64) -> Vec<u8> {
    Message::default().double(1, time).text(3, "brain.Event:2").into_bytes()
}

/// Event { wall_time = 1, step = 2, summary = 5 { value = 1 { tag = 1, simple_value = 2 } } }.
fn scalar_event(time: f64, step: u64, tag: &str, scalar: f32) -> Vec<u8> {
    let value = Message::default().text(1, tag).float(2, scalar);
    let summary = Message::default().message(1, &value);
    Message::default().double(1, time).int(2, step).message(5, &summary).into_bytes()
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

/// CRC-32C (Castagnoli), bit by bit: a record has tens of bytes, which no crate need speed up.
fn crc32c(content: &[u8]) -> u32 {
    const POLYNOMIAL: u32 = 0x82f6_3b78;
    let step = |crc: u32| if crc & 1 == 1 { crc >> 1 ^ POLYNOMIAL } else { crc >> 1 };
    !content.iter().fold(!0, |crc, &byte| (0..8).fold(crc ^ u32::from(byte), |crc, _| step(crc)))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The bytes that TensorBoard's own writer makes of the same events (`RecordWriter` of
    /// tensorboard 2.21, times set to 1.5).
    #[test]
    fn known_bytes() {
        let hex = |bytes: Vec<u8>| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
        assert_eq!(hex(record(&version_event(1.5))), VERSION);
        assert_eq!(hex(record(&scalar_event(1.5, 300, "loss/train", 0.25))), SCALAR);
    }

    const VERSION: &str = "1800000000000000a37f4b2209000000000000f83f1a0d627261696e2e4576656e743a322a28646c";
    const SCALAR: &str =
        "2100000000000000017becf609000000000000f83f10ac022a130a110a0a6c6f73732f747261696e150000803e6c5611a4";

    /// The check value of the CRC catalogue, and the zeros of RFC 3720, appendix B.4.
    #[test]
    fn known_checksums() {
        assert_eq!(crc32c(b"123456789"), 0xe306_9283);
        assert_eq!(crc32c(&[0; 32]), 0x8a91_36aa);
    }

    #[test]
    fn files_never_replace_each_other() {
        let directory = tempfile::tempdir().unwrap();
        let files: Vec<EventFile> = (0..3).map(|_| EventFile::create(directory.path()).unwrap()).collect();
        assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), files.len());
    }
}
