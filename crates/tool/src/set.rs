//! The tools of an agent, by name.

use std::sync::Arc;
use std::time::Duration;

use serde::Serialize;
use serde_json::Value;

use riverrun_event::nearest;

use crate::name::{is_valid_name, shown};
use crate::{Arguments, Flags, Tool, ToolDefinition, ToolError, ToolErrorKind, ToolOutput, ToolRequest, run};

/// Names that an error text lists.
const MAX_LISTED: usize = 50;

/// In the order in which they were put in. No two have the same name.
#[derive(Default)]
pub struct ToolSet {
    entries: Vec<Entry>,
}

struct Entry {
    tool: Arc<dyn Tool>,
    arguments: Arguments,
}

/// Why a tool is not offered.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SetError {
    #[error("there are two tools named `{0}`; rename one")]
    Duplicate(String),
    #[error("the tool name `{0}` is not usable: letters, digits, `_` and `-`, at most 64")]
    BadName(String),
    #[error("the schema of the tool `{name}` is not usable: {detail}")]
    BadSchema { name: String, detail: String },
}

/// A tool as lists show it.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Listing {
    pub name: String,
    pub description: String,
    pub source: String,
    pub flags: Flags,
    pub timeout_ms: u64,
    pub parameters: Value,
}

impl ToolSet {
    pub fn insert(&mut self, tool: Arc<dyn Tool>) -> Result<(), SetError> {
        let definition = tool.definition();
        let name = &definition.name;
        if !is_valid_name(name) {
            return Err(SetError::BadName(shown(name)));
        }
        if self.find(name).is_some() {
            return Err(SetError::Duplicate(name.clone()));
        }
        let arguments = Arguments::new(name, &definition.parameters)
            .map_err(|detail| SetError::BadSchema { name: name.clone(), detail })?;
        self.entries.push(Entry { tool, arguments });
        Ok(())
    }

    /// Err lists the names that there are.
    pub fn get(&self, name: &str) -> Result<&Arc<dyn Tool>, ToolError> {
        self.entry(name).map(|entry| &entry.tool)
    }

    pub fn definitions(&self) -> impl Iterator<Item = &ToolDefinition> {
        self.entries.iter().map(|entry| entry.tool.definition())
    }

    pub fn inventory(&self) -> Vec<Listing> {
        self.definitions().map(Listing::from).collect()
    }

    pub fn len(&self) -> usize {
        self.entries.len()
    }

    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// The text that the model wrote, as arguments that the tool takes.
    pub fn parse(&self, name: &str, arguments: &str) -> Result<Value, ToolError> {
        self.entry(name)?.arguments.parse(arguments)
    }

    /// Every way in which this can go wrong is an error that the model can read.
    pub async fn run(
        &self,
        name: &str,
        call: ToolRequest,
        timeout: Option<Duration>,
    ) -> Result<ToolOutput, ToolError> {
        let entry = self.entry(name)?;
        run::run(entry.tool.as_ref(), &entry.arguments, call, timeout).await
    }

    fn find(&self, name: &str) -> Option<&Entry> {
        self.entries.iter().find(|entry| entry.tool.definition().name == name)
    }

    fn entry(&self, name: &str) -> Result<&Entry, ToolError> {
        self.find(name).ok_or_else(|| self.unknown(name))
    }

    fn unknown(&self, name: &str) -> ToolError {
        let names: Vec<&str> = self.definitions().map(|definition| definition.name.as_str()).collect();
        let mut text = format!("there is no tool `{}`", shown(name));
        if let Some(near) = nearest(name, names.iter().copied()) {
            text.push_str(&format!("; did you mean `{near}`?"));
        }
        if names.is_empty() {
            text.push_str("; there are no tools");
        } else {
            let listed = names[..names.len().min(MAX_LISTED)].join(", ");
            let ellipsis = if names.len() > MAX_LISTED { ", …" } else { "" };
            text.push_str(&format!("; there are: {listed}{ellipsis}"));
        }
        ToolError::new(ToolErrorKind::UnknownTool, text)
    }
}

impl From<&ToolDefinition> for Listing {
    fn from(definition: &ToolDefinition) -> Self {
        Self {
            name: definition.name.clone(),
            description: definition.description.clone(),
            source: definition.source.clone(),
            flags: definition.flags,
            timeout_ms: u64::try_from(definition.timeout.as_millis()).unwrap_or(u64::MAX),
            parameters: definition.parameters.clone(),
        }
    }
}
