//! Logs that a runner could write: turns with reasoning, tools, sub-agents, citations, decisions and retries.

use riverrun_event::Event;
use serde_json::{Value, json};

use super::{Dice, event};

/// A session of some turns.
pub fn plausible(seed: u64, turns: usize) -> Vec<Event> {
    let mut runner = Runner { dice: Dice::new(seed), events: Vec::new(), scope: json!({}) };
    runner.scope = json!({});
    runner.tell("session.created", json!({"title": "A session", "agent": "main"}));
    for turn in 0..turns {
        runner.turn(turn);
    }
    runner.events
}

struct Runner {
    dice: Dice,
    events: Vec<Event>,
    /// Ids of the turn, the task and the run that are at work.
    scope: Value,
}

impl Runner {
    fn tell(&mut self, kind: &str, payload: Value) {
        self.tell_with(kind, payload, json!({}));
    }

    fn tell_with(&mut self, kind: &str, payload: Value, more: Value) {
        let mut envelope = json!({"type": kind, "payload": payload});
        for members in [&self.scope, &more] {
            for (name, value) in members.as_object().expect("members are an object") {
                envelope[name.as_str()] = value.clone();
            }
        }
        let sequence = self.events.len() as u64 + 1;
        self.events.push(event(sequence, envelope));
    }

    fn turn(&mut self, turn: usize) {
        self.scope = json!({"turnId": format!("turn_{turn}"), "taskId": format!("task_{turn}"), "runId": format!("run_{turn}_0")});
        self.tell("turn.submitted", json!({"input": "Question?", "agent": "main"}));
        self.tell("turn.started", json!({}));
        let mut outputs = 0;
        for attempt in 0..2 {
            self.tell("task.attempt.started", json!({"attempt": attempt + 1}));
            self.task(&mut outputs, 0);
            if attempt == 1 || !self.dice.once_in(6) {
                break;
            }
            self.tell("task.attempt.failed", json!({"error": {"message": "broke"}}));
            self.tell("turn.failed", json!({"error": {"message": "broke"}}));
            self.scope["runId"] = json!(format!("run_{turn}_1"));
            self.tell("turn.started", json!({}));
        }
        match self.dice.roll(8) {
            0 => self.tell("turn.cancelled", json!({"mode": "immediate"})),
            1 => self.tell("turn.failed", json!({"error": {"message": "gone"}})),
            2 => {}
            _ => {
                self.tell("task.completed", json!({}));
                self.tell("turn.completed", json!({"finalOutput": "done"}));
            }
        }
        if self.dice.once_in(3) {
            self.job(turn);
        }
        if self.dice.once_in(4) {
            // A late word that must change nothing.
            self.tell("model.delta", json!({"delta": "late"}));
        }
    }

    fn job(&mut self, turn: usize) {
        let job = json!({"jobId": format!("job_{turn}")});
        let item = |id: &str| json!({"jobId": format!("job_{turn}"), "jobItemId": id});
        let error = json!({"error": {"message": "no"}});
        let items = json!([{"itemId": "a", "metadata": {"n": 1}}, {"itemId": "b"}]);
        let steps = [
            ("job.created", json!({"title": "Pages", "items": items}), job.clone()),
            ("job.item.started", json!({}), item("a")),
            ("job.item.completed", json!({"outputRef": "sha256:a"}), item("a")),
            ("job.item.failed", json!({"lastError": {"message": "no"}}), item("b")),
            ("job.failed", error, job.clone()),
            ("job.started", json!({}), job.clone()),
            ("job.item.started", json!({"attempts": 2}), item("b")),
            ("job.item.completed", json!({"attempts": 2}), item("b")),
            ("job.completed", json!({}), job),
        ];
        for (kind, payload, ids) in steps.into_iter().take(1 + self.dice.roll(9)) {
            self.tell_with(kind, payload, ids);
        }
        let trial = json!({"benchmark": {"trialId": format!("t{turn}")}, "refs": {"a": "b"}});
        self.tell_with("benchmark.trial.started", json!({"attempt": 1}), trial.clone());
        self.tell_with("benchmark.reward.recorded", json!({"reward": 0.5, "refs": {"c": 1}}), trial.clone());
        self.tell_with("benchmark.trial.completed", json!({}), trial);
    }

    fn task(&mut self, outputs: &mut usize, depth: usize) {
        for step in 0..1 + self.dice.roll(3) {
            self.tell("model.requested", json!({"model": "m"}));
            match self.dice.roll(if depth < 2 { 4 } else { 2 }) {
                0 => self.reasoning(outputs),
                1 => self.message(outputs),
                2 => self.tool(outputs, step),
                _ => self.child(outputs, depth),
            }
            let tokens = self.dice.roll(9);
            self.tell("model.completed", json!({"usage": {"inputTokens": 10, "outputTokens": tokens}}));
            self.tell("cost.recorded", json!({"amount": 0.1}));
        }
        self.message(outputs);
    }

    fn next(&mut self, outputs: &mut usize) -> usize {
        *outputs += 1;
        *outputs - 1
    }

    fn reasoning(&mut self, outputs: &mut usize) {
        let at = self.next(outputs);
        let id = format!("rs_{at}");
        self.tell(
            "item.started",
            json!({"item": {"type": "reasoning", "id": id, "summary": []}, "outputIndex": at}),
        );
        for part in 0..1 + self.dice.roll(2) {
            self.tell(
                "reasoning.delta",
                json!({"delta": "Hm ", "itemId": id, "outputIndex": at, "summaryIndex": part}),
            );
            self.tell(
                "reasoning.delta",
                json!({"delta": "so", "itemId": id, "outputIndex": at, "summaryIndex": part}),
            );
            if self.dice.once_in(2) {
                self.tell(
                    "reasoning.summary",
                    json!({"text": "Hm so", "itemId": id, "outputIndex": at, "summaryIndex": part}),
                );
            }
        }
        self.tell("item.completed", json!({"item": {"type": "reasoning", "id": id}, "outputIndex": at}));
    }

    fn message(&mut self, outputs: &mut usize) {
        const PIECES: [&str; 9] = ["The ", "answer", "[^", "1", "]", " is `", "`[^2]", "thời 😀 ", "[^7]"];
        let at = self.next(outputs);
        let id = format!("msg_{at}");
        if !self.dice.once_in(4) {
            self.tell("item.started", json!({"item": {"type": "message", "id": id, "role": "assistant", "blockList": []}, "outputIndex": at}));
        }
        for _ in 0..1 + self.dice.roll(7) {
            let piece = *self.dice.pick(&PIECES);
            self.tell(
                "model.delta",
                json!({"delta": piece, "itemId": id, "outputIndex": at, "blockIndex": 0}),
            );
        }
        match self.dice.roll(6) {
            0 => self.tell("item.retracted", json!({"itemId": id, "outputIndex": at, "reason": "guardrail"})),
            1 => {}
            _ => self.tell(
                "item.completed",
                json!({"item": {"type": "message", "id": id, "content": []}, "outputIndex": at}),
            ),
        }
    }

    /// The item of a call; gives its id.
    fn call(&mut self, outputs: &mut usize, name: &str) -> String {
        let at = self.next(outputs);
        let (id, call) = (format!("fc_{at}"), format!("call_{}", self.events.len()));
        self.tell("item.started", json!({"item": {"type": "tool_call", "id": id, "callId": call, "name": name, "arguments": ""}, "outputIndex": at}));
        self.tell("tool.args", json!({"delta": "{}", "itemId": id, "outputIndex": at, "callId": call}));
        self.tell(
            "item.completed",
            json!({"item": {"type": "tool_call", "id": id, "callId": call}, "outputIndex": at}),
        );
        call
    }

    fn tool(&mut self, outputs: &mut usize, step: usize) {
        let call = self.call(outputs, "search");
        let scope = json!({"toolCallId": call});
        if self.dice.once_in(2) {
            let action = json!({"actionId": format!("act_{call}"), "toolCallId": call});
            self.tell_with(
                "action.required",
                json!({"actionType": "tool_permission", "toolName": "search"}),
                action.clone(),
            );
            if !self.dice.once_in(5) {
                self.tell_with("action.resolved", json!({"decision": "approve", "source": "user"}), action);
            }
        }
        self.tell_with("tool.started", json!({"toolName": "search"}), scope.clone());
        self.tell_with("tool.progress", json!({"message": "searching"}), scope.clone());
        if self.dice.once_in(5) {
            return self.tell_with("tool.failed", json!({"error": {"message": "no"}}), scope);
        }
        self.tell_with("tool.result", json!({"preview": "hits"}), scope);
        let at = self.next(outputs);
        let part = json!({"type": "text", "text": "hit", "refId": step + 1});
        let id = format!("fco_{at}");
        self.tell(
            "item.started",
            json!({"item": {"type": "tool_result", "id": id, "callId": call}, "outputIndex": at}),
        );
        self.tell(
            "item.updated",
            json!({"itemId": id, "outputIndex": at, "blockIndex": 0, "block": part, "change": "done"}),
        );
        self.tell(
            "item.completed",
            json!({"item": {"type": "tool_result", "id": id, "content": [part]}, "outputIndex": at}),
        );
    }

    fn child(&mut self, outputs: &mut usize, depth: usize) {
        let call = self.call(outputs, "delegate");
        let at = self.next(outputs);
        let id = format!("fco_{at}");
        self.tell("item.started", json!({"item": {"type": "tool_result", "id": id, "callId": call, "blockList": []}, "outputIndex": at}));
        let parent = self.scope.clone();
        self.scope["parentTaskId"] = parent["taskId"].clone();
        self.scope["parentToolCallId"] = json!(call);
        self.scope["taskId"] = json!(call);
        self.scope["depth"] = json!(depth + 1);
        self.tell("task.created", json!({"agent": "helper"}));
        self.task(&mut 0, depth + 1);
        if !self.dice.once_in(5) {
            self.tell("task.completed", json!({}));
        }
        self.scope = parent;
        self.tell(
            "item.completed",
            json!({"item": {"type": "tool_result", "id": id, "status": "completed"}, "outputIndex": at}),
        );
    }
}
