//! The part of the zip format that `numpy.savez` and `numpy.savez_compressed` write: stored or deflated members,
//! found through the central directory, with 64-bit sizes where they are needed.

use std::borrow::Cow;
use std::io::Read;

use flate2::Crc;
use flate2::read::DeflateDecoder;

use super::Mismatch;

const END: &[u8] = b"PK\x05\x06";
const END_LENGTH: usize = 22;
const LOCATOR_64: &[u8] = b"PK\x06\x07";
const END_64: &[u8] = b"PK\x06\x06";
const ENTRY: &[u8] = b"PK\x01\x02";
const LOCAL: &[u8] = b"PK\x03\x04";
/// Deflate cannot shrink anything further than this, so a larger claim is a lie.
const MAX_RATIO: u64 = 1032;

/// The members of an archive.
#[derive(Debug)]
pub(crate) struct Archive<'a> {
    bytes: &'a [u8],
    entries: Vec<Entry<'a>>,
}

#[derive(Debug)]
struct Entry<'a> {
    name: &'a [u8],
    encrypted: bool,
    method: u16,
    crc: u32,
    compressed: u64,
    size: u64,
    offset: u64,
}

fn broken(what: &'static str) -> impl Fn() -> Mismatch {
    move || Mismatch::new("a complete zip archive", what)
}

impl<'a> Archive<'a> {
    /// Reads the central directory.
    pub(crate) fn open(bytes: &'a [u8]) -> Result<Self, Mismatch> {
        if !bytes.starts_with(b"PK") {
            return Err(Mismatch::new("a zip archive (it starts with PK)", "other bytes"));
        }
        let (count, offset) =
            directory(bytes).ok_or_else(broken("one without its end record, as if truncated"))?;
        let mut rest = usize::try_from(offset).ok().and_then(|o| bytes.get(o..)).unwrap_or_default();
        let mut entries = Vec::new();
        for _ in 0..count {
            let (entry, tail) = entry(rest).ok_or_else(broken("one whose directory breaks off"))?;
            entries.push(entry);
            rest = tail;
        }
        Ok(Self { bytes, entries })
    }

    /// The bytes of one member, unpacked and checked against their checksum; `None` where there is no such member.
    pub(crate) fn member(&self, name: &str) -> Result<Option<Cow<'a, [u8]>>, Mismatch> {
        let Some(entry) = self.entries.iter().find(|e| e.name == name.as_bytes()) else { return Ok(None) };
        let packed = self.packed(entry).ok_or_else(broken("one with a member beyond its end"))?;
        let bytes = match (entry.encrypted, entry.method) {
            (false, 0) => Cow::Borrowed(packed),
            (false, 8) => Cow::Owned(inflate(packed, entry.size)?),
            (encrypted, method) => {
                let found = if encrypted {
                    "an encrypted one".into()
                } else {
                    format!("compression method {method}")
                };
                return Err(Mismatch::new(format!("{name} stored or deflated"), found));
            }
        };
        let mut crc = Crc::new();
        crc.update(&bytes);
        if bytes.len() as u64 != entry.size || crc.sum() != entry.crc {
            return Err(Mismatch::new(
                format!("{} bytes of {name} with checksum {:08x}", entry.size, entry.crc),
                format!("{} bytes with checksum {:08x}", bytes.len(), crc.sum()),
            ));
        }
        Ok(Some(bytes))
    }

    /// The local header repeats the name and has extra fields of its own length before the data.
    fn packed(&self, entry: &Entry<'_>) -> Option<&'a [u8]> {
        let local = self.bytes.get(usize::try_from(entry.offset).ok()?..)?.strip_prefix(LOCAL)?;
        let skip = 26 + usize::from(u16_at(local, 22)?) + usize::from(u16_at(local, 24)?);
        local.get(skip..)?.get(..usize::try_from(entry.compressed).ok()?)
    }
}

fn inflate(packed: &[u8], size: u64) -> Result<Vec<u8>, Mismatch> {
    if size > (packed.len() as u64 + 1) * MAX_RATIO {
        return Err(Mismatch::new(
            "a deflated member no more than 1032 times its packed size",
            format!("{size} bytes claimed of {} packed ones", packed.len()),
        ));
    }
    // Photographs hardly shrink: enough for them, while a lie in the header costs no more than the file itself.
    let mut bytes = Vec::with_capacity((size as usize).saturating_add(1).min(packed.len().saturating_mul(4)));
    DeflateDecoder::new(packed)
        .take(size + 1)
        .read_to_end(&mut bytes)
        .map_err(|error| Mismatch::new("a deflated member", format!("a broken stream ({error})")))?;
    Ok(bytes)
}

/// How many entries the directory has and where it starts.
fn directory(bytes: &[u8]) -> Option<(u64, u64)> {
    // A comment of up to 65535 bytes may follow the end record.
    let last = bytes.len().checked_sub(END_LENGTH)?;
    let at = (last.saturating_sub(0xffff)..=last).rev().find(|&i| bytes[i..].starts_with(END))?;
    let end = &bytes[at..];
    let (count, offset) = (u16_at(end, 10)?, u32_at(end, 16)?);
    if count != u16::MAX && offset != u32::MAX {
        return Some((count.into(), offset.into()));
    }
    let locator = bytes.get(at.checked_sub(20)?..)?;
    let end64 = bytes.get(usize::try_from(u64_at(locator.strip_prefix(LOCATOR_64)?, 4)?).ok()?..)?;
    end64.starts_with(END_64).then_some((u64_at(end64, 32)?, u64_at(end64, 48)?))
}

/// One record of the central directory, and what follows it.
fn entry(bytes: &[u8]) -> Option<(Entry<'_>, &[u8])> {
    bytes.starts_with(ENTRY).then_some(())?;
    let name_length = usize::from(u16_at(bytes, 28)?);
    let extra_length = usize::from(u16_at(bytes, 30)?);
    let comment_length = usize::from(u16_at(bytes, 32)?);
    let name = bytes.get(46..46 + name_length)?;
    let extra = bytes.get(46 + name_length..46 + name_length + extra_length)?;
    let rest = bytes.get(46 + name_length + extra_length + comment_length..)?;
    let mut wide = wide_fields(extra);
    let mut field = |at| match u32_at(bytes, at)? {
        u32::MAX => wide.next(),
        narrow => Some(narrow.into()),
    };
    // The order in which the 64-bit extra field lists those that did not fit.
    let (size, compressed, offset) = (field(24)?, field(20)?, field(42)?);
    let encrypted = u16_at(bytes, 8)? & 1 != 0;
    Some((
        Entry {
            name,
            encrypted,
            method: u16_at(bytes, 10)?,
            crc: u32_at(bytes, 16)?,
            compressed,
            size,
            offset,
        },
        rest,
    ))
}

/// The words of the 64-bit extra field (identifier 1), none where there is no such field.
fn wide_fields(mut extra: &[u8]) -> impl Iterator<Item = u64> {
    let mut words: &[u8] = &[];
    while let (Some(id), Some(length)) = (u16_at(extra, 0), u16_at(extra, 2)) {
        let Some((body, rest)) = extra[4..].split_at_checked(length.into()) else { break };
        if id == 1 {
            words = body;
        }
        extra = rest;
    }
    words.as_chunks::<8>().0.iter().map(|word| u64::from_le_bytes(*word))
}

fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    bytes.get(at..)?.first_chunk().map(|w| u16::from_le_bytes(*w))
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    bytes.get(at..)?.first_chunk().map(|w| u32::from_le_bytes(*w))
}

fn u64_at(bytes: &[u8], at: usize) -> Option<u64> {
    bytes.get(at..)?.first_chunk().map(|w| u64::from_le_bytes(*w))
}
