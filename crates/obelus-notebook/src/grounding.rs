//! Grounded values (POL-7): what the user named may be used after reading, what a record or a page named is asked about.
//!
//! A value is grounded when it is found (a) in the user's own words, (b) as a whole text in a trusted result, (c) as the
//! id of a row that the user named, or (d) as an id that a creation of this session was issued. Nothing here knows a
//! session: it reads the context, and an index that the session keeps up.
//!
//! | file | subject |
//! |---|---|
//! | `index` | the user's words and the texts of trusted results, folded once |
//! | `results` | rows and issued ids in the results of tools |

mod index;
mod results;

use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::call::Call;
use crate::context::Context;
use crate::dotted::values_at;
use crate::mention::addresses::{Address, addresses, plain_url};
use crate::mention::decimal::Decimal;
use crate::mention::phones::whole_phone;
use crate::mention::text::folded;
use crate::names::alike;
use crate::origin::{Origin, Origins};
use crate::template::{Template, TextPart};
use crate::tool::{NameSource, Tool};
pub use index::GroundIndex;
pub use results::list_with;

/// What a policy does about a creation that was proposed after untrusted data was shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AfterReading {
    /// A person is asked.
    #[default]
    Ask,
    /// Nobody is asked where its targets and every address in it are grounded.
    Grounded,
}

/// By which part of the rule a value is grounded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum GroundingRule {
    /// In the user's own words.
    A,
    /// As a whole text in a trusted result.
    B,
    /// As the id of a row that the user named, or a number that the user announced.
    C,
    /// As an id that a creation of this session was issued.
    D,
}

/// Where a value was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FoundIn {
    /// In the message of this index.
    Message(usize),
    /// In what a person answered to a question.
    Answer,
}

/// How a value is grounded.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Evidence {
    /// By which part of the rule.
    pub by: GroundingRule,
    /// Where: the words or the result that have the value, or name its row.
    pub place: FoundIn,
    /// The tool whose result has it, where it is (b).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool: Option<String>,
}

impl Evidence {
    fn new(by: GroundingRule, place: FoundIn) -> Self {
        Self { by, place, tool: None }
    }

    /// What a literal that was found so carries.
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
    /// How.
    #[serde(flatten)]
    pub found: Evidence,
}

impl Grounded {
    /// The form in which other programs read it.
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
struct Text<'c> {
    resolved: String,
    parts: &'c [TextPart],
}

/// The tool that a call is for, and the parameters that say which kind of record others mean.
#[derive(Clone, Copy)]
pub struct Callee<'a> {
    /// The tool.
    pub tool: &'a Tool,
    /// The parameters of the call.
    pub params: &'a Value,
}

/// What is known of a value.
enum GroundingState {
    /// It is empty, and says nothing.
    Nothing,
    Found(Evidence),
    Missing,
}

/// Finds values of calls in what the user said and in what tools have brought.
#[derive(Clone, Copy, Debug)]
pub struct Grounding<'a> {
    /// What has been said and brought.
    pub context: &'a Context,
    /// The same, folded for searching.
    pub index: &'a GroundIndex,
    /// Messages that the request itself brought: their calls were not made by this session.
    pub base: usize,
    /// The instance that the call works for.
    pub instance: Option<&'a str>,
}

impl Grounding<'_> {
    /// What a literal carries: of each part the user's origin or the tool's where it is grounded, else `otherwise`.
    pub fn origins(&self, call: &Call, tool: &Tool, path: &str, literal: &Value, otherwise: &Origins) -> Origins {
        let mut found = Vec::new();
        let params = self.kinds_in(call, tool);
        match self.look_at(Callee { tool, params: &params }, path, literal, &[], &mut found) {
            true => found.iter().fold(Origins::default(), |all, one| all.joined(&one.found.origins())),
            false => otherwise.clone(),
        }
    }

    /// How a creation is grounded: by its targets, or, where it has none, by everything it says. None where it says
    /// nothing, or where one of these values or an address in any text is not grounded.
    pub fn of_creation(&self, call: &Call, tool: &Tool, params: &Value) -> Option<Vec<Grounded>> {
        let texts = self.texts_of(call);
        let mut found = Vec::new();
        let callee = Callee { tool, params };
        for path in tool.target.iter().flatten() {
            let values = values_at(params, path);
            if !values.iter().all(|(path, value)| self.look_at(callee, path, value, &texts, &mut found)) {
                return None;
            }
        }
        if found.is_empty() && !self.look_at(callee, "", params, &texts, &mut found) {
            return None;
        }
        (!found.is_empty() && self.knows_addresses(callee, "", params)).then_some(found)
    }

    /// How a text with references is grounded: what is put in is, and so are the words between.
    fn of_text(&self, callee: Callee<'_>, path: &str, parts: &[TextPart], found: &mut Vec<Grounded>) -> bool {
        parts.iter().all(|part| match part {
            TextPart::Words(words) => is_short(words) || self.look_at(callee, path, &words.as_str().into(), &[], found),
            TextPart::Reference(expr) => {
                let value = self.context.resolve(expr, self.instance);
                value.is_some_and(|value| self.look_at(callee, path, &value, &[], found))
            }
        })
    }

    /// What words between the references of a text carry.
    pub fn origins_between(&self, call: &Call, tool: &Tool, path: &str, words: &str, otherwise: &Origins) -> Origins {
        match is_short(words) {
            true => Origins::default(),
            false => self.origins(call, tool, path, &words.into(), otherwise),
        }
    }

    /// Everything in a value that is grounded, whatever else there is.
    pub fn found_in(&self, callee: Callee<'_>, path: &str, value: &Value) -> Vec<Grounded> {
        let mut found = Vec::new();
        each_leaf(path, value, &mut |path, leaf| {
            if let GroundingState::Found(one) = self.leaf(leaf, callee.names_at(path, leaf).as_ref()) {
                found.push(Grounded { param: path.to_owned(), found: one });
            }
        });
        found
    }

    /// Whether all in a value is grounded, or says nothing; what is, is added.
    /// `texts` are texts with references that may stand in it.
    fn look_at(
        &self,
        callee: Callee<'_>,
        path: &str,
        value: &Value,
        texts: &[Text<'_>],
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

    /// The parameters of a call that say which kind of record others mean, resolved.
    fn kinds_in(&self, call: &Call, tool: &Tool) -> Value {
        let said_by = tool.kind_params();
        let says_kind = |name: &str| said_by.iter().any(|path| alike(path.split('.').next().unwrap_or(path), name));
        let saying = call.params.iter().filter(|(name, _)| says_kind(name));
        let resolve = |template: &Template| template.resolve(&|path| self.context.read(path, self.instance));
        saying.map(|(name, template)| (name.to_string(), resolve(template).unwrap_or_default())).collect()
    }

    /// The texts with references in a call, as they stand when the references are resolved.
    fn texts_of<'c>(&self, call: &'c Call) -> Vec<Text<'c>> {
        let mut texts = Vec::new();
        for (_, template) in &call.params {
            template.each_text(&mut |template, parts| {
                let resolved = template.resolve(&|path| self.context.read(path, self.instance));
                if let Ok(Value::String(resolved)) = resolved {
                    texts.push(Text { resolved, parts });
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
            // A yes or a no is a choice between two: that it stands somewhere says nothing.
            Value::Bool(_) => None,
        };
        found.map_or(GroundingState::Missing, GroundingState::Found)
    }

    fn text(&self, value: &Value, text: &str, names: Option<&NameSource<'_>>) -> Option<Evidence> {
        // A reference that is not resolved may become anything.
        if text.starts_with('†') {
            return None;
        }
        if text.bytes().all(|digit| digit.is_ascii_digit()) {
            let number = self.number(value, &Decimal::new(false, text, ""), Some(text), names);
            return number.or_else(|| self.phone(text).filter(|_| names.is_none()));
        }
        let said = self.index.user_texts(self.instance).find(|said| said.has_words(text));
        said.map(|said| Evidence::new(GroundingRule::A, said.place))
            .or_else(|| self.phone(text).filter(|_| names.is_none()))
            .or_else(|| self.result_text(text))
            .or_else(|| names.and_then(|names| self.named_row(value, names)))
            .or_else(|| self.created(value, names))
    }

    /// A telephone number that the user wrote in another way.
    fn phone(&self, text: &str) -> Option<Evidence> {
        let digits = whole_phone(text)?;
        let said = self.index.user_texts(self.instance).find(|said| said.has_phone(&digits))?;
        Some(Evidence::new(GroundingRule::A, said.place))
    }

    /// The number of a record behind the mark of its kind: `D_41`.
    fn marked_id(&self, value: &Value, names: &NameSource<'_>) -> Option<Evidence> {
        let digits = value.as_str()?.strip_prefix(names.prefix).filter(|_| !names.prefix.is_empty())?;
        let is_number = !digits.is_empty() && digits.bytes().all(|digit| digit.is_ascii_digit());
        is_number.then(|| self.text(&digits.into(), digits, Some(names)))?
    }

    /// A number, or a text of digits.
    fn number(
        &self,
        value: &Value,
        number: &Decimal,
        text: Option<&str>,
        names: Option<&NameSource<'_>>,
    ) -> Option<Evidence> {
        let mut said = self.index.user_texts(self.instance);
        let in_words = match (names, text) {
            // Any number may be an id by chance, so the user must say what it is a number of.
            (Some(names), _) => {
                let words: Vec<String> = names.announced_by.iter().map(|word| folded(word)).collect();
                let said = said.find(|said| said.announces(number, &words));
                said.map(|said| Evidence::new(GroundingRule::C, said.place))
            }
            (None, Some(digits)) if digits.len() > 1 && digits.starts_with('0') => {
                said.find(|said| said.has_digits(digits)).map(|said| Evidence::new(GroundingRule::A, said.place))
            }
            (None, _) => {
                said.find(|said| said.has_number(number)).map(|said| Evidence::new(GroundingRule::A, said.place))
            }
        };
        in_words
            .or_else(|| text.and_then(|text| self.result_text(text)))
            .or_else(|| names.and_then(|names| self.named_row(value, names)))
            .or_else(|| self.created(value, names))
    }

    /// A whole text of a trusted result.
    fn result_text(&self, text: &str) -> Option<Evidence> {
        let brought = self.index.result_text(text, self.instance)?;
        Some(Evidence { by: GroundingRule::B, place: brought.place, tool: Some(brought.tool.to_string()) })
    }

    /// Whether every address in the texts of a value is grounded, keys included.
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
        let mut said = self.index.user_texts(self.instance);
        match address {
            Address::Words(words) => {
                let forms =
                    ["", "http://", "https://"].into_iter().flat_map(|scheme| ["", "/"].map(|end| (scheme, end)));
                let mut forms = forms.map(|(scheme, end)| format!("{scheme}{words}{end}"));
                !plain_url(words).is_empty()
                    && (said.any(|said| said.has_words(words))
                        || forms.any(|form| self.index.result_text(&form, self.instance).is_some()))
            }
            Address::Number(number) => {
                let value = number.bytes().all(|digit| digit.is_ascii_digit()).then(|| Decimal::new(false, number, ""));
                said.any(|said| said.has_address(address) || value.as_ref().is_some_and(|value| said.has_number(value)))
                    || self.index.result_number(number, self.instance).is_some()
                    || self.created(&Value::String(number.clone()), None).is_some()
            }
        }
    }
}

/// Whether words between references are too short to say anything: no digit and at most two letters, such as `D_`.
fn is_short(words: &str) -> bool {
    let letters = words.chars().filter(|letter| letter.is_alphanumeric());
    letters.clone().count() <= 2 && !letters.clone().any(char::is_numeric)
}

impl<'a> Callee<'a> {
    /// Where the rows stand that a parameter's value is the id of; what is below a parameter is of the same rows.
    fn names_at(self, path: &str, value: &Value) -> Option<NameSource<'a>> {
        path_and_ancestors(path).find_map(|path| self.tool.names_of(path, value, self.params))
    }
}

/// A dotted path, and those above it.
fn path_and_ancestors(path: &str) -> impl Iterator<Item = &str> {
    std::iter::successors(Some(path), |path| Some(path.rsplit_once('.')?.0))
}

/// Visits every value that holds no others, with its dotted path. Arrays are looked through.
fn each_leaf(path: &str, value: &Value, visit: &mut dyn FnMut(&str, &Value)) {
    match value {
        Value::Array(items) => items.iter().for_each(|item| each_leaf(path, item, visit)),
        Value::Object(fields) => fields.iter().for_each(|(name, inner)| each_leaf(&below(path, name), inner, visit)),
        leaf => visit(path, leaf),
    }
}

fn below(path: &str, name: &str) -> String {
    if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") }
}

#[cfg(test)]
mod tests;
