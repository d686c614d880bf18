//! The page on loopback.
//!
//! Only requests for this server's own Host are answered, and questions only with its token, which
//! is drawn anew for every run. The page's files hold nothing of the user's; the token comes with
//! the address as a fragment, which browsers do not send.

use std::net::{Ipv4Addr, TcpListener};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use collegial_arch::Spec;
use serde_json::json;

use crate::Monitor;
use crate::explorer::ask::{RequestError, ask_watched, dropped};
use crate::explorer::http::{Refused, Request, Response, serve};
use crate::explorer::page::{FILES, POLICY};

/// The longest request; specs are short.
const MOST_ASKED: u64 = 1 << 20;

/// The largest file that can be dropped.
const MOST_DROPPED: u64 = 1 << 29;

/// Questions that are computed at once; a page asks three.
const MOST_COMPUTED: usize = 8;

/// The longest answer; that of a large network has some hundred kilobytes.
const MOST_ANSWERED: usize = 1 << 25;

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
    /// Questions that are being computed.
    computed: AtomicUsize,
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
        let host = listen(port, &token, start.cloned())
            .map_err(|error| ServeError::Port { port, reason: error.to_string() })?;
        Ok(Self { address: format!("http://{host}/#{token}") })
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
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port))?;
    let host = listener.local_addr()?.to_string();
    let desk =
        Arc::new(Desk { host: host.clone(), token: token.to_owned(), start, computed: AtomicUsize::new(0) });
    serve(listener, move |request| match request {
        Ok(request) => desk.reply(request),
        Err(refused) => refused.into(),
    })?;
    Ok(host)
}

impl Desk {
    fn reply(&self, request: &mut Request) -> Response {
        let Some(host) = request.header("Host") else {
            return refusal(400, "the request names no host");
        };
        if host != self.host {
            return refusal(421, "this is another host's page");
        }
        let origin = format!("http://{}", self.host);
        if request.header("Origin").is_some_and(|from| *from != origin) {
            return refusal(403, "other pages have no answers from here");
        }
        let path = request.path.trim_start_matches('/').to_owned();
        match (request.method.as_str(), path.as_str()) {
            ("GET", name) => file(name),
            ("POST", _) if !self.admits(request) => {
                refusal(401, "the token is missing or another run's; open the address that collegial printed")
            }
            ("POST", "start") => self.started(),
            ("POST", "drop") => self.drop_in(request),
            ("POST", path) => match path.strip_prefix("ask/") {
                Some(verb) => self.question(request, verb),
                None => refusal(404, "there is nothing at this address"),
            },
            _ => refusal(405, "only GET and POST are understood"),
        }
    }

    /// Whether a request has the token; takes as long for a wrong one as for the right one.
    fn admits(&self, request: &Request) -> bool {
        let given = request.header(TOKEN).unwrap_or_default().as_bytes();
        let pairs = given.iter().zip(self.token.as_bytes());
        given.len() == self.token.len() && pairs.fold(0, |off, (a, b)| off | (a ^ b)) == 0
    }

    fn question(&self, request: &mut Request, verb: &str) -> Response {
        match request.body(MOST_ASKED) {
            Ok(body) => self.computed(request, |client| ask_watched(verb, &body, client)),
            Err(refused) => refused.into(),
        }
    }

    fn drop_in(&self, request: &mut Request) -> Response {
        let name = request.header(FILE_NAME).and_then(decoded).unwrap_or_default();
        match request.body(MOST_DROPPED) {
            Ok(body) => self.computed(request, |_| dropped(&name, &body)),
            Err(refused) => refused.into(),
        }
    }

    /// An answer, a refusal, or, were a computation to break off, the sentence that it did. It stops
    /// when the client has gone.
    fn computed(
        &self,
        request: &mut Request,
        compute: impl FnOnce(&dyn Monitor) -> Result<String, RequestError>,
    ) -> Response {
        let client = match request.client() {
            Ok(client) => client,
            Err(refused) => return refused.into(),
        };
        if self.computed.fetch_add(1, Ordering::SeqCst) >= MOST_COMPUTED {
            self.computed.fetch_sub(1, Ordering::SeqCst);
            return refusal(503, &format!("{MOST_COMPUTED} questions are being computed already; ask again"));
        }
        let result = catch_unwind(AssertUnwindSafe(|| compute(&client)));
        self.computed.fetch_sub(1, Ordering::SeqCst);
        match result {
            Ok(result) => limited(result),
            Err(_) => refusal(500, "the computation broke off; what it said is where collegial was started"),
        }
    }

    fn started(&self) -> Response {
        let named = |spec: &Spec| spec.name().parse::<Spec>().is_ok_and(|named| named == *spec);
        let model = self.start.as_ref().map(|spec| if named(spec) { spec.name() } else { spec.to_toml() });
        answered(&json!({ "model": model }).to_string())
    }
}

fn file(name: &str) -> Response {
    let name = if name.is_empty() { "index.html" } else { name };
    match FILES.iter().find(|file| file.name == name) {
        Some(file) => response(200, file.kind, file.content.as_bytes().to_vec()),
        None => refusal(404, "there is nothing at this address"),
    }
}

impl From<Refused> for Response {
    fn from(refused: Refused) -> Self {
        match refused {
            Refused::Broken(error) => refusal(400, &format!("the request broke off: {error}")),
            Refused::Malformed(reason) => refusal(400, reason),
            Refused::TooLong(most) => refusal(413, &format!("the request is longer than {most} bytes")),
        }
    }
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

fn answered(json: &str) -> Response {
    response(200, "application/json", json.as_bytes().to_vec())
}

/// An answer that is not too long for a page, or the sentence of a refusal.
fn limited(result: Result<String, RequestError>) -> Response {
    match result {
        Ok(answer) if answer.len() > MOST_ANSWERED => {
            let length = answer.len();
            refusal(
                400,
                &format!("the answer has {length} bytes, more than the page takes ({MOST_ANSWERED})"),
            )
        }
        Ok(answer) => answered(&answer),
        Err(RequestError(sentence)) => refusal(400, &sentence),
    }
}

fn refusal(status: u16, sentence: &str) -> Response {
    response(status, "application/json", json!({ "error": sentence }).to_string().into_bytes())
}

fn response(status: u16, kind: &'static str, content: Vec<u8>) -> Response {
    let headers = vec![
        ("Content-Type", kind),
        ("Content-Security-Policy", POLICY),
        ("X-Content-Type-Options", "nosniff"),
        ("Referrer-Policy", "no-referrer"),
        ("Cross-Origin-Resource-Policy", "same-origin"),
        ("Cache-Control", "no-store"),
    ];
    Response { status, headers, content }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_have_a_longest_length() {
        let of = |length: usize| limited(Ok("1".repeat(length)));
        assert_eq!((of(MOST_ANSWERED).status, of(MOST_ANSWERED).content.len()), (200, MOST_ANSWERED));
        let refused = of(MOST_ANSWERED + 1);
        assert_eq!(refused.status, 400);
        let sentence = String::from_utf8(refused.content).unwrap();
        assert!(sentence.contains("the answer has 33554433 bytes, more than the page takes (33554432)"));
    }
}
