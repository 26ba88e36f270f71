//! Titles of tools and parameters for people, from the agent's files.
//!
//! A tool and any parameter in its schema may have `x-title`, a text or an object with a text for each language. A tool
//! may also name its parameters by path in `x-labels`. Otherwise `title`, `description` or the name is used. A server's
//! unchecked texts are not used (POL-8): people must see which tool runs, with which parameters.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use super::local_time::local_time;
use super::pages::PageNotes;
use crate::words::ToolNames;
use obelus_kernel::CallJson;
use obelus_kernel::text::in_language;
use obelus_kernel::{Context, Time, Tool};
use obelus_notebook::control_field::ControlField;
use serde_json::Value;

/// The titles of a session's tools.
#[derive(Clone, Debug)]
pub struct Titles {
    tools: BTreeMap<String, Arc<Tool>>,
    code: &'static str,
    /// The folder of the session's page notes.
    pages: Option<PathBuf>,
    /// The time zone of the agent.
    zone: Option<String>,
}

impl Titles {
    /// The titles of all tools of a context, in a language.
    pub fn of(context: &Context, code: &'static str) -> Self {
        Self {
            tools: context.tools().map(|tool| (tool.name.clone(), Arc::clone(tool))).collect(),
            code,
            pages: None,
            zone: None,
        }
    }

    /// The titles of other tools, such as those of a delegate, in the same language.
    #[must_use]
    pub fn for_tools(&self, tools: &[Arc<Tool>]) -> Self {
        let tools = tools.iter().map(|tool| (tool.name.clone(), Arc::clone(tool))).collect();
        Self { tools, code: self.code, pages: self.pages.clone(), zone: self.zone.clone() }
    }

    /// These titles, with the folder of the page notes.
    #[must_use]
    pub fn with_pages(self, pages: Option<PathBuf>) -> Self {
        Self { pages, ..self }
    }

    /// These titles, with the time zone of the agent.
    #[must_use]
    pub fn with_zone(self, zone: Option<String>) -> Self {
        Self { zone, ..self }
    }

    /// The page notes.
    pub fn pages(&self) -> PageNotes {
        self.pages.as_deref().map(PageNotes::read).unwrap_or_default()
    }

    /// The title of a tool.
    pub fn tool(&self, name: &str) -> String {
        self.tools.get(name).map_or_else(|| name.replace(['_', '.'], " "), |tool| tool.shown_title(Some(self.code)))
    }

    /// Whether the agent's files have titles for a tool.
    pub fn has_own_words(&self, name: &str) -> bool {
        self.tools.get(name).is_some_and(|tool| tool.schema.get("x-title").is_some())
    }

    /// The path of the parameter that sets a field of the changed record.
    pub fn place_of(&self, tool: &str, field: &str) -> String {
        let below = self.tools.get(tool).and_then(|tool| tool.schema.get("x-before")?.get("fields")?.as_str());
        below.map_or_else(|| field.to_owned(), |below| format!("{below}.{field}"))
    }

    /// The call that reads the values which a call would change, if its tool declares one.
    pub(super) fn lookup(&self, tool: &str, call: &Value) -> Option<CallJson> {
        self.tools.get(tool)?.before.as_ref()?.preview_call(call)
    }

    /// Whether a parameter is the id of the call's record.
    pub fn is_id(&self, tool: &str, place: &str) -> bool {
        self.tools.get(tool).is_some_and(|tool| tool.is_record(place))
    }

    /// The control field of this name in calls of a tool; none if it is a parameter.
    pub(super) fn control_field(&self, tool: &str, name: &str) -> Option<ControlField> {
        ControlField::named(name).filter(|_| ControlField::is_in_call_of(self.tools.get(tool).map(Arc::as_ref), name))
    }

    /// Whether a tool's successful calls get no line.
    pub fn is_quiet(&self, name: &str) -> bool {
        self.tools.get(name).is_some_and(|tool| tool.is_quiet())
    }

    /// Whether a parameter is declared a detail.
    pub fn is_detail(&self, tool: &str, place: &str) -> bool {
        self.tools.get(tool).is_some_and(|tool| tool.is_detail(place))
    }

    /// The name of a call's subject: the parameter that `x-entity` points to, if it is text and not a number.
    pub fn subject<'a>(&self, tool: &str, call: &'a Value) -> Option<&'a str> {
        let id = self.tools.get(tool)?.record()?;
        // A reference means nothing to people.
        call.get(id)?.as_str().filter(|text| text.chars().any(char::is_alphabetic) && !text.starts_with('†'))
    }

    /// Whether a tool only reads.
    pub fn reads(&self, name: &str) -> bool {
        self.tools.get(name).is_some_and(|tool| tool.effect == obelus_kernel::Effect::Read)
    }

    /// The title of a parameter, if it has one. `place` is a path such as `fields.SUM` or `rows[0].price`.
    pub fn param(&self, tool: &str, place: &str) -> Option<String> {
        let known = self.tools.get(tool)?;
        let labelled = known.label(place, Some(self.code)).map(str::to_owned);
        let labelled = labelled.or_else(|| known.label_by_pattern(place, Some(self.code)));
        labelled.or_else(|| self.titled_param(tool, place))
    }

    /// The title in the parameter's schema, unless a server wrote it and nobody has checked it.
    fn titled_param(&self, tool: &str, place: &str) -> Option<String> {
        if self.tools.get(tool)?.words_of().is_some() {
            return None;
        }
        titled(self.schema_of(tool, place)?, self.code)
    }

    /// The schema of a parameter.
    pub(super) fn schema_of(&self, tool: &str, place: &str) -> Option<&Value> {
        let mut schema = self.tools.get(tool)?.params();
        for step in place.split('.') {
            let (name, indexes) = step.split_once('[').map_or((step, 0), |(name, _)| (name, step.matches('[').count()));
            let properties = schema.get("properties")?.as_object()?;
            // Some services ignore the case of field names.
            let found =
                || properties.iter().find(|(known, _)| known.eq_ignore_ascii_case(name)).map(|(_, found)| found);
            schema = properties.get(name).or_else(found)?;
            for _ in 0..indexes {
                schema = schema.get("items")?;
            }
        }
        Some(schema)
    }
}

impl ToolNames for Titles {
    fn tool(&self, name: &str) -> String {
        Titles::tool(self, name)
    }

    fn param(&self, tool: &str, place: &str) -> Option<String> {
        Titles::param(self, tool, place)
    }

    fn time(&self, time: Time) -> String {
        local_time(time, self.zone.as_deref())
    }
}

/// The title of a schema in a language.
fn titled(schema: &Value, code: &str) -> Option<String> {
    let own = schema.get("x-title").and_then(|said| in_language(said, Some(code)));
    own.or_else(|| schema.get("title")?.as_str()).filter(|title| !title.trim().is_empty()).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn sample(code: &'static str) -> Titles {
        Titles::of(&crate::view::sample::context(json!([])), code)
    }

    #[test]
    fn a_tool_is_shown_with_the_authors_title() {
        assert_eq!(sample("ru").tool("crm.deal.update"), "Изменить сделку");
        assert_eq!(sample("en").tool("crm.deal.update"), "Change a deal");
        assert_eq!(sample("ru").tool("add_note"), "Writes a note down");
        assert_eq!(sample("ru").tool("open_page"), "open page");
        assert_eq!(sample("ru").tool("not.there"), "not there");
    }

    #[test]
    fn the_subject_of_a_call_is_shown_if_it_has_a_name() {
        let titles = sample("en");
        assert_eq!(titles.subject("look", &json!({"name": "Next page"})), Some("Next page"));
        for call in [json!({"name": ""}), json!({"name": "42"}), json!({"name": 42}), json!({"name": "†a"}), json!({})]
        {
            assert_eq!(titles.subject("look", &call), None, "{call}");
        }
        assert_eq!(titles.subject("open_page", &json!({"name": "Next page"})), None);
    }

    #[test]
    fn a_parameter_label_is_found_by_its_path() {
        let titles = sample("ru");
        assert_eq!(titles.param("crm.deal.update", "fields.OPPORTUNITY").as_deref(), Some("Сумма"));
        assert_eq!(titles.param("crm.deal.update", "fields.opportunity").as_deref(), Some("Сумма"));
        assert_eq!(titles.param("crm.deal.update", "fields.TITLE").as_deref(), Some("Name"));
        assert_eq!(titles.param("crm.deal.update", "rows[3].price").as_deref(), Some("Цена"));
        assert_eq!(titles.param("crm.deal.update", "fields.stage_id").as_deref(), Some("стадия"));
        assert_eq!(titles.param("crm.deal.update", "rows[2].count").as_deref(), Some("количество"));
        assert_eq!(titles.param("crm.deal.update", "fields.UF_X"), None);
        assert_eq!(titles.param("not.there", "id"), None);
    }
}
