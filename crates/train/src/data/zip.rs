//! Members of the zip archives that `numpy.savez` and `numpy.savez_compressed` write, read by the
//! crate `zip`.
//!
//! Sizes that an archive claims are checked before anything is unpacked.

use std::io::{Cursor, Read};

use zip::ZipArchive;
use zip::result::ZipError;

use super::{Mismatch, amplification};

/// The members of an archive.
#[derive(Debug)]
pub(crate) struct Archive<'a> {
    archive: ZipArchive<Cursor<&'a [u8]>>,
    /// Bytes of the whole archive.
    length: u64,
}

fn broken(error: &ZipError) -> Mismatch {
    Mismatch::new("a complete zip archive", format!("a broken one ({error})"))
}

impl<'a> Archive<'a> {
    /// Reads the directory of the archive.
    pub(crate) fn open(bytes: &'a [u8]) -> Result<Self, Mismatch> {
        if !bytes.starts_with(b"PK") {
            return Err(Mismatch::new("a zip archive (it starts with PK)", "other bytes"));
        }
        let archive = ZipArchive::new(Cursor::new(bytes)).map_err(|error| broken(&error))?;
        Ok(Self { archive, length: bytes.len() as u64 })
    }

    /// The bytes of one member, unpacked and checked against their checksum; `None` where there is
    /// no such member.
    pub(crate) fn member(&mut self, name: &str) -> Result<Option<Vec<u8>>, Mismatch> {
        let mut member = match self.archive.by_name(name) {
            Err(ZipError::FileNotFound) => return Ok(None),
            Err(ZipError::UnsupportedArchive(_) | ZipError::CompressionMethodNotSupported(_)) => {
                return Err(Mismatch::new(
                    format!("{name} stored or deflated"),
                    "another method, or encrypted",
                ));
            }
            found => found.map_err(|error| broken(&error))?,
        };
        let (size, packed) = (member.size(), member.compressed_size());
        let limit = amplification::limit(packed);
        if size > limit {
            return Err(Mismatch::new(
                format!(
                    "at most {limit} bytes of {name}, packed in {packed} ({})",
                    amplification::raised_to(size)
                ),
                format!("{size} bytes"),
            ));
        }
        // Photographs hardly shrink: enough for them, while a lie in the header costs no more than
        // the file itself.
        let room = size.min(packed.saturating_mul(4)).min(self.length.saturating_mul(4));
        let mut bytes = Vec::with_capacity(room as usize + 1);
        let refuse =
            |found: String| Mismatch::new(format!("{size} bytes of {name} with their checksum"), found);
        (&mut member)
            .take(size.saturating_add(1))
            .read_to_end(&mut bytes)
            .map_err(|error| refuse(format!("a member that breaks off ({error})")))?;
        if bytes.len() as u64 != size {
            return Err(refuse(format!("{} bytes", bytes.len())));
        }
        Ok(Some(bytes))
    }
}
