//! How shells and schedulers run the jobs of a plan.
//!
//! These are lines for machines that have the program and neither this process nor Python, so they
//! are the program's command line even where Python plans: the one place beside the program that
//! knows flags.

use std::path::Path;

/// Most elements of one array job: schedulers allow about a thousand.
const LARGEST_ARRAY: usize = 1000;

/// Jobs that one element of an array runs after each other.
fn chunk(jobs: usize) -> usize {
    jobs.div_ceil(LARGEST_ARRAY)
}

/// A path in single quotes, as shells read it.
fn quoted(path: &Path) -> String {
    let text = path.display().to_string();
    let plain = |c: char| c.is_ascii_alphanumeric() || "/-_.".contains(c);
    if text.chars().all(plain) { text } else { format!("'{}'", text.replace('\'', "'\\''")) }
}

/// What Slurm is given. A job that is run again goes on where it was, so that it can be requeued.
pub(super) fn array_script(directory: &Path, jobs: usize) -> String {
    let (last, chunk) = (jobs.div_ceil(chunk(jobs)) - 1, chunk(jobs));
    let directory = quoted(directory);
    format!(
        "#!/bin/sh\n\
         #SBATCH --job-name=collegial\n\
         #SBATCH --array=0-{last}\n\
         #SBATCH --cpus-per-task=1\n\
         #SBATCH --requeue\n\
         #SBATCH --open-mode=append\n\
         # Runs {jobs} trainings, {chunk} in each element of the array.\n\
         # Submit it again for what is missing.\n\
         first=$((SLURM_ARRAY_TASK_ID * {chunk}))\n\
         last=$((first + {chunk} - 1))\n\
         [ \"$last\" -lt {jobs} ] || last={end}\n\
         exec \"${{COLLEGIAL:-collegial}}\" job {directory} \"$first-$last\" --threads \"${{SLURM_CPUS_PER_TASK:-1}}\" --quiet\n",
        end = jobs - 1
    )
}

/// What runs all jobs, one way per line.
pub(super) fn commands(directory: &Path, jobs: usize, workers: usize) -> Vec<String> {
    let (directory, last) = (quoted(directory), jobs - 1);
    vec![
        format!("sbatch {directory}/array.sbatch"),
        format!("seq 0 {last} | xargs -P {workers} -I I collegial job {directory} I --threads 1 --quiet"),
        format!(
            "parallel -j {workers} collegial job {directory} {{}} --threads 1 --quiet ::: $(seq 0 {last})"
        ),
    ]
}

/// What makes the answer of the finished jobs, and what says how far they are.
pub(super) fn afterwards(directory: &Path) -> [String; 2] {
    ["gather", "status"].map(|verb| format!("collegial {verb} {}", quoted(directory)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_quoted_for_a_shell() {
        assert_eq!(quoted(Path::new("/a/b-1.x")), "/a/b-1.x");
        assert_eq!(quoted(Path::new("/a b/it's")), "'/a b/it'\\''s'");
    }

    #[test]
    fn an_array_has_at_most_a_thousand_elements() {
        let script = array_script(Path::new("/p"), 25_000);
        assert!(script.contains("--array=0-999\n"), "{script}");
        assert!(script.contains("first=$((SLURM_ARRAY_TASK_ID * 25))"), "{script}");
        let script = array_script(Path::new("/p"), 1001);
        assert!(script.contains("--array=0-500\n") && script.contains("last=1000"), "{script}");
    }
}
