//! Scripts by which shells and schedulers run the jobs of a plan.
//!
//! These are lines for machines that have the program and neither this process nor Python, so they
//! are the program's command line even where Python plans: the one place beside the program that
//! knows flags.

use std::path::Path;

use collegial_experiments::jobs::Machine;

/// Most elements of one array job: schedulers allow about a thousand.
const LARGEST_ARRAY: usize = 1000;

/// Elements that an array keeps where jobs are short: enough for as many workers.
const USUAL_ARRAY: usize = 100;

/// Seconds that an element of an array lasts at least, where there are enough jobs: starting one
/// takes a scheduler seconds, and its first job reads the data that the others find in memory.
const ELEMENT: f64 = 600.0;

/// Jobs of a mean number of seconds that one element of an array runs after each other.
pub(super) fn chunk(jobs: usize, seconds: f64) -> usize {
    let lasting = (ELEMENT / seconds.max(1e-3)).ceil() as usize;
    lasting.min(jobs / USUAL_ARRAY).max(jobs.div_ceil(LARGEST_ARRAY))
}

/// A path in single quotes, as every shell reads it: its very bytes, which need not be text.
fn quoted_bytes(path: &Path) -> Vec<u8> {
    let bytes = path.as_os_str().as_encoded_bytes();
    if bytes.iter().all(|byte| is_plain(*byte)) {
        return bytes.to_vec();
    }
    let inside = bytes.iter().flat_map(|byte| match byte {
        b'\'' => b"'\\''".as_slice(),
        byte => std::slice::from_ref(byte),
    });
    [b"'".as_slice(), &inside.copied().collect::<Vec<u8>>(), b"'"].concat()
}

/// The same as text. What is no text, and control characters, are written as bash, zsh and ksh read
/// them: `$'d\xff'`.
fn quoted(path: &Path) -> String {
    if let Ok(text) = String::from_utf8(quoted_bytes(path))
        && !text.contains(char::is_control)
    {
        return text;
    }
    let escaped = |byte: &u8| match byte {
        b'\'' | b'\\' => format!("\\{}", char::from(*byte)),
        b' '..=b'~' => char::from(*byte).to_string(),
        byte => format!("\\x{byte:02x}"),
    };
    format!("$'{}'", path.as_os_str().as_encoded_bytes().iter().map(escaped).collect::<String>())
}

fn is_plain(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"/-_.".contains(&byte)
}

/// What Slurm is given. A job that is run again goes on where it was, so that it can be requeued.
pub(super) fn array_script(directory: &Path, jobs: usize, chunk: usize, machine: &Machine) -> Vec<u8> {
    let (last, instructions) = (jobs.div_ceil(chunk) - 1, &machine.instructions);
    let head = format!(
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
         # Other instructions give other last bits.\n\
         export COLLEGIAL_INSTRUCTIONS={instructions}\n\
         exec \"${{COLLEGIAL:-collegial}}\" job ",
        end = jobs - 1
    );
    let tail = " \"$first-$last\" --threads \"${SLURM_CPUS_PER_TASK:-1}\" --quiet\n";
    [head.as_bytes(), &quoted_bytes(directory), tail.as_bytes()].concat()
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
        assert_eq!(quoted(Path::new("/a\u{1b}'é")), r"$'/a\x1b\'\xc3\xa9'");
        #[cfg(unix)]
        {
            use std::os::unix::ffi::OsStrExt;
            let odd = Path::new(std::ffi::OsStr::from_bytes(b"d\xff"));
            assert_eq!((quoted(odd), quoted_bytes(odd)), (r"$'d\xff'".into(), b"'d\xff'".to_vec()));
        }
    }

    #[test]
    fn short_jobs_share_an_element_as_long_as_there_are_elements_enough() {
        assert_eq!([(4, 1.0), (150, 1e6), (150, 1.0)].map(|(jobs, seconds)| chunk(jobs, seconds)), [1, 1, 1]);
        // Ten minutes each, or a hundred elements, or what a thousand of them take.
        assert_eq!(chunk(5_000, 60.0), 10);
        assert_eq!(chunk(5_000, 5.0), 50);
        assert_eq!([60.0, 3600.0, 0.0].map(|seconds| chunk(25_000, seconds)), [25, 25, 250]);
    }

    #[test]
    fn an_array_has_at_most_a_thousand_elements() {
        let script = |jobs, seconds| {
            let script = array_script(Path::new("/p"), jobs, chunk(jobs, seconds), &Machine::here());
            String::from_utf8(script).unwrap()
        };
        let long = script(25_000, 3600.0);
        assert!(long.contains("--array=0-999\n"), "{long}");
        assert!(long.contains("first=$((SLURM_ARRAY_TASK_ID * 25))"), "{long}");
        let short = script(1001, 3600.0);
        assert!(short.contains("--array=0-500\n") && short.contains("last=1000"), "{short}");
        let instructions = Machine::here().instructions;
        assert!(short.contains(&format!("\nexport COLLEGIAL_INSTRUCTIONS={instructions}\n")), "{short}");
    }
}
