//! The compose recipe, `deploy/`: docs/scaling.md shows it, its commands exist, and its services find each other.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::Command;

use obelus_runtime::files::read_document;
use serde_json::{Map, Value};

/// A file of the repository.
fn file(path: &str) -> String {
    fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(path)).unwrap()
}

/// The services of the recipe.
fn services() -> Map<String, Value> {
    let document = read_document(Path::new("compose.yaml"), &file("deploy/compose.yaml")).unwrap();
    let volumes = document["volumes"].as_object().unwrap();
    let services = document["services"].as_object().unwrap().clone();
    for mount in services.values().filter_map(|service| service["volumes"].as_array()).flatten() {
        let source = mount.as_str().unwrap().split(':').next().unwrap();
        assert!(source.starts_with("./") || volumes.contains_key(source), "there is no volume {source}");
    }
    services
}

#[test]
fn the_document_shows_the_files_of_the_compose_recipe_as_they_are() {
    let document = file("docs/scaling.md");
    for (language, path) in [("dockerfile", "deploy/Dockerfile"), ("yaml", "deploy/compose.yaml")] {
        let shown = format!("```{language}\n{}```\n", file(path));
        assert!(document.contains(&shown), "docs/scaling.md shows another {path}");
    }
}

#[test]
fn the_services_of_the_compose_recipe_end_before_those_that_they_need() {
    let services = services();
    for (name, needs) in [("front", vec!["workers"]), ("workers", vec!["n1", "n2", "n3"])] {
        assert_eq!(services[name]["depends_on"], Value::from(needs));
        assert_eq!(services[name]["init"], true, "{name}: processes that activities leave behind are collected");
    }
    // A node ends within 60 seconds, a worker within 10, the front within three times its `--grace` of 10.
    for (name, seconds) in [("n1", "70s"), ("n2", "70s"), ("n3", "70s"), ("workers", "15s"), ("front", "40s")] {
        assert_eq!(services[name]["stop_grace_period"], seconds, "{name}");
    }
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
