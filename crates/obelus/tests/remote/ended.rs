//! The server ends while it carries out an answer.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::thread;
use std::time::Duration;

use crate::{AGENT, Office, PLAYBOOK};

/// A call that holds until the file `gate` exists.
const SLOW: &str = "{exec: [sh, -c, 'touch began; while [ ! -e gate ]; do sleep 0.02; done; echo 1']}";

#[test]
fn an_answer_says_that_it_was_taken_if_the_server_ends_before_the_outcome() {
    for (signal, json) in [("-TERM", None), ("-KILL", None), ("-TERM", Some("--json"))] {
        let mut office = Office::open(&format!("ended{signal}{}", json.unwrap_or_default()));
        let agent = office.folder.join("agents/slow");
        fs::create_dir_all(&agent).unwrap();
        fs::write(agent.join("agent.yaml"), AGENT.replace("{jq: '{title: \"Windows\"}'}", SLOW)).unwrap();
        fs::write(agent.join("p.yaml"), PLAYBOOK).unwrap();
        office.remote(&["chat", "--agent", "slow", "--session", "s"], "set 1\n", 3);
        let server = office.server.id().to_string();
        let began = agent.join("began");
        let end = thread::spawn(move || {
            wait_for(&began);
            assert!(Command::new("kill").args([signal, &server]).status().unwrap().success());
        });
        let args: Vec<&str> = ["approve", "s:q1"].into_iter().chain(json).collect();
        let said = office.remote(&args, "", 1);
        end.join().unwrap();
        fs::write(agent.join("gate"), "").unwrap();
        // Killed, the server may have taken the answer without saying so.
        let taken = if signal == "-KILL" { "" } else { "it was taken, but " };
        let taken = format!("{taken}it is not known how it ended: the server {}", office.url);
        assert!(said.contains(&taken), "{signal}: {said}");
        assert!(said.contains(&format!("obelus inbox --server {}", office.url)), "{said}");
        assert_eq!(said.contains("{\"taken\":true}"), json.is_some(), "{said}");
        if signal == "-KILL" {
            office.server.wait().unwrap();
            (office.server, office.url) = Office::serve(&office.folder);
            let settled = office.remote(&["answer", "s:q2", "happened", "--result", "{\"title\": \"Doors\"}"], "", 0);
            assert!(settled.contains("✓ Change a deal: Doors"), "{settled}");
        }
    }
}

fn wait_for(file: &Path) {
    for _ in 0..1500 {
        if file.exists() {
            return;
        }
        thread::sleep(Duration::from_millis(10));
    }
    panic!("not within fifteen seconds: {}", file.display());
}
