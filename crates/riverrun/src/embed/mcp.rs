//! The tools of MCP servers in the hands of agents, as the servers offer them at each moment.

use std::sync::Arc;
use std::time::Duration;

use riverrun_runner::agent::{Approval, ToolUse, Toolbox};
use riverrun_tool::{McpInventory, McpServer};
use tokio::time::Instant;

use super::Agent;

/// How long a start waits for servers that do not answer; they are looked for further on.
const PATIENCE: Duration = Duration::from_secs(5);

/// Gives every agent the tools of its servers. A server that several agents share is asked once.
pub async fn keep(agents: &mut [Agent]) {
    let mut kept: Vec<(Arc<McpServer>, Arc<McpInventory>)> = Vec::new();
    give(agents, &mut kept);
    let until = Instant::now() + PATIENCE;
    for (_, inventory) in &kept {
        inventory.first(until.saturating_duration_since(Instant::now())).await;
    }
}

fn give(agents: &mut [Agent], kept: &mut Vec<(Arc<McpServer>, Arc<McpInventory>)>) {
    for agent in agents {
        for (server, approval) in std::mem::take(&mut agent.servers) {
            let known = kept.iter().find(|(known, _)| Arc::ptr_eq(known, &server));
            let inventory = match known {
                Some((_, inventory)) => inventory.clone(),
                None => {
                    let inventory = Arc::new(McpInventory::keep(server.clone()));
                    kept.push((server, inventory.clone()));
                    inventory
                }
            };
            agent.spec.toolboxes.push(Arc::new(ServerTools { inventory, approval }));
        }
        give(&mut agent.others, kept);
    }
}

struct ServerTools {
    inventory: Arc<McpInventory>,
    approval: Approval,
}

impl Toolbox for ServerTools {
    fn name(&self) -> &str {
        self.inventory.name()
    }

    fn tools(&self) -> Arc<[ToolUse]> {
        let used = |tool: &Arc<dyn riverrun_tool::Tool>| ToolUse {
            tool: tool.clone(),
            approval: self.approval.clone(),
        };
        self.inventory.known().tools.iter().map(used).collect()
    }

    fn problem(&self) -> Option<String> {
        self.inventory.known().problem
    }
}
