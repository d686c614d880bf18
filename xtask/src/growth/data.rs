//! Made-up data for the commands that read some, written piece by piece: the memory of this process
//! would count as its children's (see `measure`).

use std::fs::File;
use std::io::{BufWriter, Result, Write};
use std::path::Path;

const SIDE: u32 = 28;

/// So many training images, and a tenth as many test images, at most 10,000, in MNIST's files.
pub fn images(count: u64, place: &Path) -> Result<()> {
    let count = u32::try_from(count).expect("ladders are shorter");
    for (name, count) in [("train", count), ("t10k", (count / 10).clamp(100, 10_000))] {
        let mut file = BufWriter::new(File::create(place.join(format!("{name}-images-idx3-ubyte")))?);
        write_header(&mut file, &[0x0803, count, SIDE, SIDE])?;
        let mut state = u64::from(count);
        for _ in 0..u64::from(count) * u64::from(SIDE * SIDE) / 8 {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            file.write_all(&(state ^ state >> 29).to_le_bytes())?;
        }
        file.flush()?;
        let mut file = BufWriter::new(File::create(place.join(format!("{name}-labels-idx1-ubyte")))?);
        write_header(&mut file, &[0x0801, count])?;
        for index in 0..count {
            file.write_all(&[(index % 10) as u8])?;
        }
        file.flush()?;
    }
    Ok(())
}

fn write_header(file: &mut impl Write, words: &[u32]) -> Result<()> {
    words.iter().try_for_each(|word| file.write_all(&word.to_be_bytes()))
}

/// A table of so many designs, no two alike.
pub fn designs(count: u64, place: &Path) -> Result<()> {
    let mut file = BufWriter::new(File::create(place.join("designs.csv"))?);
    writeln!(file, "model")?;
    for index in 0..count {
        writeln!(file, "resnext29-{}x{}d", 1 + index % 60, 1 + index / 60)?;
    }
    file.flush()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_have_the_sizes_that_their_headers_say() {
        let place = std::env::temp_dir().join(format!("collegial-growth-{}", std::process::id()));
        std::fs::create_dir_all(&place).unwrap();
        images(2000, &place).unwrap();
        designs(61, &place).unwrap();
        let bytes = |name: &str| std::fs::read(place.join(name)).unwrap();
        assert_eq!(bytes("train-images-idx3-ubyte").len(), 16 + 2000 * 784);
        assert_eq!(bytes("t10k-images-idx3-ubyte")[4..8], 200_u32.to_be_bytes());
        assert_eq!(bytes("t10k-labels-idx1-ubyte").len(), 8 + 200);
        let table = String::from_utf8(bytes("designs.csv")).unwrap();
        assert_eq!(table.lines().count(), 62);
        assert_eq!(table.lines().last(), Some("resnext29-1x2d"));
        std::fs::remove_dir_all(&place).unwrap();
    }
}
