//! A run waits in a data directory while no process runs. Start this twice: the first start asks, the second decides.

use std::path::Path;

use riverrun::schemars::{self, JsonSchema};
use riverrun::{Agent, Error, FunctionTool, Outcome, Riverrun};
use serde::Deserialize;

#[derive(Deserialize, JsonSchema)]
struct File {
    path: String,
}

#[tokio::main]
pub async fn main() -> Result<(), Error> {
    let directory = std::env::temp_dir().join("riverrun-resume-after-restart");
    start(&directory).await
}

pub async fn start(directory: &Path) -> Result<(), Error> {
    let delete = FunctionTool::new("delete_file", "Deletes a file.", |file: File| async move {
        format!("{} is gone", file.path)
    });
    let agent = Agent::new("clerk").model("scripted/approval").tool(delete);
    let riverrun = Riverrun::builder().agent(agent).data_dir(directory).start().await?;
    let left = riverrun.open_runs().await?;
    if left.is_empty() {
        let run = riverrun.run_streamed("clerk", "Delete x").await?;
        run.outcome().await?;
        println!("session {} waits for a decision; start again", run.session_id());
    }
    for run in left {
        while let Outcome::Paused(interruptions) = run.outcome().await? {
            for asked in &interruptions {
                run.approve(asked, false).await?;
            }
        }
        println!("session {}: {}", run.session_id(), run.final_output().await?.unwrap_or_default());
    }
    riverrun.close().await
}
