//! Many who decide, cancel and time out at once: one outcome, and everybody is told which.

use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow, ensure};
use serde_json::{Value, json};

use super::judge::Judge;
use super::waits::until;
use super::world::{HASTY, Told, World, is_terminal, kind};
use crate::crash::random::Random;

/// A turn has ended so long after somebody stopped it.
const BOUND: Duration = Duration::from_secs(5);

/// Fifty at once, on one action.
pub fn fifty(world: &World, rounds: u64) -> Result<()> {
    for round in 0..rounds {
        let session = format!("fifty{round}");
        world.place.create_session(&session)?;
        world.submit(&session, "t1", "asker")?;
        let action = world.wait_actions(&session, 1)?.remove(0);
        let choice = |number: u64| if number.is_multiple_of(2) { "approve" } else { "reject" };
        let (to, what) = (session.as_str(), &action);
        let told = std::thread::scope(|scope| {
            let deciders: Vec<_> =
                (0..50).map(|number| scope.spawn(move || world.decide(to, what, choice(number)))).collect();
            deciders
                .into_iter()
                .map(|decider| decider.join().map_err(|_| anyhow!("a decider panicked"))?)
                .collect::<Result<Vec<Told>>>()
        })?;
        let events = until(world, &session, is_terminal)?;
        let won = told.iter().filter(|told| told.status == 200 && told.body["won"] == true).count();
        ensure!(won == 1, "{session}: {won} of fifty won");
        judge(world, &session, &events, &told)?;
    }
    println!("runner: 50 deciders, one outcome {rounds}/{rounds}");
    Ok(())
}

/// Decisions against cancel against the timeout against the end of the turn.
pub fn all_at_once(world: &World, races: u64, seed: u64) -> Result<()> {
    let mut ends = std::collections::BTreeMap::<String, u64>::new();
    let lanes: u64 = 8;
    let per_lane = races / lanes;
    let found = std::thread::scope(|scope| {
        let lanes: Vec<_> = (0..lanes)
            .map(|lane| {
                scope.spawn(move || -> Result<Vec<String>> {
                    let mut random = Random::new(seed * 1000 + lane);
                    (0..per_lane)
                        .map(|number| race(world, &format!("race{lane}x{number}"), &mut random))
                        .collect()
                })
            })
            .collect();
        lanes
            .into_iter()
            .map(|lane| lane.join().map_err(|_| anyhow!("a lane panicked"))?)
            .collect::<Result<Vec<Vec<String>>>>()
    })?;
    for end in found.into_iter().flatten() {
        *ends.entry(end).or_default() += 1;
    }
    let total: u64 = ends.values().sum();
    println!("runner: decide × cancel × timeout × complete {total}/{}: {ends:?}", lanes * per_lane);
    Ok(())
}

fn race(world: &World, session: &str, random: &mut Random) -> Result<String> {
    world.place.create_session(session)?;
    let agent = if random.below(2) == 0 { "hasty" } else { "asker" };
    world.submit(session, "t1", agent)?;
    let action = world.wait_actions(session, 1)?.remove(0);
    if agent == "hasty" {
        // So that decisions come about when the timeout does.
        std::thread::sleep(HASTY.saturating_sub(Duration::from_millis(20)));
    }
    // Often the decision comes first and the cancel meets the end of the turn.
    let who = [random.below(30), random.below(40), random.below(120)];
    let (mut told, began) = (Vec::new(), Instant::now());
    std::thread::scope(|scope| -> Result<()> {
        let later = |millis: u64| std::thread::sleep(Duration::from_millis(millis));
        let approve = scope
            .spawn(move || (later(who[0]), world.decide(session, &action_of(world, session), "approve")).1);
        let reject = {
            let action = action.clone();
            scope.spawn(move || (later(who[1]), world.decide(session, &action, "reject")).1)
        };
        let cancel = scope.spawn(move || {
            later(who[2]);
            world.post(&format!("/v1/sessions/{session}/turns/t1/cancel"), &json!({"mode": "immediate"}))
        });
        let panicked = || anyhow!("a racer panicked");
        told.push(reject.join().map_err(|_| panicked())??);
        if let Ok(answer) = approve.join().map_err(|_| panicked())? {
            told.push(answer);
        }
        let (status, body) = cancel.join().map_err(|_| panicked())??;
        ensure!(status < 300 || status == 409, "{session}: cancel was answered {status} {body}");
        Ok(())
    })?;
    let events = until(world, session, is_terminal)?;
    ensure!(began.elapsed() < BOUND, "{session}: the turn ended after {} ms", began.elapsed().as_millis());
    judge(world, session, &events, &told)?;
    let end = events.iter().find(|event| is_terminal(event)).map(kind).context("it has ended")?;
    let by =
        resolution(&events).map_or("nobody", |event| event["payload"]["decision"].as_str().unwrap_or("?"));
    Ok(format!("{by}, {end}"))
}

/// The action as a second client reads it; one that is gone has no name, and the decision is refused.
fn action_of(world: &World, session: &str) -> Value {
    let found = world.events(session).unwrap_or_default();
    found.into_iter().find(|event| kind(event) == "action.required").unwrap_or(Value::Null)
}

fn resolution(events: &[Value]) -> Option<&Value> {
    events.iter().find(|event| kind(event) == "action.resolved")
}

/// One outcome; whoever was answered was told it; the tool ran if and only if it was approved.
fn judge(world: &World, session: &str, events: &[Value], told: &[Told]) -> Result<()> {
    let mut judge = Judge::new(session, events, &world.counter);
    judge.log();
    ensure!(judge.problems.is_empty(), "{}", judge.problems.join("\n"));
    let holds = resolution(events).map(|event| &event["payload"]["decision"]);
    for Told { status, body } in told {
        let fits = match status {
            200 | 409 | 410 => holds.is_none() || Some(&body["decision"]) == holds,
            _ => false,
        };
        ensure!(fits, "{session}: {holds:?} holds, and somebody was told {status} {body}");
    }
    let ran = world.counter.effects(session, "wipe").len();
    let approved = holds.is_some_and(|decision| decision == "approve");
    ensure!(ran <= usize::from(approved), "{session}: {holds:?} holds, and the tool ran {ran} times");
    Ok(())
}
