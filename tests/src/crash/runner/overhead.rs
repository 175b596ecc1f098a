//! What running a turn here costs: the time from a provider's byte to a subscriber's frame, and memory while waiting.

use std::io::{BufRead, BufReader, Read, Result as IoResult, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use anyhow::{Result, anyhow, ensure};

use super::paced::{Reader, read_all};
use super::world::World;
use crate::crash::server::{Program, Server};

const SETTLE: Duration = Duration::from_secs(75);

#[derive(Debug, Clone)]
pub struct Plan {
    pub turns: usize,
    pub tokens: u64,
    pub rate: u64,
    pub service: bool,
    pub waiting: usize,
}

pub fn run(program: &Program, plan: &Plan) -> Result<()> {
    let (config, scenario) = if plan.service { by_service(plan)? } else { by_script(plan) };
    let world = World::with(program, "overhead", &config, &[("paced.toml", &scenario)])?;
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

/// A model service beside the server, and no script.
fn by_service(plan: &Plan) -> Result<(String, String)> {
    let provider = provide(plan.tokens, plan.rate)?;
    let config = format!(
        "[providers.paced]\nkind = \"openai-chat\"\nbase_url = \"http://{provider}/v1\"\nkey = {{ env = \"PATH\" }}\n\
         [agents.paced]\nmodel = \"paced/m\"\n"
    );
    Ok((config, "[[step]]\nplay = []\n".to_owned()))
}

/// A script whose every token is the time at which it is due.
fn by_script(plan: &Plan) -> (String, String) {
    let pace = 1000 / plan.rate.clamp(1, 1000);
    let play =
        format!("{{ text = {{ pieces = [\"{{due}} \"], times = {}, pace_ms = {pace} }} }}", plan.tokens);
    let scenario = format!("[[step]]\nplay = [\n  {play},\n]\n");
    ("[agents.paced]\nmodel = \"scripted/paced\"\n".to_owned(), scenario)
}

fn load() -> String {
    let text = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    text.split(' ').take(3).collect::<Vec<_>>().join(" ")
}

/// The processors' time that the host gave to others, and all of it, in ticks.
fn stolen() -> (u64, u64) {
    let text = std::fs::read_to_string("/proc/stat").unwrap_or_default();
    let line = text.lines().next().unwrap_or_default();
    let ticks: Vec<u64> =
        line.split_whitespace().skip(1).take(8).filter_map(|word| word.parse().ok()).collect();
    (ticks.get(7).copied().unwrap_or(0), ticks.iter().sum())
}

pub(super) fn micros() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_micros()).unwrap_or(u64::MAX)
}

/// A model service whose every token is the time at which it was sent. One thread paces all answers, so that what is
/// measured is the server, and not the scheduler among hundreds of threads.
fn provide(tokens: u64, rate: u64) -> IoResult<SocketAddr> {
    let listener = TcpListener::bind(("127.0.0.1", 0))?;
    let address = listener.local_addr()?;
    let (asked, answers) = channel();
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let asked = asked.clone();
            std::thread::spawn(move || {
                if let Ok(stream) = read_request(stream) {
                    let _ = asked.send(Answer { stream, began: Instant::now(), sent: 0 });
                }
            });
        }
    });
    std::thread::spawn(move || pace(&answers, tokens, rate));
    Ok(address)
}

struct Answer {
    stream: TcpStream,
    began: Instant,
    sent: u64,
}

fn read_request(stream: TcpStream) -> IoResult<TcpStream> {
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
    let mut stream = reader.into_inner();
    stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n")?;
    Ok(stream)
}

/// Sends each answer's next token when it is due.
fn pace(asked: &Receiver<Answer>, tokens: u64, rate: u64) {
    const TICK: Duration = Duration::from_micros(500);
    let mut answers: Vec<Answer> = Vec::new();
    loop {
        answers.extend(asked.try_iter());
        answers.retain_mut(|answer| {
            let due = (answer.began.elapsed().as_micros() as u64 * rate / 1_000_000 + 1).min(tokens);
            while answer.sent < due {
                answer.sent += 1;
                if answer.speak(tokens).is_err() {
                    return false;
                }
            }
            answer.sent < tokens
        });
        std::thread::sleep(TICK);
    }
}

impl Answer {
    fn speak(&mut self, tokens: u64) -> IoResult<()> {
        let mut chunk = format!(
            "data: {{\"id\":\"c\",\"object\":\"chat.completion.chunk\",\"created\":1,\"model\":\"m\",\"choices\":\
             [{{\"index\":0,\"delta\":{{\"content\":\"{} \"}},\"finish_reason\":null}}]}}\n\n",
            micros()
        );
        if self.sent == tokens {
            chunk.push_str(
                "data: {\"id\":\"c\",\"object\":\"chat.completion.chunk\",\"created\":1,\"model\":\"m\",\"choices\":\
                 [{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n",
            );
        }
        self.stream.write_all(chunk.as_bytes())
    }
}

fn latency(world: &World, server: &Server, plan: &Plan) -> Result<()> {
    for turn in 0..plan.turns {
        world.place.create_session(&format!("l{turn}"))?;
    }
    let (began, idle, before) = (Instant::now(), server.computed()?, stolen());
    let mut readers = Vec::new();
    for turn in 0..plan.turns {
        readers.push(Reader::open(&world.place, &format!("l{turn}"))?);
    }
    let submitted = std::thread::scope(|scope| {
        let submit = scope
            .spawn(|| (0..plan.turns).try_for_each(|turn| world.submit(&format!("l{turn}"), "t1", "paced")));
        let read = read_all(&mut readers);
        submit.join().map_err(|_| anyhow!("submitting panicked"))?.and(read)
    });
    submitted?;
    let mut came: Vec<u64> = readers.iter().flat_map(|reader| reader.came.iter().copied()).collect();
    came.sort_unstable();
    let mut all: Vec<u64> = readers.into_iter().flat_map(|reader| reader.took).collect();
    let computed = server.computed()?.saturating_sub(idle);
    let after = stolen();
    let stolen =
        100.0 * after.0.saturating_sub(before.0) as f64 / after.1.saturating_sub(before.1).max(1) as f64;
    all.sort_unstable();
    ensure!(all.len() as u64 == plan.turns as u64 * plan.tokens, "{} tokens came", all.len());
    let at = |share: f64| all[((all.len() - 1) as f64 * share) as usize] as f64 / 1000.0;
    let part = |share: f64| came[((came.len() - 1) as f64 * share) as usize] as f64 / 1000.0;
    println!(
        "overhead: {} turns of {} tokens at {}/s each, {} tokens in {:.1} s; provider byte to subscriber frame p50 {:.1} ms, \
         p90 {:.1} ms, p99 {:.1} ms, max {:.1} ms, of it until it was written p50 {:.0} ms, p99 {:.0} ms; the server \
         computed {:.0} µs for each; the host took {stolen:.1} % for others; load average {}",
        plan.turns,
        plan.tokens,
        plan.rate,
        all.len(),
        began.elapsed().as_secs_f64(),
        at(0.5),
        at(0.9),
        at(0.99),
        at(1.0),
        part(0.5),
        part(0.99),
        computed.as_secs_f64() * 1e6 / all.len() as f64,
        load()
    );
    Ok(())
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
