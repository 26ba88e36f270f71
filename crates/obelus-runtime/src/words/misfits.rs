//! Why a person's value or name does not fit, by the violated keyword of the schema.

use obelus_kernel::session::refusals::InvalidValue;
use obelus_kernel::visible;
use obelus_notebook::edited::UnknownName;
use obelus_notebook::wording::plain_text;
use serde_json::Value;

use super::reasons::{BareNames, reason_in_words};
use super::{Language, fill};
use obelus_words::MisfitWords;

/// The number of valid values that are listed.
const MOST: usize = 12;

/// The error as text. `text` is the session's own, for keywords without a text here.
pub(super) fn misfit_in_words(misfit: &InvalidValue, text: &str, language: Language) -> String {
    let words = &language.words().misfits;
    match misfit {
        InvalidValue::Policy(reason) => visible(&reason_in_words(reason, "", &BareNames, language)),
        InvalidValue::UnknownParam(UnknownName { place: name, near, known }) => {
            let said = match near {
                Some(near) => fill(words.no_param_near, &[&visible(name), &visible(near)]),
                None => fill(words.no_param, &[&visible(name)]),
            };
            if known.is_empty() { said } else { said + &fill(words.known_params, &[&visible(&known.join(", "))]) }
        }
        InvalidValue::Schema { place, keyword, demand } => match demanded(keyword, demand, words) {
            Some(what) if place.is_empty() => what,
            Some(what) => fill(words.at, &[&visible(place), &what]),
            None => fill(words.other, &[text]),
        },
    }
}

/// What a keyword requires; none for keywords without a text here.
fn demanded(keyword: &str, demand: &Value, words: &MisfitWords) -> Option<String> {
    let phrase = match keyword {
        "format" if demand == "date" => return Some(words.wrong_date.to_owned()),
        "format" => words.wrong_format,
        "required" => words.missing,
        "type" => words.wrong_type,
        "enum" | "const" => words.one_of,
        "minimum" => words.at_least,
        "maximum" => words.at_most,
        "exclusiveMinimum" => words.more_than,
        "exclusiveMaximum" => words.less_than,
        "minLength" => words.too_short,
        "maxLength" => words.too_long,
        "minItems" => words.too_few,
        "maxItems" => words.too_many,
        "additionalProperties" | "unevaluatedProperties" => words.no_such_field,
        _ => return None,
    };
    let what = match demand {
        Value::Array(types) if keyword == "type" => {
            let names: Vec<String> = types.iter().map(|name| type_in_words(name, words)).collect();
            names.join(words.or)
        }
        Value::Array(values) => {
            let more = if values.len() > MOST { ", …" } else { "" };
            let named: Vec<String> = values.iter().take(MOST).map(plain_text).collect();
            named.join(", ") + more
        }
        one => plain_text(one),
    };
    Some(fill(phrase, &[&visible(&what)]))
}

fn type_in_words(name: &Value, words: &MisfitWords) -> String {
    let known = match name.as_str().unwrap_or_default() {
        "string" => words.text,
        "integer" => words.whole_number,
        "number" => words.number,
        "boolean" => words.boolean,
        "array" => words.list,
        "object" => words.object,
        "null" => words.nothing,
        other => other,
    };
    known.to_owned()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_schema_violation_is_described_by_its_keyword() {
        let told = |place: &str, keyword: &str, demand: Value| {
            let misfit = InvalidValue::Schema { place: place.to_owned(), keyword: keyword.to_owned(), demand };
            misfit_in_words(&misfit, "\"x\" does not match", Language::Russian)
        };
        for (place, keyword, demand, words) in [
            ("", "required", json!("sum"), "не хватает `sum`"),
            ("sum", "type", json!(["integer", "null"]), "`sum`: здесь должно быть: целое число или пусто (`null`)"),
            ("stage", "enum", json!(["NEW", 7]), "`stage`: подходит только одно из: NEW, 7"),
            ("sum", "minimum", json!(0), "`sum`: должно быть не меньше 0"),
            ("name", "maxLength", json!(5), "`name`: слишком длинно, символов можно не больше 5"),
            ("", "additionalProperties", json!(["a", "b"]), "такого здесь нет: a, b"),
            ("day", "format", json!("date"), "`day`: нужна дата, которая есть в календаре, в виде 2026-12-31"),
            ("mail", "format", json!("email"), "`mail`: значение не вида email"),
            ("name", "pattern", Value::Null, "значение не подходит (\"x\" does not match)"),
        ] {
            assert_eq!(told(place, keyword, demand), words);
        }
        let unknown = |near: Option<&str>, known: &[&str]| {
            let known = known.iter().map(|name| (*name).to_owned()).collect();
            let misfit = InvalidValue::UnknownParam(UnknownName {
                place: "sun".to_owned(),
                near: near.map(str::to_owned),
                known,
            });
            misfit_in_words(&misfit, "", Language::Russian)
        };
        assert_eq!(unknown(None, &[]), "параметра `sun` нет");
        assert_eq!(
            unknown(Some("sum"), &["`sum` (сумма)", "`id`"]),
            "параметра `sun` нет; возможно, `sum`? (есть: `sum` (сумма), `id`)"
        );
    }
}
