//! Being asked to stop: Ctrl-C, and SIGTERM as `timeout`, `kill` and batch systems send it.

use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};
use std::sync::{Arc, Once};
use std::time::{Duration, Instant};

/// The number of the signal that came first; 0 before any.
static SIGNAL: AtomicU8 = AtomicU8::new(0);

/// Whether `SIGNAL` is looked at; where it is not, a signal ends the process at once.
static WATCHED: AtomicBool = AtomicBool::new(false);

/// `timeout` and other wrappers send the signal to the process and to its group: that is still one.
const SAME_SIGNAL: Duration = Duration::from_secs(1);

/// Ctrl-C.
const INTERRUPT: u8 = 2;

/// From here on a signal is only noted, and a later one ends the process.
pub fn watch() {
    static LISTENING: Once = Once::new();
    LISTENING.call_once(|| {
        let mut first: Option<Instant> = None;
        listen(move |signal| {
            let _ = SIGNAL.compare_exchange(0, signal, Ordering::SeqCst, Ordering::SeqCst);
            let again = first.get_or_insert_with(Instant::now).elapsed() > SAME_SIGNAL;
            if again || !WATCHED.load(Ordering::SeqCst) {
                std::process::exit(exit_code().into());
            }
        });
    });
    WATCHED.store(true, Ordering::SeqCst);
}

/// From here on a file that becomes longer than `ulimit -f` allows is an error of the write, like a
/// full disk, and does not end the process.
pub fn survive_long_files() {
    #[cfg(unix)]
    {
        // Whatever handles the signal will do.
        let _ = signal_hook::flag::register(signal_hook::consts::SIGXFSZ, Arc::default());
    }
}

/// Nobody looks any more.
pub fn unwatch() {
    WATCHED.store(false, Ordering::SeqCst);
}

/// Sleeps, but not past a signal.
pub fn sleep(time: Duration) {
    let end = Instant::now() + time;
    while !received() && Instant::now() < end {
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// Whether a signal was received.
pub fn received() -> bool {
    SIGNAL.load(Ordering::SeqCst) != 0
}

/// 128 and the signal, as shells have it: 130 after Ctrl-C, 143 after SIGTERM.
pub fn exit_code() -> u8 {
    match SIGNAL.load(Ordering::SeqCst) {
        0 => 128 + INTERRUPT,
        signal => 128 + signal,
    }
}

/// Calls `handle` on a thread of its own. Where that cannot be had, the signal just ends the
/// process.
#[cfg(unix)]
fn listen(mut handle: impl FnMut(u8) + Send + 'static) {
    use signal_hook::consts::{SIGINT, SIGTERM};
    let (listening, wait) = std::sync::mpsc::channel();
    let thread = std::thread::Builder::new().name("signals".into()).spawn(move || {
        let signals = signal_hook::iterator::Signals::new([SIGINT, SIGTERM]);
        let _ = listening.send(());
        if let Ok(mut signals) = signals {
            signals.forever().for_each(|signal| handle(signal as u8));
        }
    });
    if thread.is_ok() {
        let _ = wait.recv();
    }
}

#[cfg(not(unix))]
fn listen(mut handle: impl FnMut(u8) + Send + 'static) {
    let _ = ctrlc::set_handler(move || handle(INTERRUPT));
}
