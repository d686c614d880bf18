//! Resizing against the Python imaging library's bytes and a slow reference, augmentation against
//! loops over pixels.

use collegial_core::Rng;
use proptest::prelude::*;

use super::make;
use crate::data::augment::{Change, centre, colour_jitter, random_window};
use crate::data::image::Window;
use crate::data::{Augment, Dataset, Key, Kind, Normalise, Rgb, Scratch, Shape, Split, Transform};

/// 23x17 pixels with jumps, the image whose bytes below Pillow 13 resized.
fn test_image() -> Rgb {
    let value = |x: usize, y: usize, c: usize| ((x * x * 3 + y * 7 * (c + 1) + x * y * (c + 2)) % 256) as u8;
    let pixels = (0..17).flat_map(|y| (0..23).flat_map(move |x| (0..3).map(move |c| value(x, y, c))));
    Rgb::new(23, 17, pixels.collect()).unwrap()
}

/// Pillow rounds to bytes after the columns and again after the rows, so a byte may differ by one.
fn assert_close(found: &[u8], pillow: &[u8]) {
    assert_eq!(found.len(), pillow.len());
    assert!(found.iter().zip(pillow).all(|(a, b)| a.abs_diff(*b) <= 1), "{found:?}\n{pillow:?}");
}

#[test]
fn resizing_gives_pillows_bytes() {
    let (image, mut scratch) = (test_image(), Scratch::default());
    let mut first_row = |left, top, width, height| {
        let window = Window { left, top, width, height };
        scratch.crop_then_resize(&image, window, 6)[..18].to_vec()
    };
    // Image.resize((6, 6), BILINEAR) of the whole, of crop((4, 3, 13, 14)) and of crop((4, 3, 7,
    // 5)), which grows.
    let whole = [27, 38, 48, 107, 117, 128, 129, 133, 145, 132, 135, 150, 128, 120, 127, 129, 139, 127];
    let smaller = [115, 156, 189, 168, 187, 151, 150, 125, 95, 65, 119, 152, 157, 164, 121, 99, 117, 124];
    let larger = [93, 126, 159, 101, 135, 169, 118, 153, 188, 136, 173, 209, 155, 194, 232, 165, 204, 243];
    assert_close(&first_row(0, 0, 23, 17), &whole);
    assert_close(&first_row(4, 3, 9, 11), &smaller);
    assert_close(&first_row(4, 3, 3, 2), &larger);
}

#[test]
fn the_centre_has_pillows_bytes() {
    // resize((21, 16)), then crop((4, 1, 18, 15)): 14 of 16 pixels is 224 of 256. First and last
    // row.
    let first = [
        78, 91, 104, 112, 127, 141, 155, 170, 186, 203, 196, 212, 64, 73, 91, 66, 84, 103, 140, 158, 178,
        182, 175, 197, 53, 75, 98, 144, 158, 181, 141, 145, 170, 93, 120, 129, 186, 90, 103, 148, 99, 128,
    ];
    let last = [
        40, 210, 124, 105, 157, 105, 175, 121, 82, 80, 216, 178, 84, 122, 101, 175, 170, 164, 45, 87, 98,
        142, 135, 164, 194, 72, 117, 121, 111, 161, 148, 92, 148, 129, 116, 192, 128, 140, 110, 165, 126,
        172,
    ];
    let mut scratch = Scratch::default();
    let pixels = centre(&test_image(), 14, &mut scratch);
    assert_close(&pixels[..42], &first);
    assert_close(&pixels[13 * 42..], &last);
}

#[test]
fn resizing_by_hand() {
    // Four grey columns to two: each output pixel is centred between two inputs, and the triangle
    // of half-width 2 gives weights 3 : 3 : 1 to the three columns it reaches. (3*0 + 3*70 + 140) /
    // 7 = 50 and, mirrored, 160.
    let columns = [0_u8, 70, 140, 210];
    let pixels = (0..4).flat_map(|_| columns.iter().flat_map(|&value| [value; 3])).collect();
    let image = Rgb::new(4, 4, pixels).unwrap();
    let mut scratch = Scratch::default();
    let window = Window { left: 0, top: 0, width: 4, height: 4 };
    assert_eq!(scratch.crop_then_resize(&image, window, 2), [50, 50, 50, 160, 160, 160].repeat(2));
}

/// Weights of the widened triangle filter around one output pixel, in double precision.
fn weights(output: usize, size: usize, target: usize) -> Vec<f64> {
    let scale = size as f64 / target as f64;
    let support = scale.max(1.0);
    let middle = (output as f64 + 0.5) * scale;
    let raw = (0..size).map(|i| (1.0 - ((i as f64 + 0.5 - middle) / support).abs()).max(0.0));
    let raw: Vec<f64> = raw.collect();
    let total: f64 = raw.iter().sum();
    raw.iter().map(|weight| weight / total).collect()
}

fn slow_resize(image: &Rgb, side: usize) -> Vec<f64> {
    let (width, height) = (image.width(), image.height());
    let mut out = Vec::new();
    for y in 0..side {
        for x in 0..side {
            let (rows, columns) = (weights(y, height, side), weights(x, width, side));
            for c in 0..3 {
                let at = |i: usize, j: usize| f64::from(image.pixels()[(i * width + j) * 3 + c]);
                let row = |i: usize| (0..width).map(|j| columns[j] * at(i, j)).sum::<f64>();
                out.push((0..height).map(|i| rows[i] * row(i)).sum());
            }
        }
    }
    out
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn resizing_agrees_with_the_slow_one(width in 1..40_usize, height in 1..40_usize, side in 1..20_usize, seed: u64) {
        let image = Rgb::new(width, height, make::noise(width * height * 3, seed)).unwrap();
        let mut scratch = Scratch::default();
        let window = Window { left: 0, top: 0, width, height };
        let fast = scratch.crop_then_resize(&image, window, side);
        for (&fast, slow) in fast.iter().zip(slow_resize(&image, side)) {
            // One rounding to a byte, and those of f32: at most 80 of them, of numbers below 256.
            prop_assert!((f64::from(fast) - slow).abs() < 0.5 + 80.0 * 256.0 * f64::from(f32::EPSILON), "{fast} {slow}");
        }
    }

    /// Every window lies within the photograph, and its share and aspect are as asked unless it is
    /// the fallback.
    #[test]
    fn random_windows_are_inside(width in 1..700_usize, height in 1..700_usize, seed: u64) {
        let image = Rgb::new(width, height, vec![0; width * height * 3]).unwrap();
        let window = random_window(&image, &mut Rng::new(seed, 0, 0));
        prop_assert!(window.width >= 1 && window.left + window.width <= width);
        prop_assert!(window.height >= 1 && window.top + window.height <= height);
    }

    /// The fast rows against one pixel at a time.
    #[test]
    fn shifts_agree_with_a_loop_over_pixels(
        height in 1..12_usize, width in 1..12_usize, pad in 0..6_usize, flip: bool, mean_image: bool, seed: u64,
    ) {
        let pad = pad.min(height.min(width));
        let shape = Shape { channels: 3, height, width };
        let data = make::in_memory(Kind::Cifar10, shape, 3, 1);
        let mean: Vec<f32> = (0..shape.len()).map(|i| i as f32 % 255.0).collect();
        let normalise = if mean_image { Normalise::MeanImage(mean.clone()) } else { Normalise::usual(&data).unwrap() };
        let transform = Transform::new(&data, Augment::Shift { pad, flip }, normalise).unwrap();
        let mut out = vec![0.0; shape.len()];
        let key = Key { seed, epoch: 3, index: 2 };
        transform.apply(data.train(), key, &mut Scratch::default(), &mut out).unwrap();
        let Split::Stored(stored) = data.train() else { panic!("in memory") };
        let image = stored.image(2).unwrap();
        // Some offset within the border, mirrored or not, must explain every pixel.
        let statistics = [(0.4914, 0.2470), (0.4822, 0.2435), (0.4465, 0.2616)];
        let expected = |c: usize, y: isize, x: isize| {
            let inside = (0..height as isize).contains(&y) && (0..width as isize).contains(&x);
            let at = c * height * width + if inside { y as usize * width + x as usize } else { 0 };
            match (mean_image, inside) {
                (true, true) => (f64::from(image[at]) - f64::from(mean[at])) / 255.0,
                (true, false) => 0.0,
                (false, true) => (f64::from(image[at]) / 255.0 - statistics[c].0) / statistics[c].1,
                (false, false) => -statistics[c].0 / statistics[c].1,
            }
        };
        let explains = |dy: isize, dx: isize, mirrored: bool| (0..shape.len()).all(|i| {
            let (c, y, x) = (i / (height * width), (i / width % height) as isize, (i % width) as isize);
            let x = if mirrored { width as isize - 1 - x } else { x };
            (expected(c, y + dy, x + dx) - f64::from(out[i])).abs() < 1e-5
        });
        let pad = pad as isize;
        let found = (-pad..=pad).any(|dy| (-pad..=pad).any(|dx| explains(dy, dx, false) || flip && explains(dy, dx, true)));
        prop_assert!(found);
    }
}

/// 3000 draws: every offset of 81 and both directions are as frequent as chance has them.
#[test]
fn offsets_and_mirrors_are_uniform() {
    let shape = Shape { channels: 1, height: 16, width: 16 };
    let mut pixels = vec![0_u8; 256];
    (pixels[7 * 16 + 7], pixels[7 * 16 + 8]) = (100, 200);
    let split = || Split::Stored(crate::data::Stored::new(shape, 1, pixels.clone(), vec![0]).unwrap());
    let data = Dataset::new(Kind::Idx, shape, vec![None], split(), split());
    let normalise = Normalise::channels(&[(0.0, 1.0)]);
    let transform = Transform::new(&data, Augment::Shift { pad: 4, flip: true }, normalise).unwrap();
    let (mut out, mut places, mut mirrored) = (vec![0.0; 256], vec![0; 81], 0);
    let draws = 3000;
    for epoch in 0..draws {
        transform
            .apply(data.train(), Key { seed: 5, epoch, index: 0 }, &mut Scratch::default(), &mut out)
            .unwrap();
        let first = out.iter().position(|&value| value > 0.0).unwrap();
        let flipped = out[first] > out[first + 1];
        mirrored += i32::from(flipped);
        let (y, x) = (first / 16, first % 16);
        places[(y - 3) * 9 + x - 3] += 1;
    }
    // Five standard errors of a binomial count: sqrt(3000 / 4) = 27.4, and sqrt(3000 / 81) = 6.1
    // around 37.
    assert!((mirrored - 1500).abs() < 137, "{mirrored}");
    assert!(places.iter().all(|&count| (count - 37_i32).abs() < 31), "{places:?}");
}

#[test]
fn views_depend_on_the_key_alone() {
    let data = make::in_memory(Kind::Cifar10, Shape { channels: 3, height: 32, width: 32 }, 20, 5);
    let transform = Transform::training(&data).unwrap();
    let view = |seed, epoch, index| {
        let mut out = vec![0.0; 3072];
        transform.apply(data.train(), Key { seed, epoch, index }, &mut Scratch::default(), &mut out).unwrap();
        out
    };
    assert_eq!(view(1, 2, 3), view(1, 2, 3));
    // Of 162 views one in 162 repeats by chance; of these four pairs none does.
    assert_ne!(view(1, 2, 3), view(1, 3, 3));
    assert_ne!(view(1, 2, 3), view(2, 2, 3));
    let plain = Transform::evaluation(&data).unwrap();
    let mut out = vec![0.0; 3072];
    plain.apply(data.test(), Key { seed: 9, epoch: 9, index: 4 }, &mut Scratch::default(), &mut out).unwrap();
    let Split::Stored(test) = data.test() else { panic!("in memory") };
    let byte = f64::from(test.image(4).unwrap()[2000]) / 255.0;
    assert!((f64::from(out[2000]) - (byte - 0.4822) / 0.2435).abs() < 1e-5);
}

#[test]
fn colours_by_hand() {
    // Two pixels, red (200, 0, 0) and grey (100, 100, 100): brightness 59.8 and 100, mean 79.9.
    let planes = [200.0, 100.0, 0.0, 100.0, 0.0, 100.0];
    let changed = |change: Change, factor| {
        let mut planes = planes;
        change.apply(&mut planes, factor);
        planes.map(|value| (value * 100.0).round() / 100.0)
    };
    assert_eq!(changed(Change::Brightness, 1.4), [255.0, 140.0, 0.0, 140.0, 0.0, 140.0]);
    assert_eq!(changed(Change::Contrast, 0.5), [139.95, 89.95, 39.95, 89.95, 39.95, 89.95]);
    assert_eq!(changed(Change::Saturation, 0.5), [129.9, 100.0, 29.9, 100.0, 29.9, 100.0]);
    let mut same = planes;
    colour_jitter(&mut same, 0.0, &mut Rng::new(1, 0, 0));
    assert!(same.iter().zip(planes).all(|(a, b)| (a - b).abs() < 1e-3));
}

/// Areas of windows: uniform on 0.08 to 1 where they fit, so the mean over a square photograph
/// stays below 0.54, and aspects stay within 3/4 and 4/3 up to the rounding to pixels.
#[test]
fn random_windows_have_the_shares_asked_for() {
    let image = Rgb::new(400, 400, vec![0; 480_000]).unwrap();
    let windows: Vec<_> = (0..2000).map(|trial| random_window(&image, &mut Rng::new(3, 0, trial))).collect();
    let share = |w: &Window| (w.width * w.height) as f64 / 160_000.0;
    assert!(windows.iter().all(|w| (0.079..=1.0).contains(&share(w))));
    assert!(windows.iter().all(|w| (0.74..=1.35).contains(&(w.width as f64 / w.height as f64))));
    let mean = windows.iter().map(share).sum::<f64>() / 2000.0;
    // Wide windows are drawn anew more often when they are large. The standard error is 0.265 /
    // sqrt(2000) = 0.006.
    assert!((0.42..0.54).contains(&mean), "{mean}");
    // A strip allows no window of that aspect: the fallback takes its middle.
    let strip = Rgb::new(1000, 10, vec![0; 30_000]).unwrap();
    assert_eq!(
        random_window(&strip, &mut Rng::new(3, 0, 0)),
        Window { left: 493, top: 0, width: 13, height: 10 }
    );
}

#[test]
fn photographs_become_224_by_224() {
    let dir = tempfile::tempdir().unwrap();
    make::folders(dir.path(), &["n00000001", "n00000002"], 2);
    make::write(dir.path(), "val/n00000001/strip.png", &make::png_rgb(900, 2));
    let data = Dataset::open(dir.path()).unwrap();
    let mut out = vec![0.0; 3 * 224 * 224];
    let (training, evaluation) = (Transform::training(&data).unwrap(), Transform::evaluation(&data).unwrap());
    let mut scratch = Scratch::default();
    for index in 0..4 {
        let key = Key { seed: 1, epoch: 0, index };
        training.apply(data.train(), key, &mut scratch, &mut out).unwrap();
        let first = out.clone();
        // Normalised values of bytes lie within black and white.
        assert!(out.iter().all(|value| (-2.2..2.7).contains(value)));
        training.apply(data.train(), key, &mut Scratch::default(), &mut out).unwrap();
        assert_eq!(first, out);
        training.apply(data.train(), Key { epoch: 1, ..key }, &mut scratch, &mut out).unwrap();
        assert_ne!(first, out);
    }
    for index in 0..5 {
        evaluation.apply(data.test(), Key { seed: 0, epoch: 0, index }, &mut scratch, &mut out).unwrap();
        assert!(out.iter().all(|value| (-2.2..2.7).contains(value)));
    }
}

#[test]
fn transforms_that_do_not_fit_are_refused() {
    let data = make::in_memory(Kind::Idx, Shape { channels: 1, height: 4, width: 6 }, 2, 1);
    let refused = |augment, normalise| Transform::new(&data, augment, normalise).unwrap_err().to_string();
    let grey = Normalise::channels(&[(0.5, 0.5)]);
    assert!(
        refused(Augment::ResizedCrop { jitter: 0.4 }, grey.clone())
            .contains("none or shift for images in memory")
    );
    assert!(
        refused(Augment::Shift { pad: 5, flip: false }, grey.clone()).contains("no wider than the image")
    );
    assert!(
        refused(Augment::Shift { pad: 0, flip: false }, Normalise::channels(&[])).contains("images of 1x4x6")
    );
    let transform = Transform::new(&data, Augment::Shift { pad: 0, flip: false }, grey).unwrap();
    let key = Key { seed: 0, epoch: 0, index: 2 };
    assert!(
        transform.apply(data.train(), key, &mut Scratch::default(), &mut [0.0; 24]).is_err(),
        "beyond the last"
    );
    assert!(
        transform.apply(data.train(), key, &mut Scratch::default(), &mut [0.0; 23]).is_err(),
        "too little room"
    );
}
