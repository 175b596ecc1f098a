//! Directories that must not be opened.

use std::collections::BTreeMap;
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

/// Every file but the lock, which is nobody's data.
fn contents(folder: &Path) -> Result<BTreeMap<String, Vec<u8>>> {
    let mut contents = BTreeMap::new();
    for entry in std::fs::read_dir(folder)? {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        if name != "lock" {
            contents.insert(name, std::fs::read(entry.path())?);
        }
    }
    Ok(contents)
}
