//! Tools that count.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use riverrun_event::{Block, TextBlock};
use riverrun_runner::agent::{Approval, ToolUse};
use riverrun_tool::{
    CallProgress, Flags, Runs, Tool, ToolDefinition, ToolError, ToolErrorKind, ToolFuture, ToolOutput,
    ToolRequest,
};
use serde_json::json;

/// Every call that began: the tool, the key, the arguments.
pub type Calls = Arc<Mutex<Vec<(String, String, serde_json::Value)>>>;

pub struct Counting {
    definition: ToolDefinition,
    calls: Calls,
    pause: Duration,
}

impl Tool for Counting {
    fn definition(&self) -> &ToolDefinition {
        &self.definition
    }

    fn call(&self, call: ToolRequest) -> ToolFuture<'_> {
        let entry = (self.definition.name.clone(), call.idempotency_key.clone(), call.arguments.clone());
        self.calls.lock().unwrap().push(entry);
        Box::pin(async move {
            if !self.pause.is_zero() {
                tokio::time::sleep(self.pause).await;
            }
            if call.arguments["fail"] == true {
                return Err(ToolError::new(ToolErrorKind::Failed, "it does not work"));
            }
            if call.arguments["vanish"] == true {
                return Err(ToolError::new(ToolErrorKind::OutcomeUnknown, "it answered with a cough"));
            }
            if call.arguments["panic"] == true {
                panic!("the tool is broken");
            }
            if let Some(drafts) = call.arguments["drafts"].as_u64() {
                for draft in 0..drafts {
                    let partial = Some(image(&format!("draft {draft}")));
                    (call.progress)(CallProgress { partial, ..CallProgress::default() });
                }
                tokio::time::sleep(Duration::from_millis(5)).await;
                let whole = vec![image("whole")];
                return Ok(ToolOutput { content: whole.clone(), block_list: whole, ..ToolOutput::default() });
            }
            if let Some(size) = call.arguments["picture"].as_u64() {
                return Ok(picture(size as usize));
            }
            let said = format!("{} says {}", self.definition.name, call.arguments);
            if call.arguments["plain"] == true {
                return Ok(ToolOutput::text(said));
            }
            Ok(source(said))
        })
    }
}

fn image(url: &str) -> Block {
    serde_json::from_value(json!({"type": "image", "image_url": url})).unwrap()
}

/// A text that the tool marks as a source.
fn source(text: String) -> ToolOutput {
    let part = Block::Text(TextBlock { text, ref_id: Some(1), ..TextBlock::default() });
    ToolOutput { content: vec![part.clone()], block_list: vec![part], ..ToolOutput::default() }
}

/// A picture for both, and its bytes as a file and a sound for the user.
fn picture(size: usize) -> ToolOutput {
    let data = STANDARD.encode(vec![7; size]);
    let part = |part: serde_json::Value| -> riverrun_event::Block { serde_json::from_value(part).unwrap() };
    let image = part(json!({"type": "image", "image_url": format!("data:image/png;base64,{data}")}));
    let file = part(json!({"type": "file", "name": "p", "media_type": "a/b", "data": data}));
    let audio = part(json!({"type": "audio", "media_type": "audio/wav", "data": data}));
    ToolOutput { content: vec![image.clone()], block_list: vec![image, file, audio], ..ToolOutput::default() }
}

pub const READ: Flags = Flags { read_only: true, destructive: false, idempotent: true, open_world: false };
pub const ONCE: Flags = Flags { read_only: false, destructive: true, idempotent: false, open_world: true };

pub fn tool(name: &str, flags: Flags, approval: Approval, calls: &Calls) -> ToolUse {
    slow_tool(name, flags, approval, calls, Duration::ZERO)
}

pub fn slow_tool(name: &str, flags: Flags, approval: Approval, calls: &Calls, pause: Duration) -> ToolUse {
    let definition = ToolDefinition {
        name: name.to_owned(),
        description: format!("Does {name}."),
        parameters: json!({"type": "object", "properties": {"x": {"type": "integer"}}}),
        flags,
        timeout: Duration::from_secs(60),
        source: "function".to_owned(),
        runs: Runs::default(),
    };
    ToolUse { tool: Arc::new(Counting { definition, calls: calls.clone(), pause }), approval }
}
