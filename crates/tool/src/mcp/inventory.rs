//! What a server offers, listed again whenever it may have changed and while it is away.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;
use tokio::task::JoinHandle;

use super::McpServer;
use crate::Tool;

const FIRST_PAUSE: Duration = Duration::from_millis(500);
const LONGEST_PAUSE: Duration = Duration::from_secs(30);
/// Servers that change their list tell so in bursts.
const BURST: Duration = Duration::from_millis(50);

/// The tools of a server as they were last listed. Dropping it ends the looking, not the server.
pub struct McpInventory {
    server: Arc<McpServer>,
    known: watch::Receiver<Known>,
    keeper: JoinHandle<()>,
}

#[derive(Clone, Default)]
pub struct Known {
    pub tools: Arc<[Arc<dyn Tool>]>,
    /// Counts the changes of the list.
    pub revision: u64,
    /// Why the server could not be asked the last time.
    pub problem: Option<String>,
    /// The server was asked at least once, whatever came of it.
    pub is_asked: bool,
}

impl McpInventory {
    /// Must be called inside a tokio runtime.
    pub fn keep(server: Arc<McpServer>) -> Self {
        let (sender, known) = watch::channel(Known::default());
        let keeper = tokio::spawn(look(server.clone(), sender));
        Self { server, known, keeper }
    }

    pub fn name(&self) -> &str {
        self.server.name()
    }

    pub fn known(&self) -> Known {
        self.known.borrow().clone()
    }

    /// Waits until the server was asked once, or for so long.
    pub async fn first(&self, patience: Duration) -> Known {
        let mut known = self.known.clone();
        let _ = tokio::time::timeout(patience, known.wait_for(|known| known.is_asked)).await;
        self.known()
    }
}

impl Drop for McpInventory {
    fn drop(&mut self) {
        self.keeper.abort();
    }
}

async fn look(server: Arc<McpServer>, sender: watch::Sender<Known>) {
    let mut changes = server.changes();
    let mut pause = FIRST_PAUSE;
    loop {
        changes.mark_unchanged();
        match server.offer().await {
            Ok(offer) => {
                pause = FIRST_PAUSE;
                let tools = offer.tools.into_iter().map(|tool| Arc::new(tool) as Arc<dyn Tool>);
                sender.send_modify(|known| known.listed(tools.collect()));
                if changes.changed().await.is_err() {
                    return;
                }
                tokio::time::sleep(BURST).await;
            }
            Err(error) => {
                if sender.borrow().problem.as_ref() != Some(&error.message) {
                    tracing::warn!(server = server.name(), %error, "an MCP server cannot be asked for its tools");
                }
                sender.send_modify(|known| known.failed(error.message));
                tokio::time::sleep(pause).await;
                pause = (pause * 2).min(LONGEST_PAUSE);
            }
        }
    }
}

impl Known {
    fn listed(&mut self, tools: Arc<[Arc<dyn Tool>]>) {
        let is_new =
            !tools.iter().map(|tool| tool.definition()).eq(self.tools.iter().map(|tool| tool.definition()));
        if is_new {
            (self.tools, self.revision) = (tools, self.revision + 1);
        }
        (self.problem, self.is_asked) = (None, true);
    }

    fn failed(&mut self, problem: String) {
        (self.problem, self.is_asked) = (Some(problem), true);
    }
}
