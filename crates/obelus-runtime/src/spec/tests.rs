use serde_json::json;

use super::*;

/// A genesis as the first versions wrote it.
fn genesis() -> Value {
    json!({
        "context": [
            {"type": "tool", "tool": {"look": {"type": "object", "properties": {}, "x-effect": "read"}}},
            {"type": "text", "role": "system", "text": "Be kind."},
        ],
        "schema": null,
        "settings": settings_json(),
        "steps": null,
        "activities": [{"folder": "/agents/a", "bound": {"look": {"exec": ["look"]}}}],
        "mcp": {"servers": {"web": {"command": ["server"]}}, "folder": "/agents/a", "tools": ["web.open"],
            "browser": {"server": "web", "sites": ["shop.example.test"]}},
        "model": {"model": "openai:small", "folder": "/agents/a"},
        "name": "agents/a",
        "agent": "a",
        "language": "ru",
        "folder": "/agents/a",
    })
}

fn settings_json() -> Value {
    let mut settings = serde_json::to_value(Settings::default()).unwrap();
    settings.as_object_mut().unwrap().shift_remove("activities");
    settings
}

#[test]
fn the_genesis_of_a_store_is_read_and_written_byte_for_byte() {
    let spec = SessionSpec::from_genesis(genesis()).unwrap();
    assert_eq!(spec.genesis().unwrap().to_string(), genesis().to_string());
    let mut plain = genesis();
    plain["mcp"] = Value::Null;
    plain["model"] = Value::Null;
    plain["language"] = Value::Null;
    let spec = SessionSpec::from_genesis(plain.clone()).unwrap();
    assert_eq!(spec.genesis().unwrap().to_string(), plain.to_string());
}

#[test]
fn paths_are_stored_absolute_except_for_bundled_agents() {
    let request = Request::parse(Path::new("request.json"), "[]").unwrap();
    let spec = SessionSpec::from_request(Path::new("request.json"), request).unwrap();
    let here = std::env::current_dir().unwrap();
    assert_eq!(spec.genesis().unwrap()["folder"], json!(here));
    let agent = Agent::load(&crate::catalogue::AgentCatalogue::default().find("notes").unwrap()).unwrap();
    let genesis = SessionSpec::from_agent(agent).genesis().unwrap();
    assert_eq!(genesis["folder"], "@bundled/notes");
    assert_eq!(genesis["activities"][0]["folder"], "@bundled/notes");
}

#[test]
fn a_browser_is_kept_only_if_its_server_is_not_replaced() {
    let other = |name: &str| json!({name: {"command": ["other"]}}).as_object().cloned().unwrap();
    let replaced = |name: &str| {
        let mut spec = SessionSpec::from_genesis(genesis()).unwrap();
        spec.replace_servers(other(name), Path::new("/b/servers.yaml"));
        spec.mcp.unwrap()
    };
    assert!(replaced("web").browser.is_some());
    let without = replaced("notes");
    assert_eq!((without.browser, without.tools), (None, vec!["web.open".to_owned()]));
    assert_eq!(without.folder, Path::new("/b"));
}

#[test]
fn further_sites_are_added_once() {
    let mut spec = SessionSpec::from_genesis(genesis()).unwrap();
    assert!(spec.allow_sites(&["127.0.0.1:8477".to_owned(), "shop.example.test".to_owned()]));
    let browser = spec.mcp.unwrap().browser.unwrap();
    assert_eq!(browser["sites"], json!(["shop.example.test", "127.0.0.1:8477"]));
    assert!(!SessionSpec::default().allow_sites(&["a.example.test".to_owned()]));
}

#[test]
fn invalid_settings_of_a_request_are_named_with_the_file() {
    let read = |text: &str| {
        let request = Request::parse(Path::new("r.json"), text).map_err(|error| error.to_string())?;
        SessionSpec::from_request(Path::new("r.json"), request).map_err(|error| error.to_string())
    };
    let error = read(r#"{"context": [], "settings": {"moed": "full"}}"#).unwrap_err();
    assert!(error.starts_with("r.json:1:30: settings: unknown field `moed`"), "{error}");
    assert_eq!(read(r#"{"context": []}"#).unwrap().settings.mode, Mode::Full);
    assert_eq!(read(r#"{"context": [], "settings": {"repairs": 2}}"#).unwrap().settings.mode, Mode::Full);
}
