//! Tests of the parts (a) to (d) of the rule, in this order.

use proptest::prelude::*;

use super::*;

#[test]
fn a_text_is_found_in_the_users_words_by_whole_words() {
    for (text, value) in [
        ("перешли на OLGA@example.test!", "Olga@Example.test"),
        ("заведи сделку «Окна ПВХ»", "окна  пвх"),
        ("Окна на 320 тысяч", "Окна на 320 тысяч"),
        ("12 мая 2026", "12 мая"),
    ] {
        assert_eq!(Memory::words(text).letter(&json!(value)), Some(GroundingRule::A), "{value} in {text}");
    }
    for (text, value) in [
        ("перешли на olga@example.test", "olga"),
        ("Окна на 320 тысяч", "Окна на 320"),
        ("скидка 10 000 рублей", "000 рублей"),
        ("да - нет", "-"),
        ("Окна", "†state.x"),
    ] {
        assert_eq!(Memory::words(text).letter(&json!(value)), None, "{value} in {text}");
    }
}

#[test]
fn a_number_is_found_by_its_value() {
    for (text, value) in [
        ("на 320 тысяч", json!(320_000)),
        ("на 320 тысяч", json!("320000")),
        ("код 007", json!("007")),
        ("код 007", json!(7)),
    ] {
        assert_eq!(Memory::words(text).letter(&value), Some(GroundingRule::A), "{value} in {text}");
    }
    for (text, value) in [("на 320 тысяч", json!(320)), ("код 7", json!("007")), ("на 320 тысяч", json!("320 000"))]
    {
        assert_eq!(Memory::words(text).letter(&value), None, "{value} in {text}");
    }
}

#[test]
fn only_the_users_own_words_count() {
    let is_found = |message: Value| {
        let tools = json!({"type": "tool", "tool": {"t": {"properties": {"p": {}}}}});
        Memory::of(vec![tools, message], 2).letter(&json!("olga@example.test")) == Some(GroundingRule::A)
    };
    assert!(is_found(json!({"role": "user", "text": "olga@example.test"})));
    assert!(is_found(json!({"type": "input", "data": {"to": ["olga@example.test"]}})));
    assert!(is_found(json!({"type": "input", "data": {"to": "olga@example.test"}, "_labels": ["user"]})));
    for strange in [
        json!({"role": "assistant", "text": "olga@example.test"}),
        json!({"role": "system", "text": "olga@example.test"}),
        json!({"type": "input", "data": {"to": "olga@example.test"}, "_labels": ["untrusted:mail"]}),
        json!({"type": "input", "data": {"to": "olga@example.test"}, "_labels": ["model"]}),
        json!({"type": "input", "data": {"to": "olga@example.test"}, "_partLabels": {"to": ["untrusted:mail"]}}),
        json!({"type": "input", "data": {"to": "olga@example.test"}, "_instance": "one"}),
        json!({"type": "state", "data": {"to": "olga@example.test"}}),
        result("mail", &["untrusted:mail"], json!("olga@example.test")),
    ] {
        assert!(!is_found(strange.clone()), "{strange}");
    }
}

#[test]
fn answers_of_people_to_questions_count() {
    let mut memory = Memory::words("перешли письмо");
    memory.index.catch_up(&memory.context, &["лучше на olga@example.test".to_owned()]);
    let found = memory.found(&json!("olga@example.test")).expect("it is found");
    assert_eq!((found.by, found.place), (GroundingRule::A, FoundIn::Answer));
}

#[test]
fn an_instance_is_grounded_only_in_its_own_input() {
    let messages = vec![
        json!({"type": "tool", "tool": {"t": {"properties": {"p": {}}}}}),
        json!({"type": "input", "data": {"to": "one@example.test"}, "_instance": "one"}),
    ];
    let memory = Memory::of(messages, 2);
    for (instance, expected) in [(Some("one"), true), (Some("two"), false), (None, false)] {
        let grounding = Grounding { instance, ..memory.grounding() };
        let value = json!("one@example.test");
        assert_eq!(
            grounding.collect_evidence(memory.callee(), "p", &value, &[], &mut Vec::new()),
            expected,
            "{instance:?}"
        );
    }
}

fn staff(trust: &str, issued: &[&str]) -> Value {
    json!({
        "staff": {"properties": {}, "x-effect": "read", "x-trust": trust, "x-issued": issued},
        "t": {"properties": {"p": {}}, "x-effect": "create"},
    })
}

#[test]
fn a_whole_text_of_a_trusted_result_is_found() {
    let rows = json!([{"EMAIL": "Orlova@example.test", "CODE": "ab1", "NOTE": "Звонить 8 495 123-45-67"}]);
    let memory = Memory::new("напиши", staff("trusted", &[]), vec![result("staff", &["trusted:staff"], rows.clone())]);
    let found = memory.found(&json!("orlova@example.test")).expect("it is found");
    assert_eq!((found.by, found.place, found.tool.as_deref()), (GroundingRule::B, FoundIn::Message(2), Some("staff")));
    for part in ["orlova", "ab1", "8 495 123-45-67", "Звонить"] {
        assert_eq!(memory.letter(&json!(part)), None, "{part}");
    }
    for labels in
        [&["untrusted:staff"][..], &["trusted:staff", "untrusted:mail"], &["trusted:other"], &["model"], &["user"]]
    {
        let memory = Memory::new("напиши", staff("trusted", &[]), vec![result("staff", labels, rows.clone())]);
        assert_eq!(memory.letter(&json!("orlova@example.test")), None, "{labels:?}");
    }
    let parts = json!({"NOTE": ["untrusted:staff"]});
    let mixed = result_with_parts("staff", &["trusted:staff"], parts, rows);
    assert_eq!(Memory::new("x", staff("trusted", &[]), vec![mixed]).letter(&json!("orlova@example.test")), None);
}

#[test]
fn issued_values_of_a_trusted_result_are_not_found_by_rule_b() {
    let rows = json!({"items": [{"ID": "A1005", "EMAIL": "orlova@example.test"}]});
    let parts = json!({"items.ID": ["trusted:staff"]});
    let message = result_with_parts("staff", &["trusted:staff"], parts, rows);
    let memory = Memory::new("напиши", staff("trusted", &["items.ID"]), vec![message]);
    assert_eq!(memory.letter(&json!("A1005")), None);
    assert_eq!(memory.letter(&json!("orlova@example.test")), Some(GroundingRule::B));
}

/// A list of people, and a parameter with the id of one of them.
fn people(text: &str, rows: Value) -> Memory {
    people_by(text, &["trusted:staff"], json!({}), rows)
}

fn people_by(text: &str, labels: &[&str], parts: Value, rows: Value) -> Memory {
    let names = json!({"p": {"in": ["staff"], "id": "ID", "name": ["NAME", "LAST_NAME"], "as": ["сотрудник", "user"]}});
    let tools = json!({
        "staff": {"properties": {}, "x-effect": "read", "x-trust": "trusted"},
        "t": {"properties": {"p": {}}, "x-effect": "create", "x-names": names},
    });
    Memory::new(text, tools, vec![result_with_parts("staff", labels, parts, rows)])
}

fn team() -> Value {
    json!([
        {"ID": "5", "NAME": "Дарья", "LAST_NAME": "Орлова"},
        {"ID": "8", "NAME": "Иван", "LAST_NAME": "Лисин"},
        {"ID": 9, "NAME": "Анна Мария", "LAST_NAME": "Иванова"},
    ])
}

#[test]
fn the_id_of_a_row_that_the_user_named_is_found() {
    for (text, id) in [
        ("поставь Дарье задачу", json!(5)),
        ("поставь Дарье задачу", json!("5")),
        ("поставь Орловой задачу", json!(5)),
        ("поставь дарье орловой задачу", json!(5)),
        ("для Лисина", json!(8)),
        ("для Ивана Лисина", json!(8)),
        ("для Анны Марии", json!(9)),
        ("для Ивановой", json!(9)),
        ("для Ивановой", json!("9")),
    ] {
        assert_eq!(people(text, team()).letter(&id), Some(GroundingRule::C), "{id} in {text}");
    }
    for (text, id) in [
        ("поставь Дарье задачу", json!(8)),
        ("поставь задачу 5", json!(5)),
        ("поставь задачу", json!(5)),
        ("для Анны", json!(9)),
        ("для Марии Анны", json!(9)),
        ("на darya@example.test", json!(5)),
        ("поставь Дарье задачу", json!(50)),
        ("поставь Дарье задачу", json!(true)),
    ] {
        assert_eq!(people(text, team()).letter(&id), None, "{id} in {text}");
    }
}

#[test]
fn rows_with_the_same_name_need_another_word_to_be_distinguished() {
    let two = json!([
        {"ID": 5, "NAME": "Дарья", "LAST_NAME": "Орлова"},
        {"ID": 6, "NAME": "Дарья", "LAST_NAME": "Лисина"},
        {"ID": 5, "NAME": "Дарья", "LAST_NAME": "Орлова"},
    ]);
    for (text, five, six) in [
        ("поставь Дарье задачу", None, None),
        ("поставь Дарье Орловой задачу", Some(GroundingRule::C), None),
        ("поставь Дарье Лисиной задачу", None, Some(GroundingRule::C)),
        ("поставь Дарье Орловой и Лисиной", Some(GroundingRule::C), Some(GroundingRule::C)),
    ] {
        let memory = people(text, two.clone());
        assert_eq!((memory.letter(&json!(5)), memory.letter(&json!(6))), (five, six), "{text}");
    }
}

#[test]
fn the_nearest_name_is_chosen() {
    let near = json!([{"ID": 5, "LAST_NAME": "Иванов"}, {"ID": 6, "LAST_NAME": "Иванова"}]);
    let letters = |text| {
        let memory = people(text, near.clone());
        (memory.letter(&json!(5)), memory.letter(&json!(6)))
    };
    assert_eq!(letters("для Иванова"), (None, Some(GroundingRule::C)));
    assert_eq!(letters("для Иванов"), (Some(GroundingRule::C), None));
    assert_eq!(letters("для Иванову"), (None, None));
}

#[test]
fn an_id_must_be_issued_or_trusted() {
    let letter = |labels: &[&str], parts| people_by("для Дарьи", labels, parts, team()).letter(&json!(5));
    assert_eq!(letter(&["trusted:staff"], json!({})), Some(GroundingRule::C));
    assert_eq!(letter(&["untrusted:staff"], json!({"ID": ["trusted:staff"]})), Some(GroundingRule::C));
    assert_eq!(letter(&["untrusted:staff"], json!({})), None);
    assert_eq!(letter(&["trusted:staff", "untrusted:mail"], json!({})), None);
    assert_eq!(letter(&["trusted:staff"], json!({"ID": ["untrusted:staff"]})), None);
}

#[test]
fn a_record_number_needs_a_word_before_it() {
    for (text, expected) in [
        ("задача для сотрудника 5", Some(GroundingRule::C)),
        ("задача для сотрудника №5", Some(GroundingRule::C)),
        ("task for user #5", Some(GroundingRule::C)),
        ("сотрудник Пётр, 5 задач", None),
        ("5 сотрудников", None),
        ("сотруднику 5 тысяч", None),
        ("сотруднику 5 мая", None),
        ("не сотрудник, а 5", None),
    ] {
        let memory = people(text, json!([]));
        assert_eq!(memory.letter(&json!(5)), expected, "{text}");
        assert_eq!(memory.letter(&json!("5")), expected, "{text}");
    }
}

/// The kind of record of the parameter `p` is given by `kind`, that of `q` by its own prefix.
fn records(text: &str) -> Memory {
    let deals = json!({"in": ["deals"], "id": "ID", "name": ["TITLE"], "as": ["сделк"]});
    let people = json!({"in": ["people"], "id": "ID", "name": ["NAME"], "as": ["контакт"]});
    let names = json!({
        "p": {"of": "kind", "kinds": {"deal": deals, "3": people}},
        "q": {"kinds": {"D_": deals, "C_": people}},
    });
    let tools = json!({
        "deals": {"properties": {}, "x-effect": "read", "x-trust": "trusted"},
        "people": {"properties": {}, "x-effect": "read", "x-trust": "trusted"},
        "t": {"properties": {"p": {}, "q": {}, "kind": {}}, "x-effect": "create", "x-names": names},
    });
    let deals = result("deals", &["trusted:deals"], json!([{"ID": 71, "TITLE": "Окна"}]));
    let people = result("people", &["trusted:people"], json!([{"ID": 71, "NAME": "Дарья"}]));
    Memory::new(text, tools, vec![deals, people])
}

#[test]
fn a_number_of_one_record_type_does_not_ground_another_type() {
    let is_found = |text: &str, params: Value, place: &str| {
        let memory = records(text);
        let callee = Callee { tool: memory.tool("t"), params: &params };
        memory.grounding().collect_evidence(callee, place, &params[place], &[], &mut Vec::new())
    };
    for (text, kind, expected) in [
        ("сделка 41", json!("deal"), true),
        ("сделка 41", json!("DEAL"), true),
        ("сделка 41", json!("3"), false),
        ("контакт 41", json!(3), true),
        ("контакт 41", json!("deal"), false),
        ("сделка 41", json!("company"), false),
        ("сделка 41", json!(null), false),
    ] {
        assert_eq!(is_found(text, json!({"p": 41, "kind": kind}), "p"), expected, "{text} {kind}");
    }
    assert!(!is_found("сделка 41", json!({"p": 41}), "p"), "nothing says the kind");
    assert!(!is_found("сделка 41", json!({"p": 41, "KIND": 3, "kind": "deal"}), "p"), "two kinds");
    assert!(is_found("для Дарьи", json!({"p": 71, "kind": 3}), "p"));
    assert!(!is_found("для Дарьи", json!({"p": 71, "kind": "deal"}), "p"), "the row of another kind");
    for (text, value, expected) in [
        ("сделка 41", "D_41", true),
        ("D_41", "D_41", true),
        ("сделка 41", "C_41", false),
        ("сделка 41", "41", false),
        ("сделка 41", "D_", false),
        ("сделка 41", "X_41", false),
        ("про Окна", "D_71", true),
        ("про Окна", "C_71", false),
    ] {
        assert_eq!(is_found(text, json!({"q": value}), "q"), expected, "{text} {value}");
    }
}

fn created(effect: &str, parts: Option<Value>, base: usize) -> Memory {
    let names =
        json!({"p": {"in": ["add"], "id": "ID", "name": ["NAME"]}, "q": {"in": ["x"], "id": "ID", "name": ["N"]}});
    let tools = json!({
        "add": {"properties": {}, "x-effect": effect, "x-trust": "untrusted", "x-issued": ["deal.id"]},
        "t": {"properties": {"p": {}, "q": {}, "r": {}}, "x-effect": "create", "x-names": names},
    });
    let mut message = result("add", &["untrusted:add"], json!({"deal": {"id": 71, "title": "77"}}));
    if let Some(parts) = parts {
        message["_partLabels"] = parts;
    }
    let mut memory = Memory::new("заведи сделку", tools, vec![message]);
    memory.base = base;
    memory
}

#[test]
fn ids_issued_to_creations_of_this_session_are_found() {
    let is_found = |memory: &Memory, param: &str, value: Value| {
        memory.grounding().collect_evidence(memory.callee(), param, &value, &[], &mut Vec::new())
    };
    let parts = || Some(json!({"deal.id": ["trusted:add"]}));
    let memory = created("create", parts(), 2);
    assert!(
        is_found(&memory, "p", json!(71)) && is_found(&memory, "p", json!("71")) && is_found(&memory, "r", json!(71))
    );
    assert!(!is_found(&memory, "q", json!(71)), "another tool's id");
    assert!(!is_found(&memory, "r", json!("77")), "not issued");
    assert!(!is_found(&created("create", parts(), 3), "p", json!(71)), "not of this session");
    assert!(!is_found(&created("read", parts(), 2), "p", json!(71)), "no creation");
    assert!(!is_found(&created("create", None, 2), "p", json!(71)), "an error mints nothing");
}

#[test]
fn lists_and_objects_are_grounded_if_all_their_values_are() {
    let memory = Memory::words("напиши a@example.test и b@example.test, 5 раз");
    let standing = |value: Value| {
        let mut found = Vec::new();
        memory.grounding().collect_evidence(memory.callee(), "p", &value, &[], &mut found).then_some(found.len())
    };
    assert_eq!(standing(json!(["a@example.test", "b@example.test"])), Some(2));
    assert_eq!(standing(json!({"x": "a@example.test", "y": [5, null, ""]})), Some(2));
    assert_eq!(standing(json!(["a@example.test", "c@example.test"])), None);
    assert_eq!(standing(json!({"x": "a@example.test", "y": true})), None);
    assert_eq!(standing(json!(false)), None);
    for empty in [json!(null), json!(""), json!("  "), json!([]), json!({}), json!([{}, ""])] {
        assert_eq!(standing(empty.clone()), Some(0), "{empty}");
    }
}

#[test]
fn a_grounded_literal_carries_the_users_origin_or_the_tools() {
    let rows = json!([{"EMAIL": "orlova@example.test"}]);
    let memory = Memory::new(
        "напиши на olga@example.test",
        staff("trusted", &[]),
        vec![result("staff", &["trusted:staff"], rows)],
    );
    let shown = Origins::from_json(&json!(["untrusted:mail"]));
    let (call, _) = Call::read(&json!({"_tool": "t"}).into(), &memory.context);
    let labels = |value: Value| memory.grounding().origins(&call, memory.tool("t"), "p", &value, &shown).to_json();
    assert_eq!(labels(json!("olga@example.test")), json!(["user"]));
    assert_eq!(labels(json!("orlova@example.test")), json!(["trusted:staff"]));
    assert_eq!(labels(json!(["olga@example.test", "orlova@example.test"])), json!(["user", "trusted:staff"]));
    assert_eq!(labels(json!(["olga@example.test", "x@example.test"])), json!(["untrusted:mail"]));
    assert_eq!(labels(json!("")), json!([]));
}

proptest! {
    #[test]
    fn a_text_outside_the_users_words_is_not_found(
        text in "[а-яёa-z0-9 .,@/:-]{0,30}",
        value in "[а-яёa-z0-9@.-]{1,12}",
    ) {
        let is_found = Memory::words(&text).letter(&json!(value)).is_some();
        let is_number = value.bytes().all(|digit| digit.is_ascii_digit());
        // Numbers are found by value, ignoring separators between their digits.
        let stands = folded(&text).contains(&folded(&value));
        prop_assert!(!is_found || stands || is_number, "{} in {}", value, text);
    }

    #[test]
    fn a_separate_text_in_the_users_words_is_found(value in "[а-яё]{1,10}") {
        let text = format!("Сделай «{}», пожалуйста", value.to_uppercase());
        prop_assert_eq!(Memory::words(&text).letter(&json!(value)), Some(GroundingRule::A));
        let touched = format!("Сделай не{value}, пожалуйста");
        prop_assert_eq!(Memory::words(&touched).letter(&json!(value)).filter(|_| value != "сделай" && value != "пожалуйста"), None);
    }
}
