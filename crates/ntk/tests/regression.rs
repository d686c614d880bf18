//! Kernel regression against explicit refits without each input, by Gaussian elimination in f64.

use collegial_core::{Rng, Silent};
use collegial_ntk::regression::Predictor;

/// A X = B by Gaussian elimination with pivoting; B has several columns.
fn solve(mut a: Vec<Vec<f64>>, mut b: Vec<Vec<f64>>) -> Vec<Vec<f64>> {
    let n = a.len();
    for k in 0..n {
        let pivot = (k..n).max_by(|&i, &j| a[i][k].abs().total_cmp(&a[j][k].abs())).unwrap();
        a.swap(k, pivot);
        b.swap(k, pivot);
        for i in (0..n).filter(|&i| i != k) {
            let factor = a[i][k] / a[k][k];
            let (of_a, of_b) = (a[k].clone(), b[k].clone());
            a[i].iter_mut().zip(&of_a).for_each(|(x, y)| *x -= factor * y);
            b[i].iter_mut().zip(&of_b).for_each(|(x, y)| *x -= factor * y);
        }
    }
    (0..n).map(|i| b[i].iter().map(|x| x / a[i][i]).collect()).collect()
}

struct Problem {
    /// Between all inputs, row by row.
    kernel: Vec<Vec<f64>>,
    labels: Vec<usize>,
}

const CLASSES: usize = 3;

/// Noisy points around three centres with the kernel (1 + <x, x'>)^2 / 4 + exp(-|x - x'|^2).
fn problem(count: usize, seed: u64) -> Problem {
    let mut noise = vec![0.0; 2 * count];
    Rng::new(seed, 0, 0).fill_normal(&mut noise);
    let labels: Vec<usize> = (0..count).map(|n| n % CLASSES).collect();
    let centre = [(0.0, 1.0), (1.0, -1.0), (-1.0, -0.5)];
    let points: Vec<(f64, f64)> = (0..count)
        .map(|n| {
            let (x, y) = centre[labels[n]];
            (x + 0.9 * f64::from(noise[2 * n]), y + 0.9 * f64::from(noise[2 * n + 1]))
        })
        .collect();
    let entry = |a: (f64, f64), b: (f64, f64)| {
        let distance = (a.0 - b.0).powi(2) + (a.1 - b.1).powi(2);
        (1.0 + a.0 * b.0 + a.1 * b.1).powi(2) / 4.0 + (-distance).exp()
    };
    let kernel = points.iter().map(|&a| points.iter().map(|&b| entry(a, b)).collect()).collect();
    Problem { kernel, labels }
}

/// The outputs at input `at` of the predictor that was fitted to the inputs `known`.
fn refit(problem: &Problem, known: &[usize], at: usize, ridge: f64) -> Vec<f64> {
    let with_ridge = |i: usize, j: usize| problem.kernel[i][j] + if i == j { ridge } else { 0.0 };
    let matrix = known.iter().map(|&i| known.iter().map(|&j| with_ridge(i, j)).collect()).collect();
    let one_hot = |label: usize, class: usize| f64::from(u8::from(label == class)) - 1.0 / CLASSES as f64;
    let targets = known.iter().map(|&i| (0..CLASSES).map(|c| one_hot(problem.labels[i], c)).collect());
    let coefficients = solve(matrix, targets.collect());
    (0..CLASSES)
        .map(|c| known.iter().zip(&coefficients).map(|(&i, a)| problem.kernel[at][i] * a[c]).sum())
        .collect()
}

fn largest(values: &[f64]) -> usize {
    (0..values.len()).max_by(|&a, &b| values[a].total_cmp(&values[b])).unwrap()
}

#[test]
fn leave_one_out_and_predictions_match_explicit_refits() {
    let (train, all) = (25, 45);
    for seed in 0..3 {
        let problem = problem(all, seed);
        let labels = &problem.labels[..train];
        let kernel: Vec<f64> = problem.kernel[..train].iter().flat_map(|row| row[..train].to_vec()).collect();
        let fit = Predictor::fit(&kernel, labels, CLASSES, &Silent).unwrap();
        assert_eq!(fit.tried.len(), 15);
        let mut best = (f64::INFINITY, f64::INFINITY);
        for ridge in &fit.tried {
            let (mut errors, mut squares) = (0, 0.0);
            for (left_out, &label) in labels.iter().enumerate() {
                let known: Vec<usize> = (0..train).filter(|&i| i != left_out).collect();
                let outputs = refit(&problem, &known, left_out, ridge.ridge);
                errors += usize::from(largest(&outputs) != label);
                let target = |c| f64::from(u8::from(label == c)) - 1.0 / CLASSES as f64;
                squares += outputs.iter().enumerate().map(|(c, f)| (f - target(c)).powi(2)).sum::<f64>();
            }
            let (error, square) = (errors as f64 / train as f64, squares / train as f64);
            assert_eq!(ridge.leave_one_out_error, error, "ridge {}", ridge.ridge);
            // Conditions of up to 1e7 times the rounding of f64.
            assert!((ridge.squared_error / square - 1.0).abs() < 1e-6, "ridge {}", ridge.ridge);
            if (error, ridge.squared_error) < best {
                best = (error, ridge.squared_error);
            }
        }
        assert_eq!((fit.best.leave_one_out_error, fit.best.squared_error), best);
        assert!(fit.best.leave_one_out_error < 0.6, "better than guessing: {:?}", fit.best);
        let known: Vec<usize> = (0..train).collect();
        for test in train..all {
            let expected = largest(&refit(&problem, &known, test, fit.best.ridge));
            assert_eq!(fit.class(&problem.kernel[test][..train]), expected, "input {test}");
        }
    }
}

#[test]
fn kernels_without_a_predictor_are_refused() {
    let refused = |kernel: &[f64], labels: &[usize]| Predictor::fit(kernel, labels, 2, &Silent).unwrap_err();
    assert!(refused(&[1.0], &[0]).to_string().contains("at least 2"));
    assert!(refused(&[1.0, -50.0, -50.0, 1.0], &[0, 1]).to_string().contains("not positive definite"));
}
