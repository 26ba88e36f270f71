//! `obelus resolve`

use anyhow::{Result, anyhow};
use obelus_kernel::{Expr, Fault};
use serde_json::{Value, json};

use crate::cli::Resolve;
use crate::input;
use crate::output::{self, DIM, Exit};

pub(crate) fn run(args: &Resolve) -> Result<Exit> {
    let found = value(args);
    if args.json {
        let (answer, exit) = match found {
            Ok(Some(value)) => (json!({"value": value}), Exit::Done),
            Ok(None) => (json!({"absent": true}), Exit::Failed),
            Err(error) => (json!({"error": format!("{error:#}")}), Exit::Usage),
        };
        output::json(&answer);
        return Ok(exit);
    }
    match found? {
        Some(value) => {
            output::answer(&output::visible(&format!("{value:#}")));
            Ok(Exit::Done)
        }
        None => {
            output::note(&format!("{DIM}absent{DIM:#}"));
            Ok(Exit::Failed)
        }
    }
}

fn value(args: &Resolve) -> Result<Option<Value>> {
    let text = input::expression(&args.expr);
    let expr = Expr::parse(&text).map_err(|fault| pointed(&text, &fault, args.json))?;
    let context = input::request(&args.context)?.context;
    if let Some(instance) = args.instance.as_deref().filter(|name| !context.instances().contains(*name)) {
        output::warning(&format!("no message belongs to the instance `{instance}`: global values only"));
    }
    Ok(context.resolve(&expr, args.instance.as_deref()).map(std::borrow::Cow::into_owned))
}

/// The error with the expression and a mark under the column.
fn pointed(text: &str, fault: &Fault, plain: bool) -> anyhow::Error {
    match fault.column() {
        Some(column) if !plain && !text.contains(char::is_control) => {
            anyhow!("{fault}\n  {text}\n  {}^", " ".repeat(column - 1))
        }
        _ => anyhow!("{fault}"),
    }
}
