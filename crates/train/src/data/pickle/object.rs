//! Objects of the pickle machine, and NumPy's arrays made of them.

use std::borrow::Cow;

use collegial_core::tensors::npy::{Array, Dtype};

use crate::data::Mismatch;

/// A value. Containers hold the places of their items, so that an item shared through the memo is
/// never copied.
#[derive(Debug, Default)]
pub(super) enum Object<'a> {
    #[default]
    None,
    Bool(bool),
    Int(i64),
    Text(Cow<'a, str>),
    Bytes(Cow<'a, [u8]>),
    List(Vec<usize>),
    Tuple(Vec<usize>),
    Dict(Vec<(usize, usize)>),
    Global(Global),
    Dtype(Dtype),
    /// What `_reconstruct` returns: an array that waits for its state.
    EmptyArray,
    Array(Array<'a>),
}

/// The names that are recognised; nothing is called.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Global {
    /// `_reconstruct(ndarray, (0,), b"b")`, protocols 2 to 4.
    Reconstruct,
    /// `_frombuffer(bytes, dtype, shape, order)`, protocol 5.
    FromBuffer,
    NdArray,
    DtypeClass,
    /// `_codecs.encode(text, "latin1")`: how protocol 2 of Python 3 writes bytes.
    Encode,
}

impl Global {
    pub(super) fn named(module: &str, name: &str) -> Result<Self, Mismatch> {
        // NumPy 2 renamed `numpy.core` to `numpy._core`.
        match (module, name) {
            ("numpy.core.multiarray" | "numpy._core.multiarray", "_reconstruct") => Ok(Self::Reconstruct),
            ("numpy.core.numeric" | "numpy._core.numeric", "_frombuffer") => Ok(Self::FromBuffer),
            ("numpy", "ndarray") => Ok(Self::NdArray),
            ("numpy", "dtype") => Ok(Self::DtypeClass),
            ("_codecs", "encode") => Ok(Self::Encode),
            _ => Err(Mismatch::new(
                "a pickle of nothing but NumPy arrays, lists and integers",
                format!("the global {:?}, which is not run", short(&format!("{module}.{name}"))),
            )),
        }
    }
}

/// Enough of a text to recognise it by.
pub(super) fn short(text: &str) -> String {
    text.chars().take(80).collect()
}

impl<'a> Object<'a> {
    /// A text, or the bytes that Python 2 took for one.
    pub(super) fn as_text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            Self::Bytes(bytes) => str::from_utf8(bytes).ok(),
            _ => None,
        }
    }

    pub(super) fn describe(&self) -> String {
        match self {
            Self::None => "None".into(),
            Self::Bool(value) => format!("the truth value {value}"),
            Self::Int(value) => format!("the integer {value}"),
            Self::Text(text) => format!("the text {:?}", short(text)),
            Self::Bytes(bytes) => format!("{} bytes", bytes.len()),
            Self::List(items) => format!("a list of {} items", items.len()),
            Self::Tuple(items) => format!("a tuple of {} items", items.len()),
            Self::Dict(items) => format!("a dict of {} items", items.len()),
            Self::Global(global) => format!("the name {global:?}"),
            Self::Dtype(dtype) => format!("the type {dtype:?}"),
            Self::EmptyArray => "an array without content".into(),
            Self::Array(_) => "an array".into(),
        }
    }
}

fn refused(what: &'static str) -> Mismatch {
    Mismatch::new("a NumPy array as NumPy pickles it", what)
}

/// The value of `callable(*arguments)` for the names we know.
pub(super) fn reduce<'a>(
    objects: &mut [Object<'a>],
    callable: usize,
    arguments: usize,
) -> Result<Object<'a>, Mismatch> {
    let Some(&Object::Global(callable)) = objects.get(callable) else {
        return Err(refused("a call of something that is no known name"));
    };
    let arguments = tuple(objects, arguments)?;
    match (callable, arguments.as_slice()) {
        (Global::Encode, &[text, encoding]) => encode(objects, text, encoding),
        (Global::Reconstruct, &[class, _, _]) => match objects.get(class) {
            Some(Object::Global(Global::NdArray)) => Ok(Object::EmptyArray),
            _ => Err(refused("a subclass of ndarray")),
        },
        // The flags that follow the code (align, copy) change nothing for plain numbers.
        (Global::DtypeClass, &[code, _, _]) => {
            let code = objects.get(code).and_then(Object::as_text).unwrap_or_default();
            Dtype::from_code(code).map(Object::Dtype).ok_or_else(|| {
                Mismatch::new("an array of type u1, u2, i4, i8, f4 or f8", format!("type {:?}", short(code)))
            })
        }
        (Global::FromBuffer, &[bytes, dtype, shape, order] | &[bytes, dtype, shape, order, _]) => {
            if objects.get(order).and_then(Object::as_text) != Some("C") {
                return Err(refused("one in Fortran order"));
            }
            array(objects, dtype, shape, bytes)
        }
        (global, arguments) => Err(Mismatch::new(
            "a NumPy array as NumPy pickles it",
            format!("{global:?} with {} arguments", arguments.len()),
        )),
    }
}

/// `object.__setstate__(state)` for the two objects that have one.
pub(super) fn build(objects: &mut [Object<'_>], target: usize, state: usize) -> Result<(), Mismatch> {
    let state = tuple(objects, state)?;
    match (objects.get(target), state.as_slice()) {
        // (version, byte order, then fields of structured types); `=` never occurs in a file.
        (Some(Object::Dtype(_)), &[_, order, ..]) => match objects.get(order).and_then(Object::as_text) {
            Some("<" | "|") => Ok(()),
            _ => Err(refused("one that is not little-endian")),
        },
        (Some(Object::EmptyArray), &[_, shape, dtype, fortran, bytes]) => {
            let flat = tuple(objects, shape)?.len() < 2;
            if !flat && !matches!(objects.get(fortran), Some(Object::Bool(false) | Object::Int(0))) {
                return Err(refused("one in Fortran order"));
            }
            let array = array(objects, dtype, shape, bytes)?;
            if let Some(slot) = objects.get_mut(target) {
                *slot = array;
            }
            Ok(())
        }
        (target, _) => Err(Mismatch::new(
            "the state of an array or of its type",
            format!("a state for {}", target.map_or("nothing".into(), Object::describe)),
        )),
    }
}

/// An array takes its bytes from where they lie: pickles never share them between two arrays.
fn array<'a>(
    objects: &mut [Object<'a>],
    dtype: usize,
    shape: usize,
    bytes: usize,
) -> Result<Object<'a>, Mismatch> {
    let Some(&Object::Dtype(dtype)) = objects.get(dtype) else { return Err(refused("one without a type")) };
    let shape = tuple(objects, shape)?
        .iter()
        .map(|&size| match objects.get(size) {
            Some(Object::Int(size)) => usize::try_from(*size).ok(),
            _ => None,
        })
        .collect::<Option<Vec<_>>>()
        .ok_or_else(|| refused("one whose shape is not made of sizes"))?;
    match objects.get_mut(bytes).map(std::mem::take) {
        Some(Object::Bytes(bytes)) => Ok(Object::Array(Array::new(dtype, shape, bytes)?)),
        _ => Err(refused("one without bytes")),
    }
}

fn encode<'a>(objects: &[Object<'a>], text: usize, encoding: usize) -> Result<Object<'a>, Mismatch> {
    let (Some(Object::Text(text)), Some("latin1" | "latin-1")) =
        (objects.get(text), objects.get(encoding).and_then(Object::as_text))
    else {
        return Err(refused("bytes in an encoding other than latin1"));
    };
    let bytes = text.chars().map(u8::try_from).collect::<Result<Vec<u8>, _>>();
    Ok(Object::Bytes(bytes.map_err(|_| refused("latin1 text with a character beyond 255"))?.into()))
}

/// The items of a tuple; those that matter have fewer than ten.
fn tuple(objects: &[Object<'_>], at: usize) -> Result<Vec<usize>, Mismatch> {
    match objects.get(at) {
        Some(Object::Tuple(items)) if items.len() < 10 => Ok(items.clone()),
        _ => Err(refused("one whose parts are not a short tuple")),
    }
}
