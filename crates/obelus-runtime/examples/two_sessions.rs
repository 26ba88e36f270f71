//! Two sessions of one host: their events are read by one task each, and their questions answered by another one.

use obelus_kernel::Context;
use obelus_kernel::session::{Decision, Ends, Mode, Settings};
use obelus_runtime::{Activities, Connections, EventBody, Host, SessionHandle, SessionSpec, Subscription};
use serde_json::json;
use tokio::sync::mpsc;

#[tokio::main(flavor = "current_thread")]
#[expect(clippy::print_stdout, reason = "it is what the example shows")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    for line in both().await? {
        println!("{line}");
    }
    Ok(())
}

/// Deletes a file in each of two sessions, once a person has said yes.
async fn both() -> Result<Vec<String>, Box<dyn std::error::Error>> {
    let mut activities = Activities::new();
    activities.register("delete", |work| async move { Ok(work.call["file"].clone()) });
    let host = Host::new(Connections::new(activities));

    // The person: a task of its own, which hears of questions and answers them by the session's handle.
    let (ask, mut asked) = mpsc::unbounded_channel::<(SessionHandle, String)>();
    tokio::spawn(async move {
        while let Some((session, question)) = asked.recv().await {
            let yes = Decision::Approve { only: None };
            session.answer(question, yes, "a person in this example").await.expect("it waits");
        }
    });

    let mut watching = Vec::new();
    for (name, file) in [("left", "a.txt"), ("right", "b.txt")] {
        let session = host.create_temporary(name, spec(file)?).await?;
        let events = session.subscribe(None);
        session.run_plan().await?;
        watching.push(tokio::spawn(watch(session, events, ask.clone())));
    }
    let mut lines = Vec::new();
    for watching in watching {
        lines.extend(watching.await?);
    }
    Ok(lines)
}

/// Reads events until the session has done what it was to do.
async fn watch(
    session: SessionHandle,
    mut events: Subscription,
    ask: mpsc::UnboundedSender<(SessionHandle, String)>,
) -> Vec<String> {
    let mut lines = Vec::new();
    while let Some(event) = events.next().await {
        let (id, number) = (session.id(), event.number);
        match &event.body {
            EventBody::QuestionAsked { question } => {
                lines.push(format!("{id} {number}: {}", question.description));
                let _ = ask.send((session.clone(), question.id.clone()));
            }
            EventBody::CallEnded { outcome, .. } => lines.push(format!("{id} {number}: {outcome:?}")),
            EventBody::Rested { reply } if reply.ends == Ends::Output => break,
            _ => {}
        }
    }
    lines
}

fn spec(file: &str) -> Result<SessionSpec, Box<dyn std::error::Error>> {
    let context = Context::from_value(json!([
        {"type": "tool", "tool": {"delete": {"properties": {"file": {"type": "string"}}, "x-effect": "delete"}}},
        {"type": "plan", "plan": [{"_tool": "delete", "file": file, "_outputPath": "†state.gone"}]},
    ]))?;
    let settings = Settings { mode: Mode::Full, ..Settings::default() };
    Ok(SessionSpec { context, settings, ..SessionSpec::default() })
}

#[tokio::test]
async fn each_session_asks_and_does_its_own() {
    let lines = both().await.unwrap();
    assert_eq!(lines.len(), 4, "{lines:?}");
    assert!(lines.iter().any(|line| line.starts_with("right 3-") && line.contains("b.txt")), "{lines:?}");
}
