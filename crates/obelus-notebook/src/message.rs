//! Messages: the entries of a context.

mod form;
mod write_effect;

use std::borrow::Cow;
use std::sync::Arc;

use serde_json::{Map, Value};

use crate::call_json::CallJson;
use crate::fold::Method;
use crate::names::Name;
use crate::origin::{Origin, Origins};
use crate::path::{Path, Segment};
pub(crate) use form::unknown_method;
pub use form::{Member, depth, depth_of_text};
pub use write_effect::WriteEffect;

/// One entry of a context.
#[derive(Clone, Debug, PartialEq)]
pub enum Message {
    /// A text of the conversation.
    Text(Text),
    /// Structured data of a kind; `input`, `state` and `error` are kinds too.
    Data(Box<Data>),
    /// Tools: name → schema.
    Tool(Box<Map<String, Value>>),
    /// A plan.
    Plan(Plan),
}

/// A text of the author (`system`), the user or the agent (`assistant`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Text {
    /// Its speaker.
    pub role: Role,
    /// Its content.
    pub text: String,
}

/// The speaker of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// The agent's author.
    System,
    /// The person.
    User,
    /// The agent.
    Assistant,
}

impl Role {
    const ALL: [(&'static str, Role); 3] =
        [("system", Role::System), ("user", Role::User), ("assistant", Role::Assistant)];

    /// The role's name.
    pub fn name(self) -> &'static str {
        Self::ALL.iter().find(|(_, role)| *role == self).map_or("", |&(name, _)| name)
    }
}

impl From<Role> for Origin {
    fn from(role: Role) -> Self {
        match role {
            Role::System => Origin::Author,
            Role::User => Origin::User,
            Role::Assistant => Origin::Model,
        }
    }
}

/// Structured data. Messages of one kind and instance fold into one object.
#[derive(Clone, Debug, PartialEq)]
pub struct Data {
    /// The kind.
    pub kind: Name,
    /// The instance that it belongs to; without one it is global.
    pub instance: Option<String>,
    /// The payload; for a bare result only the value at its path (see [`ResultOf::bare`]).
    pub(crate) content: Value,
    /// The schema of the kind; the latest one is used.
    pub schema: Option<Box<Value>>,
    /// The meaning of the kind, for the model; the latest one is used.
    pub description: Option<String>,
    /// How the payload is combined with the existing value.
    pub method: Option<Method>,
    /// Present on the result of a call.
    pub output: Option<ResultOf>,
    /// The origins of the data, if known.
    pub origins: Option<Origins>,
    /// Parts with other origins, upper ones first.
    pub parts: Option<PartOrigins>,
    /// Other meta fields, unchanged. Few messages have any.
    pub(crate) meta: Option<Box<Map<String, Value>>>,
}

/// Origins by dotted path. Elements of arrays share a path; the empty path is the whole.
pub type PartOrigins = Arc<Vec<(String, Origins)>>;

/// The fields of a call's result beside its data.
#[derive(Clone, Debug, PartialEq)]
pub struct ResultOf {
    /// The call, as it was executed.
    pub call: CallJson,
    /// The path that this message writes.
    pub path: Arc<Path>,
    /// The time, as RFC 3339 in UTC.
    pub date: Option<Arc<str>>,
    /// Whether the content is only the value; `data` is built from it and the path on demand.
    pub(crate) bare: bool,
}

/// The calls committed so far.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    /// The calls.
    pub calls: Vec<CallJson>,
    /// When they run.
    pub mode: PlanMode,
}

/// When the calls of a plan run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PlanMode {
    /// As soon as they are written.
    #[default]
    Eager,
    /// After the whole plan is approved.
    Lazy,
}

impl PlanMode {
    /// The mode's name.
    pub fn name(self) -> &'static str {
        match self {
            PlanMode::Eager => "eager",
            PlanMode::Lazy => "lazy",
        }
    }
}

impl Data {
    /// A plain data message of a kind.
    pub fn plain(kind: impl Into<Name>, data: Value) -> Self {
        Self {
            kind: kind.into(),
            instance: None,
            content: data,
            schema: None,
            description: None,
            method: None,
            output: None,
            origins: None,
            parts: None,
            meta: None,
        }
    }

    /// A call's result: a value written at a path.
    pub fn result(call: CallJson, path: Arc<Path>, date: Option<Arc<str>>, value: Value) -> Self {
        let kind = path.kind.clone();
        Self { output: Some(ResultOf { call, path, date, bare: true }), ..Self::plain(kind, value) }
    }

    /// Whether it is an error.
    pub fn is_error(&self) -> bool {
        self.kind == "error"
    }

    /// Whether it is of the kind `input`.
    pub fn is_input(&self) -> bool {
        self.kind == "input"
    }

    /// The payload.
    pub fn data(&self) -> Cow<'_, Value> {
        match &self.output {
            Some(output) if output.bare => Cow::Owned(output.path.spell(self.content.clone())),
            _ => Cow::Borrowed(&self.content),
        }
    }

    /// The call with this result, the path that it wrote, and the value; none if this is not a result.
    pub fn as_result(&self) -> Option<(&CallJson, &Path, &Value)> {
        let output = self.output.as_ref()?;
        Some((&output.call, &output.path, self.operation().2?))
    }

    /// The origins of the data: those stated in the message, joined with those that its kind implies.
    pub(crate) fn sources(&self) -> Cow<'_, Origins> {
        let by_kind = match &self.output {
            // A result without labels is from a call made elsewhere, and is not trusted.
            Some(output) if self.origins.is_none() => {
                let name = output.call.tool().unwrap_or("unknown");
                Origin::Tool { name: name.into(), trusted: false }
            }
            Some(_) => return Cow::Borrowed(self.origins.as_ref().unwrap_or(Origins::NONE)),
            None if self.is_input() => Origin::User,
            None => Origin::Author,
        };
        let by_kind = Origins::of(by_kind);
        Cow::Owned(match &self.origins {
            Some(declared) => by_kind.joined(declared),
            None => by_kind,
        })
    }

    /// The origins of the data and its parts.
    pub fn all_sources(&self) -> Origins {
        let parts = self.parts.iter().flat_map(|parts| parts.iter());
        parts.fold(self.sources().into_owned(), |all, (_, of)| all.joined(of))
    }

    /// The write of this message: path, method and value.
    pub fn operation(&self) -> (&[Segment], Method, Option<&Value>) {
        match &self.output {
            // `†error` is always the latest error, never a merged one.
            _ if self.is_error() => (&[], Method::Set, Some(&self.content)),
            Some(output) => {
                let value = if output.bare { Some(&self.content) } else { output.path.spelled_in(&self.content) };
                (&output.path.segments, self.method.unwrap_or(Method::Set), value)
            }
            None => (&[], self.method.unwrap_or(Method::Merge), Some(&self.content)),
        }
    }
}

impl Message {
    /// A text message.
    pub fn text(role: Role, text: impl Into<String>) -> Self {
        Message::Text(Text { role, text: text.into() })
    }
}

/// A message, and its ignored fields.
#[derive(Clone, Debug, PartialEq)]
pub struct Parsed {
    /// The message.
    pub message: Message,
    /// Unknown fields, for warnings: they may be misspelt.
    pub ignored: Vec<String>,
}
