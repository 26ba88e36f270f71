//! Positions in a YAML text, for error messages.

use std::fmt;
use std::sync::OnceLock;

use obelus_kernel::text::without_position;
use serde::de::{Deserialize, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_saphyr::Spanned;

/// Longer documents have no positions, because these take many times the size of the document.
const LONGEST: usize = 4 << 20;

/// The positions of everything in a document, in YAML or JSON. They are computed on first use, because most documents
/// have no errors.
pub struct Places {
    /// None if the document is too long.
    text: Option<String>,
    whole: OnceLock<Option<Spanned<Tree>>>,
}

enum Tree {
    Leaf,
    List(Vec<Spanned<Tree>>),
    Map(Vec<(Spanned<String>, Spanned<Tree>)>),
}

impl Places {
    /// The positions of a document; none if it cannot be parsed, or is very long.
    pub fn of(text: &str) -> Self {
        Self { text: (text.len() <= LONGEST).then(|| text.to_owned()), whole: OnceLock::new() }
    }

    fn whole(&self) -> Option<&Spanned<Tree>> {
        let read = || self.text.as_deref().and_then(|text| from_yaml(text).ok());
        self.whole.get_or_init(read).as_ref()
    }

    /// Whether the document is an object, if it could be parsed.
    pub(crate) fn is_map(&self) -> Option<bool> {
        self.whole().map(|whole| matches!(whole.value, Tree::Map(_)))
    }

    /// Whether the value at a dotted path is a list.
    pub(crate) fn is_list(&self, path: &str) -> bool {
        self.closest(path).is_some_and(|found| matches!(found.value, Tree::List(_)))
    }

    /// The line and column of a dotted path, or of its nearest ancestor.
    pub fn find(&self, path: &str) -> Option<(u64, u64)> {
        self.closest(path).map(|found| (found.defined.line(), found.defined.column()))
    }

    /// The line and column of a field's name in the document.
    pub fn find_key(&self, name: &str) -> Option<(u64, u64)> {
        let Tree::Map(fields) = &self.whole()?.value else { return None };
        let (key, _) = fields.iter().find(|(key, _)| key.value == name)?;
        Some((key.defined.line(), key.defined.column()))
    }

    /// The value at a dotted path, or its nearest ancestor.
    fn closest(&self, path: &str) -> Option<&Spanned<Tree>> {
        let mut at = self.whole()?;
        for step in path.split(['.', '[', ']']).filter(|step| !step.is_empty()) {
            let next = match &at.value {
                Tree::Map(_) => field(at, step).or_else(|| {
                    // A meta-property of a tool may stand among its properties.
                    field(at, "properties").filter(|_| step.starts_with('_')).and_then(|inner| field(inner, step))
                }),
                Tree::List(items) => step.parse::<usize>().ok().and_then(|index| items.get(index)),
                Tree::Leaf => None,
            };
            match next {
                Some(inner) => at = inner,
                None => break,
            }
        }
        Some(at)
    }
}

fn field<'a>(of: &'a Spanned<Tree>, name: &str) -> Option<&'a Spanned<Tree>> {
    let Tree::Map(fields) = &of.value else { return None };
    fields.iter().find(|(key, _)| key.value == name).map(|(_, value)| value)
}

/// Reads YAML. Only `true` and `false` are booleans, as in YAML 1.2: `no` is a text, and `n` may be a parameter's
/// name.
pub(crate) fn from_yaml<T: serde::de::DeserializeOwned>(text: &str) -> Result<T, serde_saphyr::Error> {
    serde_saphyr::from_str_with_options(text, serde_saphyr::options! { strict_booleans: true })
}

/// The parser's message on one line, with advice about usual mistakes in the text, and its position separately.
pub fn said_by_yaml(error: &serde_saphyr::Error, text: &str) -> (Option<(u64, u64)>, String) {
    let place = error.location().map(|at| (at.line(), at.column()));
    let words = error.without_snippet().to_string();
    let words = match without_position(&words) {
        "recursion limit exceeded" => "nested too deep".to_owned(),
        "invalid u32" => format!("it must be a whole number from 0 to {}", u32::MAX),
        "invalid u64" => format!("it must be a whole number from 0 to {}", u64::MAX),
        words => match words.strip_prefix("duplicate mapping key: ") {
            Some(rest) => {
                let key = rest.split(", set DuplicateKeyPolicy").next().unwrap_or_default();
                format!("the key `{key}` stands there twice")
            }
            None => with_nearest(words),
        },
    };
    let line = place.and_then(|(line, _)| text.lines().nth(usize::try_from(line).ok()?.saturating_sub(1)));
    let advice = advice(&words, line.unwrap_or_default());
    (place, words + advice)
}

/// What to do about mistakes that YAML's own words do not explain, by these words and the line.
fn advice(words: &str, line: &str) -> &'static str {
    let is_bare_template = [": {{", "- {{", "[{{", ": {%"].iter().any(|start| line.contains(start));
    if words.contains("tabs disallowed") || words.contains("found a tab") {
        "; indent with spaces"
    } else if words.contains("mapping values are not allowed") {
        "; put a text with `: ` in quotes"
    } else if is_bare_template && (words.contains("expected") || words.contains("invalid type")) {
        "; put a text that begins with a template in quotes"
    } else if words.contains("did not find expected ',' or") {
        "; within {} and [], put a text with brackets, braces or commas in quotes"
    } else {
        ""
    }
}

/// An error about an unknown name, with the most similar name instead of a list of all.
pub(crate) fn with_nearest(words: &str) -> String {
    let nearest = || {
        let (before, rest) = words.split_once("unknown field `").or_else(|| words.split_once("unknown variant `"))?;
        let (name, rest) = rest.split_once('`')?;
        let known: Vec<&str> =
            rest.split_once("expected ")?.1.split([',', ' ', '`']).filter(|word| !word.is_empty()).collect();
        let near = obelus_kernel::closest(name, &known)?;
        let what = if words[before.len()..].starts_with("unknown field") { "field" } else { "variant" };
        Some(format!("{before}unknown {what} `{name}`; did you mean `{near}`?"))
    };
    nearest().unwrap_or_else(|| words.to_owned())
}

impl<'de> Deserialize<'de> for Tree {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(PositionSeed)
    }
}

struct PositionSeed;

impl<'de> Visitor<'de> for PositionSeed {
    type Value = Tree;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("anything")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Tree, A::Error> {
        let mut fields = Vec::new();
        while let Some(name) = map.next_key::<Spanned<String>>()? {
            fields.push((name, map.next_value()?));
        }
        Ok(Tree::Map(fields))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Tree, A::Error> {
        let mut items = Vec::new();
        while let Some(item) = list.next_element()? {
            items.push(item);
        }
        Ok(Tree::List(items))
    }

    fn visit_newtype_struct<D: Deserializer<'de>>(self, deserializer: D) -> Result<Tree, D::Error> {
        IgnoredAny::deserialize(deserializer).map(|_| Tree::Leaf)
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<Tree, D::Error> {
        Tree::deserialize(deserializer)
    }

    fn visit_bool<E>(self, _: bool) -> Result<Tree, E> {
        Ok(Tree::Leaf)
    }

    fn visit_i64<E>(self, _: i64) -> Result<Tree, E> {
        Ok(Tree::Leaf)
    }

    fn visit_u64<E>(self, _: u64) -> Result<Tree, E> {
        Ok(Tree::Leaf)
    }

    fn visit_f64<E>(self, _: f64) -> Result<Tree, E> {
        Ok(Tree::Leaf)
    }

    fn visit_str<E>(self, _: &str) -> Result<Tree, E> {
        Ok(Tree::Leaf)
    }

    fn visit_unit<E>(self) -> Result<Tree, E> {
        Ok(Tree::Leaf)
    }

    fn visit_none<E>(self) -> Result<Tree, E> {
        Ok(Tree::Leaf)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn usual_mistakes_in_yaml_are_answered_with_advice() {
        for (text, advice) in [
            ("a:\n\tb: 1\n", "indent with spaces"),
            ("a: b\n\tc: 1\n", "indent with spaces"),
            ("a: {{ x }}\n", "begins with a template in quotes"),
            ("a: {b: †state.book[0]}\n", "brackets, braces or commas in quotes"),
            ("a: Trouble: {{ x }}\n", "put a text with `: ` in quotes"),
            ("a: Trouble: x\n", "put a text with `: ` in quotes"),
        ] {
            let texts = |text| from_yaml::<std::collections::BTreeMap<String, String>>(text).err();
            let error = from_yaml::<serde_json::Value>(text).err().or_else(|| texts(text)).unwrap();
            let (_, words) = said_by_yaml(&error, text);
            assert!(words.ends_with(advice), "{text}: {words}");
        }
    }

    #[test]
    fn a_path_is_resolved_to_its_line_and_column() {
        let places = Places::of("name: x\ntools:\n  find:\n    x-effect: raed\n  list:\n    - a\n    - {b: 1}\n");
        assert_eq!(places.find("tools.find.x-effect"), Some((4, 15)));
        assert_eq!(places.find("tools.list[1].b"), Some((7, 11)));
        assert_eq!(places.find("tools.find.missing"), Some((4, 5)));
        assert!(Places::of("a: [").find("a").is_none());
        let among = Places::of("find:\n  properties:\n    n: {}\n    _outputPath: {const: x}\n");
        assert_eq!((among.find("find._outputPath"), among.find("find.n")), (Some((4, 18)), Some((2, 3))));
    }
}
