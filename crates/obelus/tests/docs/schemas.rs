//! The schemas for editors have the same fields and values as the program. The program lists its own in the error for
//! an unknown one.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::Value;

/// A word that is unlike any name.
const NONSENSE: &str = "qqqqqqqqqqqq";

/// A pointer to properties (or values) in the schema of an agent, and a file with an unknown name at that place.
const AGENT: [(&str, &str); 34] = [
    ("", "name: x\nQ: 1"),
    ("/properties/mode", "name: x\nmode: Q"),
    ("/properties/model_may_confirm", "name: x\nmodel_may_confirm: Q"),
    ("/properties/approval", "name: x\napproval: Q"),
    ("/properties/planning", "name: x\nplanning: Q"),
    ("/properties/dialect", "name: x\ndialect: Q"),
    ("/properties/follow_up", "name: x\nfollow_up: Q"),
    ("/$defs/limits", "name: x\nlimits: {Q: 1}"),
    ("/$defs/policy", "name: x\npolicy: {Q: 1}"),
    ("/$defs/policy/properties/after_reading", "name: x\npolicy: {after_reading: Q}"),
    ("/$defs/rule", "name: x\npolicy: [{Q: 1}]"),
    ("/$defs/rule/properties/match", "name: x\npolicy: [{match: {Q: 1}}]"),
    ("/$defs/rule/properties/verdict", "name: x\npolicy: [{verdict: Q}]"),
    ("/$defs/rule/properties/match/properties/effect", "name: x\npolicy: [{match: {effect: Q}, verdict: allow}]"),
    ("/$defs/rule/properties/examples/anyOf/0", "name: x\npolicy: [{verdict: allow, examples: {Q: 1}}]"),
    ("/$defs/consent", "name: x\nconsent: {Q: 1}"),
    ("/$defs/state", "name: x\nstate: {Q: 1}"),
    ("/$defs/state/properties/kept", "name: x\nstate: {kept: {Q: 1}}"),
    ("/$defs/tool", "name: x\ntools: {a: {type: object, x-Q: 1}}"),
    ("/$defs/activity/oneOf/0", "name: x\ntools: {a: {type: object}}\nactivities: {a: {exec: [b], Q: 1}}"),
    (
        "/$defs/activity/oneOf/1",
        "name: x\ntools: {a: {type: object}}\nactivities: {a: {http: {url: 'http://a.example.test'}, Q: 1}}",
    ),
    ("/$defs/activity/oneOf/2", "name: x\ntools: {a: {type: object}}\nactivities: {a: {jq: ., Q: 1}}"),
    (
        "/$defs/http",
        "name: x\ntools: {a: {type: object}}\nactivities: {a: {http: {url: 'http://a.example.test', Q: 1}}}",
    ),
    ("/$defs/model", "name: x\nmodel: {openai: a, Q: 1}"),
    ("/$defs/mcp-server", "name: x\nmcp: {a: {command: [b], Q: 1}}"),
    ("/$defs/mcp-server/properties/auth", "name: x\nmcp: {a: {url: 'https://a.example.test', auth: {Q: 1}}}"),
    ("/$defs/browser", "name: x\nbrowser: {Q: 1}"),
    ("/$defs/opening-read", "name: x\nbegin: [{Q: 1}]"),
    ("/$defs/graph", "name: x\ngraph: {Q: 1}"),
    ("/$defs/node", "name: x\ngraph: {nodes: {a: {Q: 1}}}"),
    ("/$defs/node/properties/request", "name: x\ngraph: {nodes: {a: {request: {Q: 1}}}}"),
    ("/$defs/node/properties/request/properties/plans", "name: x\ngraph: {nodes: {a: {request: {plans: {Q: 1}}}}}"),
    ("/$defs/node/properties/ask", "name: x\ngraph: {nodes: {a: {ask: {Q: 1}}}}"),
    ("/$defs/node/properties/end", "name: x\ngraph: {nodes: {a: {end: {Q: 1}}}}"),
];

const REQUEST: [(&str, &str); 4] = [
    ("/$defs/settings", "context: []\nsettings: {Q: 1}"),
    ("/$defs/message/properties/type", "context: [{type: Q}]"),
    ("/$defs/message/properties/mode", "context: [{type: plan, mode: Q, plan: []}]"),
    (
        "/$defs/call/properties/_outputMethod",
        "context: [{type: plan, plan: [{_tool: a, _outputPath: †a.b, _outputMethod: Q}]}]",
    ),
];

/// Settings for commands, not for files.
const INTERNAL: [&str; 2] = ["activities", "persistent"];

fn schema(name: &str) -> Value {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs").join(name);
    serde_json::from_str(&fs::read_to_string(path).expect("readable")).expect("JSON")
}

/// The properties or values in a schema at this pointer.
fn known_to_schema(schema: &Value, place: &str) -> BTreeSet<String> {
    let at = schema.pointer(place).unwrap_or_else(|| panic!("there is no {place}"));
    match (&at["enum"], &at["properties"]) {
        (Value::Array(values), _) => values.iter().filter_map(|value| Some(value.as_str()?.to_owned())).collect(),
        (_, Value::Object(properties)) => properties.keys().cloned().collect(),
        _ => panic!("{place} has neither values nor properties"),
    }
}

/// The names that the program lists in its error for an unknown one.
fn known_to_program(command: &[&str], file: &str, text: &str) -> BTreeSet<String> {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("schemas");
    fs::create_dir_all(&folder).expect("a writable folder");
    let path = folder.join(file);
    fs::write(&path, text.replace('Q', NONSENSE)).expect("writable");
    let ran = Command::new(env!("CARGO_BIN_EXE_obelus")).args(command).arg(&path).output().expect("the program");
    let said = String::from_utf8_lossy(&[ran.stdout, ran.stderr].concat()).into_owned();
    let line = said.lines().find(|line| line.contains(NONSENSE)).unwrap_or_else(|| panic!("{text}\n{said}"));
    let begins = ["expected one of ", "the fields here are ", "there are: ", "use "];
    let names = begins.iter().find_map(|begin| Some(line.split_once(begin)?.1));
    let names = names.unwrap_or_else(|| panic!("{line}")).replace(" or ", ", ");
    names.split(", ").map(|name| name.trim_matches('`').to_owned()).collect()
}

#[test]
fn the_schema_of_an_agent_has_the_fields_that_are_parsed() {
    let schema = schema("agent.schema.json");
    for (place, text) in AGENT {
        let program = known_to_program(&["agents", "check"], "agent.yaml", text);
        assert_eq!(known_to_schema(&schema, place), program, "{place}");
    }
}

#[test]
fn the_schema_of_a_request_has_the_fields_that_are_parsed() {
    let schema = schema("request.schema.json");
    for (place, text) in REQUEST {
        let mut program = known_to_program(&["plan", "check"], "request.yaml", text);
        program.retain(|name| !INTERNAL.contains(&name.as_str()));
        assert_eq!(known_to_schema(&schema, place), program, "{place}");
    }
}

#[test]
fn common_fields_are_the_same_in_both_schemas() {
    let (agent, request) = (schema("agent.schema.json"), schema("request.schema.json"));
    let shared = request["$defs"]
        .as_object()
        .expect("definitions")
        .iter()
        .filter(|(name, _)| agent["$defs"][name.as_str()] != Value::Null);
    let names: Vec<&String> = shared
        .inspect(|(name, of)| assert_eq!(agent["$defs"][name.as_str()], **of, "{name}"))
        .map(|(name, _)| name)
        .collect();
    assert!(names.len() >= 8, "{names:?}");
}

/// The schema of a policy has no fields of its own, so that it cannot differ from the agent's.
#[test]
fn the_schema_of_a_policy_refers_to_that_of_an_agent() {
    let (policy, agent) = (schema("policy.schema.json"), schema("agent.schema.json"));
    for place in [&policy["anyOf"][0]["$ref"], &policy["anyOf"][1]["items"]["$ref"]] {
        let (file, pointer) = place.as_str().and_then(|place| place.split_once('#')).expect("a reference");
        assert_eq!(file, "agent.schema.json");
        assert!(agent.pointer(pointer).is_some_and(|part| part["properties"].is_object()), "{pointer}");
    }
}
