//! An agent answers, and its words come as they are said.

use riverrun::{Agent, Error, run_streamed};

#[tokio::main]
pub async fn main() -> Result<(), Error> {
    let agent = Agent::new("hello").instructions("Be friendly and brief.").model("scripted/text");
    let run = run_streamed(agent, "What is the weather in Paris?").await?;
    let mut events = run.stream_events();
    while let Some(event) = events.next().await {
        print!("{}", event?.text_delta().unwrap_or_default());
    }
    println!("\n{} tokens", run.usage().await?.output_tokens.unwrap_or_default());
    Ok(())
}
