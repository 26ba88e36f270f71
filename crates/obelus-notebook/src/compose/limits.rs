//! Size limits of schemas in strict structured-output modes, by the published rules of OpenAI:
//! <https://developers.openai.com/api/docs/guides/structured-outputs#supported-schemas>.

use serde_json::Value;

/// Supported formats of strings.
pub(super) const FORMATS: [&str; 9] =
    ["date-time", "time", "date", "duration", "email", "hostname", "ipv4", "ipv6", "uuid"];
/// Of 10 permitted levels of objects 7 may be declared: a list of entries needs one more, and a free value in it two.
pub(super) const DEEPEST_DECLARED: usize = 7;
/// If there are more instances, their names are not listed.
pub(super) const MOST_INSTANCES: usize = 250;

const MOST_PROPERTIES: usize = 5_000;
const MOST_ENUM_VALUES: usize = 1_000;
const MOST_CHARACTERS: usize = 120_000;
/// An enum with more values than this has a limit of characters.
const LARGE_ENUM: usize = 250;
/// The most characters of such an enum.
const MOST_LARGE_ENUM_CHARACTERS: usize = 15_000;

#[derive(Default)]
struct SchemaSize {
    properties: usize,
    enum_values: usize,
    characters: usize,
    large_enums: usize,
}

/// The reasons why a schema is too large.
pub(super) fn excess(schema: &Value) -> Vec<String> {
    let mut size = SchemaSize::default();
    size.add(schema);
    let counts = [
        ("properties", size.properties, MOST_PROPERTIES),
        ("values in lists of values", size.enum_values, MOST_ENUM_VALUES),
        ("characters of names and listed values", size.characters, MOST_CHARACTERS),
        ("too long lists of values", size.large_enums, 0),
    ];
    let over = counts.iter().filter(|(_, count, most)| count > most);
    over.map(|(what, count, most)| format!("the schema of the answer has {count} {what}, and {most} are permitted"))
        .collect()
}

impl SchemaSize {
    fn add(&mut self, schema: &Value) {
        let Value::Object(fields) = schema else { return };
        for (keyword, inner) in fields {
            match (keyword.as_str(), inner) {
                ("properties" | "$defs", Value::Object(named)) => {
                    self.properties += if keyword == "properties" { named.len() } else { 0 };
                    for (name, inner) in named {
                        self.characters += name.chars().count();
                        self.add(inner);
                    }
                }
                ("items", inner) => self.add(inner),
                ("anyOf", Value::Array(members)) => members.iter().for_each(|member| self.add(member)),
                ("const", value) => self.characters += length(value),
                ("enum", Value::Array(values)) => {
                    let characters: usize = values.iter().map(length).sum();
                    self.enum_values += values.len();
                    self.characters += characters;
                    let is_too_long = values.len() > LARGE_ENUM && characters > MOST_LARGE_ENUM_CHARACTERS;
                    self.large_enums += usize::from(is_too_long);
                }
                _ => {}
            }
        }
    }
}

fn length(value: &Value) -> usize {
    value.as_str().map_or(0, |text| text.chars().count())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn an_oversized_schema_is_reported_with_its_counts() {
        let many = |count: usize| (0..count).map(|n| json!(format!("v{n}"))).collect::<Vec<_>>();
        let listed = |count| json!({"properties": {"a": {"anyOf": [{"enum": many(count)}]}}});
        assert_eq!(excess(&listed(1_000)), Vec::<String>::new());
        assert!(excess(&listed(1_001))[0].contains("1001 values"), "{:?}", excess(&listed(1_001)));
        let properties: serde_json::Map<_, _> = (0..5_001).map(|n| (n.to_string(), json!({}))).collect();
        let wide = json!({"type": "array", "items": {"properties": properties}});
        assert!(excess(&wide)[0].contains("5001 properties"));
        let long = json!({"$defs": {"x": {"const": "y".repeat(120_000)}}});
        assert!(excess(&long)[0].contains("120001 characters"));
        let wordy: Vec<_> = (0..251).map(|n| json!(format!("{n:060}"))).collect();
        assert!(excess(&json!({"enum": wordy}))[0].contains("too long lists"));
    }
}
