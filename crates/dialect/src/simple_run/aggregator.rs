//! The write-up's event aggregator: the reference client of this dialect.

use std::collections::BTreeMap;

use serde_json::Value;

/// Collects deltas as the write-up's own aggregator does: texts by their index, which is unique in the run, and
/// arguments by their call.
#[derive(Debug, Clone, Default)]
pub struct Aggregator {
    text_buffers: BTreeMap<u64, String>,
    args_buffers: BTreeMap<String, String>,
    /// `run_result` of `run.done`.
    pub result: Option<Value>,
    pub steps: u64,
    has_begun: bool,
}

impl Aggregator {
    pub fn add_text_delta(&mut self, index: u64, delta: &str) {
        self.text_buffers.entry(index).or_default().push_str(delta);
    }

    pub fn add_args_delta(&mut self, call: &str, delta: &str) {
        self.args_buffers.entry(call.to_owned()).or_default().push_str(delta);
    }

    /// Empty for an index that is not known.
    pub fn get_complete_text(&self, index: u64) -> &str {
        self.text_buffers.get(&index).map_or("", String::as_str)
    }

    pub fn get_complete_args(&self, call: &str) -> &str {
        self.args_buffers.get(call).map_or("", String::as_str)
    }

    pub fn texts(&self) -> &BTreeMap<u64, String> {
        &self.text_buffers
    }

    pub fn args(&self) -> &BTreeMap<String, String> {
        &self.args_buffers
    }

    /// Takes a frame. `run.start` comes first, `run.done` last, and what is done equals its deltas.
    pub fn take(&mut self, frame: &str) -> Result<(), String> {
        let event: Value = serde_json::from_str(frame).map_err(|error| error.to_string())?;
        let text = |name: &str| event[name].as_str().ok_or(format!("`{name}` must be a text"));
        let kind = text("type")?;
        if self.result.is_some() || self.has_begun == (kind == "run.start") {
            return Err(format!("`{kind}` cannot come here"));
        }
        match kind {
            "run.start" => self.has_begun = true,
            "response.text.delta" => {
                let index = event["content_index"].as_u64().ok_or("no content_index")?;
                self.add_text_delta(index, text("delta")?);
            }
            "response.function_call_arguments.delta" => self.add_args_delta(text("call_id")?, text("delta")?),
            "response.function_call.done" => {
                if self.get_complete_args(text("call_id")?) != text("arguments")? {
                    return Err("the arguments are not what their deltas were".to_owned());
                }
            }
            "run.step.done" => {
                let step = event["step_number"].as_u64().ok_or("no step_number")?;
                if step <= self.steps {
                    return Err(format!("step {step} after step {}", self.steps));
                }
                self.steps = step;
            }
            "response.output_item.done" => {}
            "run.done" => self.result = Some(event["run_result"].clone()),
            other => return Err(format!("unknown event `{other}`")),
        }
        Ok(())
    }
}
