//! What running a turn here costs: the time from a provider's byte to a subscriber's frame, and memory while waiting.

use std::io::{BufRead, BufReader, Read, Result as IoResult, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use anyhow::{Result, anyhow, ensure};

use super::world::{World, is_terminal, kind};
use crate::crash::server::{Program, Server};

const SETTLE: Duration = Duration::from_secs(75);

#[derive(Debug, Clone)]
pub struct Plan {
    pub turns: usize,
    pub tokens: u64,
    pub rate: u64,
    pub waiting: usize,
}

pub fn run(program: &Program, plan: &Plan) -> Result<()> {
    let provider = provide(plan.tokens, plan.rate)?;
    let config = format!(
        "[providers.paced]\nkind = \"openai-chat\"\nbase_url = \"http://{provider}/v1\"\nkey = {{ env = \"PATH\" }}\n\
         [agents.paced]\nmodel = \"paced/m\"\n"
    );
    let world = World::with(program, "overhead", &config, &[])?;
    let (server, _) = Server::start(&world.program, &world.place)?;
    println!("overhead: load average {}", load());
    if plan.turns > 0 {
        latency(&world, &server, plan)?;
    }
    if plan.waiting > 0 {
        waiting(&world, &server, plan.waiting)?;
    }
    Ok(())
}

fn load() -> String {
    let text = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    text.split(' ').take(3).collect::<Vec<_>>().join(" ")
}

fn micros() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_micros()).unwrap_or(u64::MAX)
}

/// A model service whose every token is the time at which it was sent.
fn provide(tokens: u64, rate: u64) -> IoResult<SocketAddr> {
    let listener = TcpListener::bind(("127.0.0.1", 0))?;
    let address = listener.local_addr()?;
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            std::thread::spawn(move || drop(speak(stream, tokens, rate)));
        }
    });
    Ok(address)
}

fn speak(stream: TcpStream, tokens: u64, rate: u64) -> IoResult<()> {
    stream.set_nodelay(true)?;
    let mut reader = BufReader::new(stream);
    let mut length = 0;
    loop {
        let mut line = String::new();
        reader.read_line(&mut line)?;
        if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
            length = value.trim().parse().unwrap_or(0);
        }
        if line.trim().is_empty() {
            break;
        }
    }
    reader.read_exact(&mut vec![0; length])?;
    let stream = reader.get_mut();
    stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n")?;
    let began = Instant::now();
    for token in 0..tokens {
        let due = Duration::from_micros(token * 1_000_000 / rate);
        std::thread::sleep(due.saturating_sub(began.elapsed()));
        let chunk = format!(
            "data: {{\"id\":\"c\",\"object\":\"chat.completion.chunk\",\"created\":1,\"model\":\"m\",\"choices\":\
             [{{\"index\":0,\"delta\":{{\"content\":\"{} \"}},\"finish_reason\":null}}]}}\n\n",
            micros()
        );
        stream.write_all(chunk.as_bytes())?;
    }
    stream.write_all(
        b"data: {\"id\":\"c\",\"object\":\"chat.completion.chunk\",\"created\":1,\"model\":\"m\",\"choices\":\
          [{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n",
    )
}

fn latency(world: &World, server: &Server, plan: &Plan) -> Result<()> {
    for turn in 0..plan.turns {
        world.place.create_session(&format!("l{turn}"))?;
    }
    let (began, idle) = (Instant::now(), server.computed()?);
    let mut all: Vec<u64> = std::thread::scope(|scope| {
        let readers: Vec<_> =
            (0..plan.turns).map(|turn| scope.spawn(move || read(world, &format!("l{turn}")))).collect();
        let mut all = Vec::new();
        for reader in readers {
            all.extend(reader.join().map_err(|_| anyhow!("a reader panicked"))??);
        }
        Ok::<_, anyhow::Error>(all)
    })?;
    let computed = server.computed()?.saturating_sub(idle);
    all.sort_unstable();
    ensure!(all.len() as u64 == plan.turns as u64 * plan.tokens, "{} tokens came", all.len());
    let at = |share: f64| all[((all.len() - 1) as f64 * share) as usize] as f64 / 1000.0;
    println!(
        "overhead: {} turns of {} tokens at {}/s each, {} tokens in {:.1} s; provider byte to subscriber frame p50 {:.1} ms, \
         p90 {:.1} ms, p99 {:.1} ms, max {:.1} ms; the server computed {:.0} µs for each; load average {}",
        plan.turns,
        plan.tokens,
        plan.rate,
        all.len(),
        began.elapsed().as_secs_f64(),
        at(0.5),
        at(0.9),
        at(0.99),
        at(1.0),
        computed.as_secs_f64() * 1e6 / all.len() as f64,
        load()
    );
    Ok(())
}

/// How long each token of a turn was on its way, in microseconds.
fn read(world: &World, session: &str) -> Result<Vec<u64>> {
    let mut took = Vec::new();
    world.follow(
        session,
        || world.submit(session, "t1", "paced"),
        |event| {
            let now = micros();
            if kind(&event) == "model.delta" {
                let text = event["payload"]["delta"].as_str().unwrap_or_default();
                let sent = text.split_whitespace().filter_map(|word| word.parse::<u64>().ok());
                took.extend(sent.map(|sent| now.saturating_sub(sent)));
            }
            Ok(!is_terminal(&event))
        },
    )?;
    Ok(took)
}

fn waiting(world: &World, server: &Server, count: usize) -> Result<()> {
    const LANES: usize = 8;
    let (before, began) = (server.memory()?, Instant::now());
    std::thread::scope(|scope| {
        let lanes: Vec<_> = (0..LANES)
            .map(|lane| {
                scope.spawn(move || -> Result<()> {
                    for number in (lane..count).step_by(LANES) {
                        let session = format!("w{number}");
                        world.place.create_session(&session)?;
                        world.submit(&session, "t1", "asker")?;
                    }
                    Ok(())
                })
            })
            .collect();
        lanes.into_iter().try_for_each(|lane| lane.join().map_err(|_| anyhow!("a lane panicked"))?)
    })?;
    for number in (0..count).step_by((count / 50).max(1)) {
        world.wait_actions(&format!("w{number}"), 1)?;
    }
    // A session that nobody uses is let go of after a minute.
    let settled = Instant::now();
    let mut after = server.memory()?;
    while settled.elapsed() < SETTLE {
        std::thread::sleep(Duration::from_secs(1));
        after = after.min(server.memory()?);
    }
    println!(
        "overhead: {count} turns wait for a decision after {:.0} s; memory {:.1} MiB, {:.1} MiB before",
        began.elapsed().as_secs_f64(),
        after as f64 / 1024.0,
        before as f64 / 1024.0
    );
    Ok(())
}
