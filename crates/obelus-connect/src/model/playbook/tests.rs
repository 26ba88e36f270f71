//! Tests of playbooks.

mod again;

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

use obelus_kernel::session::{Answer, CallStatus, Observation, Picture, Prompt, Solution};
use serde_json::{Value, json};

use super::{Playbook, form};
use crate::model::testing::{asked, bare, model_call, report};

fn parse(text: &str) -> Result<Playbook, String> {
    Playbook::parse(Path::new("p.yaml"), text).map_err(|error| error.to_string())
}

fn answer(text: &str, prompt: &Prompt) -> Answer {
    parse(text).unwrap_or_else(|error| panic!("{error}")).answer(prompt)
}

fn solution(text: &str, prompt: &Prompt) -> Solution {
    match answer(text, prompt) {
        Answer::Solution { solution, tokens: 0 } => solution,
        other => panic!("{other:?}"),
    }
}

fn failure(text: &str, prompt: &Prompt) -> String {
    match answer(text, prompt) {
        Answer::Failed { code, message } if code == "playbook" => message,
        other => panic!("{other:?}"),
    }
}

#[test]
fn the_first_rule_that_matches_answers() {
    let text = "
- {user: привет, output: 1}
- {user: '(?-i)СТОП', output: 2}
- {when: '.texts | length > 1', output: 3}
- {user: '^да$', when: '.questions != []', output: 4}
";
    for (words, expected) in [("Ну ПРИВЕТ!", Some(1)), ("СТОП", Some(2)), ("стоп", None), ("да", None)]
    {
        match (answer(text, &asked(words)), expected) {
            (Answer::Solution { solution, .. }, Some(number)) => assert_eq!(solution.output, json!(number), "{words}"),
            (Answer::Failed { code, message }, None) => {
                assert_eq!((code, message), ("playbook".into(), format!("no rule of p.yaml matches: «{words}»")));
            }
            (other, _) => panic!("{words}: {other:?}"),
        }
    }
    let waiting = Prompt { questions: vec![json!({"id": "q1"})], ..asked("да") };
    assert_eq!(solution(text, &waiting).output, json!(4));
}

#[test]
fn otherwise_answers_when_nothing_matches() {
    let text = "{rules: [{user: a, output: 1}], otherwise: {answer: {say: 'что значит «{{ user }}»?'}}}";
    assert_eq!(solution(text, &asked("бэ")).say.as_deref(), Some("что значит «бэ»?"));
    assert!(failure("[{user: a, output: 1}]", &bare()).ends_with("a request without words of the user"));
}

#[test]
fn a_filter_that_names_no_facts_sees_all_of_them() {
    let text = "[{find: {all: keys}, output: '{{ found.all }}'}]";
    let mut all: Vec<&str> = super::facts::NAMES.into_iter().chain(["m"]).collect();
    all.sort_unstable();
    assert_eq!(solution(text, &asked("a")).output, json!(all));
}

#[test]
fn facts_that_a_template_only_slices_or_renames_are_there() {
    for (output, expected) in [
        ("{{ user[:3] }}", "abc"),
        ("{% for text in texts[-1:] %}{{ text.text }}{% endfor %}", "abcdef"),
        ("{% set user = user|upper %}{{ user }}", "ABCDEF"),
    ] {
        let text = format!("[{{output: '{output}'}}]");
        assert_eq!(solution(&text, &asked("abcdef")).output, json!(expected), "{output}");
    }
}

#[test]
fn conditions_and_templates_see_the_content_of_the_request() {
    let mut prompt = asked("сделка 7");
    prompt.texts.insert(0, ("assistant".to_owned(), "да?".to_owned()));
    prompt.kinds = vec![
        json!({"kind": "state", "value": {"deal": {"id": 7}}, "schema": {}}),
        json!({"kind": "site", "instances": {"a": {"n": 1}, "b": {"n": 2}}}),
    ];
    prompt.plan = vec![
        report(json!({"_tool": "t", "x": 1}), CallStatus::Done),
        report(json!({"_tool": "u"}), CallStatus::Failed),
    ];
    prompt.errors = vec![json!({"error": {"message": "no"}})];
    prompt.out_of_format = Some(json!({"text": "?", "error": "!"}));
    let before_its_eyes = Observation::new("observe", "- button \"Купить\"", Some("/shots/1.png".into()));
    prompt.observation = Some(Arc::new(before_its_eyes.clone()));
    let picture = Picture::of(b"GIF89a").unwrap();
    prompt.pictures = vec![picture.clone()];
    let seen = json!({
        "user": "сделка 7",
        "texts": [{"role": "assistant", "text": "да?"}, {"role": "user", "text": "сделка 7"}],
        "kinds": {"state": {"deal": {"id": 7}}},
        "instances": {"site": {"a": {"n": 1}, "b": {"n": 2}}},
        "plan": [
            {"tool": "t", "status": "done", "call": {"_tool": "t", "x": 1}, "error": null},
            {"tool": "u", "status": "failed", "call": {"_tool": "u"}, "error": {"code": "broken", "message": "it broke"}},
        ],
        "results": [{"tool": "t", "status": "done", "call": {"_tool": "t", "x": 1}, "error": null}],
        "errors": [{"error": {"message": "no"}}],
        "questions": [],
        "requests": 2,
        "purpose": "solve",
        "node": null,
        "call": null,
        "scope": null,
        "mode": "full",
        "out_of_format": {"text": "?", "error": "!"},
        "time": crate::model::calendar::calendar(prompt.now, None, None),
        "seen": {"tool": "observe", "digest": before_its_eyes.digest, "text": "- button \"Купить\"",
            "image": "/shots/1.png"},
        "pictures": [{"name": picture.name, "digest": picture.digest}],
        "found": {},
    });
    assert_eq!(seen.as_object().unwrap().keys().collect::<Vec<_>>(), super::facts::NAMES);
    // Every variable exists in conditions and in templates.
    for name in seen.as_object().unwrap().keys() {
        let jq = format!("[{{calls_from: '[{{_tool: \"show\", value: .{name}}}]'}}]");
        assert_eq!(solution(&jq, &prompt).calls[0]["value"], seen[name], "{name}");
        let template = format!("[{{output: {{value: '{{{{ {name} }}}}'}}}}]");
        assert_eq!(solution(&template, &prompt).output["value"], seen[name], "{name}");
    }
}

#[test]
fn pattern_groups_are_available_by_number_and_by_name() {
    let text = r#"
- user: '(?<what>\w+) (\d+)(?: из (?<of>\d+))?'
  when: .m.what == "строка" and .m["2"] == "7"
  answer:
    output: ["{{ m.what }}", "{{ m[2]|int }}", "{{ m.of }}", "{{ m[0] }}", "[{{ m.of }}]"]
"#;
    let output = solution(text, &asked("это строка 7")).output;
    assert_eq!(output, json!(["строка", 7, null, "строка 7", "[]"]));
}

#[test]
fn a_leaf_that_is_one_expression_keeps_its_type() {
    let mut prompt = asked("x");
    prompt.kinds = vec![json!({"kind": "state", "value": {"n": 1.5, "o": {"z": 1, "a": [true, null]}, "s": "7"}})];
    for (leaf, expected) in [
        ("{{ kinds.state.n }}", json!(1.5)),
        ("  {{- kinds.state.o -}}  ", json!({"z": 1, "a": [true, null]})),
        ("{{ kinds.state.s }}", json!("7")),
        ("{{ kinds.state.s|int + 1 }}", json!(8)),
        ("{{ {'a': 1} }}", json!({"a": 1})),
        ("n = {{ kinds.state.n }}", json!("n = 1.5")),
        ("{{ kinds.state.n }}{{ kinds.state.s }}", json!("1.57")),
        ("{{ '}} {{' }}", json!("}} {{")),
        ("{% if kinds.state.x %}a{% else %}b{% endif %}", json!("b")),
        ("{{ kinds.state.x|default(none) }}", json!(null)),
        ("†state.{{ n }}", json!("†state.{{ n }}")),
    ] {
        let text = json!([{"output": {"v": leaf}}]).to_string();
        assert_eq!(solution(&text, &prompt).output["v"], expected, "{leaf}");
    }
}

#[test]
fn filters_and_tests_are_checked_only_inside_expressions() {
    let text =
        json!([{"output": "it's | fine {# |no #}{{ '|no is no' ~ user|upper }}{% set a = 1 %}{{ a is odd }} is |no"}]);
    assert_eq!(solution(&text.to_string(), &asked("x")).output, json!("it's | fine |no is noXtrue is |no"));
}

#[test]
fn data_never_becomes_a_reference() {
    let text = "
- user: (.*)
  answer:
    say: '{{ m[1] }}'
    output: '{{ m[1] }}'
    calls:
      - _tool: note
        text: '{{ m[1] }}'
        all: {deep: ['{{ texts }}', '{{ m[1] }}!']}
        read: †state.x
        made: '{{ \"†state.\" ~ m[1]|length }}'
        _output: '{{ m[1] }}'
        _outputPath: '{{ \"†state.\" ~ m[1]|length }}'
";
    let solution = solution(text, &asked("†secret"));
    assert_eq!(solution.say.as_deref(), Some("†secret"));
    assert_eq!(solution.output, json!("†secret"));
    let call = json!({
        "_tool": "note",
        "text": "††secret",
        "all": {"deep": [[{"role": "user", "text": "††secret"}], "††secret!"]},
        "read": "†state.x",
        "made": "†state.7",
        "_output": "†secret",
        "_outputPath": "†state.7",
    });
    assert_eq!(solution.calls, [obelus_kernel::CallJson::from(call)]);
}

#[test]
fn a_model_call_is_answered_by_a_rule_for_its_call() {
    let text = "
- {user: '', output: never}
- {when: '.purpose == \"think\"', output: '{{ call.n * 2 }} {{ scope[0].data.title }}'}
";
    assert_eq!(solution(text, &model_call(json!({"_tool": "double", "n": 4}))).output, json!("8 T"));
    let unknown = failure("[{user: a, output: 1}]", &model_call(json!({"_tool": "double"})));
    assert!(unknown.ends_with("a call of `double` to be carried out"), "{unknown}");
}

#[test]
fn raw_text_is_parsed_like_a_models_answer() {
    let good = "[{raw: '{\"say\": {{ user|tojson }}, \"calls\": []}'}]";
    assert_eq!(solution(good, &asked("\"a\"")).say.as_deref(), Some("\"a\""));
    match answer("[{raw: 'I think {{ user }}'}]", &asked("so")) {
        Answer::OutOfFormat { text, error, .. } => {
            assert_eq!(text, "I think so");
            assert!(error.contains("not JSON"), "{error}");
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_rule_can_fail_as_a_model_does() {
    let failed = answer("[{fail: {code: quota, message: 'нет денег на «{{ user }}»'}}]", &asked("x"));
    assert_eq!(failed, Answer::Failed { code: "quota".into(), message: "нет денег на «x»".to_owned() });
}

#[test]
fn calls_generated_from_data_follow_the_calls_of_the_answer() {
    let mut prompt = asked("all");
    prompt.kinds = vec![json!({"kind": "state", "value": {"ids": [1, 2]}})];
    let text = "
- answer: {calls: [{_tool: first}]}
  calls_from: '[.kinds.state.ids[] | {_tool: \"each\", id: .}]'
";
    let calls = [json!({"_tool": "first"}), json!({"_tool": "each", "id": 1}), json!({"_tool": "each", "id": 2})];
    assert_eq!(solution(text, &prompt).calls, calls);
    assert!(failure("[{calls_from: .user}]", &prompt).contains("rule 1, `calls_from`: it gives an array"));
    assert!(failure("[{calls_from: '[]'}]", &prompt).contains("the answer is empty"));
}

#[test]
fn a_rule_with_once_is_skipped_if_the_turn_already_has_its_answer() {
    let text = "
- {once: true, answer: {say: Ищу, calls: [{_tool: find, name: '{{ user }}', in: †state.where, not: null}]}}
- {output: done}
";
    let mut prompt = asked("†x");
    assert_eq!(solution(text, &prompt).output, json!(null));
    prompt.texts.push(("assistant".to_owned(), "Ищу".to_owned()));
    assert_eq!(solution(text, &prompt).output, json!(null), "the words alone are not the call");
    for (call, is_same) in [
        (json!({"_tool": "find", "name": "†x", "in": {"a": 1}, "_outputPath": "†state.y"}), true),
        (json!({"_tool": "find", "name": "††x", "in": "†state.where"}), true),
        (json!({"_tool": "find", "name": "y", "in": 1}), false),
        (json!({"_tool": "find", "name": "†x"}), false),
        (json!({"_tool": "other", "name": "†x", "in": 1}), false),
    ] {
        prompt.plan = vec![report(call.clone(), CallStatus::Failed)];
        let expected = if is_same { json!("done") } else { json!(null) };
        assert_eq!(solution(text, &prompt).output, expected, "{call}");
    }
    // The user's next message begins another turn.
    prompt.texts.push(("user".to_owned(), "†x".to_owned()));
    prompt.plan.clear();
    assert_eq!(solution(text, &prompt).output, json!(null));
}

#[test]
fn requests_of_a_turn_are_counted() {
    let count = |prompt: &Prompt| solution("[{output: '{{ requests }}'}]", prompt).output;
    let mut prompt = asked("a");
    assert_eq!(count(&prompt), json!(1));
    prompt.plan = vec![report(json!({"_tool": "t"}), CallStatus::Done)];
    assert_eq!(count(&prompt), json!(2));
    // Calls that wait from an earlier turn do not count as requests of this one.
    prompt.questions = vec![json!({})];
    assert_eq!(count(&prompt), json!(1));
    prompt.texts.extend([("assistant".to_owned(), "b".to_owned()), ("assistant".to_owned(), "c".to_owned())]);
    assert_eq!(count(&prompt), json!(3));
}

#[test]
fn an_error_in_a_rule_is_reported_with_its_place() {
    for (text, expected) in [
        ("[{name: sum, answer: {say: '{{ kinds.state.x }}'}}]", "p.yaml: rule 1 (sum), `answer.say`: undefined value"),
        (
            "[{answer: {calls: [{_tool: t, a: {b: ['{{ kinds.nope }}']}}]}}]",
            "p.yaml: rule 1, `answer.calls[0].a.b[0]`: undef",
        ),
        ("[{when: '.user | keys', output: 1}]", "p.yaml: rule 1, `when`: "),
        ("{rules: [], otherwise: {output: '{{ kinds.nope }}'}}", "p.yaml: otherwise, `output`: undefined value"),
        ("[{output: '{% for a in range(9999) %}{% for b in range(9999) %}{% endfor %}{% endfor %}'}]", "out of fuel"),
    ] {
        let message = failure(text, &asked("x"));
        assert!(message.contains(expected), "{text}: {message}");
    }
}

#[test]
fn the_error_of_a_missing_value_names_it_and_says_what_to_write() {
    let mut prompt = bare();
    prompt.kinds = vec![json!({"kind": "state", "value": {"one": 1}})];
    for (template, expected) in [
        (
            "{{ kinds.state.book.title | default(\"?\") }}",
            "undefined value: there is no `kinds.state.book`; if it may be missing: `(kinds.state.book|default({})).title`",
        ),
        ("The kinds.state.a: {{ 'kinds.state.b' }} {{ kinds.state.c }}", "there is no `kinds.state.c`; if it"),
        ("{{ kinds.state.c }}", "there is no `kinds.state.c`; if it may be missing: `kinds.state.c|default(none)`"),
        ("{{ kinds.state.a | default(1) }} {{ kinds.state['c'] }}", "`output`: undefined value"),
    ] {
        let rule = json!([{"output": template}]).to_string();
        let said = failure(&rule, &prompt);
        assert!(said.contains(expected), "{template}: {said}");
    }
    let nested = "[{output: '{{ (kinds.state.book|default({})).title|default(\"?\") }}'}]";
    assert_eq!(solution(nested, &prompt).output, json!("?"));
}

#[test]
fn values_of_find_are_available_to_conditions_templates_and_calls() {
    let text = r#"
find:
  page: .kinds.seen.text // ""
  goods: '[.found.page | scan("(\\w+): (\\d+) ₽") | {name: .[0], price: (.[1] | tonumber)}]'
rules:
  - user: купи (?<what>\w+)
    find:
      good: .m.what as $what | .found.goods | map(select(.name == $what)) | first
      id: '.m.what as $what | .found.page | capture("button \"" + $what + "\" \\[(?<id>e\\d+)\\]") | .id'
    when: .found.good.price < 100
    calls_from: '[{_tool: "press", id: .found.id}]'
  - user: дешевле
    find: {best: .found.goods | min_by(.price)}
    when: .found.best != null
    output: '{{ found.best.name }} из {{ found.goods|length }}'
  - {output: '{{ found.goods }}'}
"#;
    let page = "чай: 90 ₽\nкофе: 300 ₽\nbutton \"чай\" [e7]\nbutton \"кофе\" [e8]";
    let seen = json!({"kind": "seen", "value": {"text": page}});
    let on_page = |words: &str| Prompt { kinds: vec![seen.clone()], ..asked(words) };
    assert_eq!(solution(text, &on_page("купи чай")).calls, [json!({"_tool": "press", "id": "e7"})]);
    assert_eq!(solution(text, &on_page("купи кофе")).output[1], json!({"name": "кофе", "price": 300}));
    assert_eq!(solution(text, &on_page("что дешевле?")).output, json!("чай из 2"));
    assert_eq!(solution(text, &asked("что дешевле?")).output, json!([]));
    for (text, place) in [
        ("{find: {a: .user | tonumber}, rules: [{output: 1}]}", "p.yaml: `find.a`: "),
        ("[{name: n, find: {a: .user | tonumber}, output: 1}]", "p.yaml: rule 1 (n), `find.a`: "),
    ] {
        let message = failure(text, &asked("два"));
        assert!(message.contains(place), "{message}");
    }
}

#[test]
fn a_rule_can_test_the_node_that_asks() {
    let text = "- {when: '.node == \"plan\"', output: '{{ node }}'}\n- {output: 2}";
    let at = |node: &str| Prompt { node: Some(node.to_owned()), ..asked("x") };
    assert_eq!(solution(text, &at("plan")).output, json!("plan"));
    assert_eq!(solution(text, &at("decide")).output, json!(2));
    assert_eq!(solution(text, &asked("x")).output, json!(2));
}

#[test]
fn an_error_in_the_file_is_found_when_it_is_loaded() {
    for (text, expected) in [
        ("- user: (", "p.yaml:1:"),
        ("- output: 1\n- name: n\n  user: (\n  output: 1", "p.yaml:3:9: rule 2 (n), `user`: unclosed group"),
        ("- user: 'a{900}{900}{900}'\n  output: 1", "p.yaml:1:9: rule 1, `user`: "),
        ("- when: '.a ||'\n  output: 1", "p.yaml:1:9: rule 1, `when`: column "),
        ("- when: now\n  output: 1", "rule 1, `when`: `now` is not defined"),
        ("- find: {a: '['}\n  output: 1", "p.yaml:1:9: rule 1, `find.a`: "),
        ("find: {a: 1}\nrules: []", "p.yaml:1:7: all rules, `find.a`: it is a jq filter, not"),
        ("- calls_from: '['", "p.yaml:1:15: rule 1, `calls_from`: "),
        ("- answer:\n    say: '{{ a'", "p.yaml:2:10: rule 1, `answer.say`: syntax error"),
        (
            "- answer:\n    calls:\n      - _tool: t\n        a: ['{% if %}']",
            "p.yaml:3:9: rule 1, `answer.calls[0].a[0]`: syntax",
        ),
        ("- output: '{{ user|nofilter }}'", "p.yaml:1:11: rule 1, `output`: there is no filter `nofilter`"),
        ("- raw: \"don't {% if user is nice %}a{% endif %}\"", "rule 1, `raw`: there is no test `nice`"),
        ("- output: '{{ kind.state }}'", "rule 1, `output`: there is no `kind` here"),
        ("- output: '{{ now() }}'", "rule 1, `output`: there is no `now` here"),
        ("- answer: {calls: [{id: 1}]}", "rule 1, `answer.calls[0]`: the call has no `_tool`"),
        ("- answer: {calls: ['{{ x }}']}", "rule 1, `answer.calls[0]`: a call is an object"),
        ("- name: n\n  user: a", "p.yaml:1:3: rule 1 (n), `answer`: a rule needs one of"),
        ("- answer: {}", "p.yaml:1:11: rule 1, `answer`: it needs one of"),
        ("- {output: 1, raw: a}", "rule 1, `output`: a rule has one answer, and `raw` is already given"),
        ("- {output: 1, calls_from: '[]'}", "`calls_from`: it is used alone or with `answer`"),
        ("- {once: true, output: 1}", "rule 1, `once`: it needs `say` or calls"),
        ("rules:\n  - outputs: 1", "p.yaml:2:5: unknown field `outputs`"),
        ("rules: []\notherwise: {user: a, output: 1}", "p.yaml:2:13: unknown field `user`"),
        ("otherwise: {output: 1}", "p.yaml:1:1: missing field `rules`"),
        ("just words", "p.yaml: invalid type: string"),
        ("a: [", "p.yaml:"),
    ] {
        let error = parse(text).err().unwrap_or_else(|| panic!("{text} is accepted"));
        assert!(error.contains(expected), "{text}\n  {error}\n  {expected}");
        assert_eq!(error.lines().count(), 1, "{error}");
    }
}

#[test]
fn the_schema_has_the_fields_that_are_read() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/playbook.schema.json");
    let schema: Value = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    for (name, read) in [
        ("file", fields::<form::FileForm>()),
        ("rule", fields::<form::RuleForm>()),
        ("reply", fields::<form::ReplyForm>()),
        ("answer", fields::<form::AnswerForm>()),
        ("fail", fields::<form::FailForm>()),
    ] {
        let definition = &schema["$defs"][name];
        let known: BTreeSet<&str> = definition["properties"].as_object().unwrap().keys().map(String::as_str).collect();
        assert_eq!(known, read, "{name}");
        assert_eq!(definition["additionalProperties"], json!(false), "{name}");
    }
}

/// The fields of a deserialised type.
fn fields<T: serde::de::DeserializeOwned>() -> BTreeSet<&'static str> {
    struct Spy<'a>(&'a mut BTreeSet<&'static str>);

    impl<'de> serde::Deserializer<'de> for Spy<'_> {
        type Error = serde::de::value::Error;

        fn deserialize_any<V: serde::de::Visitor<'de>>(self, _: V) -> Result<V::Value, Self::Error> {
            Err(serde::de::Error::custom("only structs are looked at"))
        }

        fn deserialize_struct<V: serde::de::Visitor<'de>>(
            self,
            _: &'static str,
            fields: &'static [&'static str],
            visitor: V,
        ) -> Result<V::Value, Self::Error> {
            self.0.extend(fields);
            self.deserialize_any(visitor)
        }

        serde::forward_to_deserialize_any! {
            bool i8 i16 i32 i64 u8 u16 u32 u64 f32 f64 char str string bytes byte_buf option unit unit_struct
            newtype_struct seq tuple tuple_struct map enum identifier ignored_any
        }
    }

    let mut found = BTreeSet::new();
    let read = T::deserialize(Spy(&mut found));
    assert!(read.is_err());
    found
}

#[test]
fn fuzz_a_playbook_is_refused_with_a_place_or_answers() {
    crate::fuzz::fuzz_some("playbook", 500, |input| {
        let Ok(playbook) = Playbook::parse(Path::new("p.yaml"), &crate::fuzz::lossy(input)) else { return false };
        let _ = playbook.answer(&asked("order 17"));
        true
    });
}
