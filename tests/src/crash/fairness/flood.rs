//! One tenant's model writes thousands of calls in an answer, while another tenant works as usual.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use serde_json::json;

use super::neighbour::{Neighbour, Times};
use crate::crash::runner::world::{World, terminals};
use crate::crash::server::{Program, Server};

/// How long the other tenant is alone.
const QUIET: Duration = Duration::from_secs(5);
const STUCK: Duration = Duration::from_secs(600);

#[derive(Debug, Clone)]
pub struct Plan {
    /// Calls in the answer.
    pub calls: usize,
    /// Of these the agent runs as many.
    pub limit: usize,
    /// Sessions that flood at the same time.
    pub sessions: usize,
}

/// An answer with so many calls of `look`, and then a text.
pub fn scenario(calls: usize) -> String {
    let call = json!({"call": {"name": "look", "arguments": ["{\"path\":\"a\"}"]}});
    let text = json!({"text": {"pieces": ["all read"]}});
    json!({"step": [{"when": {"results": 1}, "play": [text]}, {"play": vec![call; calls]}]}).to_string()
}

/// The agent `flood` of such a scenario, which runs `limit` calls of an answer, and `quick`, which says one word.
pub fn config(limit: usize) -> String {
    format!(
        "[agents.flood]\nmodel = \"scripted/flood\"\ntools = [\"look\", \"wipe\"]\nlimits = {{ calls = {limit} }}\n\
         [agents.quick]\nmodel = \"scripted/quick\"\n"
    )
}

pub const QUICK: &str = "[[step]]\nplay = [{ text = { pieces = [\"hi\"] } }]\n";

pub fn run(program: &Program, plan: &Plan) -> Result<()> {
    let (config, scenario) = (config(plan.limit), scenario(plan.calls));
    let files = [("flood.json", scenario.as_str()), ("quick.toml", QUICK)];
    let world = World::with(program, "fairness", &config, &files)?;
    let (_server, _) = Server::start(&world.program, &world.place)?;
    let neighbour = Neighbour::new(&world, "neighbour")?;
    println!(
        "fairness: {} sessions flood with {} calls in an answer, of which {} are run",
        plan.sessions, plan.calls, plan.limit
    );
    let quiet = beside(&neighbour, || {
        std::thread::sleep(QUIET);
        Ok(())
    })?;
    let flooded = beside(&neighbour, || flood(&world, plan.sessions))?;
    report("/livez", &quiet.lives, &flooded.lives);
    report("another tenant's turn", &quiet.turns, &flooded.turns);
    let events = world.events("flood-0")?.len();
    println!("the flood took {:.1} s and wrote {events} events in each session", flooded.took.as_secs_f64());
    Ok(())
}

struct Measured {
    lives: Times,
    turns: Times,
    took: Duration,
}

/// Measures the neighbour's requests while `work` goes on.
fn beside(neighbour: &Neighbour<'_>, work: impl FnOnce() -> Result<()>) -> Result<Measured> {
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let lives = scope.spawn(|| neighbour.lives(&stop));
        let turns = scope.spawn(|| neighbour.turns("quick", &stop));
        let began = Instant::now();
        let worked = work();
        let took = began.elapsed();
        stop.store(true, Ordering::Relaxed);
        let (lives, turns) = (lives.join().expect("no panic")?, turns.join().expect("no panic")?);
        worked?;
        Ok(Measured { lives, turns, took })
    })
}

/// Floods every session at once and waits for their turns.
fn flood(world: &World, sessions: usize) -> Result<()> {
    let names: Vec<String> = (0..sessions).map(|number| format!("flood-{number}")).collect();
    for name in &names {
        world.place.create_session(name)?;
        world.submit(name, "t", "flood")?;
    }
    let began = Instant::now();
    for name in &names {
        while world.get(&format!("/v1/sessions/{name}"))?["status"] != "completed" {
            if began.elapsed() > STUCK {
                let events = world.events(name)?;
                bail!("the flood is stuck after {} events, ended: {}", events.len(), terminals(&events, "t"));
            }
            std::thread::sleep(Duration::from_millis(50));
        }
    }
    Ok(())
}

fn report(what: &str, quiet: &Times, flooded: &Times) {
    for (name, share) in [("p50", 0.5), ("p99", 0.99), ("max", 1.0)] {
        let (before, during) = (quiet.at(share), flooded.at(share));
        println!(
            "  {what:24} {name}  quiet {before:8.1} ms  flooded {during:8.1} ms  ratio {:5.1}  (of {} and {})",
            during / before,
            quiet.count(),
            flooded.count()
        );
    }
}
