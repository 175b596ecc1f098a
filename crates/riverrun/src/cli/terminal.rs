//! What may be written to a terminal, and how it looks.
//!
//! Text that came from a server, a model or a file is hostile until it is escaped: a terminal obeys control
//! characters, and marks that turn the writing direction can make one command look like another.

mod visible;

use std::io::IsTerminal;

use clap::ValueEnum;

pub use visible::{escape, escape_json, spelled};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub enum ColorChoice {
    #[default]
    Auto,
    Always,
    Never,
}

/// What a piece of text is, for its colour. Colour never stands alone: a word or a glyph says the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tone {
    Id,
    Dim,
    Waiting,
    Bad,
    Good,
    Strong,
}

/// A state, with the glyph and the word that show it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mark {
    Done,
    Failed,
    Running,
    Waiting,
    Stopped,
}

/// How one output stream is written to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Style {
    pub colour: bool,
    pub unicode: bool,
}

impl Style {
    #[cfg(test)]
    pub const PLAIN: Style = Style { colour: false, unicode: true };

    pub fn for_stdout(choice: ColorChoice) -> Self {
        Self::decide(choice, std::io::stdout().is_terminal())
    }

    pub fn for_stderr(choice: ColorChoice) -> Self {
        Self::decide(choice, std::io::stderr().is_terminal())
    }

    fn decide(choice: ColorChoice, terminal: bool) -> Self {
        let set = |name: &str| std::env::var_os(name).is_some_and(|value| !value.is_empty() && value != "0");
        let dumb = std::env::var_os("TERM").is_some_and(|term| term == "dumb");
        let colour = match choice {
            ColorChoice::Always => true,
            ColorChoice::Never => false,
            ColorChoice::Auto if std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty()) => false,
            ColorChoice::Auto if set("CLICOLOR_FORCE") => true,
            ColorChoice::Auto => terminal && !dumb,
        };
        Self { colour, unicode: !dumb && speaks_utf8() }
    }

    /// The text in its tone. The text must be escaped already.
    pub fn paint(self, tone: Tone, text: &str) -> String {
        if !self.colour {
            return text.to_owned();
        }
        let code = match tone {
            Tone::Id => "36",
            Tone::Dim => "2",
            Tone::Waiting => "33",
            Tone::Bad => "31",
            Tone::Good => "32",
            Tone::Strong => "1",
        };
        format!("\x1b[{code}m{text}\x1b[0m")
    }

    pub fn mark(self, mark: Mark, word: &str) -> String {
        let (glyph, ascii, tone) = match mark {
            Mark::Done => ("✓", "+", Tone::Good),
            Mark::Failed => ("✗", "x", Tone::Bad),
            Mark::Running => ("…", "~", Tone::Id),
            Mark::Waiting => ("⏸", "!", Tone::Waiting),
            Mark::Stopped => ("■", "#", Tone::Dim),
        };
        self.paint(tone, &format!("{} {word}", if self.unicode { glyph } else { ascii }))
    }
}

impl Mark {
    /// The mark for a status word of a session, turn, task or item.
    pub fn of_status(status: &str) -> Self {
        match status {
            "completed" | "done" | "idle" | "ready" | "resolved" => Mark::Done,
            "failed" | "error" | "incomplete" | "lost" | "timed_out" => Mark::Failed,
            "waiting" | "waiting_input" | "waiting_permission" | "waiting_resource" | "pending"
            | "input-required" | "paused" | "blocked" | "queued" => Mark::Waiting,
            "cancelled" | "canceled" | "abandoned" | "closed" | "archived" => Mark::Stopped,
            _ => Mark::Running,
        }
    }
}

fn speaks_utf8() -> bool {
    let first = ["LC_ALL", "LC_CTYPE", "LANG"]
        .iter()
        .find_map(|name| std::env::var(name).ok().filter(|v| !v.is_empty()));
    // Without a locale most terminals of today still speak UTF-8; only a locale that says otherwise is believed.
    first.is_none_or(|locale| {
        let locale = locale.to_ascii_lowercase();
        locale.contains("utf-8") || locale.contains("utf8") || locale == "c" || locale == "posix"
    })
}

/// How a foreign text is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lines {
    /// Line ends stay; everything else that cannot be seen is spelled out.
    Keep,
    /// As `Keep`, but joiners inside words and emoji stay too: for what a model or a user writes, where nothing is
    /// decided.
    Prose,
    /// One line: a line end is written as `\n`.
    One,
}

/// At most `width` characters on one line; what was left out is shown by an ellipsis.
pub fn shorten(text: &str, width: usize) -> String {
    let line = escape(text, Lines::One);
    if line.chars().count() <= width {
        return line.into_owned();
    }
    line.chars().take(width.saturating_sub(1)).chain(['…']).collect()
}

/// The width to write for: `COLUMNS`, the terminal's, or 100.
pub fn width() -> usize {
    let told = std::env::var("COLUMNS").ok().and_then(|text| text.parse().ok());
    let seen = || terminal_size::terminal_size().map(|(width, _)| usize::from(width.0));
    told.or_else(seen).filter(|width| *width >= 40).unwrap_or(100)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_characters_never_reach_the_terminal() {
        assert_eq!(escape("a\x1b[2Jb\u{9b}31m\x07", Lines::Keep), "a\\u{1b}[2Jb\\u{9b}31m\\u{7}");
        assert_eq!(escape("one\r\ntwo\tx", Lines::Keep), "one\\r\ntwo\tx");
        assert_eq!(escape("one\ntwo\t", Lines::One), "one\\ntwo\\t");
        assert_eq!(escape("rm \u{202e}txt", Lines::Keep), "rm \\u{202e}txt");
        assert_eq!(escape("plain é漢😀", Lines::One), "plain é漢😀");
    }

    #[test]
    fn a_state_is_a_glyph_and_a_word_with_or_without_colour() {
        assert_eq!(Style::PLAIN.mark(Mark::Done, "done"), "✓ done");
        assert_eq!(Style { colour: false, unicode: false }.mark(Mark::Failed, "failed"), "x failed");
        assert_eq!(
            Style { colour: true, unicode: true }.mark(Mark::Waiting, "waiting"),
            "\x1b[33m⏸ waiting\x1b[0m"
        );
    }

    #[test]
    fn a_long_text_is_shortened_to_one_line() {
        assert_eq!(shorten("a\nb", 10), "a\\nb");
        assert_eq!(shorten("abcdefgh", 5), "abcd…");
    }
}
