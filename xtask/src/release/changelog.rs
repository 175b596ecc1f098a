//! The changelog of a release: what was unreleased gets a version and a date.

use anyhow::{Context, Result, ensure};

const UNRELEASED: &str = "## [Unreleased]";

/// The lines of `[Unreleased]`.
pub fn unreleased(text: &str) -> Result<&str> {
    let (_, behind) =
        text.split_once(&format!("{UNRELEASED}\n")).with_context(|| format!("there is no `{UNRELEASED}`"))?;
    let section = behind.split_once("\n## ").map_or(behind, |(section, _)| section);
    ensure!(
        section.lines().any(|line| line.starts_with("- ")),
        "`{UNRELEASED}` is empty: there is nothing to release"
    );
    Ok(section.trim())
}

/// The changelog with a section for the version, and an empty `[Unreleased]` above it.
pub fn cut(text: &str, version: &str, date: &str) -> Result<String> {
    unreleased(text)?;
    let heading = format!("## [{version}] - {date}");
    ensure!(!text.contains(&format!("## [{version}]")), "the changelog has a section for {version}");
    Ok(text.replacen(UNRELEASED, &format!("{UNRELEASED}\n\n{heading}"), 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str =
        "# Changelog\n\n## [Unreleased]\n\n### Added\n\n- One.\n\n## [0.2.0] - 2026-11-18\n\n- Two.\n";

    #[test]
    fn what_is_unreleased_gets_a_version_and_a_date() {
        assert_eq!(unreleased(TEXT).unwrap(), "### Added\n\n- One.");
        let cut = cut(TEXT, "0.3.0", "2026-12-01").unwrap();
        assert!(
            cut.contains("## [Unreleased]\n\n## [0.3.0] - 2026-12-01\n\n### Added\n\n- One.\n\n## [0.2.0]"),
            "{cut}"
        );
        assert!(unreleased(&cut).is_err_and(|error| error.to_string().contains("is empty")));
    }

    #[test]
    fn nothing_is_released_twice_or_without_an_entry() {
        assert!(cut(TEXT, "0.2.0", "2026-12-01").is_err());
        assert!(
            cut(
                "# Changelog\n\n## [Unreleased]\n\n### Added\n\n## [0.2.0]\n\n- Two.\n",
                "0.3.0",
                "2026-12-01"
            )
            .is_err()
        );
        assert!(cut("# Changelog\n", "0.3.0", "2026-12-01").is_err());
    }
}
