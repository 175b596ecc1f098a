//! Which agent is asked, and what.

use std::io::{IsTerminal, Read, Write};

use riverrun_client::Client;
use riverrun_client::operations::ListAgentsRequest;
use riverrun_event::nearest;

use crate::cli::exit::{Exit, Failure, Outcome};
use crate::cli::terminal::{Lines, escape};

/// Two words are the agent and the input. One is the agent if it names one, and the input of the default one
/// otherwise.
pub async fn said(words: &[String], client: &Client, may_ask: bool) -> Outcome<(Option<String>, String)> {
    let (agent, input) = match words {
        [agent, input] => (Some(agent.clone()), Some(input.clone())),
        [word] if word != "-" => match Known::of(client).await {
            Some(known) if known.has(word) => (Some(word.clone()), None),
            Some(known) => {
                known.refuse_mistyped(word, is_something_piped())?;
                (None, Some(word.clone()))
            }
            // A key that may not list agents may still run one.
            None => (None, Some(word.clone())),
        },
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

/// What the server runs by name: agents, and models of its providers.
struct Known {
    agents: Vec<String>,
    /// Each is told by one of its models, or as `NAME/…`.
    providers: Vec<String>,
}

impl Known {
    async fn of(client: &Client) -> Option<Self> {
        let known = client.list_agents(&ListAgentsRequest::new()).await.ok()?;
        let provider = |entry: &String| Some(entry.split('/').next()?.to_owned());
        Some(Self {
            agents: known.agents.into_iter().map(|agent| agent.name).collect(),
            providers: known.providers.iter().filter_map(provider).collect(),
        })
    }

    fn has(&self, word: &str) -> bool {
        let is_agent = |name: &str| self.agents.iter().any(|agent| agent == name);
        match word.split_once('/') {
            Some(("agent", name)) => is_agent(name),
            Some((provider, model)) => {
                !model.contains(char::is_whitespace) && self.providers.iter().any(|known| known == provider)
            }
            None => is_agent(word),
        }
    }

    /// A single word that is nearly an agent, or that stands beside an input, was not meant as the input.
    fn refuse_mistyped(&self, word: &str, is_input_piped: bool) -> Outcome {
        let is_single = !word.contains(char::is_whitespace);
        let near = nearest(word, self.agents.iter().map(String::as_str)).filter(|_| is_single);
        if near.is_none() && !(is_single && is_input_piped) {
            return Ok(());
        }
        let said = escape(word, Lines::One);
        let what = match near {
            Some(near) => format!("there is no agent `{said}`; did you mean `{near}`?"),
            None => format!("there is no agent `{said}`, and stdin has an input too"),
        };
        let example = near.or(self.agents.first().map(String::as_str)).unwrap_or("AGENT");
        Err(Failure::new(Exit::Usage, what).hint(format_args!(
            "`riverrun agents` lists them; if it is the input, name the agent too: riverrun run {example} \"{said}\""
        )))
    }
}

/// True if something can be read from stdin now. It does not wait: a pipe that nobody writes to is no input.
fn is_something_piped() -> bool {
    let stdin = std::io::stdin();
    !stdin.is_terminal() && rustix::io::ioctl_fionread(&stdin).is_ok_and(|waiting| waiting > 0)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_that_is_nearly_an_agent_or_stands_beside_an_input_is_refused() {
        let known = Known { agents: vec!["demo".to_owned()], providers: vec!["scripted".to_owned()] };
        let check = |word: &str, piped| known.refuse_mistyped(word, piped).map_err(|failure| failure.what);
        let near = Err("there is no agent `dmo`; did you mean `demo`?".to_owned());
        assert_eq!(check("dmo", false), near);
        assert_eq!(check("dmo", true), near);
        assert_eq!(check("weather", false), Ok(()));
        assert!(check("weather", true).is_err());
        assert_eq!(check("what is the weather", true), Ok(()));
        assert!(known.has("demo") && known.has("agent/demo") && known.has("scripted/echo"));
        assert!(!known.has("dmo") && !known.has("scripted/a b"));
    }
}
