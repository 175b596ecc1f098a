//! Something more is said to a run while it speaks; its model reads it with the next step.

use riverrun::{Agent, Error, run_streamed};

#[tokio::main]
pub async fn main() -> Result<(), Error> {
    let agent = Agent::new("speaker").model("scripted/echo?pace_ms=20");
    let run = run_streamed(agent, "Tell me about the tides.").await?;
    let mut events = run.stream_events();
    let mut is_steered = false;
    while let Some(event) = events.next().await {
        let event = event?;
        if let Some(text) = event.text_delta() {
            print!("{text}");
            if !std::mem::replace(&mut is_steered, true) {
                run.steer(" And about the moon.").await?;
            }
        }
    }
    println!();
    Ok(())
}
