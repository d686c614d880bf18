//! Memory: free memory, arrays aligned to cache lines and on huge pages, prefetching.

mod available;

use crate::Error;
use std::ops::{Deref, DerefMut};

pub use available::available;

/// Floats of a cache line.
const LINE: usize = 16;

/// An array of floats, aligned to a cache line. The allocator starts large arrays in the middle of
/// one, where every second vector would straddle two lines.
#[derive(Default)]
pub(crate) struct Array {
    memory: Vec<f32>,
    start: usize,
    len: usize,
}

impl Array {
    /// Large arrays use huge pages where the system takes such advice (Linux): a step walks through
    /// hundreds of megabytes with strides of a page and more, and TLB misses on small pages cost a few
    /// per cent of its time.
    pub(crate) fn zeros(len: usize) -> Self {
        let memory = vec![0.0; if len == 0 { 0 } else { len + LINE }];
        advise(&memory);
        let offset = memory.as_ptr().align_offset(LINE * size_of::<f32>());
        // The standard allows align_offset to give up.
        let start = if offset < LINE && len > 0 { offset } else { 0 };
        Self { memory, start, len }
    }
}

impl Deref for Array {
    type Target = [f32];
    fn deref(&self) -> &[f32] {
        &self.memory[self.start..self.start + self.len]
    }
}

impl DerefMut for Array {
    fn deref_mut(&mut self) -> &mut [f32] {
        &mut self.memory[self.start..self.start + self.len]
    }
}

/// Returns an error if so many floats need more memory than is free. On systems other than Linux,
/// which do not report it, the allocation is tried.
pub(crate) fn check(floats: usize) -> Result<(), Error> {
    let needed = (floats as u64).saturating_mul(size_of::<f32>() as u64);
    match available() {
        Some(available) if needed > available => Err(Error::Memory { needed, available }),
        _ => Ok(()),
    }
}

/// Formats a number of bytes: "3.2 GiB", "12 MiB".
pub fn words(bytes: u64) -> String {
    let gibibytes = bytes as f64 / f64::from(1 << 30);
    if gibibytes >= 1.0 { format!("{gibibytes:.1} GiB") } else { format!("{} MiB", bytes >> 20) }
}

/// Prefetches a slice that is about to be read.
pub(crate) fn prefetch(x: &[f32]) {
    #[cfg(target_arch = "x86_64")]
    for line in x.chunks(LINE) {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: a hint on an address that is ours.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(line.as_ptr().cast()) };
    }
    #[cfg(target_arch = "aarch64")]
    for line in x.chunks(LINE) {
        crate::kernels::neon::prefetch_read(line.as_ptr());
    }
    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
    let _ = x;
}

/// Miri does not know the system call.
#[cfg(all(target_os = "linux", not(miri)))]
fn advise(array: &[f32]) {
    /// Bytes of a large page; smaller arrays cannot hold one.
    const LARGE: usize = 2 << 20;
    /// A multiple of every small page size in use.
    const PAGE: usize = 64 << 10;
    let start = (array.as_ptr() as usize).next_multiple_of(PAGE);
    let end = (array.as_ptr() as usize + size_of_val(array)) / PAGE * PAGE;
    if end.saturating_sub(start) >= LARGE {
        // SAFETY: whole pages inside an array that is ours; the advice changes no contents, and
        // failure has no effect.
        unsafe { libc::madvise(start as *mut libc::c_void, end - start, libc::MADV_HUGEPAGE) };
    }
}

#[cfg(any(not(target_os = "linux"), miri))]
fn advise(_: &[f32]) {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn smallest_and_largest_arrays_are_aligned() {
        for len in [0, 1, 17, 3 << 18] {
            let mut array = Array::zeros(len);
            assert_eq!(array.len(), len);
            assert!(len == 0 || (array.as_ptr() as usize).is_multiple_of(LINE * size_of::<f32>()));
            array.iter_mut().rev().take(1).for_each(|last| *last = 1.0);
            prefetch(&array[len.saturating_sub(3)..]);
        }
    }

    #[test]
    fn what_does_not_fit_is_refused_with_both_numbers() {
        assert_eq!(check(0), Ok(()));
        if cfg!(target_os = "linux") {
            let Err(Error::Memory { needed: u64::MAX, available: 1.. }) = check(usize::MAX) else {
                panic!("so much memory is not to be had")
            };
        }
        assert_eq!((words(5 << 20), words(3 << 29)), ("5 MiB".into(), "1.5 GiB".into()));
    }
}
