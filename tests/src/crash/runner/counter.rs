//! The tools of the agents under test: a small HTTP server that counts its effects.

use std::io::{BufRead, BufReader, Read, Result, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, Instant};

/// Between the effect and its answer: where a kill leaves the outcome unknown.
const WORK: Duration = Duration::from_millis(4);

/// One effect.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Effect {
    pub tool: String,
    /// The session, read from the key.
    pub session: String,
    pub key: String,
    pub body: String,
}

#[derive(Clone)]
pub struct Counter {
    pub address: SocketAddr,
    effects: Arc<Mutex<Vec<Effect>>>,
    /// While it is set, calls of the tool `linger` are not answered.
    pub hold: Arc<AtomicBool>,
}

/// Nobody holds a call for longer.
const LONGEST: Duration = Duration::from_secs(60);

impl Counter {
    /// Runs until the process ends.
    pub fn start() -> Result<Self> {
        let listener = TcpListener::bind(("127.0.0.1", 0))?;
        let counter = Self { address: listener.local_addr()?, effects: Arc::default(), hold: Arc::default() };
        let serving = counter.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let serving = serving.clone();
                // A client that was killed in the middle is the point of this.
                std::thread::spawn(move || drop(serving.serve(stream)));
            }
        });
        Ok(counter)
    }

    fn serve(&self, stream: TcpStream) -> Result<()> {
        let mut reader = BufReader::new(stream);
        let (mut first, mut key, mut length) = (String::new(), String::new(), 0);
        reader.read_line(&mut first)?;
        loop {
            let mut line = String::new();
            reader.read_line(&mut line)?;
            let Some((name, value)) = line.trim().split_once(':') else { break };
            match name.to_ascii_lowercase().as_str() {
                "idempotency-key" => value.trim().clone_into(&mut key),
                "content-length" => length = value.trim().parse().unwrap_or(0),
                _ => {}
            }
        }
        let mut body = vec![0; length];
        reader.read_exact(&mut body)?;
        let path = first.split(' ').nth(1).unwrap_or_default();
        let tool = path.trim_start_matches('/').split('?').next().unwrap_or_default().to_owned();
        let lingers = tool == "linger";
        let session = key.split('/').next().unwrap_or_default().to_owned();
        let body = String::from_utf8_lossy(&body).into_owned();
        self.lock().push(Effect { tool, session, key, body });
        std::thread::sleep(WORK);
        let began = Instant::now();
        while lingers && self.hold.load(Ordering::Acquire) && began.elapsed() < LONGEST {
            std::thread::sleep(WORK);
        }
        let answer =
            b"HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\ncontent-length: 4\r\nconnection: close\r\n\r\ndone";
        reader.get_mut().write_all(answer)
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Effect>> {
        self.effects.lock().expect("nobody panics while counting")
    }

    /// Every effect of every tool, in order.
    pub fn all(&self) -> Vec<Effect> {
        self.lock().clone()
    }

    pub fn effects(&self, session: &str, tool: &str) -> Vec<Effect> {
        let is_it = |effect: &&Effect| effect.session == session && effect.tool == tool;
        self.lock().iter().filter(is_it).cloned().collect()
    }
}
