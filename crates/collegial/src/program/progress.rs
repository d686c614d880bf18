//! Long work: a bar with the remaining time on a terminal, a line now and then elsewhere, and
//! signals to stop.

use std::io::IsTerminal;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use crate::Monitor;
use indicatif::{ProgressBar, ProgressStyle};

use crate::program::arguments::{Common, eprint};
use crate::program::signals;

/// Steps of the bar.
const STEPS: u64 = 1000;

/// Between lines where there is no terminal.
const LINE_EVERY: Duration = Duration::from_secs(10);

/// Shows progress and listens for signals.
pub struct Progress {
    display: Display,
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
        signals::watch();
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
        Self { display, current: Mutex::new((Instant::now(), 0.0)) }
    }

    /// Prints something that the bar would otherwise be drawn over.
    pub fn suspend<T>(&self, print: impl FnOnce() -> T) -> T {
        match &self.display {
            Display::Bar(bar) => bar.suspend(print),
            _ => print(),
        }
    }

    /// Whether another piece of work has begun: a share below the last one.
    fn follow(&self, share: f64) -> bool {
        let Ok(mut current) = self.current.lock() else { return false };
        let again = share < current.1;
        *current = (if again { Instant::now() } else { current.0 }, share);
        again
    }

    fn remaining(&self, share: f64) -> String {
        let done = format!("{:.0} % done", 100.0 * share);
        match self.current.lock() {
            Ok(current) if share > 0.0 => {
                let seconds = current.0.elapsed().as_secs_f64() * (1.0 - share) / share;
                format!("{done}, about {seconds:.0} s left")
            }
            _ => done,
        }
    }
}

impl Monitor for Progress {
    fn progress(&self, share: f64, state: Option<&str>) {
        let share = share.clamp(0.0, 1.0);
        let again = self.follow(share);
        match &self.display {
            Display::Bar(bar) => {
                if again {
                    bar.reset_eta();
                }
                if let Some(state) = state {
                    bar.set_message(state.to_owned());
                }
                bar.set_position((share * STEPS as f64) as u64);
            }
            Display::Lines(last) => {
                let Ok(mut last) = last.lock() else { return };
                if last.elapsed() >= LINE_EVERY {
                    *last = Instant::now();
                    let state = state.map_or(String::new(), |state| format!("{state}, "));
                    eprint(&format!("{state}{}", self.remaining(share)));
                }
            }
            Display::Nothing => {}
        }
    }

    fn say(&self, sentence: &str) {
        if !matches!(self.display, Display::Nothing) {
            self.suspend(|| eprint(sentence));
        }
    }

    fn stopped(&self) -> bool {
        signals::received()
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        signals::unwatch();
        if let Display::Bar(bar) = &self.display {
            bar.finish_and_clear();
        }
    }
}
