//! `cargo xtask release`: the version, the changelog and the artefacts of a release.

mod changelog;
mod version;

use std::path::Path;
use std::process::Command;
use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::{Context, Result, bail, ensure};
use riverrun_event::Timestamp;
use version::Version;

use crate::ci::{cargo, run};
use crate::files::{self, root};

const CHANGELOG: &str = "CHANGELOG.md";
const DIST: &str = "dist";

/// What a release changes and makes.
struct Release {
    version: Version,
    /// Each file that changes, with its next text.
    texts: Vec<(String, String)>,
    notes: String,
}

pub fn release(words: &[&str]) -> Result<()> {
    let (word, is_dry) = match words {
        [word] | [word, "--dry-run"] | ["--dry-run", word] if !word.starts_with('-') => {
            (word, words.len() > 1)
        }
        _ => bail!("usage: cargo xtask release VERSION|major|minor|patch [--dry-run]"),
    };
    let changed = git(&["status", "--porcelain"])?;
    ensure!(changed.is_empty(), "the work tree has changes; commit or remove them first:\n{changed}");
    let release = plan(word, &today()?)?;
    println!("release {}\n\n{}\n", release.version, release.notes);
    release.texts.iter().for_each(|(path, _)| println!("changes {path}"));
    println!("changes Cargo.lock");
    release.artefacts().iter().for_each(|path| println!("makes   {path}"));
    if is_dry {
        println!("\nnothing was written");
        return Ok(());
    }
    release.write()?;
    release.build()?;
    println!(
        "\nLook at the difference, then:\n  git commit --all --message 'release: {0}'\n  git tag v{0}",
        release.version
    );
    Ok(())
}

fn plan(word: &str, date: &str) -> Result<Release> {
    let files = files::all()?;
    let text = |path: &str| {
        let file = files.iter().find(|file| file.path == path);
        file.map(|file| file.text.as_str()).with_context(|| format!("there is no {path}"))
    };
    let from = version::current(text("Cargo.toml")?)?;
    let version = from.next(word)?;
    let notes = changelog::unreleased(text(CHANGELOG)?)?.to_owned();
    let cut = changelog::cut(text(CHANGELOG)?, &version.to_string(), date)?;
    let mut texts = vec![(CHANGELOG.to_owned(), cut)];
    for file in files.iter().filter(|file| version::names_version(&file.path)) {
        texts.push((file.path.clone(), version::bump(&file.path, &file.text, from, version)?));
    }
    Ok(Release { version, texts, notes })
}

impl Release {
    fn stem(&self) -> String {
        format!("riverrun-{}-{}-{}", self.version, std::env::consts::ARCH, std::env::consts::OS)
    }

    /// The archive of the stripped binary, and its checksum.
    fn artefacts(&self) -> [String; 2] {
        let archive = format!("{DIST}/{}.tar.gz", self.stem());
        let sum = format!("{archive}.sha256");
        [archive, sum]
    }

    fn write(&self) -> Result<()> {
        for (path, text) in &self.texts {
            std::fs::write(root().join(path), text).with_context(|| path.clone())?;
        }
        cargo(&["update", "--workspace", "--offline"])
    }

    fn build(&self) -> Result<()> {
        cargo(&["build", "--release", "--locked", "--package", "riverrun", "--bin", "riverrun"])?;
        let folder = format!("{DIST}/{}", self.stem());
        std::fs::create_dir_all(root().join(&folder)).with_context(|| folder.clone())?;
        let binary = format!("{folder}/riverrun");
        run("strip", &["-o", &binary, "target/release/riverrun"], "", &[])?;
        for page in ["LICENSE", "README.md", CHANGELOG] {
            std::fs::copy(root().join(page), root().join(&folder).join(page)).context(page)?;
        }
        self.pack()
    }

    /// The same files make the same archive: names, owners and times are fixed.
    fn pack(&self) -> Result<()> {
        let [archive, sum] = self.artefacts();
        let name =
            |path: &str| Path::new(path).file_name().unwrap_or_default().to_string_lossy().into_owned();
        let (archive, sum) = (name(&archive), name(&sum));
        let fixed = ["--sort=name", "--owner=0", "--group=0", "--numeric-owner", "--mtime=@0"];
        let stem = self.stem();
        // The compressor would store the time.
        let words = [&fixed[..], &["--use-compress-program", "gzip -n", "-cf", &archive, &stem]].concat();
        run("tar", &words, DIST, &[])?;
        run("sh", &["-c", &format!("sha256sum {archive} > {sum} && cat {sum}")], DIST, &[])
    }
}

/// The date in UTC.
fn today() -> Result<String> {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).context("the clock is before 1970")?;
    let now = Timestamp::from_millis(i64::try_from(now.as_millis())?).to_string();
    Ok(now.split('T').next().unwrap_or_default().to_owned())
}

fn git(words: &[&str]) -> Result<String> {
    let output = Command::new("git").args(words).current_dir(root()).output().context("starting git")?;
    ensure!(output.status.success(), "git {}: {}", words.join(" "), String::from_utf8_lossy(&output.stderr));
    Ok(String::from_utf8_lossy(&output.stdout).trim_end().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_release_changes_every_file_that_names_the_version() {
        let release = plan("major", "2026-12-01");
        // Behind a release there is nothing unreleased, and that is all that may be wrong.
        let Ok(release) =
            release.map_err(|error| assert!(error.to_string().contains("is empty"), "{error:#}"))
        else {
            return;
        };
        let paths: Vec<&str> = release.texts.iter().map(|(path, _)| path.as_str()).collect();
        let expected = [
            "CHANGELOG.md",
            "Cargo.toml",
            "clients/python/pyproject.toml",
            "clients/typescript/package.json",
        ];
        assert!(expected.iter().all(|path| paths.contains(path)), "{paths:?}");
        assert!(paths.iter().any(|path| path.ends_with("openapi.json")), "{paths:?}");
        assert!(release.texts.iter().all(|(_, text)| text.contains(&release.version.to_string())));
    }
}
