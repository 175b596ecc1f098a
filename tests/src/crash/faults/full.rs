//! A full disk.

use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use serde_json::{Value, json};

use super::{SESSION, Sequential, check};
use crate::crash::server::{Place, Program, Server};

/// Room for the write-ahead file (16 MiB), what is kept back (64 MiB), the ballast and some events.
const SIZE_MIB: u64 = 112;
const BALLAST_MIB: u64 = 16;
/// A large event, and more of them than the disk can hold.
const LARGE: usize = 200_000;
const MOST: usize = 2_000;
/// How often it becomes full again, each time after the server had time to look for room.
const ROUNDS: usize = 8;
const PROBED: Duration = Duration::from_millis(300);
const HEALS: Duration = Duration::from_secs(10);

struct Mounted<'a>(&'a Path);

impl Drop for Mounted<'_> {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(self.0).output();
    }
}

fn mount(at: &Path) -> Option<Mounted<'_>> {
    std::fs::create_dir(at).ok()?;
    let size = format!("size={SIZE_MIB}m");
    let output = Command::new("mount").args(["-t", "tmpfs", "-o", &size, "tmpfs"]).arg(at).output().ok()?;
    output.status.success().then_some(Mounted(at))
}

/// False, with a notice, where it cannot be run.
pub fn full(program: &Program) -> Result<bool> {
    let folder = tempfile::tempdir()?;
    let disk = folder.path().join("disk");
    let Some(_mounted) = mount(&disk) else {
        println!("disk full: SKIPPED, mounting is not permitted here");
        return Ok(false);
    };
    let ballast = disk.join("ballast");
    std::fs::write(&ballast, vec![1; (BALLAST_MIB << 20) as usize])?;
    let place = Place { data: disk.join("data"), ..Place::new(folder.path())? };
    let (server, _) = Server::start(program, &place)?;
    place.create_session(SESSION)?;
    place.create_session("large")?;
    let mut producer = Sequential::new(&place)?;
    ensure!(producer.append()?, "an append was refused on a disk with room");
    let mut large = fill(&place, 0)?;
    // Reads go on, and so does what ends work.
    check(&place, &producer.acked)?;
    ensure!(place.export("large")?.len() == large, "a read on a full disk is not complete");
    // What it frees inside the store is used again, but never the room for what ends work.
    for round in 0..ROUNDS {
        let cancel =
            json!({"type": "turn.cancelled", "turnId": format!("t{round}"), "payload": {"reason": "full"}});
        let (status, answer) = append(&place, "large", &cancel)?;
        ensure!(
            status == 201,
            "cancellation {round} on a full disk: {status} {answer}\n{}",
            sizes(&place.data)?
        );
        std::thread::sleep(PROBED);
        large += 1 + fill(&place, large + 1)?;
    }
    ensure!(place.export("large")?.len() == large, "a read on a full disk is not complete");
    std::fs::remove_file(&ballast)?;
    let began = Instant::now();
    while !producer.append()? {
        ensure!(began.elapsed() < HEALS, "no append was taken {} s after space was freed", HEALS.as_secs());
        std::thread::sleep(Duration::from_millis(10));
    }
    let healed = began.elapsed();
    let (status, _) = server.terminate()?;
    ensure!(status.success(), "after SIGTERM the server ended with {status}");
    let (_server, _) = Server::start(program, &place)?;
    check(&place, &producer.acked)?;
    ensure!(place.export("large")?.len() == large, "something was lost after the disk was full");
    println!(
        "disk full: 507 after {large} large events, reads and cancellation went on, healed by itself in {} ms, lost 0",
        healed.as_millis()
    );
    Ok(true)
}

/// What takes the room, for whoever looks into a failure.
fn sizes(folder: &Path) -> Result<String> {
    let mut lines = Vec::new();
    for entry in std::fs::read_dir(folder)? {
        let entry = entry?;
        lines.push(format!("  {} {}", entry.metadata()?.len(), entry.file_name().to_string_lossy()));
    }
    Ok(lines.join("\n"))
}

fn note(text: &str) -> Value {
    json!({"type": "x.note", "payload": {"text": text}})
}

fn append(place: &Place, session: &str, event: &Value) -> Result<(u16, Value)> {
    let json = ("content-type", "application/json".to_owned());
    let path = format!("/v1/sessions/{session}/events");
    let (status, answer) = place.ask("POST", &path, &[json], event.to_string().as_bytes())?;
    Ok((status, serde_json::from_slice(&answer)?))
}

/// Nothing that could be packed well.
fn large_text(number: usize) -> String {
    let mut random = super::super::random::Random::new(number as u64);
    (0..LARGE / 16).map(|_| format!("{:016x}", random.next())).collect()
}

/// Appends until the disk is full; how many were acknowledged.
fn fill(place: &Place, seed: usize) -> Result<usize> {
    for count in 0..MOST {
        let (status, answer) = append(place, "large", &note(&large_text(seed + count)))?;
        if status == 507 {
            ensure!(answer["code"] == "storage_full", "507 with {answer}");
            return Ok(count);
        }
        ensure!(status == 201, "filling the disk: {status} {answer}");
    }
    anyhow::bail!("{MOST} large events did not fill the disk")
}
