//! Long work: a bar with the remaining time on a terminal, a line now and then elsewhere, and Ctrl-C.

use std::io::IsTerminal;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use collegial_ntk::fit::Monitor;
use indicatif::{ProgressBar, ProgressStyle};

use crate::arguments::{Common, complain};

/// Set by the first Ctrl-C; a later one ends the process at once.
static INTERRUPTED: AtomicBool = AtomicBool::new(false);

/// Whether somebody looks at `INTERRUPTED`; where nobody does, Ctrl-C ends the process at once.
static WATCHED: AtomicBool = AtomicBool::new(false);

/// `timeout -s INT` and other wrappers send the signal to the process and to its group: that is still one Ctrl-C.
const SAME_INTERRUPT: Duration = Duration::from_secs(1);

/// Steps of the bar.
const STEPS: u64 = 1000;

/// Between lines where there is no terminal.
const LINE_EVERY: Duration = Duration::from_secs(10);

/// Shows progress and listens for Ctrl-C.
pub struct Progress {
    display: Display,
    start: Instant,
    /// Since when the current work goes on, and how far it is.
    current: Mutex<(Instant, f64)>,
}

enum Display {
    Bar(ProgressBar),
    Lines(Mutex<Instant>),
    Nothing,
}

impl Progress {
    /// Starts watching; `what` is shown beside the bar.
    pub fn new(what: &str, common: &Common) -> Self {
        // Failing to install the handler leaves the default one: Ctrl-C then just ends the process.
        let mut first: Option<Instant> = None;
        let _ = ctrlc::set_handler(move || {
            INTERRUPTED.store(true, Ordering::SeqCst);
            let again = first.get_or_insert_with(Instant::now).elapsed() > SAME_INTERRUPT;
            if again || !WATCHED.load(Ordering::SeqCst) {
                std::process::exit(130);
            }
        });
        WATCHED.store(true, Ordering::SeqCst);
        let display = if common.quiet {
            Display::Nothing
        } else if std::io::stderr().is_terminal() {
            let bar = ProgressBar::new(STEPS);
            let style = ProgressStyle::with_template("{msg} [{bar:40}] {percent} %, {eta} left")
                .unwrap_or_else(|_| ProgressStyle::default_bar());
            bar.set_style(style.progress_chars("=> "));
            bar.set_message(what.to_owned());
            Display::Bar(bar)
        } else {
            Display::Lines(Mutex::new(Instant::now()))
        };
        Self { display, start: Instant::now(), current: Mutex::new((Instant::now(), 0.0)) }
    }

    /// Shows how far it is and in what state. A share below the last one is another piece of work: its time counts anew.
    pub fn show(&self, share: f64, state: &str) {
        let again = self.follow(share);
        match &self.display {
            Display::Bar(bar) => {
                if again {
                    bar.reset_eta();
                }
                bar.set_message(state.to_owned());
                bar.set_position((share.clamp(0.0, 1.0) * STEPS as f64) as u64);
            }
            Display::Lines(last) => {
                let Ok(mut last) = last.lock() else { return };
                if last.elapsed() >= LINE_EVERY {
                    *last = Instant::now();
                    complain(&format!("{state}, {}", self.remaining(share)));
                }
            }
            Display::Nothing => {}
        }
    }

    /// Prints something that the bar would otherwise be drawn over.
    pub fn suspend<T>(&self, print: impl FnOnce() -> T) -> T {
        match &self.display {
            Display::Bar(bar) => bar.suspend(print),
            _ => print(),
        }
    }

    /// Whether another piece of work has begun.
    fn follow(&self, share: f64) -> bool {
        let Ok(mut current) = self.current.lock() else { return false };
        let again = share < current.1;
        *current = (if again { Instant::now() } else { current.0 }, share);
        again
    }

    fn remaining(&self, share: f64) -> String {
        let since = self.current.lock().map_or(self.start, |current| current.0);
        let done = format!("{:.0} % done", 100.0 * share);
        if share <= 0.0 {
            return done;
        }
        format!("{done}, about {:.0} s left", since.elapsed().as_secs_f64() * (1.0 - share) / share)
    }

    /// Seconds since the start.
    pub fn seconds(&self) -> f64 {
        self.start.elapsed().as_secs_f64()
    }
}

impl Monitor for Progress {
    fn progress(&self, done: f64, total: f64) {
        let share = if total > 0.0 { (done / total).clamp(0.0, 1.0) } else { 1.0 };
        match &self.display {
            Display::Bar(bar) => bar.set_position((share * STEPS as f64) as u64),
            Display::Lines(last) => {
                let Ok(mut last) = last.lock() else { return };
                if last.elapsed() >= LINE_EVERY {
                    *last = Instant::now();
                    complain(&self.remaining(share));
                }
            }
            Display::Nothing => {}
        }
    }

    fn stopped(&self) -> bool {
        INTERRUPTED.load(Ordering::SeqCst)
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        WATCHED.store(false, Ordering::SeqCst);
        if let Display::Bar(bar) = &self.display {
            bar.finish_and_clear();
        }
    }
}
