//! Our descriptions of the browser's tools for the model.
//!
//! The server's descriptions mention selectors, scripts and snapshots, which are refused here, and unneeded
//! parameters. Tools described here are offered with this description.

use std::sync::LazyLock;

use serde_json::{Map, Value};

static OFFER: LazyLock<Map<String, Value>> = LazyLock::new(|| {
    let mut offer: Map<String, Value> =
        serde_json::from_str(include_str!("offer.json")).unwrap_or_else(|error| unreachable!("offer.json: {error}"));
    for schema in offer.values_mut().filter_map(Value::as_object_mut) {
        schema.insert("type".to_owned(), "object".into());
    }
    offer
});

/// The names of described tools.
pub(super) fn names() -> impl Iterator<Item = &'static str> {
    OFFER.keys().map(String::as_str)
}

/// Our description of a tool.
pub(super) fn of(tool: &str) -> Option<&'static Value> {
    OFFER.get(tool)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::browser::intent::KNOWN;

    #[test]
    fn opr_15_offered_tools_can_be_planned_and_do_not_mention_refused_ones() {
        for name in names() {
            let schema = of(name).unwrap();
            let known = KNOWN.iter().find(|(known, _)| *known == name).unwrap_or_else(|| panic!("{name}")).1;
            let elements = ["target", "startTarget", "endTarget"];
            for property in schema["properties"].as_object().unwrap().keys() {
                assert!(
                    known.contains(&property.as_str()) || elements.contains(&property.as_str()),
                    "{name} {property}"
                );
            }
            obelus_kernel::Tool::parse(name, schema).and_then(|tool| tool.check()).unwrap();
        }
        let all = Value::Object(OFFER.clone()).to_string();
        assert!(!all.to_lowercase().contains("selector") && !all.contains("snapshot"));
        assert!(all.len() < 4000, "{}", all.len());
    }
}
