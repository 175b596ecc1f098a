//! `riverrun keys create|list|rotate|revoke|recover-admin`, and `riverrun tenants`.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args, Subcommand};
use riverrun_client::operations::{
    CreateKeyRequest, Key, ListKeysRequest, ListTenantsRequest, RevokeKeyRequest, RotateKeyRequest, Scope,
};
use riverrun_event::{KeyId, TenantId, Timestamp};
use riverrun_log::{Log, Maintenance, SystemClock};
use riverrun_server::edge::{DEFAULT_TENANT, Keys, Problem};
use serde_json::json;

use super::Context;
use super::connect::DEFAULT_DATA_DIR;
use super::duration;
use super::exit::{Exit, Failure, Outcome};
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
    List(ListArgs),
    /// Give a key a new secret and print it, once; the old one works on for a while.
    Rotate(RotateArgs),
    /// End a key now, on open streams too, with its browser credentials.
    Revoke { key: KeyId },
    /// Make a new admin key in a data directory that no server holds. For a lost one, or after a restore.
    RecoverAdmin(RecoverArgs),
}

#[derive(Debug, Args)]
struct ListArgs {
    /// Those of another tenant; the tenant of the calling key without it.
    #[arg(long, conflicts_with = "all_tenants")]
    tenant: Option<TenantId>,
    /// Those of every tenant.
    #[arg(long)]
    all_tenants: bool,
}

#[derive(Debug, Args)]
struct RotateArgs {
    key: KeyId,
    /// How long the old secret works on; 0s ends it now.
    #[arg(long, value_name = "DURATION", value_parser = duration::parse, default_value = "1d")]
    overlap: std::time::Duration,
}

#[derive(Debug, Args)]
struct RecoverArgs {
    /// The data directory; its server must be stopped.
    #[arg(long, value_name = "DIR", default_value = DEFAULT_DATA_DIR)]
    data_dir: PathBuf,
    /// Also revoke every other admin key, of all tenants: for one that was stolen.
    #[arg(long)]
    revoke_others: bool,
}

#[derive(Debug, Args)]
struct CreateArgs {
    /// Whose sessions it opens; the tenant of the calling key without it.
    #[arg(long)]
    tenant: Option<TenantId>,
    /// What it may do: read, write, approve, admin. May be given more than once.
    #[arg(long = "scope", value_name = "SCOPE", value_parser = scopes(), default_values = ["read", "write"])]
    scopes: Vec<Scope>,
    /// What it is for.
    #[arg(long)]
    label: Option<String>,
    /// When it ends by itself, such as 30d.
    #[arg(long, value_name = "DURATION", value_parser = duration::parse)]
    expires_in: Option<std::time::Duration>,
}

/// The words of `--scope`.
fn scopes() -> impl TypedValueParser<Value = Scope> {
    PossibleValuesParser::new(["read", "write", "approve", "admin"]).map(|word| match word.as_str() {
        "write" => Scope::Write,
        "approve" => Scope::Approve,
        "admin" => Scope::Admin,
        _ => Scope::Read,
    })
}

pub async fn run(args: KeysArgs, context: &Context) -> Outcome {
    match args.command {
        KeysCommand::Create(args) => create(args, context).await,
        KeysCommand::List(args) => list(args, context).await,
        KeysCommand::Rotate(args) => rotate(args, context).await,
        KeysCommand::Revoke { key } => revoke(&key, context).await,
        KeysCommand::RecoverAdmin(args) => recover_admin(args, context).await,
    }
}

async fn create(args: CreateArgs, context: &Context) -> Outcome {
    let expires_in_seconds =
        args.expires_in.map(|after| u32::try_from(after.as_secs()).unwrap_or(u32::MAX).into());
    let new = CreateKeyRequest {
        tenant: args.tenant.map(|tenant| tenant.to_string()),
        scopes: args.scopes,
        label: args.label,
        expires_in_seconds,
    };
    let key = context.connect.client()?.create_key(&new).await?;
    if context.output.json {
        return context.output.document(&key);
    }
    context.output.line(key.key.as_deref().unwrap_or_default())?;
    context.output.note(&format!("this is {}; it is shown once, so keep it now", key.key_id));
    Ok(())
}

async fn rotate(args: RotateArgs, context: &Context) -> Outcome {
    let overlap_seconds = Some(i64::try_from(args.overlap.as_secs()).unwrap_or(i64::MAX));
    let request = RotateKeyRequest { overlap_seconds, ..RotateKeyRequest::new(args.key.as_str()) };
    let key = context.connect.client()?.rotate_key(&request).await?;
    if context.output.json {
        return context.output.document(&key);
    }
    context.output.line(key.key.as_deref().unwrap_or_default())?;
    let until = key.former_until.map(|until| Timestamp::from_millis(until).to_string()).unwrap_or_default();
    context.output.note(&format!(
        "this is the new secret of {}; it is shown once. The old one works until {until}",
        key.key_id
    ));
    Ok(())
}

/// Works on the store itself, so that whoever may read the data directory needs no key.
async fn recover_admin(args: RecoverArgs, context: &Context) -> Outcome {
    if !args.data_dir.is_dir() {
        let what = format!("{} is no directory", args.data_dir.display());
        return Err(
            Failure::new(Exit::NotFound, what).hint("name the server's data directory with --data-dir")
        );
    }
    let log = super::store::open(&args.data_dir, None)?;
    let path = args.data_dir.join("admin.key");
    let made = remake_admin(log.clone(), &path, args.revoke_others).await;
    // What was written is durable already; closing only makes the next start quick.
    let _ = log.close().await;
    let (id, revoked) = made?;
    if context.output.json {
        return context.output.document(&json!({ "keyId": id, "file": path, "revoked": revoked }));
    }
    context.output.line(&path.display().to_string())?;
    context
        .output
        .note(&format!("{id} is an admin key of tenant `{DEFAULT_TENANT}`; its text is in that file"));
    if !revoked.is_empty() {
        context.output.note(&format!("{} other admin keys are revoked", revoked.len()));
    }
    Ok(())
}

async fn remake_admin(log: Arc<dyn Log>, path: &Path, revoke_others: bool) -> Outcome<(KeyId, Vec<KeyId>)> {
    let failed = |problem: Problem| Failure::new(Exit::Io, problem.detail());
    let keys = Keys::load(log, Arc::new(SystemClock)).await.map_err(failed)?;
    let others: Vec<KeyId> = keys
        .list(None)
        .into_iter()
        .filter(|key| key.revoked_at.is_none() && key.scopes.iter().any(|scope| scope == "admin"))
        .map(|key| key.id)
        .collect();
    let made = keys.make_admin(path, "recovered").await.map_err(failed)?;
    let mut revoked = Vec::new();
    for id in others.into_iter().filter(|_| revoke_others) {
        keys.revoke(&id).await.map_err(failed)?;
        revoked.push(id);
    }
    Ok((made.id, revoked))
}

/// `riverrun tenants`.
pub async fn tenants(context: &Context) -> Outcome {
    let tenants = context.connect.client()?.list_tenants(&ListTenantsRequest::new()).await?.tenants;
    if context.output.json {
        return context.output.document(&json!({ "data": tenants }));
    }
    for tenant in &tenants {
        context
            .output
            .line(&format!("{:32}  {} live keys, {} in all", tenant.tenant, tenant.live_keys, tenant.keys))?;
    }
    Ok(())
}

async fn list(args: ListArgs, context: &Context) -> Outcome {
    let client = context.connect.client()?;
    let tenant =
        if args.all_tenants { Some("*".to_owned()) } else { args.tenant.map(|tenant| tenant.to_string()) };
    let keys = client.list_keys(&ListKeysRequest { tenant }).await?.keys;
    if context.output.json {
        return context.output.document(&json!({ "data": keys }));
    }
    for key in &keys {
        let tenant = if args.all_tenants { key.tenant.as_str() } else { "" };
        context.output.line(format!("{}  {tenant}", row(key, context)).trim_end())?;
    }
    if keys.is_empty() {
        context.output.note("no keys");
    }
    Ok(())
}

fn row(key: &Key, context: &Context) -> String {
    let style = context.output.style();
    let scopes: Vec<&str> = key.scopes.iter().map(|scope| scope.as_str()).collect();
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
        shorten(&scopes.join(","), 20),
        style.paint(Tone::Dim, &used)
    )
}

async fn revoke(key: &KeyId, context: &Context) -> Outcome {
    context.connect.client()?.revoke_key(&RevokeKeyRequest::new(key.as_str())).await?;
    if context.output.json {
        return context.output.document(&json!({ "keyId": key, "revoked": true }));
    }
    context.output.note(&format!("{key} is revoked"));
    Ok(())
}
