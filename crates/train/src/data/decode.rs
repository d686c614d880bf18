//! JPEG and PNG files decoded to red, green and blue bytes.

use std::io::Cursor;
use std::panic::{AssertUnwindSafe, catch_unwind};

use zune_jpeg::JpegDecoder;
use zune_jpeg::zune_core::bytestream::ZCursor;
use zune_jpeg::zune_core::colorspace::ColorSpace;
use zune_jpeg::zune_core::options::DecoderOptions;

use super::{Mismatch, Rgb, amplification};

const PNG: &[u8] = b"\x89PNG\r\n\x1a\n";
const JPEG: &[u8] = &[0xff, 0xd8, 0xff];

/// Decodes a file that is told apart by content.
pub(crate) fn decode(file: &[u8]) -> Result<Rgb, Mismatch> {
    // The decoders are other people's, and the JPEG one is known to have panicked on malformed
    // files.
    let decoded = catch_unwind(AssertUnwindSafe(|| {
        if file.starts_with(PNG) {
            decode_png(file)
        } else if file.starts_with(JPEG) {
            decode_jpeg(file)
        } else {
            Err(Mismatch::new("a JPEG or PNG photograph", "neither"))
        }
    }));
    decoded.unwrap_or_else(|_| Err(Mismatch::new("a JPEG or PNG photograph", "one that breaks its decoder")))
}

fn broken(format: &str, error: impl std::fmt::Display) -> Mismatch {
    Mismatch::new(format!("a complete {format} photograph"), format!("a broken one ({error})"))
}

/// Three bytes per pixel, before any of them is decoded.
fn check_size(file: &[u8], width: usize, height: usize) -> Result<(), Mismatch> {
    let limit = amplification::limit(file.len() as u64) / 3;
    let pixels = (width as u64).saturating_mul(height as u64);
    if (1..=limit).contains(&pixels) {
        return Ok(());
    }
    let raised = match pixels {
        0 => String::new(),
        _ => format!(" ({})", amplification::raised_to(pixels.saturating_mul(3))),
    };
    Err(Mismatch::new(
        format!("a photograph of 1 to {limit} pixels in a file of {} bytes{raised}", file.len()),
        format!("one of {width}x{height}"),
    ))
}

fn decode_jpeg(file: &[u8]) -> Result<Rgb, Mismatch> {
    // The decoder fills what is missing with grey.
    if last(file, [0xff, 0xd9]) <= last(file, [0xff, 0xda]) {
        return Err(broken("JPEG", "it has no end marker, as if truncated"));
    }
    let side = u16::MAX.into();
    let options = DecoderOptions::default()
        .set_max_width(side)
        .set_max_height(side)
        .jpeg_set_out_colorspace(ColorSpace::RGB);
    let mut decoder = JpegDecoder::new_with_options(ZCursor::new(file), options);
    decoder.decode_headers().map_err(|error| broken("JPEG", error))?;
    let info = decoder.info().ok_or_else(|| broken("JPEG", "it has no header"))?;
    let (width, height) = (info.width.into(), info.height.into());
    check_size(file, width, height)?;
    let pixels = decoder.decode().map_err(|error| broken("JPEG", error))?;
    Rgb::new(width, height, pixels).ok_or_else(|| broken("JPEG", "its pixels do not fill it"))
}

/// Where a marker occurs last. Coded data cannot contain one by chance; thumbnails, which can, come
/// first.
fn last(file: &[u8], marker: [u8; 2]) -> Option<usize> {
    file.windows(2).rposition(|window| window == marker)
}

fn decode_png(file: &[u8]) -> Result<Rgb, Mismatch> {
    let mut decoder = png::Decoder::new(Cursor::new(file));
    decoder.set_transformations(png::Transformations::normalize_to_color8());
    let header = decoder.read_header_info().map_err(|error| broken("PNG", error))?;
    let (width, height) = (header.width as usize, header.height as usize);
    check_size(file, width, height)?;
    let mut reader = decoder.read_info().map_err(|error| broken("PNG", error))?;
    let size = reader.output_buffer_size().ok_or_else(|| broken("PNG", "it is too large"))?;
    let mut raw = vec![0; size];
    let frame = reader.next_frame(&mut raw).map_err(|error| broken("PNG", error))?;
    raw.truncate(frame.buffer_size());
    let pixels = match frame.color_type {
        png::ColorType::Rgb => raw,
        png::ColorType::Rgba => raw.as_chunks::<4>().0.iter().flat_map(|&[r, g, b, _]| [r, g, b]).collect(),
        png::ColorType::Grayscale => raw.iter().flat_map(|&grey| [grey; 3]).collect(),
        png::ColorType::GrayscaleAlpha => {
            raw.as_chunks::<2>().0.iter().flat_map(|&[grey, _]| [grey; 3]).collect()
        }
        png::ColorType::Indexed => return Err(broken("PNG", "its palette was not applied")),
    };
    Rgb::new(width, height, pixels).ok_or_else(|| broken("PNG", "its pixels do not fill it"))
}
