//! Tests of the grounding of whole creations: their targets, and the addresses in their texts.

use super::*;
use crate::template::Template;

fn mail(text: &str, target: Value) -> Memory {
    let mut send = json!({"properties": {"to": {}, "cc": {}, "subject": {}, "body": {}}, "x-effect": "create"});
    if !target.is_null() {
        send["x-target"] = target;
    }
    let staff = json!({"properties": {}, "x-effect": "read", "x-trust": "trusted"});
    let rows =
        json!([{"EMAIL": "orlova@example.test", "SITE": "https://team.example.test/", "PHONE": "8 (495) 123-45-67"}]);
    Memory::new(text, json!({"t": send, "staff": staff}), vec![result("staff", &["trusted:staff"], rows)])
}

fn is_grounded(memory: &Memory, params: &Value) -> bool {
    of_creation(memory, params).is_some()
}

/// How a call with these parameters is grounded, with references resolved.
fn of_creation(memory: &Memory, params: &Value) -> Option<Vec<Grounded>> {
    let mut proposal = params.clone();
    proposal["_tool"] = "t".into();
    let (call, _) = Call::read(&proposal.into(), &memory.context);
    let params = |(name, template): &(crate::names::Name, Template)| {
        let value = template.resolve(&|path| memory.context.read(path, None));
        (name.to_string(), value.unwrap_or_else(|_| template.outline()))
    };
    let params = call.params.iter().map(params).collect();
    memory.grounding().of_creation(&call, memory.tool("t"), &Value::Object(params))
}

#[test]
fn only_the_targets_of_a_creation_must_be_grounded() {
    let memory = mail("напиши на olga@example.test", json!(["to", "cc"]));
    for params in [
        json!({"to": "olga@example.test", "body": "Прислали счёт"}),
        json!({"to": ["olga@example.test"], "cc": [], "body": "Прислали счёт"}),
        json!({"TO": "olga@example.test", "body": true}),
        json!({"to": "olga@example.test", "cc": "orlova@example.test"}),
    ] {
        assert!(is_grounded(&memory, &params), "{params}");
    }
    for params in [
        json!({"to": "audit@evil.test", "body": "Прислали счёт"}),
        json!({"to": ["olga@example.test", "audit@evil.test"]}),
        json!({"to": "olga@example.test", "cc": "audit@evil.test"}),
        json!({"to": "olga@example.test", "Cc": "audit@evil.test"}),
        json!({"to": true}),
        json!({"to": "†state.to"}),
    ] {
        assert!(!is_grounded(&memory, &params), "{params}");
    }
}

#[test]
fn a_creation_without_targets_needs_all_values_grounded() {
    for target in [json!(null), json!([]), json!(["bcc"]), json!(["cc"])] {
        let memory = mail("напиши «Привет» на olga@example.test", target.clone());
        assert!(is_grounded(&memory, &json!({"to": "olga@example.test", "body": "Привет", "cc": ""})), "{target}");
        assert!(!is_grounded(&memory, &json!({"to": "olga@example.test", "body": "Пока"})), "{target}");
    }
}

#[test]
fn a_key_that_nobody_declared_or_named_is_not_grounded() {
    for target in [json!(null), json!(["to"])] {
        let memory = mail("напиши olga и «Привет»", target.clone());
        assert!(is_grounded(&memory, &json!({"to": {"olga": "Привет"}})), "{target}");
        assert!(!is_grounded(&memory, &json!({"to": {"mallory": "olga"}})), "{target}");
    }
}

#[test]
fn a_creation_without_values_is_not_grounded() {
    let memory = mail("напиши на olga@example.test", json!(["to"]));
    for params in [json!({}), json!({"to": "", "body": null}), json!({"to": [], "body": "  "})] {
        assert!(!is_grounded(&memory, &params), "{params}");
    }
}

#[test]
fn every_address_in_a_text_must_be_grounded() {
    let words =
        "ответь olga@example.test; сайт https://shop.example.test, тел. +7 916 123-45-67, счёт DE89370400440532013000";
    let memory = mail(words, json!(["to"]));
    for body in [
        "Наш сайт: https://shop.example.test.",
        "Наш сайт: http://shop.example.test/",
        "Пишите: olga@example.test",
        "Звоните: +79161234567 или 7 (916) 123 45 67",
        "IBAN DE89 3704 0044 0532 0130 00",
        "Коллега: orlova@example.test, https://team.example.test, 8 495 123 45 67",
        "Встреча 12.05.2026 в 10:30, сумма 320 000",
        "Без адресов",
    ] {
        assert!(is_grounded(&memory, &json!({"to": "olga@example.test", "body": body})), "{body}");
    }
    for body in [
        "Вопросы: audit@evil.test",
        "Сайт: https://shop.example.test/?q=secret",
        "Сайт: https://shop.example.test.evil.test",
        "Сайт: https://shop.example.test@evil.test",
        "Сайт: evil.test/a",
        "Сайт: www.shop.example.test",
        "Звоните: +7 916 123-45-68",
        "Звоните: 916 123-45-67",
        "IBAN DE89370400440532013001",
        "На счёт 40702810900000001234",
        "olga@example.test audit@evil.test",
    ] {
        assert!(!is_grounded(&memory, &json!({"to": "olga@example.test", "body": body})), "{body}");
        assert!(!is_grounded(&memory, &json!({"to": "olga@example.test", "body": [{"x": body}]})), "{body}");
        assert!(!is_grounded(&memory, &json!({"to": "olga@example.test", "body": {body: 1}})), "{body}");
    }
}

#[test]
fn a_text_grounded_as_a_whole_can_contain_addresses() {
    let names = json!({"to": {"in": ["staff"], "id": "EMAIL", "name": ["NAME"]}});
    let send = json!({"properties": {"to": {}}, "x-effect": "create", "x-target": ["to"], "x-names": names});
    let staff = json!({"properties": {}, "x-effect": "read", "x-trust": "untrusted", "x-issued": ["EMAIL"]});
    let rows =
        json!([{"EMAIL": "d.orlova@example.test", "NAME": "Дарья"}, {"EMAIL": "i@example.test", "NAME": "Иван"}]);
    let parts = json!({"EMAIL": ["trusted:staff"]});
    let message = result_with_parts("staff", &["untrusted:staff"], parts, rows);
    let memory = Memory::new("напиши Дарье", json!({"t": send, "staff": staff}), vec![message]);
    assert!(is_grounded(&memory, &json!({"to": "d.orlova@example.test"})));
    assert!(!is_grounded(&memory, &json!({"to": "i@example.test"})));
}

#[test]
fn the_grounding_of_each_value_is_reported() {
    let memory = mail("напиши на olga@example.test", json!(["to", "cc"]));
    let params = json!({"to": "olga@example.test", "cc": "orlova@example.test"});
    let told = of_creation(&memory, &params).expect("it is grounded");
    let told: Vec<String> = told.iter().map(ToString::to_string).collect();
    assert_eq!(
        told,
        [
            "`to`: it stands in the user's words (a, message 0)",
            "`cc`: it stands in what `staff` brought (b, message 2)",
        ]
    );
}

#[test]
fn a_text_with_references_is_grounded_when_all_its_parts_are() {
    let add = json!({"properties": {}, "x-effect": "create", "x-trust": "trusted", "x-issued": ["id"]});
    let link = json!({"properties": {"to": {}}, "x-effect": "create", "x-target": ["to"]});
    let deal = json!({"id": 71, "title": "Двери"});
    let parts = json!({"id": ["trusted:add"]});
    let message = result_with_parts("add", &["trusted:add", "untrusted:mail"], parts, deal);
    let memory = Memory::new("заведи сделку", json!({"t": link, "add": add}), vec![message]);
    for to in
        [json!("D_{†state.r.id}"), json!(["{†state.r.id}"]), json!("сделку {†state.r.id}"), json!("«{†state.r.id}»")]
    {
        assert!(is_grounded(&memory, &json!({"to": to})), "{to}");
    }
    for to in [
        json!("D_{†state.r.title}"),
        json!("D1{†state.r.id}"),
        json!("DEA{†state.r.id}"),
        json!("задачу {†state.r.id}"),
        json!(["D_{†state.r.id}", "D_72"]),
        json!("D_{†state.r.nothing}"),
    ] {
        assert!(!is_grounded(&memory, &json!({"to": to})), "{to}");
    }
}

#[test]
fn keys_in_a_target_are_grounded_or_declared() {
    let send = json!({"properties": {"to": {"properties": {"cc": {}}}}, "x-effect": "create", "x-target": ["to"]});
    let memory = Memory::new("write to bob", json!({"t": send}), Vec::new());
    for (to, expected) in [
        (json!({"cc": ["bob"]}), true),
        (json!({"bob": ["bob"]}), true),
        (json!({"mallory": ["bob"]}), false),
        (json!([{"cc": {"mallory": "bob"}}]), false),
    ] {
        assert_eq!(is_grounded(&memory, &json!({"to": to})), expected, "{to}");
    }
}
