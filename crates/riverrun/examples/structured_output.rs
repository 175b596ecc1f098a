//! The final output is a value of a Rust type; what does not fit goes back to the model.

use riverrun::schemars::{self, JsonSchema};
use riverrun::{Agent, Error, Riverrun};
use serde::Deserialize;

#[derive(Debug, Deserialize, JsonSchema)]
struct Weather {
    city: String,
    celsius: i32,
}

const SCRIPT: &str = r#"
[[step]]
play = [{ text = { pieces = ['{"city":"Paris",', '"celsius":15}'] } }]
"#;

#[tokio::main]
pub async fn main() -> Result<(), Error> {
    let agent = Agent::new("weatherman").model("scripted/json").output_type::<Weather>();
    let riverrun = Riverrun::builder().agent(agent).script("json", SCRIPT).start().await?;
    let run = riverrun.run_streamed("weatherman", "What is the weather in Paris?").await?;
    run.outcome().await?;
    let weather: Option<Weather> = run.final_output_as().await?;
    if let Some(Weather { city, celsius }) = weather {
        println!("{city}: {celsius}°C");
    }
    Ok(())
}
