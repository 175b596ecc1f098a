//! `riverrun approve|reject|respond`: decisions about what agents wait for.

mod decision;
mod earlier;

use clap::Args;
use riverrun_client::operations::{Action, ListActionsRequest};
use riverrun_client::{Client, Error};
use riverrun_event::ErrorCode;
use serde_json::{Value, json};

use super::Context;
use super::exit::{Exit, Failure, Outcome};
use super::output::Output;
use super::terminal::{Lines, Mark, Tone, escape, shorten, spelled};
pub use decision::{Decision, DecisionKind, plain};

#[derive(Debug, Args)]
pub struct ApproveArgs {
    /// The action: an id, the beginning of one, or `-` for the only one. Without it and without a flag, what waits is
    /// listed; with a flag it is the only one that waits.
    action: Option<String>,
    /// From now on, for this tool and agent.
    #[arg(long)]
    always: bool,
    /// Run it with these arguments instead, as a JSON object.
    #[arg(long, value_name = "JSON")]
    edit: Option<String>,
}

#[derive(Debug, Args)]
pub struct RejectArgs {
    /// The action: an id, the beginning of one, or `-` for the only one.
    action: String,
    /// Why; the model reads it.
    #[arg(short, long)]
    message: Option<String>,
    /// From now on, for this tool and agent.
    #[arg(long)]
    always: bool,
}

#[derive(Debug, Args)]
pub struct RespondArgs {
    /// The action: an id, the beginning of one, or `-` for the only one.
    action: String,
    /// The answer.
    answer: String,
}

pub async fn approve(args: ApproveArgs, context: &Context) -> Outcome {
    let client = context.connect.client()?;
    let flagged = args.always || args.edit.is_some();
    let wanted = match args.action {
        Some(action) => action,
        None if flagged => "-".to_owned(),
        None => return list(&client, context).await,
    };
    let arguments = args.edit.as_deref().map(edited).transpose()?;
    let kind = if arguments.is_some() { DecisionKind::Edit } else { DecisionKind::Approve };
    let decision = Decision { raw_arguments: arguments, always: args.always.then_some(true), ..plain(kind) };
    decide(&client, &wanted, decision, context).await
}

pub async fn reject(args: RejectArgs, context: &Context) -> Outcome {
    let client = context.connect.client()?;
    let decision = Decision {
        message: args.message,
        always: args.always.then_some(true),
        ..plain(DecisionKind::Reject)
    };
    decide(&client, &args.action, decision, context).await
}

pub async fn respond(args: RespondArgs, context: &Context) -> Outcome {
    let client = context.connect.client()?;
    let decision = Decision { message: Some(args.answer), ..plain(DecisionKind::Respond) };
    decide(&client, &args.action, decision, context).await
}

/// Arguments that a person typed.
pub fn edited(text: &str) -> Outcome<Value> {
    match serde_json::from_str::<Value>(text) {
        Ok(value @ Value::Object(_)) => Ok(value),
        Ok(_) => Err(Failure::new(Exit::Usage, "the arguments must be a JSON object")),
        Err(error) => Err(Failure::new(Exit::Usage, format_args!("the arguments are not JSON: {error}"))),
    }
}

/// Shows what is decided, then decides exactly that.
async fn decide(client: &Client, wanted: &str, mut decision: Decision, context: &Context) -> Outcome {
    let action = find(client, wanted).await?;
    decision.digest = action.digest.clone();
    if !context.output.json {
        show(context.output, action.tool_name.as_deref(), &action.request);
    }
    let decided = match client.decide_action(&decision.request(&action.session_id, &action.action_id)).await {
        Ok(decided) => decided,
        Err(error) => return Err(too_late(client, &action.session_id, &action.action_id, error).await),
    };
    if context.output.json {
        return context.output.document(&decided);
    }
    let word = decided.decision.as_str();
    let mark = if word == "reject" { Mark::Stopped } else { Mark::Done };
    let before = if decided.status == "already_decided" { "  (decided so before)" } else { "" };
    let word = context.output.style().mark(mark, word);
    context.output.line(&format!("{word}  {}{before}", action.action_id))
}

/// Whoever lost is told to whom.
async fn too_late(client: &Client, session: &str, action: &str, error: Error) -> Failure {
    let is_late = matches!(&error, Error::Problem(problem)
        if matches!(problem.error_code(), Some(ErrorCode::DecidedByOther | ErrorCode::ActionExpired)));
    let failure = Failure::from(error);
    if !is_late {
        return failure;
    }
    match earlier::of_session(client, session, action).await {
        Some(told) => Failure { what: format!("{}: {told}", failure.what), ..failure },
        None => failure,
    }
}

/// Exactly what would run: nothing is shortened, and what a terminal would obey or hide is made visible.
pub fn show(output: Output, tool: Option<&str>, request: &Value) {
    let style = output.style_of_notes();
    let said = |name: &str| request[name].as_str().unwrap_or_default();
    let tool = tool.or(request["toolName"].as_str()).unwrap_or_default();
    let prompt = said("prompt");
    if !prompt.is_empty() {
        output.note(&format!("  {}", escape(prompt, Lines::Keep)));
        in_order(output, prompt);
    }
    let arguments = match &request["arguments"] {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    let label = |text: &str| style.paint(Tone::Dim, &format!("{text:10}"));
    if !tool.is_empty() {
        output.note(&format!("  {} {}", label("tool"), style.paint(Tone::Strong, &escape(tool, Lines::One))));
        in_order(output, tool);
    }
    let runs = runs(&request["runs"]);
    if !runs.is_empty() {
        output.note(&format!("  {} {}", label("runs"), escape(&runs, Lines::One)));
        in_order(output, &runs);
    }
    if !arguments.is_empty() {
        output.note(&format!("  {} {}", label("arguments"), escape(&arguments, Lines::One)));
        in_order(output, &arguments);
    }
    let length = arguments.chars().count() + prompt.chars().count();
    if length > ONE_SCREEN {
        let tool = escape(tool, Lines::One);
        output.note(&format!("  all of the above, {length} characters, is one call of {tool}"));
    }
    if !said("digest").is_empty() {
        output.note(&format!(
            "  {} {}",
            label("digest"),
            style.paint(Tone::Dim, &escape(said("digest"), Lines::One))
        ));
    }
}

/// Characters that a small terminal shows at once.
const ONE_SCREEN: usize = 1500;

/// A text with letters from right to left once more, in the order in which it is stored: a terminal may draw it so that
/// it reads as another.
fn in_order(output: Output, text: &str) {
    if let Some(spelled) = spelled(text) {
        let label = output.style_of_notes().paint(Tone::Dim, "in order  ");
        output.note(&format!("  {label} {spelled}"));
    }
}

/// What the call would set in motion, as one line. An argument of a command that has spaces is quoted.
fn runs(runs: &Value) -> String {
    let word = |word: &Value| match word.as_str() {
        Some(text) if !text.is_empty() && !text.contains(|c: char| c.is_whitespace() || c == '"') => {
            text.to_owned()
        }
        Some(_) | None => word.to_string(),
    };
    let words = |name: &str| runs[name].as_array().map(|words| words.iter().map(word).collect::<Vec<_>>());
    let text = |name: &str| runs[name].as_str();
    let mut parts: Vec<String> = Vec::new();
    parts.extend(text("server").map(|server| format!("MCP server {server}:")));
    parts.extend(words("command").map(|command| command.join(" ")));
    parts.extend(text("method").map(str::to_owned));
    parts.extend(text("url").map(str::to_owned));
    parts.extend(text("cwd").map(|cwd| format!("(in {cwd})")));
    parts.extend(words("environment").map(|names| format!("(environment: {})", names.join(", "))));
    parts.extend(words("headers").map(|names| format!("(headers: {})", names.join(", "))));
    parts.join(" ")
}

async fn pending(client: &Client) -> Outcome<Vec<Action>> {
    let mut found = Vec::new();
    let mut request = ListActionsRequest { status: Some("pending".to_owned()), ..ListActionsRequest::new() };
    loop {
        let page = client.list_actions(&request).await?;
        found.extend(page.actions);
        request.cursor = page.cursor;
        if request.cursor.is_none() {
            return Ok(found);
        }
    }
}

async fn find(client: &Client, wanted: &str) -> Outcome<Action> {
    let chosen = choose(wanted, pending(client).await?);
    match chosen {
        Err(failure) if failure.exit == Exit::NotFound && wanted != "-" => {
            // Another decision may have been first.
            let told = earlier::anywhere(client, wanted).await;
            Err(told.map_or(failure, |told| {
                Failure::new(Exit::NotFound, told).hint("`riverrun approve` lists what waits")
            }))
        }
        chosen => chosen,
    }
}

fn choose(wanted: &str, waiting: Vec<Action>) -> Outcome<Action> {
    let fits = |action: &Action| wanted == "-" || action.action_id.starts_with(wanted);
    let mut fits: Vec<Action> = waiting.into_iter().filter(fits).collect();
    match fits.len() {
        1 => Ok(fits.remove(0)),
        0 if wanted == "-" => Err(Failure::new(Exit::NotFound, "nothing waits for a decision")
            .hint("another decision may have been first; `riverrun tail -` shows the newest session")),
        0 => Err(Failure::new(
            Exit::NotFound,
            format_args!("no action `{}` waits for a decision", escape(wanted, Lines::One)),
        )
        .hint("`riverrun approve` lists what waits; another decision may have been first")),
        several => {
            let named = |action: &Action| {
                let tool = action.tool_name.as_deref().or(action.action_type.as_deref()).unwrap_or_default();
                format!("{} ({})", action.action_id, shorten(tool, 40))
            };
            let shown: Vec<String> = fits.iter().take(5).map(named).collect();
            Err(Failure::new(Exit::Usage, format_args!("{several} actions wait; say which one"))
                .hint(format_args!("give one of: {}", shown.join(", "))))
        }
    }
}

/// An action without the members that the list does not show.
fn listed(action: &Action) -> Value {
    let mut listed = json!(action);
    if let Some(members) = listed.as_object_mut() {
        members.remove("requiredAt");
        members.remove("sequence");
    }
    listed
}

async fn list(client: &Client, context: &Context) -> Outcome {
    let waiting = pending(client).await?;
    if context.output.json {
        return context.output.document(&waiting.iter().map(listed).collect::<Vec<_>>());
    }
    if waiting.is_empty() {
        context.output.note("nothing waits for a decision");
    }
    let example = waiting.first().map(|action| action.action_id.to_string());
    let style = context.output.style();
    for action in waiting {
        let session = &action.session_id;
        let arguments = match &action.request["arguments"] {
            Value::Null => String::new(),
            Value::String(text) => text.clone(),
            other => other.to_string(),
        };
        let said = format!("{}  {arguments}", action.tool_name.as_deref().unwrap_or_default());
        let id = style.paint(Tone::Id, action.action_id.as_str());
        context.output.line(&format!(
            "{}  {id}  {}  {session}",
            style.mark(Mark::Waiting, "waiting"),
            shorten(&said, 70)
        ))?;
    }
    if let Some(action) = example {
        context.output.note(&format!("decide: riverrun approve {action}, or reject, or respond"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_action_is_enough_to_be_meant_and_several_are_named() {
        let action = |id: &str| -> Action {
            serde_json::from_value(json!({
                "actionId": id, "toolName": "delete_file", "sessionId": "ses_1", "status": "pending", "sequence": 1,
                "requiredAt": "1970-01-01T00:00:00.000Z", "request": {},
            })).expect("an action")
        };
        let check = |wanted, ids: &[&str]| {
            choose(wanted, ids.iter().map(|id| action(id)).collect())
                .map(|action| action.action_id.to_string())
                .map_err(|failure| (failure.exit, failure.what, failure.hint.unwrap_or_default()))
        };
        assert_eq!(check("-", &["act_1"]), Ok("act_1".to_owned()));
        assert_eq!(check("act_2", &["act_1", "act_2"]), Ok("act_2".to_owned()));
        let (exit, what, hint) = check("-", &["act_1", "act_2"]).expect_err("two wait");
        assert_eq!((exit, what.as_str()), (Exit::Usage, "2 actions wait; say which one"));
        assert_eq!(hint, "give one of: act_1 (delete_file), act_2 (delete_file)");
        let (exit, what, _) = check("-", &[]).expect_err("none waits");
        assert_eq!((exit, what.as_str()), (Exit::NotFound, "nothing waits for a decision"));
    }

    #[test]
    fn what_would_run_is_one_line() {
        for (shown, line) in [
            (
                json!({"command": ["sh", "-c", "rm -r {dir}"], "cwd": "/srv", "environment": ["TOKEN"]}),
                "sh -c \"rm -r {dir}\" (in /srv) (environment: TOKEN)",
            ),
            (
                json!({"method": "POST", "url": "https://a.test/", "headers": ["x-key"]}),
                "POST https://a.test/ (headers: x-key)",
            ),
            (
                json!({"server": "files", "tool": "read", "command": ["mcp-files"]}),
                "MCP server files: mcp-files",
            ),
            (Value::Null, ""),
        ] {
            assert_eq!(runs(&shown), line);
        }
    }
}
