//! Readers of many streams on one thread, so that reading costs little beside what is measured.

use std::io::{IoSliceMut, Read, Write};
use std::net::TcpStream;
use std::os::fd::{AsFd, AsRawFd};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use nix::errno::Errno;
use nix::sys::socket::{ControlMessageOwned, MsgFlags, recvmsg, setsockopt, sockopt};
use nix::sys::time::TimeSpec;
use rustix::event::epoll::{self, CreateFlags, Event, EventData, EventFlags};

use crate::crash::server::Place;

const ENDS: [&[u8]; 3] = [b"turn.completed\"", b"turn.failed\"", b"turn.cancelled\""];
const LONGEST: Duration = Duration::from_secs(300);
/// How often the streams are looked at. When a frame came is told by the kernel and not by the clock of who looks: a
/// reader that is woken by every frame would take from the server the core on which both run here.
const LOOK: Duration = Duration::from_millis(2);

/// One session's stream.
pub struct Reader {
    stream: TcpStream,
    rest: Vec<u8>,
    /// How long each token was on its way, in microseconds.
    pub took: Vec<u64>,
    /// How long each of them was on its way until the server wrote it down, by the time in its event.
    pub came: Vec<u64>,
    is_over: bool,
}

const DAY: u64 = 86_400_000_000;

/// The microseconds of the day that an event's time tells.
fn written(line: &str) -> Option<u64> {
    let (_, time) = line.split_once("\"timestamp\":\"")?;
    let part = |from: usize, to: usize| time.get(from..to)?.parse::<u64>().ok();
    let seconds = part(11, 13)? * 3600 + part(14, 16)? * 60 + part(17, 19)?;
    Some((seconds * 1000 + part(20, 23)?) * 1000)
}

impl Reader {
    pub fn open(place: &Place, session: &str) -> Result<Self> {
        let mut stream = TcpStream::connect(place.address)?;
        let key = place.key()?;
        let request = format!(
            "GET /v1/sessions/{session}/events HTTP/1.1\r\nhost: {}\r\nauthorization: Bearer {key}\r\n\
             accept: application/x-ndjson\r\n\r\n",
            place.address
        );
        stream.write_all(request.as_bytes())?;
        // The stream tells first that it is open; what is submitted after that is in it.
        let mut rest = Vec::new();
        while !contains(&rest, b"stream.opened") {
            let mut buffer = [0; 4096];
            let count = stream.read(&mut buffer)?;
            ensure!(count > 0, "following session `{session}`: {}", String::from_utf8_lossy(&rest));
            rest.extend_from_slice(&buffer[..count]);
        }
        stream.set_nonblocking(true)?;
        setsockopt(&stream, sockopt::ReceiveTimestampns, &true)?;
        // As a client that is far away: its acknowledgements come for several frames together, and not from this core.
        rustix::net::sockopt::set_tcp_quickack(&stream, false)?;
        Ok(Self { stream, rest: Vec::new(), took: Vec::new(), came: Vec::new(), is_over: false })
    }

    /// Reads what is there. When it came is the time of its last segment.
    fn read(&mut self, buffer: &mut [u8], notes: &mut [u8]) -> Result<()> {
        let (count, came_at) = {
            let mut into = [IoSliceMut::new(buffer)];
            match recvmsg::<()>(self.stream.as_raw_fd(), &mut into, Some(notes), MsgFlags::empty()) {
                Ok(message) => {
                    ensure!(message.bytes > 0, "a stream ended before its turn");
                    let stamp = message.cmsgs()?.find_map(|note| match note {
                        ControlMessageOwned::ScmTimestampns(time) => Some(micros_of(&time)),
                        _ => None,
                    });
                    (message.bytes, stamp.context("the kernel does not tell when a segment came")?)
                }
                Err(Errno::EAGAIN) => return Ok(()),
                Err(error) => return Err(error.into()),
            }
        };
        self.rest.extend_from_slice(&buffer[..count]);
        let Some(end) = self.rest.iter().rposition(|byte| *byte == b'\n') else { return Ok(()) };
        let lines = &self.rest[..=end];
        for line in lines.split(|byte| *byte == b'\n') {
            let Some(rest) = line.strip_prefix(b"{\"type\":\"") else { continue };
            self.is_over |= ENDS.iter().any(|end| rest.starts_with(end));
            if !rest.starts_with(b"model.delta\"") {
                continue;
            }
            let text = std::str::from_utf8(line)?;
            let (_, delta) = text.split_once("\"delta\":\"").context("a delta has its text")?;
            let words = delta.split('"').next().unwrap_or_default().split_whitespace();
            let sent: Vec<u64> = words.filter_map(|word| word.parse().ok()).collect();
            let written = written(text).context("an event has its time")?;
            // The time of the event has no more than milliseconds.
            self.came.extend(sent.iter().map(|sent| (written + 999).saturating_sub(sent % DAY)));
            self.took.extend(sent.iter().map(|sent| came_at.saturating_sub(*sent)));
        }
        self.rest.drain(..=end);
        Ok(())
    }
}

fn micros_of(time: &TimeSpec) -> u64 {
    u64::try_from(time.tv_sec() * 1_000_000 + time.tv_nsec() / 1000).unwrap_or(0)
}

fn contains(bytes: &[u8], what: &[u8]) -> bool {
    bytes.windows(what.len()).any(|window| window == what)
}

/// Reads all streams to the end of their turns.
pub fn read_all(readers: &mut [Reader]) -> Result<()> {
    let epoll = epoll::create(CreateFlags::CLOEXEC)?;
    for (number, reader) in readers.iter().enumerate() {
        epoll::add(&epoll, reader.stream.as_fd(), EventData::new_u64(number as u64), EventFlags::IN)?;
    }
    let (began, mut open) = (Instant::now(), readers.len());
    let (mut buffer, mut notes) = (vec![0; 64 << 10], nix::cmsg_space!(TimeSpec));
    while open > 0 {
        ensure!(began.elapsed() < LONGEST, "{open} turns did not end");
        let mut events: Vec<Event> = Vec::with_capacity(256);
        epoll::wait(
            &epoll,
            rustix::buffer::spare_capacity(&mut events),
            Some(&rustix::event::Timespec { tv_sec: 1, tv_nsec: 0 }),
        )?;
        for event in events {
            let reader = &mut readers[event.data.u64() as usize];
            reader.read(&mut buffer, &mut notes)?;
            if reader.is_over {
                epoll::delete(&epoll, reader.stream.as_fd())?;
                open -= 1;
            }
        }
        std::thread::sleep(LOOK);
    }
    Ok(())
}
