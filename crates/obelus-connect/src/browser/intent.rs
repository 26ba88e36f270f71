//! A parsed planned call: the tool, the elements and the parameters.
//!
//! A planned call names elements by ids, which are not valid later. They are removed before it is stored, and those
//! of the found elements are inserted when it is carried out.

use obelus_kernel::session::CallError;
use serde_json::{Map, Value};
use url::Url;

use super::snapshot::is_id;

/// The longest wait, in seconds.
const LONGEST_WAIT: f64 = 30.0;

/// The action.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Intent {
    /// Open an address, in this tab or in a new one.
    Go(Url),
    Back,
    /// Open, select or close a tab.
    Tab,
    Wait,
    /// Search for a text in the page.
    Find(String),
    /// Answer a dialog.
    Dialog {
        accept: bool,
    },
    /// Upload files; none cancels.
    Files(Vec<String>),
    Press,
    /// Press a point of the picture.
    Point {
        x: f64,
        y: f64,
    },
    Hover,
    Type {
        submit: bool,
    },
    Choose,
    /// Fill several fields, then press the submit button.
    Fields {
        submit: bool,
    },
    Drag,
    Key(String),
}

impl Intent {
    /// Whether it concerns elements of the page.
    pub(super) fn touches(&self) -> bool {
        use Intent::{Choose, Drag, Fields, Hover, Key, Press, Type};
        matches!(self, Press | Hover | Type { .. } | Choose | Fields { .. } | Drag | Key(_))
    }

    /// Parses an action and checks that it is complete.
    pub(super) fn of(act: &Map<String, Value>) -> Result<Self, CallError> {
        let tool = act.get("tool").and_then(Value::as_str).unwrap_or_default();
        let text = |name: &str| act.get(name).and_then(Value::as_str);
        let needed = |name: &str| text(name).ok_or_else(|| wrong(tool, name, "a text"));
        Ok(match tool {
            "browser_navigate" => Self::Go(address(needed("url")?)?),
            "browser_navigate_back" => Self::Back,
            "browser_tabs" => match (needed("action")?, text("url")) {
                ("new", Some(url)) => Self::Go(address(url)?),
                ("new" | "list" | "select" | "close", _) => Self::Tab,
                _ => return Err(wrong(tool, "action", "one of list, new, select, close")),
            },
            "browser_wait_for" => {
                let long = act.get("time").and_then(Value::as_f64).is_some_and(|time| time > LONGEST_WAIT);
                if long {
                    return Err(wrong(tool, "time", "at most 30 seconds"));
                }
                Self::Wait
            }
            "browser_find" => Self::Find(needed("text")?.to_owned()),
            "browser_handle_dialog" => match act.get("accept") {
                Some(Value::Bool(accept)) => Self::Dialog { accept: *accept },
                _ => return Err(wrong(tool, "accept", "true or false")),
            },
            "browser_file_upload" => Self::Files(match act.get("paths") {
                None | Some(Value::Null) => Vec::new(),
                Some(paths) => texts(paths).ok_or_else(|| wrong(tool, "paths", "a list of texts"))?,
            }),
            "browser_click" => Self::Press,
            "browser_mouse_click_xy" => {
                let number = |name: &str| {
                    let found = act.get(name).and_then(Value::as_f64).filter(|number| *number >= 0.0);
                    found.ok_or_else(|| wrong(tool, name, "a number of pixels from the picture's upper left corner"))
                };
                Self::Point { x: number("x")?, y: number("y")? }
            }
            "browser_hover" => Self::Hover,
            "browser_type" => {
                needed("text")?;
                Self::Type { submit: act.get("submit").and_then(Value::as_bool).unwrap_or(false) }
            }
            "browser_select_option" => {
                let values = act.get("values").and_then(texts);
                values.ok_or_else(|| wrong(tool, "values", "a list of texts"))?;
                Self::Choose
            }
            "browser_fill_form" => {
                let fields = act.get("fields").and_then(Value::as_array).filter(|fields| !fields.is_empty());
                let fields = fields.ok_or_else(|| wrong(tool, "fields", "a list of fields"))?;
                if !fields.iter().all(|field| field["value"].is_string()) {
                    return Err(wrong(tool, "fields", "a list of fields, each with a target and a value"));
                }
                Self::Fields { submit: act.get("submit") == Some(&Value::Bool(true)) }
            }
            "browser_drag" => Self::Drag,
            "browser_press_key" => Self::Key(needed("key")?.to_owned()),
            other => return Err(refused(other)),
        })
    }
}

/// A planned call without ids.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Planned {
    /// The tool and its parameters.
    pub(super) act: Map<String, Value>,
    /// The removed ids, in order.
    pub(super) ids: Vec<String>,
}

/// The parameters of the server's tools, except elements.
pub(super) const KNOWN: [(&str, &[&str]); 16] = [
    ("browser_navigate", &["url"]),
    ("browser_navigate_back", &[]),
    ("browser_tabs", &["action", "index", "url"]),
    ("browser_wait_for", &["time", "text", "textGone"]),
    ("browser_find", &["text"]),
    ("browser_handle_dialog", &["accept", "promptText"]),
    ("browser_file_upload", &["paths"]),
    ("browser_click", &["doubleClick", "button", "modifiers"]),
    ("browser_mouse_click_xy", &["x", "y"]),
    ("browser_hover", &[]),
    ("browser_type", &["text", "submit", "slowly"]),
    ("browser_select_option", &["values"]),
    ("browser_fill_form", &["fields", "submit"]),
    ("browser_drag", &[]),
    ("browser_press_key", &["key"]),
    ("browser_close", &[]),
];

impl Planned {
    /// Parses a call.
    pub(super) fn new(tool: &str, params: &Map<String, Value>) -> Result<Self, CallError> {
        let Some((_, known)) = KNOWN.iter().find(|(name, _)| *name == tool) else { return Err(refused(tool)) };
        let mut act = Map::new();
        act.insert("tool".to_owned(), Value::String(tool.to_owned()));
        for name in *known {
            if let Some(value) = params.get(*name).filter(|value| !value.is_null()) {
                act.insert((*name).to_owned(), value.clone());
            }
        }
        let mut ids = Vec::new();
        match tool {
            "browser_click" | "browser_hover" | "browser_type" | "browser_select_option" => {
                ids.push(target(tool, "target", params)?);
            }
            "browser_drag" => {
                for name in ["startTarget", "endTarget"] {
                    ids.push(target(tool, name, params)?);
                }
            }
            "browser_fill_form" => {
                let fields = act.get_mut("fields").and_then(Value::as_array_mut);
                for field in fields.into_iter().flatten() {
                    let Value::Object(field) = field else { return Err(wrong(tool, "fields", "a list of fields")) };
                    ids.push(target(tool, "target", field)?);
                    field.retain(|name, _| matches!(name.as_str(), "type" | "value"));
                }
                // The submit button follows the fields.
                if act.contains_key("submit") {
                    ids.push(target(tool, "submit", params)?);
                    act.insert("submit".to_owned(), Value::Bool(true));
                }
            }
            _ => {}
        }
        Ok(Self { act, ids })
    }
}

/// The server's arguments, with ids. `typed` gives the text to type into the element at an index.
pub(super) fn arguments(
    act: &Map<String, Value>,
    ids: &[&str],
    typed: impl Fn(usize, &str) -> Result<String, CallError>,
) -> Result<Map<String, Value>, CallError> {
    let tool = act.get("tool").and_then(Value::as_str).unwrap_or_default();
    let known = KNOWN.iter().find(|(name, _)| *name == tool).map_or(&[][..], |(_, known)| known);
    let mut arguments: Map<_, _> = act
        .iter()
        .filter(|(name, _)| known.contains(&name.as_str()))
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect();
    let id = |at: usize| Value::String(ids.get(at).copied().unwrap_or_default().to_owned());
    match tool {
        "browser_click" | "browser_hover" | "browser_select_option" => {
            drop(arguments.insert("target".to_owned(), id(0)));
        }
        "browser_type" => {
            arguments.insert("target".to_owned(), id(0));
            let text = typed(0, act.get("text").and_then(Value::as_str).unwrap_or_default())?;
            arguments.insert("text".to_owned(), Value::String(text));
        }
        "browser_drag" => {
            arguments.insert("startTarget".to_owned(), id(0));
            arguments.insert("endTarget".to_owned(), id(1));
        }
        "browser_fill_form" => {
            let mut fields = Vec::new();
            for (at, field) in act.get("fields").and_then(Value::as_array).into_iter().flatten().enumerate() {
                let text = typed(at, field["value"].as_str().unwrap_or_default())?;
                fields.push(serde_json::json!({
                    "target": id(at),
                    "name": field["name"].as_str().unwrap_or_default(),
                    "type": field["type"],
                    "value": text,
                }));
            }
            arguments.insert("fields".to_owned(), Value::Array(fields));
            arguments.remove("submit");
        }
        _ => {}
    }
    Ok(arguments)
}

fn target(tool: &str, name: &str, params: &Map<String, Value>) -> Result<String, CallError> {
    let text = params.get(name).and_then(Value::as_str).ok_or_else(|| wrong(tool, name, "the id of an element"))?;
    // Models may write the id as the observation shows it.
    let id = text.strip_prefix("[ref=").and_then(|rest| rest.strip_suffix(']')).unwrap_or(text);
    let id = id.strip_prefix("ref=").unwrap_or(id);
    if is_id(id) {
        return Ok(id.to_owned());
    }
    let words =
        format!("`{name}` must be the id of an element in the observation, such as e12; selectors are not taken");
    Err(CallError::new("not_an_element", words))
}

fn address(text: &str) -> Result<Url, CallError> {
    let wrong = |words: &str| Err(CallError::new("refused", words.to_owned()));
    let with_scheme = if text.contains(':') { text.to_owned() } else { format!("https://{text}") };
    match Url::parse(&with_scheme) {
        Err(_) => wrong("this is no address; write it as in https://shop.example.test/"),
        Ok(url) if !matches!(url.scheme(), "http" | "https") => {
            wrong("only pages on the web are opened: the address must begin with https:// or http://")
        }
        Ok(url) if !url.username().is_empty() || url.password().is_some() => {
            wrong("the address must not have a user or a password in it")
        }
        Ok(url) => Ok(url),
    }
}

fn texts(value: &Value) -> Option<Vec<String>> {
    value.as_array()?.iter().map(|item| item.as_str().map(str::to_owned)).collect()
}

fn wrong(tool: &str, field: &str, expected: &str) -> CallError {
    CallError::new("bad_params", format!("`{field}` of `{tool}` must be {expected}"))
}

fn refused(tool: &str) -> CallError {
    let words = match tool {
        "browser_evaluate" | "browser_run_code_unsafe" => "scripts are not run; use the controls of the page",
        "browser_snapshot" | "browser_take_screenshot" => "the step that observes does this; plan no call for it",
        "browser_close" => "the browser is closed when the session ends",
        "browser_console_messages" | "browser_network_requests" | "browser_network_request" => {
            "what a page does behind what it shows is not looked at"
        }
        _ => "it is not among what can be done with a page",
    };
    CallError::new("refused", format!("`{tool}` is refused: {words}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn planned(tool: &str, params: Value) -> Result<Planned, CallError> {
        let Value::Object(params) = params else { panic!("parameters are an object") };
        let planned = Planned::new(tool, &params)?;
        Intent::of(&planned.act)?;
        Ok(planned)
    }

    #[test]
    fn element_ids_are_removed_from_a_call_and_restored() {
        let typed = |_: usize, text: &str| Ok(text.replace("$P", "hush"));
        for (tool, params, act, again) in [
            (
                "browser_click",
                json!({"target": "e1", "element": "a button", "doubleClick": true}),
                json!({"tool": "browser_click", "doubleClick": true}),
                json!({"target": "n0", "doubleClick": true}),
            ),
            (
                "browser_type",
                json!({"target": "[ref=f1e1]", "text": "$P", "submit": true, "other": 1}),
                json!({"tool": "browser_type", "text": "$P", "submit": true}),
                json!({"target": "n0", "text": "hush", "submit": true}),
            ),
            (
                "browser_fill_form",
                json!({"fields": [
                    {"target": "e1", "name": "Mail", "type": "textbox", "value": "a"},
                    {"target": "e2", "name": "Pw", "type": "textbox", "value": "$P"},
                ]}),
                json!({"tool": "browser_fill_form", "fields": [
                    {"type": "textbox", "value": "a"}, {"type": "textbox", "value": "$P"},
                ]}),
                json!({"fields": [
                    {"target": "n0", "name": "", "type": "textbox", "value": "a"},
                    {"target": "n1", "name": "", "type": "textbox", "value": "hush"},
                ]}),
            ),
            (
                "browser_drag",
                json!({"startTarget": "e1", "endTarget": "e2"}),
                json!({"tool": "browser_drag"}),
                json!({"startTarget": "n0", "endTarget": "n1"}),
            ),
        ] {
            let planned = planned(tool, params).unwrap();
            assert_eq!(Value::Object(planned.act.clone()), act);
            assert_eq!(Value::Object(arguments(&planned.act, &["n0", "n1"], typed).unwrap()), again);
        }
    }

    #[test]
    fn forbidden_tools_and_parameters_are_refused() {
        for (tool, params, code) in [
            ("browser_evaluate", json!({"function": "() => 1"}), "refused"),
            ("browser_run_code_unsafe", json!({"code": "1"}), "refused"),
            ("browser_install", json!({}), "refused"),
            ("browser_snapshot", json!({}), "refused"),
            ("browser_close", json!({}), "refused"),
            ("browser_drop", json!({"target": "e1"}), "refused"),
            ("browser_navigate", json!({"url": "file:///etc/passwd"}), "refused"),
            ("browser_navigate", json!({"url": "data:text/html,x"}), "refused"),
            ("browser_navigate", json!({"url": " javascript:alert(1)"}), "refused"),
            ("browser_navigate", json!({"url": "chrome://version"}), "refused"),
            ("browser_navigate", json!({"url": "view-source:https://a.test"}), "refused"),
            ("browser_navigate", json!({"url": "https://u:p@a.test"}), "refused"),
            ("browser_navigate", json!({}), "bad_params"),
            ("browser_tabs", json!({"action": "new", "url": "file:///etc/passwd"}), "refused"),
            ("browser_tabs", json!({"action": "burn"}), "bad_params"),
            ("browser_click", json!({"target": "#buy"}), "not_an_element"),
            ("browser_click", json!({"target": "text=Buy"}), "not_an_element"),
            ("browser_click", json!({"target": 7}), "bad_params"),
            ("browser_click", json!({}), "bad_params"),
            ("browser_type", json!({"target": "e1"}), "bad_params"),
            ("browser_fill_form", json!({"fields": []}), "bad_params"),
            (
                "browser_fill_form",
                json!({"fields": [{"target": "input", "type": "textbox", "value": ""}]}),
                "not_an_element",
            ),
            ("browser_wait_for", json!({"time": 3600}), "bad_params"),
            ("browser_handle_dialog", json!({}), "bad_params"),
        ] {
            assert_eq!(planned(tool, params.clone()).unwrap_err().code, code, "{tool} {params}");
        }
        let plain = planned("browser_navigate", json!({"url": "shop.example.test/a"})).unwrap();
        assert_eq!(Intent::of(&plain.act).unwrap(), Intent::Go(Url::parse("https://shop.example.test/a").unwrap()));
    }
}
