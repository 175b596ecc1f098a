//! A Rust function as a tool.

use riverrun::schemars::{self, JsonSchema};
use riverrun::{Agent, Error, FunctionTool, run_streamed};
use serde::Deserialize;

#[derive(Deserialize, JsonSchema)]
struct City {
    /// The city's name.
    city: String,
}

#[tokio::main]
pub async fn main() -> Result<(), Error> {
    let weather = FunctionTool::new("get_weather", "The weather in a city.", |asked: City| async move {
        format!("sunny in {}, 15°C", asked.city)
    });
    let agent = Agent::new("weatherman").model("scripted/tool").tool(weather.read_only());
    let run = run_streamed(agent, "What is the weather in Paris?").await?;
    let mut events = run.stream_events();
    while let Some(event) = events.next().await {
        println!("{}", event?.kind.as_str());
    }
    println!("{}", run.final_output().await?.unwrap_or_default());
    Ok(())
}
