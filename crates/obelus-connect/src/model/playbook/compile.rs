//! Compiles the file to rules. All errors in rules are found here and named with their place.

use std::path::Path;

use obelus_kernel::jq::Filter;
use regex::{Regex, RegexBuilder};
use serde_json::{Map, Value};
use serde_saphyr::{Location, Spanned};

use super::facts::Find;
use super::form::{AnswerForm, PlaybookFile, ReplyForm, RuleForm};
use super::reads::Reads;
use super::rule::{PlaybookRule, RuleReply, SolutionDraft};
use super::template::{FieldError, TemplateNode, Templates};
use super::{PlaybookError, Rules};

/// The size of a compiled pattern. Matching takes linear time for any pattern.
const MAX_PATTERN_BYTES: usize = 1024 * 1024;

/// Compiles a file.
pub(super) fn compile(path: &Path, file: PlaybookFile) -> Result<Rules, PlaybookError> {
    let mut templates = Templates::new();
    let mut scope = RuleScope { path, label: "all rules".to_owned(), prefix: String::new(), templates: &mut templates };
    let find = scope.find(file.find)?;
    let mut rules = Vec::with_capacity(file.rules.len());
    for (index, form) in file.rules.into_iter().enumerate() {
        let mut label = format!("rule {}", index + 1);
        if let Some(name) = &form.value.name {
            label = format!("{label} ({name})");
        }
        let mut scope = RuleScope { path, label, prefix: format!("rules[{index}]."), templates: &mut templates };
        rules.push(scope.rule(form)?);
    }
    let otherwise = file.otherwise.map(|form| {
        let prefix = "otherwise.".to_owned();
        let mut scope = RuleScope { path, label: "otherwise".to_owned(), prefix, templates: &mut templates };
        scope.reply(form.value, form.referenced)
    });
    let otherwise = otherwise.transpose()?;
    let reads = Reads::of(&find, &rules, otherwise.as_ref(), &templates);
    Ok(Rules { path: path.to_owned(), templates, find, rules, otherwise, reads })
}

/// The rule being compiled, for error messages.
struct RuleScope<'a> {
    path: &'a Path,
    label: String,
    /// The prefix of the names of this rule's templates, which makes them unique.
    prefix: String,
    templates: &'a mut Templates,
}

impl RuleScope<'_> {
    fn rule(&mut self, form: Spanned<RuleForm>) -> Result<PlaybookRule, PlaybookError> {
        let at = form.referenced;
        let mut form = form.value;
        let user = form.user.take().map(|text| self.pattern(&text)).transpose()?;
        let find = self.find(form.find.take())?;
        let when = form.when.take().map(|text| self.filter(&text, "when")).transpose()?;
        let once = form.once;
        let reply = self.reply(form.into_reply(), at)?;
        let leaves_trace = matches!(&reply, RuleReply::Solution(draft)
            if draft.say.is_some() || !draft.calls.is_empty() || draft.calls_from.is_some());
        if once && !leaves_trace {
            let text = "it needs `say` or calls: only these show that the rule has answered before";
            return Err(self.error(at, "once", text));
        }
        Ok(PlaybookRule { label: self.label.clone(), user, find, when, once, reply })
    }

    fn reply(&mut self, form: ReplyForm, at: Location) -> Result<RuleReply, PlaybookError> {
        let given = [
            ("answer", form.answer.is_some()),
            ("raw", form.raw.is_some()),
            ("output", form.output.is_some()),
            ("fail", form.fail.is_some()),
        ];
        let given: Vec<&str> = given.iter().filter(|(_, is_given)| *is_given).map(|(name, _)| *name).collect();
        let calls_from = form.calls_from.as_ref();
        match given.as_slice() {
            [] if calls_from.is_none() => {
                let text = "a rule needs one of `answer`, `calls_from`, `raw`, `output`, `fail`";
                return Err(self.error(at, "answer", text));
            }
            [_, second, ..] => {
                let text = format!("a rule has one answer, and `{}` is already given", given[0]);
                return Err(self.error(at, second, text));
            }
            [first] if calls_from.is_some() && *first != "answer" => {
                let text = format!("it is used alone or with `answer`, not with `{first}`");
                return Err(self.error(at, "calls_from", text));
            }
            _ => {}
        }
        if let Some(raw) = form.raw {
            return Ok(RuleReply::Raw(self.node(raw.map_value(Value::from), "raw")?));
        }
        if let Some(fail) = form.fail {
            let message = self.node(fail.value.message.map_value(Value::from), "fail.message")?;
            return Ok(RuleReply::Fail { code: fail.value.code, message });
        }
        let mut draft = match form.answer {
            Some(answer) => self.draft(answer)?,
            None => SolutionDraft::default(),
        };
        if let Some(output) = form.output {
            draft.output = Some(self.node(output, "output")?);
        }
        draft.calls_from = calls_from.map(|text| self.filter(text, "calls_from")).transpose()?;
        Ok(RuleReply::Solution(draft))
    }

    fn draft(&mut self, form: Spanned<AnswerForm>) -> Result<SolutionDraft, PlaybookError> {
        let at = form.referenced;
        let form = form.value;
        if form.say.is_none() && form.calls.is_empty() && form.output.is_none() {
            return Err(self.error(at, "answer", "it needs one of `say`, `calls` and `output`"));
        }
        let say = form.say.map(|say| self.node(say.map_value(Value::from), "answer.say")).transpose()?;
        let mut calls = Vec::with_capacity(form.calls.len());
        for (index, call) in form.calls.into_iter().enumerate() {
            calls.push(self.call(call, &format!("answer.calls[{index}]"))?);
        }
        let output = form.output.map(|output| self.node(output, "answer.output")).transpose()?;
        Ok(SolutionDraft { say, calls, calls_from: None, output })
    }

    fn call(&mut self, call: Spanned<Value>, field: &str) -> Result<Vec<(String, TemplateNode)>, PlaybookError> {
        let at = call.referenced;
        let Value::Object(fields) = call.value else {
            let found = obelus_kernel::type_name(&call.value);
            let text = format!("a call is an object with `_tool`, not {found}; `calls_from` makes calls from data");
            return Err(self.error(at, field, text));
        };
        if !fields.contains_key("_tool") {
            return Err(self.error(at, field, "the call has no `_tool`"));
        }
        let compile = |(name, value): (String, Value)| {
            let node = self.node(Spanned::new(value, at, at), &format!("{field}.{name}"))?;
            Ok((name, node))
        };
        fields.into_iter().map(compile).collect()
    }

    fn node(&mut self, value: Spanned<Value>, field: &str) -> Result<TemplateNode, PlaybookError> {
        let compiled = self.templates.compile(value.value, &format!("{}{field}", self.prefix));
        compiled.map_err(|FieldError { field, text }| self.error(value.referenced, &field, text))
    }

    fn find(&mut self, form: Option<Spanned<Map<String, Value>>>) -> Result<Vec<Find>, PlaybookError> {
        let Some(form) = form else { return Ok(Vec::new()) };
        let at = form.referenced;
        let one = |(name, value): (String, Value)| {
            let field = format!("find.{name}");
            match value {
                Value::String(text) => {
                    let filter = self.filter(&Spanned::new(text, at, at), &field)?;
                    Ok(Find { name, filter })
                }
                other => {
                    let text = format!("it is a jq filter, not {}", obelus_kernel::type_name(&other));
                    Err(self.error(at, &field, text))
                }
            }
        };
        form.value.into_iter().map(one).collect()
    }

    fn filter(&self, text: &Spanned<String>, field: &str) -> Result<Filter, PlaybookError> {
        Filter::compile(&text.value).map_err(|error| self.error(text.referenced, field, error))
    }

    fn pattern(&self, text: &Spanned<String>) -> Result<Regex, PlaybookError> {
        let mut builder = RegexBuilder::new(&text.value);
        let built = builder.case_insensitive(true).size_limit(MAX_PATTERN_BYTES).build();
        built.map_err(|error| {
            // The error shows the pattern with a caret; only its last line has the message.
            let drawn = error.to_string();
            let words = drawn.lines().last().unwrap_or_default();
            self.error(text.referenced, "user", words.strip_prefix("error: ").unwrap_or(words))
        })
    }

    fn error(&self, at: Location, field: &str, message: impl Into<String>) -> PlaybookError {
        PlaybookError::Rule {
            path: self.path.to_owned(),
            at: (at != Location::UNKNOWN).then(|| (at.line(), at.column())),
            rule: self.label.clone(),
            field: field.to_owned(),
            message: message.into(),
        }
    }
}

/// Replaces a value and keeps its place in the file.
trait MapValue<T> {
    fn map_value<U>(self, change: impl FnOnce(T) -> U) -> Spanned<U>;
}

impl<T> MapValue<T> for Spanned<T> {
    fn map_value<U>(self, change: impl FnOnce(T) -> U) -> Spanned<U> {
        Spanned::new(change(self.value), self.referenced, self.defined)
    }
}
