//! `riverrun jobs`: the jobs of a session, their items, cancelling one, and trying one failed item again.

use clap::{Args, Subcommand};
use std::collections::BTreeMap;

use riverrun_client::operations::{
    CancelJobRequest, GetJobRequest, Job, JobStatus, JobSummary, ListJobsRequest, RetryJobItemRequest,
};
use serde::Serialize;
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
        JobsCommand::List => {
            list(&client.list_jobs(&ListJobsRequest::new(session.as_str())).await?.jobs, context)
        }
        JobsCommand::Show { job } => {
            show(&client.get_job(&GetJobRequest::new(job, session.as_str())).await?, context)
        }
        JobsCommand::Cancel { job, reason } => {
            let request = CancelJobRequest { reason, ..CancelJobRequest::new(job, session.as_str()) };
            let job = client.cancel_job(&request).await?;
            answer(&job, job.status, &job.job_id, None, context)
        }
        JobsCommand::Retry { job, item, force, reason } => {
            let request = RetryJobItemRequest {
                force: force.then_some(true),
                reason,
                ..RetryJobItemRequest::new(item, job, session.as_str())
            };
            let item = client.retry_job_item(&request).await?;
            answer(&item, item.status, &item.item_id, Some(item.attempts), context)
        }
    }
}

fn list(jobs: &[JobSummary], context: &Context) -> Outcome {
    if context.output.json {
        return context.output.document(&json!({ "jobs": jobs }));
    }
    if jobs.is_empty() {
        context.output.note("this session has no jobs");
    }
    for job in jobs {
        context.output.line(&summary(job.status, &job.job_id, job.title.as_deref(), &job.counts, context))?;
    }
    Ok(())
}

fn show(job: &Job, context: &Context) -> Outcome {
    if context.output.json {
        return context.output.document(job);
    }
    context.output.line(&summary(job.status, &job.job_id, job.title.as_deref(), &job.counts, context))?;
    for item in &job.items {
        context.output.line(&format!("  {}", line_of(item, context)))?;
    }
    let failed = job.items.iter().find(|item| item["status"] == "failed");
    if let Some(item) = failed {
        let (job, item) = (escape(&job.job_id, Lines::One), escape(word(item, "itemId"), Lines::One));
        context.output.note(&format!("try it again: riverrun jobs retry {job} {item}"));
    }
    Ok(())
}

fn summary(
    status: JobStatus,
    id: &str,
    title: Option<&str>,
    counts: &BTreeMap<String, i64>,
    context: &Context,
) -> String {
    let count = |name: &str| counts.get(name).copied().unwrap_or_default();
    let style = context.output.style();
    let done = count("completed") + count("reported");
    let mut counted = format!("{done} of {}", count("total"));
    if count("failed") > 0 {
        counted.push_str(&format!(", {} failed", count("failed")));
    }
    format!(
        "{}  {}  {}  {}",
        style.mark(Mark::of_status(status.as_str()), status.as_str()),
        style.paint(Tone::Id, &escape(id, Lines::One)),
        shorten(title.unwrap_or_default(), 60),
        style.paint(Tone::Dim, &counted)
    )
}

fn line_of(item: &Value, context: &Context) -> String {
    let style = context.output.style();
    let attempts = item["attempts"].as_u64().unwrap_or_default();
    let attempts = if attempts == 1 { "1 attempt".to_owned() } else { format!("{attempts} attempts") };
    let error = word(&item["lastError"], "message");
    format!(
        "{}  {}  {}  {}",
        style.mark(Mark::of_status(word(item, "status")), &escape(word(item, "status"), Lines::One)),
        style.paint(Tone::Id, &escape(word(item, "itemId"), Lines::One)),
        style.paint(Tone::Dim, &attempts),
        shorten(error, 80)
    )
}

fn word<'a>(item: &'a Value, name: &str) -> &'a str {
    item[name].as_str().unwrap_or_default()
}

fn answer(
    result: &impl Serialize,
    status: JobStatus,
    id: &str,
    attempts: Option<i64>,
    context: &Context,
) -> Outcome {
    if context.output.json {
        return context.output.document(result);
    }
    let style = context.output.style();
    let mut line = format!(
        "{}  {}",
        style.mark(Mark::of_status(status.as_str()), status.as_str()),
        style.paint(Tone::Id, &escape(id, Lines::One))
    );
    if let Some(attempts) = attempts {
        line.push_str(&format!("  attempt {attempts}"));
    }
    context.output.line(&line)
}
