//! The exact prompts of the bundled agents.

use std::path::Path;
use std::sync::Arc;

use obelus_connect::activity::bind;
use obelus_connect::model::{PromptOptions, render};
use obelus_kernel::Time;
use obelus_kernel::session::{Input, Session, Settings, Task};
use obelus_runtime::Agent;

#[test]
fn prompts_of_bundled_agents_match_their_snapshots() {
    let root = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../agents"));
    let mut folders: Vec<_> = std::fs::read_dir(root).unwrap().map(|entry| entry.unwrap().path()).collect();
    folders.sort();
    for folder in folders {
        let agent = Agent::load(&folder).unwrap_or_else(|problems| panic!("{problems:?}"));
        let activities = bind(&agent.activities, &agent.folder).unwrap().names();
        let settings = Settings { activities, ..agent.settings };
        let mut session = Session::new("golden", agent.context, agent.schema, Arc::new(settings)).unwrap();
        if let Some(steps) = agent.steps {
            session = session.with_steps(steps);
        }
        session.handle(Time(0), Input::User { text: "Ask Anna to call the customer.".to_owned(), by: None }).unwrap();
        let asked = std::iter::from_fn(|| session.poll()).find_map(|task| match task {
            Task::AskModel { id } => Some(id),
            _ => None,
        });
        let prompt = session.prompt(&asked.expect("the model is asked")).unwrap();
        let messages = render(&prompt, &PromptOptions::default()).unwrap();
        let text: Vec<_> =
            messages.iter().map(|message| format!("── {:?}\n{}", message.role, message.content)).collect();
        insta::assert_snapshot!(format!("agent_{}", agent.name), text.join("\n"));
    }
}
