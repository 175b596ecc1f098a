//! Directories that must not be opened.

use std::collections::BTreeMap;
use std::fs::OpenOptions;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result, ensure};

use super::{SESSION, Sequential, check};
use crate::crash::server::{Place, Program, Server};

const PATIENCE: Duration = Duration::from_secs(10);

/// A second process on one directory leaves with 75, and the first does not notice.
pub fn locked(program: &Program) -> Result<()> {
    let folder = tempfile::tempdir()?;
    let place = Place::new(folder.path())?;
    let (_first, _) = Server::start(program, &place)?;
    place.create_session(SESSION)?;
    let mut producer = Sequential::new(&place)?;
    ensure!(producer.append()?, "an append was refused");
    let other = Place { data: place.data.clone(), ..Place::new(folder.path())? };
    let mut second = Server::spawn(program, &other)?;
    let status = second.wait(PATIENCE)?.context("the second process went on")?;
    ensure!(status.code() == Some(75), "the second process ended with {status}, not 75");
    ensure!(producer.append()?, "an append to the first process was refused");
    check(&place, &producer.acked)?;
    println!("two processes, one directory: the second ended with 75, the first went on");
    Ok(())
}

/// A format of the future is left with 65, untouched.
pub fn newer(program: &Program) -> Result<()> {
    let folder = tempfile::tempdir()?;
    let place = Place::new(folder.path())?;
    let (server, _) = Server::start(program, &place)?;
    place.create_session(SESSION)?;
    server.terminate()?;
    // Where SQLite keeps the version that its user gave the file.
    let store = place.data.join("log.db");
    let mut bytes = std::fs::read(&store)?;
    bytes[60..64].copy_from_slice(&99_u32.to_be_bytes());
    std::fs::write(&store, bytes)?;
    let before = contents(&place.data)?;
    let mut server = Server::spawn(program, &place)?;
    let status = server.wait(PATIENCE)?.context("the server opened a format of the future")?;
    ensure!(status.code() == Some(65), "the server ended with {status}, not 65:\n{}", place.said());
    ensure!(contents(&place.data)? == before, "a directory with a format of the future was changed");
    println!("newer format: ended with 65, {} files untouched", before.len());
    Ok(())
}

/// A file of a killed server is cut, emptied or removed: it is left with 9, untouched, and says what is missing. With
/// the loss accepted it starts, and a reader that saw more is told so.
pub fn missing(program: &Program) -> Result<()> {
    let mut tried = 0;
    for name in ["log.db-wal", "log.db"] {
        for left in [None, Some(0), Some(40_000)] {
            let folder = tempfile::tempdir()?;
            let place = Place::new(folder.path())?;
            let (server, _) = Server::start(program, &place)?;
            place.create_session(SESSION)?;
            let mut producer = Sequential::new(&place)?;
            for _ in 0..5 {
                ensure!(producer.append()?, "an append was refused");
            }
            server.kill()?;
            let file = place.data.join(name);
            match left {
                None => std::fs::remove_file(&file)?,
                Some(length) => OpenOptions::new().write(true).open(&file)?.set_len(length)?,
            }
            let before = contents(&place.data)?;
            let mut server = Server::spawn(program, &place)?;
            let status = server.wait(PATIENCE)?.context("the server started without what was stored")?;
            let said = place.said();
            ensure!(status.code() == Some(9), "{name} {left:?}: ended with {status}, not 9:\n{said}");
            let is_named = said.contains(&*file.to_string_lossy()) && said.contains("--accept-loss");
            ensure!(is_named, "{name} {left:?}: the error names not the file and the ways out:\n{said}");
            ensure!(contents(&place.data)? == before, "{name} {left:?}: a refused directory was changed");
            tried += 1;
        }
    }
    accepted(program)?;
    println!("missing files: {tried}/{tried} ended with 9, untouched; with --accept-loss the server starts");
    Ok(())
}

fn accepted(program: &Program) -> Result<()> {
    let folder = tempfile::tempdir()?;
    let place = Place::new(folder.path())?;
    let (server, _) = Server::start(program, &place)?;
    place.create_session(SESSION)?;
    let mut producer = Sequential::new(&place)?;
    ensure!(producer.append()?, "an append was refused");
    server.kill()?;
    std::fs::remove_file(place.data.join("log.db-wal"))?;
    let accepting = Program { words: vec!["--accept-loss".to_owned()], ..program.clone() };
    let (server, _) = Server::start(&accepting, &place)?;
    ensure!(place.said().contains("lost, as accepted"), "the loss was not told:\n{}", place.said());
    let (status, _) = server.terminate()?;
    ensure!(status.success(), "after an accepted loss the server ended with {status}");
    // Once: the next start needs no acceptance.
    let (server, _) = Server::start(program, &place)?;
    server.kill()
}

/// Every file but the lock, which is nobody's data.
fn contents(folder: &Path) -> Result<BTreeMap<String, Vec<u8>>> {
    let mut contents = BTreeMap::new();
    for entry in std::fs::read_dir(folder)? {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        if name != "lock" && entry.file_type()?.is_file() {
            contents.insert(name, std::fs::read(entry.path())?);
        }
    }
    Ok(contents)
}
