//! Power loss: the server's disk forgets everything that was not synced.
//!
//! The data directory lies on an ext4 or XFS image of its own. Shutting that file system down without flushing its
//! journal is what the mains failing is to a disk.

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};

use super::checker::Verdict;
use super::random::Random;
use super::round::Round;
use super::server::{Place, Program, Server};

const PER_ROUND: u64 = 25;
const LIFE_MILLIS: u64 = 150;
/// The server keeps 64 MiB back and a write-ahead file of 16 MiB.
const IMAGE_MIB: u64 = 400;

/// `FS_IOC_SHUTDOWN` with `NOLOGFLUSH`. Our own crates are free of unsafe code, so another program makes the call.
/// It waits for a line, so that the moment is ours.
const SHUTDOWN: &str = "import fcntl,os,struct,sys
for line in sys.stdin:
    place = os.open(sys.argv[1], os.O_RDONLY)
    fcntl.ioctl(place, 0x8004587d, struct.pack('I', 2))
    os.close(place)
    print('cut', flush=True)";

#[derive(Debug, Clone)]
pub struct Plan {
    pub file_system: String,
    pub cycles: u64,
    pub seed: u64,
    pub time: Duration,
}

/// An image of a file system, mounted while this lives.
pub struct Disk {
    image: PathBuf,
    pub mount: PathBuf,
    switch: Child,
    answers: BufReader<ChildStdout>,
}

impl Disk {
    /// None where mounting is not permitted.
    pub fn make(folder: &Path, file_system: &str) -> Result<Option<Self>> {
        let (image, mount) = (folder.join("image"), folder.join("mount"));
        std::fs::create_dir(&mount)?;
        let mut python = Command::new("python3");
        python.args(["-c", SHUTDOWN]).arg(&mount);
        let python = python.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn();
        let mut switch = python.context("starting python3")?;
        let answers = BufReader::new(switch.stdout.take().context("its output is piped")?);
        let disk = Self { image, mount, switch, answers };
        std::fs::File::create(&disk.image)?.set_len(IMAGE_MIB << 20)?;
        let make = format!("mkfs.{file_system}");
        let made = call(&make, &["-q", &disk.image.to_string_lossy()]).and_then(|()| disk.mount());
        Ok(made.is_ok().then_some(disk))
    }

    pub fn mount(&self) -> Result<()> {
        call("mount", &["-o", "loop", &self.image.to_string_lossy(), &self.mount.to_string_lossy()])
    }

    pub fn unmount(&self) -> Result<()> {
        let mount = self.mount.to_string_lossy();
        // The kernel may hold the last file of a dead process for a moment.
        for _ in 0..100 {
            if call("umount", &[&mount]).is_ok() {
                return Ok(());
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        call("umount", &["-l", &mount])
    }

    pub fn cut_power(&mut self) -> Result<()> {
        let order = self.switch.stdin.as_mut().context("its input is piped")?;
        order.write_all(b"\n")?;
        let mut answer = String::new();
        self.answers.read_line(&mut answer)?;
        ensure!(answer == "cut\n", "the file system could not be shut down");
        Ok(())
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        let _ = call("umount", &["-l", &self.mount.to_string_lossy()]);
        let _ = self.switch.kill();
        let _ = self.switch.wait();
    }
}

fn call(program: &str, words: &[&str]) -> Result<()> {
    let output = Command::new(program).args(words).output().with_context(|| format!("starting {program}"))?;
    ensure!(
        output.status.success(),
        "{program} {}: {}",
        words.join(" "),
        String::from_utf8_lossy(&output.stderr)
    );
    Ok(())
}

/// Runs the plan; None, with a notice, where it cannot be run.
pub fn run(program: &Program, plan: &Plan) -> Result<Option<Verdict>> {
    let folder = tempfile::Builder::new().prefix("riverrun-power-").tempdir()?;
    let Some(mut disk) = Disk::make(folder.path(), &plan.file_system)? else {
        println!("power loss: SKIPPED, {} images cannot be made or mounted here", plan.file_system);
        return Ok(None);
    };
    let place = Place { data: disk.mount.join("data"), ..Place::new(folder.path())? };
    let (began, mut random, mut cycles) = (Instant::now(), Random::new(plan.seed), 0);
    let (mut verdict, mut slowest, mut number) = (Verdict::default(), Duration::ZERO, 0);
    while cycles < plan.cycles && began.elapsed() < plan.time && verdict.is_good() {
        let until = (cycles + PER_ROUND).min(plan.cycles);
        let round = Round { program, place: &place, number, seed: random.next() };
        let shown = round.run(|load, mut server| {
            load.expect_failing_disk();
            while cycles < until {
                cycles += 1;
                std::thread::sleep(Duration::from_micros(random.below(LIFE_MILLIS * 1000)));
                disk.cut_power()?;
                server.kill_if_alive()?;
                disk.unmount()?;
                disk.mount()?;
                let (next, took) = Server::start(program, &place)?;
                slowest = slowest.max(took);
                server = next;
            }
            Ok(server)
        })?;
        verdict += shown.verdict;
        number += 1;
    }
    let rate = cycles as f64 / began.elapsed().as_secs_f64();
    println!(
        "power loss ({}): {cycles} cycles, {verdict}, max recovery {} ms, {rate:.1} cycles/s, seed {}",
        plan.file_system,
        slowest.as_millis(),
        plan.seed
    );
    if !verdict.is_good() {
        bail!("{}", verdict.problems.join("\n"));
    }
    ensure!(cycles == plan.cycles, "the time of {} s was over", plan.time.as_secs());
    Ok(Some(verdict))
}
