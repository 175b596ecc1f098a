//! A hook looks at every call before it runs, and changes its arguments.

use riverrun::schemars::{self, JsonSchema};
use riverrun::{Agent, Error, FunctionTool, HookInput, HookOutput, HookPoint, HookUse, run_streamed};
use serde::Deserialize;
use serde_json::json;

#[derive(Deserialize, JsonSchema)]
struct Place {
    city: String,
}

#[tokio::main]
pub async fn main() -> Result<(), Error> {
    let weather = FunctionTool::new("get_weather", "The weather in a city.", |place: Place| async move {
        format!("18 °C in {}", place.city)
    });
    let hook = HookUse::new("to-rome", [HookPoint::PreToolUse], |_: HookInput| async {
        HookOutput::update(json!({"city": "Rome"})).with_reason("all roads lead there")
    });
    let agent = Agent::new("weatherman").model("scripted/tool").tool(weather.read_only()).hook(hook);
    let run = run_streamed(agent, "What is the weather in Paris?").await?;
    let mut events = run.stream_events();
    while let Some(event) = events.next().await {
        let event = event?;
        match event.kind.as_str() {
            "hook.completed" | "tool.started" | "tool.result" => println!("{}", event.kind.as_str()),
            _ => print!("{}", event.text_delta().unwrap_or_default()),
        }
    }
    Ok(())
}
