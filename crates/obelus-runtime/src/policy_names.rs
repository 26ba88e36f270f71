//! The tools that a policy may name: those of a context, of its delegates' requests, and of servers, which are not
//! known until the servers are asked.

use std::path::Path;
use std::sync::Arc;

use obelus_kernel::policy::{Policy, PolicyFault, PolicyTools};
use obelus_kernel::{Context, Tool};

use crate::read::read_text;
use crate::request::Request;

/// The depth limit of nested delegates, as for sessions.
const DEEPEST: usize = 8;

/// All errors of a policy (POL-3). `servers` are those whose tools are not in the context yet.
pub(crate) fn policy_faults(policy: &Policy, context: &Context, folder: &Path, servers: &[&str]) -> Vec<PolicyFault> {
    let mut delegated = Vec::new();
    let is_open = tools_of_delegates(context, folder, &mut delegated);
    let known = context.tools().chain(&delegated).map(AsRef::as_ref).collect();
    let may_exist = |pattern: &str| {
        let letters = pattern.split('*').next().unwrap_or_default();
        let is_of = |server: &&str| {
            let prefix = format!("{server}.");
            prefix.starts_with(letters) || letters.starts_with(&prefix)
        };
        is_open || servers.iter().any(is_of)
    };
    policy.faults(&PolicyTools { known, may_exist: &may_exist })
}

/// Adds the tools of delegates, whose calls the same policy judges and the same activities carry out. Returns whether
/// there may be others, because a model chooses the delegate or its request cannot be read.
pub(crate) fn tools_of_delegates(context: &Context, folder: &Path, found: &mut Vec<Arc<Tool>>) -> bool {
    each_delegate(context, folder, DEEPEST, &mut |_, request| found.extend(request.context.tools().cloned()))
}

/// Calls a function with every tool that a saved request carries out, and the request, at every depth. Returns whether
/// there may be others.
pub(crate) fn saved_requests(context: &Context, folder: &Path, with: &mut dyn FnMut(&Tool, &Request)) -> bool {
    each_delegate(context, folder, DEEPEST, with)
}

fn each_delegate(context: &Context, folder: &Path, depth: usize, with: &mut dyn FnMut(&Tool, &Request)) -> bool {
    let mut is_open = false;
    for tool in context.tools() {
        match tool.fixed_name("_delegate") {
            None => is_open |= tool.schema["properties"].get("_delegate").is_some(),
            Some("anonymous") => {}
            Some(_) if depth == 0 => is_open = true,
            Some(path) => {
                let file = folder.join(path);
                let request = read_text(&file).ok().and_then(|text| Request::parse(&file, &text).ok());
                match request {
                    Some(request) => {
                        with(tool, &request);
                        is_open |= each_delegate(&request.context, folder, depth - 1, with);
                    }
                    None => is_open = true,
                }
            }
        }
    }
    is_open
}
