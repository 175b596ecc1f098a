//! The agents and providers that there are.

use std::collections::BTreeMap;
use std::sync::Arc;

use bytes::Bytes;
use riverrun_event::ErrorInfo;
use riverrun_provider::Provider;
use serde_json::Value;

use crate::AgentSpec;
use crate::actor::error_info;

/// Fixed when the server starts.
#[derive(Clone, Default)]
pub struct Registry {
    pub agents: BTreeMap<String, Arc<AgentSpec>>,
    pub providers: BTreeMap<String, Arc<dyn Provider>>,
    /// The agent of a turn that names none.
    pub default_agent: Option<String>,
}

/// What a name in a request stands for.
#[derive(Clone)]
pub enum Route {
    /// `agent/NAME`, or the bare name of an agent.
    Agent(Arc<AgentSpec>),
    /// `PROVIDER/MODEL`: one model call, tools are the caller's.
    Model { provider: Arc<dyn Provider>, model: String },
}

impl Registry {
    /// None if nothing has this name; `names` tells what there is.
    pub fn resolve(&self, name: &str) -> Option<Route> {
        if let Some(agent) = self.agents.get(name.strip_prefix("agent/").unwrap_or(name)) {
            return Some(Route::Agent(agent.clone()));
        }
        let (provider, model) = name.split_once('/')?;
        let provider = self.providers.get(provider)?.clone();
        Some(Route::Model { provider, model: model.to_owned() })
    }

    /// What the service of a bare model says of the tokens of a request in its own words; None if it counts none.
    pub async fn count_tokens(&self, name: &str, body: Bytes) -> Result<Option<Value>, ErrorInfo> {
        let Some(Route::Model { provider, model }) = self.resolve(name) else { return Ok(None) };
        let counted = provider.count_tokens(&model, body).await;
        counted.map_err(|error| error_info(&error, error.category.is_retryable()))
    }

    /// Every name that `resolve` knows, for error texts and lists.
    pub fn names(&self) -> Vec<String> {
        let agents = self.agents.keys().map(|name| format!("agent/{name}"));
        let providers = self.providers.keys().map(|name| format!("{name}/…"));
        agents.chain(providers).collect()
    }
}
