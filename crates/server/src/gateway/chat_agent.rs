//! Which agent answers in the dialects whose requests name none by themselves.

use riverrun_event::{RawJson, SessionId};
use sha2::{Digest, Sha256};

use crate::app::App;

/// What the request's free members say: `agent` or `model` names one, `scenario` a script in dev mode.
pub fn chosen<'a>(app: &App, member: impl Fn(&str) -> Option<&'a RawJson>) -> Option<String> {
    let text = |name: &str| member(name).and_then(|raw| serde_json::from_str::<String>(raw.get()).ok());
    if let Some(name) = text("agent").or_else(|| text("model")) {
        return Some(name);
    }
    if app.edge().is_dev()
        && let Some(scenario) = text("scenario")
    {
        return Some(format!("scenario-{scenario}"));
    }
    app.agents().chat_agent.clone()
}

/// A chat's own name is its session's where it may be one; any other name stands for a session too, always the same.
pub fn session_of(name: &str) -> SessionId {
    SessionId::new(name).unwrap_or_else(|_| {
        let hash: [u8; 32] = Sha256::digest(name.as_bytes()).into();
        SessionId::from_bytes(<[u8; 16]>::try_from(&hash[..16]).expect("sixteen bytes of thirty-two"))
    })
}
