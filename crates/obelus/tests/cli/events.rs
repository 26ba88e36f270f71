//! `obelus chat --events`: events from a portal.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;

use serde_json::{Value, json};

use crate::support::{Folder, command, end, obelus, start};

const TOKEN: &str = "agreed-with-the-portal";

/// Posts a form to the listener and returns the status of the answer.
fn bring(address: &str, path: &str, form: &str) -> String {
    let mut stream = TcpStream::connect(address).expect("it listens");
    let length = form.len();
    write!(
        stream,
        "POST {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\
         Content-Type: application/x-www-form-urlencoded\r\nContent-Length: {length}\r\n\r\n{form}"
    )
    .expect("it reads");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("it answers");
    answer.split(' ').nth(1).unwrap_or_default().to_owned()
}

fn form(deal: u32, token: &str) -> String {
    format!(
        "event=ONCRMDEALADD&event_handler_id=5&ts=1714557600&data[FIELDS][ID]={deal}&auth[application_token]={token}"
    )
}

#[test]
fn a_bound_event_is_delivered_once_and_stored_as_untrusted() {
    let folder = Folder::new("events");
    let store = folder.path("store");
    let bound = json!({"event_bindings": [{"event": "onCrmDealAdd", "handler": "https://example.test/hook"}]});
    let file = folder.file("s.json", bound.to_string());
    obelus(&["sessions", "adopt", &file, "--agent", "crm", "--store", &store]).exits(0);
    let state = std::fs::read_to_string(folder.path("store/states/s.json")).expect("the state is written");
    assert!(state.contains("https://example.test/hook"));
    let args = ["chat", "--session", "s", "--store", &store, "--events", "127.0.0.1:0"];
    obelus(&args).exits(2).says("BITRIX_APPLICATION_TOKEN");

    let mut child = start(command(&args).env("BITRIX_APPLICATION_TOKEN", TOKEN));
    let mut stderr = BufReader::new(child.stderr.take().expect("a pipe"));
    let mut line = String::new();
    let address = loop {
        line.clear();
        assert!(stderr.read_line(&mut line).expect("text") > 0, "it never listened");
        if let Some((_, rest)) = line.split_once("http://") {
            break rest.trim_end().trim_end_matches('/').to_owned();
        }
    };
    assert_eq!(bring(&address, "/hook", &form(7, "a-guess")), "403");
    // Events for another path and repeated events are ignored.
    for (path, deal) in [("/other", 6), ("/hook", 7), ("/hook", 7), ("/hook", 8)] {
        assert_eq!(bring(&address, path, &form(deal, TOKEN)), "200");
    }
    let mut stdout = BufReader::new(child.stdout.take().expect("a pipe"));
    let mut told = Vec::new();
    while told.len() < 2 {
        line.clear();
        assert!(stdout.read_line(&mut line).expect("text") > 0, "it never told: {told:?}");
        if line.contains("Событие портала") {
            told.push(line.trim().to_owned());
        }
    }
    assert_eq!(told, ["Событие портала: сделка 7 создана", "Событие портала: сделка 8 создана"]);
    child.stdin.take();
    (child.stdout, child.stderr) = (Some(stdout.into_inner()), Some(stderr.into_inner()));
    end(child).exits(0);

    let shown = obelus(&["sessions", "show", "s", "--store", &store, "--json"]).exits(0).json();
    let events: Vec<&Value> =
        shown["context"].as_array().unwrap().iter().filter(|message| message["kind"] == "events").collect();
    assert_eq!(events.len(), 2, "{events:?}");
    assert_eq!(events[0]["_labels"], json!(["untrusted:event"]));
    assert!(!shown.to_string().contains(TOKEN), "the token is kept nowhere");
}
