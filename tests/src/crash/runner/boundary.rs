//! Kills at every event of a turn with tools and an action, and at random instants.

use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use anyhow::{Result, anyhow};
use serde_json::Value;

use super::judge::Judge;
use super::world::{World, is_terminal, kind};
use crate::crash::random::Random;
use crate::crash::server::Server;

#[derive(Debug, Clone, Copy)]
pub enum When {
    /// As soon as a client sees the event with this sequence.
    Event(u64),
    /// So long after the turn was submitted.
    After(Duration),
    Never,
}

#[derive(Debug, Default)]
pub struct Tally {
    pub cycles: u64,
    pub killed: u64,
    pub finished: u64,
    pub twice: u64,
    pub drained: u64,
    pub unknown: usize,
    pub slowest: Duration,
    pub problems: Vec<String>,
    pub events: u64,
}

pub fn cycle(
    world: &World,
    server: Server,
    when: When,
    random: &mut Random,
    tally: &mut Tally,
) -> Result<Server> {
    let session = format!("s{}", tally.cycles);
    tally.cycles += 1;
    world.place.create_session(&session)?;
    let (tell, told) = channel();
    let (mut server, mut killed_at) = (Some(server), None);
    let seen = std::thread::scope(|scope| -> Result<Vec<Value>> {
        let watcher = scope.spawn(|| watch(world, &session, when, &tell));
        if wait(when, &told) {
            killed_at = Some(now());
            stop(server.take(), random, tally)?;
        }
        watcher.join().map_err(|_| anyhow!("the watcher panicked"))?
    })?;
    let server = match server {
        Some(server) => server,
        None => restart(world, random, tally)?,
    };
    if !world.events(&session)?.iter().any(|event| event["turnId"] == "t2") {
        world.submit(&session, "t1", "worker")?;
        world.submit(&session, "t2", "writer")?;
    }
    let events = world.finish(&session, &["t1", "t2"])?;
    judge(world, &session, &events, &seen, killed_at, tally);
    Ok(server)
}

fn judge(
    world: &World,
    session: &str,
    events: &[Value],
    seen: &[Value],
    killed_at: Option<u64>,
    tally: &mut Tally,
) {
    let mut judge = Judge::new(session, events, &world.counter);
    judge.log();
    judge.completed("t1");
    judge.completed("t2");
    judge.effects();
    judge.kept(seen);
    tally.finished += u64::from(judge.problems.is_empty());
    tally.unknown += judge.unknown;
    tally.problems.append(&mut judge.problems);
    tally.events = tally.events.max(events.len() as u64);
    if let Some(took) = killed_at.and_then(|at| taken_over(events, at)) {
        tally.slowest = tally.slowest.max(took);
    }
}

fn wait(when: When, told: &Receiver<bool>) -> bool {
    // The submit is told first, so that an instant counts from there.
    let Ok(_) = told.recv() else { return false };
    match when {
        When::Event(_) => told.recv().unwrap_or(false),
        When::After(time) => {
            std::thread::sleep(time);
            true
        }
        When::Never => false,
    }
}

/// Kills it; now and then asks it to go instead.
fn stop(server: Option<Server>, random: &mut Random, tally: &mut Tally) -> Result<()> {
    let Some(server) = server else { return Ok(()) };
    tally.killed += 1;
    if random.below(10) == 0 {
        tally.drained += 1;
        return server.terminate().map(drop);
    }
    server.kill()
}

/// Starts it; now and then kills it again while it takes over.
fn restart(world: &World, random: &mut Random, tally: &mut Tally) -> Result<Server> {
    let (server, _) = Server::start(&world.program, &world.place)?;
    if random.below(4) != 0 {
        return Ok(server);
    }
    tally.twice += 1;
    std::thread::sleep(Duration::from_micros(random.below(40_000)));
    server.kill()?;
    Ok(Server::start(&world.program, &world.place)?.0)
}

/// Submits a turn and one behind it, approves what is asked, and tells when to kill. What it saw.
fn watch(world: &World, session: &str, when: When, tell: &Sender<bool>) -> Result<Vec<Value>> {
    let (mut seen, mut ended) = (Vec::new(), 0);
    let followed = world.follow(
        session,
        || {
            let submitted = world.submit(session, "t1", "worker");
            let _ = tell.send(false);
            submitted
        },
        |event| {
            let sequence = event["sequence"].as_u64().unwrap_or(0);
            let is_it = matches!(when, When::Event(at) if at == sequence);
            ended += u32::from(is_terminal(&event));
            let step = (kind(&event).to_owned(), event.clone());
            seen.push(event);
            if is_it {
                let _ = tell.send(true);
                return Ok(true);
            }
            match step.0.as_str() {
                "turn.started" if ended == 0 => world.submit(session, "t2", "writer")?,
                "action.required" => drop(world.decide(session, &step.1, "approve")?),
                _ => {}
            }
            Ok(ended < 2)
        },
    );
    let _ = tell.send(false);
    // Cut off is what happens to who follows a server that is killed.
    if matches!(when, When::Never) {
        followed?;
    }
    Ok(seen)
}

/// From the kill to the first thing that the next owner wrote, unless only a person could go on.
fn taken_over(events: &[Value], killed_at: u64) -> Option<Duration> {
    let time = |event: &Value| millis(event["timestamp"].as_str()?);
    let before = events.iter().filter(|event| time(event).is_some_and(|at| at <= killed_at));
    let (mut asked, mut resolved, mut ended) = (0, 0, 0);
    for event in before {
        asked += u32::from(kind(event) == "action.required");
        resolved += u32::from(kind(event) == "action.resolved");
        ended += u32::from(is_terminal(event));
    }
    let first = events.iter().filter_map(time).find(|at| *at > killed_at)?;
    (asked == resolved && ended < 2).then(|| Duration::from_millis(first - killed_at))
}

fn now() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

/// The time of day in milliseconds since the epoch; the date is today's or yesterday's.
fn millis(text: &str) -> Option<u64> {
    let number = |range: std::ops::Range<usize>| text.get(range)?.parse::<u64>().ok();
    let of_day = ((number(11..13)? * 60 + number(14..16)?) * 60 + number(17..19)?) * 1000 + number(20..23)?;
    const DAY: u64 = 86_400_000;
    let today = now() / DAY * DAY;
    let at = today + of_day;
    Some(if at > now() + DAY / 2 { at - DAY } else { at })
}
