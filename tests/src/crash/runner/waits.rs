//! What waits: a timer and a queue over a restart, a server that was stopped, a reader that goes away.

use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use super::judge::Judge;
use super::world::{HASTY, World, is_terminal, kind};
use crate::crash::server::{Place, Server};

/// What an action may take longer than its timeout, on a busy machine.
const LATE: Duration = Duration::from_secs(2);
/// Longer than the lease of an owner.
const STOPPED: Duration = Duration::from_secs(11);

/// Nobody decides: the action ends by itself, also if the server was away when its time was over.
pub fn timers(world: &World, mut server: Server, cycles: u64) -> Result<Server> {
    for number in 0..cycles {
        let session = format!("timer{number}");
        world.place.create_session(&session)?;
        world.submit(&session, "t1", "hasty")?;
        world.wait_actions(&session, 1)?;
        let asked = Instant::now();
        server.kill()?;
        // Every second one is away when the time is over.
        if number % 2 == 1 {
            std::thread::sleep(HASTY);
        }
        (server, _) = Server::start(&world.program, &world.place)?;
        let events = until(world, &session, is_terminal)?;
        let took = asked.elapsed();
        ensure!(took < HASTY + LATE, "{session}: the action ended after {} ms", took.as_millis());
        let ended = events.iter().find(|event| kind(event) == "action.resolved");
        let ended = ended.with_context(|| format!("{session}: no action.resolved"))?;
        ensure!(ended["payload"]["decision"] == "reject", "{session}: {ended}");
        ensure!(
            world.counter.effects(&session, "wipe").is_empty(),
            "{session}: the tool ran without consent"
        );
        check(world, &session, &events)?;
    }
    println!("runner: timers over a restart {cycles}/{cycles}");
    Ok(server)
}

/// Waits for an event by reading the log.
pub fn until(world: &World, session: &str, is_it: impl Fn(&Value) -> bool) -> Result<Vec<Value>> {
    let began = Instant::now();
    loop {
        let events = world.events(session)?;
        if events.iter().any(&is_it) {
            return Ok(events);
        }
        if began.elapsed() > super::world::STUCK {
            let log: Vec<String> = events.iter().map(Value::to_string).collect();
            anyhow::bail!("session `{session}` is stuck:\n{}", log.join("\n"));
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}

fn check(world: &World, session: &str, events: &[Value]) -> Result<()> {
    let mut judge = Judge::new(session, events, &world.counter);
    judge.log();
    ensure!(judge.problems.is_empty(), "{}", judge.problems.join("\n"));
    Ok(())
}

/// The queue keeps its turns and their order.
pub fn queue(world: &World, server: Server) -> Result<Server> {
    let session = "queue";
    world.place.create_session(session)?;
    world.submit(session, "t0", "asker")?;
    for turn in ["t1", "t2", "t3"] {
        world.submit(session, turn, "writer")?;
    }
    let action = world.wait_actions(session, 1)?.remove(0);
    let (status, answer) =
        world.post(&format!("/v1/sessions/{session}/queue/t3/promote"), &serde_json::json!({}))?;
    ensure!(status == 200, "promoting t3: {status} {answer}");
    server.kill()?;
    let (server, _) = Server::start(&world.program, &world.place)?;
    let queue = world.get(&format!("/v1/sessions/{session}/queue"))?.to_string();
    let places: Vec<_> = ["t3", "t1", "t2"].iter().map(|turn| queue.find(&format!("\"{turn}\""))).collect();
    ensure!(places.iter().all(Option::is_some) && places.is_sorted(), "the queue after a restart: {queue}");
    let told = world.decide(session, &action, "approve")?;
    ensure!(told.status == 200, "approving after a restart: {told:?}");
    let events = world.finish(session, &["t0", "t1", "t2", "t3"])?;
    let ends: Vec<&str> = events
        .iter()
        .filter(|event| is_terminal(event))
        .filter_map(|event| event["turnId"].as_str())
        .collect();
    ensure!(ends == ["t0", "t3", "t1", "t2"], "the turns ended in the order {ends:?}");
    check(world, session, &events)?;
    println!("runner: the queue survives a restart in its order");
    Ok(server)
}

/// A server that was stopped for longer than its lease: nobody else can own its data meanwhile, and it goes on.
pub fn stopped(world: &World, server: Server) -> Result<Server> {
    let session = "stopped";
    world.place.create_session(session)?;
    world.submit(session, "t1", "slow")?;
    until(world, session, |event| kind(event) == "model.delta")?;
    server.stop()?;
    let mine = world.place.clone();
    let other = Place { data: mine.data, said: mine.said, ..Place::new(&world.place.data)? };
    let second = Server::start(&world.program, &other);
    ensure!(second.is_err(), "a second server owns the data of one that is stopped");
    std::thread::sleep(STOPPED);
    server.go_on()?;
    let events = until(world, session, is_terminal)?;
    let mut judge = Judge::new(session, &events, &world.counter);
    judge.log();
    judge.completed("t1");
    ensure!(judge.problems.is_empty(), "{}", judge.problems.join("\n"));
    world.place.create_session("after")?;
    world.submit("after", "t1", "writer")?;
    until(world, "after", is_terminal)?;
    println!("runner: stopped for {} s, no second owner, then it went on", STOPPED.as_secs());
    Ok(server)
}

/// Who goes away cancels nothing.
pub fn disconnect(world: &World, cycles: u64) -> Result<()> {
    for number in 0..cycles {
        let session = format!("gone{number}");
        world.place.create_session(&session)?;
        let mut seen = 0;
        world.follow(
            &session,
            || world.submit(&session, "t1", "slow"),
            |event| {
                seen += u64::from(kind(&event) == "model.delta");
                Ok(seen <= number)
            },
        )?;
        let events = until(world, &session, is_terminal)?;
        let end = events.iter().find(|event| is_terminal(event)).map(kind);
        ensure!(end == Some("turn.completed"), "{session}: its reader went away and it ended with {end:?}");
    }
    println!("runner: readers that go away cancel nothing {cycles}/{cycles}");
    Ok(())
}

/// A decision holds for the action it names, whatever its place among the open ones.
pub fn positions(world: &World) -> Result<()> {
    for (number, chosen) in [(0, "second"), (1, "first")] {
        let session = format!("pair{number}");
        world.place.create_session(&session)?;
        world.submit(&session, "t1", "pair")?;
        let actions = world.wait_actions(&session, 2)?;
        let names = |action: &&Value| action["request"].to_string().contains(chosen);
        let action =
            actions.iter().find(names).with_context(|| format!("no action for {chosen}: {actions:?}"))?;
        let told = world.decide(&session, action, "approve")?;
        ensure!(told.status == 200, "approving {chosen}: {told:?}");
        let began = Instant::now();
        while world.counter.effects(&session, "wipe").is_empty() && began.elapsed() < LATE {
            std::thread::sleep(Duration::from_millis(2));
        }
        let open = world.actions(&session)?;
        ensure!(
            open.len() == 1 && !names(&&open[0]),
            "{session}: after one decision these are open: {open:?}"
        );
        let told = world.decide(&session, &open[0], "reject")?;
        ensure!(told.status == 200, "rejecting the other: {told:?}");
        let events = until(world, &session, is_terminal)?;
        let ran: Vec<String> =
            world.counter.effects(&session, "wipe").into_iter().map(|effect| effect.body).collect();
        ensure!(ran.len() == 1 && ran[0].contains(chosen), "{chosen} was approved, and these ran: {ran:?}");
        check(world, &session, &events)?;
    }
    println!("runner: decisions hold for what they name 2/2");
    Ok(())
}
