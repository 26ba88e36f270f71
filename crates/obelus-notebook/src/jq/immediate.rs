//! Filters that end at once whatever they read: without iteration, and with at most one result at each place.

use jaq_core::load::lex::StrPart;
use jaq_core::load::parse::{BinaryOp, Term};
use jaq_core::path::{Part, Path};
use jaq_core::{load, ops};

/// Functions whose time does not depend on numbers in the input.
const QUICK: [&str; 9] = ["true", "false", "null", "not", "length", "type", "tostring", "tonumber", "has"];

/// Whether a filter with this text ends at once.
pub(super) fn is_immediate(text: &str) -> bool {
    load::parse(text, |parser| parser.term()).is_some_and(|term| is_quick(&term))
}

fn is_quick(term: &Term<&str>) -> bool {
    match term {
        Term::Id | Term::Num(_) | Term::Arr(None) => true,
        Term::Arr(Some(items)) => are_quick(items),
        Term::Str(_, parts) => parts.iter().all(|part| match part {
            StrPart::Term(inner) => is_quick(inner),
            StrPart::Str(_) | StrPart::Char(_) => true,
        }),
        Term::Obj(fields) => fields.iter().all(|(name, value)| is_quick(name) && value.as_ref().is_none_or(is_quick)),
        Term::Neg(inner) => is_quick(inner),
        Term::BinOp(left, operator, right) => {
            // A text can be multiplied by any number, and `a, b` multiplies results.
            let is_plain = match operator {
                BinaryOp::Math(operator) => !matches!(operator, ops::Math::Mul),
                BinaryOp::Pipe(None) | BinaryOp::Alt | BinaryOp::Or | BinaryOp::And | BinaryOp::Cmp(_) => true,
                _ => false,
            };
            is_plain && is_quick(left) && is_quick(right)
        }
        Term::TryCatch(inner, otherwise) => is_quick(inner) && otherwise.as_deref().is_none_or(is_quick),
        Term::IfThenElse(cases, otherwise) => {
            cases.iter().all(|(when, then)| is_quick(when) && is_quick(then))
                && otherwise.as_deref().is_none_or(is_quick)
        }
        Term::Call(name, args) => QUICK.contains(name) && args.iter().all(is_quick),
        Term::Path(inner, Path(parts)) => {
            is_quick(inner)
                && parts.iter().all(|(part, _)| match part {
                    Part::Index(index) => is_quick(index),
                    Part::Range(None, None) => false,
                    Part::Range(from, to) => from.iter().chain(to).all(is_quick),
                })
        }
        _ => false,
    }
}

/// The items of an array.
fn are_quick(items: &Term<&str>) -> bool {
    match items {
        Term::BinOp(left, BinaryOp::Comma, right) => are_quick(left) && are_quick(right),
        one => is_quick(one),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_filters_without_iteration_end_at_once() {
        for text in [
            ".call.n + 1",
            "{sum: (.call.a + .call.b), name, list: [1, .x, \"a\\(.y)\"], \"k\": .rows[0].id, part: .rows[1:3]}",
            "if .call.ok and (.a | not) then .b // -1 else (.c | length) end",
            ".a? | try .b catch null",
            "has(\"a\") == true",
        ] {
            assert!(is_immediate(text), "{text}");
        }
        for text in [
            ".rows[]",
            "[.rows[] | .id]",
            "..",
            "range(1e9)",
            "last(repeat(1))",
            "\"a\" * 1e9",
            "(1, 2) + (1, 2)",
            "1, 2",
            "reduce .a as $x (0; . + $x)",
            ". as $x | $x",
            "def f: f; f",
            "map(. + 1)",
            ".a |= 1",
            ". |",
        ] {
            assert!(!is_immediate(text), "{text}");
        }
    }
}
