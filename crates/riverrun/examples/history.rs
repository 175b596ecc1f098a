//! An agent that remembers the last exchange only: what its model reads is decided by a function.

use riverrun::{Agent, Error, HistoryEntry, Part, Riverrun, SessionId};

#[tokio::main]
pub async fn main() -> Result<(), Error> {
    let agent = Agent::new("forgetful").model("scripted/echo").merge_history(|mut before, input| {
        before.drain(..before.len().saturating_sub(2));
        // The script repeats the last input, so the count shows what the model was given.
        let count =
            HistoryEntry::User { parts: vec![Part::plain(format!("I remember {} words.", before.len()))] };
        Ok([before, input, vec![count]].concat())
    });
    let riverrun = Riverrun::builder().agent(agent).start().await?;
    let session = SessionId::new("conversation").expect("it fits the alphabet of ids");
    for input in ["Good morning", "And now?", "And then?"] {
        let run = riverrun.run_in(&session, "forgetful", input).await?;
        run.outcome().await?;
        println!("{input} {}", run.final_output().await?.unwrap_or_default());
    }
    Ok(())
}
