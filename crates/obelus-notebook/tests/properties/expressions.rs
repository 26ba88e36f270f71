//! CTX-9, CTX-12: printed expressions parse to the same expression, and no text causes a panic.

use obelus_notebook::expr::{Expr, OutputPath};
use obelus_notebook::path::{Path, Segment};
use proptest::collection::vec;
use proptest::prelude::*;

use crate::cases;

fn segment() -> impl Strategy<Value = Segment> {
    let awkward = "[a-z\"'\\\\.\\[\\]()|&† \\n\\t\\x00-\\x1f\\x7f-\\x9fя\u{2028}\u{1f980}]{0,6}";
    prop_oneof![
        3 => "[a-zA-Z0-9_я-]{1,4}".prop_map(|name| Segment::Field(name.into())),
        1 => any::<String>().prop_filter_map("a bare segment", |text| {
            let bare: String = text.chars().filter(|c| !".[]()|&".contains(*c) && !c.is_whitespace()).collect();
            (!bare.is_empty()).then_some(Segment::Field(bare.into()))
        }),
        2 => awkward.prop_map(|key| Segment::Key(key.into())),
        1 => any::<String>().prop_map(|key| Segment::Key(key.into())),
        2 => (-3..4i64).prop_map(Segment::Index),
        1 => any::<i64>().prop_map(Segment::Index),
    ]
}

fn path() -> impl Strategy<Value = Path> {
    ("[A-Za-z_][A-Za-z0-9_-]{0,5}", vec(segment(), 0..5))
        .prop_map(|(kind, segments)| Path { kind: kind.into(), segments: segments.into() })
}

fn expr() -> impl Strategy<Value = Expr> {
    path().prop_map(|path| Expr::Ref(path.into())).prop_recursive(5, 24, 4, |inner| {
        prop_oneof![vec(inner.clone(), 2..4).prop_map(Expr::Any), vec(inner, 2..4).prop_map(Expr::All)]
    })
}

/// The expression with redundant parentheses, and white space wherever it is permitted.
fn loosely(expr: &Expr, spaces: &mut impl Iterator<Item = String>) -> String {
    let mut space = || spaces.next().unwrap_or_default();
    let (terms, operator) = match expr {
        Expr::Ref(path) => return format!("{}{path}{}", space(), space()),
        Expr::Any(terms) => (terms, "||"),
        Expr::All(terms) => (terms, "&&"),
    };
    let (before, after) = (space(), space());
    let terms: Vec<_> = terms.iter().map(|term| loosely(term, spaces)).collect();
    format!("{before}({}){after}", terms.join(operator))
}

fn column(fault: &str) -> usize {
    let digits: String = fault.strip_prefix("column ").unwrap().chars().take_while(char::is_ascii_digit).collect();
    digits.parse().unwrap()
}

proptest! {
    #![proptest_config(cases(1000))]

    #[test]
    fn a_printed_expression_parses_as_the_same_expression(expr in expr()) {
        let text = expr.to_string();
        prop_assert_eq!(Expr::parse(&text), Ok(expr), "{}", text);
    }

    #[test]
    fn white_space_and_redundant_parentheses_are_ignored(expr in expr(), spaces in vec("[ \\t\\n]{0,2}", 0..40)) {
        let text = loosely(&expr, &mut spaces.into_iter());
        prop_assert_eq!(Expr::parse(&text), Ok(expr), "{}", text);
    }

    #[test]
    fn an_output_path_consists_of_alternatives_of_groups(expr in expr()) {
        let is_group = |expr: &Expr| match expr {
            Expr::Ref(_) => true,
            Expr::All(terms) => terms.iter().all(|term| matches!(term, Expr::Ref(_))),
            Expr::Any(_) => false,
        };
        let is_form = match &expr {
            Expr::Any(terms) => terms.iter().all(is_group),
            single => is_group(single),
        };
        let writable = expr.refs().iter().all(|path| !["input", "tool", "plan", "error"].contains(&path.kind.as_str()));
        match OutputPath::parse(&expr.to_string()) {
            Ok(path) => {
                prop_assert!(is_form && writable);
                prop_assert_eq!(path.to_string(), expr.to_string());
            }
            Err(fault) => prop_assert!(!(is_form && writable), "{}: {}", expr, fault),
        }
    }

    #[test]
    fn any_text_is_an_expression_or_a_fault_at_a_column(
        text in prop_oneof![any::<String>(), "[†a0.\\[\\]()|&\"\\\\ -]{0,30}", "†[a-c][†a0.\\[\\]()|&\"\\\\ -]{0,20}"],
    ) {
        match Expr::parse(&text) {
            Ok(expr) => prop_assert_eq!(Expr::parse(&expr.to_string()), Ok(expr)),
            Err(fault) => {
                let last = text.chars().count() + 1;
                prop_assert!((1..=last).contains(&column(&fault.text)), "{}: {}", text, fault);
            }
        }
    }
}
