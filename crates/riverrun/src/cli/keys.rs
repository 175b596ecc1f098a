//! `riverrun keys create|list|revoke`.

use clap::{Args, Subcommand};
use riverrun_client::{Key, NewKey};
use riverrun_event::{KeyId, TenantId, Timestamp};
use serde_json::json;

use super::Context;
use super::duration;
use super::exit::Outcome;
use super::terminal::{Mark, Tone, shorten};

#[derive(Debug, Args)]
pub struct KeysArgs {
    #[command(subcommand)]
    command: KeysCommand,
}

#[derive(Debug, Subcommand)]
enum KeysCommand {
    /// Make a key and print it, once.
    Create(CreateArgs),
    /// List keys; never their secrets.
    List,
    /// End a key now, on open streams too.
    Revoke { key: KeyId },
}

#[derive(Debug, Args)]
struct CreateArgs {
    /// Whose sessions it opens; the tenant of the calling key without it.
    #[arg(long)]
    tenant: Option<TenantId>,
    /// What it may do: read, write, approve, admin. May be given more than once.
    #[arg(long = "scope", value_name = "SCOPE", value_parser = ["read", "write", "approve", "admin"], default_values = ["read", "write"])]
    scopes: Vec<String>,
    /// What it is for.
    #[arg(long)]
    label: Option<String>,
    /// When it ends by itself, such as 30d.
    #[arg(long, value_name = "DURATION", value_parser = duration::parse)]
    expires_in: Option<std::time::Duration>,
}

pub async fn run(args: KeysArgs, context: &Context) -> Outcome {
    match args.command {
        KeysCommand::Create(args) => create(args, context).await,
        KeysCommand::List => list(context).await,
        KeysCommand::Revoke { key } => revoke(&key, context).await,
    }
}

async fn create(args: CreateArgs, context: &Context) -> Outcome {
    let expires_in_seconds = args.expires_in.map(|after| u32::try_from(after.as_secs()).unwrap_or(u32::MAX));
    let new = NewKey { tenant: args.tenant, scopes: args.scopes, label: args.label, expires_in_seconds };
    let key = context.connect.client()?.create_key(&new).await?;
    if context.output.json {
        return context.output.document(&key);
    }
    context.output.line(key.key.as_deref().unwrap_or_default())?;
    context.output.note(&format!("this is {}; it is shown once, so keep it now", key.key_id));
    Ok(())
}

async fn list(context: &Context) -> Outcome {
    let page = context.connect.client()?.keys().await?;
    if context.output.json {
        return context.output.document(&json!({ "data": page.data }));
    }
    for key in &page.data {
        context.output.line(&row(key, context))?;
    }
    if page.data.is_empty() {
        context.output.note("no keys");
    }
    Ok(())
}

fn row(key: &Key, context: &Context) -> String {
    let style = context.output.style();
    let label = shorten(key.label.as_deref().unwrap_or("-"), 24);
    let at = |millis: i64| Timestamp::from_millis(millis).to_string();
    let until = match (key.revoked_at, key.expires_at) {
        (Some(revoked), _) => style.mark(Mark::Stopped, &format!("revoked {}", at(revoked))),
        (None, Some(expires)) => format!("until {}", at(expires)),
        (None, None) => "never expires".to_owned(),
    };
    let used = key.last_used_at.map_or_else(|| "never used".to_owned(), |used| format!("used {}", at(used)));
    format!(
        "{}  {label:24}  {:20}  {until}  {}",
        style.paint(Tone::Id, key.key_id.as_str()),
        shorten(&key.scopes.join(","), 20),
        style.paint(Tone::Dim, &used)
    )
}

async fn revoke(key: &KeyId, context: &Context) -> Outcome {
    context.connect.client()?.revoke_key(key).await?;
    if context.output.json {
        return context.output.document(&json!({ "keyId": key, "revoked": true }));
    }
    context.output.note(&format!("{key} is revoked"));
    Ok(())
}
