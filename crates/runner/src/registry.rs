//! The agents and providers that there are.

use std::collections::BTreeMap;
use std::sync::Arc;

use riverrun_event::{ErrorInfo, RawJson};
use riverrun_provider::{ModelRequest, Provider};
use serde_json::{Map, Value};

use crate::AgentSpec;
use crate::agent::Texts;

/// Fixed when the server starts.
#[derive(Clone, Default)]
pub struct Registry {
    pub agents: BTreeMap<String, Arc<AgentSpec>>,
    pub providers: BTreeMap<String, Arc<dyn Provider>>,
    /// The agent of a turn that names none.
    pub default_agent: Option<String>,
    pub routes: Routes,
}

/// Other names under which models and agents can be asked for.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Routes {
    /// By the whole name.
    pub exact: BTreeMap<String, Vec<String>>,
    /// By the beginning of the name, without its `*`; the longest beginning that fits is taken.
    pub prefixes: BTreeMap<String, Vec<String>>,
}

impl Routes {
    /// A name that ends in `*` stands for every name that begins so.
    pub fn insert(&mut self, name: &str, targets: Vec<String>) {
        match name.strip_suffix('*') {
            Some(beginning) => self.prefixes.insert(beginning.to_owned(), targets),
            None => self.exact.insert(name.to_owned(), targets),
        };
    }

    fn prefix(&self, name: &str) -> Option<&Vec<String>> {
        let fitting = self.prefixes.iter().filter(|(beginning, _)| name.starts_with(beginning.as_str()));
        fitting.max_by_key(|(beginning, _)| beginning.len()).map(|(_, targets)| targets)
    }

    /// The names as they are declared.
    pub fn names(&self) -> impl Iterator<Item = String> {
        let prefixes = self.prefixes.keys().map(|beginning| format!("{beginning}*"));
        self.exact.keys().cloned().chain(prefixes)
    }
}

/// What a name in a request stands for.
#[derive(Clone)]
pub enum Route {
    /// `agent/NAME`, or the bare name of an agent.
    Agent(Arc<AgentSpec>),
    /// `PROVIDER/MODEL`: one model call, tools are the caller's. `fallbacks` are tried in their order when it fails.
    Model { provider: Arc<dyn Provider>, model: String, fallbacks: Vec<String> },
}

impl Registry {
    /// None if nothing has this name; `names` tells what there is. Agents come first, then routes with this very name,
    /// then `PROVIDER/MODEL`, then routes for names that begin so.
    pub fn resolve(&self, name: &str) -> Option<Route> {
        if let Some(agent) = self.agent(name) {
            return Some(agent);
        }
        if let Some(targets) = self.routes.exact.get(name) {
            return self.route(name, targets);
        }
        self.model(name).or_else(|| self.route(name, self.routes.prefix(name)?))
    }

    /// The texts of an agent, if it has any of its own.
    pub(crate) fn texts(&self, name: &str) -> Option<&Texts> {
        let agent = self.agents.get(name.strip_prefix("agent/").unwrap_or(name))?;
        Some(&agent.texts).filter(|texts| !texts.is_empty())
    }

    fn agent(&self, name: &str) -> Option<Route> {
        let agent = self.agents.get(name.strip_prefix("agent/").unwrap_or(name))?;
        Some(Route::Agent(agent.clone()))
    }

    fn model(&self, name: &str) -> Option<Route> {
        let (provider, model) = name.split_once('/')?;
        let provider = self.providers.get(provider)?.clone();
        Some(Route::Model { provider, model: model.to_owned(), fallbacks: Vec::new() })
    }

    /// The model `*` of a target stands for the name that was asked for.
    fn route(&self, name: &str, targets: &[String]) -> Option<Route> {
        let target = |target: &String| match target.strip_suffix("/*") {
            Some(provider) => format!("{provider}/{name}"),
            None => target.clone(),
        };
        let mut targets = targets.iter().map(target);
        let first = targets.next()?;
        match self.agent(&first).or_else(|| self.model(&first))? {
            Route::Model { provider, model, .. } => {
                Some(Route::Model { provider, model, fallbacks: targets.collect() })
            }
            agent @ Route::Agent(_) => Some(agent),
        }
    }

    /// The provider that answered a turn with this name; None for agents, and where several may have answered.
    pub(crate) fn only_provider(&self, name: &str) -> Option<Arc<dyn Provider>> {
        match self.resolve(name)? {
            Route::Model { provider, fallbacks, .. } if fallbacks.is_empty() => Some(provider),
            Route::Model { .. } | Route::Agent(_) => None,
        }
    }

    /// Asks the service of a bare model how many tokens a request in its own words has: what it answers, or why it does
    /// not. None if it speaks another dialect, or counts none.
    pub async fn count_tokens(
        &self,
        name: &str,
        dialect: &str,
        verbatim: Map<String, Value>,
    ) -> Option<Result<RawJson, ErrorInfo>> {
        let Route::Model { provider, model, .. } = self.resolve(name)? else { return None };
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
        agents.chain(self.routes.names()).chain(providers).collect()
    }
}

#[cfg(test)]
mod tests {
    use riverrun_provider::Scripted;

    use super::*;

    fn registry() -> Registry {
        let mut registry = Registry::default();
        registry.providers.insert("scripted".to_owned(), Arc::new(Scripted::new()));
        let agent = AgentSpec { name: "helper".to_owned(), ..AgentSpec::default() };
        registry.agents.insert("helper".to_owned(), Arc::new(agent));
        for (name, targets) in [
            ("gpt-4o", vec!["agent/helper"]),
            ("gpt-4o-mini", vec!["scripted/text", "scripted/tool"]),
            ("claude-*", vec!["scripted/*"]),
            ("claude-opus-*", vec!["scripted/tool"]),
            ("claude-opus-4", vec!["agent/helper"]),
            ("scripted/*", vec!["agent/helper"]),
        ] {
            registry.routes.insert(name, targets.into_iter().map(str::to_owned).collect());
        }
        registry
    }

    /// `agent NAME`, or the model with its fallbacks.
    fn found(name: &str) -> Option<String> {
        Some(match registry().resolve(name)? {
            Route::Agent(agent) => format!("agent {}", agent.name),
            Route::Model { provider, model, fallbacks } => {
                let models = std::iter::once(format!("{}/{model}", provider.name())).chain(fallbacks);
                models.collect::<Vec<_>>().join(", ")
            }
        })
    }

    #[test]
    fn a_whole_name_comes_before_a_beginning_and_a_longer_beginning_before_a_shorter() {
        for (name, expected) in [
            ("helper", Some("agent helper")),
            ("agent/helper", Some("agent helper")),
            ("gpt-4o", Some("agent helper")),
            ("gpt-4o-mini", Some("scripted/text, scripted/tool")),
            ("gpt-4o-mini-2", None),
            ("claude-sonnet-4-5", Some("scripted/claude-sonnet-4-5")),
            ("claude-opus-4-1", Some("scripted/tool")),
            ("claude-opus-4", Some("agent helper")),
            ("scripted/text", Some("scripted/text")),
            ("nobody/text", None),
        ] {
            assert_eq!(found(name).as_deref(), expected, "{name}");
        }
    }
}
