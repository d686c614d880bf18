//! The page on loopback.
//!
//! HTTP is `oxhttp`'s: small, synchronous, a thread per connection and no runtime (`tiny_http` can
//! leave one of several connections that a browser opens at once without a thread). Only requests
//! for this server's own Host are answered, and questions only with its token, which is drawn anew
//! for every run. The page's files hold nothing of the user's; the token comes with the address as
//! a fragment, which browsers do not send.

use std::io::Read as _;
use std::net::{Ipv4Addr, TcpListener};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

use collegial_arch::Spec;
use oxhttp::Server;
use oxhttp::model::{Body, Method, Request, Response};
use serde_json::json;

use crate::ask::{Refusal, ask, dropped};
use crate::page::{FILES, POLICY};

/// The longest request; specs are short.
const MOST_ASKED: u64 = 1 << 20;

/// The largest file that can be dropped.
const MOST_DROPPED: u64 = 1 << 29;

/// Connections at the same time; browsers open six.
const CONNECTIONS: usize = 32;

/// Free ports to try where any will do: another program may take one between looking and listening.
const TRIES: usize = 5;

/// Between two looks at whether to stop.
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// The header that carries the token.
const TOKEN: &str = "X-Collegial-Token";

/// The header that carries the name of a dropped file, percent-encoded.
const FILE_NAME: &str = "X-File-Name";

/// Why the page cannot be served, in one sentence.
#[derive(Debug)]
#[non_exhaustive]
pub enum ServeError {
    /// The port is taken or not allowed.
    Port {
        /// Which.
        port: u16,
        /// The system's words.
        reason: String,
    },
    /// The system has no random numbers for the token.
    Token(String),
}

impl std::fmt::Display for ServeError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Port { port, reason } => {
                write!(f, "cannot listen on port {port} of 127.0.0.1: {reason}; 0 takes any that is free")
            }
            Self::Token(reason) => write!(f, "cannot draw a token: {reason}"),
        }
    }
}

impl std::error::Error for ServeError {}

/// The page's server, listening until the process ends.
pub struct Explorer {
    address: String,
}

/// What every connection needs.
struct Desk {
    host: String,
    token: String,
    start: Option<Spec>,
}

impl Explorer {
    /// Listens on a port of loopback, 0 for any that is free; the page opens with the baseline
    /// `start`.
    ///
    /// # Errors
    ///
    /// Where the port cannot be had.
    pub fn start(port: u16, start: Option<&Spec>) -> Result<Self, ServeError> {
        let mut random = [0; 16];
        getrandom::fill(&mut random).map_err(|error| ServeError::Token(error.to_string()))?;
        let token: String = random.iter().map(|byte| format!("{byte:02x}")).collect();
        let tries = if port == 0 { TRIES } else { 1 };
        let mut last = None;
        for _ in 0..tries {
            match listen(port, &token, start.cloned()) {
                Ok(host) => return Ok(Self { address: format!("http://{host}/#{token}") }),
                Err(error) => last = Some(error),
            }
        }
        let reason = last.map_or(String::new(), |error| error.to_string());
        Err(ServeError::Port { port, reason })
    }

    /// The address to open, token included.
    pub fn address(&self) -> &str {
        &self.address
    }

    /// Waits until `stopped` says so.
    pub fn wait(&self, stopped: impl Fn() -> bool) {
        while !stopped() {
            std::thread::sleep(LOOK_EVERY);
        }
    }
}

/// Starts to answer; gives host and port.
fn listen(port: u16, token: &str, start: Option<Spec>) -> std::io::Result<String> {
    let port = match port {
        0 => TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?.local_addr()?.port(),
        port => port,
    };
    let host = format!("{}:{port}", Ipv4Addr::LOCALHOST);
    let desk = Desk { host: host.clone(), token: token.to_owned(), start };
    let server = Server::new(move |request| desk.reply(request)).bind((Ipv4Addr::LOCALHOST, port));
    server.with_max_concurrent_connections(CONNECTIONS).spawn()?;
    Ok(host)
}

impl Desk {
    fn reply(&self, request: &mut Request<Body>) -> Response<Body> {
        if header(request, "Host") != Some(&self.host) {
            return refusal(421, "this is another host's page");
        }
        let origin = format!("http://{}", self.host);
        if header(request, "Origin").is_some_and(|from| *from != origin) {
            return refusal(403, "other pages have no answers from here");
        }
        let path = request.uri().path().trim_start_matches('/').to_owned();
        match (request.method(), path.as_str()) {
            (&Method::GET, name) => file(name),
            (&Method::POST, _) if !self.admits(request) => {
                refusal(401, "the token is missing or another run's; open the address that collegial printed")
            }
            (&Method::POST, "start") => self.started(),
            (&Method::POST, "drop") => drop_in(request),
            (&Method::POST, path) => match path.strip_prefix("ask/") {
                Some(verb) => question(request, verb),
                None => refusal(404, "there is nothing at this address"),
            },
            _ => refusal(405, "only GET and POST are understood"),
        }
    }

    /// Whether a request has the token; takes as long for a wrong one as for the right one.
    fn admits(&self, request: &Request<Body>) -> bool {
        let given = header(request, TOKEN).unwrap_or_default().as_bytes();
        let pairs = given.iter().zip(self.token.as_bytes());
        given.len() == self.token.len() && pairs.fold(0, |off, (a, b)| off | (a ^ b)) == 0
    }

    fn started(&self) -> Response<Body> {
        let named = |spec: &Spec| spec.name().parse::<Spec>().is_ok_and(|named| named == *spec);
        let model = self.start.as_ref().map(|spec| if named(spec) { spec.name() } else { spec.to_toml() });
        answered(&json!({ "model": model }).to_string())
    }
}

fn question(request: &mut Request<Body>, verb: &str) -> Response<Body> {
    match body(request, MOST_ASKED) {
        Ok(body) => computed(|| ask(verb, &body)),
        Err(refused) => *refused,
    }
}

fn drop_in(request: &mut Request<Body>) -> Response<Body> {
    let name = header(request, FILE_NAME).and_then(decoded).unwrap_or_default();
    match body(request, MOST_DROPPED) {
        Ok(body) => computed(|| dropped(&name, &body)),
        Err(refused) => *refused,
    }
}

/// An answer, a refusal, or, were a computation to break off, the sentence that it did.
fn computed(compute: impl FnOnce() -> Result<String, Refusal>) -> Response<Body> {
    match catch_unwind(AssertUnwindSafe(compute)) {
        Ok(Ok(answer)) => answered(&answer),
        Ok(Err(Refusal(sentence))) => refusal(400, &sentence),
        Err(_) => refusal(500, "the computation broke off; what it said is where collegial was started"),
    }
}

fn file(name: &str) -> Response<Body> {
    let name = if name.is_empty() { "index.html" } else { name };
    match FILES.iter().find(|file| file.name == name) {
        Some(file) => response(200, file.kind, file.content.as_bytes().to_vec()),
        None => refusal(404, "there is nothing at this address"),
    }
}

/// The whole body, or a refusal where it is longer than allowed.
fn body(request: &mut Request<Body>, most: u64) -> Result<Vec<u8>, Box<Response<Body>>> {
    let too_long = || Box::new(refusal(413, &format!("the request is longer than {most} bytes")));
    if request.body().len().is_some_and(|length| length > most) {
        return Err(too_long());
    }
    let mut body = vec![];
    let read = request.body_mut().take(most + 1).read_to_end(&mut body);
    match read {
        Ok(length) if length as u64 > most => Err(too_long()),
        Ok(_) => Ok(body),
        Err(error) => Err(Box::new(refusal(400, &format!("the request broke off: {error}")))),
    }
}

fn header<'a>(request: &'a Request<Body>, name: &'static str) -> Option<&'a str> {
    request.headers().get(name)?.to_str().ok()
}

/// Percent-encoded UTF-8.
fn decoded(text: &str) -> Option<String> {
    let (mut bytes, mut rest) = (vec![], text.as_bytes());
    while let Some((&first, tail)) = rest.split_first() {
        if first != b'%' {
            bytes.push(first);
            rest = tail;
            continue;
        }
        let digits = std::str::from_utf8(tail.get(..2)?).ok()?;
        bytes.push(u8::from_str_radix(digits, 16).ok()?);
        rest = &tail[2..];
    }
    String::from_utf8(bytes).ok()
}

fn answered(json: &str) -> Response<Body> {
    response(200, "application/json", json.as_bytes().to_vec())
}

fn refusal(status: u16, sentence: &str) -> Response<Body> {
    response(status, "application/json", json!({ "error": sentence }).to_string().into_bytes())
}

fn response(status: u16, kind: &'static str, content: Vec<u8>) -> Response<Body> {
    let response = Response::builder()
        .status(status)
        .header("Content-Type", kind)
        .header("Content-Security-Policy", POLICY)
        .header("X-Content-Type-Options", "nosniff")
        .header("Referrer-Policy", "no-referrer")
        .header("Cross-Origin-Resource-Policy", "same-origin")
        .header("Cache-Control", "no-store");
    response.body(content.into()).unwrap_or_default()
}
