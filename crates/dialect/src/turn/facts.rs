//! What the client asked for, as `turn.submitted` keeps it under `payload.request`.

use std::collections::{BTreeMap, BTreeSet};

use riverrun_event::RawJson;
use serde::Deserialize;

/// The request of a turn: `{"dialect":"responses","body":{…the client's JSON without its input…}}`.
///
/// A turn that came by another way has none; then nothing is echoed, and every tool call is the server's.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Facts {
    body: Option<BTreeMap<String, RawJson>>,
    tools: BTreeSet<String>,
}

#[derive(Deserialize)]
struct Request {
    #[serde(default)]
    body: Option<BTreeMap<String, RawJson>>,
}

/// The members of a tool that name it, in every dialect's form.
#[derive(Deserialize)]
struct ToolName {
    name: Option<String>,
    function: Option<Named>,
    #[serde(default, rename = "functionDeclarations", alias = "function_declarations")]
    declarations: Vec<Named>,
}

#[derive(Deserialize)]
struct Named {
    name: String,
}

impl Facts {
    /// Reads `request` of `turn.submitted`. One that does not fit is as good as none.
    pub fn of_request(request: &RawJson) -> Self {
        let Ok(Request { body: Some(body) }) = request.to() else { return Self::default() };
        let tools: Vec<RawJson> = body.get("tools").and_then(|tools| tools.to().ok()).unwrap_or_default();
        let tools = tools.iter().filter_map(|tool| tool.to::<ToolName>().ok()).flat_map(ToolName::all);
        Self { tools: tools.collect(), body: Some(body) }
    }

    /// A member of the request; None if it is absent or null.
    pub fn get(&self, name: &str) -> Option<&RawJson> {
        self.body.as_ref()?.get(name).filter(|value| !value.is_null())
    }

    pub fn text(&self, name: &str) -> Option<String> {
        self.get(name)?.as_text().map(|text| text.into_owned())
    }

    pub fn is_set(&self, name: &str) -> bool {
        self.get(name).is_some_and(|value| value.get() == "true")
    }

    /// True if the client runs this tool: it declared it, or there is no agent of ours that could run it.
    pub fn is_client_run(&self, tool: &str) -> bool {
        let Some(body) = &self.body else { return false };
        let model = body.get("model").and_then(RawJson::as_text);
        let is_agent = model.is_some_and(|model| model.starts_with("agent/"));
        !is_agent || self.tools.contains(tool)
    }
}

impl ToolName {
    fn all(self) -> Vec<String> {
        let declared = self.declarations.into_iter().map(|named| named.name);
        let named = self.function.map(|named| named.name);
        self.name.into_iter().chain(named).chain(declared).collect()
    }
}
