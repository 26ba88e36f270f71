//! A form as it is shown to a person, and whether it is unchanged once it is filled in.

use serde_json::{Map, Value, json};
use url::Url;

use super::address::{digest, shown_text};
use super::judge::{self, ElementFacts, PageField, PageForm};
use super::secrets::Secrets;
use super::sites::Sites;

/// Longer values are cut, with their length and a digest.
const LONGEST: usize = 300;

/// A text that is typed into a field of a form.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Fill {
    at: usize,
    text: String,
}

/// The texts typed into the form of the element at index `by`. `known` are the elements of an action, the fields
/// first.
pub(super) fn fills(act: &Map<String, Value>, known: &[&ElementFacts], by: usize) -> Vec<Fill> {
    let form = |facts: &ElementFacts| Some((facts.frame.clone(), facts.form.as_ref()?.nth));
    let Some(own) = known.get(by).and_then(|facts| form(facts)) else { return Vec::new() };
    let one = act.get("text").into_iter();
    let fields = act.get("fields").and_then(Value::as_array).into_iter().flatten().map(|field| &field["value"]);
    let texts = one.chain(fields).filter_map(Value::as_str).zip(known);
    let fill = |(text, facts): (&str, &&ElementFacts)| {
        let is_own = form(facts).as_ref() == Some(&own);
        Some(Fill { at: facts.place.filter(|_| is_own)?, text: text.to_owned() })
    };
    texts.filter_map(fill).collect()
}

/// A form as it is shown: its method, address and visible fields with their values. A digest of the values detects
/// changes, even in a restarted browser. Secrets appear by name. A site that approval would allow is named.
pub(super) fn form_as_shown(form: &PageForm, fills: &[Fill], sites: &Sites, secrets: &Secrets) -> Value {
    let mut fields = Map::new();
    for (label, value) in shown(form, fills) {
        let mut name = label.clone();
        let mut number = 1;
        while fields.contains_key(&name) {
            number += 1;
            name = format!("{label} ({number})");
        }
        fields.insert(name, json!(shortened(&secrets.hide(value))));
    }
    // A field without a name still has its number.
    fields.retain(|_, value| value != "");
    let mark = digest(&secrets.hide(format!("{}\n{}", form.address, form.values.join("\n"))));
    let mut described = json!({"method": form.method, "address": shown_text(&form.address), "mark": mark});
    // Empty parts are left out for the person who is asked.
    if !fields.is_empty() {
        described["fields"] = Value::Object(fields);
    }
    let address = Url::parse(&form.address).ok().filter(|address| !sites.allow(address));
    if let Some(address) = address.filter(|_| judge::submitting(form, sites).sends()) {
        described["allows"] = json!(address.origin().ascii_serialization());
    }
    described
}

/// The visible fields with their values after filling in.
fn shown(form: &PageForm, fills: &[Fill]) -> Vec<(String, String)> {
    let typed = |at: usize| fills.iter().rev().find(|fill| fill.at == at).map(|fill| fill.text.as_str());
    let is_on = |text: &str| matches!(text, "true" | "yes" | "on" | "1");
    let chosen = |at: usize| typed(at).is_some_and(is_on);
    let is_chosen_anew = |field: &PageField| {
        let same = |other: &PageField| other.kind == "radio" && other.group == field.group;
        form.fields.iter().enumerate().any(|(at, other)| same(other) && chosen(at))
    };
    let mut shown = Vec::new();
    for (at, field) in form.fields.iter().enumerate().filter(|(_, field)| field.kind != "hidden") {
        let value = match (field.kind.as_str(), typed(at)) {
            ("radio", _) => {
                let stays = !field.value.is_empty() && !is_chosen_anew(field);
                if chosen(at) || stays {
                    shown.push((field.group.clone(), field.label.clone()));
                }
                continue;
            }
            ("checkbox", Some(text)) => if is_on(text) { "yes" } else { "no" }.to_owned(),
            ("password", Some(text)) if !text.starts_with('$') => "••••".to_owned(),
            (_, Some(text)) => text.to_owned(),
            (_, None) => field.value.clone(),
        };
        shown.push((field.label.clone(), value));
    }
    shown
}

fn shortened(value: &str) -> String {
    let length = value.chars().count();
    if length <= LONGEST {
        return value.to_owned();
    }
    format!("{}… ({length}, ~{})", value.chars().take(LONGEST).collect::<String>(), digest(value))
}

/// Whether a filled form sends what was shown: the same fields to the same address.
pub(super) fn is_as_shown(shown: &Value, now: &Value) -> bool {
    let empty = Map::new();
    let fields = |form: &'_ Value| form["fields"].as_object().cloned().unwrap_or_else(|| empty.clone());
    let (then, later) = (fields(shown), fields(now));
    let same = |(name, value): (&String, &Value)| {
        let pair = value.as_str().zip(later.get(name).and_then(Value::as_str));
        pair.is_some_and(|(shown, now)| is_alike(shown, now))
    };
    let leads = ["method", "address"].iter().all(|name| shown[*name] == now[*name]);
    leads && then.len() == later.len() && then.iter().all(same)
}

/// Whether a value is the typed one. Pages add spaces and reformat phone numbers.
fn is_alike(shown: &str, now: &str) -> bool {
    let plain = |text: &str| {
        let named = text.replace("<secret>", "$").replace("</secret>", "");
        named.chars().filter(|letter| !letter.is_whitespace()).collect::<String>()
    };
    let number = |text: &str| {
        let is_number = text.chars().all(|letter| letter.is_ascii_digit() || " +-()\u{a0}".contains(letter));
        let digits: String = text.chars().filter(char::is_ascii_digit).collect();
        Some(digits).filter(|digits| is_number && digits.len() >= 7)
    };
    let is_hidden = !now.is_empty() && now.chars().all(|letter| letter == '•');
    let hides = is_hidden && (shown.starts_with('$') || now.chars().count() == plain(shown).chars().count().min(16));
    plain(shown) == plain(now) || hides || number(shown).is_some_and(|digits| number(now) == Some(digits))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn field(kind: &str, label: &str, value: &str) -> PageField {
        let (kind, label, value) = (kind.to_owned(), label.to_owned(), value.to_owned());
        PageField { group: "size".to_owned(), kind, label, value, ..PageField::default() }
    }

    fn shown_of(fields: Vec<PageField>, fills: &[(usize, &str)]) -> Value {
        let form = PageForm {
            method: "POST".to_owned(),
            address: "https://shop.example.test/orders".to_owned(),
            fields,
            ..PageForm::default()
        };
        let fills: Vec<_> = fills.iter().map(|(at, text)| Fill { at: *at, text: (*text).to_owned() }).collect();
        form_as_shown(&form, &fills, &Sites::parse(&["shop.example.test"]).unwrap(), &Secrets::default())
    }

    #[test]
    fn ask_2_fields_with_the_same_name_are_numbered_and_all_are_shown() {
        let guests = vec![field("text", "Guest", "Anna"), field("text", "Guest", ""), field("text", "Guest", "Boris")];
        assert_eq!(shown_of(guests.clone(), &[])["fields"], json!({"Guest": "Anna", "Guest (3)": "Boris"}));
        let all = json!({"Guest": "Anna", "Guest (2)": "Vera", "Guest (3)": "Boris"});
        assert_eq!(shown_of(guests, &[(1, "Vera")])["fields"], all);
        let many = (0..120).map(|number| field("text", &format!("Field {number}"), "x")).collect();
        assert_eq!(shown_of(many, &[])["fields"].as_object().unwrap().len(), 120);
        let long = shown_of(vec![field("textarea", "Words", &"ж".repeat(400))], &[]);
        let words = long["fields"]["Words"].as_str().unwrap();
        assert!(words.starts_with("жжж") && words.contains("… (400, ~") && words.chars().count() < 340, "{words}");
    }

    #[test]
    fn a_choice_is_shown_with_its_new_value() {
        let sizes =
            || vec![field("radio", "Small", "Small"), field("radio", "Large", ""), field("checkbox", "Gift", "no")];
        assert_eq!(shown_of(sizes(), &[])["fields"], json!({"size": "Small", "Gift": "no"}));
        assert_eq!(shown_of(sizes(), &[(1, "true"), (2, "true")])["fields"], json!({"size": "Large", "Gift": "yes"}));
    }

    #[test]
    fn a_site_that_an_approved_form_would_allow_is_named() {
        let form = |method: &str, address: &str| {
            let form = PageForm { method: method.to_owned(), address: address.to_owned(), ..PageForm::default() };
            form_as_shown(&form, &[], &Sites::parse(&["shop.example.test"]).unwrap(), &Secrets::default())["allows"]
                .clone()
        };
        assert_eq!(form("POST", "https://bank.example.test/pay"), "https://bank.example.test");
        assert_eq!(form("POST", "https://shop.example.test/pay"), Value::Null);
    }

    #[test]
    fn a_filled_form_must_have_the_values_that_were_shown() {
        let form =
            |value: &str| json!({"method": "POST", "address": "https://shop.example.test/", "fields": {"A": value}});
        for (shown, now, expected) in [
            ("anna", "anna", true),
            ("anna", "Boris", false),
            ("1.00", "100", false),
            ("10000", "10 000", true),
            ("+79991234567", "+7 (999) 123-45-67", true),
            ("+79991234567", "+7 (999) 123-45-68", false),
            ("1-5", "15", false),
            ("$NAME", "<secret>NAME</secret>", true),
            ("$NAME", "<secret>OTHER</secret>", false),
            ("$NAME", "••••", true),
            ("••••", "••••", true),
            ("4111111111111111", "••••••••••••••••", true),
            ("123", "••••", false),
        ] {
            assert_eq!(is_as_shown(&form(shown), &form(now)), expected, "{shown} {now}");
        }
        let mut more = form("a");
        more["fields"]["B"] = json!("b");
        assert!(!is_as_shown(&form("a"), &more) && !is_as_shown(&more, &form("a")));
        let other = json!({"method": "POST", "address": "https://shop.example.test/other", "fields": {"A": "a"}});
        assert!(!is_as_shown(&form("a"), &other));
    }
}
