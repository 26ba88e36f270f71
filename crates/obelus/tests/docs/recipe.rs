//! The compose recipe of docs/scaling.md: its commands exist, and its services find each other.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::Command;

use obelus_runtime::files::read_document;
use serde_json::{Map, Value};

/// The services of the recipe.
fn services() -> Map<String, Value> {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/scaling.md");
    let text = fs::read_to_string(file).unwrap();
    let recipe = text.split("```yaml\n").find(|block| block.contains("\nservices:\n")).expect("a compose file");
    let recipe = recipe.split("```").next().unwrap();
    let document = read_document(Path::new("compose.yaml"), recipe).unwrap();
    let volumes = document["volumes"].as_object().unwrap();
    let services = document["services"].as_object().unwrap().clone();
    for mount in services.values().filter_map(|service| service["volumes"].as_array()).flatten() {
        let source = mount.as_str().unwrap().split(':').next().unwrap();
        assert!(source.starts_with("./") || volumes.contains_key(source), "there is no volume {source}");
    }
    services
}

fn words(service: &Value) -> Vec<&str> {
    service["command"].as_str().unwrap().split_whitespace().collect()
}

fn option<'a>(words: &[&'a str], name: &str) -> Option<&'a str> {
    Some(words[words.iter().position(|word| *word == name)? + 1])
}

#[test]
fn the_commands_of_the_compose_recipe_have_options_that_exist() {
    let services = services();
    let ours: Vec<_> = services.iter().filter(|(_, service)| service["image"] == "obelus").collect();
    assert_eq!(ours.len(), 2);
    for (name, service) in ours {
        let ran = Command::new(env!("CARGO_BIN_EXE_obelus")).args(words(service)).arg("--help").output().unwrap();
        assert!(ran.status.success(), "{name}: {}", String::from_utf8_lossy(&ran.stderr));
    }
}

#[test]
fn the_services_of_the_compose_recipe_find_each_other() {
    let services = services();
    let mut named = BTreeSet::new();
    for service in services.values() {
        let words = words(service);
        named.extend(option(&words, "--advertised-host"));
        let addresses = ["--restate", "--advertise"].into_iter().filter_map(|name| option(&words, name));
        let hosts = addresses.flat_map(|all| all.split(',')).map(|address| address.strip_prefix("http://").unwrap());
        named.extend(hosts.map(|host| host.split(':').next().unwrap()));
        let port = |address: &'static str| option(&words, address).map(|address| address.rsplit(':').next().unwrap());
        if let Some(advertised) = port("--advertise") {
            assert_eq!(port("--listen"), Some(advertised));
        }
        for mapped in service["ports"].as_array().into_iter().flatten() {
            assert_eq!(mapped.as_str().unwrap().rsplit(':').next(), port("--listen"));
        }
    }
    for name in named {
        assert!(services.contains_key(name), "there is no service {name}");
    }
}
