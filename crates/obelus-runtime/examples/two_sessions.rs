//! Two sessions in one program. A task watches each of them and answers its questions.

use obelus_kernel::Context;
use obelus_kernel::session::{Decision, Mode, Settings};
use obelus_runtime::{Activities, Connections, EventBody, Host, SessionHandle, SessionSpec, Subscription};
use serde_json::json;

type Failure = Box<dyn std::error::Error + Send + Sync>;

#[tokio::main(flavor = "current_thread")]
#[expect(clippy::print_stdout, reason = "it is what the example shows")]
async fn main() -> Result<(), Failure> {
    for line in lend_two_books().await? {
        println!("{line}");
    }
    Ok(())
}

/// Lends a book in each of two sessions. Lending needs approval; a task of this program gives it.
async fn lend_two_books() -> Result<Vec<String>, Failure> {
    let mut activities = Activities::new();
    activities.register("lend_book", |work| async move { Ok(json!(format!("{} is lent", work.call["title"]))) });
    let host = Host::new(Connections::new(activities));

    let mut people = Vec::new();
    let mut sessions = Vec::new();
    for title in ["Emma", "Ulysses"] {
        let session = host.create_temporary(title, spec(title)?).await?;
        people.push(tokio::spawn(answer_and_note(session.clone(), session.subscribe(None))));
        session.run_plan().await?;
        sessions.push(session);
    }
    let mut lines = Vec::new();
    for person in people {
        lines.extend(person.await??);
    }
    Ok(lines)
}

/// A plan with one call that needs approval by the policy.
fn spec(title: &str) -> Result<SessionSpec, Failure> {
    let context = Context::from_value(json!([
        {"type": "tool", "tool": {"lend_book": {"properties": {"title": {"type": "string"}}, "x-effect": "update"}}},
        {"type": "plan", "plan": [{"_tool": "lend_book", "title": title, "_outputPath": "†state.lent"}]},
    ]))?;
    let policy = serde_json::from_value(json!({"confirm": ["lend_book"]}))?;
    let settings = Settings { mode: Mode::Full, policy, ..Settings::default() };
    Ok(SessionSpec { context, settings, ..SessionSpec::default() })
}

/// Watches a session until its turn ends, approves its questions, and records its events.
async fn answer_and_note(session: SessionHandle, mut events: Subscription) -> Result<Vec<String>, Failure> {
    let mut lines = Vec::new();
    while let Some(event) = events.next().await {
        match &event.body {
            EventBody::QuestionAsked { question } => {
                lines.push(format!("{} asks: {}", session.id(), question.id));
                session.answer(question.id.clone(), Decision::Approve { only: None }, "the librarian").await?;
            }
            EventBody::CallEnded { id, .. } => lines.push(format!("{}: call {id} has ended", session.id())),
            EventBody::Rested { reply } if reply.waiting.is_empty() => break,
            _ => {}
        }
    }
    Ok(lines)
}

#[tokio::test]
async fn both_books_are_lent_after_another_task_approves() {
    let lines = lend_two_books().await.unwrap();
    assert_eq!(lines, ["Emma asks: q1", "Emma: call 0.0 has ended", "Ulysses asks: q1", "Ulysses: call 0.0 has ended"]);
}
