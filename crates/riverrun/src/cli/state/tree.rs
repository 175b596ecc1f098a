//! Draws a folded state as a tree: turns, their tasks, the items, and child tasks below the call that made them.

use serde_json::Value;

use crate::cli::terminal::{Mark, Style, Tone, shorten};

pub fn draw(state: &Value, style: Style, width: usize) -> String {
    let mut tree = Tree { state, style, width, out: String::new() };
    tree.session();
    for turn in list(&state["turns"]) {
        tree.turn(turn);
    }
    tree.out
}

struct Tree<'a> {
    state: &'a Value,
    style: Style,
    width: usize,
    out: String,
}

impl Tree<'_> {
    fn session(&mut self) {
        let state = self.state;
        let session = &state["session"];
        let title = session["title"].as_str().unwrap_or_default();
        let id = self.style.paint(Tone::Id, &shorten(word(state, "sessionId"), 64));
        let mark = self.mark(word(session, "status"));
        let sequence = state["sequence"].as_u64().unwrap_or(0);
        self.out.push_str(&format!("{id}  {mark}  at {sequence}  {}\n", shorten(title, self.width)));
        let sealed = state["sealedTurns"].as_u64().unwrap_or(0);
        if sealed > 0 {
            self.line(1, &self.style.paint(Tone::Dim, &format!("{sealed} earlier turns are sealed")));
        }
        let problems = state["problems"]["count"].as_u64().unwrap_or(0);
        if problems > 0 {
            self.line(1, &self.style.mark(Mark::Failed, &format!("{problems} events could not be folded")));
        }
    }

    fn turn(&mut self, turn: &Value) {
        let id = self.style.paint(Tone::Id, &shorten(word(turn, "turnId"), 64));
        let input = match &turn["input"] {
            Value::String(text) => shorten(text, self.width),
            other => shorten(&plain_text(other), self.width),
        };
        self.line(1, &format!("{id}  {}  {input}", self.mark(word(turn, "status"))));
        match turn["taskId"].as_str() {
            Some(task) => self.task(task, 2),
            None => self.line(2, &self.style.paint(Tone::Dim, "no task yet")),
        }
        for action in list(&self.state["actions"]).filter(|action| action["turnId"] == turn["turnId"]) {
            self.action(action);
        }
    }

    fn task(&mut self, id: &str, depth: usize) {
        // A malformed state must not make this recursion endless.
        let Some(task) = list(&self.state["tasks"]).find(|task| task["taskId"] == id).filter(|_| depth < 24)
        else {
            return;
        };
        let agent = task["agent"].as_str().unwrap_or("task");
        let title = task["title"].as_str().or(task["objective"].as_str()).unwrap_or_default();
        let agent = self.style.paint(Tone::Strong, &shorten(agent, 32));
        self.line(
            depth,
            &format!("{agent}  {}  {}", self.mark(word(task, "status")), shorten(title, self.width)),
        );
        for item in list(&task["output"]) {
            self.item(item, depth + 1);
            if item["type"] == "tool_result"
                && let Some(call) = item["callId"].as_str().or(item["call_id"].as_str())
                && call != id
            {
                self.task(call, depth + 2);
            }
        }
    }

    fn item(&mut self, item: &Value, depth: usize) {
        let kind = word(item, "type");
        let said = match kind {
            "reasoning" => plain_text(&item["summary"]),
            "tool_call" => format!("{} {}", word(item, "name"), word(item, "arguments")),
            "tool_result" => format!("{} {}", word(item, "callId"), plain_text(&item["blockList"])),
            "message" => {
                plain_text(if item["blockList"].is_null() { &item["content"] } else { &item["blockList"] })
            }
            "handoff" => format!("to {}", word(item, "to")),
            _ => word(item, "message").to_owned(),
        };
        let status =
            item["status"].as_str().map(|status| format!("  {}", self.mark(status))).unwrap_or_default();
        let label = self.style.paint(Tone::Dim, &format!("{:11}", shorten(kind, 11)));
        let room = self.width.saturating_sub(2 * depth + 28).max(20);
        self.line(depth, &format!("{label}  {}{status}", shorten(said.trim(), room)));
    }

    fn action(&mut self, action: &Value) {
        let request = &action["request"];
        let said = format!("{} {}", word(request, "toolName"), word(request, "prompt"));
        let id = self.style.paint(Tone::Id, &shorten(word(action, "actionId"), 64));
        self.line(
            2,
            &format!("{id}  {}  {}", self.mark(word(action, "status")), shorten(said.trim(), self.width)),
        );
    }

    fn mark(&self, status: &str) -> String {
        self.style.mark(Mark::of_status(status), &shorten(status, 20))
    }

    fn line(&mut self, depth: usize, text: &str) {
        self.out.push_str(&"  ".repeat(depth));
        self.out.push_str(text);
        self.out.push('\n');
    }
}

fn list(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

fn word<'a>(value: &'a Value, name: &str) -> &'a str {
    value[name].as_str().unwrap_or_default()
}

/// The texts of parts or blocks, joined.
fn plain_text(parts: &Value) -> String {
    let texts: Vec<&str> = list(parts).filter_map(|part| part["text"].as_str()).collect();
    texts.join(" ")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_child_task_stands_below_the_call_that_made_it() {
        let state = json!({
            "sessionId": "ses_1", "sequence": 9, "session": {"status": "running", "title": "Rivers"},
            "turns": [{"turnId": "turn_1", "status": "running", "input": "why?", "taskId": "task_1"}],
            "tasks": [
                {"taskId": "task_1", "status": "running", "agent": "researcher", "output": [
                    {"type": "tool_call", "callId": "call_1", "name": "ask", "arguments": "{}", "status": "completed"},
                    {"type": "tool_result", "callId": "call_1", "blockList": []}]},
                {"taskId": "call_1", "status": "completed", "agent": "scout", "output": [
                    {"type": "message", "blockList": [{"type": "text", "text": "Bends grow.\u{1b}"}]}]}
            ],
            "actions": [{"actionId": "act_1", "turnId": "turn_1", "status": "pending", "request": {"toolName": "send", "prompt": "Send?"}}],
        });
        let expected = "\
ses_1  … running  at 9  Rivers
  turn_1  … running  why?
    researcher  … running  
      tool_call    ask {}  ✓ completed
      tool_result  call_1
        scout  ✓ completed  
          message      Bends grow.\\u{1b}
    act_1  ⏸ pending  send Send?
";
        assert_eq!(draw(&state, Style::PLAIN, 100), expected);
    }
}
