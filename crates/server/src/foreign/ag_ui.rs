//! AG-UI: a run is started, or resumed with the answers to its interrupts.

use axum::extract::{Request, State};
use axum::response::Response;
use riverrun_dialect::ag_ui::request::{RunAgentInput, decode};
use riverrun_dialect::{Dialect, request};
use riverrun_event::{RawJson, TurnId};
use riverrun_log::SessionKey;
use riverrun_runner::{Settings, Submit};

use super::chat_agent::{chosen, session_of};
use super::decisions::{Answer, decide_all, decision};
use super::start::{Seen, Started, start, stream};
use super::{Asking, Refusal, call, enter};
use crate::app::App;
use crate::edge::{Scope, not_found};

const DIALECT: Dialect = Dialect::AgUi;

pub async fn run(State(app): State<App>, request: Request) -> Response {
    enter(&app, DIALECT, Scope::Write, request, async |asking| serve(&app, asking).await).await
}

async fn serve(app: &App, asking: Asking) -> Result<Response, Refusal> {
    let input = decode(&asking.body)?;
    let caller = &asking.caller;
    let session = session_of(&input.thread_id);
    if !input.resume.is_empty() {
        let key = SessionKey::new(caller.tenant().clone(), session);
        caller.require_session(&key.session)?;
        let answers = input.resume.iter().map(|resume| Answer {
            action: resume.interrupt_id.clone(),
            decision: decision(&resume.decision(), resume.payload.as_ref()),
            message: None,
        });
        let resumed = decide_all(app, caller, &key, answers.collect()).await?;
        let hub = app.hubs().get(&key).await?.ok_or_else(not_found)?;
        let started = Started { hub, turn: resumed.turn };
        let seen = Seen { event: Some(resumed.before), ..Seen::default() };
        return Ok(stream(app, caller, &started, DIALECT, seen).await?);
    }
    let submit = submit(app, &input);
    let (started, _) = start(app, caller, Some(session), submit).await?;
    Ok(stream(app, caller, &started, DIALECT, Seen::default()).await?)
}

fn submit(app: &App, input: &RunAgentInput) -> Submit {
    let props: serde_json::Map<String, serde_json::Value> =
        input.forwarded_props.as_ref().and_then(|raw| raw.to().ok()).unwrap_or_default();
    let props: Vec<(String, RawJson)> =
        props.iter().filter_map(|(name, value)| Some((name.clone(), RawJson::of(value).ok()?))).collect();
    let member = |name: &str| props.iter().find(|(known, _)| known == name).map(|(_, raw)| raw);
    let tools: Vec<request::Tool> = input.tools.clone();
    Submit {
        turn_id: TurnId::new(&input.run_id).ok(),
        agent: chosen(app, member),
        input: Some(input.turn_input()),
        settings: Some(Settings {
            tools: tools.iter().map(call::tool).collect(),
            client_tools: (!tools.is_empty()).then(|| "wait".to_owned()),
            ..Settings::default()
        }),
        source: Some(DIALECT.name().to_owned()),
        ..Submit::default()
    }
}
