//! The library in your own program: activities in Rust, and a plan that uses them.

use obelus_kernel::session::{CallError, Mode, Settings};
use obelus_kernel::{Context, Expr};
use obelus_runtime::{Activities, Connections, Host, SessionSpec};
use serde_json::{Value, json};

#[tokio::main(flavor = "current_thread")]
#[expect(clippy::print_stdout, reason = "it is what the example shows")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    println!("{}", twice_the_length("obelus").await?);
    Ok(())
}

async fn twice_the_length(text: &str) -> Result<Value, Box<dyn std::error::Error>> {
    // The tools and the plan. `†` passes the result of one call to a parameter of another.
    let context = Context::from_value(json!([
        {"type": "tool", "tool": {
            "measure": {"properties": {"text": {"type": "string"}}, "required": ["text"], "x-effect": "read"},
            "double": {"properties": {"n": {"type": "integer"}}, "required": ["n"], "x-effect": "read"},
        }},
        {"type": "plan", "plan": [
            {"_tool": "double", "n": "†state.length", "_outputPath": "†state.twice"},
            {"_tool": "measure", "text": text, "_outputPath": "†state.length"},
        ]},
    ]))?;

    // The implementations: any async functions.
    let mut activities = Activities::new();
    activities.register("measure", |work| async move {
        let text = work.call["text"].as_str().ok_or_else(|| CallError::new("no_text", "give it a text"))?;
        Ok(json!(text.chars().count()))
    });
    activities.register("double", |work| async move { Ok(json!(work.call["n"].as_i64().unwrap_or(0) * 2)) });

    let settings = Settings { mode: Mode::Full, ..Settings::default() };
    let spec = SessionSpec { context, settings, ..SessionSpec::default() };
    let host = Host::new(Connections::new(activities));
    let session = host.create_temporary("embed", spec).await?;
    session.run_plan().await?;
    session.rested().await?;

    let twice = Expr::parse("†state.twice")?;
    let found =
        session.inspect(move |session| session.context().resolve(&twice, None).map(std::borrow::Cow::into_owned));
    Ok(found.await?.ok_or("nothing was written")?)
}

#[tokio::test]
async fn one_call_feeds_the_other() {
    assert_eq!(twice_the_length("окно").await.unwrap(), json!(8));
}
