//! The agents and providers that there are.

use std::collections::BTreeMap;
use std::sync::Arc;

use riverrun_event::{ErrorInfo, RawJson};
use riverrun_provider::{ModelRequest, Provider};
use serde_json::{Map, Value};

use crate::AgentSpec;

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

    /// Asks the service of a bare model how many tokens a request in its own words has: what it answers, or why it does
    /// not. None if it speaks another dialect, or counts none.
    pub async fn count_tokens(
        &self,
        name: &str,
        dialect: &str,
        verbatim: Map<String, Value>,
    ) -> Option<Result<RawJson, ErrorInfo>> {
        let Route::Model { provider, model } = self.resolve(name)? else { return None };
        if provider.speaks() != Some(dialect) {
            return None;
        }
        let request = ModelRequest { model, verbatim: Some(verbatim), ..ModelRequest::default() };
        let counted = provider.count_tokens(request)?.await;
        Some(counted.map_err(|error| error.info()))
    }

    /// Every name that `resolve` knows, for error texts and lists.
    pub fn names(&self) -> Vec<String> {
        let agents = self.agents.keys().map(|name| format!("agent/{name}"));
        let providers = self.providers.keys().map(|name| format!("{name}/…"));
        agents.chain(providers).collect()
    }
}
