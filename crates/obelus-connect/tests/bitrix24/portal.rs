//! The parts of a portal that tests need: deals with ids, counted pages, pages by id, and batches with references.

use serde_json::{Map, Value, json};

use super::TOKEN;
use super::server::{Asked, Reply, answer};

/// The method and the parameters of a request.
#[derive(Debug)]
pub(crate) struct Called {
    pub(crate) method: String,
    pub(crate) params: Value,
}

pub(crate) fn called(asked: &Asked) -> Called {
    let (path, query) = asked.target.split_once('?').unwrap_or((&asked.target, ""));
    let method = path.strip_prefix(&format!("/rest/1/{TOKEN}/")).and_then(|rest| rest.strip_suffix(".json"));
    let params = if asked.body.is_empty() {
        parse_query(query)
    } else {
        serde_json::from_str(&asked.body).expect("a JSON body")
    };
    Called { method: method.expect("the address of a method").to_owned(), params }
}

pub(crate) fn result(value: &Value) -> Reply {
    answer("200 OK", "application/json", &json!({"result": value, "time": {}}).to_string())
}

pub(crate) fn refusal(status: &str, code: &str, description: &str) -> Reply {
    let body = json!({"error": code, "error_description": description});
    answer(status, "application/json", &body.to_string())
}

/// Parses a query as PHP does: nested objects; lists are objects with numbers as names.
pub(crate) fn parse_query(query: &str) -> Value {
    let mut params = json!({});
    for pair in query.split('&').filter(|pair| !pair.is_empty()) {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        let name = decoded(name);
        let mut at = &mut params;
        for step in name.split('[').map(|step| step.trim_end_matches(']')) {
            at = &mut at[step];
        }
        *at = decoded(value).into();
    }
    params
}

fn decoded(text: &str) -> String {
    let mut bytes = Vec::new();
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        match byte {
            b'%' => {
                let hex = [rest.next().unwrap(), rest.next().unwrap()];
                bytes.push(u8::from_str_radix(std::str::from_utf8(&hex).unwrap(), 16).unwrap());
            }
            byte => bytes.push(byte),
        }
    }
    String::from_utf8(bytes).unwrap()
}

fn number(value: &Value) -> Option<i64> {
    value.as_i64().or_else(|| value.as_str()?.parse().ok())
}

/// A portal with deals; some of the ids may be missing.
pub(crate) struct Deals {
    pub(crate) ids: Vec<i64>,
    /// The field that contains the rows, as for tasks.
    pub(crate) rows: Option<&'static str>,
    /// Whether batches support references.
    pub(crate) refers: bool,
}

impl Deals {
    pub(crate) fn up_to(count: i64) -> Self {
        Self { ids: (1..=count).collect(), rows: None, refers: true }
    }

    pub(crate) fn reply(&self, asked: &Asked) -> Reply {
        let called = called(asked);
        let body = match called.method.as_str() {
            "batch" => json!({"result": self.batch(&called.params)}),
            _ => self.list(&called.params),
        };
        answer("200 OK", "application/json", &body.to_string())
    }

    fn list(&self, params: &Value) -> Value {
        let filter = |name: &str| params.get("filter").and_then(|filter| number(filter.get(name)?));
        let is_down = params["order"]["ID"].as_str().is_some_and(|order| order.eq_ignore_ascii_case("desc"));
        let mut ids: Vec<i64> = self.ids.clone();
        ids.retain(|id| filter(">ID").is_none_or(|least| *id > least) && filter("<ID").is_none_or(|most| *id < most));
        if is_down {
            ids.reverse();
        }
        let start = number(&params["start"]).unwrap_or(0);
        let total = ids.len();
        let first = usize::try_from(start.max(0)).unwrap() / 50 * 50;
        let page: Vec<Value> = ids.iter().skip(first).take(50).map(|id| json!({"ID": id.to_string()})).collect();
        let rows = match self.rows {
            Some(rows) => json!({ rows: page }),
            None => json!(page),
        };
        let mut answer = json!({"result": rows, "total": if start < 0 { 0 } else { total }});
        if start >= 0 && first + 50 < total {
            answer["next"] = (first + 50).into();
        }
        answer
    }

    fn batch(&self, params: &Value) -> Value {
        let (mut results, mut totals, mut nexts) = (Map::new(), Map::new(), Map::new());
        for (name, command) in params["cmd"].as_object().unwrap() {
            let query = command.as_str().unwrap().split_once('?').map_or("", |(_, query)| query);
            let mut params = parse_query(query);
            if let Some(filter) = params.get_mut("filter").and_then(Value::as_object_mut) {
                for value in filter.values_mut() {
                    let reference = value.as_str().and_then(|text| text.strip_prefix("$result")).map(str::to_owned);
                    if let Some(path) = reference.filter(|_| self.refers) {
                        let steps = path.split(['[', ']']).filter(|step| !step.is_empty());
                        let mut at = &Value::Object(results.clone());
                        // A reference that leads nowhere gives the deepest value reached.
                        for step in steps {
                            at = step
                                .parse::<usize>()
                                .ok()
                                .and_then(|i| at.get(i))
                                .or_else(|| at.get(step))
                                .unwrap_or(at);
                        }
                        *value = at.clone();
                    }
                }
            }
            let answer = self.list(&params);
            results.insert(name.clone(), answer["result"].clone());
            totals.insert(name.clone(), answer["total"].clone());
            if let Some(next) = answer.get("next") {
                nexts.insert(name.clone(), next.clone());
            }
        }
        let nexts = if nexts.is_empty() { json!([]) } else { nexts.into() };
        json!({"result": results, "result_error": [], "result_total": totals, "result_next": nexts, "result_time": []})
    }
}
