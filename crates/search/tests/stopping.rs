//! A monitor ends a search at any width.

use std::sync::atomic::{AtomicUsize, Ordering};

use collegial_arch::{Cost, Spec};
use collegial_core::Monitor;
use collegial_search::paper::{Exact, Search, free_widths};
use collegial_search::{DesignSearch, Error, Limits};

/// Stops at the last of so many questions.
struct Patience {
    asked: AtomicUsize,
    most: usize,
}

impl Patience {
    fn of(most: usize) -> Self {
        Self { asked: AtomicUsize::new(0), most }
    }
}

impl Monitor for Patience {
    fn progress(&self, _share: f64, _state: Option<&str>) {}

    fn stopped(&self) -> bool {
        self.asked.fetch_add(1, Ordering::Relaxed) + 1 >= self.most
    }
}

/// Runs a search to its end, counting how often the monitor is asked, and then stops it at places
/// over all of it.
fn stops_everywhere<T>(widths: usize, search: impl Fn(&dyn Monitor) -> Result<T, Error>) {
    let patient = Patience::of(usize::MAX);
    assert!(search(&patient).is_ok());
    let asked = patient.asked.into_inner();
    assert!(asked >= widths, "asked {asked} times over {widths} widths");
    for most in [1, 2, asked / 4, asked / 2, 3 * asked / 4, asked] {
        let monitor = Patience::of(most);
        let Err(error) = search(&monitor) else { panic!("went on after {most} of {asked} questions") };
        assert!(matches!(error, Error::Interrupted) && error.is_interruption(), "{error}");
        assert_eq!(monitor.asked.into_inner(), most, "it ends at once");
    }
}

#[test]
fn a_search_over_integer_designs_stops() {
    // Variances and designs, with what the blocks see and with white inputs.
    let network = DesignSearch::new("resnext29-1x128d".parse().unwrap());
    stops_everywhere(4 * 128, |monitor| network.run_watched(monitor));
    let module = DesignSearch::new("fc6-500".parse().unwrap());
    stops_everywhere(2 * 500, |monitor| module.run_watched(monitor));
}

#[test]
fn algorithm_2_stops() {
    let search = Search::new("fc6-500".parse().unwrap());
    stops_everywhere(500, |monitor| search.run_watched(&Exact, monitor));
    let few = search.within(Limits::new().max_multiplicity(20));
    stops_everywhere(2 * 500, |monitor| few.run_watched(&Exact, monitor));
}

/// At every box of its branch and bound, which took a minute where thirty widths were free.
#[test]
fn free_widths_stop() {
    let module = "fc6-200".parse::<Spec>().unwrap().module().unwrap();
    let patient = Patience::of(usize::MAX);
    let found = free_widths(&module, Cost::Params, &Exact, &patient).unwrap();
    assert_eq!(patient.asked.into_inner(), found.boxes);
    let stopped = free_widths(&module, Cost::Params, &Exact, &Patience::of(1));
    assert!(matches!(stopped, Err(Error::Interrupted)));
}
