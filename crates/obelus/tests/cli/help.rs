//! Help, colours and escaping of the binary.

use crate::support::{Folder, at_a_terminal, command, obelus, run};

/// All commands, including groups.
const COMMANDS: &[&[&str]] = &[
    &["agents"],
    &["agents", "check"],
    &["agents", "copy"],
    &["agents", "graph"],
    &["agents", "list"],
    &["agents", "login"],
    &["agents", "pin"],
    &["agents", "prompt"],
    &["agents", "show"],
    &["answer"],
    &["approve"],
    &["chat"],
    &["completions"],
    &["demo"],
    &["deny"],
    &["doctor"],
    &["eval"],
    &["inbox"],
    &["man"],
    &["new"],
    &["plan"],
    &["plan", "check"],
    &["plan", "graph"],
    &["plan", "run"],
    &["plan", "simulate"],
    &["policy"],
    &["policy", "explain"],
    &["resolve"],
    &["run"],
    &["sandbox"],
    &["sandbox", "bitrix24"],
    &["serve"],
    &["sessions"],
    &["sessions", "adopt"],
    &["sessions", "back"],
    &["sessions", "consents"],
    &["sessions", "export"],
    &["sessions", "fork"],
    &["sessions", "import"],
    &["sessions", "list"],
    &["sessions", "log"],
    &["sessions", "pause"],
    &["sessions", "prune"],
    &["sessions", "resume"],
    &["sessions", "rm"],
    &["sessions", "show"],
    &["tokens"],
    &["tokens", "add"],
    &["tokens", "list"],
    &["tokens", "rm"],
    &["vectors"],
    #[cfg(feature = "restate")]
    &["worker"],
    &[],
];

#[test]
fn the_help_of_every_command_shows_an_example_of_it() {
    for path in COMMANDS.iter().copied() {
        let ran = obelus(&[path, &["--help"]].concat()).exits(0);
        let (_, examples) = ran.stdout.split_once("Example").unwrap_or_else(|| panic!("{path:?} has no example"));
        let call = [&["obelus"], path].concat().join(" ");
        assert!(examples.contains(&call), "{path:?}: no `{call}` in {examples}");
    }
}

#[test]
fn every_command_is_covered_by_the_help_test() {
    let mut listed = vec![String::new()];
    for group in [&[][..], &["plan"], &["agents"], &["policy"], &["sandbox"], &["sessions"], &["tokens"]] {
        let help = obelus(&[group, &["--help"]].concat()).exits(0).stdout;
        let (_, rest) = help.split_once("Commands:\n").expect("a list of commands");
        let rows = rest.lines().take_while(|line| !line.is_empty()).filter_map(|line| line.strip_prefix("  "));
        let names = rows.filter(|row| !row.starts_with(' ')).filter_map(|row| row.split_whitespace().next());
        listed.extend(names.filter(|name| *name != "help").map(|name| [group, &[name]].concat().join(" ")));
    }
    listed.sort();
    let mut known = COMMANDS.iter().map(|path| path.join(" ")).collect::<Vec<_>>();
    known.sort();
    assert_eq!(listed, known);
}

#[test]
fn an_unknown_command_is_answered_with_a_similar_one() {
    obelus(&["pln"]).exits(2).prints_nothing().says("'plan'");
    obelus(&["plan", "chek", "x"]).exits(2).prints_nothing().says("'check'");
    obelus(&["run", "x", "--jsn"]).exits(2).prints_nothing().says("'--json'");
    obelus(&["plan", "simulate", "x", "--mode", "ful"]).exits(2).prints_nothing().says("'full'");
    obelus(&[]).exits(2).prints_nothing().says("Usage: obelus");
}

#[test]
fn colours_follow_options_and_environment() {
    let check = ["plan", "check", "examples/demo/plan.json"];
    let escapes = |args: &[&str], variables: &[(&str, &str)]| {
        let ran = run(command(&[&check, args].concat()).envs(variables.iter().copied()), b"").exits(0);
        ran.stdout.contains('\u{1b}') || ran.stderr.contains('\u{1b}')
    };
    assert!(escapes(&["--color=always"], &[]));
    assert!(escapes(&["--color=always"], &[("NO_COLOR", "1")]), "what is typed wins");
    assert!(!escapes(&["--color=never"], &[]));
    assert!(!escapes(&["--color=never"], &[("CLICOLOR_FORCE", "1")]));
    assert!(!escapes(&[], &[]), "a pipe is no terminal");
    assert!(!escapes(&[], &[("NO_COLOR", "1"), ("CLICOLOR_FORCE", "1")]));
}

#[test]
fn errors_and_help_follow_the_colour_option() {
    for (args, code) in [(&["plan", "check", "nowhere.json"][..], 2), (&["pln"], 2), (&["plan", "--help"], 0)] {
        let ran = obelus(&[args, &["--color=never"]].concat()).exits(code);
        assert!(!ran.stdout.contains('\u{1b}') && !ran.stderr.contains('\u{1b}'), "{ran:?}");
    }
    let ran = obelus(&["plan", "check", "nowhere.json", "--color=always"]).exits(2);
    assert!(ran.stderr.contains('\u{1b}'));
}

const NASTY: &str = "\u{1b}]0;owned\u{7}\u{9b}2J\u{7f}\u{202e}";

/// Text as a JSON string. YAML accepts control characters only as escapes.
fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string().replace('\u{7f}', "\\u007f").replace('\u{9b}', "\\u009b")
}

#[test]
fn control_characters_of_a_file_do_not_reach_the_terminal() {
    let folder = Folder::new("nasty");
    let name = quoted(&format!("t{NASTY}"));
    let file = folder.file(
        "nasty.json",
        format!(
            r#"{{{name}: 1, "context": [
                {{"type": "state", "data": {{"a": {name}}}, {name}: 2}},
                {{"type": "tool", "tool": {{{name}: {{"description": {name}, "properties": {{{name}: {{}}}}}}}}}},
                {{"type": "plan", "plan": [{{"_tool": {name}, {name}: {name}, "_reasoningForCall": {name}}}]}}
            ]}}"#
        ),
    );
    let faulty = folder.file("faulty.json", format!(r#"[{{"type": {name}}}]"#));
    let agent = folder.file("agent.yaml", format!("name: {name}\n{name}: 1\n"));
    let agent_name = folder.file("named/agent.yaml", format!("name: {name}\ndescription: {name}\n"));
    for args in [
        &["resolve", &file, "†state.a"][..],
        &["resolve", &file, NASTY],
        &["resolve", &file, "†state", "--instance", NASTY],
        &["resolve", NASTY, "†state"],
        &["plan", "check", &file],
        &["plan", "graph", &file],
        &["plan", "graph", &file, "--format", "dot"],
        &["plan", "graph", &file, "--format", "svg"],
        &["plan", "graph", &file, "--format", "json"],
        &["plan", "simulate", &file],
        &["plan", "run", &file],
        &["plan", "check", &faulty],
        &["run", &file],
        &["agents", "check", &agent],
        &["agents", "show", &agent_name],
        &["agents", "check", &agent_name],
        &["agents", "prompt", &agent_name],
        &["vectors", &faulty],
        &["run", &file, "--model", NASTY],
    ] {
        let ran = obelus(&[args, &["--color=never"]].concat());
        let steers = |c: char| (c.is_control() && c != '\n' && c != '\t') || c == '\u{202e}';
        assert!(!ran.stdout.contains(steers), "{args:?}: {:?}", ran.stdout);
        assert!(!ran.stderr.contains(steers), "{args:?}: {:?}", ran.stderr);
        assert!(ran.status.code().is_some(), "{args:?}: {}", ran.status);
    }
}

#[test]
fn control_characters_of_a_model_or_a_program_do_not_reach_the_terminal() {
    let folder = Folder::new("nasty-model");
    let words = quoted(&format!("words{NASTY}"));
    let playbook = format!("- answer: {{say: {words}, output: {words}}}");
    let model = format!("playbook:{}", folder.file("playbook.yaml", playbook));
    let request = folder.file("request.yaml", "context: [{role: user, text: hi}]");
    let shown = "words\\u{1b}]0;owned\\u{7}\\u{9b}2J\\u{7f}\\u{202e}";
    let ran = obelus(&["run", &request, "--model", &model]).exits(0).prints(shown).says(shown);
    assert!(!ran.stdout.contains('\u{1b}') && !ran.stderr.contains('\u{1b}'));

    // Questions escape text too.
    let agent = format!(
        "name: nasty\ngraph: {{start: ask, max_steps: 3, nodes: {{ask: {{ask: {{question: {words}}}, _outputPath: †state.a, \
         next: [{{to: done}}]}}, done: {{end: {{name: done, reply: bye}}}}}}}}\nstate: {{data: {{}}}}\n"
    );
    let agent = folder.file("agent.yaml", agent);
    let Some(screen) = at_a_terminal(&["run", &agent, "--say", "hi"], &[("Esc later", "\u{1b}")]) else { return };
    let screen = screen.exits(3).prints(shown);
    // The program writes control sequences of its own, but none of these.
    for nasty in ["\u{1b}]", "\u{9b}", "\u{7f}", "\u{202e}"] {
        assert!(!screen.stdout.contains(nasty), "{:?}", screen.stdout);
    }
}
