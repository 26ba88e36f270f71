//! Agents' files: reading them, and the errors of invalid ones.

use std::path::Path;

use obelus_runtime::Agent;
use obelus_runtime::files::Problem;

fn problems(text: &str) -> Vec<Problem> {
    match Agent::parse(Path::new("agent.yaml"), text, Path::new("")) {
        Ok(_) => panic!("it was accepted"),
        Err(problems) => problems,
    }
}

#[test]
fn an_agent_is_loaded_from_a_file() {
    let text = "
name: small
mode: canary
instructions: Be kind.
limits: {requests: 3, question_seconds: 60}
tools:
  get: {type: object, properties: {id: {type: integer}}, x-effect: read}
state: {schema: {type: object}, data: {n: 1}}
policy: {confirm: [get]}
";
    let agent = Agent::parse(Path::new("agent.yaml"), text, Path::new("")).unwrap();
    assert_eq!(agent.name, "small");
    assert_eq!((agent.settings.max_requests, agent.settings.question_seconds, agent.settings.max_calls), (3, 60, 1000));
    assert_eq!(agent.settings.mode.name(), "canary");
    assert!(agent.settings.persistent);
    assert!(agent.context.tool("get").is_some());
}

#[test]
fn a_multilingual_agent_is_loaded_in_the_wanted_language() {
    let text = "
name: two
language: [ru, en]
description: {ru: Помощник, en: A helper}
instructions: {ru: Будь добр., en: Be kind.}
activities: {get: {jq: {ru: '\"да\"', en: '\"yes\"'}}}
tools:
  get:
    type: object
    description: {ru: Одна запись, en: One record}
    x-title: {ru: Открыть, en: Open}
    properties: {id: {type: integer, description: {ru: номер, en: number}}}
    x-leaves: [{to: †state.done, words: {ru: Открыто, en: Opened}, value: $words}]
";
    for (wanted, language, words) in [
        (None, "ru", ["Помощник", "Будь добр.", "\"да\"", "Одна запись", "номер", "Открыто"]),
        (Some("en"), "en", ["A helper", "Be kind.", "\"yes\"", "One record", "number", "Opened"]),
        (Some("fi"), "ru", ["Помощник", "Будь добр.", "\"да\"", "Одна запись", "номер", "Открыто"]),
    ] {
        let agent = Agent::parse_in(Path::new("agent.yaml"), text, Path::new(""), wanted).unwrap();
        assert_eq!((agent.language.as_deref(), agent.settings.language.as_deref()), (Some(language), Some(language)));
        let tool = &agent.context.tool("get").unwrap().schema;
        let said = [
            agent.description.as_deref().unwrap(),
            match &agent.context.messages()[0] {
                obelus_kernel::Message::Text(text) => text.text.as_str(),
                other => panic!("{other:?}"),
            },
            agent.activities["get"]["jq"].as_str().unwrap(),
            tool["description"].as_str().unwrap(),
            tool["properties"]["id"]["description"].as_str().unwrap(),
            tool["x-leaves"][0]["words"].as_str().unwrap(),
        ];
        assert_eq!(said, words);
        assert_eq!(tool["x-title"]["en"], "Open", "each reader has their own language");
    }
}

#[test]
fn a_file_without_a_mode_executes_nothing() {
    let agent = Agent::parse(Path::new("agent.yaml"), "name: quiet", Path::new("")).unwrap();
    assert_eq!(agent.settings.mode.name(), "shadow");
}

#[test]
fn errors_are_reported_with_line_and_column() {
    for (text, line, words) in [
        ("name: a\nmodel: x\ninstuctions: hello\n", 3, "instuctions"),
        ("name: a\nmode: fast\n", 2, "fast"),
        ("name: a\ntools:\n  get:\n    x-effect: raed\n", 4, "x-effect"),
        ("name: a\ntools:\n  get:\n    properties:\n      id: {type: intger}\n", 5, "not a valid JSON Schema"),
        ("name: a\ntools:\n  ok: {type: object}\n  get:\n    _outputPath: state.x\n", 5, "column 1"),
        (
            "name: a\ntools:\n  get:\n    properties: {email: {type: string}}\n    x-target: [emial]\n",
            5,
            "`x-target` names `emial`: there is no `emial`; did you mean `email`?",
        ),
        (
            "name: a\ntools:\n  get:\n    _output: {properties: {items: {items: {properties: {id: {}}}}}}\n    x-trust: {'items[].ix': trusted}\n",
            5,
            "`x-trust` names `items[].ix`: there is no `ix`; did you mean `id`?",
        ),
        ("name: a\ncontext:\n  - {type: state, data: {}}\n  - {type: memo}\n", 4, "unknown type `memo`"),
        (
            "name: a\ngraph:\n  start: x\n  nodes:\n    x: {end: {name: done}}\n    y:\n      end: {name: b}\n",
            7,
            "no way leads here",
        ),
        (
            "name: a\npolicy:\n  rules:\n    - {match: {tool: b}, verdict: refuse, examples: {matching: [{_tool: c}]}}\n",
            4,
            "should match",
        ),
        ("name: a\nstate:\n  data: {}\n  schema: {properties: {n: {type: strng}}}\n", 4, "not a valid JSON Schema"),
        ("name: a\nstate:\n  schema: {properties: {schema: {type: string}}}\n  data:\n    schema: 5\n", 5, "CTX-7"),
        ("name: [\n", 1, ""),
    ] {
        let found = problems(text);
        let problem =
            found.iter().find(|problem| problem.text.contains(words)).unwrap_or_else(|| panic!("{words}: {found:?}"));
        assert_eq!(problem.place.map(|(line, _)| line), Some(line), "{problem}");
        assert!(problem.to_string().starts_with(&format!("agent.yaml:{line}:")), "{problem}");
    }
}

#[test]
fn all_errors_are_reported_at_once() {
    let found = problems("name: a\ntools:\n  b: {x-effect: no}\n  c: {x-trust: maybe}\nschema: {type: nothing}\n");
    assert_eq!(found.len(), 3, "{found:?}");
}
