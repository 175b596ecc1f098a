//! `riverrun usage` and `riverrun retention`.

use clap::Args;
use riverrun_client::operations::{GetRetentionRequest, GetUsageRequest};
use riverrun_event::TenantId;
use serde_json::Value;

use super::Context;
use super::exit::Outcome;

#[derive(Debug, Args)]
pub struct TenantArgs {
    /// Another tenant than the key's; needs an admin key of the default tenant.
    #[arg(long, conflicts_with = "all")]
    tenant: Option<TenantId>,
    /// Every tenant; needs an admin key of the default tenant.
    #[arg(long)]
    all: bool,
}

impl TenantArgs {
    /// As requests name it; None is the key's own.
    fn named(self) -> Option<String> {
        if self.all { Some("*".to_owned()) } else { self.tenant.map(|tenant| tenant.to_string()) }
    }
}

#[derive(Debug, Args)]
pub struct RetentionArgs {
    #[command(flatten)]
    tenants: TenantArgs,
    /// Only show what would be deleted, which is all that this command does.
    #[arg(long)]
    dry_run: bool,
}

const FIGURES: [(&str, &str); 7] = [
    ("sessions", "sessions"),
    ("storedBytes", "stored bytes"),
    ("runningTurns", "running turns"),
    ("streams", "streams"),
    ("eventsPerSecond", "events/s"),
    ("newSessionsPerSecond", "new sessions/s"),
    ("uploadBytesPerSecond", "upload bytes/s"),
];

pub async fn usage(args: TenantArgs, context: &Context) -> Outcome {
    let request = GetUsageRequest { tenant: args.named() };
    let usage = context.connect.client()?.get_usage(&request).await?;
    if context.output.json {
        return context.output.document(&usage);
    }
    let all = usage["tenants"].as_array().cloned();
    for tenant in all.unwrap_or_else(|| vec![usage]) {
        context.output.line(tenant["tenant"].as_str().unwrap_or_default())?;
        for (key, name) in FIGURES {
            context.output.line(&row(name, &tenant[key]))?;
        }
    }
    Ok(())
}

fn row(name: &str, figure: &Value) -> String {
    let used = figure["used"].as_u64().unwrap_or(0);
    match figure["limit"].as_u64() {
        Some(limit) => format!("  {name:14} {used} of {limit}"),
        None => format!("  {name:14} {used}, no limit"),
    }
}

pub async fn retention(args: RetentionArgs, context: &Context) -> Outcome {
    let request = GetRetentionRequest { tenant: args.tenants.named() };
    let plan = context.connect.client()?.get_retention(&request).await?;
    if context.output.json {
        return context.output.document(&plan);
    }
    let Some(seconds) = plan.retention_seconds else {
        context.output.note("events are kept for ever: `[log] retention` is 0s");
        return Ok(());
    };
    let ahead = plan.clock_ahead_seconds;
    if ahead > 0 {
        context.output.note(&format!(
            "the clock was set forward by {ahead} s; nothing is deleted because of that until it was steady for a day"
        ));
    }
    for session in &plan.sessions {
        context.output.line(&format!(
            "{}  {}/{}  {} events",
            session.deleted_at, session.tenant, session.session_id, session.events
        ))?;
    }
    let more = if plan.more { ", and more" } else { "" };
    context.output.note(&format!(
        "finished sessions are kept for {seconds} s; {} events of {} sessions{more} are deleted within a day",
        plan.events,
        plan.sessions.len()
    ));
    Ok(())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_figure_names_its_limit_if_it_has_one() {
        assert_eq!(row("streams", &json!({"used": 1, "limit": 2})), "  streams        1 of 2");
        assert_eq!(row("streams", &json!({"used": 1})), "  streams        1, no limit");
    }
}
