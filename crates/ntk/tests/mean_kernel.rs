//! The paper's Fig. 2: ensembles converge to the mean kernel, which the width does not change.

use std::f64::consts::PI;

use collegial_ntk::mean_kernel::{circle_curves, infinite_width};

fn angles(count: usize) -> Vec<f64> {
    (0..count).map(|index| -PI + 2.0 * PI * index as f64 / (count - 1) as f64).collect()
}

#[test]
fn the_mean_kernel_is_close_to_the_infinitely_wide_one() {
    let angles = angles(9);
    let curves = circle_curves(4, 300, &angles, &[1, 10, 400], 3).unwrap();
    let limit = &curves[2];
    for ((angle, mean), error) in angles.iter().zip(&limit.kernel).zip(&limit.standard_error) {
        // The diagonal's mean is exactly the limit's; off it they differ by O(1/n), here at most
        // 0.003.
        let gap = (mean - infinite_width(4, *angle)).abs();
        assert!(gap < 4.5 * error + 0.003, "at {angle}: {gap} +- {error}");
    }
    let spread = |curve: &collegial_ntk::mean_kernel::Curve| -> f64 {
        let gaps =
            angles.iter().zip(&curve.kernel).map(|(angle, mean)| (mean - infinite_width(4, *angle)).powi(2));
        gaps.sum::<f64>().sqrt()
    };
    assert!(spread(&curves[0]) > spread(&curves[2]));
}

#[test]
fn a_hundred_times_wider_network_needs_no_ensemble() {
    let angles = angles(5);
    let curve = &circle_curves(4, 100_000, &angles, &[1], 5).unwrap()[0];
    for (angle, value) in angles.iter().zip(&curve.kernel) {
        // One draw at this width: its standard deviation is about 1 % of the diagonal's mean 2.
        assert!((value - infinite_width(4, *angle)).abs() < 4.5 * 0.02, "at {angle}: {value}");
    }
}

#[test]
fn threads_do_not_matter_and_larger_ensembles_contain_smaller_ones() {
    let angles = angles(3);
    let with_threads = |threads| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| circle_curves(3, 20, &angles, &[4, 9], 7).unwrap())
    };
    assert_eq!(with_threads(1), with_threads(3));
    assert_eq!(with_threads(1)[0].kernel, circle_curves(3, 20, &angles, &[4], 7).unwrap()[0].kernel);
}
