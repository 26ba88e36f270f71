//! Rows of a result that become instances.

use std::collections::BTreeSet;

use serde_json::Value;

use super::Tool;
use crate::origin::Origins;

impl Tool {
    /// The name that two rows of a result share, if each row becomes an instance with that name. Rows with untrusted
    /// names are numbered, so that theirs may be the same.
    pub fn name_of_two_rows(&self, result: &Value) -> Option<String> {
        let field =
            self.instances.as_deref().filter(|field| self.origins_of_part(field, Origins::NONE).is_trusted())?;
        let mut names = BTreeSet::new();
        let named = result.as_array()?.iter().filter_map(|row| row.get(field));
        let mut texts = named.map(|name| name.as_str().map_or_else(|| name.to_string(), str::to_owned));
        texts.find(|name| !names.insert(name.clone()))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_number_and_a_text_of_the_same_digits_are_one_name() {
        let shared = |trust: &str, rows: Value| {
            let definition = json!({"x-instances": "id", "x-trust": trust, "properties": {}});
            Tool::parse("list", &definition).expect("a tool").name_of_two_rows(&rows)
        };
        assert_eq!(shared("trusted", json!([{"id": 1}, {"id": 2}, {"_more": 5}])), None);
        assert_eq!(shared("trusted", json!([{"id": 1}, {"id": "1"}])), Some("1".to_owned()));
        assert_eq!(shared("untrusted", json!([{"id": 1}, {"id": 1}])), None, "they are numbered");
    }
}
