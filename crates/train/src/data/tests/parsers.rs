//! Each parser on bytes: what it reads, what it refuses, and that nothing makes it panic.

use proptest::prelude::*;

use super::make::{self, Rows};
use crate::data::cifar::{self, Variant};
use crate::data::downsampled::Batch;
use crate::data::pickle::Dict;
use crate::data::zip::Archive;
use crate::data::{Rgb, idx};

#[test]
fn idx_plain_and_gzipped_are_the_same() {
    let plain = make::idx_images(5, 4, 3, 7);
    let (shape, pixels) = idx::images(&plain).unwrap();
    assert_eq!((shape.channels, shape.height, shape.width), (1, 4, 3));
    assert_eq!(pixels, plain[16..]);
    assert_eq!(idx::images(&make::gzip(&plain)).unwrap().1, pixels);
    assert_eq!(idx::labels(&make::gzip(&make::idx_labels(&[3, 1, 4]))).unwrap(), [3, 1, 4]);
}

#[test]
fn idx_refuses_swapped_truncated_and_longer_files() {
    let (images, labels) = (make::idx_images(5, 4, 3, 7), make::idx_labels(&[1, 2]));
    let said =
        |result: Result<_, crate::data::Mismatch>| result.map(|_: Vec<u8>| ()).unwrap_err().to_string();
    assert_eq!(
        said(idx::labels(&images)),
        "expected an IDX label file (magic number 0x00000801), found an IDX image file"
    );
    assert_eq!(
        said(idx::images(&labels).map(|(_, pixels)| pixels)),
        "expected an IDX image file (magic number 0x00000803), found an IDX label file"
    );
    let cut = idx::images(&images[..images.len() - 1]).map(|(_, pixels)| pixels);
    assert_eq!(said(cut), "expected 5 images of 4x3 bytes, found only 59 bytes");
    let long = [images, vec![0]].concat();
    assert_eq!(
        said(idx::images(&long).map(|(_, pixels)| pixels)),
        "expected 5 images of 4x3 bytes, found more bytes than that"
    );
    let gzipped = make::gzip(&make::idx_images(50, 20, 20, 1));
    let error = said(idx::images(&gzipped[..gzipped.len() / 2]).map(|(_, pixels)| pixels));
    assert!(error.contains("a gzip stream that breaks off"), "{error}");
    // A header of 16 bytes that claims 4 thousand million images must not cost their memory.
    let claim = [0x0803, u32::MAX, 1024, 1024].map(u32::to_be_bytes).concat();
    assert!(idx::images(&claim).is_err());
}

#[test]
fn cifar_takes_the_fine_label() {
    let bytes = make::cifar(&[&[19, 99], &[0, 7]], 1);
    let (mut pixels, mut labels) = (Vec::new(), Vec::new());
    cifar::append(&bytes, Variant::Hundred, &mut pixels, &mut labels).unwrap();
    assert_eq!(labels, [99, 7]);
    assert_eq!(pixels, [&bytes[2..3074], &bytes[3076..]].concat());
    for bad in [make::cifar(&[&[20, 0]], 1), make::cifar(&[&[0, 100]], 1), bytes[1..].to_vec(), Vec::new()] {
        assert!(cifar::append(&bad, Variant::Hundred, &mut pixels, &mut labels).is_err());
        assert_eq!(labels.len(), 2, "a refused file leaves nothing behind");
    }
}

/// The batch of `fixtures/make.py`.
fn check_fixture(batch: &Batch<'_>) {
    let value = |row: usize, column: usize| ((37 * row + 11 * column) % 256) as u8;
    let rows: Vec<u8> = (0..2).flat_map(|row| (0..192).map(move |column| value(row, column))).collect();
    assert_eq!((batch.side, batch.labels.as_slice()), (8, [0, 999].as_slice()));
    assert_eq!(*batch.pixels, rows);
    let mean: Vec<f32> = (0..192).map(|c| (f32::from(value(0, c)) + f32::from(value(1, c))) / 2.0).collect();
    assert_eq!(batch.mean.as_ref(), Some(&mean));
}

const PICKLES: [&[u8]; 4] = [
    include_bytes!("fixtures/protocol2.pickle"),
    include_bytes!("fixtures/protocol3.pickle"),
    include_bytes!("fixtures/protocol4.pickle"),
    include_bytes!("fixtures/protocol5.pickle"),
];
const ARCHIVES: [&[u8]; 2] = [include_bytes!("fixtures/stored.npz"), include_bytes!("fixtures/deflated.npz")];

#[test]
fn batches_that_numpy_wrote() {
    for bytes in PICKLES.into_iter().chain(ARCHIVES) {
        check_fixture(&Batch::parse(bytes).unwrap());
    }
}

#[test]
fn pickles_and_archives_of_the_same_rows_agree() {
    let rows = Rows { side: 32, labels: vec![1, 500, 1000], seed: 3, mean: true };
    for bytes in [rows.pickle(), rows.npz(false), rows.npz(true)] {
        let batch = Batch::parse(&bytes).unwrap();
        assert_eq!((batch.side, batch.labels), (32, vec![0, 499, 999]));
        assert_eq!(*batch.pixels, rows.data());
        assert_eq!(batch.mean, Some(vec![100.0; 3072]));
    }
}

#[test]
fn pickles_that_name_anything_else_are_refused_by_that_name() {
    let said = |bytes: &[u8]| Dict::parse(bytes).unwrap_err().to_string();
    assert_eq!(
        said(b"\x80\x02cos\nsystem\nX\x04\0\0\0true\x85R."),
        "expected a pickle of nothing but NumPy arrays, lists and integers, found the global \"os.system\", which is \
         not run"
    );
    let stack_global = b"\x80\x04\x8c\x08builtins\x8c\x04eval\x93.";
    assert!(said(stack_global).contains("\"builtins.eval\""));
    assert!(said(b"\x80\x02]e.").contains("without its operands"));
    assert!(said(b"\x80\x06N.").contains("protocol 6"));
    assert!(said(b"\x80\x02(i__main__\nX\n.").contains("instruction 0x69"));
    assert!(said(b"\x80\x02N.").contains("a pickled dict, found None"));
    assert!(said(b"\x80\x02}.trailing").contains("8 more bytes"));
    // An array that waits for itself, and marks that nobody closes.
    assert!(Dict::parse(b"\x80\x02}q\0(h\0h\0u.").is_ok());
    assert!(Dict::parse(&[b"\x80\x02".as_slice(), &[b'('; 1000]].concat()).is_err());
}

#[test]
fn labels_outside_1_to_1000_are_refused() {
    for label in [0, 1001] {
        let rows = Rows { side: 8, labels: vec![1, label], seed: 3, mean: false };
        for bytes in [rows.pickle(), rows.npz(true)] {
            let error = Batch::parse(&bytes).unwrap_err().to_string();
            assert_eq!(error, format!("expected labels of 1 to 1000, found label {label} in row 1"));
        }
    }
}

#[test]
fn a_damaged_member_fails_its_checksum() {
    let mut bytes = make::zip(&[("a", vec![7; 100])], false);
    assert_eq!(Archive::open(&bytes).unwrap().member("a").unwrap().unwrap(), vec![7; 100]);
    assert!(Archive::open(&bytes).unwrap().member("b").unwrap().is_none());
    bytes[40] ^= 1;
    assert!(Archive::open(&bytes).unwrap().member("a").unwrap_err().to_string().contains("checksum"));
}

/// A few kilobytes that would become hundreds of megabytes: refused by their headers, with the
/// limit.
#[test]
fn files_that_would_explode_are_refused_before_they_are_unpacked() {
    let (count, side) = (1000_u32, 512_u32);
    let head: Vec<u8> = [0x0803, count, side, side].iter().flat_map(|n: &u32| n.to_be_bytes()).collect();
    let bomb = make::gzip(&head);
    let said = idx::images(&bomb).unwrap_err().to_string();
    assert!(said.contains("at most 67108864 bytes in a gzip file") && said.contains("262144000"), "{said}");
    // The same header in a plain file is only a file that ends too early.
    assert!(idx::images(&head).unwrap_err().to_string().contains("only 0 bytes"));
    // An archive whose directory claims four gigabytes for a hundred bytes.
    let mut archive = make::zip(&[("data.npy", vec![0; 100])], true);
    let directory = archive.windows(4).position(|window| window == b"PK\x01\x02").unwrap();
    archive[directory + 24..directory + 28].copy_from_slice(&0xffff_fff0_u32.to_le_bytes());
    let said = Archive::open(&archive).unwrap().member("data.npy").unwrap_err().to_string();
    assert!(said.contains("at most 67108864 bytes of data.npy"), "{said}");
    let mut png = Vec::new();
    let mut encoder = png::Encoder::new(&mut png, 5000, 5000);
    encoder.set_color(png::ColorType::Grayscale);
    encoder.write_header().unwrap().write_image_data(&vec![0; 5000 * 5000]).unwrap();
    assert!(png.len() < 100_000);
    let said = Rgb::decode(&png).unwrap_err().to_string();
    assert!(said.contains("1 to 22369621 pixels") && said.contains("5000x5000"), "{said}");
}

#[test]
fn photographs_of_every_colour_type() {
    use png::{BitDepth, ColorType};
    let jpeg = Rgb::decode(&make::jpeg(37, 21)).unwrap();
    assert_eq!((jpeg.width(), jpeg.height()), (37, 21));
    // Quality 95 of gradients: within a few steps on average.
    let difference: i32 = jpeg
        .pixels()
        .iter()
        .zip(make::picture(37, 21))
        .map(|(&a, b)| (i32::from(a) - i32::from(b)).abs())
        .sum();
    assert!(difference < 4 * jpeg.pixels().len() as i32, "mean difference {}", difference as f32 / 2331.0);
    let progressive = Rgb::decode(&make::jpeg_of(37, 21, true)).unwrap();
    assert_eq!(progressive, jpeg, "the same coefficients in another order");
    let decode = |colour, depth, body: &[u8]| Rgb::decode(&make::png(2, 1, colour, depth, body)).unwrap();
    assert_eq!(decode(ColorType::Rgb, BitDepth::Eight, &[1, 2, 3, 4, 5, 6]).pixels(), [1, 2, 3, 4, 5, 6]);
    assert_eq!(
        decode(ColorType::Rgba, BitDepth::Eight, &[1, 2, 3, 9, 4, 5, 6, 9]).pixels(),
        [1, 2, 3, 4, 5, 6]
    );
    assert_eq!(decode(ColorType::Grayscale, BitDepth::Eight, &[8, 9]).pixels(), [8, 8, 8, 9, 9, 9]);
    assert_eq!(
        decode(ColorType::GrayscaleAlpha, BitDepth::Eight, &[8, 1, 9, 1]).pixels(),
        [8, 8, 8, 9, 9, 9]
    );
    assert_eq!(decode(ColorType::Grayscale, BitDepth::Sixteen, &[8, 77, 9, 77]).pixels(), [8, 8, 8, 9, 9, 9]);
    assert_eq!(
        decode(ColorType::Grayscale, BitDepth::One, &[0b0100_0000]).pixels(),
        [0, 0, 0, 255, 255, 255]
    );
}

/// ImageNet has 22 photographs in printing colours. Full magenta and yellow ink without black or
/// cyan is red.
#[test]
fn printing_colours_become_red_green_and_blue() {
    for colour in [jpeg_encoder::ColorType::Cmyk, jpeg_encoder::ColorType::CmykAsYcck] {
        let mut file = Vec::new();
        let ink = [0, 255, 255, 0].repeat(16 * 16);
        jpeg_encoder::Encoder::new(&mut file, 100).encode(&ink, 16, 16, colour).unwrap();
        let image = Rgb::decode(&file).unwrap();
        let red = |pixel: &[u8]| pixel[0] > 250 && pixel[1] < 5 && pixel[2] < 5;
        assert!(image.pixels().chunks(3).all(red), "{colour:?}: {:?}", &image.pixels()[..3]);
    }
}

#[test]
fn truncated_photographs_are_refused() {
    for whole in [make::jpeg(64, 48), make::jpeg_of(64, 48, true), make::png_rgb(64, 48)] {
        for length in [0, 2, 10, whole.len() / 2, whole.len() - 20] {
            assert!(Rgb::decode(&whole[..length]).is_err(), "{length} of {}", whole.len());
        }
    }
}

/// Whatever the bytes, every parser returns.
fn survive(bytes: &[u8]) {
    let _ = idx::images(bytes);
    let _ = idx::labels(bytes);
    for variant in [Variant::Ten, Variant::Hundred] {
        let _ = cifar::append(bytes, variant, &mut Vec::new(), &mut Vec::new());
    }
    let _ = Batch::parse(bytes);
    let _ = Dict::parse(bytes).map(|mut dict| {
        let _ = dict.integers("labels");
        dict.array("data").map(drop)
    });
    if let Ok(mut archive) = Archive::open(bytes) {
        let _ = archive.member("data.npy");
    }
    let _ = Rgb::decode(bytes);
}

/// A valid file of each format.
fn valid() -> Vec<Vec<u8>> {
    let rows = Rows { side: 8, labels: vec![1, 2, 1000], seed: 5, mean: true };
    let mut files = vec![
        make::idx_images(3, 5, 4, 1),
        make::gzip(&make::idx_images(3, 5, 4, 1)),
        make::idx_labels(&[1, 2, 3]),
        make::gzip(&make::idx_labels(&[1, 2, 3])),
        make::cifar(&[&[3], &[9]], 2),
        make::cifar(&[&[3, 4]], 2),
        make::npy(1, "<i8", "2,", &[0; 16]),
        make::npy(2, "|u1", "2, 3", &[0; 6]),
        rows.npz(false),
        rows.npz(true),
        rows.pickle(),
        make::jpeg(24, 17),
        make::jpeg_of(24, 17, true),
        make::png_rgb(11, 9),
    ];
    files.extend(PICKLES.into_iter().chain(ARCHIVES).map(<[u8]>::to_vec));
    files
}

/// The opening bytes that lead deepest into each parser.
const OPENINGS: [&[u8]; 9] = [
    b"",
    b"\0\0\x08\x03\0\0\0\x02\0\0\0\x02\0\0\0\x02",
    b"\0\0\x08\x01\0\0\0\x02",
    b"\x1f\x8b\x08\0\0\0\0\0\0\0",
    b"\x93NUMPY\x01\0",
    b"PK\x03\x04",
    b"\x80\x03}(",
    b"\xff\xd8\xff",
    b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR",
];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn arbitrary_bytes(opening in 0..OPENINGS.len(), bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        survive(&[OPENINGS[opening], &bytes].concat());
    }

    /// Pickles out of the instructions that the machine knows, which random bytes seldom string
    /// together.
    #[test]
    fn arbitrary_programs(
        codes in prop::collection::vec(prop::sample::select(b"N\x88\x89K]}()\x85\x86\x87taesuqh\x94Rb\x93.".to_vec()), 0..60),
        operands in prop::collection::vec(0_u8..4, 60),
    ) {
        let mut program = b"\x80\x04\x8c\x05numpy\x94\x8c\x05dtype\x93\x94\x8c\x02u1\x94".to_vec();
        for (code, operand) in codes.into_iter().zip(operands) {
            program.push(code);
            if matches!(code, b'K' | b'q' | b'h') {
                program.push(operand);
            }
        }
        survive(&program);
    }

    #[test]
    fn mutated_files(
        which in 0..20_usize,
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6),
        cut in prop::option::of(any::<prop::sample::Index>()),
    ) {
        let mut bytes = valid().swap_remove(which);
        for (at, value) in changes {
            let at = at.index(bytes.len());
            bytes[at] = value;
        }
        bytes.truncate(cut.map_or(bytes.len(), |at| at.index(bytes.len())));
        survive(&bytes);
    }
}

#[test]
fn every_mutation_has_a_file() {
    assert_eq!(valid().len(), 20, "the range of `which` above");
}

/// The same files every time, whatever the property tests draw; a few seconds.
#[test]
fn fuzz() {
    let files = valid();
    let mut rng = collegial_core::Rng::new(1, 0, 0);
    for _ in 0..40_000 {
        let mut bytes = files[rng.below(files.len() as u64) as usize].clone();
        for _ in 0..=rng.below(8) {
            let at = rng.below(bytes.len() as u64) as usize;
            bytes[at] = rng.below(256) as u8;
        }
        survive(&bytes);
    }
}
