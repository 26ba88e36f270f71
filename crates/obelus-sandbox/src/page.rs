//! The page that shows the portal's records and the latest requests in a browser.
//!
//! It is plain HTML without external resources. It polls for new requests and reloads when there are any.

mod feed;
mod tables;

use std::fmt::Write;

use serde_json::Value;

use crate::clock;
use crate::server::PortalServer;
use crate::wire::RestParams;

use feed::feed;
use tables::TABS;

const STYLE: &str = include_str!("page/style.css");
const SCRIPT: &str = include_str!("page/refresh.js");

/// The page with the table selected in the query.
pub(crate) fn html(server: &PortalServer, wanted: &RestParams) -> String {
    let state = server.state();
    let language = server.settings.language;
    let name = wanted.get("show").and_then(Value::as_str).unwrap_or_default();
    let tab = TABS.iter().find(|tab| tab.name == name).unwrap_or(&TABS[0]);
    let page = wanted.int("page").unwrap_or(1).clamp(1, 100_000);
    let body = match tables::render(&state.store, &state.log, tab, page, server.clock.now(), language) {
        Ok(table) => table,
        Err(error) => {
            format!("<p class=empty>{}</p>", escape(&format!("{}: {error}", language.said("База данных не ответила"))))
        }
    };
    let mut nav = String::new();
    for other in &TABS {
        let count = tables::count(&state.store, other).unwrap_or_default();
        let current = if other.name == tab.name { " aria-current=page" } else { "" };
        let _ =
            write!(nav, "<a href=\"?show={}\"{current}>{} <b>{count}</b></a>", other.name, language.said(other.title));
    }
    let now = clock::plain(server.clock.now());
    let feed = feed(&state.log, language);
    let requests = state.log.count();
    format!(
        "<!doctype html>\n<html lang={code}><head><meta charset=utf-8><meta name=viewport content=\"width=device-width\">\
         <title>{portal} · {title}</title><style>{STYLE}</style>\
         <noscript><meta http-equiv=refresh content=5></noscript></head>\n\
         <body data-requests={requests}><header><h1>{portal}</h1><p>{practice} · {now}</p></header>\n\
         <div class=columns><main><nav>{nav}</nav>{body}</main>\n\
         <aside><h2>{latest} <b>{requests}</b></h2>{feed}</aside></div>\n\
         <script>{SCRIPT}</script></body></html>\n",
        code = language.code(),
        portal = language.said("Учебный портал"),
        practice = language.said("Bitrix24 понарошку"),
        latest = language.said("Последние запросы"),
        title = language.said(tab.title),
    )
}

/// Escapes text for HTML. Control characters and characters that change the direction of writing are shown as codes.
pub(crate) fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '&' => out.push_str("&amp;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            '\n' | '\t' => out.push(c),
            '\u{200e}' | '\u{200f}' | '\u{61c}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => {
                let _ = write!(out, "\\u{{{:x}}}", u32::from(c));
            }
            c if c.is_control() => {
                let _ = write!(out, "\\u{{{:x}}}", u32::from(c));
            }
            c => out.push(c),
        }
    }
    out
}

/// An amount with gaps between thousands: `1 250 000`.
pub(crate) fn amount(amount: f64) -> String {
    let whole = format!("{:.0}", amount.abs());
    let mut grouped = String::new();
    for (at, digit) in whole.chars().enumerate() {
        if at > 0 && (whole.len() - at) % 3 == 0 {
            grouped.push('\u{a0}');
        }
        grouped.push(digit);
    }
    let sign = if amount < 0.0 { "−" } else { "" };
    format!("{sign}{grouped}")
}

/// An amount of money: `1 250 000 ₽`.
fn money(sum: f64, currency: &str) -> String {
    let unit = match currency {
        "RUB" | "" => "₽",
        "USD" => "$",
        "EUR" => "€",
        other => other,
    };
    format!("{}\u{a0}{}", amount(sum), escape(unit))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_from_outside_are_escaped_and_cannot_change_direction() {
        assert_eq!(escape("<script>\"'&\u{202e}\u{1b}[0m"), "&lt;script&gt;&quot;&#39;&amp;\\u{202e}\\u{1b}[0m");
    }

    #[test]
    fn amounts_are_grouped() {
        assert_eq!(money(1_250_000.0, "RUB"), "1\u{a0}250\u{a0}000\u{a0}₽");
        assert_eq!(money(950.0, "USD"), "950\u{a0}$");
        assert_eq!(money(-1000.0, "<b>"), "−1\u{a0}000\u{a0}&lt;b&gt;");
    }
}
