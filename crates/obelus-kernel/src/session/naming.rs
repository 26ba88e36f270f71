//! Calls, questions and values as text for people.

use obelus_notebook::call_texts::CallTexts;
use serde_json::Value;

use super::Session;
use super::inbox::{Question, headline};
use obelus_notebook::call_json::CallJson;

impl Session {
    /// A call for people on one safe line: what is done, to what, and what is set.
    pub fn call_headline(&self, call: &CallJson) -> String {
        self.call_headline_in(call, self.settings.language.as_deref())
    }

    /// The same in the reader's language, as far as the tool's author provides it.
    pub fn call_headline_in(&self, call: &CallJson, language: Option<&str>) -> String {
        CallTexts { language, has_all_titles: true, ..self.naming() }.call_headline(call)
    }

    /// What a question is about, in one line.
    pub fn headline(&self, question: &Question) -> String {
        headline(CallTexts { has_all_titles: true, ..self.naming() }, question)
    }

    /// The label of a tool's parameter, by its dotted path, if the tool's author provides one.
    pub fn label_of(&self, tool: &str, path: &str, language: Option<&str>) -> Option<&str> {
        self.context().tool(tool)?.label(path, language)
    }

    /// The name of a parameter's value, if the session has read it.
    pub fn name_of(&self, tool: &str, path: &str, value: &Value) -> Option<String> {
        let known = self.context().tool(tool)?;
        self.naming().name_of_value(known, &Value::Null, path, value)
    }

    /// The texts of the state and of prompts.
    pub(super) fn naming(&self) -> CallTexts<'_> {
        CallTexts { context: self.context(), language: self.settings.language.as_deref(), has_all_titles: false }
    }
}
