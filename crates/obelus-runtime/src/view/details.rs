//! Details of a call, for engineers. Channels show them on request.

use obelus_kernel::session::{AskedCall, quoted_value};
use obelus_kernel::visible;
use obelus_notebook::control_field::ControlField;
use serde_json::Value;

use super::question::{QuestionViewBuilder, RowView};
use crate::words::fill;

/// Meta-properties that have texts of their own, or are shown elsewhere.
const KNOWN: [&str; 8] =
    ["_tool", "_instance", "_scopes", "_reasoningForCall", "_delegate", "_activity", "_outputPath", "_outputMethod"];

impl QuestionViewBuilder<'_> {
    pub(super) fn detail(label: &str, value: String) -> RowView {
        RowView { place: String::new(), label: label.to_owned(), value, before: None, instead_of: None, mark: None }
    }

    /// The details of a call: its executor, the path of its result, other meta-properties, what was found in the
    /// user's messages, its tool, and the hash that a decision is bound to.
    pub(super) fn details(&self, asked: &AskedCall, tool: &str) -> Vec<RowView> {
        let words = &self.language.words().questions;
        let mut rows: Vec<RowView> = self.executor(asked).into_iter().chain(self.result_place(asked)).collect();
        let fields = asked.call.as_object().into_iter().flatten();
        let is_other = |name: &str, value: &Value| name.starts_with('_') && !KNOWN.contains(&name) && !value.is_null();
        let others = fields.filter(|(name, value)| is_other(name, value));
        rows.extend(others.map(|(name, value)| Self::detail(&visible(name), quoted_value(value))));
        rows.extend(asked.grounded.iter().map(|one| self.grounded(&one.to_json(), tool)));
        rows.push(Self::detail(words.tool, visible(tool)));
        if !asked.hash.is_empty() {
            rows.push(Self::detail(words.hash, asked.hash.clone()));
        }
        rows
    }

    /// A control field of the call. What only caused the question is left out.
    pub(super) fn control_field(&self, field: ControlField, value: &Value) -> Option<RowView> {
        let label = match field {
            ControlField::Comment | ControlField::ConfirmationReason => self.language.words().questions.in_agents_words,
            ControlField::RequiresConfirmation | ControlField::Confirmed => return None,
            ControlField::ConfirmationDecision | ControlField::HttpMethod => field.name(),
        };
        Some(Self::detail(label, quoted_value(value)))
    }

    /// The parts of memory that the executor sees.
    pub(super) fn scopes(&self, asked: &AskedCall) -> Option<RowView> {
        let scopes = asked.call.scopes().filter(|scopes| !scopes.is_null())?;
        let label = self.language.words().questions.is_shown;
        Some(RowView { mark: self.mark(asked, "_scopes"), ..Self::detail(label, quoted_value(scopes)) })
    }

    /// The executor, if the call names one.
    fn executor(&self, asked: &AskedCall) -> Option<RowView> {
        let name = asked.call.delegate().or(asked.call.activity())?;
        Some(Self::detail(self.language.words().questions.carried_out_by, quoted_value(&name.into())))
    }

    fn result_place(&self, asked: &AskedCall) -> Option<RowView> {
        let path = visible(asked.call.output_path()?);
        let method = asked.call.output_method();
        let how = method.map(|method| format!(" ({})", visible(method))).unwrap_or_default();
        Some(Self::detail(self.language.words().questions.result_to, format!("{path}{how}")))
    }

    /// How a value is grounded: by which letter of POL-7, and in which message.
    fn grounded(&self, form: &Value, tool: &str) -> RowView {
        let words = &self.language.words().questions;
        let param = form["param"].as_str().unwrap_or_default();
        let label = self.titles.param(tool, param).unwrap_or_else(|| param.to_owned());
        let letter = form["by"].as_str().unwrap_or_default();
        let how = match letter {
            "a" => words.in_your_words.to_owned(),
            "b" => fill(words.in_result, &[&self.titles.tool(form["tool"].as_str().unwrap_or_default())]),
            "c" => words.by_name.to_owned(),
            _ => words.created_here.to_owned(),
        };
        let place = match form["message"].as_u64() {
            Some(number) => fill(words.in_message, &[&number.to_string()]),
            None => words.in_answer.to_owned(),
        };
        Self::detail(&format!("«{}»:", visible(&label)), visible(&format!("{how} ({letter}), {place}")))
    }
}
