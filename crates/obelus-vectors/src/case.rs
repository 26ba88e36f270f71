//! Finds cases, runs them and counts the outcomes.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::value::RawValue;
use serde_json::{Value, json};

/// One case. Its fields are kept as raw text, so that an invalid context reaches the code under test unchanged.
pub struct Case<'a> {
    fields: BTreeMap<String, &'a RawValue>,
}

impl<'a> Case<'a> {
    /// The text of a field.
    pub(crate) fn raw(&self, name: &str) -> Result<&'a str, String> {
        self.fields.get(name).map(|raw| raw.get()).ok_or_else(|| format!("the case has no `{name}`"))
    }

    /// A field; null if it is missing.
    pub(crate) fn get(&self, name: &str) -> Result<Value, String> {
        match self.fields.get(name) {
            Some(raw) => serde_json::from_str(raw.get()).map_err(|error| format!("`{name}`: {error}")),
            None => Ok(Value::Null),
        }
    }

    /// A text field; empty if it is missing.
    pub(crate) fn text(&self, name: &str) -> String {
        self.get(name).ok().and_then(|value| value.as_str().map(str::to_owned)).unwrap_or_default()
    }
}

impl Case<'_> {
    /// Its name, or its number in the file.
    pub(crate) fn name(&self, index: usize) -> String {
        let name = self.text("name");
        if name.is_empty() { format!("case {index}") } else { name }
    }
}

/// The outcome of a case.
#[derive(Clone, Debug, PartialEq)]
pub struct CaseOutcome {
    /// The file that contains it.
    pub file: PathBuf,
    /// Its name.
    pub name: String,
    /// Differences from the expected result; empty if the case passed.
    pub why: Vec<String>,
    /// Whether this version cannot run cases of this kind.
    pub unsupported: bool,
    /// The calls, questions and end of the run, for statistics.
    pub seen: Value,
}

impl CaseOutcome {
    /// Whether the case passed.
    pub fn ok(&self) -> bool {
        self.why.is_empty() && !self.unsupported
    }
}

/// The outcomes of all cases.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// Every case, by file and position.
    pub outcomes: Vec<CaseOutcome>,
}

impl Report {
    /// Cases that passed.
    pub fn passed(&self) -> usize {
        self.outcomes.iter().filter(|outcome| outcome.ok()).count()
    }

    /// Cases that failed.
    pub fn failed(&self) -> usize {
        self.outcomes.iter().filter(|outcome| !outcome.why.is_empty()).count()
    }

    /// Cases of a kind that this version cannot run.
    pub fn unsupported(&self) -> usize {
        self.outcomes.iter().filter(|outcome| outcome.unsupported).count()
    }

    /// The report as JSON for other programs.
    pub fn to_json(&self) -> Value {
        let case = |outcome: &CaseOutcome| {
            let mut case = json!({
                "file": outcome.file.display().to_string(),
                "name": outcome.name,
                "ok": outcome.ok(),
                "why": outcome.why,
            });
            if outcome.unsupported {
                case["unsupported"] = true.into();
            }
            if let (Value::Object(case), Value::Object(seen)) = (&mut case, &outcome.seen) {
                case.extend(seen.clone());
            }
            case
        };
        json!({
            "passed": self.passed(),
            "failed": self.failed(),
            "unsupported": self.unsupported(),
            "cases": self.outcomes.iter().map(case).collect::<Vec<_>>(),
        })
    }

    /// The report as text: a line for each case that did not pass, then the totals.
    pub fn to_text(&self) -> String {
        let mut lines = Vec::new();
        for outcome in self.outcomes.iter().filter(|outcome| !outcome.ok()) {
            let what = if outcome.unsupported { "not yet supported" } else { "failed" };
            let why = if outcome.why.is_empty() { String::new() } else { format!(": {}", outcome.why.join("; ")) };
            lines.push(format!("{what} {}: {}{why}", outcome.file.display(), outcome.name));
        }
        let skipped = match self.unsupported() {
            0 => String::new(),
            n => format!(", {n} skipped"),
        };
        lines.push(format!("{} passed, {} failed{skipped}", self.passed(), self.failed()));
        lines.join("\n")
    }
}

/// Runs every `*.json` below the given files and folders.
pub fn run_paths(paths: &[PathBuf]) -> Result<Report, String> {
    let mut report = Report::default();
    for file in find_files(paths)? {
        let text = fs::read_to_string(&file).map_err(|error| format!("{}: {error}", file.display()))?;
        report.outcomes.extend(run_file(&file, &text)?);
    }
    Ok(report)
}

/// The given files, and every `*.json` below the given folders.
pub fn find_files(paths: &[PathBuf]) -> Result<Vec<PathBuf>, String> {
    let mut files = Vec::new();
    for path in paths {
        let before = files.len();
        find(path, &mut files)?;
        if files.len() == before {
            return Err(format!("{}: there is no *.json file", path.display()));
        }
    }
    Ok(files)
}

fn find(path: &Path, files: &mut Vec<PathBuf>) -> Result<(), String> {
    let failed = |error: std::io::Error| format!("{}: {error}", path.display());
    if !fs::metadata(path).map_err(failed)?.is_dir() {
        files.push(path.to_owned());
        return Ok(());
    }
    let entries = fs::read_dir(path).map_err(failed)?;
    let mut below: Vec<PathBuf> =
        entries.map(|entry| entry.map(|e| e.path())).collect::<Result<_, _>>().map_err(failed)?;
    below.sort();
    for path in below {
        if path.is_dir() || path.extension().is_some_and(|ending| ending == "json") {
            find(&path, files)?;
        }
    }
    Ok(())
}

/// Runs the cases of one file.
pub fn run_file(file: &Path, text: &str) -> Result<Vec<CaseOutcome>, String> {
    let cases = read_cases(file, text)?;
    Ok(cases.iter().enumerate().map(|(index, case)| run(file, index, case)).collect())
}

/// The cases of one file, not yet run.
pub(crate) fn read_cases<'a>(file: &Path, text: &'a str) -> Result<Vec<Case<'a>>, String> {
    let cases: Vec<BTreeMap<String, &RawValue>> =
        serde_json::from_str(text).map_err(|error| format!("{}: not an array of cases: {error}", file.display()))?;
    Ok(cases.into_iter().map(|fields| Case { fields }).collect())
}

fn run(file: &Path, index: usize, case: &Case<'_>) -> CaseOutcome {
    let mut outcome = CaseOutcome {
        file: file.to_owned(),
        name: case.name(index),
        why: Vec::new(),
        unsupported: false,
        seen: Value::Null,
    };
    match case.text("kind").as_str() {
        "resolve" => outcome.why = crate::resolve::run(case).unwrap_or_else(|error| vec![error]),
        "plan" => outcome.why = crate::plan::run(case).unwrap_or_else(|error| vec![error]),
        "run" => match crate::run::run(case) {
            Ok((why, seen)) => (outcome.why, outcome.seen) = (why, seen),
            Err(error) => outcome.why = vec![error],
        },
        "conversation" => match crate::conversation::run(case) {
            Ok((why, seen)) => (outcome.why, outcome.seen) = (why, seen),
            Err(error) => outcome.why = vec![error],
        },
        "" => outcome.why = vec!["it has no `kind`: use resolve, plan, run or conversation".to_owned()],
        other => outcome.why = vec![format!("unknown kind `{other}`: use resolve, plan, run or conversation")],
    }
    outcome
}
