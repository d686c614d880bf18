//! Both formats: what is written is read, and what is not of the format is refused in one sentence.

use std::borrow::Cow;

use collegial_core::tensors::npy::{self, parse};
use collegial_core::tensors::safetensors::Archive;
use collegial_core::tensors::{Error, Tensor, TensorTable};
use proptest::prelude::*;

/// A safetensors file of one tensor, put together by hand.
fn file(dtype: &str, shape: &str, body: &[u8]) -> Vec<u8> {
    let len = body.len();
    let header = format!(
        r#"{{"__metadata__":{{"who":"me"}},"x":{{"dtype":"{dtype}","shape":[{shape}],"data_offsets":[0,{len}]}}}}"#
    );
    [&(header.len() as u64).to_le_bytes(), header.as_bytes(), body].concat()
}

#[test]
fn halves_and_doubles_are_read_as_singles() {
    // 1.5 and -2 in each type.
    let cases: [(&str, Vec<u8>); 4] = [
        ("F16", vec![0x00, 0x3e, 0x00, 0xc0]),
        ("BF16", vec![0xc0, 0x3f, 0x00, 0xc0]),
        ("F32", [1.5_f32, -2.0].map(f32::to_le_bytes).concat()),
        ("F64", [1.5_f64, -2.0].map(f64::to_le_bytes).concat()),
    ];
    for (dtype, body) in cases {
        let archive = Archive::from_bytes(&file(dtype, "2", &body)).unwrap();
        assert_eq!(archive.tensors.get("x").unwrap().values(), [1.5, -2.0], "{dtype}");
        assert_eq!(archive.metadata["who"], "me");
    }
    let counter = Archive::from_bytes(&file("I64", "", &(-3_i64).to_le_bytes())).unwrap();
    assert_eq!(counter.integers.get("x").unwrap(), &Tensor::scalar(-3));
    let bytes = Archive::from_bytes(&file("U8", "2", &[0, 255])).unwrap();
    assert_eq!(bytes.integers.get("x").unwrap().values(), [0, 255]);
    let unsigned = Archive::from_bytes(&file("U64", "1", &u64::MAX.to_le_bytes())).unwrap_err();
    assert_eq!(unsigned, Error::Integer { name: "x".into(), value: u64::MAX });
    let eighths = Archive::from_bytes(&file("F8_E4M3", "1", &[0])).unwrap_err();
    assert_eq!(eighths.to_string(), "\"x\" holds F8_E4M3; F16, BF16, F32, F64 and integers are read");
}

#[test]
fn an_archive_survives_its_file() {
    let mut archive = Archive::default().with_metadata("spec", "{\"a\": 1}");
    archive
        .tensors
        .insert("b.weight", Tensor::new([2, 2], vec![1.0, -0.0, f32::MIN, 1e-40]).unwrap())
        .unwrap();
    archive.tensors.insert("a", Tensor::scalar(7.5)).unwrap();
    archive.tensors.insert("empty", Tensor::new([0, 3], vec![]).unwrap()).unwrap();
    archive.integers.insert("count", Tensor::scalar(i64::MAX)).unwrap();
    let bytes = archive.to_bytes().unwrap();
    let read = Archive::from_bytes(&bytes).unwrap();
    for (name, tensor) in archive.tensors.iter() {
        let again = read.tensors.shaped(name, tensor.shape()).unwrap();
        assert!(again.values().iter().zip(tensor.values()).all(|(a, b)| a.to_bits() == b.to_bits()));
    }
    assert_eq!(
        (read.tensors.len(), &read.integers, &read.metadata),
        (3, &archive.integers, &archive.metadata)
    );
    assert_eq!(read.to_bytes().unwrap(), bytes, "the order of the tables does not show");
    assert!(matches!(Archive::from_bytes(&bytes[..bytes.len() - 1]), Err(Error::NotSafetensors { .. })));
    archive.integers.insert("a", Tensor::scalar(1)).unwrap();
    assert_eq!(archive.to_bytes().unwrap_err(), Error::Duplicate { name: "a".into() });
}

#[test]
fn tables_name_what_is_wrong() {
    let mut table: TensorTable = TensorTable::new();
    assert_eq!(table.get("fc").unwrap_err().to_string(), "there is no tensor \"fc\"; the table is empty");
    table.insert("conv1.weight", Tensor::new([2, 1], vec![1.0, f32::NAN]).unwrap()).unwrap();
    let said = |error: Error| error.to_string();
    let twice = table.insert("conv1.weight", Tensor::scalar(0.0)).unwrap_err();
    assert_eq!(said(twice), "there are two tensors \"conv1.weight\"; every name may occur once");
    let missing = table.get_mut("fc").unwrap_err();
    assert_eq!(said(missing), "there is no tensor \"fc\"; the first ones are [\"conv1.weight\"]");
    let shape = table.shaped("conv1.weight", &[1, 2]).unwrap_err();
    assert_eq!(said(shape), "\"conv1.weight\" has the shape [2, 1], expected [1, 2]");
    let nan = table.check_finite().unwrap_err();
    assert_eq!(said(nan), "\"conv1.weight\" contains NaN; only finite numbers are taken");
    let length = Tensor::new([2, 3], vec![0.0; 5]).unwrap_err();
    assert_eq!(said(length), "an array of shape [2, 3] has 6 values, not 5");
    let huge = Tensor::<f32>::new([usize::MAX, 2], vec![]).unwrap_err();
    assert!(matches!(huge, Error::TooLarge { .. }));
    assert_eq!(table.remove("conv1.weight").unwrap().shape(), [2, 1]);
    assert!(table.is_empty());
}

#[test]
fn arrays_of_every_type_are_read() {
    let npy = |version: u8, descr: &str, shape: &str, order: &str, body: &[u8]| {
        let header = format!("{{'descr': '{descr}', 'fortran_order': {order}, 'shape': ({shape}), }}\n");
        let length = (header.len() as u32).to_le_bytes();
        let width = if version == 1 { 2 } else { 4 };
        [b"\x93NUMPY".as_slice(), &[version, 0], &length[..width], header.as_bytes(), body].concat()
    };
    for version in [1, 2, 3] {
        let file = npy(version, "<i4", "2,", "False", &[1, 0, 0, 0, 255, 255, 255, 255]);
        assert_eq!(parse(Cow::Borrowed(&file)).unwrap().to_integers().unwrap(), [1, -1]);
        assert_eq!(parse(Cow::Owned(file)).unwrap().to_integers().unwrap(), [1, -1]);
    }
    let rows = npy(1, "|u1", "2, 3", "False", &[0, 1, 2, 3, 4, 5]);
    let (columns, bytes) = parse(Cow::Borrowed(&rows)).unwrap().into_byte_rows().unwrap();
    assert_eq!((columns, &*bytes), (3, [0, 1, 2, 3, 4, 5].as_slice()));
    let said = |file: &[u8]| parse(Cow::Borrowed(file)).unwrap_err().to_string();
    assert!(said(&npy(4, "|u1", "1,", "False", &[0])).contains("version 4"));
    assert!(said(&npy(1, ">i8", "1,", "False", &[0; 8])).contains("type \">i8\""));
    assert!(said(&npy(1, "|u1", "2, 9223372036854775807, 4", "False", &[0])).contains("found 1 bytes"));
    assert!(said(&npy(1, "|u1", "1, 2", "True", &[0; 2])).ends_with("found one in Fortran order"));
    let integers = npy::read(&npy(1, "<i4", "1, 1", "False", &[0; 4])).unwrap_err();
    assert_eq!(
        integers.to_string(),
        "expected an array of F32 or F64, found an array of I32 of shape [1, 1]"
    );
}

#[test]
fn written_arrays_are_read() {
    for shape in [vec![], vec![3], vec![2, 1, 4], vec![0, 5]] {
        let values: Vec<f32> = (0..shape.iter().product()).map(|i: usize| i as f32 / 4.0).collect();
        let array = Tensor::new(shape.clone(), values.clone()).unwrap();
        let file = npy::write(&array);
        assert!((file.len() - 4 * values.len()).is_multiple_of(64), "bytes are aligned");
        assert_eq!(npy::read(&file).unwrap(), array);
        let double = Tensor::new(shape, values.iter().copied().map(f64::from).collect()).unwrap();
        assert_eq!(npy::read(&npy::write(&double)).unwrap(), array);
    }
    let batch = Tensor::new([3, 2], vec![0.0, 1.0, 2.0, 3.0, 4.0, 5.0]).unwrap();
    assert_eq!(batch.rows().collect::<Vec<_>>(), [[0.0, 1.0], [2.0, 3.0], [4.0, 5.0]]);
    assert_eq!(batch.reshaped([2, 3]).unwrap().shape(), [2, 3]);
}

proptest! {
    #[test]
    fn no_bytes_make_the_readers_panic(mut bytes in prop::collection::vec(any::<u8>(), 0..300), start in 0_usize..3) {
        let openings: [&[u8]; 3] = [b"", b"\x93NUMPY\x01\0", b"\x02\0\0\0\0\0\0\0{}"];
        bytes.splice(0..0, openings[start].iter().copied());
        let _ = Archive::from_bytes(&bytes);
        let _ = npy::read(&bytes);
        let _ = parse(Cow::Owned(bytes));
    }
}
