//! An agent hands the conversation to another one.

use riverrun::{Agent, Dialect, Error, Riverrun};

const TRIAGE: &str = r#"
[[step]]
play = [{ call = { name = "transfer_to_billing", arguments = ["{}"] } }]
"#;

#[tokio::main]
pub async fn main() -> Result<(), Error> {
    let billing = Agent::new("billing").description("Knows the bills.").model("scripted/echo");
    let triage = Agent::new("triage").model("scripted/triage").handoff(billing);
    let riverrun = Riverrun::builder().agent(triage).script("triage", TRIAGE).start().await?;
    let run = riverrun.run_streamed("triage", "My bill is wrong").await?;
    let mut events = run.stream_events_as(Dialect::AgentsSdk);
    while let Some(event) = events.next().await {
        let event = event?;
        if event["type"] != "raw_response_event" {
            println!("{} {}", event["type"], event.get("name").unwrap_or(&event["new_agent"]));
        }
    }
    println!(
        "{} said {}",
        run.current_agent().await?.unwrap_or_default(),
        run.final_output().await?.unwrap_or_default()
    );
    Ok(())
}
