//! Moments, the block driver, intervals and ranks against slow references and tables.

use collegial_core::special::{
    chi_square_tail, erf, erfc, normal_cdf, normal_quantile, student_cdf, student_quantile,
};
use collegial_core::{
    Interval, Moments, Rng, Tally, TallyError, bootstrap, sample_blocks, spearman, tally_blocks,
};
use proptest::prelude::*;

fn close(a: f64, b: f64, tolerance: f64) -> bool {
    (a - b).abs() <= tolerance
}

fn two_pass(values: &[f64]) -> Moments {
    let n = values.len() as f64;
    let first = values.iter().sum::<f64>() / n;
    let mean = first + values.iter().map(|x| x - first).sum::<f64>() / n;
    let power = |k| values.iter().map(|x| (x - mean).powi(k)).sum::<f64>();
    Moments { count: values.len() as u64, mean, m2: power(2), m3: power(3), m4: power(4) }
}

/// Agreement up to rounding, each power measured against the spread it is made of.
fn agree(a: Moments, b: Moments, tolerance: f64) -> bool {
    let n = a.count as f64;
    let spread = (a.m4 / n).powf(0.25) + 1e-7 * a.mean.abs() + f64::MIN_POSITIVE;
    a.count == b.count
        && close(a.mean, b.mean, tolerance * (spread + a.mean.abs()))
        && close(a.m2, b.m2, tolerance * n * spread.powi(2))
        && close(a.m3, b.m3, tolerance * n * spread.powi(3))
        && close(a.m4, b.m4, tolerance * n * spread.powi(4))
}

proptest! {
    #[test]
    fn running_moments_match_two_passes(values in prop::collection::vec(-10.0..10.0f64, 1..300)) {
        let running: Moments = values.iter().copied().collect();
        prop_assert!(agree(two_pass(&values), running, 1e-12), "{:?} {:?}", two_pass(&values), running);
    }

    #[test]
    fn merging_is_associative_to_rounding(parts in prop::collection::vec(prop::collection::vec(-10.0..10.0f64, 0..50), 3)) {
        let whole: Moments = parts.concat().into_iter().collect();
        let [a, b, c] = [0, 1, 2].map(|i: usize| parts[i].iter().copied().collect::<Moments>());
        prop_assume!(whole.count > 0);
        prop_assert!(agree(whole, a.merge(b).merge(c), 1e-12));
        prop_assert!(agree(whole, a.merge(b.merge(c)), 1e-12));
        prop_assert!(agree(whole, Moments::merge_all(&[a, b, c]), 1e-12));
    }

    #[test]
    fn moments_survive_json(values in prop::collection::vec(-1e3..1e3f64, 0..20)) {
        let moments: Moments = values.into_iter().collect();
        prop_assert_eq!(moments, serde_json::from_str(&serde_json::to_string(&moments).unwrap()).unwrap());
    }

    #[test]
    fn shards_on_block_boundaries_join_exactly(cuts in prop::collection::vec(0u64..40, 0..5), tail in 0u64..8) {
        let (size, end) = (8, 40 * 8 + tail);
        let whole = tally_blocks(0..end, size, sample);
        let mut bounds: Vec<u64> = cuts.iter().map(|c| c * size).chain([0, end]).collect();
        bounds.sort_unstable();
        let shards = bounds.windows(2).map(|w| tally_blocks(w[0]..w[1], size, sample));
        // Last shard first: the order of joining must not matter either.
        let joined = shards.rev().try_fold(Tally::new(size), Tally::join).unwrap();
        prop_assert_eq!(&joined, &whole);
        prop_assert_eq!(joined.moments(), whole.moments());
    }
}

fn sample(trials: std::ops::Range<u64>) -> Moments {
    trials.map(|trial| Rng::new(1, 2, trial).normal().exp()).collect()
}

#[test]
fn a_huge_offset_costs_little() {
    let mut rng = Rng::new(1, 0, 0);
    let noise: Vec<f64> = (0..10_000).map(|_| rng.normal()).collect();
    let shifted: Vec<f64> = noise.iter().map(|x| x + 1e9).collect();
    let running: Moments = shifted.iter().copied().collect();
    // Values near 1e9 are themselves rounded by 1e-7.
    assert!(close(running.variance(), two_pass(&noise).variance(), 1e-6));
    let halves = shifted.split_at(3_333);
    let merged = halves.0.iter().copied().collect::<Moments>().merge(halves.1.iter().copied().collect());
    assert!(close(merged.variance(), running.variance(), 1e-6));
}

#[test]
fn no_value_and_one_value() {
    let (none, one) = (Moments::new(), [3.0].into_iter().collect::<Moments>());
    assert!(none.variance().is_nan() && one.variance().is_nan() && one.standard_error().is_nan());
    assert!(none.second_moment_ratio().is_nan() && one.second_moment_ratio_standard_error().is_nan());
    assert_eq!((one.mean(), one.population_variance(), one.second_moment_ratio()), (3.0, 0.0, 1.0));
    assert_eq!((none.merge(one), one.merge(none), Moments::merge_all(&[])), (one, one, none));
}

/// X = |z|^2 has R = 3; over many repetitions the estimates scatter as the delta method says. The
/// scatter of 400 estimates is known to 1 / sqrt(800) = 3.5 %; with the bias of a sample of 4000,
/// 15 % is four of those.
#[test]
fn the_ratio_scatters_as_its_standard_error_says() {
    let (mut ratios, mut errors) = (Moments::new(), Moments::new());
    for trial in 0..400 {
        let mut rng = Rng::new(6, 0, trial);
        let m: Moments = (0..4000).map(|_| 5.0 + rng.normal().powi(2)).collect();
        ratios.push(m.second_moment_ratio());
        errors.push(m.second_moment_ratio_standard_error());
    }
    // E[X] = 6, Var[X] = 2.
    assert!(close(ratios.mean(), 1.0 + 2.0 / 36.0, 4.0 * ratios.standard_error() + 1e-4));
    let scatter = ratios.variance().sqrt();
    assert!(close(errors.mean() / scatter, 1.0, 0.15), "{} predicted, {scatter} seen", errors.mean());
}

#[test]
fn blocks_give_the_same_bits_on_any_number_of_threads() {
    let on = |threads| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| sample_blocks(5..10_003, 64, sample))
    };
    let one = on(1);
    assert_eq!(one.count, 9_998);
    assert!(agree(one, sample(5..10_003), 1e-11));
    assert_eq!((on(2), on(3)), (one, one));
    assert_eq!(sample_blocks(3..3, 64, sample), Moments::new());
    assert_eq!(sample_blocks(u64::MAX - 9..u64::MAX, 0, sample).count, 9);
}

#[test]
fn tallies_refuse_to_count_twice() {
    let tally = |trials| tally_blocks(trials, 4, sample);
    assert_eq!(tally(0..8).join(tally(4..12)), Err(TallyError::Overlap(4..8)));
    assert_eq!(tally(0..8).join(Tally::new(5)), Err(TallyError::BlockSize(4, 5)));
    assert_eq!(tally(0..8).join(tally(12..13)).unwrap().trials(), [0..8, 12..13]);
    let stored = serde_json::to_string(&tally(0..20)).unwrap();
    assert_eq!(serde_json::from_str::<Tally>(&stored).unwrap(), tally(0..20));
}

/// What a file claims is not taken at its word: counts, order and the inequalities of moments.
#[test]
fn tallies_that_contradict_themselves_are_not_read() {
    let stored: serde_json::Value = serde_json::to_value(tally_blocks(0..20, 4, sample)).unwrap();
    let with = |field: &str, value: serde_json::Value| {
        let mut changed = stored.clone();
        *changed.pointer_mut(field).unwrap() = value;
        serde_json::from_value::<Tally>(changed)
    };
    assert!(with("/block_size", 4.into()).is_ok());
    for (field, value) in [
        ("/block_size", 0.into()),
        ("/nodes/0/start", 16.into()),
        ("/nodes/0/end", 0.into()),
        ("/nodes/1/start", 8.into()),
        ("/nodes/0/moments/count", 17.into()),
        ("/nodes/0/moments/mean", f64::NAN.into()),
        ("/nodes/0/moments/m2", (-1.0).into()),
        ("/nodes/0/moments/m2", 1e9.into()),
        ("/nodes/0/moments/m3", 1e9.into()),
        ("/nodes/0/moments/m4", 0.0.into()),
    ] {
        assert!(with(field, value).is_err(), "{field}");
    }
}

#[test]
fn normal_law_against_known_digits() {
    for (p, z) in [
        (0.975, 1.959963984540054),
        (0.995, 2.5758293035489004),
        (0.5, 0.0),
        (0.6, 0.2533471031357997),
        (0.001, -3.090232306167813),
        (1e-10, -6.361340902404056),
        (1e-100, -21.273453560965324),
    ] {
        assert!(
            close(normal_quantile(p), z, 4e-15 * f64::max(1.0, z.abs())),
            "{p}: {} {z}",
            normal_quantile(p)
        );
        assert!(close(normal_cdf(z) / p, 1.0, 1e-12), "{z}: {} {p}", normal_cdf(z));
    }
    assert!(close(erfc(0.5), 0.4795001221869535, 1e-15));
    assert!(close(erfc(3.0) / 2.209049699858544e-5, 1.0, 1e-13));
    assert!(close(erfc(-1.0), 1.8427007929497148, 1e-15));
    assert_eq!((normal_quantile(0.0), normal_quantile(1.0)), (f64::NEG_INFINITY, f64::INFINITY));
    assert!(normal_quantile(1.5).is_nan() && normal_quantile(f64::NAN).is_nan());
}

#[test]
fn student_against_tables() {
    for (p, dof, t) in [
        (0.975, 1.0, 12.706204736174693),
        (0.975, 2.0, 4.302652729749462),
        (0.975, 3.0, 3.182446305283708),
        (0.975, 10.0, 2.2281388519862742),
        (0.995, 5.0, 4.032142983555227),
        (0.95, 30.0, 1.6972608865939574),
        (0.25, 1.0, -1.0),
    ] {
        assert!(
            close(student_quantile(p, dof), t, 1e-11 * t.abs()),
            "{p} {dof}: {}",
            student_quantile(p, dof)
        );
        assert!(close(student_cdf(t, dof), p, 1e-13));
    }
    assert!(close(student_quantile(0.975, 1e7), normal_quantile(0.975), 1e-6));
    assert!(student_quantile(0.9, 0.0).is_nan());
    assert!(close(erf(0.5), 0.5204998778130465, 1e-15));
}

/// Two degrees of freedom: e^(-x/2). One: the normal's two tails. Ten: five terms of a Poisson sum.
#[test]
fn chi_square_against_closed_forms() {
    for x in [0.01, 0.5, 3.841458820694124, 23.2, 90.0f64] {
        let poisson: f64 = (0..5)
            .scan(1.0, |term, k| {
                let now = *term;
                *term *= 0.5 * x / f64::from(k + 1);
                Some(now)
            })
            .sum();
        for (dof, expected) in
            [(1, 2.0 * normal_cdf(-x.sqrt())), (2, (-0.5 * x).exp()), (10, (-0.5 * x).exp() * poisson)]
        {
            let tail = chi_square_tail(x, dof);
            assert!(close(tail / expected, 1.0, 1e-11), "{x} {dof}: {tail} {expected}");
        }
    }
    assert!(close(chi_square_tail(3.841458820694124, 1), 0.05, 1e-12));
    assert_eq!((chi_square_tail(5.0, 0), chi_square_tail(0.0, 3)), (1.0, 1.0));
}

/// The bootstrap of a mean has the standard error sigma / sqrt(n), here known to 1 / sqrt(2 * 4000)
/// = 1.1 %.
#[test]
fn bootstrap_of_a_mean() {
    let data: Vec<f64> = (0..100).map(f64::from).collect();
    let mean = |indices: &[usize]| indices.iter().map(|&i| data[i]).sum::<f64>() / data.len() as f64;
    let replicates = bootstrap(1, 2, 4000, data.len(), mean);
    let expected = data.iter().copied().collect::<Moments>().population_variance().sqrt() / 10.0;
    let m: Moments = replicates.iter().copied().collect();
    assert!(close(m.variance().sqrt() / expected, 1.0, 0.045));
    let (interval, normal) =
        (Interval::percentile(&replicates, 0.95), Interval::normal(49.5, expected, 0.95));
    // A percentile p of n draws has standard error sqrt(p (1 - p) / n) / density = 0.042 sigma at
    // 2.5 %.
    assert!(
        close(interval.low, normal.low, 4.0 * 0.042 * expected)
            && close(interval.high, normal.high, 4.0 * 0.042 * expected)
    );
    assert!(interval.contains(49.5) && !interval.contains(60.0));
    assert!(bootstrap(1, 2, 10, 0, |_| 0.0).is_empty());
    assert_eq!(Interval::percentile(&[3.0, 1.0, 2.0], 0.5), Interval { low: 1.5, high: 2.5 });
    assert!(close(Interval::student(1.0, 2.0, 3.0, 0.95).width(), 4.0 * 3.182446305283708, 1e-10));
}

#[test]
fn spearman_with_and_without_ties() {
    assert_eq!(spearman(&[1.0, 2.0, 3.0], &[10.0, 100.0, 1000.0]), Some(1.0));
    assert_eq!(spearman(&[1.0, 2.0, 3.0], &[3.0, 2.0, 1.0]), Some(-1.0));
    // Ranks 1, 2.5, 2.5, 4 against 1, 2, 3, 4: 4.5 / sqrt(4.5 * 5).
    assert!(close(
        spearman(&[1.0, 2.0, 2.0, 5.0], &[1.0, 2.0, 3.0, 4.0]).unwrap(),
        4.5 / 22.5f64.sqrt(),
        1e-15
    ));
    assert_eq!(spearman(&[1.0, 1.0], &[1.0, 2.0]), None);
    assert_eq!(spearman(&[1.0], &[1.0, 2.0]), None);
    assert_eq!(spearman(&[1.0, f64::NAN], &[1.0, 2.0]), None);
}
