//! What the origins of a call's values decide: whether untrusted data steers an action.

use serde_json::Value;

use super::Session;
use super::job::JobRef;
use crate::call::{Call, Scope};
use crate::context::Context;
use crate::expr::Expr;
use crate::origin::Origins;
use crate::path::{Path, Segment};
use crate::template::Template;
use crate::tool::{Effect, Tool};

/// The origins of a call's parameters, looked up when they are needed.
pub(super) struct Sources<'a> {
    pub(super) context: &'a Context,
    pub(super) instance: Option<&'a str>,
    /// What a literal carries.
    pub(super) literal: &'a Origins,
}

impl Sources<'_> {
    /// The origins of everything the call is made of, its scopes included.
    pub(super) fn of_call(&self, call: &Call) -> Origins {
        let mut all = Origins::default();
        for (_, template) in &call.params {
            all.join(&self.of_template(template));
        }
        for scope in &call.scopes {
            all.join(&match scope {
                Scope::Kind(kind) => self.context.origins(&Path::root(kind.as_str()), self.instance),
                Scope::Path(path) => self.context.origins(path, self.instance),
            });
        }
        all
    }

    /// The origins of one parameter.
    pub(super) fn of_param(&self, call: &Call, name: &str) -> Origins {
        let param = call.params.iter().find(|(known, _)| known == name);
        param.map(|(_, template)| self.of_template(template)).unwrap_or_default()
    }

    fn of_template(&self, template: &Template) -> Origins {
        match template {
            Template::Literal(_) => self.literal.clone(),
            Template::Expr(expr) => self.of_expr(expr, &[]),
            Template::Array(items) => self.union(items.iter()),
            Template::Object(fields) => self.union(fields.iter().map(|(_, value)| value)),
        }
    }

    fn union<'t>(&self, parts: impl Iterator<Item = &'t Template>) -> Origins {
        parts.fold(Origins::default(), |all, part| all.joined(&self.of_template(part)))
    }

    /// The origins of what lies at a dotted path, where something does. Arrays are looked through.
    pub(super) fn of_path(&self, call: &Call, path: &str) -> Option<Origins> {
        let (first, rest) = path.split_once('.').map_or((path, None), |(first, rest)| (first, Some(rest)));
        let of = call.params.iter().filter(|(name, _)| same(name, first));
        join_all(of.filter_map(|(_, template)| self.below(template, rest)))
    }

    fn below(&self, template: &Template, path: Option<&str>) -> Option<Origins> {
        let Some(path) = path else { return Some(self.of_template(template)) };
        let (first, rest) = path.split_once('.').map_or((path, None), |(first, rest)| (first, Some(rest)));
        match template {
            Template::Literal(value) => super::policy::present(value, path).then(|| self.literal.clone()),
            Template::Expr(expr) => {
                let way: Vec<Segment> = path.split('.').map(|step| Segment::Field(step.to_owned())).collect();
                Some(self.of_expr(expr, &way))
            }
            Template::Array(items) => join_all(items.iter().filter_map(|item| self.below(item, Some(path)))),
            Template::Object(fields) => {
                let of = fields.iter().filter(|(name, _)| same(name, first));
                join_all(of.filter_map(|(_, value)| self.below(value, rest)))
            }
        }
    }

    /// `a || b` carries what was read of it, `a && b` what b carries.
    fn of_expr(&self, expr: &Expr, below: &[Segment]) -> Origins {
        let Some(path) = self.source(expr) else { return Origins::default() };
        if below.is_empty() {
            return self.context.origins(path, self.instance);
        }
        let exact = Path { kind: path.kind.clone(), segments: path.segments.iter().chain(below).cloned().collect() };
        // Where the way below is not there as written, the whole value answers for it.
        let path = if self.context.read(&exact, self.instance).is_some() { &exact } else { path };
        self.context.origins(path, self.instance)
    }

    fn source<'e>(&self, expr: &'e Expr) -> Option<&'e Path> {
        match expr {
            Expr::Ref(path) => Some(path),
            Expr::All(terms) => self.source(terms.last()?),
            Expr::Any(terms) => {
                let has = |term: &&Expr| {
                    term.value(&|path| self.context.read(path, self.instance)).is_some_and(|value| !value.is_null())
                };
                self.source(terms.iter().find(has).or(terms.last())?)
            }
        }
    }
}

fn same(a: &str, b: &str) -> bool {
    a == b || a.to_lowercase() == b.to_lowercase()
}

fn join_all(parts: impl Iterator<Item = Origins>) -> Option<Origins> {
    parts.fold(None, |all: Option<Origins>, part| Some(all.unwrap_or_default().joined(&part)))
}

impl Session {
    /// The origins of a job's parameters.
    pub(super) fn sources(&self, at: JobRef) -> Sources<'_> {
        let step = &self.steps[&at.step];
        Sources {
            context: &self.context,
            instance: step.jobs[at.job as usize].instance.as_deref(),
            literal: &step.literal,
        }
    }

    /// Why a person must look at a call because of where its values come from; empty if none must.
    pub(super) fn doubts_about_origins(&self, at: JobRef, call: &Call, tool: &Tool) -> Vec<String> {
        let step = &self.steps[&at.step];
        let sources = self.sources(at);
        let acts = tool.effect != Effect::Read;
        let mut reasons = Vec::new();
        if acts && !step.literal.is_trusted() {
            let names: Vec<&str> = step.literal.untrusted().collect();
            reasons.push(format!("it was proposed after reading what is not trusted: {}", names.join(", ")));
        }
        let targets: Vec<(String, Origins)> = match &tool.target {
            Some(paths) => paths.iter().filter_map(|path| Some((path.clone(), sources.of_path(call, path)?))).collect(),
            None if acts => call.params.iter().map(|(name, _)| (name.clone(), sources.of_param(call, name))).collect(),
            None => Vec::new(),
        };
        for (path, origins) in targets {
            let names: Vec<&str> = origins.untrusted().collect();
            if names.is_empty()
                || (!acts && step.literal.is_trusted() && self.stands_letter_for_letter(at, call, &path, &origins))
            {
                continue;
            }
            reasons.push(format!("`{path}` comes from what is not trusted: {}", names.join(", ")));
        }
        reasons
    }

    /// A plan made before reading may follow an address that one tool gave and nobody has changed.
    fn stands_letter_for_letter(&self, at: JobRef, call: &Call, path: &str, origins: &Origins) -> bool {
        let value = self
            .frozen(at)
            .and_then(|frozen| path.split('.').try_fold(frozen.params(call), |value, step| value.get(step).cloned()));
        origins.is_verbatim() && value.is_some_and(|value| matches!(value, Value::String(_)))
    }
}
