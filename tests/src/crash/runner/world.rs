//! A server with agents, and what a client does with it.

use std::io::Result as IoResult;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use serde_json::{Value, json};

use super::counter::Counter;
use crate::crash::frames::{Format, take};
use crate::crash::http::{Connection, Part};
use crate::crash::server::{Place, Program};

/// Longer than anything here takes; who waits longer is stuck.
pub const STUCK: Duration = Duration::from_secs(20);

/// How long an action of `hasty` waits.
pub const HASTY: Duration = Duration::from_millis(700);

pub struct World {
    pub place: Place,
    pub program: Program,
    pub counter: Counter,
    folder: tempfile::TempDir,
}

/// A decision's answer.
#[derive(Debug)]
pub struct Told {
    pub status: u16,
    pub body: Value,
}

impl World {
    pub fn new(program: &Program, name: &str) -> Result<Self> {
        Self::with(program, name, "", &[])
    }

    /// The same with more in its configuration, where `COUNTER` is the address of the tools, and more scenarios.
    pub fn with(program: &Program, name: &str, more: &str, scenarios: &[(&str, &str)]) -> Result<Self> {
        let folder = tempfile::Builder::new().prefix(&format!("riverrun-{name}-")).tempdir()?;
        let counter = Counter::start()?;
        let config = write_config(folder.path(), &counter, more, scenarios)?;
        let mut program = program.clone();
        program.words.extend(["--config".to_owned(), config.to_string_lossy().into_owned()]);
        Ok(Self { place: Place::new(folder.path())?, program, counter, folder })
    }

    /// Keeps the data for whoever looks for the reason.
    pub fn keep(self) -> PathBuf {
        self.folder.keep()
    }

    pub fn post(&self, path: &str, body: &Value) -> Result<(u16, Value)> {
        let json = ("content-type", "application/json".to_owned());
        let (status, answer) = self.place.ask("POST", path, &[json], body.to_string().as_bytes())?;
        Ok((status, serde_json::from_slice(&answer).unwrap_or(Value::Null)))
    }

    pub fn get(&self, path: &str) -> Result<Value> {
        let (status, answer) =
            self.place.ask("GET", path, &[("accept", "application/json".to_owned())], b"")?;
        ensure!(status == 200, "GET {path}: {status} {}", String::from_utf8_lossy(&answer));
        Ok(serde_json::from_slice(&answer)?)
    }

    pub fn submit(&self, session: &str, turn: &str, agent: &str) -> Result<()> {
        let body = json!({"turnId": turn, "agent": agent, "input": "go", "busy": "queue"});
        let (status, answer) = self.post(&format!("/v1/sessions/{session}/turns"), &body)?;
        ensure!(status == 202, "submitting turn `{turn}` to session `{session}`: {status} {answer}");
        Ok(())
    }

    pub fn actions(&self, session: &str) -> Result<Vec<Value>> {
        let found = self.get(&format!("/v1/sessions/{session}/actions"))?;
        Ok(found["actions"].as_array().cloned().unwrap_or_default())
    }

    /// Waits until so many actions are open.
    pub fn wait_actions(&self, session: &str, count: usize) -> Result<Vec<Value>> {
        let began = Instant::now();
        while began.elapsed() < STUCK {
            let found = self.actions(session)?;
            if found.len() >= count {
                return Ok(found);
            }
            std::thread::sleep(Duration::from_millis(2));
        }
        bail!("session `{session}` never had {count} actions:\n{}", self.place.export(session)?.join("\n"))
    }

    pub fn decide(&self, session: &str, action: &Value, decision: &str) -> Result<Told> {
        let id = action["actionId"].as_str().context("an action has an id")?;
        let digest =
            if action["digest"].is_null() { &action["payload"]["digest"] } else { &action["digest"] };
        let body = json!({"decision": decision, "digest": digest});
        let (status, body) = self.post(&format!("/v1/sessions/{session}/actions/{id}"), &body)?;
        Ok(Told { status, body })
    }

    pub fn events(&self, session: &str) -> Result<Vec<Value>> {
        let lines = self.place.export(session)?;
        let events =
            lines.iter().map(|line| Ok(serde_json::from_str(line)?)).collect::<Result<Vec<Value>>>()?;
        Ok(events.into_iter().filter(|event| event["sequence"].is_u64()).collect())
    }

    /// Waits until each of the turns has ended, approving what is asked; the events then.
    pub fn finish(&self, session: &str, turns: &[&str]) -> Result<Vec<Value>> {
        let began = Instant::now();
        loop {
            let events = self.events(session)?;
            if turns.iter().all(|turn| terminals(&events, turn) > 0) {
                return Ok(events);
            }
            for action in self.actions(session)? {
                let told = self.decide(session, &action, "approve")?;
                ensure!(told.status == 200 || told.status == 409, "approving {action}: {told:?}");
            }
            if began.elapsed() > STUCK {
                let log: Vec<String> = events.iter().map(Value::to_string).collect();
                bail!("session `{session}` is stuck:\n{}\n{}", log.join("\n"), self.place.said());
            }
            std::thread::sleep(Duration::from_millis(4));
        }
    }

    /// Follows a session from its beginning and tells of every event, until told to stop or cut off.
    pub fn follow(
        &self,
        session: &str,
        opened: impl FnOnce() -> Result<()>,
        mut told: impl FnMut(Value) -> Result<bool>,
    ) -> Result<()> {
        let mut connection = Connection::open(self.place.address, &self.place.key()?, STUCK)?;
        let path = format!("/v1/sessions/{session}/events");
        let lines = ("accept", "application/x-ndjson".to_owned());
        let head = connection.send("GET", &path, &[lines], b"")?;
        ensure!(head.status == 200, "following session `{session}`: {}", head.status);
        opened()?;
        let mut buffer = Vec::new();
        loop {
            let part: IoResult<Part> = connection.read_part(&mut buffer);
            for frame in take(Format::Lines, &mut buffer) {
                let event: Value = serde_json::from_str(&frame.data)?;
                if event["sequence"].is_u64() && !is_about_stream(&event) && !told(event)? {
                    return Ok(());
                }
            }
            ensure!(part? == Part::Data, "the stream of session `{session}` ended");
        }
    }
}

fn is_about_stream(event: &Value) -> bool {
    kind(event).starts_with("stream.")
}

pub fn kind(event: &Value) -> &str {
    event["type"].as_str().unwrap_or_default()
}

pub fn is_terminal(event: &Value) -> bool {
    matches!(kind(event), "turn.completed" | "turn.failed" | "turn.cancelled")
}

pub fn terminals(events: &[Value], turn: &str) -> usize {
    events.iter().filter(|event| event["turnId"] == turn && is_terminal(event)).count()
}

fn write_config(folder: &Path, counter: &Counter, more: &str, scenarios: &[(&str, &str)]) -> Result<PathBuf> {
    let mut files = vec![
        ("work.toml", include_str!("work.toml")),
        ("one.toml", include_str!("one.toml")),
        ("two.toml", include_str!("two.toml")),
    ];
    files.extend(scenarios);
    for (name, text) in &files {
        std::fs::write(folder.join(name), text)?;
    }
    let more = more.replace("COUNTER", &counter.address.to_string());
    let names: Vec<&str> = files.iter().map(|(name, _)| *name).collect();
    let mut config = format!("[scripts]\nfiles = {names:?}\n{more}\n");
    let tools = r#"tools = ["look", "note", "charge", "wipe"]"#;
    for (agent, model, limits) in [
        ("worker", "work", "10m".to_owned()),
        ("asker", "one", "10m".to_owned()),
        ("pair", "two", "10m".to_owned()),
        ("hasty", "one", format!("{}ms", HASTY.as_millis())),
        ("writer", "text", "10m".to_owned()),
        ("slow", "slow", "10m".to_owned()),
    ] {
        config.push_str(&format!(
            "[agents.{agent}]\nmodel = \"scripted/{model}\"\n{tools}\nlimits = {{ action_timeout = \"{limits}\" }}\n"
        ));
    }
    for (tool, method, flags) in [
        ("look", "GET", "read_only = true\nidempotent = true\napproval = \"never\""),
        ("note", "PUT", "idempotent = true\napproval = \"never\""),
        ("charge", "POST", "approval = \"never\""),
        ("wipe", "POST", "destructive = true\napproval = \"always\""),
    ] {
        config.push_str(&format!(
            "[tools.{tool}]\ndescription = \"{tool}\"\nurl = \"http://{}/{tool}\"\nmethod = \"{method}\"\n{flags}\n\
             allow_hosts = [\"127.0.0.1\"]\nparameters = {{ type = \"object\", properties = {{ path = {{ type = \"string\" }} }} }}\n",
            counter.address
        ));
    }
    let path = folder.join("riverrun.toml");
    std::fs::write(&path, config)?;
    Ok(path)
}
