//! `riverrun sessions`.

use std::time::Duration;

use clap::Args;
use riverrun_client::Client;
use riverrun_client::operations::{ListSessionsRequest, Session};
use riverrun_event::Timestamp;
use serde_json::{Value, json};

use super::Context;
use super::duration;
use super::exit::Outcome;
use super::interrupt::Interrupts;
use super::terminal::{Lines, Mark, Style, Tone, escape, shorten, width};

#[derive(Debug, Args)]
pub struct SessionsArgs {
    /// Only those in this status.
    #[arg(long)]
    status: Option<String>,
    /// Only those that changed so recently, such as 1h.
    #[arg(long, value_name = "DURATION", value_parser = duration::parse)]
    since: Option<Duration>,
    /// Only those with this tag.
    #[arg(long)]
    tag: Option<String>,
    /// At most so many.
    #[arg(long, default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..=1000))]
    limit: u32,
    /// List again every two seconds.
    #[arg(short, long)]
    watch: bool,
}

const WATCH_EVERY: Duration = Duration::from_secs(2);

pub async fn run(args: SessionsArgs, context: &Context) -> Outcome {
    let client = context.connect.client()?;
    let mut interrupts = Interrupts::listen()?;
    loop {
        let sessions = fetch(&client, &args).await?;
        show(&sessions, &args, context)?;
        if !args.watch {
            return Ok(());
        }
        tokio::select! {
            () = interrupts.next() => return Ok(()),
            () = tokio::time::sleep(WATCH_EVERY) => {}
        }
    }
}

async fn fetch(client: &Client, args: &SessionsArgs) -> Outcome<Vec<Session>> {
    let since = args.since.map(|since| {
        let since = i64::try_from(since.as_millis()).unwrap_or(i64::MAX);
        Timestamp::from_millis(duration::now_millis().saturating_sub(since)).to_string()
    });
    let mut request = ListSessionsRequest {
        status: args.status.clone(),
        since,
        tag: args.tag.clone(),
        ..ListSessionsRequest::new()
    };
    let mut sessions = Vec::new();
    let wanted = args.limit as usize;
    loop {
        request.limit = Some((wanted - sessions.len()).min(200) as i64);
        let page = client.list_sessions(&request).await?;
        sessions.extend(page.sessions);
        request.cursor = page.cursor;
        if request.cursor.is_none() || sessions.len() >= wanted {
            sessions.truncate(wanted);
            return Ok(sessions);
        }
    }
}

fn show(sessions: &[Session], args: &SessionsArgs, context: &Context) -> Outcome {
    if context.output.json {
        return context.output.document(&json!({ "data": sessions.iter().map(listed).collect::<Vec<_>>() }));
    }
    let style = context.output.style();
    if args.watch && style.colour {
        context.output.data("\x1b[2J\x1b[H")?;
    }
    let now = duration::now_millis();
    for session in sessions {
        context.output.line(&row(session, style, now, width()))?;
    }
    if sessions.is_empty() {
        context.output.note("no sessions; `riverrun play examples/recordings/weather.ndjson` makes one");
    }
    Ok(())
}

/// A session without the members that only a look at one session is for.
fn listed(session: &Session) -> Value {
    let mut listed = json!(session);
    if let Some(members) = listed.as_object_mut() {
        members.remove("firstAvailable");
        members.remove("metadata");
    }
    listed
}

fn row(session: &Session, style: Style, now: i64, width: usize) -> String {
    let status = session.status.as_str();
    let age = Timestamp::parse(&session.updated_at)
        .ok()
        .map_or_else(|| "-".to_owned(), |at| duration::ago(now - at.millis()));
    let id = session.session_id.as_str();
    let head = format!("{:>6} {:>4}", session.head, age);
    let title = session.title.as_deref().or(session.agent.as_deref()).unwrap_or("");
    let room = width.saturating_sub(id.chars().count() + 12 + head.len() + 6);
    format!(
        "{}  {}  {}  {}",
        style.paint(Tone::Id, id),
        pad(style, status),
        style.paint(Tone::Dim, &head),
        shorten(title, room.max(10))
    )
}

/// The mark, padded to its column before it is coloured, so that columns line up.
fn pad(style: Style, status: &str) -> String {
    let word = escape(status, Lines::One);
    style.mark(Mark::of_status(status), &format!("{word:10}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_shows_id_status_head_age_and_title() {
        let session: Session = serde_json::from_value(json!({
            "sessionId": "ses_1", "title": "Weather\u{1b}", "status": "completed", "head": 129,
            "createdAt": "1970-01-01T00:00:00.000Z", "updatedAt": "1970-01-01T00:00:00.000Z", "cursor": "129..a",
            "firstAvailable": 1,
        }))
        .expect("valid");
        assert_eq!(
            row(&session, Style::PLAIN, 60_000, 80),
            "ses_1  ✓ completed      129   1m  Weather\\u{1b}"
        );
    }
}
