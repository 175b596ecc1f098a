//! Which agent is asked, and what.

use std::io::{IsTerminal, Read, Write};

use riverrun_client::Client;
use serde_json::Value;

use crate::cli::exit::{Exit, Failure, Outcome};
use crate::cli::terminal::{Lines, escape};

/// Two words are the agent and the input. One is the agent if it names one, and the input of the default one
/// otherwise.
pub async fn said(words: &[String], client: &Client, may_ask: bool) -> Outcome<(Option<String>, String)> {
    let (agent, input) = match words {
        [agent, input] => (Some(agent.clone()), Some(input.clone())),
        [word] if word != "-" && is_named(client, word).await => (Some(word.clone()), None),
        [input] => (None, Some(input.clone())),
        _ => (None, None),
    };
    let input = match input {
        Some(input) if input == "-" => from_stdin()?,
        Some(input) => input,
        None if may_ask => asked(agent.clone()).await?,
        // Somebody who may not be asked has nothing to pipe either.
        None if std::io::stdin().is_terminal() => String::new(),
        None => from_stdin()?,
    };
    if !input.trim().is_empty() {
        return Ok((agent, input));
    }
    let who =
        agent.as_deref().map_or("the agent".to_owned(), |name| format!("`{}`", escape(name, Lines::One)));
    let example = agent.as_deref().unwrap_or("demo");
    Err(Failure::new(Exit::Usage, format_args!("nothing says what {who} should do"))
        .hint(format_args!("give it an input: riverrun run {example} \"what is known about tides\"")))
}

/// True if the server runs something by this name: an agent, or a model of one of its providers.
async fn is_named(client: &Client, word: &str) -> bool {
    // A key that may not list agents may still run one.
    let Ok(known) = client.agents().await else { return false };
    let entries = |list: &str| known[list].as_array().cloned().unwrap_or_default();
    let is_agent = |name: &str| entries("agents").iter().any(|agent| agent["name"] == name);
    // A provider is told by one of its models, or as `NAME/…`.
    let is_provider = |name: &str| {
        let of = |entry: &Value| entry.as_str().and_then(|text| text.split('/').next().map(str::to_owned));
        entries("providers").iter().any(|entry| of(entry).as_deref() == Some(name))
    };
    match word.split_once('/') {
        Some(("agent", name)) => is_agent(name),
        Some((provider, model)) => !model.contains(char::is_whitespace) && is_provider(provider),
        None => is_agent(word),
    }
}

/// Asks whoever sits at the terminal. Reading cannot be cancelled, so it has a thread of its own.
async fn asked(agent: Option<String>) -> Outcome<String> {
    let who = agent.as_deref().unwrap_or("the agent");
    let mut stderr = std::io::stderr();
    // A terminal that is gone shows with the read.
    let _ = write!(stderr, "what should {} do? ", escape(who, Lines::One));
    let _ = stderr.flush();
    let read = tokio::task::spawn_blocking(|| {
        let mut line = String::new();
        std::io::stdin().read_line(&mut line).map(|_| line)
    });
    let line = read.await.map_err(|error| Failure::new(Exit::Failed, error))?;
    line.map(|line| line.trim().to_owned()).map_err(|error| unreadable(&error))
}

fn from_stdin() -> Outcome<String> {
    let mut text = String::new();
    std::io::stdin().read_to_string(&mut text).map_err(|error| unreadable(&error))?;
    Ok(text.trim_end().to_owned())
}

fn unreadable(error: &std::io::Error) -> Failure {
    Failure::new(Exit::Io, format_args!("stdin: {error}"))
}
