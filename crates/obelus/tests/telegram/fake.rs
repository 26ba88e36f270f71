//! A fake Bot API: provides updates and stores sent messages.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Condvar, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

/// The token that the fake knows.
pub(crate) const TOKEN: &str = "123456:AAbb_cc-dd";
/// The permitted user.
pub(crate) const ANNA: i64 = 42;
/// A time limit that keeps a test from hanging.
const AT_MOST: Duration = Duration::from_secs(120);

/// The state of the fake.
#[derive(Default)]
pub(crate) struct Telegram {
    updates: Vec<Value>,
    numbers: i64,
    /// Every call: the method and its parameters.
    pub(crate) calls: Vec<(String, Value)>,
    /// The messages in chats, by number.
    pub(crate) messages: BTreeMap<i64, Value>,
    /// Methods that are refused, how often, and with which answer.
    refused: Vec<(&'static str, usize, Value)>,
}

impl Telegram {
    /// The texts of a chat, in order.
    pub(crate) fn texts(&self, chat: i64) -> Vec<&str> {
        let here = self.messages.values().filter(|message| message["chat_id"] == chat);
        here.filter_map(|message| message["text"].as_str()).collect()
    }

    /// The number and the buttons of the last card of a chat.
    pub(crate) fn card(&self, chat: i64) -> Option<(i64, Vec<Value>)> {
        let here = self.messages.iter().rev().filter(|(_, message)| message["chat_id"] == chat);
        here.filter_map(|(number, message)| {
            let rows = message["reply_markup"]["inline_keyboard"].as_array().filter(|rows| !rows.is_empty())?;
            Some((*number, rows.iter().filter_map(Value::as_array).flatten().cloned().collect()))
        })
        .next()
    }

    /// The texts with which presses were answered.
    pub(crate) fn answers(&self) -> Vec<&str> {
        let answers = self.calls.iter().filter(|(method, _)| method == "answerCallbackQuery");
        answers.filter_map(|(_, params)| params["text"].as_str()).collect()
    }

    fn call(&mut self, method: &str, params: &Value) -> Value {
        if let Some(at) = self.refused.iter().position(|(refused, times, _)| *refused == method && *times > 0) {
            self.refused[at].1 -= 1;
            return self.refused[at].2.clone();
        }
        let bad = |words: &str| json!({"ok": false, "error_code": 400, "description": format!("Bad Request: {words}")});
        let fits = |text: &Value| text.as_str().is_some_and(|text| (1..=4096).contains(&text.encode_utf16().count()));
        match method {
            "getMe" => json!({"ok": true, "result": {"id": 999, "is_bot": true, "username": "test_bot"}}),
            "sendMessage" | "editMessageText" if !fits(&params["text"]) => bad("message text is empty or too long"),
            "sendMessage" | "sendDocument" => {
                self.numbers += 1;
                self.messages.insert(self.numbers, params.clone());
                json!({"ok": true, "result": {"message_id": self.numbers}})
            }
            "editMessageText" => match self.messages.get_mut(&params["message_id"].as_i64().unwrap_or_default()) {
                None => bad("message to edit not found"),
                Some(message)
                    if message["text"] == params["text"] && message["reply_markup"] == params["reply_markup"] =>
                {
                    bad("message is not modified")
                }
                Some(message) => {
                    message["text"] = params["text"].clone();
                    message["reply_markup"] = params["reply_markup"].clone();
                    json!({"ok": true, "result": true})
                }
            },
            "answerCallbackQuery" | "sendChatAction" | "deleteMessage" => json!({"ok": true, "result": true}),
            other => bad(other),
        }
    }
}

/// The fake API.
pub(crate) struct FakeApi {
    address: SocketAddr,
    shared: Arc<(Mutex<Telegram>, Condvar)>,
}

impl FakeApi {
    pub(crate) fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let shared = Arc::new((Mutex::new(Telegram::default()), Condvar::new()));
        let for_all = Arc::clone(&shared);
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let shared = Arc::clone(&for_all);
                thread::spawn(move || drop(serve(stream, &shared)));
            }
        });
        Self { address, shared }
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Makes a method fail this many times.
    pub(crate) fn refuse(&self, method: &'static str, times: usize, answer: Value) {
        let mut telegram = self.shared.0.lock().unwrap();
        telegram.refused.retain(|(refused, ..)| *refused != method);
        telegram.refused.push((method, times, answer));
    }

    fn update(&self, mut update: Value) {
        let mut telegram = self.shared.0.lock().unwrap();
        let number = 100 + telegram.updates.len() as i64;
        update["update_id"] = number.into();
        telegram.updates.push(update);
        self.shared.1.notify_all();
    }

    /// A message to the bot in a private chat, with more fields.
    pub(crate) fn message(&self, user: i64, fields: Value) {
        let mut message = json!({"message_id": 5000, "from": {"id": user, "is_bot": false, "first_name": "Anna",
            "language_code": "en"}, "chat": {"id": user, "type": "private"}});
        message.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
        self.update(json!({"message": message}));
    }

    pub(crate) fn say(&self, user: i64, text: &str) {
        self.message(user, json!({"text": text}));
    }

    /// Presses a button of a message.
    pub(crate) fn press(&self, user: i64, message: i64, button: &Value) {
        let from = json!({"id": user, "is_bot": false, "first_name": "Anna", "language_code": "en"});
        let message = json!({"message_id": message, "chat": {"id": ANNA, "type": "private"}});
        let data = &button["callback_data"];
        self.update(json!({"callback_query": {"id": "7", "from": from, "message": message, "data": data}}));
    }

    /// Waits until `look` finds something.
    #[track_caller]
    pub(crate) fn wait<T>(&self, mut look: impl FnMut(&Telegram) -> Option<T>) -> T {
        let end = Instant::now() + AT_MOST;
        let mut telegram = self.shared.0.lock().unwrap();
        loop {
            if let Some(seen) = look(&telegram) {
                return seen;
            }
            assert!(Instant::now() < end, "it does not come: {:#?}", telegram.calls);
            telegram = self.shared.1.wait_timeout(telegram, Duration::from_millis(200)).unwrap().0;
        }
    }

    /// Waits until a text of a chat contains these words.
    #[track_caller]
    pub(crate) fn shows(&self, chat: i64, part: &str) {
        self.wait(|telegram| telegram.texts(chat).iter().any(|text| text.contains(part)).then_some(()));
    }
}

/// Answers requests of one connection.
fn serve(stream: TcpStream, shared: &(Mutex<Telegram>, Condvar)) -> std::io::Result<()> {
    let mut reader = BufReader::new(stream);
    loop {
        let mut head = String::new();
        if reader.read_line(&mut head)? == 0 {
            return Ok(());
        }
        let mut length = 0;
        let mut kind = String::new();
        loop {
            let mut line = String::new();
            reader.read_line(&mut line)?;
            let Some((name, value)) = line.trim().split_once(':') else { break };
            match name.to_lowercase().as_str() {
                "content-length" => length = value.trim().parse().unwrap_or(0),
                "content-type" => value.trim().clone_into(&mut kind),
                _ => {}
            }
        }
        let mut body = vec![0; length];
        reader.read_exact(&mut body)?;
        let path = head.split(' ').nth(1).unwrap_or_default();
        let method = path.strip_prefix(&format!("/bot{TOKEN}/"));
        let params = if kind.starts_with("multipart") {
            json!({"form": String::from_utf8_lossy(&body)})
        } else {
            serde_json::from_slice(&body).unwrap_or(Value::Null)
        };
        let answer = match method {
            Some("getUpdates") => updates(shared, &params),
            Some(method) => {
                let mut telegram = shared.0.lock().unwrap();
                telegram.calls.push((method.to_owned(), params.clone()));
                let answer = telegram.call(method, &params);
                shared.1.notify_all();
                answer
            }
            None => json!({"ok": false, "error_code": 401, "description": "Unauthorized"}),
        };
        let status = answer["error_code"].as_u64().unwrap_or(200);
        let text = answer.to_string();
        let stream = reader.get_mut();
        write!(
            stream,
            "HTTP/1.1 {status} Status\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n",
            text.len()
        )?;
        stream.write_all(text.as_bytes())?;
        stream.flush()?;
    }
}

/// The updates from a number on; empty after a short wait.
fn updates(shared: &(Mutex<Telegram>, Condvar), params: &Value) -> Value {
    let offset = params["offset"].as_i64().unwrap_or(0);
    let end = Instant::now() + Duration::from_secs(1);
    let mut telegram = shared.0.lock().unwrap();
    loop {
        let new: Vec<Value> =
            telegram.updates.iter().filter(|update| update["update_id"].as_i64() >= Some(offset)).cloned().collect();
        if !new.is_empty() || Instant::now() >= end {
            return json!({"ok": true, "result": new});
        }
        telegram = shared.1.wait_timeout(telegram, Duration::from_millis(100)).unwrap().0;
    }
}
