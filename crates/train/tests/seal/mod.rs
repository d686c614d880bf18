//! Files of ours that a test has changed, with a checksum that fits again.

use collegial_core::checksum;

/// A changed safetensors file of ours with the checksum of its content.
pub fn resealed(mut file: Vec<u8>) -> Vec<u8> {
    let at = file.windows(6).position(|window| window == b"crc32-").unwrap();
    file[at..at + checksum::BLANK.len()].copy_from_slice(checksum::BLANK.as_bytes());
    let header = checksum::safetensors_header(&file);
    checksum::seal(&mut file, header);
    file
}
