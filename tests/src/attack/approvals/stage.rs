//! A server with a tool that must be approved, and keys of each kind.

use std::thread::sleep;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use serde_json::{Value, json};

use crate::crash::http::Connection;
use crate::crash::runner::world::{STUCK, World};
use crate::crash::{Program, Server};

/// How long something that must not happen is waited for.
pub const QUIET: Duration = Duration::from_millis(150);

/// Tools that destroy something and may be repeated: a lost attempt at one is made again.
const TOOLS: &str = r#"
[tools.purge]
description = "purge"
url = "http://COUNTER/purge"
method = "PUT"
destructive = true
idempotent = true
approval = "always"
allow_hosts = ["127.0.0.1"]
parameters = { type = "object", properties = { path = { type = "string" } } }

[tools.linger]
description = "linger"
url = "http://COUNTER/linger"
method = "PUT"
destructive = true
idempotent = true
approval = "always"
timeout = "60s"
allow_hosts = ["127.0.0.1"]
parameters = { type = "object", properties = { path = { type = "string" } } }

[agents.purger]
model = "scripted/purge"
tools = ["purge"]
limits = { action_timeout = "10m" }

[agents.lingerer]
model = "scripted/linger"
tools = ["linger"]
limits = { action_timeout = "10m" }
"#;

const SCENARIO: &str = r#"
about = "one call that a person must agree to, then text"

[[step]]
when = { input_contains = "go on" }
usage = { input = 10, output = 10 }
play = [ { text = { pieces = ["That ", "was ", "all."] } } ]

[[step]]
when = { results = 1 }
usage = { input = 10, output = 10 }
play = [ { text = { pieces = ["That ", "was ", "all."] } } ]

[[step]]
usage = { input = 10, output = 10 }
play = [ { call = { name = "TOOL", arguments = ['{"path":"x"}'] } } ]
"#;

pub struct Stage {
    pub world: World,
    pub server: Server,
    /// Scopes `read` and `write`.
    pub writer: String,
    /// Scopes `read`, `write` and `approve`.
    pub approver: String,
}

impl Stage {
    pub fn new(program: &Program, name: &str) -> Result<Self> {
        Self::with(program, name, "", &[])
    }

    pub fn with(program: &Program, name: &str, more: &str, scenarios: &[(&str, &str)]) -> Result<Self> {
        let config = format!("{TOOLS}{more}");
        let [purge, linger] = ["purge", "linger"].map(|tool| SCENARIO.replace("TOOL", tool));
        let mut files = vec![("purge.toml", purge.as_str()), ("linger.toml", linger.as_str())];
        files.extend(scenarios);
        let world = World::with(program, name, &config, &files)?;
        let (server, _) = Server::start(&world.program, &world.place)?;
        let key = |scopes: &[&str]| -> Result<String> {
            let (status, made) = world.post("/v1/keys", &json!({"scopes": scopes}))?;
            ensure!(status == 201, "making a key: {status} {made}");
            Ok(made["key"].as_str().context("a new key")?.to_owned())
        };
        let (writer, approver) = (key(&["read", "write"])?, key(&["read", "write", "approve"])?);
        Ok(Self { world, server, writer, approver })
    }

    /// Stops the server and starts it again on the same data.
    pub fn restart(self) -> Result<Self> {
        let Self { world, server, writer, approver } = self;
        server.terminate()?;
        let (server, _) = Server::start(&world.program, &world.place)?;
        Ok(Self { world, server, writer, approver })
    }

    pub fn ask(&self, key: &str, method: &str, path: &str, kind: &str, body: &str) -> Result<(u16, Value)> {
        let mut connection = Connection::open(self.world.place.address, key, STUCK)?;
        let kind = ("content-type", kind.to_owned());
        let head = connection.send(method, path, &[kind], body.as_bytes())?;
        let answer = connection.read_body(&head)?;
        Ok((head.status, serde_json::from_slice(&answer).unwrap_or(Value::Null)))
    }

    pub fn post(&self, key: &str, path: &str, body: &Value) -> Result<(u16, Value)> {
        self.ask(key, "POST", path, "application/json", &body.to_string())
    }

    /// Appends an event with a key.
    pub fn tell(&self, key: &str, session: &str, event: &Value) -> Result<(u16, Value)> {
        self.post(key, &format!("/v1/sessions/{session}/events"), event)
    }

    /// The event must be refused as the runner's.
    pub fn refused(&self, session: &str, event: &Value) -> Result<()> {
        let (status, answer) = self.tell(&self.writer, session, event)?;
        ensure!(
            (status, answer["code"].as_str()) == (403, Some("runner_only")),
            "{status} {answer} for {event}"
        );
        Ok(())
    }

    /// Events of a producer's own turn must be taken.
    pub fn taken(&self, key: &str, session: &str, event: &Value) -> Result<()> {
        let (status, answer) = self.tell(key, session, event)?;
        ensure!(status == 201, "{status} {answer} for {event}");
        Ok(())
    }

    pub fn import(&self, session: &str, lines: &[String]) -> Result<(u16, Value)> {
        let path = format!("/v1/import?session={session}");
        self.ask(&self.writer, "POST", &path, "application/x-ndjson", &(lines.join("\n") + "\n"))
    }

    pub fn fork(&self, session: &str, at: u64, id: &str) -> Result<()> {
        let body = json!({"at": at, "sessionId": id});
        let (status, answer) = self.post(&self.writer, &format!("/v1/sessions/{session}/fork"), &body)?;
        ensure!(status == 201, "forking `{session}` at {at}: {status} {answer}");
        Ok(())
    }

    /// A turn whose call waits for a decision.
    pub fn pending(&self, session: &str, agent: &str) -> Result<Pending> {
        self.world.place.create_session(session)?;
        self.world.submit(session, "t", agent)?;
        let action = self.world.wait_actions(session, 1)?.remove(0);
        let events = self.world.events(session)?;
        let asked = events.iter().find(|event| event["type"] == "action.required");
        let asked = asked.context("a question in the log")?.clone();
        Ok(Pending { session: session.to_owned(), action, asked })
    }

    /// How often the tool of an agent ran in a session.
    pub fn effects(&self, session: &str) -> usize {
        self.world.counter.all().iter().filter(|effect| effect.session == session).count()
    }

    /// Nothing runs in a session, also a moment later.
    pub fn stays_at(&self, session: &str, effects: usize) -> Result<()> {
        sleep(QUIET);
        let found = self.effects(session);
        ensure!(found == effects, "{found} effects in session `{session}`, not {effects}");
        Ok(())
    }

    pub fn head(&self, session: &str) -> Result<u64> {
        let known = self.world.get(&format!("/v1/sessions/{session}"))?;
        known["head"].as_u64().context("a head")
    }

    pub fn rules(&self, session: &str) -> Result<Value> {
        Ok(self.world.get(&format!("/v1/sessions/{session}/rules"))?["rules"].clone())
    }

    /// Makes the runner look at the session again.
    pub fn steer(&self, session: &str) -> Result<()> {
        let path = format!("/v1/sessions/{session}/turns/t/steer");
        let (status, answer) = self.post(&self.writer, &path, &json!({"input": "go on"}))?;
        ensure!(status == 202, "steering: {status} {answer}");
        Ok(())
    }

    /// Approves or rejects with the key that may.
    pub fn decide(&self, session: &str, action: &Value, body: Value) -> Result<(u16, Value)> {
        let id = action["actionId"].as_str().context("an action has an id")?;
        let mut body = body;
        let digest =
            if action["digest"].is_null() { &action["payload"]["digest"] } else { &action["digest"] };
        body["digest"] = digest.clone();
        self.post(&self.approver, &format!("/v1/sessions/{session}/actions/{id}"), &body)
    }

    /// Approves what is asked; then the turn ends well, the tool ran once, and nothing waits any more.
    pub fn approve_and_finish(&self, pending: &Pending) -> Result<()> {
        let session = &pending.session;
        let before = self.effects(session);
        let (status, told) = self.decide(session, &pending.action, json!({"decision": "approve"}))?;
        ensure!(status == 200 && told["won"] == true, "approving: {status} {told}");
        self.ended(session, "t")?;
        let ran = self.effects(session) - before;
        ensure!(ran == 1, "the approved call ran {ran} times");
        self.rests(session)
    }

    /// Nothing of the session waits for a decision.
    pub fn rests(&self, session: &str) -> Result<()> {
        let open = self.world.actions(session)?;
        ensure!(open.iter().all(|action| action["status"] != "pending"), "still asked: {open:?}");
        let status = self.world.get(&format!("/v1/sessions/{session}"))?["status"].clone();
        ensure!(status != "waiting_permission", "the session stays {status}");
        Ok(())
    }

    /// Waits until a turn has ended; its last event.
    pub fn ended(&self, session: &str, turn: &str) -> Result<Value> {
        let began = Instant::now();
        while began.elapsed() < STUCK {
            let events = self.world.events(session)?;
            let is_end = |event: &&Value| {
                let kind = event["type"].as_str().unwrap_or_default();
                event["turnId"] == turn && matches!(kind, "turn.completed" | "turn.failed" | "turn.cancelled")
            };
            if let Some(end) = events.iter().rev().find(is_end) {
                return Ok(end.clone());
            }
            sleep(Duration::from_millis(4));
        }
        bail!(
            "turn `{turn}` of session `{session}` does not end:\n{}",
            self.world.place.export(session)?.join("\n")
        )
    }

    /// A new turn of the agent asks; it does not run by a rule.
    pub fn asks(&self, session: &str, turn: &str, agent: &str) -> Result<()> {
        let before = self.effects(session);
        self.world.submit(session, turn, agent)?;
        let actions = self.world.wait_actions(session, 1)?;
        ensure!(actions.len() == 1, "one question, not {actions:?}");
        self.stays_at(session, before)
    }
}

/// A call that waits.
pub struct Pending {
    pub session: String,
    /// As a person is shown it.
    pub action: Value,
    /// The question in the log, with every id of the call.
    pub asked: Value,
}

impl Pending {
    /// An event with all ids of the call.
    pub fn forged(&self, kind: &str, payload: Value) -> Value {
        let mut event = json!({"type": kind, "payload": payload});
        for id in ["threadId", "turnId", "taskId", "runId", "stepId", "toolCallId", "actionId"] {
            if !self.asked[id].is_null() {
                event[id] = self.asked[id].clone();
            }
        }
        event
    }

    /// The same event, naming the call in other ways: by one id alone, or beside a turn that does not exist.
    pub fn disguises(&self, event: &Value) -> Vec<Value> {
        let ids = ["turnId", "taskId", "runId", "toolCallId", "actionId"];
        let mut all = vec![event.clone()];
        for kept in ids {
            let mut alone = event.clone();
            for id in ids.iter().filter(|id| **id != kept) {
                alone.as_object_mut().map(|members| members.remove(*id));
            }
            all.push(alone.clone());
            if kept != "turnId" {
                alone["turnId"] = json!("elsewhere");
                all.push(alone);
            }
        }
        all
    }
}
