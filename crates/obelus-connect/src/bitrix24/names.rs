//! Adds names to codes (B24-13): a row with `STAGE_ID: "NEW"` also gets `STAGE: "New"`, so that neither the model nor
//! a person has to read codes.
//!
//! The annotation `names` of a tool lists the fields that have names, and where to find these. All names of a result
//! are looked up in one batch and cached for the session. A name that cannot be looked up is left out.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures_util::future::join_all;
use obelus_kernel::text::in_language;
use obelus_runtime::Language;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::annotation::{List, Paging};
use super::errors::PortalFailure;
use super::page::ListRequest;
use super::portal::{WebhookQueue, locked};
use super::wire::{PortalRequest, field};

/// The number of ids in one request: a page of the portal.
const MOST_IDS: usize = 50;

/// The maximum depth of rows in a result: `{tasks: [row]}`.
const MOST_DEPTH: usize = 3;

/// How the values of a field get their names.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct FieldNames {
    /// The field that gets the name.
    #[serde(rename = "as")]
    added: String,
    /// Fixed names by code: a text, or one for each language.
    values: BTreeMap<String, Value>,
    /// Where other names are looked up.
    #[serde(rename = "in")]
    source: Option<Directory>,
    /// A field whose value chooses among `kinds`.
    of: Option<String>,
    kinds: BTreeMap<String, Directory>,
}

/// A method that lists names.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Directory {
    method: String,
    /// Its parameters, as JSON text so that directories can be compared.
    #[serde(default, deserialize_with = "as_text")]
    params: String,
    /// The field of the result with the rows.
    #[serde(default)]
    rows: Option<String>,
    #[serde(default = "id")]
    id: String,
    /// The fields that form the name.
    name: Vec<String>,
    /// The key of `filter` for the wanted ids. Without it the whole directory is read once.
    #[serde(default)]
    ask: Option<String>,
    /// Use only rows whose field begins with a text, such as `ENTITY_ID` with `DEAL_STAGE`.
    #[serde(default)]
    only: BTreeMap<String, String>,
}

fn id() -> String {
    "ID".to_owned()
}

fn as_text<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    Map::<String, Value>::deserialize(deserializer).map(|params| Value::Object(params).to_string())
}

/// The cache of names of a session.
#[derive(Debug, Default)]
pub(super) struct NameCache(Mutex<BTreeMap<Directory, KnownNames>>);

#[derive(Debug, Default)]
struct KnownNames {
    is_whole: bool,
    /// `None` for a code without a name.
    names: BTreeMap<String, Option<String>>,
}

impl NameCache {
    /// Clears the cache: a change may have renamed something.
    pub(super) fn clear(&self) {
        locked(&self.0).clear();
    }

    fn name(&self, directory: &Directory, code: &str) -> Option<String> {
        locked(&self.0).get(directory)?.names.get(code)?.clone()
    }

    fn lacks(&self, directory: &Directory, code: &str) -> bool {
        locked(&self.0).get(directory).is_none_or(|known| !known.is_whole && !known.names.contains_key(code))
    }

    fn learn(&self, directory: Directory, wanted: BTreeSet<String>, rows: &[Value]) {
        let mut all = locked(&self.0);
        let known = all.entry(directory.clone()).or_default();
        known.is_whole |= directory.ask.is_none();
        for row in rows.iter().filter(|row| directory.has(row)) {
            if let Some(code) = field(row, &directory.id).and_then(code) {
                known.names.insert(code, directory.name_in(row));
            }
        }
        for code in wanted {
            known.names.entry(code).or_default();
        }
    }
}

impl FieldNames {
    fn directory(&self, row: &Map<String, Value>) -> Option<&Directory> {
        match &self.of {
            Some(of) => self.kinds.get(&code(row.get(of)?)?),
            None => self.source.as_ref(),
        }
    }
}

impl Directory {
    fn has(&self, row: &Value) -> bool {
        let begins = |(name, start): (&String, &String)| {
            field(row, name).and_then(Value::as_str).is_some_and(|text| text.starts_with(start.as_str()))
        };
        self.only.iter().all(begins)
    }

    fn name_in(&self, row: &Value) -> Option<String> {
        let parts = self.name.iter().filter_map(|name| field(row, name)?.as_str());
        let name = parts.filter(|part| !part.is_empty()).collect::<Vec<_>>().join(" ");
        (!name.is_empty()).then_some(name)
    }

    fn request(&self, ids: &[String]) -> PortalRequest {
        let mut params: Map<String, Value> = serde_json::from_str(&self.params).unwrap_or_default();
        if let Some(ask) = &self.ask {
            params.insert("filter".to_owned(), json!({ ask: ids }));
        }
        PortalRequest::post(&self.method, params)
    }
}

/// The code in a field, if it is set.
fn code(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()).filter(|text| !text.is_empty()),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    }
}

/// Looks up names for a session.
pub(super) struct Namer<'a> {
    pub(super) line: &'a Arc<WebhookQueue>,
    pub(super) cache: &'a NameCache,
    pub(super) patience: Duration,
    pub(super) language: Language,
}

impl Namer<'_> {
    /// Adds names to the codes of a result.
    pub(super) async fn add_names(&self, names: &BTreeMap<String, FieldNames>, result: &mut Value) {
        let mut wanted: BTreeMap<Directory, BTreeSet<String>> = BTreeMap::new();
        each_row(result, names, MOST_DEPTH, &mut |row| {
            for (name, of) in names {
                let Some((code, directory)) = row.get(name).and_then(code).zip(of.directory(row)) else { continue };
                if self.cache.lacks(directory, &code) && !of.values.contains_key(&code) {
                    wanted.entry(directory.clone()).or_default().insert(code);
                }
            }
        });
        join_all(wanted.into_iter().map(|(directory, codes)| self.look_up(directory, codes))).await;
        each_row(result, names, MOST_DEPTH, &mut |row| {
            for (name, of) in names {
                let Some(code) = row.get(name).and_then(code) else { continue };
                let fixed = of.values.get(&code).and_then(|said| in_language(said, Some(self.language.code())));
                let found = || of.directory(row).and_then(|directory| self.cache.name(directory, &code));
                if let Some(found) = fixed.map(str::to_owned).or_else(found) {
                    row.entry(of.added.clone()).or_insert(found.into());
                }
            }
        });
    }

    async fn look_up(&self, directory: Directory, codes: BTreeSet<String>) {
        let rows = match &directory.ask {
            None => self.whole(&directory).await,
            Some(_) => self.some(&directory, &codes).await,
        };
        if let Ok(rows) = rows {
            self.cache.learn(directory, codes, &rows);
        }
    }

    async fn whole(&self, directory: &Directory) -> Result<Vec<Value>, PortalFailure> {
        let list = List { rows: directory.rows.clone(), by: Paging::Start, whole: true, ..List::default() };
        let lister = ListRequest { line: self.line, list: &list, patience: self.patience, language: self.language };
        Ok(rows_of(lister.run(directory.request(&[])).await?, directory))
    }

    async fn some(&self, directory: &Directory, codes: &BTreeSet<String>) -> Result<Vec<Value>, PortalFailure> {
        // Zero means no record.
        let ids: Vec<String> = codes.iter().filter(|code| *code != "0").cloned().collect();
        let pages = ids.chunks(MOST_IDS).map(|ids| async move {
            let request = directory.request(ids);
            let asked = self.line.tried(&request.method, true, self.patience, || self.line.read(&request)).await;
            asked.map(|answer| rows_of(answer.result, directory))
        });
        join_all(pages).await.into_iter().collect::<Result<Vec<_>, _>>().map(|pages| pages.concat())
    }
}

fn rows_of(mut result: Value, directory: &Directory) -> Vec<Value> {
    let rows = match &directory.rows {
        Some(rows) if result.is_object() => result.get_mut(rows).map(Value::take).unwrap_or_default(),
        _ => result,
    };
    match rows {
        Value::Array(rows) => rows,
        _ => Vec::new(),
    }
}

/// Calls a function for every object that has one of the fields.
fn each_row(
    value: &mut Value,
    names: &BTreeMap<String, FieldNames>,
    depth: usize,
    visit: &mut dyn FnMut(&mut Map<String, Value>),
) {
    match value {
        Value::Object(fields) if fields.keys().any(|name| names.contains_key(name)) => visit(fields),
        Value::Object(fields) if depth > 0 => {
            fields.values_mut().for_each(|inner| each_row(inner, names, depth - 1, visit));
        }
        Value::Array(items) if depth > 0 => items.iter_mut().for_each(|item| each_row(item, names, depth - 1, visit)),
        _ => {}
    }
}
