//! A call that may destroy something waits for a person.

use riverrun::schemars::{self, JsonSchema};
use riverrun::{Agent, Error, FunctionTool, Outcome, run_streamed};
use serde::Deserialize;

#[derive(Deserialize, JsonSchema)]
struct File {
    path: String,
}

#[tokio::main]
pub async fn main() -> Result<(), Error> {
    let delete = FunctionTool::new("delete_file", "Deletes a file.", |file: File| async move {
        format!("{} is gone", file.path)
    });
    let agent = Agent::new("clerk").model("scripted/approval").tool(delete);
    let run = run_streamed(agent, "Delete x").await?;
    while let Outcome::Paused(interruptions) = run.outcome().await? {
        for asked in &interruptions {
            println!("{} {}: approved", asked.tool.as_deref().unwrap_or_default(), asked.arguments);
            run.approve(asked, false).await?;
        }
    }
    println!("{}", run.final_output().await?.unwrap_or_default());
    Ok(())
}
