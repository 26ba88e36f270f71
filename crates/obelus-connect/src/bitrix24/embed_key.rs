//! Reconciles calls whose answer was lost. Most methods take no idempotency keys, so a key is planted in the created
//! record, where the tool says how, and looked for afterwards.

use obelus_runtime::text::hex;
use serde_json::{Map, Value};
use sha2::{Digest, Sha256};

use super::annotation::{Annotation, CreationSearch, UpdateCheck};
use super::wire::{field, folded, whole};

/// The key of a call, short enough for a text. It includes the call's parameters, because a removed session of the
/// same name may have used the same key for another call.
pub(super) fn key_of(key: &str, params: &Map<String, Value>) -> String {
    hex(&Sha256::digest(format!("{key}\n{}", Value::Object(params.clone())))[..10])
}

/// The short form of a key for texts that people read: enough to distinguish the records of one owner.
fn mark_of(key: &str) -> String {
    format!("[{}]", key.get(..8).unwrap_or(key))
}

/// Adds the planted values to the parameters. Returns whether all could be added: a value that the call already has in
/// such a place stays, and then the record cannot be found.
pub(super) fn embed_key(annotation: &Annotation, key: &str, params: &mut Map<String, Value>) -> bool {
    let mut all = !annotation.plant.is_empty();
    for (path, value) in &annotation.plant {
        all &= embed_at(path, value, key, params).is_some();
    }
    all
}

fn embed_at(path: &str, value: &Value, key: &str, params: &mut Map<String, Value>) -> Option<()> {
    let (inside, name) = path.rsplit_once('.').map_or((None, path), |(inside, name)| (Some(inside), name));
    let mut fields = params;
    for step in inside.into_iter().flat_map(|inside| inside.split('.')) {
        let step = spelled(fields, step);
        fields = fields.entry(step).or_insert_with(|| Value::Object(Map::new())).as_object_mut()?;
    }
    let name = spelled(fields, name);
    if let Some(suffix) = value.get("append").and_then(Value::as_str) {
        let suffix = suffix.replace("{key}", key).replace("{mark}", &mark_of(key));
        let before = match fields.get(&name) {
            None | Some(Value::Null) => String::new(),
            Some(Value::String(text)) => text.clone(),
            Some(_) => return None,
        };
        let whole = if before.is_empty() { suffix.trim_start().to_owned() } else { before + &suffix };
        fields.insert(name, whole.into());
        return Some(());
    }
    if fields.get(&name).is_some_and(|said| !said.is_null()) {
        return None;
    }
    let value = match value {
        Value::String(text) => text.replace("{key}", key).into(),
        other => other.clone(),
    };
    fields.insert(name, value);
    Some(())
}

/// The field of this name in any spelling: `fields` or `FIELDS`, `RESPONSIBLE_ID` or `responsibleId`.
fn spelled(fields: &Map<String, Value>, name: &str) -> String {
    let same = |known: &&String| known.as_str() == name || folded(known) == folded(name);
    fields.keys().find(same).cloned().unwrap_or_else(|| name.to_owned())
}

/// A value with `{key}` and `{path.of.a.parameter}` replaced. None if a parameter is missing.
pub(super) fn filled(template: &Value, key: &str, params: &Map<String, Value>) -> Option<Value> {
    match template {
        Value::String(text) => {
            let Some(name) = text.strip_prefix('{').and_then(|text| text.strip_suffix('}')) else {
                return Some(text.replace("{key}", key).into());
            };
            if name == "key" { Some(key.into()) } else { at(params, name).cloned() }
        }
        Value::Array(items) => items.iter().map(|item| filled(item, key, params)).collect(),
        Value::Object(fields) => filled_fields(fields, key, params).map(Value::Object),
        other => Some(other.clone()),
    }
}

/// Like [`filled`], for the parameters of a call.
pub(super) fn filled_fields(
    fields: &Map<String, Value>,
    key: &str,
    params: &Map<String, Value>,
) -> Option<Map<String, Value>> {
    fields.iter().map(|(name, value)| Some((name.clone(), filled(value, key, params)?))).collect()
}

/// A parameter by its dotted path, in any spelling. Null counts as missing.
pub(super) fn at<'a>(params: &'a Map<String, Value>, path: &str) -> Option<&'a Value> {
    let mut steps = path.split('.');
    let first = steps.next()?;
    let mut value = params.get(&spelled(params, first))?;
    for step in steps {
        let fields = value.as_object()?;
        value = fields.get(&spelled(fields, step))?;
    }
    Some(value).filter(|value| !value.is_null())
}

impl CreationSearch {
    /// The result of the creation, if the record was found. The lowest id if there are several.
    pub(super) fn found(&self, result: &Value, key: &str) -> Result<Option<Value>, String> {
        let rows = match &self.rows {
            Some(rows) => result.get(rows),
            None => Some(result),
        };
        let Some(rows) = rows.and_then(Value::as_array) else {
            return Err(format!("`{}` did not answer with rows", self.method));
        };
        let short = mark_of(key);
        let is_marked = |row: &&Value| match &self.mark {
            Some(mark) => {
                let text = field(row, mark).and_then(Value::as_str);
                text.is_some_and(|text| text.contains(key) || text.contains(&short))
            }
            None => true,
        };
        let ids = rows.iter().filter(is_marked).filter_map(|row| whole(field(row, &self.id)));
        let Some(id) = ids.min() else { return Ok(None) };
        let ids = Map::from_iter([("id".to_owned(), Value::from(id))]);
        Ok(match &self.result {
            Some(template) => filled(template, key, &ids),
            None => Some(id.into()),
        })
    }
}

impl UpdateCheck {
    /// Whether the record has everything that the update sets. None if they cannot be compared.
    pub(super) fn holds(&self, result: &Value, params: &Map<String, Value>) -> Option<bool> {
        let record = match &self.record {
            Some(record) => result.get(record)?,
            None => result,
        };
        let record = record.as_object()?;
        let set = at(params, &self.fields)?.as_object()?;
        let alike = |(name, value): (&String, &Value)| Some(alike(value, record.get(&spelled(record, name))?));
        set.iter().map(alike).try_fold(true, |all, alike| Some(all && alike?))
    }
}

/// Compares values; the portal returns texts for numbers.
fn alike(sent: &Value, read: &Value) -> bool {
    let number = |value: &Value| match value {
        Value::Number(number) => number.as_f64(),
        Value::String(text) => text.trim().parse::<f64>().ok(),
        _ => None,
    };
    match (number(sent), number(read)) {
        (Some(sent), Some(read)) => sent == read,
        _ => sent == read,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use obelus_kernel::Tool;
    use serde_json::json;

    fn annotation(said: &Value) -> Annotation {
        Annotation::of(&Tool::parse("t", &json!({ "x-bitrix24": said })).unwrap()).unwrap()
    }

    fn params(value: Value) -> Map<String, Value> {
        value.as_object().cloned().unwrap_or_default()
    }

    #[test]
    fn a_key_is_embedded_where_the_tool_declares_it_and_the_call_has_no_value() {
        let deal = annotation(&json!({
            "plant": {"fields.ORIGINATOR_ID": "obelus", "fields.ORIGIN_ID": "{key}"},
            "find": {"method": "crm.deal.list"},
        }));
        let mut call = params(json!({"fields": {"TITLE": "Окна"}}));
        assert!(embed_key(&deal, "k1", &mut call));
        assert_eq!(call["fields"], json!({"TITLE": "Окна", "ORIGINATOR_ID": "obelus", "ORIGIN_ID": "k1"}));
        let mut own = params(json!({"FIELDS": {"origin_id": "1C-77"}}));
        assert!(!embed_key(&deal, "k1", &mut own));
        assert_eq!(own["FIELDS"], json!({"origin_id": "1C-77", "ORIGINATOR_ID": "obelus"}));
        let mut broken = params(json!({"fields": "TITLE"}));
        assert!(!embed_key(&deal, "k1", &mut broken));
    }

    #[test]
    fn a_marker_is_appended_to_a_text() {
        let task = annotation(&json!({
            "plant": {"fields.DESCRIPTION": {"append": "\n\n[{key}]"}}, "find": {"method": "tasks.task.list"},
        }));
        for (before, after) in [
            (json!({"fields": {"DESCRIPTION": "Позвонить"}}), "Позвонить\n\n[k1]"),
            (json!({"fields": {"TITLE": "x"}}), "[k1]"),
            (json!({}), "[k1]"),
        ] {
            let mut call = params(before);
            assert!(embed_key(&task, "k1", &mut call));
            assert_eq!(call["fields"]["DESCRIPTION"], after);
        }
    }

    #[test]
    fn a_visible_marker_is_short_and_can_be_found() {
        let todo = annotation(&json!({
            "plant": {"description": {"append": "\n{mark}"}}, "find": {"method": "crm.activity.list", "mark": "DESCRIPTION"},
        }));
        let key = key_of("s:1.0", &Map::new());
        let mut call = params(json!({"description": "Позвонить"}));
        assert!(embed_key(&todo, &key, &mut call));
        let marked = call["description"].clone();
        assert_eq!(marked.as_str().map(|text| text.chars().count()), Some("Позвонить\n[3f0c9a1b]".chars().count()));
        let find = todo.find.unwrap();
        let older = format!("Позвонить\n\n[obelus {key}]");
        for text in [marked, older.into()] {
            assert_eq!(find.found(&json!([{"ID": "4", "DESCRIPTION": text}]), &key), Ok(Some(json!(4))));
        }
        let other = key_of("s:1.1", &Map::new());
        assert_eq!(find.found(&json!([{"ID": "4", "DESCRIPTION": call["description"]}]), &other), Ok(None));
    }

    #[test]
    fn only_the_same_call_has_the_same_key() {
        let call = params(json!({"fields": {"TITLE": "a"}}));
        let other = params(json!({"fields": {"TITLE": "b"}}));
        assert_eq!(key_of("s:1.0", &call), key_of("s:1.0", &call));
        assert_ne!(key_of("s:1.0", &call), key_of("s:1.1", &call));
        assert_ne!(key_of("s:1.0", &call), key_of("s:1.0", &other));
        assert_eq!(key_of("s:1.0", &call).len(), 20);
    }

    #[test]
    fn a_created_record_is_found_and_returned_like_the_result_of_the_creation() {
        let find = |said: Value| annotation(&json!({ "find": said })).find.unwrap();
        let plain = find(json!({"method": "crm.deal.list"}));
        assert_eq!(plain.found(&json!([{"ID": "9"}, {"ID": "7"}]), "k"), Ok(Some(json!(7))));
        assert_eq!(plain.found(&json!([]), "k"), Ok(None));
        assert!(plain.found(&json!({"x": 1}), "k").is_err());
        let task = find(json!({"method": "tasks.task.list", "rows": "tasks", "id": "id", "mark": "description",
            "result": {"task": {"id": "{id}"}}}));
        let rows = json!({"tasks": [{"id": "5", "description": "x"}, {"id": "6", "description": "x [k]"}]});
        assert_eq!(task.found(&rows, "k"), Ok(Some(json!({"task": {"id": 6}}))));
        assert_eq!(task.found(&rows, "other"), Ok(None));
    }

    #[test]
    fn an_update_has_happened_if_the_record_has_all_its_values() {
        let deal = annotation(&json!({"same": {"method": "crm.deal.get", "fields": "fields"}})).same.unwrap();
        let record = json!({"ID": "5", "OPPORTUNITY": "100000.00", "STAGE_ID": "WON"});
        for (set, expected) in [
            (json!({"OPPORTUNITY": 100000, "STAGE_ID": "WON"}), Some(true)),
            (json!({"OPPORTUNITY": 5}), Some(false)),
            (json!({"UF_X": 5}), None),
        ] {
            assert_eq!(deal.holds(&record, &params(json!({"id": 5, "fields": set}))), expected, "{set}");
        }
        let task = json!({"method": "tasks.task.get", "record": "task", "fields": "fields"});
        let task = annotation(&json!({ "same": task })).same.unwrap();
        let record = json!({"task": {"responsibleId": "3"}});
        assert_eq!(task.holds(&record, &params(json!({"taskId": 1, "fields": {"RESPONSIBLE_ID": 3}}))), Some(true));
    }

    #[test]
    fn templates_are_filled_from_the_call() {
        let call = params(json!({"fields": {"TITLE": "Окна"}, "id": 5}));
        let template = json!({"filter": {"=TITLE": "{fields.TITLE}", "X": "{key}"}, "id": "{id}", "n": 1});
        let expected = json!({"filter": {"=TITLE": "Окна", "X": "k"}, "id": 5, "n": 1});
        assert_eq!(filled(&template, "k", &call), Some(expected));
        assert_eq!(filled(&json!("{fields.NONE}"), "k", &call), None);
    }
}
