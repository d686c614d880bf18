//! Limits on a question's cost, which is estimated, and refused if too large, before anything is
//! computed.

use collegial_arch::{Cost, Spec};
use collegial_report::significant;
use collegial_search::VarianceSource;

use crate::explorer::RequestError;
use crate::search::{Request, Work};

/// Evaluations of formulas: about a second.
const MOST_FORMULAS: f64 = 6e5;

/// Multiplications of draws: some seconds on one thread.
const MOST_MULTIPLICATIONS: f64 = 1e10;

/// Widths that are free at once: the boxes of its branch and bound take the square of their number.
const MOST_FREE: usize = 12;

/// Draws per width of a question, and the narrowest error of its measured variances, whatever the
/// module.
const MOST_TRIALS: u64 = 20_000;
const FINEST: f64 = 0.005;

/// Refuses what lasts for longer than anybody looks at a page.
///
/// # Errors
///
/// One sentence, with what would be answered where there is such a thing.
pub fn check(request: &Request, baseline: &Spec) -> Result<(), RequestError> {
    let too_long = if request.check {
        "check draws whole networks".to_owned()
    } else if request.cost.has(Cost::Time) && request.timings.is_none() {
        "cost time runs the networks".to_owned()
    } else if let Some(trials) = request.trials.filter(|&trials| trials > MOST_TRIALS) {
        format!("trials is {trials}, and the page takes at most {MOST_TRIALS}")
    } else if let Some(precision) = request.precision.filter(|&precision| precision < FINEST) {
        format!("precision is {precision}, and the page takes at least {FINEST}")
    } else {
        // What cannot be foreseen is refused where it is computed, in words of its own.
        match Work::of(request, baseline) {
            Ok(work) if excess(&work) > 1.0 => foreseen(request, baseline, &work),
            _ => return Ok(()),
        }
    };
    Err(RequestError(format!("{too_long}; ask the program, by `collegial search`")))
}

/// How much more than the page takes.
fn excess(work: &Work) -> f64 {
    let free = if work.free > MOST_FREE { f64::INFINITY } else { 0.0 };
    (work.formulas / MOST_FORMULAS).max(work.multiplications / MOST_MULTIPLICATIONS).max(free)
}

fn foreseen(request: &Request, baseline: &Spec, work: &Work) -> String {
    if work.free > MOST_FREE {
        return format!("{} widths are free, and the page takes at most {MOST_FREE}", work.free);
    }
    let times = significant(excess(work), 2);
    let answered = |other: &Request| {
        Work::of(other, baseline).is_ok_and(|work| work.formulas > 0.0 && excess(&work) <= 1.0)
    };
    let instead = smaller(request).find(answered).map(|other| difference(request, &other));
    let instead = instead.map_or(String::new(), |options| format!(", and it takes {options}"));
    format!("this search is {times} times as long as the page takes{instead}")
}

/// The same question with fewer draws or widths, the nearest first, and then without draws.
fn smaller(request: &Request) -> impl Iterator<Item = Request> {
    let request = request.clone();
    let is_law = request.alpha.is_none()
        && matches!(request.variance, None | Some(VarianceSource::Law))
        && (request.paper || request.trials.is_some() || request.variance.is_some());
    let multiples = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024]
        .map(|by: usize| request.multiple_of.max(1).saturating_mul(by));
    // Of widths that were named, others would leave some out.
    let multiples = multiples.into_iter().take(if request.widths.is_some() { 1 } else { 11 });
    let exact =
        Request { variance: Some(VarianceSource::Exact), precision: None, trials: None, ..request.clone() };
    let exact = multiples.clone().map(move |multiple_of| Request { multiple_of, ..exact.clone() });
    let drawn = multiples.flat_map(move |multiple_of| {
        let wider = Request { multiple_of, ..request.clone() };
        let now = request.precision.unwrap_or(0.0);
        let precisions = [0.01, 0.02, 0.05, 0.1, 0.2].into_iter().filter(move |&other| other > now);
        let trials = [10_000, 5_000, 2_000, 1_000, 500, 200, 100].into_iter();
        let trials = trials.filter(|_| is_law).map({
            let wider = wider.clone();
            move |trials| Request { trials: Some(trials), ..wider.clone() }
        });
        let precisions = precisions.filter(|_| !is_law).map({
            let wider = wider.clone();
            move |precision| Request { precision: Some(precision), ..wider.clone() }
        });
        std::iter::once(wider).chain(trials).chain(precisions).collect::<Vec<_>>()
    });
    drawn.chain(exact)
}

/// Options of a question that the other has not.
fn difference(request: &Request, other: &Request) -> String {
    let trials = other.trials.filter(|_| other.trials != request.trials);
    let precision = other.precision.filter(|_| other.precision != request.precision);
    let multiple = Some(other.multiple_of).filter(|&multiple| multiple != request.multiple_of);
    let variance = other.variance.filter(|_| other.variance != request.variance);
    let words = [
        variance.map(|_| "variance exact".to_owned()),
        trials.map(|trials| format!("trials {trials}")),
        precision.map(|precision| format!("precision {precision}")),
        multiple.map(|multiple| format!("multiple of {multiple}")),
    ];
    words.into_iter().flatten().collect::<Vec<_>>().join(" with ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn checked(json: &str) -> Result<(), RequestError> {
        let request: Request = crate::request(json).unwrap();
        check(&request, &request.model.spec().unwrap())
    }

    /// Each of these took from 5 seconds to minutes.
    #[test]
    fn long_questions_are_refused_and_a_shorter_one_is_named() {
        for (asked, instead) in [
            (r#"{"model": "fc10-99999"}"#, r#"it takes multiple of 4;"#),
            (r#"{"model": "fc1000-9999"}"#, "it takes multiple of 32;"),
            (r#"{"model": "bottleneck-2000", "trials": 20000}"#, "it takes trials 10000;"),
            (
                r#"{"model": "bottleneck-256", "variance": "measured", "precision": 0.005}"#,
                "it takes precision ",
            ),
            (
                r#"{"model": "bottleneck-16000000", "variance": "measured", "widths": [4, 8]}"#,
                "it takes variance exact;",
            ),
            (
                r#"{"model": "fc30-500", "free_widths": true}"#,
                "29 widths are free, and the page takes at most 12;",
            ),
        ] {
            let refusal = checked(asked).expect_err(asked).0;
            assert!(refusal.contains(instead), "{asked}: {refusal}");
            assert!(refusal.ends_with("; ask the program, by `collegial search`"), "{refusal}");
        }
    }

    /// What the page itself asks.
    #[test]
    fn usual_questions_are_answered() {
        for asked in [
            r#"{"model": "resnext29-1x128d", "per_stage": true, "free_widths": true}"#,
            r#"{"model": "resnext101-1x512d", "variance": "law"}"#,
            r#"{"model": "resnext50-1x64d", "paper": true, "variance": "measured", "widths": [1, 2, 4, 8, 16, 32, 64], "precision": 0.03}"#,
            r#"{"model": "fc6-500", "free_widths": true}"#,
            r#"{"model": "fc6-16384"}"#,
            r#"{"model": "fc6-16384", "trials": 20000}"#,
            r#"{"model": "bottleneck-128", "trials": 2000}"#,
            r#"{"model": "wrn28-10"}"#,
        ] {
            assert_eq!(checked(asked), Ok(()), "{asked}");
        }
    }
}
