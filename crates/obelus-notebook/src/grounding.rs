//! Grounded values (POL-7): values that the user named may be used after reading untrusted data; values that only a
//! record or a page named need a question.
//!
//! A value is grounded if it is found (a) in the user's messages, (b) as a whole text in a trusted result, (c) as the
//! id of a row that the user named, or (d) as an id issued by a creation of this session. This module does not know the
//! session: it reads the context, and an index that the session updates.
//!
//! | file | subject |
//! |---|---|
//! | `index` | the user's messages and the texts of trusted results, folded once |
//! | `results` | rows and issued ids in the results of tools |

mod index;
mod results;

use std::collections::BTreeSet;
use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::call::Call;
use crate::context::Context;
use crate::dotted::{below, values_at};
use crate::mention::addresses::{Address, addresses, plain_url};
use crate::mention::decimal::Decimal;
use crate::mention::phones::whole_phone;
use crate::mention::text::folded;
use crate::names::alike;
use crate::origin::{Origin, Origins};
use crate::schema::property_names;
use crate::template::{Template, TextPart};
use crate::tool::{NameSource, Tool};
pub use index::GroundIndex;
pub use results::list_with;

/// How a policy treats a creation that was proposed after untrusted data was shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AfterReading {
    /// A person is asked.
    #[default]
    Ask,
    /// No question is needed if its targets and all addresses in it are grounded.
    Grounded,
}

/// The part of the rule by which a value is grounded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum GroundingRule {
    /// In the user's messages.
    A,
    /// As a whole text in a trusted result.
    B,
    /// As the id of a row that the user named, or as a number after a word that announces it.
    C,
    /// As an id issued by a creation of this session.
    D,
}

/// Where a value was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FoundIn {
    /// In the message of this index.
    Message(usize),
    /// In a person's answer to a question.
    Answer,
}

/// How a value is grounded.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Evidence {
    /// The part of the rule.
    pub by: GroundingRule,
    /// The message or result that contains the value, or names its row.
    pub place: FoundIn,
    /// The tool whose result contains it, for (b).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool: Option<String>,
}

impl Evidence {
    fn new(by: GroundingRule, place: FoundIn) -> Self {
        Self { by, place, tool: None }
    }

    /// The origins of a literal with this evidence.
    fn origins(&self) -> Origins {
        Origins::of(match &self.tool {
            Some(name) => Origin::Tool { name: name.as_str().into(), trusted: true },
            None => Origin::User,
        })
    }
}

/// A parameter of a call, and how its value is grounded.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Grounded {
    /// The parameter, as a dotted path.
    pub param: String,
    /// The evidence.
    #[serde(flatten)]
    pub found: Evidence,
}

impl Grounded {
    /// The JSON for other programs.
    pub fn to_json(&self) -> Value {
        let Evidence { by, place, tool } = &self.found;
        let mut form = json!({"param": self.param, "by": by});
        match place {
            FoundIn::Message(index) => form["message"] = (*index).into(),
            FoundIn::Answer => form["answer"] = true.into(),
        }
        if let Some(tool) = tool {
            form["tool"] = tool.as_str().into();
        }
        form
    }
}

impl fmt::Display for Grounded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Evidence { by, place, tool } = &self.found;
        let what = match (by, tool) {
            (GroundingRule::A, _) => "it stands in the user's words".to_owned(),
            (GroundingRule::B, tool) => format!("it stands in what `{}` brought", tool.as_deref().unwrap_or_default()),
            (GroundingRule::C, _) => "the user named it".to_owned(),
            (GroundingRule::D, _) => "it was created in this session".to_owned(),
        };
        let letter = match by {
            GroundingRule::A => 'a',
            GroundingRule::B => 'b',
            GroundingRule::C => 'c',
            GroundingRule::D => 'd',
        };
        let param = crate::visible::visible(&self.param);
        match place {
            FoundIn::Message(index) => write!(f, "`{param}`: {what} ({letter}, message {index})"),
            FoundIn::Answer => write!(f, "`{param}`: {what} ({letter}, in an answer)"),
        }
    }
}

/// A text with references.
struct ResolvedText<'c> {
    resolved: String,
    parts: &'c [TextPart],
}

/// The tool of a call, and the parameters that determine the kinds of records.
#[derive(Clone, Copy)]
pub struct Callee<'a> {
    /// The tool.
    pub tool: &'a Tool,
    /// The parameters of the call, or at least those that determine the kinds of records.
    pub params: &'a Value,
}

/// The result of looking for a value.
enum GroundingState {
    /// The value is empty and needs no evidence.
    Nothing,
    Found(Evidence),
    Missing,
}

/// Finds values of calls in the user's messages and in results of tools.
#[derive(Clone, Copy, Debug)]
pub struct Grounding<'a> {
    /// The messages and results.
    pub context: &'a Context,
    /// An index of them for searching.
    pub index: &'a GroundIndex,
    /// The number of messages of the request: their calls were not made by this session.
    pub base: usize,
    /// The instance that the call runs for.
    pub instance: Option<&'a str>,
}

impl Grounding<'_> {
    /// The origins of a literal: those of its evidence if all its parts are grounded, else `otherwise`.
    pub fn origins(&self, call: &Call, tool: &Tool, path: &str, literal: &Value, otherwise: &Origins) -> Origins {
        let mut found = Vec::new();
        let params = self.kinds_in(call, tool);
        if self.collect_evidence(Callee { tool, params: &params }, path, literal, &[], &mut found) {
            found.iter().fold(Origins::default(), |all, one| all.joined(&one.found.origins()))
        } else {
            otherwise.clone()
        }
    }

    /// How a creation is grounded: by its targets or, if it has none, by all its values. None if there are no values,
    /// or if one of these values or an address in any text is not grounded.
    pub fn of_creation(&self, call: &Call, tool: &Tool, params: &Value) -> Option<Vec<Grounded>> {
        let texts = self.texts_of(call);
        let mut found = Vec::new();
        let callee = Callee { tool, params };
        let mut declared = BTreeSet::new();
        property_names(&tool.schema, &mut declared);
        for path in tool.target.iter().flatten() {
            let values = values_at(params, path);
            if !values.iter().all(|(_, value)| self.has_known_keys(&declared, value)) {
                return None;
            }
            if !values.iter().all(|(path, value)| self.collect_evidence(callee, path, value, &texts, &mut found)) {
                return None;
            }
        }
        if found.is_empty()
            && !(self.has_known_keys(&declared, params)
                && self.collect_evidence(callee, "", params, &texts, &mut found))
        {
            return None;
        }
        (!found.is_empty() && self.knows_addresses(callee, "", params)).then_some(found)
    }

    /// Whether every key in a target is a name of the tool's schema, or grounded: a key can name somebody too.
    fn has_known_keys(&self, declared: &BTreeSet<String>, value: &Value) -> bool {
        match value {
            Value::Array(items) => items.iter().all(|item| self.has_known_keys(declared, item)),
            Value::Object(fields) => fields.iter().all(|(name, inner)| {
                let is_known = || matches!(self.leaf(&name.as_str().into(), None), GroundingState::Found(_));
                (declared.contains(name) || is_known()) && self.has_known_keys(declared, inner)
            }),
            _ => true,
        }
    }

    /// Whether a text with references is grounded: the referenced values and the words between them must be. Adds the
    /// evidence.
    fn of_text(&self, callee: Callee<'_>, path: &str, parts: &[TextPart], found: &mut Vec<Grounded>) -> bool {
        parts.iter().all(|part| match part {
            TextPart::Words(words) => {
                is_short(words) || self.collect_evidence(callee, path, &words.as_str().into(), &[], found)
            }
            TextPart::Reference(expr) => {
                let value = self.context.resolve(expr, self.instance);
                value.is_some_and(|value| self.collect_evidence(callee, path, &value, &[], found))
            }
        })
    }

    /// The origins of the words between the references of a text.
    pub fn origins_between(&self, call: &Call, tool: &Tool, path: &str, words: &str, otherwise: &Origins) -> Origins {
        if is_short(words) { Origins::default() } else { self.origins(call, tool, path, &words.into(), otherwise) }
    }

    /// All grounded parts of a value. Others are ignored.
    pub fn found_in(&self, callee: Callee<'_>, path: &str, value: &Value) -> Vec<Grounded> {
        let mut found = Vec::new();
        each_leaf(path, value, &mut |path, leaf| {
            if let GroundingState::Found(one) = self.leaf(leaf, callee.names_at(path, leaf).as_ref()) {
                found.push(Grounded { param: path.to_owned(), found: one });
            }
        });
        found
    }

    /// Whether all parts of a value are grounded or empty. Adds the evidence. `texts` are texts with references that
    /// may be in the value.
    fn collect_evidence(
        &self,
        callee: Callee<'_>,
        path: &str,
        value: &Value,
        texts: &[ResolvedText<'_>],
        found: &mut Vec<Grounded>,
    ) -> bool {
        let mut is_grounded = true;
        each_leaf(path, value, &mut |path, leaf| {
            if !is_grounded {
                return;
            }
            match self.leaf(leaf, callee.names_at(path, leaf).as_ref()) {
                GroundingState::Nothing => {}
                GroundingState::Found(one) => found.push(Grounded { param: path.to_owned(), found: one }),
                GroundingState::Missing => {
                    let text = leaf.as_str().and_then(|leaf| texts.iter().find(|text| text.resolved == leaf));
                    is_grounded = text.is_some_and(|text| self.of_text(callee, path, text.parts, found));
                }
            }
        });
        is_grounded
    }

    /// The resolved parameters of a call that determine the kinds of records.
    fn kinds_in(&self, call: &Call, tool: &Tool) -> Value {
        let said_by = tool.kind_params();
        let says_kind = |name: &str| said_by.iter().any(|path| alike(path.split('.').next().unwrap_or(path), name));
        let saying = call.params.iter().filter(|(name, _)| says_kind(name));
        let resolve = |template: &Template| template.resolve(&|path| self.context.read(path, self.instance));
        saying.map(|(name, template)| (name.to_string(), resolve(template).unwrap_or_default())).collect()
    }

    /// The texts with references in a call, with the references resolved.
    fn texts_of<'c>(&self, call: &'c Call) -> Vec<ResolvedText<'c>> {
        let mut texts = Vec::new();
        for (_, template) in &call.params {
            template.each_text(&mut |template, parts| {
                let resolved = template.resolve(&|path| self.context.read(path, self.instance));
                if let Ok(Value::String(resolved)) = resolved {
                    texts.push(ResolvedText { resolved, parts });
                }
            });
        }
        texts
    }

    fn leaf(&self, value: &Value, names: Option<&NameSource<'_>>) -> GroundingState {
        let found = match value {
            Value::Null => return GroundingState::Nothing,
            Value::Number(number) => match Decimal::parse(&number.to_string()) {
                Some(number) => self.number(value, &number, None, names),
                None => None,
            },
            Value::String(text) => {
                let text = folded(text);
                if text.is_empty() {
                    return GroundingState::Nothing;
                }
                self.text(value, &text, names).or_else(|| self.marked_id(value, names?))
            }
            Value::Array(_) | Value::Object(_) => return GroundingState::Nothing,
            // A boolean has only two values, so finding it somewhere proves nothing.
            Value::Bool(_) => None,
        };
        found.map_or(GroundingState::Missing, GroundingState::Found)
    }

    fn text(&self, value: &Value, text: &str, names: Option<&NameSource<'_>>) -> Option<Evidence> {
        // An unresolved reference may become anything.
        if text.starts_with('†') {
            return None;
        }
        if text.bytes().all(|digit| digit.is_ascii_digit()) {
            let number = self.number(value, &Decimal::new(false, text, ""), Some(text), names);
            return number.or_else(|| self.phone(text).filter(|_| names.is_none()));
        }
        let message = self.index.user_texts(self.instance).find(|message| message.has_words(text));
        message
            .map(|message| Evidence::new(GroundingRule::A, message.place))
            .or_else(|| self.phone(text).filter(|_| names.is_none()))
            .or_else(|| self.result_text(text))
            .or_else(|| names.and_then(|names| self.named_row(value, names)))
            .or_else(|| self.created(value, names))
    }

    /// Finds a telephone number that the user wrote in another form.
    fn phone(&self, text: &str) -> Option<Evidence> {
        let digits = whole_phone(text)?;
        let message = self.index.user_texts(self.instance).find(|message| message.has_phone(&digits))?;
        Some(Evidence::new(GroundingRule::A, message.place))
    }

    /// Finds a record's number after the prefix of its kind: `D_41`.
    fn marked_id(&self, value: &Value, names: &NameSource<'_>) -> Option<Evidence> {
        let digits = value.as_str()?.strip_prefix(names.prefix).filter(|_| !names.prefix.is_empty())?;
        let is_number = !digits.is_empty() && digits.bytes().all(|digit| digit.is_ascii_digit());
        is_number.then(|| self.text(&digits.into(), digits, Some(names)))?
    }

    /// Finds a number, or a text of digits.
    fn number(
        &self,
        value: &Value,
        number: &Decimal,
        text: Option<&str>,
        names: Option<&NameSource<'_>>,
    ) -> Option<Evidence> {
        let mut messages = self.index.user_texts(self.instance);
        let (by, message) = match (names, text) {
            // Any number may equal an id by chance, so the user must name the kind of record before it.
            (Some(names), _) => {
                let words: Vec<String> = names.announced_by.iter().map(|word| folded(word)).collect();
                (GroundingRule::C, messages.find(|message| message.announces(number, &words)))
            }
            (None, Some(digits)) if digits.len() > 1 && digits.starts_with('0') => {
                (GroundingRule::A, messages.find(|message| message.has_digits(digits)))
            }
            (None, _) => (GroundingRule::A, messages.find(|message| message.has_number(number))),
        };
        let in_words = message.map(|message| Evidence::new(by, message.place));
        in_words
            .or_else(|| text.and_then(|text| self.result_text(text)))
            .or_else(|| names.and_then(|names| self.named_row(value, names)))
            .or_else(|| self.created(value, names))
    }

    /// Finds a whole text of a trusted result.
    fn result_text(&self, text: &str) -> Option<Evidence> {
        let brought = self.index.result_text(text, self.instance)?;
        Some(Evidence { by: GroundingRule::B, place: brought.place, tool: Some(brought.tool.to_string()) })
    }

    /// Whether every address in a value's texts and keys is grounded.
    pub fn knows_addresses(&self, callee: Callee<'_>, path: &str, value: &Value) -> bool {
        match value {
            Value::String(text) => {
                let text = folded(text);
                let found = addresses(&text);
                found.is_empty()
                    || self.text(value, &text, callee.names_at(path, value).as_ref()).is_some()
                    || found.iter().all(|address| self.knows_address(address))
            }
            Value::Array(items) => items.iter().all(|item| self.knows_addresses(callee, path, item)),
            Value::Object(fields) => fields.iter().all(|(name, inner)| {
                addresses(&folded(name)).iter().all(|address| self.knows_address(address))
                    && self.knows_addresses(callee, &below(path, name), inner)
            }),
            _ => true,
        }
    }

    fn knows_address(&self, address: &Address) -> bool {
        let mut messages = self.index.user_texts(self.instance);
        match address {
            Address::Words(words) => {
                let forms =
                    ["", "http://", "https://"].into_iter().flat_map(|scheme| ["", "/"].map(|end| (scheme, end)));
                let mut forms = forms.map(|(scheme, end)| format!("{scheme}{words}{end}"));
                !plain_url(words).is_empty()
                    && (messages.any(|message| message.has_words(words))
                        || forms.any(|form| self.index.result_text(&form, self.instance).is_some()))
            }
            Address::Number(number) => {
                let value = number.bytes().all(|digit| digit.is_ascii_digit()).then(|| Decimal::new(false, number, ""));
                messages.any(|message| {
                    message.has_address(address) || value.as_ref().is_some_and(|value| message.has_number(value))
                }) || self.index.result_number(number, self.instance).is_some()
                    || self.created(&Value::String(number.clone()), None).is_some()
            }
        }
    }
}

/// Whether the words between references are too short to need evidence: no digit and at most two letters, such as `D_`.
fn is_short(words: &str) -> bool {
    let letters = words.chars().filter(|letter| letter.is_alphanumeric());
    letters.clone().count() <= 2 && !letters.clone().any(char::is_numeric)
}

impl<'a> Callee<'a> {
    /// The source of names for a parameter whose value is the id of a row. Values below the parameter have the same
    /// source.
    fn names_at(self, path: &str, value: &Value) -> Option<NameSource<'a>> {
        path_and_ancestors(path).find_map(|path| self.tool.names_of(path, value, self.params))
    }
}

/// A dotted path and all its parents.
fn path_and_ancestors(path: &str) -> impl Iterator<Item = &str> {
    std::iter::successors(Some(path), |path| Some(path.rsplit_once('.')?.0))
}

/// Visits every scalar with its dotted path. Elements of arrays have the path of their array.
fn each_leaf(path: &str, value: &Value, visit: &mut dyn FnMut(&str, &Value)) {
    match value {
        Value::Array(items) => items.iter().for_each(|item| each_leaf(path, item, visit)),
        Value::Object(fields) => fields.iter().for_each(|(name, inner)| each_leaf(&below(path, name), inner, visit)),
        leaf => visit(path, leaf),
    }
}

#[cfg(test)]
mod tests;
