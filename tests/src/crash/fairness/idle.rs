//! Sessions that are made, written to once and left: what they cost in memory.

use std::time::{Duration, Instant};

use anyhow::{Result, ensure};

use crate::crash::http::Connection;
use crate::crash::runner::world::World;
use crate::crash::server::{Program, Server};

const WRITERS: usize = 16;
const PATIENCE: Duration = Duration::from_secs(30);
/// Sessions before the first look at memory, so that what the server takes once is taken.
const WARM: usize = 2_000;
const WARM_TIME: Duration = Duration::from_secs(15);
const LOOK_EVERY: Duration = Duration::from_secs(10);

#[derive(Debug, Clone)]
pub struct Plan {
    pub sessions: usize,
    /// How long they are left alone.
    pub seconds: u64,
}

pub fn run(program: &Program, plan: &Plan) -> Result<()> {
    let world = World::new(program, "idle")?;
    let (server, _) = Server::start(&world.program, &world.place)?;
    make(&world, "warm", WARM)?;
    std::thread::sleep(WARM_TIME);
    let base = server.memory()?;
    println!("idle: {base} KiB resident after {WARM} sessions");
    let began = Instant::now();
    make(&world, "s", plan.sessions)?;
    println!("idle: made {} sessions in {:.0} s", plan.sessions, began.elapsed().as_secs_f64());
    let began = Instant::now();
    while began.elapsed() < Duration::from_secs(plan.seconds) {
        let (memory, resident) = (server.memory()?, resident(&world)?);
        let each = (memory as f64 - base as f64) * 1024.0 / plan.sessions as f64;
        println!(
            "  after {:3} s  {memory} KiB resident  {each:6.0} bytes per idle session  {resident} sessions in memory",
            began.elapsed().as_secs()
        );
        std::thread::sleep(LOOK_EVERY);
    }
    Ok(())
}

/// Makes sessions with one event each.
pub fn make(world: &World, prefix: &str, sessions: usize) -> Result<()> {
    let (address, key) = (world.place.address, world.place.key()?);
    std::thread::scope(|scope| {
        let writers: Vec<_> = (0..WRITERS)
            .map(|writer| {
                let key = key.clone();
                scope.spawn(move || -> Result<()> {
                    let mut connection = Connection::open(address, &key, PATIENCE)?;
                    for number in (writer..sessions).step_by(WRITERS) {
                        let name = format!("{prefix}-{number}");
                        let created = format!("{{\"sessionId\":\"{name}\"}}");
                        post(&mut connection, "/v1/sessions", &created)?;
                        let event = r#"{"type":"x.note","payload":{"text":"hello"}}"#;
                        post(&mut connection, &format!("/v1/sessions/{name}/events"), event)?;
                    }
                    Ok(())
                })
            })
            .collect();
        writers.into_iter().try_for_each(|writer| writer.join().expect("no panic"))
    })
}

fn post(connection: &mut Connection, path: &str, body: &str) -> Result<()> {
    let json = ("content-type", "application/json".to_owned());
    let head = connection.send("POST", path, &[json], body.as_bytes())?;
    let answer = connection.read_body(&head)?;
    ensure!(head.status == 201, "POST {path}: {} {}", head.status, String::from_utf8_lossy(&answer));
    Ok(())
}

/// The sessions that the server has in memory, as its metrics tell.
pub fn resident(world: &World) -> Result<u64> {
    let (status, body) = world.place.ask("GET", "/metrics", &[], b"")?;
    ensure!(status == 200, "GET /metrics: {status}");
    let text = String::from_utf8(body)?;
    let value = text.lines().find_map(|line| line.strip_prefix("riverrun_sessions_in_memory "));
    Ok(value.and_then(|value| value.trim().parse().ok()).unwrap_or(0))
}
