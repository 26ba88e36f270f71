//! Filters in the language of jq: predicates of graphs, conditions of playbooks, pure activities.
//!
//! Only the pure part of the language is supported: no clock, environment, files or `input`.

mod fields;
mod immediate;
mod json;
mod library;
mod scan;

use std::collections::BTreeSet;
use std::fmt;

use jaq_core::load::{Arena, File, Loader};
use jaq_core::{Compiler, Ctx, Vars, data, native, unwrap_valr};
use jaq_json::Val;
use regex::{Captures, Regex};
use serde_json::Value;

use json::{from_fields, from_json, to_json};
use library::Definition;

type FilterData = data::JustLut<Val>;
type Compiled = jaq_core::compile::Filter<jaq_core::Native<FilterData>>;

/// A compiled filter.
pub struct Filter {
    text: String,
    compiled: Compiled,
}

/// More results than this are an error, so that an endless filter cannot exhaust the memory.
const MOST_RESULTS: usize = 100_000;

type Pattern = native::Filter<jaq_core::RunPtr<FilterData>>;

/// The native functions behind `library::PATTERNS`.
fn patterns() -> [Pattern; 3] {
    [
        ("match_test", native::v(1), |cv| {
            native::unary(cv, |text, pattern| on_match(&text, &pattern, |pattern, text| pattern.is_match(text).into()))
        }),
        ("match_scan", native::v(1), |cv| native::unary(cv, |text, pattern| on_match(&text, &pattern, scan))),
        ("match_capture", native::v(1), |cv| native::unary(cv, |text, pattern| on_match(&text, &pattern, capture))),
    ]
}

fn on_match(text: &Val, pattern: &Val, what: fn(&Regex, &str) -> Value) -> Result<Val, jaq_core::Error<Val>> {
    let words = |value: &Val| match value {
        Val::TStr(bytes) => Ok(String::from_utf8_lossy(bytes).into_owned()),
        other => Err(jaq_core::Error::str(format!("a pattern and what it looks into are texts, not {other}"))),
    };
    let pattern = Regex::new(&words(pattern)?).map_err(|error| jaq_core::Error::str(error.to_string()))?;
    Ok(from_json(&what(&pattern, &words(text)?)))
}

fn scan(pattern: &Regex, text: &str) -> Value {
    let one = |found: Captures<'_>| match found.len() {
        1 => Value::from(&found[0]),
        _ => found.iter().skip(1).map(|group| group.map(|group| group.as_str())).map(Value::from).collect(),
    };
    pattern.captures_iter(text).map(one).collect()
}

fn capture(pattern: &Regex, text: &str) -> Value {
    let named = |found: Captures<'_>| {
        let names = pattern.capture_names().flatten();
        let text = |name| Value::from(found.name(name).map(|group| group.as_str()));
        names.map(|name| (name.to_owned(), text(name))).collect::<Value>()
    };
    pattern.captures(text).map(named).into_iter().collect()
}

/// An input for filters, converted once.
#[derive(Clone, Debug)]
pub struct Read(Val);

impl Read {
    /// Converts an input.
    pub fn new(input: &Value) -> Self {
        Self(from_json(input))
    }

    /// An object of converted fields. If a name occurs twice, the later field is used.
    pub fn of_fields<'a>(fields: impl Iterator<Item = (&'a str, Read)>) -> Self {
        Self(from_fields(fields.map(|(name, Read(value))| (name, value))))
    }
}

fn compile<'a>(text: &str, defs: impl Iterator<Item = &'a Definition>) -> Result<Compiled, String> {
    let funs = jaq_core::funs().chain(jaq_std::base_funs()).chain(jaq_json::funs());
    let funs = funs.filter(|(name, ..)| *name != "halt").chain(patterns().map(native::run::<FilterData>));
    let arena = Arena::default();
    let modules = Loader::new(defs.cloned()).load(&arena, File { code: text, path: () });
    let modules = modules.map_err(|errors| load_error(text, errors))?;
    let compiled = Compiler::default().with_funs(funs).compile(modules);
    compiled.map_err(|errors| {
        let unknown = errors.iter().flat_map(|(_, found)| found).next();
        unknown.map_or_else(|| "it cannot be compiled".to_owned(), |(name, _)| format!("`{name}` is not defined"))
    })
}

impl Filter {
    /// Compiles a filter. The error has the reason and, if known, the column.
    pub fn compile(text: &str) -> Result<Self, String> {
        // Recursive definitions and deep nesting could overflow the stack.
        if let Some(problem) = scan::problem(text) {
            return Err(problem);
        }
        // Loading all definitions takes most of the time, so only those named in the text are tried first.
        let compiled = compile(text, library::named_in(text)).or_else(|_| compile(text, library::whole()))?;
        Ok(Self { text: text.to_owned(), compiled })
    }

    /// Whether it ends at once whatever it reads: it has no iteration. Others may never end.
    pub fn is_immediate(&self) -> bool {
        immediate::is_immediate(&self.text)
    }

    /// The fields of its input that it reads; none if it may read others too.
    pub fn fields(&self) -> Option<BTreeSet<String>> {
        fields::fields_of(&self.text)
    }

    /// Paths of its input that it reads, each as the names in it. It may read others too.
    pub fn paths(&self) -> BTreeSet<Vec<String>> {
        fields::paths_of(&self.text)
    }

    /// All results for an input.
    pub fn run(&self, input: &Value) -> Result<Vec<Value>, String> {
        self.run_read(&Read::new(input))
    }

    fn run_read(&self, Read(input): &Read) -> Result<Vec<Value>, String> {
        let ctx = Ctx::<FilterData>::new(&self.compiled.lut, Vars::new([]));
        let mut results = Vec::new();
        for result in self.compiled.id.run((ctx, input.clone())).map(unwrap_valr) {
            let value = result.map_err(|error| error.to_string())?;
            if results.len() == MOST_RESULTS {
                return Err(format!("more than {MOST_RESULTS} results"));
            }
            results.push(to_json(&value)?);
        }
        Ok(results)
    }

    /// The single result. No result is null, and several are an error.
    pub fn one(&self, input: &Value) -> Result<Value, String> {
        self.one_read(&Read::new(input))
    }

    /// The single result for a converted input.
    pub fn one_read(&self, input: &Read) -> Result<Value, String> {
        let mut results = self.run_read(input)?;
        match results.len() {
            0 => Ok(Value::Null),
            1 => Ok(results.remove(0)),
            several => Err(format!("{several} results where one is due; collect them with [ … ]")),
        }
    }

    /// Whether the result is neither false nor null.
    pub fn holds(&self, input: &Read) -> Result<bool, String> {
        Ok(!matches!(self.one_read(input)?, Value::Null | Value::Bool(false)))
    }
}

impl fmt::Debug for Filter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Filter").field(&self.text).finish()
    }
}

fn load_error(text: &str, errors: jaq_core::load::Errors<&str, ()>) -> String {
    use jaq_core::load::Error;
    let found = match errors.into_iter().next() {
        Some((_, Error::Lex(found))) => found.first().map(|(expected, rest)| (expected.as_str(), *rest)),
        Some((_, Error::Parse(found))) => found.first().map(|(expected, rest)| (expected.as_str(), *rest)),
        _ => return "it needs a module, and there are none".to_owned(),
    };
    let Some((expected, rest)) = found else { return "it cannot be read".to_owned() };
    // `rest` is a slice of the text, but it does not always extend to the end.
    let offset = (rest.as_ptr() as usize).checked_sub(text.as_ptr() as usize).filter(|offset| *offset <= text.len());
    let before = text.get(..offset.unwrap_or(text.len().saturating_sub(rest.len()))).unwrap_or_default();
    format!("column {}: expected {expected}", before.chars().count() + 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_filter_reads_and_builds_json() {
        let filter = Filter::compile(".state.rows | map(select(.n > 1) | .name) | join(\", \")").unwrap();
        let input = json!({"state": {"rows": [{"n": 1, "name": "a"}, {"n": 2, "name": "b"}, {"n": 3, "name": "в"}]}});
        assert_eq!(filter.one(&input), Ok(json!("b, в")));
    }

    #[test]
    fn only_false_and_null_are_falsy() {
        for (text, holds) in [
            ("true", true),
            ("0", true),
            ("\"\"", true),
            ("false", false),
            (".nothing", false),
            ("empty", false),
            ("\"abc\" | test(\"^A\")", false),
            ("\"Сделка 7\" | test(\"\\\\d\")", true),
        ] {
            assert_eq!(Filter::compile(text).unwrap().holds(&Read::new(&json!({}))), Ok(holds), "{text}");
        }
    }

    #[test]
    fn patterns_match_in_a_text() {
        let text = "- link \"Дальше\" [ref=e12]\n- text: 1 200 ₽\n- link \"Назад\" [ref=f1e3]";
        for (filter, found) in [
            (r#"[scan("ref=(?:f\\d+)?e\\d+")]"#, json!(["ref=e12", "ref=f1e3"])),
            (r#"[scan("link \"(\\w+)\" \\[ref=(\\w+)\\]")]"#, json!([["Дальше", "e12"], ["Назад", "f1e3"]])),
            (r#"[scan("(a)?(link)")] | unique"#, json!([[null, "link"]])),
            (r#"capture("\"Назад\" \\[ref=(?<id>\\w+)(?<more> more)?") | [.id, .more]"#, json!(["f1e3", null])),
            (r#"[capture("(?<id>nowhere)")]"#, json!([])),
            (r#"capture("text: (?<n>[\\d ]+)").n | split(" ") | add | tonumber"#, json!(1200)),
        ] {
            assert_eq!(Filter::compile(filter).unwrap().one(&json!(text)), Ok(found), "{filter}");
        }
        assert!(Filter::compile("scan(\"(\")").unwrap().run(&json!("a")).is_err());
        assert!(Filter::compile("capture(\"a\")").unwrap().run(&json!(1)).is_err());
    }

    #[test]
    fn an_invalid_filter_is_reported_with_its_place() {
        assert!(Filter::compile(".a | | .b").unwrap_err().contains("column"));
        assert!(Filter::compile("nosuch(1)").unwrap_err().contains("nosuch"));
        assert!(Filter::compile("def f: 1 + f; f").unwrap_err().contains("column 1"));
        assert!(Filter::compile(".a").unwrap().run(&json!([1])).is_err());
    }

    #[test]
    fn a_filter_sees_only_its_input() {
        for text in ["now", "env", "$ENV", "input", "inputs", "halt", "import \"a\" as a; 1", "debug", "input_filename"]
        {
            assert!(Filter::compile(text).is_err(), "{text}");
        }
    }
}
