//! A guardrail refuses an output; what was shown of it is retracted.

use riverrun::{Agent, Error, Outcome, OutputCheck, run_streamed};

#[tokio::main]
pub async fn main() -> Result<(), Error> {
    let polite = OutputCheck::new("polite", |text| match text.contains("sunny") {
        true => Err("nobody believes that".to_owned()),
        false => Ok(()),
    });
    let agent = Agent::new("weatherman").model("scripted/text").guardrail(polite);
    let run = run_streamed(agent, "What is the weather in Paris?").await?;
    let mut events = run.stream_events();
    while let Some(event) = events.next().await {
        let event = event?;
        match event.kind.as_str() {
            "item.retracted" => println!("\n(what was said is withdrawn)"),
            _ => print!("{}", event.text_delta().unwrap_or_default()),
        }
    }
    if let Outcome::Failed(error) = run.outcome().await? {
        println!("{}", error.message);
    }
    Ok(())
}
