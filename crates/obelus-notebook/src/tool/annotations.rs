//! The names of annotations.

use super::Tool;
use crate::wording::closest;

/// All annotations of tools, including those of connectors.
const ANNOTATIONS: &str = "x-before x-bitrix24 x-delegate x-details x-effect x-entity x-idempotent x-instances \
    x-issued x-keep x-labels x-leaves x-names x-pays x-quiet x-risky x-shown x-target x-title x-trust x-unlisted \
    x-words-of";

impl Tool {
    /// Unknown annotations, each with its error.
    pub fn unknown_annotations(&self) -> Vec<(String, String)> {
        let known: Vec<&str> = ANNOTATIONS.split(' ').collect();
        let names = self.schema.as_object().into_iter().flat_map(|fields| fields.keys());
        let unknown = names.filter(|name| name.starts_with("x-") && !known.contains(&name.as_str()));
        let words = |name: &String| match closest(name, &known) {
            Some(near) => format!("there is no annotation `{name}`; did you mean `{near}`?"),
            None => format!("there is no annotation `{name}`; there are: {}", known.join(", ")),
        };
        unknown.map(|name| (name.clone(), words(name))).collect()
    }
}
