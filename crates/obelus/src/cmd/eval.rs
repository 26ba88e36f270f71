//! `obelus eval`

use std::collections::BTreeMap;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context as _, Result, anyhow, bail};
use clap::Args;
use obelus_connect::model::{ModelSpec, Recorder, SentChars, open};
use obelus_kernel::session::{Prompt, Spent};
use obelus_runtime::files::read_text;
use obelus_runtime::{Agent, Model, Part, Parts, Used};
use obelus_vectors::{Asked, EvalVerdict, Evaluated};
use serde_json::json;
use tokio::sync::mpsc::unbounded_channel;

use super::agents::locate;
use super::run::load_agent_in;
use super::spent::in_words;
use crate::input;
use crate::language::{Language, Words};
use crate::output::{self, BOLD, DIM, Exit, GREEN, RED, YELLOW, visible};

/// The file with an agent's own cases, in its folder.
const OWN_CASES: &str = "cases.json";

/// Run test conversations with a model and report what went wrong.
///
/// People and portal are scripted by the cases; only the model is called. For each case the command prints whether it
/// passed, the differences, the answers out of format, and the cost; then the totals. Exit 1 if a case failed.
#[derive(Args)]
#[command(after_help = "\
Examples:
  obelus eval crm --model openai:gpt-5-thinking --record run.jsonl
  obelus eval crm --model replay:run.jsonl               the same run again, offline
  obelus eval agents/crm --cases vectors/conversation-plan.json --json
  obelus eval notes --model playbook:agents/notes/playbook.yaml")]
pub(crate) struct Eval {
    /// An agent's name, folder or file.
    agent: String,
    /// The model: openai:NAME, replay:FILE or playbook:FILE. By default the agent's own.
    #[arg(long, value_name = "M")]
    model: Option<String>,
    /// Files of cases, or folders of such. By default `cases.json` in the agent's folder.
    #[arg(long, value_name = "DIR|FILE")]
    cases: Vec<PathBuf>,
    /// Write every exchange with the model to this file, which must not exist yet, for `--model replay:FILE`.
    #[arg(long, value_name = "FILE")]
    record: Option<PathBuf>,
    /// Print `{agent, model, passed, failed, skipped, spent, cases: [{name, verdict, why, out_of_format, spent, …}]}`.
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: &Eval) -> Result<Exit> {
    // Its cases are in its own language.
    let agent = load_agent_in(&locate(&args.agent)?, None)?;
    let (spec, folder) = spec(&agent, args.model.as_deref())?;
    let files = files(&agent, &args.cases)?;
    let model = recorded(open(&spec, &folder)?, args.record.as_deref())?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let mut all: Vec<Evaluated> = Vec::new();
    for (file, text) in &files {
        let asked = |prompt| runtime.block_on(ask(&*model, prompt));
        let done = |case: &Evaluated| {
            if !args.json {
                show(case);
            }
        };
        let cases = obelus_vectors::evaluate(file, text, &agent, asked, done).map_err(|error| anyhow!("{error}"))?;
        all.extend(cases);
        if all.last().is_some_and(|case| case.hopeless.is_some()) {
            break;
        }
    }
    let count = |wanted: &dyn Fn(&EvalVerdict) -> bool| all.iter().filter(|case| wanted(&case.verdict)).count();
    let passed = count(&|verdict| *verdict == EvalVerdict::Passed);
    let failed = count(&|verdict| *verdict == EvalVerdict::Failed);
    let skipped = all.len() - passed - failed;
    let mut spent = Spent::default();
    all.iter().for_each(|case| spent.add(case.spent()));
    let mut sent = SentChars::default();
    all.iter().for_each(|case| sent.add(case.sent));
    let hopeless = all.iter().find_map(|case| case.hopeless.as_deref());
    if args.json {
        output::json(&json!({
            "agent": agent.name, "model": spec.to_string(), "passed": passed, "failed": failed, "skipped": skipped,
            "spent": spent, "sent": sent, "stopped": hopeless, "cases": all.iter().map(Evaluated::to_json).collect::<Vec<_>>(),
        }));
    } else {
        show_skipped(&all);
        output::answer(&format!(
            "{passed} passed, {failed} failed, {skipped} skipped: {}",
            in_words(&spent, english())
        ));
        let (chars, percent) = (sent.chars, sent.percent());
        output::answer(&format!("{chars} characters sent, {percent} % of them a prefix of the request before"));
        if let Some(why) = hopeless {
            output::note(&format!("Stopped: the model cannot be asked. {}", visible(why)));
        }
    }
    if passed + failed == 0 {
        bail!("none of the cases can be run with a model: name others with --cases");
    }
    Ok(if failed == 0 { Exit::Done } else { Exit::Failed })
}

/// The model and the base folder of its paths. Settings in the agent's file, such as the price, apply only to the model
/// named there.
fn spec(agent: &Agent, said: Option<&str>) -> Result<(ModelSpec, PathBuf)> {
    let own = match &agent.model {
        Some(model) => Some(ModelSpec::from_value(model).context("the agent's file")?),
        None => None,
    };
    let said = said.map(ModelSpec::parse).transpose().context("--model")?;
    match (said, own) {
        (Some(ModelSpec::OpenAi(said)), Some(ModelSpec::OpenAi(own))) if said.name == own.name => {
            Ok((ModelSpec::OpenAi(own), agent.folder.clone()))
        }
        (Some(said), _) => Ok((said, PathBuf::new())),
        (None, Some(own)) => Ok((own, agent.folder.clone())),
        (None, None) => bail!("the agent `{}` has no model of its own: name one with --model", agent.name),
    }
}

/// The files with the cases and their texts. Cases of bundled agents are not on the disk.
fn files(agent: &Agent, named: &[PathBuf]) -> Result<Vec<(PathBuf, String)>> {
    if named.is_empty() {
        let file = agent.folder.join(OWN_CASES);
        let text = read_text(&file).with_context(|| {
            format!("{}: the agent has no cases of its own: name some with --cases", input::name(&file))
        })?;
        return Ok(vec![(file, text)]);
    }
    let found = obelus_vectors::find_files(named).map_err(|error| anyhow!("{error}"))?;
    found.into_iter().map(|file| input::text(&file).map(|text| (file, text))).collect()
}

/// The model with a recording of its answers. The file must be new, because a recording has exactly one run.
fn recorded(model: Arc<dyn Model>, record: Option<&Path>) -> Result<Arc<dyn Model>> {
    let Some(path) = record else { return Ok(model) };
    let file = std::fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(path);
    let file = file.with_context(|| format!("--record {}: a recording needs a new file", input::name(path)))?;
    Ok(Arc::new(Recorder::new(model, file)))
}

async fn ask(model: &dyn Model, prompt: Prompt) -> Asked {
    let (sender, mut parts) = unbounded_channel();
    let answer = model.ask_streaming(prompt, Parts::to("1".parse().expect("an id"), sender)).await;
    let mut used = Used::default();
    while let Ok((_, part)) = parts.try_recv() {
        if let Part::Used(one) = part {
            used.add(one);
        }
    }
    Asked { answer, used }
}

/// Prints a line for each reason why cases were skipped.
fn show_skipped(all: &[Evaluated]) {
    let mut reasons: BTreeMap<&str, usize> = BTreeMap::new();
    for case in all {
        if let EvalVerdict::Skipped(why) = &case.verdict {
            *reasons.entry(why).or_default() += 1;
        }
    }
    for (why, count) in reasons {
        output::answer(&format!("{YELLOW}skipped{YELLOW:#}  {count}: {}", visible(why)));
    }
}

/// Prints a line for the case, and one for each difference.
fn show(case: &Evaluated) {
    let name = visible(&case.name);
    match &case.verdict {
        EvalVerdict::Passed => {
            output::answer(&format!(
                "{GREEN}passed{GREEN:#}   {BOLD}{name}{BOLD:#} {DIM}{}{DIM:#}",
                in_words(&case.spent(), english())
            ));
        }
        EvalVerdict::Failed => {
            output::answer(&format!(
                "{RED}failed{RED:#}   {BOLD}{name}{BOLD:#} {DIM}{}{DIM:#}",
                in_words(&case.spent(), english())
            ));
        }
        // `show_skipped` prints the reasons.
        EvalVerdict::Skipped(_) => {}
    }
    for why in &case.why {
        output::answer(&format!("         {}", visible(why).replace('\n', "\n           ")));
    }
    for answer in &case.out_of_format {
        output::answer(&format!("         out of format: {}", visible(answer)));
    }
}

/// An evaluation is for engineers, so it is in English.
fn english() -> &'static Words {
    Language::English.words()
}
