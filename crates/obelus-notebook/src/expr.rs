//! Expressions over memory: references joined by `||` and `&&`.

mod parse;

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use serde_json::Value;
use smallvec::{SmallVec, smallvec};

use crate::fault::{Fault, Rule};
use crate::path::Path;

/// An expression: the source of a value, or the target of a result. `Any` and `All` have at least two terms.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Expr {
    /// `†state.deal.id`
    Ref(Arc<Path>),
    /// `a || b`: the first with a value.
    Any(Vec<Expr>),
    /// `a && b`: the last, if all have a value.
    All(Vec<Expr>),
}

impl Expr {
    /// Parses an expression. Faults have the column, counted in characters from 1.
    pub fn parse(text: &str) -> Result<Self, Fault> {
        parse::expression(text)
    }

    /// Parses the reference from `start` to `end` of a longer text (CTX-13).
    pub(crate) fn reference_in(text: &str, start: usize, end: usize) -> Result<Self, Fault> {
        parse::reference_in(text, start, end).map(|path| Expr::Ref(Arc::new(path)))
    }

    /// The value, if there is one; `read` reads a reference.
    pub fn value<'a>(&self, read: &impl Fn(&Path) -> Option<Cow<'a, Value>>) -> Option<Cow<'a, Value>> {
        match self {
            Expr::Ref(path) => read(path),
            Expr::Any(terms) => {
                let (last, others) = terms.split_last()?;
                let first = others.iter().find_map(|term| term.value(read).filter(|v| !v.is_null()));
                first.or_else(|| last.value(read))
            }
            Expr::All(terms) => {
                let mut value = None;
                for term in terms {
                    value = Some(term.value(read).filter(|v| !v.is_null())?);
                }
                value
            }
        }
    }

    /// All references, in the order of the text.
    pub fn refs(&self) -> Vec<&Arc<Path>> {
        let mut found = Vec::new();
        self.each_ref(&mut |path| found.push(path));
        found
    }

    /// The references whose value the expression can take: all but the guards of `&&`.
    pub fn sources(&self) -> Vec<&Arc<Path>> {
        match self {
            Expr::Ref(path) => vec![path],
            Expr::Any(terms) => terms.iter().flat_map(Expr::sources).collect(),
            Expr::All(terms) => terms.last().map(Expr::sources).unwrap_or_default(),
        }
    }

    /// Whether the expression can have a value if these references can.
    pub fn can_have(&self, can: &impl Fn(&Path) -> bool) -> bool {
        match self {
            Expr::Ref(path) => can(path),
            Expr::Any(terms) => terms.iter().any(|term| term.can_have(can)),
            Expr::All(terms) => terms.iter().all(|term| term.can_have(can)),
        }
    }

    /// Visits every reference, from left to right.
    pub fn each_ref<'a>(&'a self, visit: &mut impl FnMut(&'a Arc<Path>)) {
        match self {
            Expr::Ref(path) => visit(path),
            Expr::Any(terms) | Expr::All(terms) => terms.iter().for_each(|term| term.each_ref(visit)),
        }
    }
}

impl fmt::Display for Expr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (terms, operator) = match self {
            Expr::Ref(path) => return path.fmt(f),
            Expr::Any(terms) => (terms, " || "),
            Expr::All(terms) => (terms, " && "),
        };
        for (i, term) in terms.iter().enumerate() {
            if i > 0 {
                f.write_str(operator)?;
            }
            match (self, term) {
                (_, Expr::Ref(_)) | (Expr::Any(_), Expr::All(_)) => term.fmt(f)?,
                _ => write!(f, "({term})")?,
            }
        }
        Ok(())
    }
}

/// The target of a result: one of several alternatives, each a group of paths that are written together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OutputPath {
    /// The groups in order. If there are several, the last one is for an activity's error.
    pub alternatives: SmallVec<[Group; 1]>,
}

/// Paths that are written together. Usually one, which needs no allocation.
pub type Group = SmallVec<[Arc<Path>; 1]>;

/// Kinds that no call may write.
const READ_ONLY: [&str; 4] = ["input", "tool", "plan", "error"];

impl OutputPath {
    /// Parses an `_outputPath`.
    pub fn parse(text: &str) -> Result<Self, Fault> {
        Self::from_expr(Expr::parse(text)?)
    }

    /// Converts an expression to an output path.
    pub(crate) fn from_expr(expr: Expr) -> Result<Self, Fault> {
        let alternatives: SmallVec<[Group; 1]> = match expr {
            Expr::Any(terms) => terms.into_iter().map(group).collect::<Result<_, _>>()?,
            single => smallvec![group(single)?],
        };
        for path in alternatives.iter().flatten() {
            if READ_ONLY.contains(&path.kind.as_str()) {
                let text = format!("{path} cannot be written: the kind `{}` is read only", path.kind);
                return Err(Fault::new(Rule::Ctx11, text));
            }
        }
        Ok(Self { alternatives })
    }

    /// All paths that may be written.
    pub fn paths(&self) -> impl Iterator<Item = &Arc<Path>> {
        self.alternatives.iter().flatten()
    }
}

fn group(expr: Expr) -> Result<Group, Fault> {
    let terms = match expr {
        Expr::Ref(path) => return Ok(smallvec![path]),
        Expr::All(terms) => terms,
        single => vec![single],
    };
    let path = |term| match term {
        Expr::Ref(path) => Ok(path),
        other => {
            let text = format!(
                "`({other})` cannot stand inside an output path: write alternatives of groups, as in `†a && †b || †c`"
            );
            Err(Fault::new(Rule::Ctx11, text))
        }
    };
    terms.into_iter().map(path).collect()
}

impl fmt::Display for OutputPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let group = |paths: &Group| paths.iter().map(ToString::to_string).collect::<Vec<_>>().join(" && ");
        f.write_str(&self.alternatives.iter().map(group).collect::<Vec<_>>().join(" || "))
    }
}

/// The segments of a path, for tests.
#[cfg(test)]
pub(crate) fn segments_of(path: &str) -> crate::path::Segments {
    Expr::parse(path).unwrap().refs()[0].segments.clone()
}
