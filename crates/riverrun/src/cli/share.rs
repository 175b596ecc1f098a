//! `riverrun share`: links by which anybody who has them may read a session up to a moment.

use clap::{Args, Subcommand};
use riverrun_client::operations::{CreateShareRequest, ListSharesRequest, RevokeShareRequest, Share};
use serde_json::json;

use super::connect::resolve_session;
use super::exit::{Exit, Failure, Outcome};
use super::terminal::{Lines, Mark, Tone, escape, shorten};
use super::{Context, duration};

#[derive(Debug, Args)]
pub struct ShareArgs {
    #[command(subcommand)]
    command: Option<ShareCommand>,
    /// An id, the beginning of one, or `-` for the session that changed last.
    #[arg(long, value_name = "ID", default_value = "-", global = true)]
    session: String,
    /// What the link is called; the session's title without it.
    #[arg(long)]
    title: Option<String>,
    /// How long the link works, such as 7d; 30d without it.
    #[arg(long, value_name = "DURATION", value_parser = duration::parse)]
    expires_in: Option<std::time::Duration>,
}

#[derive(Debug, Subcommand)]
enum ShareCommand {
    /// List the links to the session.
    List,
    /// Revoke a link: nobody can read by it any more.
    Revoke {
        /// The share: an id, the beginning of one, or `-` for the only one.
        share: String,
    },
}

pub async fn run(args: ShareArgs, context: &Context) -> Outcome {
    let client = context.connect.client()?;
    let session = resolve_session(&client, &args.session).await?;
    match args.command {
        None => {
            let expires_in = args.expires_in.map(|time| i64::try_from(time.as_secs()).unwrap_or(i64::MAX));
            let request = CreateShareRequest {
                title: args.title,
                expires_in,
                ..CreateShareRequest::new(session.as_str())
            };
            let share = client.create_share(&request).await?;
            if context.output.json {
                return context.output.document(&json!({ "sessionId": session, "share": share }));
            }
            context.output.note(&format!("works until {}", escape(&share.expires_at, Lines::One)));
            context.output.line(&escape(&share.url, Lines::One))
        }
        Some(ShareCommand::List) => {
            list(&client.list_shares(&ListSharesRequest::new(session.as_str())).await?.shares, context)
        }
        Some(ShareCommand::Revoke { share }) => {
            let shares = client.list_shares(&ListSharesRequest::new(session.as_str())).await?.shares;
            let share = choose(&share, &shares)?;
            client.revoke_share(&RevokeShareRequest::new(session.as_str(), &share.share_id)).await?;
            if context.output.json {
                return context.output.document(&json!({ "sessionId": session, "revoked": share.share_id }));
            }
            let mark = context.output.style().mark(Mark::Done, "revoked");
            context.output.line(&format!("{mark}  {}", escape(&share.share_id, Lines::One)))
        }
    }
}

fn list(shares: &[Share], context: &Context) -> Outcome {
    if context.output.json {
        return context.output.document(&json!({ "shares": shares }));
    }
    if shares.is_empty() {
        context.output.note("this session was not shared");
    }
    let style = context.output.style();
    for share in shares {
        let mark = if share.status == "live" { Mark::Done } else { Mark::Stopped };
        context.output.line(&format!(
            "{}  {}  {}  {}",
            style.mark(mark, &share.status),
            style.paint(Tone::Id, &escape(&share.url, Lines::One)),
            shorten(&share.title, 60),
            style.paint(Tone::Dim, &format!("until {}", escape(&share.expires_at, Lines::One)))
        ))?;
    }
    Ok(())
}

fn choose<'a>(typed: &str, shares: &'a [Share]) -> Outcome<&'a Share> {
    let live = shares.iter().filter(|share| share.status == "live");
    let mut fits = live.filter(|share| typed == "-" || share.share_id.starts_with(typed));
    match (fits.next(), fits.next()) {
        (Some(one), None) => Ok(one),
        (Some(_), Some(_)) => {
            Err(Failure::new(Exit::Usage, format_args!("`{typed}` could be more than one share"))
                .hint("`riverrun share list` lists them"))
        }
        (None, _) => {
            let typed = escape(typed, Lines::One);
            Err(Failure::new(Exit::NotFound, format_args!("this session has no live share `{typed}`"))
                .hint("`riverrun share list` lists those that there are; `--session` names another session"))
        }
    }
}
