//! A run is stopped while it speaks. What it said until then is kept.

use riverrun::{Agent, CancelMode, Error, run_streamed};

#[tokio::main]
pub async fn main() -> Result<(), Error> {
    let agent = Agent::new("speaker").model("scripted/slow");
    let run = run_streamed(agent, "Tell me a long story").await?;
    let mut events = run.stream_events();
    while let Some(event) = events.next().await {
        let event = event?;
        if event.text_delta().is_some() {
            run.cancel(CancelMode::Immediate).await?;
        }
        println!("{}", event.kind.as_str());
    }
    println!("{:?}", run.outcome().await?);
    Ok(())
}
