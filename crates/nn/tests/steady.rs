//! A steady step allocates nothing: not in the engine, not in its kernels, not in the thread pool.

mod reference;
mod stepper;

use collegial_arch::Spec;
use collegial_nn::UpdateRule;
use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering};
use stepper::Stepper;

/// Counts allocations of all threads.
struct Counting;

static ALLOCATIONS: AtomicUsize = AtomicUsize::new(0);

// SAFETY: forwards to the system's allocator.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.fetch_add(1, Ordering::Relaxed);
        // SAFETY: the caller's promises are the system's.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        // SAFETY: as above.
        unsafe { System.dealloc(memory, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Allocations of four steps in a steady state.
fn allocations_of_steps(spec: &Spec, batch: usize, rule: UpdateRule, threads: usize) -> usize {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("a pool starts");
    pool.install(|| {
        let mut stepper = Stepper::new(spec, batch, rule, (1, 1));
        // A thread of the pool sets up its queues when it first finds work, which on a busy machine
        // can be late: the least of several rounds counts. What a step allocates by itself, it
        // allocates in every round.
        let round = |_| {
            let before = ALLOCATIONS.load(Ordering::Relaxed);
            (0..4).for_each(|_| stepper.step(0.01));
            ALLOCATIONS.load(Ordering::Relaxed) - before
        };
        (0..5).map(round).min().expect("there are rounds")
    })
}

/// One test, so that no other runs at the same time and is counted.
#[test]
fn a_steady_step_does_not_allocate() {
    let resnext = "kind = \"resnext\"\nstem = \"imagenet\"\nblocks = [2, 2]\nclasses = 7\nimage = 33\nstem_channels = 8\n\
                   outputs = 12\ndesign = \"3x5d\"\n";
    let wide = "kind = \"wide-resnet\"\ndepth = 8\nfactor = 1\nstages = 2\nclasses = 5\nimage = 8\n";
    // 1x1 convolutions of several blocks in every direction, and dense layers wide enough to be
    // matrix products.
    let wide_products = "kind = \"resnext\"\nstem = \"small\"\nblocks = [1, 1]\nclasses = 40\nimage = 8\nstem_channels = 64\n\
                         outputs = 150\ndesign = \"3x60d\"\n";
    let wide_ensemble =
        "kind = \"fully-connected\"\ninputs = 300\noutputs = 10\nmembers = 4\nwidths = [48, 48]\n";
    let ensemble =
        "kind = \"fully-connected\"\ninputs = 20\noutputs = 6\nmembers = 5\nwidths = [12, 7, 12]\n";
    for threads in [1, 2] {
        for (text, batch, rule) in [
            (resnext, 4, UpdateRule::SGD),
            (wide, 3, UpdateRule::ADAMW),
            (ensemble, 9, UpdateRule::ADAM),
            (wide_products, 4, UpdateRule::SGD),
            (wide_ensemble, 64, UpdateRule::ADAM),
        ] {
            let count = allocations_of_steps(
                &Spec::from_toml(text).expect("the spec is valid"),
                batch,
                rule,
                threads,
            );
            assert_eq!(count, 0, "{count} allocations in four steps of {text} on {threads} threads");
        }
    }
}
