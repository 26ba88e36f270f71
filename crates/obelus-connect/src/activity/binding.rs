//! Makes activities from bindings in JSON, and reports errors in the JSON.

use std::path::Path;
use std::time::Duration;

use obelus_kernel::{closest, type_name};
use obelus_runtime::Activities;
use serde_json::{Map, Value};

use super::DeclaredNames;

/// The default time limit of a call.
const TIMEOUT: Duration = Duration::from_secs(60);

/// The largest number of retries; more would hide an outage.
const MAX_RETRIES: u64 = 10;

/// The kinds of bindings, each with its fields.
const KINDS: [(&str, &[&str]); 6] = [
    ("bitrix24", &["bitrix24", "timeout"]),
    ("exec", &["exec", "timeout", "retry", "cwd", "env", "reconcile"]),
    ("http", &["http", "timeout", "retry", "secrets", "reconcile"]),
    ("jq", &["jq", "timeout"]),
    ("mcp", &["mcp", "timeout", "retry"]),
    ("operator", &["operator"]),
];

/// Why a binding cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}{field}: {problem}", place(binding, field))]
pub struct BindingError {
    /// The name of the activity.
    pub binding: String,
    /// The field at fault, as a dotted path; empty for the binding as a whole.
    pub field: String,
    /// What is wrong, and what would be correct.
    pub problem: String,
}

/// The subject of the error, with a comma if a field follows. Names that begin with `mcp.` are servers.
fn place(binding: &str, field: &str) -> String {
    let what = match binding.strip_prefix("mcp.") {
        Some(server) => format!("MCP server `{server}`"),
        None => format!("activity `{binding}`"),
    };
    if field.is_empty() { what } else { format!("{what}, field ") }
}

/// Makes activities from bindings. Paths are relative to `base`, the folder of their file.
pub fn bind(bindings: &Map<String, Value>, base: &Path) -> Result<Activities, BindingError> {
    let mut activities = Activities::new();
    bind_into(&mut activities, bindings, base)?;
    Ok(activities)
}

/// Adds activities from bindings to others; those with the same name are replaced. After an error nothing is added.
pub fn bind_into(activities: &mut Activities, bindings: &Map<String, Value>, base: &Path) -> Result<(), BindingError> {
    bind_all(activities, bindings, BindingContext::new(base, DeclaredNames::of_bindings(bindings)))
}

/// Like [`bind_into`], with a browser for the bindings `{operator: observe}`, `{operator: aim}` and `{operator: act}`.
#[cfg(feature = "mcp")]
pub fn bind_with(
    activities: &mut Activities,
    bindings: &Map<String, Value>,
    base: &Path,
    browser: Option<&std::sync::Arc<crate::browser::Browser>>,
) -> Result<(), BindingError> {
    bind_session(activities, bindings, base, &DeclaredNames::of_bindings(bindings), browser)
}

/// Like [`bind_into`], for a session whose file names these variables as secrets.
pub(crate) fn bind_session(
    activities: &mut Activities,
    bindings: &Map<String, Value>,
    base: &Path,
    declared: &DeclaredNames,
    #[cfg(feature = "mcp")] browser: Option<&std::sync::Arc<crate::browser::Browser>>,
) -> Result<(), BindingError> {
    let context = BindingContext::new(base, declared.clone());
    #[cfg(feature = "mcp")]
    let context = BindingContext { browser: browser.cloned(), ..context };
    bind_all(activities, bindings, context)
}

fn bind_all(
    activities: &mut Activities,
    bindings: &Map<String, Value>,
    shared: BindingContext<'_>,
) -> Result<(), BindingError> {
    let mut all = activities.clone();
    for (name, binding) in bindings {
        bind_one(&mut all, name, binding, &shared)?;
    }
    *activities = all;
    Ok(())
}

/// What the bindings of one file share.
struct BindingContext<'a> {
    base: &'a Path,
    declared: DeclaredNames,
    #[cfg(feature = "http")]
    client: super::http::LazyClient,
    #[cfg(feature = "mcp")]
    browser: Option<std::sync::Arc<crate::browser::Browser>>,
}

impl<'a> BindingContext<'a> {
    fn new(base: &'a Path, declared: DeclaredNames) -> Self {
        Self {
            base,
            declared,
            #[cfg(feature = "http")]
            client: super::http::LazyClient::default(),
            #[cfg(feature = "mcp")]
            browser: None,
        }
    }
}

fn bind_one(
    all: &mut Activities,
    name: &str,
    binding: &Value,
    shared: &BindingContext<'_>,
) -> Result<(), BindingError> {
    let whole = |problem: String| BindingError { binding: name.to_owned(), field: String::new(), problem };
    let Value::Object(map) = binding else {
        let found = type_name(binding);
        return Err(whole(format!("a binding is an object such as {{\"exec\": [\"program\"]}}, not {found}")));
    };
    let kinds: Vec<_> = KINDS.into_iter().filter(|(kind, _)| map.contains_key(*kind)).collect();
    let (kind, known) = match kinds[..] {
        [one] => one,
        [] => {
            let guess = map.keys().find_map(|field| closest(field, &KINDS.map(|(kind, _)| kind)));
            let guess = guess.map_or_else(String::new, |kind| format!("; did you mean `{kind}`?"));
            return Err(whole(format!("it needs one of exec, http, jq, bitrix24, operator{guess}")));
        }
        [(first, _), (second, _), ..] => {
            return Err(whole(format!(
                "`{first}` and `{second}` exclude each other: keep one, and bind the other to another name"
            )));
        }
    };
    let fields = BindingFields::new(name, "", map, known)?;
    match kind {
        #[cfg(feature = "bitrix24")]
        "bitrix24" => drop(all.add(name, crate::bitrix24::Bitrix24::parse(&fields)?)),
        #[cfg(feature = "exec")]
        "exec" => drop(all.add(name, super::exec::Exec::parse(&fields, shared.base, &shared.declared)?)),
        #[cfg(feature = "http")]
        "http" => drop(all.add(name, super::http::Http::parse(&fields, &shared.client)?)),
        #[cfg(feature = "jq")]
        "jq" => drop(all.add(name, super::jq::Jq::parse(&fields)?)),
        "mcp" => {
            return Err(fields.wrong("mcp", "servers are not activities: they belong under `mcp` in the agent's file"));
        }
        "operator" => {
            #[cfg(feature = "mcp")]
            if let (Some(browser), Some(part)) = (&shared.browser, fields.text("operator")?)
                && part != "record"
            {
                return browser.bind_one(all, name, part);
            }
            crate::operator::bind(all, name, &fields)?;
        }
        absent => return Err(fields.wrong(absent, format!("this program was built without the feature `{absent}`"))),
    }
    Ok(())
}

/// The fields of a binding, or of an object in it. A null field counts as absent.
pub(crate) struct BindingFields<'a> {
    binding: &'a str,
    /// The path of the object in the binding: empty, or a path that ends with a dot.
    prefix: &'static str,
    map: &'a Map<String, Value>,
}

impl<'a> BindingFields<'a> {
    fn new(
        binding: &'a str,
        prefix: &'static str,
        map: &'a Map<String, Value>,
        known: &[&str],
    ) -> Result<Self, BindingError> {
        let fields = Self { binding, prefix, map };
        if let Some(stray) = map.keys().find(|field| !known.contains(&field.as_str())) {
            let owns =
                |(kind, theirs): &(_, &[&str])| (*kind != "mcp" && theirs.contains(&stray.as_str())).then_some(*kind);
            let owners: Vec<_> = KINDS.iter().filter_map(owns).filter(|_| prefix.is_empty()).collect();
            let hint = match closest(stray, known) {
                _ if !owners.is_empty() => format!("it goes with {} only", owners.join(" and ")),
                Some(meant) => format!("did you mean `{meant}`?"),
                None => format!("the fields here are {}", known.join(", ")),
            };
            return Err(fields.wrong(stray, format!("unknown; {hint}")));
        }
        Ok(fields)
    }

    /// The fields of something other than an activity, such as a server.
    #[cfg(feature = "mcp")]
    pub(crate) fn of(binding: &'a str, map: &'a Map<String, Value>, known: &[&str]) -> Result<Self, BindingError> {
        let fields = Self { binding, prefix: "", map };
        let Some(stray) = map.keys().find(|field| !known.contains(&field.as_str())) else { return Ok(fields) };
        let hint = match closest(stray, known) {
            Some(meant) => format!("did you mean `{meant}`?"),
            None => format!("the fields here are {}", known.join(", ")),
        };
        Err(fields.wrong(stray, format!("unknown; {hint}")))
    }

    /// The fields of an object in the binding.
    pub(crate) fn inner(&self, name: &str, prefix: &'static str, known: &[&str]) -> Result<Self, BindingError> {
        match self.map.get(name) {
            Some(Value::Object(map)) => Self::new(self.binding, prefix, map, known),
            other => Err(self.mistyped(name, &format!("an object with {}", known.join(", ")), other)),
        }
    }

    /// An error about a field.
    pub(crate) fn wrong(&self, field: &str, problem: impl Into<String>) -> BindingError {
        let field = format!("`{}{field}`", self.prefix);
        BindingError { binding: self.binding.to_owned(), field, problem: problem.into() }
    }

    /// An error about a field with the wrong type.
    pub(crate) fn mistyped(&self, field: &str, expected: &str, found: Option<&Value>) -> BindingError {
        let found = found.map_or("missing", type_name);
        self.wrong(field, format!("it must be {expected}; it is {found}"))
    }

    /// A field, if it is given.
    pub(crate) fn get(&self, name: &str) -> Option<&'a Value> {
        self.map.get(name).filter(|value| !value.is_null())
    }

    /// A text field, if it is given.
    pub(crate) fn text(&self, name: &str) -> Result<Option<&'a str>, BindingError> {
        match self.get(name) {
            None => Ok(None),
            Some(Value::String(text)) => Ok(Some(text)),
            other => Err(self.mistyped(name, "a text", other)),
        }
    }

    /// A field with a list of texts; empty if it is not given.
    pub(crate) fn texts(&self, name: &str) -> Result<Vec<String>, BindingError> {
        let value = match self.get(name) {
            None => return Ok(Vec::new()),
            Some(Value::Array(items)) => items.iter().map(|item| item.as_str().map(str::to_owned)).collect(),
            Some(_) => None,
        };
        value.ok_or_else(|| self.mistyped(name, "a list of texts", self.get(name)))
    }

    /// The binding's time limit of calls; `None` means the session's.
    pub(super) fn own_time_limit(&self) -> Result<Option<Duration>, BindingError> {
        self.get("timeout").map(|_| self.time_limit()).transpose()
    }

    /// The time limit of calls, or the default.
    pub(crate) fn time_limit(&self) -> Result<Duration, BindingError> {
        self.seconds("timeout", TIMEOUT)
    }

    /// A field with a number of seconds.
    pub(crate) fn seconds(&self, name: &str, usual: Duration) -> Result<Duration, BindingError> {
        let Some(value) = self.get(name) else { return Ok(usual) };
        let seconds = value.as_f64().filter(|seconds| *seconds > 0.0);
        let limit = seconds.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
        limit.ok_or_else(|| self.wrong(name, format!("it must be a number of seconds above 0; it is {value}")))
    }

    /// How often a read is retried.
    pub(super) fn retry(&self) -> Result<super::retry::Retry, BindingError> {
        let times = self.get("retry").map_or(Some(0), Value::as_u64).filter(|times| *times <= MAX_RETRIES);
        let times = times.and_then(|times| u32::try_from(times).ok());
        times.map(super::retry::Retry).ok_or_else(|| {
            let found = self.get("retry").map_or_else(String::new, Value::to_string);
            self.wrong("retry", format!("it must be a whole number from 0 to {MAX_RETRIES}; it is {found}"))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fuzz_bindings_are_refused_with_a_place_or_bound() {
        crate::fuzz::fuzz_some("bindings", 500, |input| {
            let Ok(bindings) = serde_json::from_slice::<Map<String, Value>>(input) else { return false };
            bind(&bindings, Path::new("/nonexistent/obelus-fuzz")).is_ok()
        });
    }
}
