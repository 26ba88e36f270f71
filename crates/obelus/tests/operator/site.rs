//! A local site that records requests and changes. Tests check these records, not the agent's report.

mod pages;

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex, MutexGuard};
use std::thread;
use std::time::Duration;

/// Planted in the text, the title and the names of pictures of every page.
pub(crate) const CANARY_TEXT: &str = "brimstone-heron-4417";
/// Planted in the `id` and `data-` attributes of every page.
pub(crate) const CANARY_ID: &str = "wyvern-attribute-9031";
/// Planted in the picture of every page: in its file, and as drawn text.
pub(crate) const CANARY_PICTURE: &str = "okapi-picture-5523";
/// The password of the only user.
pub(crate) const PASSWORD: &str = "correct-horse-8842-battery";
/// The code that is sent to the user's phone.
pub(crate) const CODE: &str = "731905";

/// A product of the shop.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Good {
    pub(crate) name: &'static str,
    pub(crate) price: u32,
    pub(crate) rating: f64,
}

const fn good(name: &'static str, price: u32, rating: f64) -> Good {
    Good { name, price, rating }
}

/// Three pages of goods. The best rated one is expensive, the cheapest is bad. Finding the cheapest good one takes all
/// three pages.
pub(crate) const GOODS: [[Good; 4]; 3] = [
    [good("Аврора", 4200, 4.1), good("Бриз", 2790, 3.2), good("Вектор", 9900, 4.9), good("Гамма", 3650, 4.6)],
    [good("Дельта", 5100, 4.4), good("Ермак", 3390, 4.5), good("Жемчуг", 7800, 4.8), good("Зенит", 1990, 2.7)],
    [good("Искра", 3480, 4.7), good("Кварц", 6400, 4.6), good("Луч", 2950, 3.9), good("Маяк", 3720, 4.8)],
];

/// A received request.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Asked {
    pub(crate) method: String,
    /// With the query.
    pub(crate) path: String,
    pub(crate) body: String,
    cookie: String,
}

impl Asked {
    /// A field of the sent form or of the query.
    fn field(&self, name: &str) -> String {
        let query = self.path.split_once('?').map_or("", |(_, query)| query);
        let sent = self.body.split('&').chain(query.split('&')).filter_map(|pair| pair.split_once('='));
        sent.into_iter().find(|(key, _)| *key == name).map(|(_, value)| decoded(value)).unwrap_or_default()
    }
}

/// The parts of an answer.
struct Reply {
    status: &'static str,
    headers: Vec<(&'static str, String)>,
    body: String,
}

impl Reply {
    fn page(body: String) -> Self {
        Self { status: "200 OK", headers: vec![("Content-Type", "text/html; charset=utf-8".to_owned())], body }
    }

    fn go_to(address: &str) -> Self {
        Self { status: "303 See Other", headers: vec![("Location", address.to_owned())], body: String::new() }
    }

    fn plain(status: &'static str, body: &str) -> Self {
        Self { status, headers: vec![("Content-Type", "text/plain; charset=utf-8".to_owned())], body: body.to_owned() }
    }
}

/// The state of the site.
#[derive(Debug)]
pub(crate) struct Shelf {
    /// Every request, in order.
    pub(crate) asked: Vec<Asked>,
    /// The items in the basket, by number.
    pub(crate) items: BTreeMap<u32, &'static str>,
    /// Names and addresses that the form with validation accepted.
    pub(crate) subscribers: Vec<(String, String)>,
    /// Failed logins.
    pub(crate) refused: u32,
    /// The present label of the changing button.
    pub(crate) button: &'static str,
    /// The label that a browser last showed.
    pub(crate) button_shown: String,
    /// Drafts that were sent by that button.
    pub(crate) sent: Vec<String>,
    /// The address of another site.
    pub(crate) elsewhere: String,
}

/// A site in threads of the test.
pub(crate) struct Site {
    address: SocketAddr,
    shelf: Arc<Mutex<Shelf>>,
    watch: Arc<Mutex<Option<Watch>>>,
}

/// Called at every request, before it is answered.
type Watch = Box<dyn FnMut(&Asked) + Send>;

impl Site {
    /// A site on a free port. `elsewhere` is the address of another site, for external links.
    pub(crate) fn open(elsewhere: &str) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let address = listener.local_addr().expect("it listens");
        let shelf = Shelf {
            asked: Vec::new(),
            items: BTreeMap::from([(3, "Лампа"), (4, "Кресло"), (5, "Комод")]),
            subscribers: Vec::new(),
            refused: 0,
            button: "Отправить черновик",
            button_shown: String::new(),
            sent: Vec::new(),
            elsewhere: elsewhere.to_owned(),
        };
        let site = Self { address, shelf: Arc::new(Mutex::new(shelf)), watch: Arc::default() };
        let (shelf, watch) = (Arc::clone(&site.shelf), Arc::clone(&site.watch));
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (shelf, watch) = (Arc::clone(&shelf), Arc::clone(&watch));
                thread::spawn(move || serve(stream, &shelf, &watch));
            }
        });
        site
    }

    /// The address of a page.
    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    /// Host and port.
    pub(crate) fn host(&self) -> String {
        self.address.to_string()
    }

    /// The present state of the site.
    pub(crate) fn shelf(&self) -> MutexGuard<'_, Shelf> {
        self.shelf.lock().expect("nobody panics with it")
    }

    /// The number of requests with this method and beginning of the path.
    pub(crate) fn asked(&self, method: &str, path: &str) -> usize {
        let shelf = self.shelf();
        shelf.asked.iter().filter(|asked| asked.method == method && asked.path.starts_with(path)).count()
    }

    /// The requests that may change something.
    pub(crate) fn changes(&self) -> Vec<String> {
        let shelf = self.shelf();
        let changes = shelf.asked.iter().filter(|asked| asked.method != "GET");
        changes.map(|asked| format!("{} {}", asked.method, asked.path)).collect()
    }

    /// Calls `watch` for every request before it is answered.
    pub(crate) fn watch(&self, watch: impl FnMut(&Asked) + Send + 'static) {
        *self.watch.lock().expect("nobody panics with it") = Some(Box::new(watch));
    }
}

fn serve(stream: TcpStream, shelf: &Mutex<Shelf>, watch: &Mutex<Option<Watch>>) {
    // Browsers open connections that they may never use.
    let _ = stream.set_read_timeout(Some(Duration::from_secs(30)));
    let Some(asked) = read(&stream) else { return };
    if let Some(watch) = watch.lock().expect("nobody panics with it").as_mut() {
        watch(&asked);
    }
    let reply = {
        let mut shelf = shelf.lock().expect("nobody panics with it");
        shelf.asked.push(asked.clone());
        pages::answer(&mut shelf, &asked)
    };
    let mut head = format!("HTTP/1.1 {}\r\nConnection: close\r\nCache-Control: no-store\r\n", reply.status);
    for (name, value) in &reply.headers {
        head.push_str(&format!("{name}: {value}\r\n"));
    }
    head.push_str(&format!("Content-Length: {}\r\n\r\n", reply.body.len()));
    let mut stream = stream;
    // The client may have disconnected.
    let _ = stream.write_all(&[head.as_bytes(), reply.body.as_bytes()].concat());
}

fn read(stream: &TcpStream) -> Option<Asked> {
    let mut reader = BufReader::new(stream);
    let mut line = String::new();
    reader.read_line(&mut line).ok()?;
    let mut words = line.split_whitespace();
    let mut asked = Asked { method: words.next()?.to_owned(), path: words.next()?.to_owned(), ..Asked::default() };
    let mut length = 0;
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).ok()?;
        match line.trim_end().split_once(": ") {
            None => break,
            Some((name, value)) if name.eq_ignore_ascii_case("content-length") => length = value.parse().ok()?,
            Some((name, value)) if name.eq_ignore_ascii_case("cookie") => asked.cookie = value.to_owned(),
            Some(_) => {}
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    asked.body = String::from_utf8_lossy(&body).into_owned();
    Some(asked)
}

/// The decoded value of a form field.
fn decoded(value: &str) -> String {
    let mut bytes = Vec::new();
    let mut rest = value.bytes();
    while let Some(byte) = rest.next() {
        bytes.push(match byte {
            b'+' => b' ',
            b'%' => {
                let digits: String = rest.by_ref().take(2).map(char::from).collect();
                u8::from_str_radix(&digits, 16).unwrap_or(b'?')
            }
            other => other,
        });
    }
    String::from_utf8_lossy(&bytes).into_owned()
}
