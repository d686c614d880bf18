//! Arrays that start at a cache line and lie on large pages, and prefetching.

use std::ops::{Deref, DerefMut};

/// Floats of a cache line.
const LINE: usize = 16;

/// An array of floats. The allocator starts large arrays in the middle of a cache line, where every
/// second vector would straddle two lines.
#[derive(Default)]
pub(crate) struct Array {
    memory: Vec<f32>,
    start: usize,
    len: usize,
}

impl Array {
    /// Large arrays are advised to lie on large pages where the system takes such advice (Linux): a
    /// step walks through hundreds of megabytes with strides of a page and more, and looking up
    /// small pages costs a few per cent of its time.
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

/// Prefetches a slice that is about to be read.
pub(crate) fn prefetch(x: &[f32]) {
    #[cfg(target_arch = "x86_64")]
    for line in x.chunks(LINE) {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: a hint on an address that is ours.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(line.as_ptr().cast()) };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = x;
}

#[cfg(target_os = "linux")]
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

#[cfg(not(target_os = "linux"))]
fn advise(_: &[f32]) {}
