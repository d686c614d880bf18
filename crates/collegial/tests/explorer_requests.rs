//! The server, request by request over plain sockets: what it answers, and what it does not.

use std::io::{Read, Write};
use std::net::TcpStream;

use collegial::explorer::Explorer;
use serde_json::Value;

/// A running server, its host and its token.
struct Running {
    host: String,
    token: String,
    _explorer: Explorer,
}

fn running(start: Option<&str>) -> Running {
    let start: Option<collegial_arch::Spec> = start.map(|name| name.parse().unwrap());
    let explorer = Explorer::start(0, start.as_ref()).unwrap();
    let (host, token) = explorer.address().strip_prefix("http://").unwrap().split_once("/#").unwrap();
    Running { host: host.to_owned(), token: token.to_owned(), _explorer: explorer }
}

/// Sends bytes as they are; gives status and everything behind the headers.
fn exchange(host: &str, request: &[u8]) -> (u16, String) {
    let mut stream = TcpStream::connect(host).unwrap();
    stream.write_all(request).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    let status = answer.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or(0);
    let body = answer.split_once("\r\n\r\n").map_or(String::new(), |(_, body)| body.to_owned());
    (status, body)
}

impl Running {
    fn send(&self, line: &str, headers: &[(&str, &str)], body: &[u8]) -> (u16, String) {
        let mut request =
            format!("{line} HTTP/1.1\r\nConnection: close\r\nContent-Length: {}\r\n", body.len());
        for (name, value) in headers {
            request += &format!("{name}: {value}\r\n");
        }
        exchange(&self.host, &[request.as_bytes(), b"\r\n", body].concat())
    }

    fn post(&self, path: &str, body: &str) -> (u16, String) {
        let headers = [("Host", self.host.as_str()), ("X-Collegial-Token", &self.token)];
        self.send(&format!("POST {path}"), &headers, body.as_bytes())
    }

    fn asked(&self, verb: &str, body: &str) -> Value {
        let (status, answer) = self.post(&format!("/ask/{verb}"), body);
        assert_eq!(status, 200, "{answer}");
        serde_json::from_str(&answer).unwrap()
    }
}

fn sentence(body: &str) -> String {
    serde_json::from_str::<Value>(body).unwrap()["error"].as_str().unwrap().to_owned()
}

#[test]
fn the_page_is_served_to_its_own_host_only() {
    let server = running(None);
    let get = |path: &str, host: &str| server.send(&format!("GET {path}"), &[("Host", host)], b"");
    let (status, page) = get("/", &server.host);
    assert_eq!(status, 200);
    assert!(page.starts_with("<!doctype html>") && !page.contains(&server.token));
    assert_eq!(get("/main.js", &server.host).0, 200);
    for path in ["/../Cargo.toml", "//etc/passwd", "/page.rs", "/%2e%2e/Cargo.toml"] {
        assert_eq!(get(path, &server.host).0, 404, "{path}");
    }
    let port = server.host.split(':').next_back().unwrap();
    for host in ["evil.example", &format!("evil.example:{port}"), &format!("localhost:{port}"), "127.0.0.1"] {
        assert_eq!(get("/", host).0, 421, "{host}");
    }
    assert_eq!(server.send("GET /", &[], b"").0, 400);
    assert_eq!(server.send("DELETE /", &[("Host", &server.host)], b"").0, 405);
}

#[test]
fn questions_need_the_token_and_the_pages_own_origin() {
    let server = running(None);
    let host = ("Host", server.host.as_str());
    let token = ("X-Collegial-Token", server.token.as_str());
    let body = br#"{"model": "fc6-500"}"#;
    let another: String = server.token.chars().rev().collect();
    for path in ["/ask/network", "/drop", "/start"] {
        let line = format!("POST {path}");
        assert_eq!(server.send(&line, &[host], body).0, 401);
        for wrong in ["", "0", &another, &server.token[1..], &format!("{}0", server.token)] {
            let (status, answer) = server.send(&line, &[host, ("X-Collegial-Token", wrong)], body);
            assert_eq!(status, 401, "{wrong}");
            assert!(!answer.contains(&server.token));
        }
        assert_eq!(server.send(&line, &[host, token, ("Origin", "http://evil.example")], body).0, 403);
    }
    let origin = format!("http://{}", server.host);
    assert_eq!(server.send("POST /ask/network", &[host, token, ("Origin", &origin)], body).0, 200);
}

#[test]
fn bad_bodies_are_refused_in_one_sentence() {
    let server = running(None);
    for (verb, body, expected) in [
        ("search", "", "the request is not one"),
        ("search", "[1, 2", "the request is not one"),
        ("search", r#"{"model": "fc6-500", "colour": 1}"#, "unknown field"),
        ("search", r#"{"model": "resnext51-32x4d"}"#, "resnext51-32x4d"),
        ("search", r#"{"model": "fc6-500", "cost": "money"}"#, "cost cannot be \"money\""),
        ("network", r#"{"model": "/etc/passwd"}"#, "unknown model"),
        ("network", r#"{"model": "fc6-500", "design": "many"}"#, "many"),
        ("network", "{\"model\": \"kind = \\\"bottleneck\\\"\\nwidht = 3\\n\"}", "widht"),
        ("nothing", "{}", "there is no question"),
        ("../drop", "{}", "there is no question"),
    ] {
        let (status, answer) = server.post(&format!("/ask/{verb}"), body);
        assert_eq!(status, 400, "{verb} {body}: {answer}");
        assert!(sentence(&answer).contains(expected), "{verb} {body}: {answer}");
    }
    let invalid = server.send(
        "POST /ask/search",
        &[("Host", &server.host), ("X-Collegial-Token", &server.token)],
        b"{\"model\": \"\xff\"}",
    );
    assert!(invalid.0 == 400 && sentence(&invalid.1).contains("UTF-8"));
}

/// So deep that a reader that calls itself runs out of stack, in as many bytes as a request may have.
#[test]
fn nested_requests_are_refused_in_one_sentence() {
    let server = running(None);
    let (arrays, objects) = ("[".repeat(1 << 19), "{\"a\":".repeat(1 << 17));
    let toml = format!("kind = {arrays}\\nwidth = 3");
    for verb in ["models", "search", "network", "take", "pytorch", "kernels"] {
        for body in [
            arrays.clone(),
            objects.clone(),
            format!("{{\"model\": {arrays}"),
            format!("{{\"model\": {objects}"),
            format!("{{\"model\": \"{toml}\"}}"),
            format!("{{\"model\": {}{}}}", "[".repeat(1 << 18), "]".repeat(1 << 18)),
        ] {
            let (status, answer) = server.post(&format!("/ask/{verb}"), &body);
            // This one asks nothing, so that its body is not read.
            if verb == "models" {
                assert_eq!(status, 200);
                continue;
            }
            assert_eq!(status, 400, "{verb} {body:.60}: {answer:.500}");
            let said = sentence(&answer);
            assert!(!said.contains('\n') && said.len() < 4000, "{verb} {body:.60}: {said:.500}");
        }
    }
    assert_eq!(server.asked("network", r#"{"model": "fc6-500"}"#)["model"], "fc6-500");
}

/// The first line was found by fuzzing: it made the HTTP library of the time panic.
#[test]
fn requests_that_are_none_are_refused() {
    let server = running(None);
    let own = format!("Host: {}\r\n", server.host);
    let long = format!("X: {}\r\n", "a".repeat(1 << 16));
    for (request, expected) in [
        (format!("GET - HTTP/1.1\r\n{own}\r\n"), 404),
        (format!("GET http://evil.example HTTP/1.1\r\n{own}\r\n"), 404),
        (format!("GET / HTTP/1.1\r\n{own}{own}\r\n"), 400),
        (
            format!("GET / HTTP/1.1\r\n{own}Origin: http://{0}\r\norigin: http://evil\r\n\r\n", server.host),
            400,
        ),
        (format!("GET / HTTP/1.1\r\n{own}{long}\r\n"), 400),
        (format!("GET / HTTP/3.7\r\n{own}\r\n"), 400),
        ("\r\n\r\n\r\n".to_owned(), 400),
    ] {
        let (status, answer) = exchange(&server.host, request.as_bytes());
        assert_eq!(status, expected, "{request:.60}");
        assert!(!sentence(&answer).is_empty());
    }
    let token = format!("X-Collegial-Token: {}\r\n", server.token);
    for length in
        ["Transfer-Encoding: chunked", "Content-Length: -1", "Content-Length: 1e3", "Content-Length: +7"]
    {
        let request = format!("POST /ask/network HTTP/1.1\r\n{own}{token}{length}\r\n\r\n");
        assert_eq!(exchange(&server.host, request.as_bytes()).0, 400, "{length}");
    }
}

#[test]
fn oversized_requests_are_refused_unread() {
    let server = running(None);
    let long = " ".repeat((1 << 20) + 1);
    let (status, answer) = server.post("/ask/search", &long);
    assert_eq!((status, sentence(&answer).as_str()), (413, "the request is longer than 1048576 bytes"));
    // A length that is only claimed is believed, and nothing is planned for it.
    let head = format!(
        "POST /drop HTTP/1.1\r\nHost: {}\r\nX-Collegial-Token: {}\r\nContent-Length: 99999999999999\r\n\r\n",
        server.host, server.token
    );
    let mut stream = TcpStream::connect(&server.host).unwrap();
    stream.write_all(head.as_bytes()).unwrap();
    stream.shutdown(std::net::Shutdown::Write).unwrap();
    let mut answer = String::new();
    let _ = stream.read_to_string(&mut answer);
    assert!(!answer.starts_with("HTTP/1.1 200"), "{answer}");
    // It goes on answering.
    assert_eq!(server.asked("network", r#"{"model": "fc6-500"}"#)["model"], "fc6-500");
}

#[test]
fn the_answers_are_those_of_ops() {
    let server = running(Some("resnext50-32x4d"));
    assert_eq!(server.post("/start", ""), (200, r#"{"model":"resnext50-32x4d"}"#.to_owned()));
    let request = r#"{"model": "resnext29-1x128d", "cost": "flops", "multiple_of": 8, "rule": "nearest"}"#;
    let answer = server.asked("search", request);
    let expected = collegial::search::run(&collegial::request(request).unwrap(), &collegial::Silent);
    let expected: Value =
        serde_json::from_str(&collegial::Answer::json(&expected.unwrap()).unwrap()).unwrap();
    for key in ["primal", "dual", "curve", "nearby", "baseline_score", "blocks"] {
        assert_eq!(answer[key], expected[key], "{key}");
    }
    let flat = &answer["flat"];
    let (low, high) = (flat["low"].as_f64().unwrap(), flat["high"].as_f64().unwrap());
    let best = answer["curve"].as_array().unwrap().iter();
    let best = best.map(|point| point["primal_objective"].as_f64().unwrap()).fold(f64::INFINITY, f64::min);
    for point in answer["curve"].as_array().unwrap() {
        let inside = (low..=high).contains(&point["width"].as_f64().unwrap());
        assert_eq!(inside, point["primal_objective"].as_f64().unwrap() <= 1.01 * best, "{point}");
    }
}

#[test]
fn dropped_files_become_specs() {
    let server = running(None);
    let headers = |name: &'static str| {
        [
            ("Host", server.host.clone()),
            ("X-Collegial-Token", server.token.clone()),
            ("X-File-Name", name.to_owned()),
        ]
    };
    let dropped = |name: &'static str, content: &[u8]| {
        let headers = headers(name);
        let headers: Vec<(&str, &str)> =
            headers.iter().map(|(name, value)| (*name, value.as_str())).collect();
        server.send("POST /drop", &headers, content)
    };
    let directory = tempfile::tempdir().unwrap();
    for (format, ending) in [("safetensors", "safetensors"), ("onnx", "onnx")] {
        let out = directory.path().join(format!("net.{ending}"));
        let request = serde_json::json!({ "model": "fc3-2x5", "to": format, "out": out }).to_string();
        let request: collegial::export::Request = collegial::request(&request).unwrap();
        collegial::export::run(&request, &collegial::Silent).unwrap();
        let name = if ending == "onnx" { "a%20net.onnx" } else { "net.safetensors" };
        let (status, answer) = dropped(name, &std::fs::read(&out).unwrap());
        assert_eq!(status, 200, "{answer}");
        assert_eq!(serde_json::from_str::<Value>(&answer).unwrap()["model"], "fc3-2x5");
    }
    let toml = "bottleneck-9".parse::<collegial_arch::Spec>().unwrap().to_toml();
    assert_eq!(dropped("mine.toml", toml.as_bytes()).0, 200);
    for (name, content, words) in [
        ("net.safetensors", b"no" as &[u8], "is not a whole checkpoint"),
        ("net.onnx", b"", "ONNX"),
        ("net.pth", b"PK\x03\x04", "safetensors"),
        ("net", b"", "is not a whole checkpoint"),
        ("net.toml", b"kind = 3", "line 1"),
    ] {
        let (status, answer) = dropped(name, content);
        assert_eq!(status, 400, "{name}: {answer}");
        let said = sentence(&answer);
        assert!(said.contains(words), "{name}: {said}");
    }
}

/// Slow clients, and a thousand that only connect, keep the page from nobody.
#[test]
fn a_thousand_idle_connections_keep_nobody_away() {
    let server = running(None);
    let start = std::time::Instant::now();
    let mut idle: Vec<TcpStream> = vec![];
    for number in 0..1000 {
        let Ok(mut stream) = TcpStream::connect(&server.host) else { continue };
        // Every second one begins a request and never ends it.
        if number % 2 == 0 {
            let _ = stream.write_all(b"POST /ask/search HTTP/1.1\r\nHost: ");
        }
        idle.push(stream);
        if number % 100 == 99 {
            assert_eq!(server.asked("network", r#"{"model": "fc6-500"}"#)["model"], "fc6-500");
        }
    }
    assert!(idle.len() > 900, "{} connections", idle.len());
    // One that has to wait until idle ones time out waits for minutes in all.
    assert!(start.elapsed().as_secs() < 60, "the page waited for {:?}", start.elapsed());
    // The oldest were closed, the newest wait.
    idle[0].set_read_timeout(Some(std::time::Duration::from_secs(10))).unwrap();
    assert!(matches!(idle[0].read(&mut [0]), Ok(0) | Err(_)));
    assert_eq!(server.asked("network", r#"{"model": "fc6-500"}"#)["model"], "fc6-500");
}

/// What would take long is refused before it begins, and so are answers of millions of numbers.
#[test]
fn the_cost_of_a_question_is_limited() {
    let server = running(None);
    for (verb, body, words) in [
        ("search", r#"{"model": "fc6-500", "check": true}"#, "check draws whole networks"),
        ("search", r#"{"model": "fc6-500", "cost": "time"}"#, "cost time runs the networks"),
        ("search", r#"{"model": "bottleneck-64", "trials": 1000000000}"#, "takes at most 20000"),
        ("search", r#"{"model": "bottleneck-64", "precision": 1e-9}"#, "takes at least 0.005"),
        ("search", r#"{"model": "fc10-99999"}"#, "it takes multiple of 4;"),
        ("search", r#"{"model": "bottleneck-2000", "trials": 20000}"#, "it takes trials 10000;"),
        ("kernels", r#"{"model": "fc3-8", "draws": 10000000}"#, "takes at most 100000"),
        ("kernels", r#"{"model": "bottleneck-16384", "draws": 100000}"#, "multiplications"),
    ] {
        let (status, answer) = server.post(&format!("/ask/{verb}"), body);
        assert_eq!(status, 400, "{verb} {body}: {answer}");
        assert!(sentence(&answer).contains(words), "{verb} {body}: {answer}");
    }
}
