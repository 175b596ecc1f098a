//! Agents on a server that is killed: turns finish, effects are counted, decisions hold.

mod boundary;
pub mod counter;
mod judge;
pub mod overhead;
mod paced;
mod races;
mod waits;
pub mod world;

use std::time::{Duration, Instant};

use anyhow::{Result, bail, ensure};

use super::random::Random;
use super::server::{Program, Server};
use boundary::{Tally, When, cycle};
use world::World;

/// A lease, and two seconds.
const TAKE_OVER: Duration = Duration::from_secs(12);

#[derive(Debug, Clone)]
pub struct Plan {
    /// Kills at random instants, beside one at every event.
    pub random: u64,
    pub races: u64,
    pub seed: u64,
}

pub fn run(program: &Program, plan: &Plan) -> Result<()> {
    let world = World::new(program, "runner")?;
    match all(&world, plan) {
        // What a seeded bug did is of no interest.
        Err(error) if program.bug.is_none() => bail!("{error:#}\nthe data is in {}", world.keep().display()),
        result => result,
    }
}

/// What each seeded bug of the runner breaks, and nothing that takes long.
pub fn short(program: &Program) -> Result<()> {
    let world = World::new(program, "runner")?;
    let (_server, _) = Server::start(&world.program, &world.place)?;
    waits::positions(&world)?;
    waits::disconnect(&world, 2)
}

fn all(world: &World, plan: &Plan) -> Result<()> {
    let (server, _) = Server::start(&world.program, &world.place)?;
    waits::positions(world)?;
    waits::disconnect(world, 4)?;
    let server = waits::queue(world, server)?;
    let server = waits::timers(world, server, 6)?;
    races::fifty(world, 4)?;
    races::all_at_once(world, plan.races, plan.seed)?;
    let server = kills(world, server, plan)?;
    waits::stopped(world, server)?;
    // As test runs say it, for `cargo xtask checklist`.
    for part in ["positions", "disconnect", "queue", "timers", "fifty", "all_at_once", "cycle", "stopped"] {
        println!("test crash::runner::{part} ... ok");
    }
    Ok(())
}

fn kills(world: &World, server: Server, plan: &Plan) -> Result<Server> {
    let (began, mut tally, mut random) = (Instant::now(), Tally::default(), Random::new(plan.seed));
    let mut server = cycle(world, server, When::Never, &mut random, &mut tally)?;
    let events = tally.events;
    for at in 1..=events {
        server = cycle(world, server, When::Event(at), &mut random, &mut tally)?;
    }
    for _ in 0..plan.random {
        let time = Duration::from_micros(random.below(120_000));
        server = cycle(world, server, When::After(time), &mut random, &mut tally)?;
    }
    println!(
        "runner: kill -9 at each of {events} events and at {} instants: {}/{} turns finished, {} killed ({} drained, {} twice), \
         {} outcomes unknown, slowest take-over {} ms, {:.1} s, seed {}",
        plan.random,
        tally.finished,
        tally.cycles,
        tally.killed,
        tally.drained,
        tally.twice,
        tally.unknown,
        tally.slowest.as_millis(),
        began.elapsed().as_secs_f64(),
        plan.seed
    );
    ensure!(tally.problems.is_empty(), "{}", tally.problems.join("\n"));
    ensure!(tally.slowest < TAKE_OVER, "a take-over took {} ms", tally.slowest.as_millis());
    Ok(server)
}
