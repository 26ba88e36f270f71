//! An event in one line of text.

use obelus_words::{Language, event_in_words};
use serde_json::Value;

/// Describes a stored event: "deal 12 was changed". An unknown event is described by its name.
pub fn event_words(event: &Value, language: Language) -> String {
    let name = event["name"].as_str().unwrap_or_default();
    event_in_words(name, record(&event["data"]), language).unwrap_or_else(|| name.to_owned())
}

/// The id of the record.
fn record(data: &Value) -> Option<u64> {
    ["FIELDS", "FIELDS_AFTER", "FIELDS_BEFORE"].iter().find_map(|part| data[*part]["ID"].as_str()?.parse().ok())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn an_event_is_described_in_plain_words() {
        let told =
            |name: &str, data: serde_json::Value, language| event_words(&json!({"name": name, "data": data}), language);
        let deal = json!({"FIELDS": {"ID": "12"}});
        assert_eq!(told("ONCRMDEALUPDATE", deal.clone(), Language::Russian), "сделка 12 изменена");
        assert_eq!(told("ONCRMDEALDELETE", deal.clone(), Language::Russian), "сделка 12 удалена");
        assert_eq!(told("ONCRMCONTACTUPDATE", deal.clone(), Language::Russian), "контакт 12 изменён");
        assert_eq!(told("ONCRMACTIVITYADD", deal.clone(), Language::Russian), "дело 12 создано");
        assert_eq!(told("ONCRMDEALUPDATE", deal, Language::English), "deal 12 was changed");
        let task = json!({"FIELDS_BEFORE": "undefined", "FIELDS_AFTER": {"ID": "9", "TASK_ID": "4"}});
        assert_eq!(told("ONTASKCOMMENTADD", task, Language::English), "comment on a task 9 was created");
        let odd = json!({"FIELDS": {"ID": "1\u{1b}[2J"}});
        assert_eq!(told("ONTASKADD", odd, Language::Russian), "задача создана");
        assert_eq!(told("ONAPPINSTALL", json!({}), Language::Russian), "ONAPPINSTALL");
    }
}
