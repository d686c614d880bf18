//! Long work: a bar with the remaining time on a terminal, a line now and then elsewhere, and
//! signals to stop.

use std::io::IsTerminal;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use collegial_report::{duration, visible};
use indicatif::{ProgressBar, ProgressStyle};

use crate::Monitor;
use crate::program::arguments::{Common, eprint};
use crate::program::signals;

/// Steps of the bar.
const STEPS: u64 = 1000;

/// Between lines where there is no terminal.
const LINE_EVERY: Duration = Duration::from_secs(10);

/// Shows progress and listens for signals.
pub struct Progress {
    display: Display,
    current: Mutex<Option<Current>>,
}

/// The current piece of work: when it was first heard of and how far it was then, and how far it is.
/// A resumed one may begin anywhere.
#[derive(Clone, Copy)]
struct Current {
    since: Instant,
    first: f64,
    share: f64,
}

impl Current {
    /// By the pace so far; `None` before there is any, and at the end.
    fn seconds_left(self) -> Option<f64> {
        let done = self.share - self.first;
        (done > 0.0 && self.share < 1.0)
            .then(|| self.since.elapsed().as_secs_f64() * (1.0 - self.share) / done)
    }
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
            let style = ProgressStyle::with_template("{msg} [{wide_bar}] {percent} %{prefix}")
                .unwrap_or_else(|_| ProgressStyle::default_bar());
            bar.set_style(style.progress_chars("=> "));
            bar.set_message(what.to_owned());
            Display::Bar(bar)
        } else {
            Display::Lines(Mutex::new(Instant::now()))
        };
        Self { display, current: Mutex::new(None) }
    }

    /// Prints something that the bar would otherwise be drawn over.
    pub fn suspend<T>(&self, print: impl FnOnce() -> T) -> T {
        match &self.display {
            Display::Bar(bar) => bar.suspend(print),
            _ => print(),
        }
    }

    /// Takes the share that is done, and gives the time that is left, where it is known, as
    /// ", about 12 seconds left". A share below the last one begins another piece of work.
    fn remaining(&self, share: f64) -> String {
        let Ok(mut current) = self.current.lock() else { return String::new() };
        let now = match *current {
            Some(before) if share >= before.share => Current { share, ..before },
            _ => Current { since: Instant::now(), first: share, share },
        };
        *current = Some(now);
        match now.seconds_left() {
            Some(seconds) => format!(", about {} left", duration(seconds.round().max(1.0))),
            None => String::new(),
        }
    }
}

impl Monitor for Progress {
    fn progress(&self, share: f64, state: Option<&str>) {
        let share = share.clamp(0.0, 1.0);
        let remaining = self.remaining(share);
        match &self.display {
            Display::Bar(bar) => {
                bar.set_prefix(remaining);
                if let Some(state) = state {
                    bar.set_message(visible(state));
                }
                bar.set_position((share * STEPS as f64) as u64);
            }
            Display::Lines(last) => {
                let Ok(mut last) = last.lock() else { return };
                if last.elapsed() >= LINE_EVERY {
                    *last = Instant::now();
                    let state = state.map_or(String::new(), |state| format!("{state}, "));
                    eprint(&format!("{state}{:.0} % done{remaining}", 100.0 * share));
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

#[cfg(test)]
mod tests {
    use super::*;

    /// A run that is resumed at half its way has done nothing here yet.
    #[test]
    fn time_left_goes_by_the_pace_since_the_first_news() {
        let progress = Progress { display: Display::Nothing, current: Mutex::new(None) };
        assert_eq!(progress.remaining(0.5), "");
        std::thread::sleep(Duration::from_millis(20));
        assert_eq!(progress.remaining(0.6), ", about 1 second left");
        let begun = Instant::now().checked_sub(Duration::from_secs(10)).unwrap();
        let current = Current { since: begun, first: 0.5, share: 0.6 };
        // A tenth took ten seconds, and four are left.
        let seconds = current.seconds_left().unwrap();
        assert!((40.0..45.0).contains(&seconds), "{seconds}");
        assert_eq!(progress.remaining(1.0), "");
        assert_eq!(progress.remaining(0.1), "", "another piece of work");
    }
}
