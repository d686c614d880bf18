//! Arrays in numpy's `.npy` format: inputs in, kernels out.
//!
//! Versions 1 to 3 are read, little-endian `f4` and `f8` in C order; version 1 with `f8` is written.

/// Numbers with a shape.
#[derive(Clone, Debug, PartialEq)]
pub struct Array {
    /// Lengths of the axes.
    pub shape: Vec<usize>,
    /// The numbers in C order.
    pub values: Vec<f64>,
}

const MAGIC: &[u8] = b"\x93NUMPY";

/// The header ends at a multiple of this many bytes.
const ALIGNMENT: usize = 64;

impl Array {
    /// Reads a file; the error is the rest of a sentence about it.
    pub fn parse(file: &[u8]) -> Result<Self, String> {
        let cut = || "it ends within its header".to_owned();
        let rest = file.strip_prefix(MAGIC).ok_or("it is not a .npy file")?;
        let (header, start) = match rest {
            [1, _, a, b, ..] => (usize::from(u16::from_le_bytes([*a, *b])), MAGIC.len() + 4),
            [2 | 3, _, a, b, c, d, ..] => (u32::from_le_bytes([*a, *b, *c, *d]) as usize, MAGIC.len() + 6),
            [1..=3, ..] | [] => return Err(cut()),
            [version, ..] => return Err(format!("its version is {version}; 1, 2 and 3 are read")),
        };
        let header = file.get(start..start + header).ok_or_else(cut)?;
        let body = &file[start + header.len()..];
        let header = std::str::from_utf8(header).map_err(|_| "its header is not text")?;
        if after(header, "fortran_order").is_none_or(|value| !value.starts_with("False")) {
            return Err("it is in Fortran order; save it with numpy.ascontiguousarray".into());
        }
        let shape = shape(header).ok_or("its header has no shape")?;
        let values: Vec<f64> = match after(header, "descr").map(|value| value.trim_start_matches(['\'', '"']))
        {
            Some(kind) if kind.starts_with("<f4") => {
                body.as_chunks::<4>().0.iter().map(|&bytes| f64::from(f32::from_le_bytes(bytes))).collect()
            }
            Some(kind) if kind.starts_with("<f8") => {
                body.as_chunks::<8>().0.iter().map(|&bytes| f64::from_le_bytes(bytes)).collect()
            }
            kind => {
                let kind: String = kind.unwrap_or("nothing").chars().take(3).collect();
                return Err(format!("it holds {kind:?}; <f4 and <f8 are read"));
            }
        };
        let expected = shape.iter().try_fold(1usize, |product, &side| product.checked_mul(side));
        if expected != Some(values.len()) {
            return Err(format!("it holds {} numbers, but its shape is {shape:?}", values.len()));
        }
        Ok(Self { shape, values })
    }

    /// The file.
    pub fn to_bytes(&self) -> Vec<u8> {
        let axes: Vec<String> = self.shape.iter().map(|side| format!("{side},")).collect();
        let mut header =
            format!("{{'descr': '<f8', 'fortran_order': False, 'shape': ({}), }}", axes.join(" "));
        let unpadded = MAGIC.len() + 4 + header.len() + 1;
        header.push_str(&" ".repeat(unpadded.next_multiple_of(ALIGNMENT) - unpadded));
        header.push('\n');
        let mut file = MAGIC.to_vec();
        file.extend([1, 0]);
        file.extend((header.len() as u16).to_le_bytes());
        file.extend(header.as_bytes());
        file.extend(self.values.iter().flat_map(|value| value.to_le_bytes()));
        file
    }
}

/// What follows `'key':` in the header.
fn after<'a>(header: &'a str, key: &str) -> Option<&'a str> {
    let (_, rest) = header.split_once(key)?;
    Some(rest.trim_start_matches(['\'', '"']).trim_start().strip_prefix(':')?.trim_start())
}

fn shape(header: &str) -> Option<Vec<usize>> {
    let (inside, _) = after(header, "shape")?.strip_prefix('(')?.split_once(')')?;
    let axes = inside.split(',').map(str::trim).filter(|side| !side.is_empty());
    axes.map(|side| side.parse().ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read() {
        for shape in [vec![], vec![3], vec![2, 1, 4], vec![0, 5]] {
            let values = (0..shape.iter().product()).map(|i| i as f64 / 3.0).collect();
            let array = Array { shape, values };
            let file = array.to_bytes();
            assert_eq!(Array::parse(&file), Ok(array));
            assert!((file.len() - 8 * Array::parse(&file).unwrap().values.len()).is_multiple_of(64));
        }
    }

    #[test]
    fn damage_is_told() {
        let file = Array { shape: vec![2, 2], values: vec![1.0; 4] }.to_bytes();
        let text = |bytes: &[u8]| Array::parse(bytes).unwrap_err();
        assert_eq!(text(b"PK\x03\x04"), "it is not a .npy file");
        assert_eq!(text(&file[..30]), "it ends within its header");
        assert_eq!(text(&file[..7]), "it ends within its header");
        assert_eq!(text(&file[..file.len() - 8]), "it holds 3 numbers, but its shape is [2, 2]");
        let swap = |from: &str, to: &str| {
            let at = file.windows(from.len()).position(|window| window == from.as_bytes()).unwrap();
            [&file[..at], to.as_bytes(), &file[at + to.len()..]].concat()
        };
        assert_eq!(text(&swap("<f8", "<i8")), "it holds \"<i8\"; <f4 and <f8 are read");
        assert!(text(&swap("False", "True ")).contains("Fortran order"));
        assert!(text(&swap("(2, 2,)", "(2, -2)")).contains("no shape"));
        assert!(text(&swap("(2, 2,)", "(99999)")).contains("but its shape is [99999]"));
    }
}
