//! MCP servers: their tools in the hands of agents, also when the server comes later or changes them.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use riverrun_runner::agent::{ToolUse, Toolbox};
use riverrun_tool::{McpInventory, mcp_tool_name};

use super::{rules, tool};
use crate::cli::config::{Agent, Approval, Declared, Mcp, Policy};

/// How long a start waits for servers that do not answer; they are looked for further on.
const PATIENCE: Duration = Duration::from_secs(5);

/// By name.
pub type Servers = BTreeMap<String, (Arc<McpInventory>, Option<Approval>)>;

/// Starts to look after every server.
pub async fn keep(declared: &[Mcp], directory: &Path) -> Servers {
    let keep = |declaration: &Mcp| {
        let inventory = McpInventory::keep(tool::server(declaration, directory));
        (declaration.name.text.clone(), (Arc::new(inventory), declaration.approval))
    };
    let servers: Servers = declared.iter().map(keep).collect();
    let until = tokio::time::Instant::now() + PATIENCE;
    for (inventory, _) in servers.values() {
        inventory.first(until.saturating_duration_since(tokio::time::Instant::now())).await;
    }
    servers
}

/// `mcp:SERVER` is all of its tools, `mcp:SERVER/TOOL` one of them.
pub fn toolboxes(agent: &Agent, declared: &Declared, servers: &Servers) -> Vec<Arc<dyn Toolbox>> {
    let mut boxes: Vec<Arc<dyn Toolbox>> = Vec::new();
    for (name, (inventory, of_tool)) in servers {
        let named: Vec<&str> = agent.tools.iter().filter_map(|tool| tool.text.strip_prefix("mcp:")).collect();
        let is_all = named.contains(&name.as_str());
        let only: Vec<String> = named
            .iter()
            .filter_map(|named| named.strip_prefix(name.as_str())?.strip_prefix('/'))
            .map(|tool| mcp_tool_name(name, tool))
            .collect();
        if !is_all && only.is_empty() {
            continue;
        }
        boxes.push(Arc::new(ServerTools {
            inventory: inventory.clone(),
            only: (!is_all).then_some(only),
            policy: declared.policy.clone(),
            of_tool: *of_tool,
            of_agent: agent.approval,
            made: Mutex::default(),
        }));
    }
    boxes
}

/// The labels of the tools that `mcp:SERVER` or `mcp:SERVER/TOOL` stands for, by the names that models call.
pub fn labels<'a>(entry: &str, declared: &'a [Mcp]) -> Vec<(String, &'a BTreeMap<String, String>)> {
    let Some(entry) = entry.strip_prefix("mcp:") else { return Vec::new() };
    let (server, only) = entry.split_once('/').map_or((entry, None), |(server, tool)| (server, Some(tool)));
    let labels = declared.iter().filter(|known| known.name.text == server).flat_map(|known| &known.labels);
    let named = labels.map(|(tool, label)| (mcp_tool_name(server, tool), label));
    let only = only.map(|tool| mcp_tool_name(server, tool));
    named.filter(|(name, _)| only.as_ref().is_none_or(|only| only == name)).collect()
}

/// The tools of one server as one agent may use them.
struct ServerTools {
    inventory: Arc<McpInventory>,
    only: Option<Vec<String>>,
    policy: Policy,
    of_tool: Option<Approval>,
    of_agent: Option<Approval>,
    /// Made of the list with this number.
    made: Mutex<Option<(u64, Arc<[ToolUse]>)>>,
}

impl Toolbox for ServerTools {
    fn name(&self) -> &str {
        self.inventory.name()
    }

    fn tools(&self) -> Arc<[ToolUse]> {
        let known = self.inventory.known();
        let mut made = self.made.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((revision, tools)) = &*made
            && *revision == known.revision
        {
            return tools.clone();
        }
        let wanted = |name: &String| self.only.as_ref().is_none_or(|only| only.contains(name));
        let used = known.tools.iter().filter(|tool| wanted(&tool.definition().name)).map(|tool| {
            let name = &tool.definition().name;
            let approval = rules::rule(&self.policy, name, self.of_tool, self.of_agent);
            ToolUse { tool: tool.clone(), approval }
        });
        let tools: Arc<[ToolUse]> = used.collect();
        *made = Some((known.revision, tools.clone()));
        tools
    }

    fn problem(&self) -> Option<String> {
        self.inventory.known().problem
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::config::read_text;

    #[test]
    fn a_label_is_that_of_the_tools_that_an_agent_uses() {
        let read = read_text(
            "[mcp.files]\ncommand = [\"true\"]\n[mcp.files.tools.\"fs.read\"]\nlabel = \"Reading {path}\"\n\
             [mcp.files.tools.list]\nlabel = { vi = \"Liệt kê\" }\n",
        );
        let declared = read.expect("it is right").declared;
        let check = |entry: &str, expected: &[(&str, &str, &str)]| {
            let labels = labels(entry, &declared.mcp);
            let texts = labels.iter().flat_map(|(tool, label)| {
                label.iter().map(|(language, text)| (tool.as_str(), language.as_str(), text.as_str()))
            });
            assert_eq!(texts.collect::<Vec<_>>(), expected, "{entry}");
        };
        let read = ("files__fs_read", "default", "Reading {path}");
        check("mcp:files", &[read, ("files__list", "vi", "Liệt kê")]);
        check("mcp:files/fs.read", &[read]);
        check("mcp:files/other", &[]);
        check("mcp:file", &[]);
        check("files", &[]);
    }
}
