//! The program as a user calls it.

use std::process::Command;

/// Runs `collegial` with the words of a line; gives "exit code, stdout, stderr" as one text.
pub fn run(line: &str) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_collegial"))
        .args(line.split_whitespace())
        .env_remove("CLICOLOR_FORCE")
        .env("NO_COLOR", "1")
        .env("LC_ALL", "C.UTF-8")
        .output()
        .expect("the binary runs");
    let code = output.status.code().map_or("killed".to_owned(), |code| code.to_string());
    let stdout = without_times(&String::from_utf8_lossy(&output.stdout));
    let stderr = String::from_utf8_lossy(&output.stderr);
    format!("$ collegial {line}\nexit {code}\n--- stdout\n{stdout}--- stderr\n{stderr}")
}

/// Seconds differ from run to run: lines such as `0.24 s` and `"seconds": 0.24` lose their number.
pub fn without_times(text: &str) -> String {
    let line = |line: &str| {
        let is_time = line.strip_suffix(" s").is_some_and(|number| number.parse::<f64>().is_ok());
        match line.split_once("\"seconds\": ") {
            Some((before, _)) => format!("{before}\"seconds\": [time]\n"),
            None if is_time => "[time] s\n".to_owned(),
            None => format!("{line}\n"),
        }
    };
    text.lines().map(line).collect()
}
