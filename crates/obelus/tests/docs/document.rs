//! The commands and files that a document shows.

/// An instruction of a document to its reader.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// Save a file: a fence after `<!-- file: NAME -->`.
    File { name: String, text: String },
    /// Run a command.
    Command(Command),
}

/// A command from a fence of `console` or `sh`.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Command {
    /// The line of the document.
    pub(crate) line: usize,
    /// The input for the shell.
    pub(crate) text: String,
    /// The input for the program: the text after a prompt ` › `.
    pub(crate) typed: Vec<String>,
    /// The expected output; `…` stands for anything. Empty if the document shows none.
    pub(crate) printed: Vec<String>,
    /// Whether its exit code must be 0.
    pub(crate) must_succeed: bool,
}

const PROMPT: &str = " › ";

/// Parses a document. A fence of commands must be run or have a reason not to.
pub(crate) fn steps(markdown: &str) -> Result<Vec<Step>, String> {
    let mut steps = Vec::new();
    let mut note: Option<&str> = None;
    let mut lines = markdown.lines().zip(1..);
    while let Some((text, line)) = lines.next() {
        if let Some(language) = text.trim_start().strip_prefix("```") {
            let indent = text.len() - text.trim_start().len();
            let body: Vec<&str> = lines
                .by_ref()
                .map(|(text, _)| text.get(indent..).unwrap_or(text.trim_start()))
                .take_while(|text| !text.starts_with("```"))
                .collect();
            take_fence(language, &body, line, note.take(), &mut steps)?;
        } else if let Some(comment) = text.trim().strip_prefix("<!--").and_then(|rest| rest.strip_suffix("-->")) {
            note = Some(comment.trim());
        } else if !text.trim().is_empty() {
            note = None;
        }
    }
    Ok(steps)
}

fn take_fence(
    language: &str,
    body: &[&str],
    line: usize,
    note: Option<&str>,
    steps: &mut Vec<Step>,
) -> Result<(), String> {
    if let Some(name) = note.and_then(|note| note.strip_prefix("file:")) {
        let text = body.join("\n") + "\n";
        steps.push(Step::File { name: name.trim().to_owned(), text });
        return Ok(());
    }
    if note.is_some_and(|note| note.strip_prefix("not run:").is_some_and(|why| !why.trim().is_empty())) {
        return Ok(());
    }
    match language.trim() {
        "console" => steps.extend(typed_commands(body, line + 1)?.into_iter().map(Step::Command)),
        "sh" => {
            let command = Command { line: line + 1, text: body.join("\n"), must_succeed: true, ..Command::default() };
            steps.push(Step::Command(command));
        }
        _ if body
            .iter()
            .any(|text| text.starts_with("$ ") || text.starts_with("obelus ") || text.starts_with("cargo ")) =>
        {
            return Err(format!(
                "line {line}: commands belong into a fence of `console` or `sh`, or after `<!-- not run: WHY -->`"
            ));
        }
        _ => {}
    }
    Ok(())
}

/// The commands of a fence, each after `$ `, with their output.
fn typed_commands(body: &[&str], first: usize) -> Result<Vec<Command>, String> {
    let mut commands: Vec<Command> = Vec::new();
    let mut goes_on = false;
    for (text, line) in body.iter().zip(first..) {
        if let Some(command) = text.strip_prefix("$ ") {
            commands.push(Command { line, text: command.to_owned(), ..Command::default() });
            goes_on = command.ends_with('\\');
            continue;
        }
        let latest = commands.last_mut().ok_or_else(|| format!("line {line}: a command begins with `$ `"))?;
        if goes_on {
            latest.text = format!("{}\n{text}", latest.text);
            goes_on = text.ends_with('\\');
        } else if let Some((_, words)) = text.split_once(PROMPT) {
            latest.typed.push(words.to_owned());
        } else {
            latest.printed.push((*text).to_owned());
        }
    }
    for command in &mut commands {
        while command.printed.last().is_some_and(|text| text.trim().is_empty()) {
            command.printed.pop();
        }
    }
    Ok(commands)
}

#[test]
fn files_and_commands_are_read_in_their_order() {
    let text = "Save it:\n\n<!-- file: a.yaml -->\n```yaml\na: 1\n```\n\n```console\n$ obelus x a.yaml\ndone …\n$ obelus chat\nme › hi\nhello\n```\n";
    let command = |line, text: &str, typed: &[&str], printed: &[&str]| {
        let owned = |lines: &[&str]| lines.iter().map(|&line| line.to_owned()).collect();
        Step::Command(Command {
            line,
            text: text.to_owned(),
            typed: owned(typed),
            printed: owned(printed),
            must_succeed: false,
        })
    };
    let expected = vec![
        Step::File { name: "a.yaml".to_owned(), text: "a: 1\n".to_owned() },
        command(9, "obelus x a.yaml", &[], &["done …"]),
        command(11, "obelus chat", &["hi"], &["hello"]),
    ];
    assert_eq!(steps(text).unwrap(), expected);
}

#[test]
fn a_command_that_is_not_run_is_an_error_unless_marked() {
    assert!(steps("```\n$ obelus x\n```").unwrap_err().starts_with("line 1: "));
    assert_eq!(steps("<!-- not run: needs a portal -->\n```\n$ obelus x\n```").unwrap(), []);
    assert!(steps("<!-- not run: -->\n```\n$ obelus x\n```").is_err());
}
