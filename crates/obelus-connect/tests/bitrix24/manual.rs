//! The examples of the manual and the agent's files are valid.

use std::path::Path;

use obelus_connect::activity::bind;
use obelus_connect::bitrix24::check_tool;
use obelus_kernel::Tool;
use obelus_runtime::Agent;
use obelus_runtime::files::AgentCatalogue;
use serde_json::Value;

#[test]
fn every_example_of_the_manual_can_be_used() {
    let manual = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/bitrix24.md")).unwrap();
    let blocks = manual.split("```yaml\n").skip(1).map(|rest| rest.split("```").next().unwrap());
    let mut seen = 0;
    for block in blocks {
        let document: Value = serde_saphyr::from_str(block).unwrap();
        for (name, schema) in document["tools"].as_object().into_iter().flatten() {
            let tool = Tool::parse(name, schema).unwrap();
            check_tool(&tool).unwrap_or_else(|error| panic!("{error}"));
            assert_eq!(tool.fixed_name("_activity"), Some("bitrix24"));
            seen += 1;
        }
        if let Some(bindings) = document["activities"].as_object() {
            bind(bindings, Path::new(".")).unwrap();
            seen += 1;
        }
    }
    assert!(seen >= 8, "{seen}");
}

#[test]
fn every_tool_of_the_crm_agent_can_be_used() {
    for language in ["ru", "en"] {
        let agent = Agent::load_in(&AgentCatalogue::default().find("crm").unwrap(), Some(language)).unwrap();
        bind(&agent.activities, &agent.folder).unwrap();
        for tool in agent.context.tools() {
            check_tool(tool).unwrap_or_else(|error| panic!("{error}"));
        }
        assert!(agent.context.tools().count() >= 50);
    }
}
