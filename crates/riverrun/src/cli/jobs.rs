//! `riverrun jobs`: the jobs of a session, their items, cancelling one, and trying one failed item again.

use clap::{Args, Subcommand};
use riverrun_client::{Job, JobItem};
use serde_json::{Value, json};

use super::Context;
use super::connect::resolve_session;
use super::exit::Outcome;
use super::terminal::{Lines, Mark, Tone, escape, shorten};

#[derive(Debug, Args)]
pub struct JobsArgs {
    #[command(subcommand)]
    command: Option<JobsCommand>,
    /// An id, the beginning of one, or `-` for the session that changed last.
    #[arg(long, value_name = "ID", default_value = "-", global = true)]
    session: String,
}

#[derive(Debug, Subcommand)]
enum JobsCommand {
    /// List the newest jobs; this is what no command does too.
    List,
    /// Show a job with its items.
    Show { job: String },
    /// Cancel a job that has not ended; items that are complete stay complete.
    Cancel {
        job: String,
        /// Why, for the record.
        #[arg(long)]
        reason: Option<String>,
    },
    /// Begin another attempt at one failed item; the other items keep their results.
    Retry {
        job: String,
        item: String,
        /// Also an item whose worker reported that another attempt cannot succeed.
        #[arg(long)]
        force: bool,
        /// Why, for the record.
        #[arg(long)]
        reason: Option<String>,
    },
}

pub async fn run(args: JobsArgs, context: &Context) -> Outcome {
    let client = context.connect.client()?;
    let session = resolve_session(&client, &args.session).await?;
    match args.command.unwrap_or(JobsCommand::List) {
        JobsCommand::List => list(&client.jobs(&session).await?, context),
        JobsCommand::Show { job } => show(&client.job(&session, &job).await?, context),
        JobsCommand::Cancel { job, reason } => {
            answer(&client.cancel_job(&session, &job, reason.as_deref()).await?, "jobId", context)
        }
        JobsCommand::Retry { job, item, force, reason } => {
            let retried = client.retry_job_item(&session, &job, &item, force, reason.as_deref()).await?;
            answer(&retried, "itemId", context)
        }
    }
}

fn list(jobs: &[Job], context: &Context) -> Outcome {
    if context.output.json {
        return context.output.document(&json!({ "jobs": jobs }));
    }
    if jobs.is_empty() {
        context.output.note("this session has no jobs");
    }
    for job in jobs {
        context.output.line(&summary(job, context))?;
    }
    Ok(())
}

fn show(job: &Job, context: &Context) -> Outcome {
    if context.output.json {
        return context.output.document(job);
    }
    context.output.line(&summary(job, context))?;
    for item in &job.items {
        context.output.line(&format!("  {}", line_of(item, context)))?;
    }
    let failed = job.items.iter().find(|item| item.status == "failed");
    if let Some(item) = failed {
        let (job, item) = (escape(&job.job_id, Lines::One), escape(&item.item_id, Lines::One));
        context.output.note(&format!("try it again: riverrun jobs retry {job} {item}"));
    }
    Ok(())
}

fn summary(job: &Job, context: &Context) -> String {
    let style = context.output.style();
    let done = job.counts.completed + job.counts.reported;
    let mut counted = format!("{done} of {}", job.counts.total);
    if job.counts.failed > 0 {
        counted.push_str(&format!(", {} failed", job.counts.failed));
    }
    format!(
        "{}  {}  {}  {}",
        style.mark(Mark::of_status(&job.status), &escape(&job.status, Lines::One)),
        style.paint(Tone::Id, &escape(&job.job_id, Lines::One)),
        shorten(job.title.as_deref().unwrap_or_default(), 60),
        style.paint(Tone::Dim, &counted)
    )
}

fn line_of(item: &JobItem, context: &Context) -> String {
    let style = context.output.style();
    let attempts =
        if item.attempts == 1 { "1 attempt".to_owned() } else { format!("{} attempts", item.attempts) };
    let error = item.more.get("lastError").and_then(|error| error["message"].as_str()).unwrap_or_default();
    format!(
        "{}  {}  {}  {}",
        style.mark(Mark::of_status(&item.status), &escape(&item.status, Lines::One)),
        style.paint(Tone::Id, &escape(&item.item_id, Lines::One)),
        style.paint(Tone::Dim, &attempts),
        shorten(error, 80)
    )
}

fn answer(result: &Value, id: &str, context: &Context) -> Outcome {
    if context.output.json {
        return context.output.document(result);
    }
    let status = result["status"].as_str().unwrap_or_default();
    let style = context.output.style();
    let mut line = format!(
        "{}  {}",
        style.mark(Mark::of_status(status), &escape(status, Lines::One)),
        style.paint(Tone::Id, &escape(result[id].as_str().unwrap_or_default(), Lines::One))
    );
    if let Some(attempts) = result["attempts"].as_u64() {
        line.push_str(&format!("  attempt {attempts}"));
    }
    context.output.line(&line)
}
