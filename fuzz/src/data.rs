//! Readers of data sets.

use std::borrow::Cow;
use std::io::Write;

use collegial_core::tensors::npy;
use collegial_train::data::readers;
use flate2::Compression;
use flate2::write::GzEncoder;

pub fn idx(bytes: &[u8]) -> bool {
    readers::idx_images(bytes) || readers::idx_labels(bytes)
}

/// As it is, and as the content of an archive: mutations of packed bytes hardly ever have the right
/// checksum.
pub fn gz(bytes: &[u8]) -> bool {
    let mut packer = GzEncoder::new(Vec::new(), Compression::fast());
    let packed = packer.write_all(bytes).and_then(|()| packer.finish()).unwrap_or_default();
    [idx(bytes), idx(&packed)].contains(&true)
}

/// A record is long; the input is its labels and, repeated, its pixels.
pub fn cifar(bytes: &[u8]) -> bool {
    let Some((&count, rest)) = bytes.split_first() else { return readers::cifar(bytes) };
    let length = usize::from(count % 4) * 3073 + usize::from(count / 128);
    let records: Vec<u8> =
        rest.iter().copied().cycle().take(if rest.is_empty() { 0 } else { length }).collect();
    [readers::cifar(bytes), readers::cifar(&records)].contains(&true)
}

pub fn npz(bytes: &[u8]) -> bool {
    readers::batch(bytes)
}

pub fn pickle(bytes: &[u8]) -> bool {
    readers::batch(bytes)
}

pub fn npy(bytes: &[u8]) -> bool {
    let borrowed = npy::parse(Cow::Borrowed(bytes));
    let owned = npy::parse(Cow::Owned(bytes.to_vec()));
    assert_eq!(borrowed.is_ok(), owned.is_ok());
    let Ok(array) = borrowed else { return false };
    let _ = (array.to_integers(), array.to_reals(), array.into_byte_rows());
    if let Ok(tensor) = npy::read(bytes) {
        let again = npy::read(&npy::write(&tensor)).expect("what was written is read");
        assert_eq!(again.shape(), tensor.shape());
        let bits = |tensor: &collegial_core::tensors::Tensor| -> Vec<u32> {
            tensor.values().iter().map(|value| value.to_bits()).collect()
        };
        assert_eq!(bits(&again), bits(&tensor));
    }
    true
}

pub fn jpeg(bytes: &[u8]) -> bool {
    readers::photograph(bytes)
}

/// With the checksums of its chunks made right.
pub fn png(bytes: &[u8]) -> bool {
    [readers::photograph(bytes), readers::photograph(&with_checksums(bytes))].contains(&true)
}

fn with_checksums(file: &[u8]) -> Vec<u8> {
    let mut file = file.to_vec();
    let mut start = 8;
    while let Some(length) = file.get(start..start + 4) {
        let length = u32::from_be_bytes([length[0], length[1], length[2], length[3]]) as usize;
        let end = start.saturating_add(8).saturating_add(length);
        let Some(chunk) = file.get(start + 4..end) else { break };
        let checksum = crc32fast::hash(chunk).to_be_bytes();
        let Some(place) = file.get_mut(end..end + 4) else { break };
        place.copy_from_slice(&checksum);
        start = end + 4;
    }
    file
}
