//! The list of the latest requests with their changes.

use std::fmt::Write;

use super::escape;
use crate::clock;
use crate::log::{LogEntry, RequestLog};
use crate::methods::{ChangeVerb, RecordChange};
use crate::tongue::PortalLanguage;

/// Requests shown.
const MAX_ENTRIES: usize = 40;
/// Changes shown for one request.
const MAX_CHANGES: usize = 8;

pub(super) fn feed(log: &RequestLog, language: PortalLanguage) -> String {
    let mut out = String::from("<ol>");
    for entry in log.entries().take(MAX_ENTRIES) {
        write_entry(entry, language, &mut out);
    }
    out.push_str("</ol>");
    if log.count() == 0 {
        out = format!("<p class=empty>{}</p>", language.said("Запросов ещё не было."));
    }
    out
}

fn write_entry(entry: &LogEntry, language: PortalLanguage, out: &mut String) {
    let time = clock::iso(entry.at);
    let _ = write!(
        out,
        "<li class=request id=r{}><p><code>{}</code><time>{}</time></p>",
        entry.number,
        escape(&entry.method),
        &time[11..19]
    );
    if !entry.commands.is_empty() {
        let _ = write!(out, "<div class=note>{}</div>", escape(&count_commands(&entry.commands)));
    }
    if !entry.asked.trim().is_empty() {
        let _ = write!(out, "<div class=note>{}</div>", escape(entry.asked.trim()));
    }
    if let Some((status, code, words)) = &entry.fault {
        let _ = write!(out, "<div class=fault>{status} {} {}</div>", escape(code), escape(words));
    }
    for change in entry.changes.iter().take(MAX_CHANGES) {
        write_change(change, out);
    }
    if entry.changes.len() > MAX_CHANGES {
        let _ = write!(out, "<div class=note>{} {}</div>", language.said("и ещё"), entry.changes.len() - MAX_CHANGES);
    }
    if entry.dropped {
        let _ = write!(out, "<div class=fault>{}</div>", language.said("ответ намеренно потерян"));
    }
    out.push_str("</li>");
}

/// `crm.deal.get ×20, crm.contact.get`
fn count_commands(commands: &[String]) -> String {
    let mut counted: Vec<(&str, usize)> = Vec::new();
    for command in commands {
        match counted.iter_mut().find(|(name, _)| name == command) {
            Some((_, count)) => *count += 1,
            None => counted.push((command, 1)),
        }
    }
    let each = counted.iter().map(|(name, count)| match count {
        1 => (*name).to_owned(),
        _ => format!("{name} ×{count}"),
    });
    each.collect::<Vec<_>>().join(", ")
}

fn write_change(change: &RecordChange, out: &mut String) {
    let (class, word) = match change.verb {
        ChangeVerb::Added => ("added", "+"),
        ChangeVerb::Changed => ("changed", "✎"),
        ChangeVerb::Deleted => ("deleted", "−"),
    };
    let title: String = change.title.chars().take(90).collect();
    let _ = write!(
        out,
        "<div class=\"change {class}\"><b>{word} {} {}</b> {}",
        escape(change.what),
        change.id,
        escape(&title)
    );
    if !change.fields.is_empty() {
        out.push_str("<dl>");
        for (label, before, after) in &change.fields {
            let _ = write!(out, "<dt>{}</dt><dd><s>{}</s> → {}</dd>", escape(label), escape(before), escape(after));
        }
        out.push_str("</dl>");
    }
    out.push_str("</div>");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_commands_are_counted() {
        let commands = ["crm.deal.get", "user.get", "crm.deal.get"].map(str::to_owned);
        assert_eq!(count_commands(&commands), "crm.deal.get ×2, user.get");
    }
}
