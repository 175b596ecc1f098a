//! What a tenant may flood a server with, beside calls in one answer.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use clap::ValueEnum;
use serde_json::{Value, json};

use super::flood::STUCK;
use crate::crash::http::Connection;
use crate::crash::runner::world::World;

const WRITERS: usize = 8;
/// How long floods last that have no end of their own.
const FLOOD: Duration = Duration::from_secs(10);

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Kind {
    /// Calls of a tool in one answer.
    Calls,
    /// Calls of a sub-agent in one answer.
    Subagents,
    /// Calls for each of which a hook, a program, is asked.
    Hooks,
    /// Things that are said to a turn while it works.
    Steers,
    /// Calls that wait for decisions, and the decisions.
    Approvals,
    /// Blobs.
    Uploads,
}

impl Kind {
    /// The tool that the flooding answer calls.
    pub fn tool(self) -> &'static str {
        match self {
            Kind::Subagents => "leaf",
            Kind::Approvals => "wipe",
            Kind::Calls | Kind::Hooks | Kind::Steers | Kind::Uploads => "look",
        }
    }

    /// What the configuration has beside the agents of every flood.
    pub fn config(self, limit: usize) -> String {
        let limits = format!("limits = {{ calls = {limit}, children = {limit}, action_timeout = \"10m\" }}");
        let tools = "tools = [\"look\", \"wipe\"]";
        let (more, hooks) = match self {
            Kind::Subagents => ("subagents = [\"leaf\"]\n", ""),
            Kind::Hooks => (
                "",
                "[[hooks]]\nname = \"busy\"\npoints = [\"pre_tool_use\"]\nagents = [\"flood\"]\n\
                 command = [\"sh\", \"-c\", \"cat >/dev/null; echo '{}'\"]\n",
            ),
            Kind::Calls | Kind::Steers | Kind::Approvals | Kind::Uploads => ("", ""),
        };
        format!(
            "{hooks}[agents.flood]\nmodel = \"scripted/flood\"\n{tools}\n{more}{limits}\n\
             [agents.leaf]\nmodel = \"scripted/quick\"\n[agents.quick]\nmodel = \"scripted/quick\"\n"
        )
    }

    /// The scenario of the flooding agent.
    pub fn scenario(self, calls: usize) -> String {
        let arguments = if self == Kind::Subagents { "{\"input\":\"go\"}" } else { "{\"path\":\"a\"}" };
        let call = json!({"call": {"name": self.tool(), "arguments": [arguments]}});
        let text = json!({"text": {"pieces": ["all read"]}});
        json!({"step": [{"when": {"results": 1}, "play": [text]}, {"play": vec![call; calls]}]}).to_string()
    }

    pub fn flood(self, world: &World, sessions: &[String]) -> Result<()> {
        match self {
            Kind::Calls | Kind::Subagents | Kind::Hooks => submit_and_wait(world, sessions, || Ok(())),
            Kind::Approvals => submit_and_wait(world, sessions, || decide_all(world, sessions)),
            Kind::Steers => steer(world, sessions),
            Kind::Uploads => upload(world),
        }
    }
}

/// Floods every session at once and waits for their turns.
fn submit_and_wait(
    world: &World,
    sessions: &[String],
    mut meanwhile: impl FnMut() -> Result<()>,
) -> Result<()> {
    for name in sessions {
        world.place.create_session(name)?;
        world.submit(name, "t", "flood")?;
    }
    let began = Instant::now();
    for name in sessions {
        while world.get(&format!("/v1/sessions/{name}"))?["status"] != "completed" {
            ensure!(began.elapsed() < STUCK, "the flood of `{name}` is stuck");
            meanwhile()?;
            std::thread::sleep(Duration::from_millis(50));
        }
    }
    Ok(())
}

/// Agrees to everything that waits, with several writers at once.
fn decide_all(world: &World, sessions: &[String]) -> Result<()> {
    for session in sessions {
        let actions = world.actions(session)?;
        let (next, actions) = (AtomicUsize::new(0), &actions);
        in_parallel(|| {
            while let Some(action) = actions.get(next.fetch_add(1, Ordering::Relaxed)) {
                let told = world.decide(session, action, "approve")?;
                ensure!(matches!(told.status, 200 | 409 | 410), "deciding: {told:?}");
            }
            Ok(())
        })?;
    }
    Ok(())
}

/// Talks to a turn that waits, from several connections at once.
fn steer(world: &World, sessions: &[String]) -> Result<()> {
    let key = world.place.key()?;
    for name in sessions {
        world.place.create_session(name)?;
        world.submit(name, "t", "asker")?;
        world.wait_actions(name, 1)?;
    }
    let (until, told) = (Instant::now() + FLOOD, AtomicUsize::new(0));
    in_parallel(|| {
        let mut connection = Connection::open(world.place.address, &key, STUCK)?;
        while Instant::now() < until {
            let number = told.fetch_add(1, Ordering::Relaxed);
            let path = format!("/v1/sessions/{}/turns/t/steer", sessions[number % sessions.len()]);
            let status = post(&mut connection, "POST", &path, &json!({"input": "and more"}).to_string())?;
            ensure!(matches!(status, 202 | 409 | 429), "steering: {status}");
        }
        Ok(())
    })?;
    println!("  {} steers", told.into_inner());
    Ok(())
}

fn upload(world: &World) -> Result<()> {
    let key = world.place.key()?;
    let (until, sent) = (Instant::now() + FLOOD, AtomicUsize::new(0));
    in_parallel(|| {
        let mut connection = Connection::open(world.place.address, &key, STUCK)?;
        while Instant::now() < until {
            let number = sent.fetch_add(1, Ordering::Relaxed);
            let body = format!("{number:016}{}", "x".repeat(4 << 20));
            // A body that is refused may be cut off with its connection.
            let Ok(status) = post(&mut connection, "PUT", "/v1/blobs", &body) else {
                connection = Connection::open(world.place.address, &key, STUCK)?;
                continue;
            };
            ensure!(matches!(status, 201 | 429), "uploading: {status}");
        }
        Ok(())
    })?;
    println!("  {} uploads of 4 MiB", sent.into_inner());
    Ok(())
}

fn post(connection: &mut Connection, method: &str, path: &str, body: &str) -> Result<u16> {
    let json = ("content-type", "application/json".to_owned());
    let head = connection.send(method, path, &[json], body.as_bytes())?;
    let answer = connection.read_body(&head)?;
    let _: Value = serde_json::from_slice(&answer).context("an answer is JSON")?;
    Ok(head.status)
}

fn in_parallel(work: impl Fn() -> Result<()> + Sync) -> Result<()> {
    std::thread::scope(|scope| {
        let writers: Vec<_> = (0..WRITERS).map(|_| scope.spawn(&work)).collect();
        writers.into_iter().try_for_each(|writer| writer.join().expect("no panic"))
    })
}
