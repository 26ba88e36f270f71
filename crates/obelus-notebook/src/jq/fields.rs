//! The fields and paths of its input that a filter reads.

use std::collections::BTreeSet;

use jaq_core::load;
use jaq_core::load::lex::StrPart;
use jaq_core::load::parse::{BinaryOp, Pattern, Term};
use jaq_core::path::{Part, Path};

/// The fields that a filter with this text reads; none if it may read others too.
pub(super) fn fields_of(text: &str) -> Option<BTreeSet<String>> {
    let term = load::parse(text, |parser| parser.term())?;
    let mut paths = BTreeSet::new();
    let is_all = collect(&term, &mut paths);
    is_all.then(|| paths.into_iter().filter_map(|path| path.into_iter().next()).collect())
}

/// Paths that a filter with this text reads, each as the names in it. It may read others too.
pub(super) fn paths_of(text: &str) -> BTreeSet<Vec<String>> {
    let mut paths = BTreeSet::new();
    if let Some(term) = load::parse(text, |parser| parser.term()) {
        collect(&term, &mut paths);
    }
    paths
}

/// Collects the paths that a term reads from the filter's input. False if it may read more, or give the whole input.
fn collect(term: &Term<&str>, fields: &mut BTreeSet<Vec<String>>) -> bool {
    match term {
        Term::Num(_) | Term::Var(_) | Term::Arr(None) => true,
        Term::Arr(Some(inner)) | Term::Neg(inner) => collect(inner, fields),
        Term::Str(_, parts) => parts.iter().all(|part| match part {
            StrPart::Term(inner) => collect(inner, fields),
            StrPart::Str(_) | StrPart::Char(_) => true,
        }),
        Term::Obj(members) => members.iter().all(|(name, value)| {
            // `{name}` reads the field of this name.
            value.as_ref().is_some_and(|value| collect(name, fields) && collect(value, fields))
        }),
        Term::BinOp(left, operator, right) => match operator {
            // What follows reads the results.
            BinaryOp::Pipe(None) => collect(left, fields),
            BinaryOp::Pipe(Some(Pattern::Var(_)))
            | BinaryOp::Comma
            | BinaryOp::Alt
            | BinaryOp::Or
            | BinaryOp::And
            | BinaryOp::Math(_)
            | BinaryOp::Cmp(_) => collect(left, fields) && collect(right, fields),
            _ => false,
        },
        // The other part reads the error.
        Term::TryCatch(inner, _) => collect(inner, fields),
        Term::IfThenElse(cases, Some(otherwise)) => {
            cases.iter().all(|(when, then)| collect(when, fields) && collect(then, fields))
                && collect(otherwise, fields)
        }
        Term::Call("true" | "false" | "null" | "empty", args) => args.is_empty(),
        Term::Call("any" | "all", args) => matches!(args.as_slice(), [from, _] if collect(from, fields)),
        Term::Call("first" | "last" | "isempty", args) => matches!(args.as_slice(), [of] if collect(of, fields)),
        Term::Path(inner, Path(parts)) => {
            let mut parts = parts.iter().map(|(part, _)| part);
            let is_named = match (&**inner, parts.len()) {
                (Term::Id, 0) => false,
                (Term::Id, _) => {
                    let names: Vec<String> = parts.clone().map_while(name_of).map(str::to_owned).collect();
                    parts.next();
                    let is_named = !names.is_empty();
                    if is_named {
                        fields.insert(names);
                    }
                    is_named
                }
                (inner, _) => collect(inner, fields),
            };
            is_named
                && parts.all(|part| match part {
                    Part::Index(index) => collect(index, fields),
                    Part::Range(from, to) => from.iter().chain(to).all(|end| collect(end, fields)),
                })
        }
        _ => false,
    }
}

/// The name in a path such as `.name`.
fn name_of<'a>(part: &Part<Term<&'a str>>) -> Option<&'a str> {
    match part {
        Part::Index(Term::Str(None, parts)) => match parts.as_slice() {
            [StrPart::Str(name)] => Some(name),
            _ => None,
        },
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_known_if_every_one_is_named() {
        for (text, expected) in [
            (r#"any(.plan[]; .tool == "a" and .status == "done")"#, "plan"),
            (r#"(.user // "") as $words | ($words | test("a")) or any(.texts[]; .text | test("b"))"#, "texts user"),
            (".kinds.state.rows[.requests] | length", "kinds requests"),
            (r#"if .purpose == "think" then "\(.call.n)" else [-.m["1"], {a: .found}] end"#, "call found m purpose"),
            ("try first(.errors[]) catch .", "errors"),
            ("1 + 1", ""),
        ] {
            let fields = fields_of(text).unwrap_or_else(|| panic!("{text}"));
            assert_eq!(fields.into_iter().collect::<Vec<_>>().join(" "), expected, "{text}");
        }
        let paths: Vec<String> =
            paths_of(".kinds.state.rows[0].n == .m[\"1\"] and (. | .no)").iter().map(|path| path.join(".")).collect();
        assert_eq!(paths, ["kinds.state.rows", "m.1"]);
        for text in [
            ".",
            "..",
            ".[]",
            ".[\"a\" + \"b\"]",
            "\"a\" as $x | .[$x]",
            "keys",
            "to_entries | length",
            "(.a, .) | length",
            "select(.a) | .b",
            "if .a then .b end",
            "{user}",
            "any",
            "all(.a)",
            "first",
            "reduce .a[] as $x (.; . + $x)",
            ". as {a: $x} | $x",
            ".a |= 1",
            "map(.a)",
            ".a | |",
        ] {
            assert_eq!(fields_of(text), None, "{text}");
        }
    }
}
