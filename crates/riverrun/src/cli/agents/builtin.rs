//! Functions that come with the server: what the demo needs, and an example of a tool in Rust.

use std::sync::Arc;
use std::time::Duration;

use riverrun_event::{Block, TextBlock};
use riverrun_tool::{Flags, Runs, Tool, ToolDefinition, ToolFuture, ToolOutput, ToolRequest};
use serde_json::{Value, json};

/// A function over its arguments.
pub struct Builtin {
    pub definition: ToolDefinition,
    run: fn(&Value) -> ToolOutput,
}

impl Tool for Builtin {
    fn definition(&self) -> &ToolDefinition {
        &self.definition
    }

    fn call(&self, call: ToolRequest) -> ToolFuture<'_> {
        let output = (self.run)(&call.arguments);
        Box::pin(async move { Ok(output) })
    }
}

/// The function of this name.
pub fn find(name: &str) -> Option<Builtin> {
    match name {
        "search" => Some(search_function()),
        "publish_report" => Some(publish_function()),
        _ => None,
    }
}

pub fn search() -> Arc<dyn Tool> {
    Arc::new(search_function())
}

pub fn publish_report() -> Arc<dyn Tool> {
    Arc::new(publish_function())
}

/// Finds the same two sources for every question, so that nothing leaves the machine.
fn search_function() -> Builtin {
    Builtin {
        definition: ToolDefinition {
            name: "search".to_owned(),
            description: "Searches a small library of made-up sources.".to_owned(),
            parameters: object(
                json!({"query": {"type": "string", "description": "What to look for."}}),
                &["query"],
            ),
            flags: Flags { read_only: true, destructive: false, idempotent: true, open_world: false },
            timeout: Duration::from_secs(10),
            source: "function".to_owned(),
            runs: Runs::default(),
        },
        run: |arguments| {
            let query = arguments["query"].as_str().unwrap_or_default();
            let found = [
                format!("Field notes: most people who looked into “{query}” agree on the main point."),
                format!("Review: a second look at “{query}” confirmed what the first one found."),
            ];
            let source = |(text, ref_id)| {
                Block::Text(TextBlock { text, ref_id: Some(ref_id), ..TextBlock::default() })
            };
            let parts: Vec<Block> = found.into_iter().zip(1..).map(source).collect();
            ToolOutput { content: parts.clone(), block_list: parts, ..ToolOutput::default() }
        },
    }
}

/// Publishes nothing; it stands for what a person should agree to.
fn publish_function() -> Builtin {
    Builtin {
        definition: ToolDefinition {
            name: "publish_report".to_owned(),
            description: "Publishes a report to its audience (in this demo: nowhere).".to_owned(),
            parameters: object(
                json!({"title": {"type": "string"}, "audience": {"type": "string"}}),
                &["title", "audience"],
            ),
            flags: Flags { read_only: false, destructive: true, idempotent: false, open_world: true },
            timeout: Duration::from_secs(10),
            source: "function".to_owned(),
            runs: Runs::default(),
        },
        run: |arguments| {
            let text = |name: &str| arguments[name].as_str().unwrap_or_default().to_owned();
            ToolOutput::text(format!("published “{}” for {}", text("title"), text("audience")))
        },
    }
}

/// The same weather every day.
pub fn get_weather() -> Arc<dyn Tool> {
    Arc::new(Builtin {
        definition: ToolDefinition {
            name: "get_weather".to_owned(),
            description: "Tells the weather of a city (made up).".to_owned(),
            parameters: object(json!({"city": {"type": "string"}}), &["city"]),
            flags: Flags { read_only: true, destructive: false, idempotent: true, open_world: false },
            timeout: Duration::from_secs(10),
            source: "function".to_owned(),
            runs: Runs::default(),
        },
        run: |_| ToolOutput::text("15C"),
    })
}

/// Deletes nothing; it stands for what a person should agree to.
pub fn delete_file() -> Arc<dyn Tool> {
    Arc::new(Builtin {
        definition: ToolDefinition {
            name: "delete_file".to_owned(),
            description: "Deletes a file (in this demo: none).".to_owned(),
            parameters: object(json!({"path": {"type": "string"}}), &["path"]),
            flags: Flags { read_only: false, destructive: true, idempotent: false, open_world: false },
            timeout: Duration::from_secs(10),
            source: "function".to_owned(),
            runs: Runs::default(),
        },
        run: |arguments| {
            ToolOutput::text(format!("deleted {}", arguments["path"].as_str().unwrap_or_default()))
        },
    })
}

fn object(properties: Value, required: &[&str]) -> Value {
    json!({"type": "object", "properties": properties, "required": required, "additionalProperties": false})
}
