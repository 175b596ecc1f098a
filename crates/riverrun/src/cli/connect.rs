//! From flags and environment to a client, and from what a user typed to an id.

use std::path::{Path, PathBuf};

use clap::Args;
use riverrun_client::operations::{GetSessionRequest, ListSessionsRequest};
use riverrun_client::{Client, Error};
use riverrun_event::nearest;
use riverrun_event::{ErrorCode, SessionId};

use super::exit::{Exit, Failure, Outcome};
use super::terminal::{Lines, escape};

pub const DEFAULT_URL: &str = "http://127.0.0.1:7777";
pub const DEFAULT_DATA_DIR: &str = "./.riverrun";

#[derive(Debug, Clone, Args)]
pub struct ConnectArgs {
    /// The server. Without it: RIVERRUN_URL, then http://127.0.0.1:7777.
    // The variable is not read by the parser, whose usage lines would then name the flag as if it were needed.
    #[arg(long = "url", global = true, value_name = "URL", help_heading = "Connection")]
    given_url: Option<String>,
    /// A file that holds the key. Without it: RIVERRUN_KEY, then ./.riverrun/admin.key.
    #[arg(long, global = true, value_name = "FILE", help_heading = "Connection")]
    pub key_file: Option<PathBuf>,
}

impl ConnectArgs {
    /// The server that somebody named.
    pub fn named_url(&self) -> Option<String> {
        let given = self.given_url.clone().or_else(|| riverrun_secret::variable("RIVERRUN_URL"));
        given.filter(|url| !url.is_empty())
    }

    pub fn url(&self) -> String {
        self.named_url().unwrap_or_else(|| DEFAULT_URL.to_owned())
    }

    pub fn client(&self) -> Outcome<Client> {
        Ok(Client::new(&self.url(), self.key()?.as_deref())?)
    }

    /// Keys never come from the command line: other users of the machine can read it.
    pub fn key(&self) -> Outcome<Option<String>> {
        if let Some(path) = &self.key_file {
            return read_key(path)
                .map(Some)
                .map_err(|e| Failure::file(path, &e).hint("give a file that holds one key"));
        }
        if let Some(key) = riverrun_secret::variable("RIVERRUN_KEY")
            && !key.trim().is_empty()
        {
            return Ok(Some(key.trim().to_owned()));
        }
        Ok(read_key(&Path::new(DEFAULT_DATA_DIR).join("admin.key")).ok())
    }
}

impl ConnectArgs {
    /// As `key`, for a command that names the server's data directory: its admin key comes before the default's.
    pub fn key_in(&self, data_dir: &Path) -> Outcome<Option<String>> {
        let said = self.key_file.is_some()
            || riverrun_secret::variable("RIVERRUN_KEY").is_some_and(|key| !key.trim().is_empty());
        match read_key(&data_dir.join("admin.key")) {
            Ok(key) if !said => Ok(Some(key)),
            Ok(_) | Err(_) => self.key(),
        }
    }
}

fn read_key(path: &Path) -> std::io::Result<String> {
    Ok(std::fs::read_to_string(path)?.trim().to_owned())
}

/// How many sessions are looked at for a prefix.
const LOOK_AT: usize = 1000;

/// The session that the user means: an id, the beginning of exactly one id, or `-` for the one that changed last.
pub async fn resolve_session(client: &Client, typed: &str) -> Outcome<SessionId> {
    if typed == "-" {
        let page = client
            .list_sessions(&ListSessionsRequest { limit: Some(100), ..ListSessionsRequest::new() })
            .await?;
        let newest = page.sessions.into_iter().max_by(|a, b| a.updated_at.cmp(&b.updated_at));
        let newest = newest.ok_or_else(|| {
            Failure::new(Exit::NotFound, "there is no session yet")
                .hint("make one: `riverrun play examples/recordings/weather.ndjson`")
        })?;
        return session_id(&newest.session_id);
    }
    let id = SessionId::new(typed).map_err(|e| {
        Failure::new(Exit::Usage, format_args!("`{}` is no session id: {e}", escape(typed, Lines::One)))
    })?;
    match client.get_session(&GetSessionRequest::new(id.as_str())).await {
        Ok(session) => return session_id(&session.session_id),
        Err(Error::Problem(problem)) if problem.error_code() == Some(ErrorCode::NotFound) => {}
        Err(error) => return Err(error.into()),
    }
    choose(typed, &known_ids(client).await?)
}

/// An id that a server sent.
pub fn session_id(text: &str) -> Outcome<SessionId> {
    SessionId::new(text).map_err(|e| Failure::new(Exit::Failed, e))
}

async fn known_ids(client: &Client) -> Outcome<Vec<String>> {
    let mut ids = Vec::new();
    let mut request = ListSessionsRequest { limit: Some(200), ..ListSessionsRequest::new() };
    loop {
        let page = client.list_sessions(&request).await?;
        ids.extend(page.sessions.into_iter().map(|session| session.session_id));
        request.cursor = page.cursor;
        if request.cursor.is_none() || ids.len() >= LOOK_AT {
            return Ok(ids);
        }
    }
}

fn choose(typed: &str, known: &[String]) -> Outcome<SessionId> {
    let fits: Vec<&String> = known.iter().filter(|id| id.starts_with(typed)).collect();
    match fits.as_slice() {
        [one] => session_id(one),
        [] => {
            let failure = Failure::new(Exit::NotFound, format_args!("session `{typed}` not found"));
            Err(match nearest(typed, known.iter().map(String::as_str)) {
                Some(near) => {
                    failure.hint(format_args!("did you mean `{near}`? `riverrun sessions` lists all"))
                }
                None => failure.hint("`riverrun sessions` lists what this key can see"),
            })
        }
        several => {
            let shown: Vec<&str> = several.iter().take(5).map(|id| id.as_str()).collect();
            Err(Failure::new(
                Exit::Usage,
                format_args!("`{typed}` is the beginning of {} sessions", several.len()),
            )
            .hint(format_args!("give more of the id: {}", shown.join(", "))))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_unique_beginning_is_enough() {
        let known = ["ses_abc1".to_owned(), "ses_abd2".to_owned()];
        let check = |typed| {
            choose(typed, &known).map(|id| id.to_string()).map_err(|f| (f.exit, f.hint.unwrap_or_default()))
        };
        assert_eq!(check("ses_abc"), Ok("ses_abc1".to_owned()));
        assert_eq!(check("ses_ab"), Err((Exit::Usage, "give more of the id: ses_abc1, ses_abd2".to_owned())));
        let (exit, hint) = check("ses_abe1").expect_err("no such id");
        assert_eq!((exit, hint.contains("did you mean `ses_abc1`")), (Exit::NotFound, true));
    }
}
