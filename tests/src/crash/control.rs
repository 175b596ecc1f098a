//! Power loss without Riverrun: the smallest program that writes, syncs and then says so, on the disk of the power suite.
//!
//! It tells what a disk and its file system keep of what they acknowledged, so that the power suite asks of the server
//! what can be asked of any program, no less. Judged as the server is: all that was said counts, whenever it was
//! heard, also between the cut and the death of the process.

use std::fs::{File, OpenOptions};
use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use clap::ValueEnum;

use super::power::Disk;
use super::random::Random;

/// Four frames of a write-ahead file. What matters is that the end of the file is inside a block.
const RECORD: usize = 4 * 4120;
/// As many files at a time, each with a writer of its own; the file system commits for all of them together.
const WRITERS: usize = 4;
/// More than is written in the longest life.
const PREALLOCATED: u64 = 8 << 20;
const LIFE_MILLIS: u64 = 150;

/// How the file comes to its size.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Shape {
    /// Each write makes it longer.
    Growing,
    /// It is filled with zeros and synced before the first write.
    Preallocated,
}

#[derive(Debug, Clone)]
pub struct Plan {
    pub file_system: String,
    pub cycles: u64,
    pub seed: u64,
}

/// What one shape came to.
#[derive(Debug, Default)]
struct Tally {
    acked: u64,
    /// Heard after the cut was ordered.
    late: u64,
    lost: u64,
    lost_late: u64,
    cycles_with_loss: u64,
}

/// The writers' own process: each numbers its records, syncs one, says its number. Ends at the first error.
pub fn write(folder: &Path, shape: Shape) -> Result<()> {
    let files = (0..WRITERS).map(|n| make(&name(folder, n), shape)).collect::<Result<Vec<_>>>()?;
    File::open(folder)?.sync_all()?;
    std::thread::scope(|scope| {
        let writers: Vec<_> =
            files.iter().enumerate().map(|(n, file)| scope.spawn(move || go_on(n, file))).collect();
        writers.into_iter().for_each(|writer| drop(writer.join()));
    });
    Ok(())
}

fn name(folder: &Path, writer: usize) -> PathBuf {
    folder.join(format!("file-{writer}"))
}

fn make(path: &Path, shape: Shape) -> Result<File> {
    let file = OpenOptions::new().read(true).write(true).create(true).truncate(true).open(path)?;
    if shape == Shape::Preallocated {
        let zeros = vec![0; 1 << 20];
        for place in (0..PREALLOCATED).step_by(1 << 20) {
            file.write_all_at(&zeros, place)?;
        }
    }
    file.sync_all()?;
    Ok(file)
}

fn go_on(writer: usize, file: &File) -> Result<()> {
    for number in 0_u64.. {
        file.write_all_at(&record(number), number * RECORD as u64)?;
        file.sync_data()?;
        // One write per line: a line is there whole or not at all.
        std::io::stdout().lock().write_all(format!("{writer} {number}\n").as_bytes())?;
    }
    Ok(())
}

fn record(number: u64) -> Vec<u8> {
    (number + 1).to_le_bytes().repeat(RECORD / 8)
}

/// Runs both shapes. False, with a notice, where it cannot be run. Fails if a file that does not grow lost something.
pub fn run(plan: &Plan) -> Result<bool> {
    let folder = tempfile::Builder::new().prefix("riverrun-control-").tempdir()?;
    let Some(mut disk) = Disk::make(folder.path(), &plan.file_system)? else {
        println!("control: SKIPPED, {} images cannot be made or mounted here", plan.file_system);
        return Ok(false);
    };
    let mut lost_in_place = 0;
    for shape in [Shape::Growing, Shape::Preallocated] {
        let (mut tally, mut random) = (Tally::default(), Random::new(plan.seed));
        for _ in 0..plan.cycles {
            cycle(&mut disk, shape, &mut random, &mut tally)?;
        }
        let Tally { acked, late, lost, lost_late, cycles_with_loss } = tally;
        println!(
            "control ({}, {shape:?}): {} cycles, acked {acked}, {late} of them after the cut; lost {lost}, {lost_late} of \
             them acked after the cut, in {cycles_with_loss} cycles, seed {}",
            plan.file_system, plan.cycles, plan.seed
        );
        if shape == Shape::Preallocated {
            lost_in_place = lost;
        }
    }
    ensure!(
        lost_in_place == 0,
        "a file that does not grow lost what was synced: no program can pass on this disk"
    );
    Ok(true)
}

fn cycle(disk: &mut Disk, shape: Shape, random: &mut Random, tally: &mut Tally) -> Result<()> {
    let shape = shape.to_possible_value().context("every shape has a name")?;
    let mut writer = Command::new(std::env::current_exe()?)
        .args(["control-writer", &disk.mount.to_string_lossy(), shape.get_name()])
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()?;
    let mut said = BufReader::new(writer.stdout.take().context("its output is piped")?).lines();
    let first = said.next().context("the writer ended before it wrote")??;
    let is_cut = AtomicBool::new(false);
    let mut heard = Vec::from_iter(Heard::read(&first, false));
    std::thread::scope(|scope| -> Result<()> {
        let listener = scope.spawn(|| {
            let lines = said.map_while(Result::ok);
            lines.filter_map(|line| Heard::read(&line, is_cut.load(Ordering::SeqCst))).collect::<Vec<_>>()
        });
        std::thread::sleep(Duration::from_micros(random.below(LIFE_MILLIS * 1000)));
        is_cut.store(true, Ordering::SeqCst);
        let cut = disk.cut_power();
        writer.kill()?;
        writer.wait()?;
        heard.extend(listener.join().map_err(|_| anyhow::anyhow!("the listener panicked"))?);
        cut
    })?;
    disk.unmount()?;
    disk.mount()?;
    let found: Vec<_> =
        (0..WRITERS).map(|n| std::fs::read(name(&disk.mount, n)).unwrap_or_default()).collect();
    judge(&found, &heard, tally);
    Ok(())
}

/// A writer said that this record is synced.
struct Heard {
    writer: usize,
    number: u64,
    /// The cut was ordered before it was heard.
    is_late: bool,
}

impl Heard {
    fn read(line: &str, is_late: bool) -> Option<Self> {
        let (writer, number) = line.split_once(' ')?;
        Some(Self { writer: writer.parse().ok()?, number: number.parse().ok()?, is_late })
    }
}

fn judge(found: &[Vec<u8>], heard: &[Heard], tally: &mut Tally) {
    let before = tally.lost;
    for Heard { writer, number, is_late } in heard {
        let place = *number as usize * RECORD;
        let is_there =
            found[*writer].get(place..place + RECORD).is_some_and(|bytes| bytes == record(*number));
        tally.acked += 1;
        tally.late += u64::from(*is_late);
        tally.lost += u64::from(!is_there);
        tally.lost_late += u64::from(!is_there && *is_late);
    }
    tally.cycles_with_loss += u64::from(tally.lost > before);
}
