//! Mistakes in a binding are found before any call; the error has the place and a correction.
#![cfg(all(feature = "exec", feature = "http", feature = "jq"))]

use std::path::Path;
use std::time::Duration;

use obelus_connect::activity::{bind, bind_into};
use obelus_runtime::Activities;
use serde_json::{Value, json};

fn problem(binding: &Value) -> String {
    let bindings = json!({"greet": binding});
    match bind(bindings.as_object().unwrap(), Path::new("")) {
        Ok(_) => "nothing".to_owned(),
        Err(error) => error.to_string(),
    }
}

#[test]
fn an_invalid_binding_is_reported_with_its_field_and_a_fix() {
    for (binding, expected) in [
        (json!([]), "activity `greet`: a binding is an object"),
        (json!({}), "activity `greet`: it needs one of exec, http, jq"),
        (json!({"exe": ["a"]}), "did you mean `exec`?"),
        (json!({"exec": ["a"], "http": {"url": "http://h/"}}), "`exec` and `http` exclude each other"),
        (json!({"exec": ["a"], "jq": "."}), "`exec` and `jq` exclude each other"),
        (json!({"mcp": {"server": "s", "tool": "t"}}), "activity `greet`, field `mcp`: servers are not activities"),
        (json!({"exec": ["a"], "time_out": 1}), "field `time_out`: unknown; did you mean `timeout`?"),
        (json!({"exec": ["a"], "whatever": 1}), "the fields here are exec, timeout, retry, cwd, env, reconcile"),
        (json!({"jq": ".", "cwd": "x"}), "field `cwd`: unknown; it goes with exec only"),
        (json!({"exec": "ls -l"}), "field `exec`: it must be a list of texts; it is"),
        (json!({"exec": []}), "it must be a list that begins with a program"),
        (json!({"exec": [1]}), "it must be a list of texts"),
        (json!({"exec": ["a\u{0}"]}), "zero byte"),
        (
            json!({"exec": ["a"], "timeout": "1"}),
            "field `timeout`: it must be a number of seconds above 0; it is \"1\"",
        ),
        (json!({"exec": ["a"], "timeout": 0}), "above 0"),
        (json!({"exec": ["a"], "timeout": 1e300}), "above 0"),
        (json!({"exec": ["a"], "retry": 2.5}), "field `retry`: it must be a whole number from 0 to 10; it is 2.5"),
        (json!({"exec": ["a"], "retry": 11}), "from 0 to 10"),
        (json!({"exec": ["a"], "env": {"A": 1}}), "field `env.A`: it must be a text, or true"),
        (json!({"exec": ["a"], "env": "A"}), "an object of texts, or a list of names"),
        (json!({"exec": ["a"], "env": {"A=B": "1"}}), "`A=B` cannot be the name of a variable"),
        (json!({"exec": ["a"], "cwd": 1}), "field `cwd`: it must be a text"),
        (json!({"http": "http://h/"}), "field `http`: it must be an object with method, url, headers, body"),
        (json!({"http": {"uri": "http://h/"}}), "field `http.uri`: unknown; did you mean `url`?"),
        (json!({"http": {}}), "field `http.url`: it must be a text; it is missing"),
        (json!({"http": {"url": "http://{{ call.host }}/"}}), "the host must be written out"),
        (json!({"http": {"url": "http://h/{{ call.x"}}), "field `http.url`: syntax error"),
        (json!({"http": {"url": "http://h/", "method": "G T"}}), "`G T` is no method; GET"),
        (json!({"http": {"url": "http://h/", "headers": {"A B": "x"}}}), "field `http.headers.A B`: this cannot be"),
        (json!({"http": {"url": "http://h/", "headers": {"A": 1}}}), "field `http.headers.A`: it must be a text"),
        (json!({"http": {"url": "http://h/", "headers": {"A": "{{ env.B }}"}}}), "\"secrets\": [\"B\"]"),
        (json!({"http": {"url": "http://h/", "headers": {"A": "{{ env[call.x] }}"}}}), "name the secret"),
        (json!({"http": {"url": "http://h/", "body": {"a": ["{{ x }}"]}}}), "a: [0]: `x` is not defined"),
        (json!({"jq": ".a | | .b"}), "field `jq`: column"),
        (json!({"jq": "nosuch"}), "`nosuch` is not defined"),
        (json!({"jq": 1}), "field `jq`: it must be a text"),
        (json!({"jq": ".", "retry": 1}), "field `retry`: unknown; it goes with exec and http only"),
    ] {
        let said = problem(&binding);
        assert!(said.starts_with("activity `greet`") && said.contains(expected), "{binding}: {said}");
    }
}

#[test]
fn a_binding_can_override_the_time_limit_of_the_session() {
    let bindings = json!({
        "a": {"exec": ["a"]},
        "b": {"http": {"url": "http://h/"}, "timeout": 2.5},
        "c": {"jq": ".", "timeout": null},
    });
    let activities = bind(bindings.as_object().unwrap(), Path::new(".")).unwrap();
    let limit = |name: &str| activities.get(name).unwrap().time_limit();
    assert_eq!(limit("a"), None);
    assert_eq!(limit("b"), Some(Duration::from_millis(2500)));
    assert_eq!(limit("c"), None);
}

#[test]
fn an_invalid_file_adds_no_bindings() {
    let mut activities = Activities::new();
    activities.register("kept", |_| async { Ok(json!(1)) });
    let bindings = json!({"a": {"jq": "."}, "b": {"jq": "|"}});
    assert_eq!(bind_into(&mut activities, bindings.as_object().unwrap(), Path::new("")).unwrap_err().binding, "b");
    assert_eq!(activities.names().into_iter().collect::<Vec<_>>(), ["kept"]);
}
