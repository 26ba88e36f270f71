//! The definitions for filters: the pure ones of the language, and our own. They are parsed once.

use std::collections::BTreeSet;
use std::sync::{LazyLock, OnceLock};

use jaq_core::load::parse::Def;

/// A definition, such as that of `map`.
pub(super) type Definition = Def<&'static str>;

/// Excluded definitions: those that use a clock, output or an early end, and those that need excluded functions.
const IMPURE: &str = "stderr debug halt halt_error logb significand pow10 drem nexttoward scalb gamma \
    test scan_ match capture splits sub gsub scan todate fromdate @html @htmld @uri @urid @base64 @base64d";

/// `test` returns whether a text matches, `scan` all matches (their groups, if the pattern has some), `capture` the
/// named groups of the first match. The time of each is linear in the length of the text.
const PATTERNS: &str = "\
    def test(re): match_test(re); \
    def scan(re): match_scan(re)[]; \
    def capture(re): match_capture(re)[];";

/// A definition, and the indexes of those that it may use, which are found when it is first used.
struct LibraryEntry {
    definition: Definition,
    /// Its name as it stands in the text of a body.
    name: String,
    needs: OnceLock<Vec<usize>>,
}

impl LibraryEntry {
    fn needs(&self) -> &[usize] {
        self.needs.get_or_init(|| {
            // A string with the same text is also counted, which is harmless.
            let body = format!("{:?}", self.definition.body);
            (0..LIBRARY.len()).filter(|&at| body.contains(&LIBRARY[at].name)).collect()
        })
    }
}

static LIBRARY: LazyLock<Vec<LibraryEntry>> = LazyLock::new(|| {
    let is_impure = |name: &str| IMPURE.split_whitespace().any(|known| known == name);
    let pure = |def: &Definition| !is_impure(def.name) && (def.name, def.args.len()) != ("split", 2);
    let theirs = jaq_core::defs().chain(jaq_std::defs()).chain(jaq_json::defs()).filter(pure);
    let ours = jaq_core::load::parse(PATTERNS, |parser| parser.defs()).unwrap_or_default();
    let entry = |definition: Definition| LibraryEntry {
        name: format!("{:?}", definition.name),
        needs: OnceLock::new(),
        definition,
    };
    theirs.chain(ours).map(entry).collect()
});

/// All definitions.
pub(super) fn whole() -> impl Iterator<Item = &'static Definition> {
    LIBRARY.iter().map(|entry| &entry.definition)
}

/// The definitions named in a text, and those that they use in turn, in order.
pub(super) fn named_in(text: &str) -> impl Iterator<Item = &'static Definition> {
    let words: BTreeSet<&str> = text.split(|letter| !is_of_name(letter)).collect();
    let mut wanted = BTreeSet::new();
    let is_named = |at: &usize| words.contains(LIBRARY[*at].definition.name);
    // The library is loaded only if it may be needed.
    let mut open: Vec<usize> =
        if has_only_fields_and_numbers(text) { Vec::new() } else { (0..LIBRARY.len()).filter(is_named).collect() };
    while let Some(at) = open.pop() {
        if wanted.insert(at) {
            open.extend(LIBRARY[at].needs());
        }
    }
    wanted.into_iter().map(|at| &LIBRARY[at].definition)
}

fn is_of_name(letter: char) -> bool {
    letter.is_alphanumeric() || letter == '_' || letter == '@'
}

/// Whether each word of a filter is a number or follows a dot, as in `.a.b + 1`.
fn has_only_fields_and_numbers(text: &str) -> bool {
    let is_number = |word: &str| word.starts_with(|letter: char| letter.is_ascii_digit());
    text.split('.').enumerate().all(|(at, part)| {
        // What follows a dot is a field.
        let rest = if at == 0 { part } else { part.trim_start_matches(is_of_name) };
        rest.split(|letter| !is_of_name(letter)).all(|word| word.is_empty() || is_number(word))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_definitions_that_a_filter_needs_are_loaded() {
        let names = |text: &str| named_in(text).map(|def| def.name).collect::<BTreeSet<_>>();
        assert!(names(".a.b == 1").is_empty());
        for (text, has_only) in
            [(".call.n + 1", true), ("..", true), (".a | length", false), ("length", false), ("[.a] | map(.b)", false)]
        {
            assert_eq!(has_only_fields_and_numbers(text), has_only, "{text}");
        }
        assert!(names("map(select(.x))").is_superset(&BTreeSet::from(["map", "select"])));
        // `capture` is our own, and uses only a native function.
        assert_eq!(names("capture(\"x\")"), BTreeSet::from(["capture"]));
        assert!(names("map(.x)").len() < whole().count() / 4);
    }

    #[test]
    fn every_definition_can_be_used_alone() {
        for def in whole() {
            let arguments = vec!["."; def.args.len()].join("; ");
            let call = if arguments.is_empty() { def.name.to_owned() } else { format!("{}({arguments})", def.name) };
            assert!(super::super::compile(&call, named_in(&call)).is_ok(), "{call}");
        }
    }
}
