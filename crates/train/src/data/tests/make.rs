//! Small files of every format.

use std::io::Write;
use std::path::Path;

use flate2::Compression;
use flate2::write::{DeflateEncoder, GzEncoder};

use crate::data::{Dataset, Kind, Shape, Split, Stored};

/// Bytes without pattern, the same every time.
pub fn noise(length: usize, seed: u64) -> Vec<u8> {
    let mut rng = collegial_core::Rng::new(seed, 0, 0);
    (0..length).map(|_| rng.below(256) as u8).collect()
}

pub fn idx_images(count: u32, height: u32, width: u32, seed: u64) -> Vec<u8> {
    let header = [0x0803, count, height, width].map(u32::to_be_bytes).concat();
    [header, noise((count * height * width) as usize, seed)].concat()
}

pub fn idx_labels(labels: &[u8]) -> Vec<u8> {
    [[0x0801, labels.len() as u32].map(u32::to_be_bytes).concat(), labels.to_vec()].concat()
}

pub fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

/// Records with the given label bytes.
pub fn cifar(heads: &[&[u8]], seed: u64) -> Vec<u8> {
    let images = noise(heads.len() * 3072, seed);
    heads.iter().zip(images.chunks_exact(3072)).flat_map(|(head, image)| [head, image].concat()).collect()
}

pub fn npy(version: u8, descr: &str, shape: &str, body: &[u8]) -> Vec<u8> {
    let header = format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': ({shape}), }}\n");
    let length = (header.len() as u32).to_le_bytes();
    let width = if version == 1 { 2 } else { 4 };
    [b"\x93NUMPY".as_slice(), &[version, 0], &length[..width], header.as_bytes(), body].concat()
}

/// An archive of members that are stored or deflated.
pub fn zip(members: &[(&str, Vec<u8>)], deflate: bool) -> Vec<u8> {
    let (mut file, mut directory) = (Vec::new(), Vec::new());
    for (name, bytes) in members {
        let mut crc = flate2::Crc::new();
        crc.update(bytes);
        let packed = if deflate {
            let mut encoder = DeflateEncoder::new(Vec::new(), Compression::fast());
            encoder.write_all(bytes).unwrap();
            encoder.finish().unwrap()
        } else {
            bytes.clone()
        };
        let method: u16 = if deflate { 8 } else { 0 };
        let mut common = [20_u16, 0, method, 0, 0].map(u16::to_le_bytes).concat();
        common.extend([crc.sum(), packed.len() as u32, bytes.len() as u32].map(u32::to_le_bytes).concat());
        common.extend([name.len() as u16, 0].map(u16::to_le_bytes).concat());
        let offset = (file.len() as u32).to_le_bytes();
        file.extend([b"PK\x03\x04", common.as_slice(), name.as_bytes(), &packed].concat());
        directory
            .extend([b"PK\x01\x02\x14\0", common.as_slice(), &[0; 10], &offset, name.as_bytes()].concat());
    }
    let count = (members.len() as u16).to_le_bytes();
    let (start, length) = ((file.len() as u32).to_le_bytes(), (directory.len() as u32).to_le_bytes());
    [
        file,
        directory,
        b"PK\x05\x06\0\0\0\0".to_vec(),
        [count, count].concat(),
        [length, start].concat(),
        vec![0; 2],
    ]
    .concat()
}

/// Rows, labels and, where wanted, a mean image of 3 x side x side.
pub struct Rows {
    pub side: usize,
    pub labels: Vec<u16>,
    pub seed: u64,
    pub mean: bool,
}

impl Rows {
    pub fn data(&self) -> Vec<u8> {
        noise(self.labels.len() * 3 * self.side * self.side, self.seed)
    }

    pub fn npz(&self, deflate: bool) -> Vec<u8> {
        let columns = 3 * self.side * self.side;
        let labels: Vec<u8> = self.labels.iter().flat_map(|&label| i64::from(label).to_le_bytes()).collect();
        let data = npy(2, "|u1", &format!("{}, {columns}", self.labels.len()), &self.data());
        let mut members = vec![
            ("data.npy", data),
            ("labels.npy", npy(1, "<i8", &format!("{},", self.labels.len()), &labels)),
        ];
        if self.mean {
            members.push((
                "mean.npy",
                npy(1, "<f8", &format!("{columns},"), &100_f64.to_le_bytes().repeat(columns)),
            ));
        }
        zip(&members, deflate)
    }

    /// Protocol 3, as the authors' scripts wrote it.
    pub fn pickle(&self) -> Vec<u8> {
        let columns = 3 * self.side * self.side;
        let mut out = b"\x80\x03}(".to_vec();
        text(&mut out, "data");
        let rows = self.labels.len() as u16;
        let shape =
            [b"M".as_slice(), &rows.to_le_bytes(), b"M", &(columns as u16).to_le_bytes(), b"\x86"].concat();
        array(&mut out, "u1", "|", &shape, &self.data());
        text(&mut out, "labels");
        out.extend(b"](");
        self.labels.iter().for_each(|label| out.extend([b"M".as_slice(), &label.to_le_bytes()].concat()));
        out.push(b'e');
        if self.mean {
            text(&mut out, "mean");
            let shape = [b"M".as_slice(), &(columns as u16).to_le_bytes(), b"\x85"].concat();
            array(&mut out, "f8", "<", &shape, &100_f64.to_le_bytes().repeat(columns));
        }
        out.extend(b"u.");
        out
    }
}

fn text(out: &mut Vec<u8>, text: &str) {
    out.push(b'X');
    out.extend((text.len() as u32).to_le_bytes());
    out.extend(text.as_bytes());
}

fn array(out: &mut Vec<u8>, code: &str, order: &str, shape: &[u8], body: &[u8]) {
    out.extend(b"cnumpy.core.multiarray\n_reconstruct\ncnumpy\nndarray\nK\x00\x85C\x01b\x87R(K\x01");
    out.extend(shape);
    out.extend(b"cnumpy\ndtype\n");
    text(out, code);
    out.extend(b"K\x00K\x01\x87R(K\x03");
    text(out, order);
    out.extend(b"NNNJ\xff\xff\xff\xffJ\xff\xff\xff\xffK\x00tb\x89B");
    out.extend((body.len() as u32).to_le_bytes());
    out.extend(body);
    out.extend(b"tb");
}

/// A picture of gradients, which compresses like a photograph.
pub fn picture(width: usize, height: usize) -> Vec<u8> {
    let value =
        |x: usize, y: usize| [(x * 255 / width) as u8, (y * 255 / height) as u8, ((x + y) % 256) as u8];
    (0..height).flat_map(|y| (0..width).flat_map(move |x| value(x, y))).collect()
}

pub fn jpeg(width: usize, height: usize) -> Vec<u8> {
    jpeg_of(width, height, false)
}

pub fn jpeg_of(width: usize, height: usize, progressive: bool) -> Vec<u8> {
    let mut out = Vec::new();
    let mut encoder = jpeg_encoder::Encoder::new(&mut out, 95);
    encoder.set_progressive(progressive);
    encoder
        .encode(&picture(width, height), width as u16, height as u16, jpeg_encoder::ColorType::Rgb)
        .unwrap();
    out
}

pub fn png(
    width: usize,
    height: usize,
    colour: png::ColorType,
    depth: png::BitDepth,
    body: &[u8],
) -> Vec<u8> {
    let mut out = Vec::new();
    let mut encoder = png::Encoder::new(&mut out, width as u32, height as u32);
    encoder.set_color(colour);
    encoder.set_depth(depth);
    encoder.write_header().unwrap().write_image_data(body).unwrap();
    out
}

pub fn png_rgb(width: usize, height: usize) -> Vec<u8> {
    png(width, height, png::ColorType::Rgb, png::BitDepth::Eight, &picture(width, height))
}

pub fn write(dir: &Path, name: &str, bytes: &[u8]) {
    let path = dir.join(name);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, bytes).unwrap();
}

/// A directory of class folders: `per_class` pictures of each class and split, JPEG and PNG in
/// turn.
pub fn folders(dir: &Path, classes: &[&str], per_class: usize) {
    for split in ["train", "val"] {
        for class in classes {
            for i in 0..per_class {
                let (extension, bytes) =
                    if i % 2 == 0 { ("JPEG", jpeg(40 + i, 30)) } else { ("png", png_rgb(33, 50 + i)) };
                write(dir, &format!("{split}/{class}/{i}.{extension}"), &bytes);
            }
        }
    }
}

/// A data set in memory that no file stands behind.
pub fn in_memory(kind: Kind, shape: Shape, train: usize, test: usize) -> Dataset {
    let split = |count: usize, seed| {
        let labels = (0..count).map(|i| (i % 10) as u16).collect();
        Split::Stored(Stored::new(shape, 10, noise(count * shape.len(), seed), labels).unwrap())
    };
    Dataset::new(kind, shape, vec![None; 10], split(train, 1), split(test, 2))
}
