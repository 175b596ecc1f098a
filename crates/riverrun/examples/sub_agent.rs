//! An agent calls another one as a tool. What the other does is in the same stream, one level down.

use riverrun::{Agent, Error, run_streamed};

#[tokio::main]
pub async fn main() -> Result<(), Error> {
    let weather = Agent::new("weather").description("Knows the weather.").model("scripted/text");
    let agent = Agent::new("guide").model("scripted/subagent").sub_agent(weather);
    let run = run_streamed(agent, "What is the weather in Paris?").await?;
    let mut events = run.stream_events();
    while let Some(event) = events.next().await {
        let event = event?;
        if let Some(text) = event.text_delta() {
            let who = if event.scope.parent_task_id.is_some() { "weather" } else { "guide" };
            println!("{who}: {text}");
        }
    }
    Ok(())
}
