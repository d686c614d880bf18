//! A client of the explorer that goes away. Alone in its file: it looks at what the process computes.
#![cfg(target_os = "linux")]

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use collegial::explorer::Explorer;

/// The CPU time of this process over a while, in seconds.
fn cpu_seconds(during: Duration) -> f64 {
    let ticks = || -> f64 {
        let stat = std::fs::read_to_string("/proc/self/stat").unwrap();
        let fields: Vec<&str> = stat.rsplit(')').next().unwrap().split_whitespace().collect();
        fields[11].parse::<f64>().unwrap() + fields[12].parse::<f64>().unwrap()
    };
    let before = ticks();
    std::thread::sleep(during);
    (ticks() - before) / 100.0
}

/// A question ends when its client has gone: it once went on to the end, with every thread.
#[test]
fn a_question_ends_with_its_client() {
    let explorer = Explorer::start(0, None).unwrap();
    let (host, token) = explorer.address().strip_prefix("http://").unwrap().split_once("/#").unwrap();
    let body = r#"{"model": "bottleneck-8192", "draws": 100000}"#;
    let request = format!(
        "POST /ask/kernels HTTP/1.1\r\nHost: {host}\r\nX-Collegial-Token: {token}\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    );
    let mut stream = TcpStream::connect(host).unwrap();
    stream.write_all(request.as_bytes()).unwrap();
    let start = Instant::now();
    while cpu_seconds(Duration::from_millis(500)) < 0.05 {
        assert!(start.elapsed() < Duration::from_secs(60), "it does not begin");
    }
    stream.set_read_timeout(Some(Duration::from_millis(1))).unwrap();
    assert!(stream.read(&mut [0]).is_err(), "it is still computing");
    drop(stream);
    let start = Instant::now();
    while cpu_seconds(Duration::from_secs(1)) > 0.02 {
        assert!(start.elapsed() < Duration::from_secs(60), "it goes on without its client");
    }
}
