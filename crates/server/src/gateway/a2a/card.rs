//! What the server can do, for everybody; and with whom, for those who have a key.

use axum::extract::{Request, State};
use axum::response::Response;
use http::HeaderMap;
use serde_json::{Value, json as object};

use crate::app::App;
use crate::gateway::json;

/// It names no agent: who may know them has a key.
pub async fn public(State(app): State<App>, request: Request) -> Response {
    let skill = object!({"id": "chat", "name": "Chat", "description": "Answers messages.", "tags": ["chat"]});
    json(card(&app, request.headers(), vec![skill]).to_string())
}

/// The same with a skill for each agent; a message names it in `metadata.agent`.
pub(super) fn extended(app: &App, headers: &HeaderMap) -> Value {
    let served = app.agents();
    let agents = served.registry.agents.iter().map(|(name, agent)| {
        let told = if agent.description.is_empty() { "Answers messages." } else { &agent.description };
        object!({"id": name, "name": name, "description": told, "tags": ["agent"]})
    });
    card(app, headers, agents.collect())
}

fn card(app: &App, headers: &HeaderMap, skills: Vec<Value>) -> Value {
    let url = format!("{}/a2a", app.edge().base_url(headers));
    object!({
        "name": "Riverrun", "description": "Agents whose runs are recorded and can be resumed.",
        "version": env!("CARGO_PKG_VERSION"),
        "supportedInterfaces": [{"url": url, "protocolBinding": "JSONRPC", "protocolVersion": "1.0"}],
        "capabilities": {"streaming": true, "pushNotifications": false, "extendedAgentCard": true},
        "defaultInputModes": ["text/plain"], "defaultOutputModes": ["text/plain"],
        "securitySchemes": {"key": {"httpAuthSecurityScheme": {"scheme": "Bearer"}}},
        "securityRequirements": [{"schemes": {"key": {"list": []}}}],
        "skills": skills,
    })
}
