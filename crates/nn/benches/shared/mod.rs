//! Shared by both benchmarks: noise, the reference sgemm, and a clock.

use std::sync::LazyLock;
use std::time::Instant;

/// Side of the reference matrices.
pub const SIDE: usize = 1024;

/// Noise in [-1, 1): denormal or constant data could be faster or slower than real data.
pub fn noise(len: usize) -> Vec<f32> {
    let mut state = 1_u32;
    let mut next = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 8) as f32 / (1 << 23) as f32 - 1.0
    };
    (0..len).map(|_| next()).collect()
}

/// Floats as a network's arrays lie: from a cache line on, on large pages where the system takes the
/// advice (Linux).
#[allow(dead_code)] // Networks have arrays of their own.
pub struct Floats {
    memory: Vec<f32>,
    start: usize,
}

#[allow(dead_code)]
impl Floats {
    /// A copy of some values.
    pub fn of(values: &[f32]) -> Self {
        let mut memory = vec![0.0; values.len() + 16];
        advise(&memory);
        let start = memory.as_ptr().align_offset(64).min(16);
        memory[start..start + values.len()].copy_from_slice(values);
        memory.truncate(start + values.len());
        Self { memory, start }
    }
}

#[cfg(target_os = "linux")]
#[allow(dead_code)]
fn advise(array: &[f32]) {
    const PAGE: usize = 64 << 10;
    let start = (array.as_ptr() as usize).next_multiple_of(PAGE);
    let end = (array.as_ptr() as usize + size_of_val(array)) / PAGE * PAGE;
    if end > start {
        // SAFETY: whole pages inside an array that is ours; the advice changes no contents.
        unsafe { libc::madvise(start as *mut libc::c_void, end - start, libc::MADV_HUGEPAGE) };
    }
}

#[cfg(not(target_os = "linux"))]
fn advise(_: &[f32]) {}

impl std::ops::Deref for Floats {
    type Target = [f32];
    fn deref(&self) -> &[f32] {
        &self.memory[self.start..]
    }
}

impl std::ops::DerefMut for Floats {
    fn deref_mut(&mut self) -> &mut [f32] {
        &mut self.memory[self.start..]
    }
}

/// A product of two 1024 x 1024 matrices by the `gemm` crate, on rayon's threads; it is as fast as
/// PyTorch's.
pub struct Sgemm {
    a: Vec<f32>,
    b: Vec<f32>,
    c: Vec<f32>,
}

impl Sgemm {
    /// Floating-point operations.
    pub const FLOPS: f64 = 2.0 * (SIDE * SIDE * SIDE) as f64;

    pub fn new() -> Self {
        Self { a: noise(SIDE * SIDE), b: noise(SIDE * SIDE), c: vec![0.0; SIDE * SIDE] }
    }

    pub fn run(&mut self) {
        let threads = match rayon::current_num_threads() {
            1 => gemm::Parallelism::None,
            threads => gemm::Parallelism::Rayon(threads),
        };
        let n = SIDE as isize;
        let (a, b, c) = (self.a.as_ptr(), self.b.as_ptr(), self.c.as_mut_ptr());
        // SAFETY: three SIDE x SIDE matrices, row by row.
        unsafe {
            gemm::gemm(
                SIDE, SIDE, SIDE, c, 1, n, false, a, 1, n, b, 1, n, 0.0, 1.0, false, false, false, threads,
            );
        }
    }
}

/// What is measured: time that passes, or with `--cpu` that of the processor. The latter means
/// something with one thread only (RAYON_NUM_THREADS=1), since waiting threads spin; then it hardly
/// depends on other load. Linux only.
#[derive(Clone, Copy)]
pub struct Clock {
    pub cpu: bool,
}

impl Clock {
    /// Seconds since some moment.
    pub fn now(self) -> f64 {
        static START: LazyLock<Instant> = LazyLock::new(Instant::now);
        #[cfg(target_os = "linux")]
        if self.cpu {
            let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
            // SAFETY: writes one timespec, which is ours.
            unsafe { libc::clock_gettime(libc::CLOCK_PROCESS_CPUTIME_ID, &raw mut time) };
            return time.tv_sec as f64 + 1e-9 * time.tv_nsec as f64;
        }
        START.elapsed().as_secs_f64()
    }
}
