//! One tenant floods the server, as by a model that writes thousands of calls in an answer, while another tenant works as
//! usual.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::Result;

use super::kinds::Kind;
use super::neighbour::{Neighbour, Times};
use crate::crash::runner::world::World;
use crate::crash::server::{Program, Server};

/// How long the other tenant is alone.
const QUIET: Duration = Duration::from_secs(5);
pub(super) const STUCK: Duration = Duration::from_secs(600);

#[derive(Debug, Clone)]
pub struct Plan {
    pub kind: Kind,
    /// Calls in the answer.
    pub calls: usize,
    /// Of these the agent runs as many.
    pub limit: usize,
    /// Sessions that flood at the same time.
    pub sessions: usize,
}

/// An answer with so many calls of `look`, and then a text.
pub fn scenario(calls: usize) -> String {
    Kind::Calls.scenario(calls)
}

/// The agent `flood` of such a scenario, which runs `limit` calls of an answer, and `quick`, which says one word.
pub fn config(limit: usize) -> String {
    Kind::Calls.config(limit)
}

pub const QUICK: &str = "[[step]]\nplay = [{ text = { pieces = [\"hi\"] } }]\n";

pub fn run(program: &Program, plan: &Plan) -> Result<()> {
    let (config, scenario) = (plan.kind.config(plan.limit), plan.kind.scenario(plan.calls));
    let files = [("flood.json", scenario.as_str()), ("quick.toml", QUICK)];
    // The rate of uploads is what bounds this flood, so it is as users have it.
    let program = if plan.kind == Kind::Uploads { program.with_default_limits() } else { program.clone() };
    let world = World::with(&program, "fairness", &config, &files)?;
    let (_server, _) = Server::start(&world.program, &world.place)?;
    let neighbour = Neighbour::new(&world, "neighbour")?;
    println!(
        "fairness: {} sessions flood with {:?}, {} calls in an answer, of which {} are run",
        plan.sessions, plan.kind, plan.calls, plan.limit
    );
    let quiet = beside(&neighbour, || {
        std::thread::sleep(QUIET);
        Ok(())
    })?;
    let names: Vec<String> = (0..plan.sessions).map(|number| format!("flood-{number}")).collect();
    let flooded = beside(&neighbour, || plan.kind.flood(&world, &names))?;
    report("/livez", &quiet.lives, &flooded.lives);
    report("another tenant's turn", &quiet.turns, &flooded.turns);
    println!("the flood took {:.1} s", flooded.took.as_secs_f64());
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
