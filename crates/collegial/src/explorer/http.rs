//! HTTP 1.1 as a page on loopback needs it: a request per connection, then it is closed.
//!
//! By hand on `httparse`, because servers that need no runtime have faults: `oxhttp` panics on
//! `GET - HTTP/1.1`, and `tiny_http` can leave one of several connections that a browser opens at
//! once without a thread. Bodies have a stated length; chunks are refused.

use std::collections::VecDeque;
use std::io::{BufRead, BufReader, Error, ErrorKind, Read as _, Write as _};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::Monitor;

/// Connections at a time whose requests are read or answers written; browsers open six at once. One
/// more closes the oldest of them, so that slow ones keep nobody away.
const MOST_CONNECTIONS: usize = 64;

/// The longest request line with all headers, in bytes.
const LONGEST_HEAD: u64 = 1 << 16;

/// The most headers.
const MOST_HEADERS: usize = 64;

/// How long a connection may be silent.
const SILENCE: Duration = Duration::from_secs(20);

/// Between two looks whether a client that waits for its answer is still there.
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// What is read of a body that was refused, so that the client comes to read why.
const MOST_DISCARDED: u64 = 1 << 26;

/// Between two tries where the system gives no connection.
const PAUSE: Duration = Duration::from_millis(50);

/// A request whose body has not been read yet.
pub struct Request {
    /// `GET`, `POST` and the like.
    pub method: String,
    /// The path as it came, without the query.
    pub path: String,
    headers: Vec<(String, String)>,
    stream: BufReader<TcpStream>,
    /// Its place among those that read and write; none while its answer is computed.
    place: Option<Place>,
}

/// Why there is no request or no body.
pub enum Refused {
    /// The connection broke off or was silent for too long.
    Broken(Error),
    /// The bytes are not a request as it is understood here.
    Malformed(&'static str),
    /// The body is longer than this many bytes.
    TooLong(u64),
}

/// What is answered.
pub struct Response {
    /// 200 and the like.
    pub status: u16,
    /// Lines beside the length, by name.
    pub headers: Vec<(&'static str, &'static str)>,
    /// The body.
    pub content: Vec<u8>,
}

/// Answers every connection to a listener until the process ends. `answer` is given the request,
/// or why there is none.
pub fn serve<F>(listener: TcpListener, answer: F) -> Result<(), Error>
where
    F: Fn(Result<&mut Request, Refused>) -> Response + Clone + Send + 'static,
{
    let lobby = Lobby::default();
    let take = move || {
        loop {
            let Ok((stream, _)) = listener.accept() else {
                std::thread::sleep(PAUSE);
                continue;
            };
            // A client that went away has no use for an error, nor has one whom there is no thread for.
            let Ok(place) = lobby.enter(&stream) else { continue };
            let answer = answer.clone();
            let thread = std::thread::Builder::new().name("connection".to_owned());
            drop(thread.spawn(move || drop(exchange(stream, place, &answer))));
        }
    };
    std::thread::Builder::new().name("explorer".to_owned()).spawn(take)?;
    Ok(())
}

/// The connections that read or write, the oldest first.
#[derive(Clone, Default)]
struct Lobby(Arc<Mutex<VecDeque<(u64, TcpStream)>>>);

/// A connection's place among them, which it leaves when dropped.
struct Place {
    lobby: Lobby,
    number: u64,
}

impl Lobby {
    /// Lets a connection in; where there is no place the oldest one is closed.
    fn enter(&self, stream: &TcpStream) -> Result<Place, Error> {
        static NUMBERS: AtomicU64 = AtomicU64::new(0);
        let (number, twin) = (NUMBERS.fetch_add(1, Ordering::Relaxed), stream.try_clone()?);
        let mut inside = self.inside();
        while inside.len() >= MOST_CONNECTIONS {
            if let Some((_, oldest)) = inside.pop_front() {
                // One that is closed already needs no more.
                let _ = oldest.shutdown(Shutdown::Both);
            }
        }
        inside.push_back((number, twin));
        Ok(Place { lobby: self.clone(), number })
    }

    fn inside(&self) -> MutexGuard<'_, VecDeque<(u64, TcpStream)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.lobby.inside().retain(|(number, _)| *number != self.number);
    }
}

fn exchange(
    stream: TcpStream,
    place: Place,
    answer: &impl Fn(Result<&mut Request, Refused>) -> Response,
) -> Result<(), Error> {
    stream.set_nodelay(true)?;
    stream.set_read_timeout(Some(SILENCE))?;
    stream.set_write_timeout(Some(SILENCE))?;
    let mut writer = stream.try_clone()?;
    let rest = stream.try_clone()?;
    let lobby = place.lobby.clone();
    let (response, _place) = match Request::read(stream, place) {
        Ok(mut request) => {
            let response = answer(Ok(&mut request));
            // A question that was computed has left the lobby, where its answer would be written.
            let place = request.place.take().map_or_else(|| lobby.enter(&writer), Ok)?;
            (response, place)
        }
        Err((Refused::Broken(error), _)) => return Err(error),
        Err((refused, place)) => (answer(Err(refused)), place),
    };
    response.write(&mut writer)?;
    // Closing with bytes unread would reset the connection before the answer is read.
    writer.shutdown(Shutdown::Write)?;
    std::io::copy(&mut rest.take(MOST_DISCARDED), &mut std::io::sink())?;
    Ok(())
}

/// The client of a request that is computed: the computation stops when it has gone.
pub struct Client {
    stream: TcpStream,
    last: Mutex<Instant>,
    gone: AtomicBool,
}

impl Monitor for Client {
    fn progress(&self, _share: f64, _state: Option<&str>) {}

    /// Looks now and then, on whichever thread asks. A client that closed its half of the connection
    /// counts as gone: pages do not.
    fn stopped(&self) -> bool {
        if let Ok(mut last) = self.last.try_lock()
            && last.elapsed() >= LOOK_EVERY
        {
            *last = Instant::now();
            if self.has_gone() {
                self.gone.store(true, Ordering::Relaxed);
            }
        }
        self.gone.load(Ordering::Relaxed)
    }
}

impl Client {
    /// Nobody else reads or writes while the answer is computed, so that the mode may change.
    fn has_gone(&self) -> bool {
        let look = || {
            self.stream.set_nonblocking(true)?;
            let found = self.stream.peek(&mut [0]);
            self.stream.set_nonblocking(false)?;
            found
        };
        match look() {
            Ok(bytes) => bytes == 0,
            Err(error) => error.kind() != ErrorKind::WouldBlock,
        }
    }
}

impl Request {
    fn read(stream: TcpStream, place: Place) -> Result<Self, (Refused, Place)> {
        match Self::read_headers(stream) {
            Ok(request) => Ok(Self { place: Some(place), ..request }),
            Err(refused) => Err((refused, place)),
        }
    }

    fn read_headers(stream: TcpStream) -> Result<Self, Refused> {
        let mut stream = BufReader::new(stream);
        let head = read_head(&mut stream)?;
        let mut headers = [httparse::EMPTY_HEADER; MOST_HEADERS];
        let mut parsed = httparse::Request::new(&mut headers);
        if !parsed.parse(&head).is_ok_and(|status| status.is_complete()) {
            return Err(Refused::Malformed("this is no request of HTTP 1.1"));
        }
        let text = |value: &[u8]| String::from_utf8(value.to_vec()).ok();
        let headers = parsed.headers.iter().map(|header| Some((header.name.to_owned(), text(header.value)?)));
        let headers =
            headers.collect::<Option<Vec<_>>>().ok_or(Refused::Malformed("a header is not UTF-8"))?;
        let twice = |(name, _): &(String, String)| {
            headers.iter().filter(|(other, _)| other.eq_ignore_ascii_case(name)).count() > 1
        };
        // Two hosts, origins or lengths would be read in two ways.
        if headers.iter().any(twice) {
            return Err(Refused::Malformed("a header is there twice"));
        }
        let path = parsed.path.unwrap_or_default().split('?').next().unwrap_or_default().to_owned();
        Ok(Self { method: parsed.method.unwrap_or_default().to_owned(), path, headers, stream, place: None })
    }

    /// The value of a header.
    pub fn header(&self, name: &str) -> Option<&str> {
        let (_, value) = self.headers.iter().find(|(other, _)| other.eq_ignore_ascii_case(name))?;
        Some(value)
    }

    /// The whole body, of at most so many bytes.
    pub fn body(&mut self, most: u64) -> Result<Vec<u8>, Refused> {
        let length = self.length()?;
        if length > most {
            return Err(Refused::TooLong(most));
        }
        if self.header("Expect").is_some_and(|value| value.eq_ignore_ascii_case("100-continue")) {
            self.stream.get_mut().write_all(b"HTTP/1.1 100 Continue\r\n\r\n").map_err(Refused::Broken)?;
        }
        let mut body = vec![];
        self.stream.by_ref().take(length).read_to_end(&mut body).map_err(Refused::Broken)?;
        if body.len() as u64 == length {
            Ok(body)
        } else {
            Err(Refused::Broken(ErrorKind::UnexpectedEof.into()))
        }
    }

    /// Its client, as long as the answer is computed, which may take longer than others wait.
    pub fn client(&mut self) -> Result<Client, Refused> {
        self.place = None;
        let stream = self.stream.get_ref().try_clone().map_err(Refused::Broken)?;
        Ok(Client { stream, last: Mutex::new(Instant::now()), gone: AtomicBool::new(false) })
    }

    fn length(&self) -> Result<u64, Refused> {
        if self.header("Transfer-Encoding").is_some() {
            return Err(Refused::Malformed("a body needs a length; chunks are not understood"));
        }
        let Some(digits) = self.header("Content-Length") else { return Ok(0) };
        let number = digits.bytes().all(|byte| byte.is_ascii_digit()).then(|| digits.parse().ok());
        number.flatten().ok_or(Refused::Malformed("its length is no number"))
    }
}

/// The bytes up to the empty line.
fn read_head(stream: &mut BufReader<TcpStream>) -> Result<Vec<u8>, Refused> {
    let mut head = vec![];
    let mut limited = stream.take(LONGEST_HEAD);
    loop {
        let start = head.len();
        match limited.read_until(b'\n', &mut head) {
            Ok(0) if limited.limit() == 0 => return Err(Refused::Malformed("its headers are too long")),
            Ok(0) if head.is_empty() => return Err(Refused::Broken(ErrorKind::UnexpectedEof.into())),
            Ok(0) => return Err(Refused::Malformed("the request broke off")),
            Ok(_) if matches!(&head[start..], b"\r\n" | b"\n") && start > 0 => return Ok(head),
            Ok(_) => {}
            Err(error) => return Err(Refused::Broken(error)),
        }
    }
}

impl Response {
    fn write(&self, stream: &mut TcpStream) -> Result<(), Error> {
        let mut head = format!("HTTP/1.1 {} {}\r\n", self.status, reason(self.status));
        for (name, value) in &self.headers {
            head += &format!("{name}: {value}\r\n");
        }
        head += &format!("Content-Length: {}\r\nConnection: close\r\n\r\n", self.content.len());
        stream.write_all(head.as_bytes())?;
        stream.write_all(&self.content)
    }
}

/// The words that go with a status.
fn reason(status: u16) -> &'static str {
    match status {
        200 => "OK",
        400 => "Bad Request",
        401 => "Unauthorized",
        403 => "Forbidden",
        404 => "Not Found",
        405 => "Method Not Allowed",
        413 => "Content Too Large",
        421 => "Misdirected Request",
        503 => "Service Unavailable",
        _ => "Internal Server Error",
    }
}
