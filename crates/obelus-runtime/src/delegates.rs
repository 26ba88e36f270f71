//! Saved requests of delegates: how they are read (DEL-1), and tools that include theirs in advance (DEL-4).

use std::path::{Path, PathBuf};
use std::sync::Arc;

use obelus_kernel::{Context, Message, Tool};
use serde_json::{Map, Value};

use crate::connector::RequestSource;

/// Reads a delegate's saved request from the agent's folder, or from an address that the session allows.
pub(crate) async fn load(
    folder: PathBuf,
    path: String,
    source: Option<Arc<dyn RequestSource>>,
) -> Result<Value, String> {
    let mut request = if path.contains("://") {
        let source = source.ok_or_else(|| format!("{path}: this program cannot read requests at addresses"))?;
        let text = source.read(&path).await.map_err(|error| format!("{path}: {error}"))?;
        crate::request::read_document(Path::new(&path), &text).map_err(|error| error.to_string())?
    } else {
        let folder = folder.clone();
        let read = move || read_inside(&folder, &path);
        tokio::task::spawn_blocking(read).await.map_err(|error| error.to_string())??
    };
    let tools = request["context"].as_array_mut().into_iter().flatten().filter_map(|message| message.get_mut("tool"));
    for (name, definition) in tools.filter_map(Value::as_object_mut).flatten() {
        if let Ok(tool) = Tool::parse(name, definition)
            && let Some(merged) = upfront(&tool, &folder)?
        {
            *definition = merged;
        }
    }
    Ok(request)
}

/// Reads a saved request in a folder. Links out of the folder are not followed.
fn read_inside(folder: &Path, path: &str) -> Result<Value, String> {
    if folder.as_os_str().is_empty() {
        return Err("this session has no folder for delegates".to_owned());
    }
    let real = folder.join(path).canonicalize().map_err(|error| format!("{path}: {error}"))?;
    let inside = folder.canonicalize().map_err(|error| format!("{path}: {error}"))?;
    if !real.starts_with(&inside) {
        return Err(format!("{path}: it leads out of the agent's folder"));
    }
    // A pipe would wait for its writer for ever.
    if !real.is_file() {
        return Err(format!("{path}: it is not a file"));
    }
    let text = crate::read::read_text(&real).map_err(|error| format!("{path}: {error}"))?;
    crate::request::read_document(&real, &text).map_err(|error| error.to_string())
}

/// A tool's definition with the schemas of its delegate, if the tool asks for it.
pub(crate) fn upfront(tool: &Tool, folder: &Path) -> Result<Option<Value>, String> {
    let Some(path) = tool.upfront_delegate() else { return Ok(None) };
    if path.contains("://") {
        return Err(format!("`x-delegate` of `{}`: only a file can be read beforehand, not {path}", tool.name));
    }
    let request = read_inside(folder, path).map_err(|why| format!("`x-delegate` of `{}`: {why}", tool.name))?;
    tool.with_delegate(&request).map(Some).map_err(|fault| format!("`x-delegate` of `{}`: {fault}", tool.name))
}

/// Adds the delegates' schemas to all tools that ask for it. The last definition of a name wins.
pub(crate) fn merge_upfront(context: &mut Context, folder: &Path) -> Result<(), String> {
    let tools: Vec<Arc<Tool>> = context.tools().filter(|tool| tool.upfront_delegate().is_some()).cloned().collect();
    for tool in tools {
        if let Some(merged) = upfront(&tool, folder)? {
            let tools = Map::from_iter([(tool.name.clone(), merged)]);
            context.append(vec![Message::Tool(Box::new(tools))]).map_err(|fault| fault.to_string())?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::connector::ConnectFuture;
    use crate::{Agent, Request, SessionSpec};
    use serde_json::json;

    const LETTER: &str = "
context:
  - {type: input, schema: {type: object, properties: {tone: {enum: [warm, cold]}}, required: [tone]}}
schema: {type: string}
";
    const TOOL: &str = "{_delegate: letter.yaml, x-delegate: upfront, x-effect: read}";

    /// A folder with one saved request.
    fn folder(name: &str) -> PathBuf {
        let folder = std::env::temp_dir().join(format!("obelus-delegates-{}-{name}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join("letter.yaml"), LETTER).unwrap();
        folder
    }

    fn shows_the_delegate(tool: &Tool) -> bool {
        tool.param("tone").is_some() && tool.output() == Some(&json!({"type": "string"}))
    }

    #[test]
    fn a_pipe_is_no_saved_request() {
        let folder = folder("pipe");
        let made = std::process::Command::new("mkfifo").arg(folder.join("pipe.yaml")).status().unwrap();
        assert!(made.success() || folder.join("pipe.yaml").exists());
        assert!(read_inside(&folder, "pipe.yaml").unwrap_err().ends_with("it is not a file"));
    }

    #[test]
    fn input_and_output_schemas_of_delegates_are_loaded() {
        let folder = folder("upfront");
        let text = format!("name: a\ntools:\n  write: {TOOL}\n");
        let agent = Agent::parse(&folder.join("agent.yaml"), &text, &folder).unwrap();
        assert!(shows_the_delegate(agent.context.tool("write").unwrap()));
        let wrong = Agent::parse(&folder.join("agent.yaml"), &text.replace("letter", "lost"), &folder).unwrap_err();
        assert!(wrong[0].text.contains("lost.yaml"), "{}", wrong[0]);

        let text = format!("context:\n  - type: tool\n    tool:\n      write: {TOOL}\n");
        let file = folder.join("request.yaml");
        let spec = SessionSpec::from_request(&file, Request::parse(&file, &text).unwrap()).unwrap();
        assert!(shows_the_delegate(spec.context.tool("write").unwrap()));
        std::fs::remove_dir_all(folder).unwrap();
    }

    struct TestFolder;

    impl RequestSource for TestFolder {
        fn read<'a>(&'a self, address: &'a str) -> ConnectFuture<'a, Result<String, String>> {
            let text = format!("context:\n  - type: tool\n    tool:\n      write: {TOOL}\n");
            let found = address.ends_with("/team.yaml").then_some(text).ok_or_else(|| "nothing there".to_owned());
            Box::pin(std::future::ready(found))
        }
    }

    #[tokio::test]
    async fn a_saved_request_can_be_read_from_an_address() {
        let folder = folder("address");
        let load = |path: &str, source| load(folder.clone(), path.to_owned(), source);
        let shelf = || Some(Arc::new(TestFolder) as Arc<dyn RequestSource>);
        let request = load("https://example.test/team.yaml", shelf()).await.unwrap();
        let tool = Tool::parse("write", &request["context"][0]["tool"]["write"]).unwrap();
        assert!(shows_the_delegate(&tool), "the tools of a delegate show theirs");
        assert!(load("https://example.test/other.yaml", shelf()).await.unwrap_err().contains("nothing there"));
        assert!(load("https://example.test/team.yaml", None).await.unwrap_err().contains("addresses"));
        assert!(load("letter.yaml", None).await.is_ok());
        assert!(load("../letter.yaml", None).await.is_err());
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
