//! Makes visible what a person would not see, or see elsewhere than it stands.
//!
//! What is hidden is decided by Unicode properties (of the tables in `regex`), not by a list of known tricks: controls,
//! format characters, what Unicode calls default ignorable, private and unassigned code points, line and paragraph
//! separators, and spaces that are not the usual one.

use std::borrow::Cow;
use std::sync::LazyLock;

use regex::Regex;
use riverrun_log::seeded::{self, Bug};

use super::Lines;

/// Marks on one letter; more are a tower over the lines around it.
const MOST_MARKS: usize = 4;
/// Line ends in a row; more push what follows out of sight, and so do more than 16 spaces.
const MOST_LINE_ENDS: usize = 2;

/// Besides the properties: two symbols that are drawn as nothing.
const HIDDEN: &str =
    r"[\p{Cc}\p{Cf}\p{Cn}\p{Co}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}[\p{Zs}--\x20]\x{2800}\x{1D159}]";

static HIDDEN_ONE: LazyLock<Regex> = LazyLock::new(|| regex(HIDDEN));
static SUSPICIOUS: LazyLock<Regex> =
    LazyLock::new(|| regex(&format!(r"\n{{3,}}|{HIDDEN}|\p{{M}}{{5,}}|\x20{{17,}}")));
static RIGHT_TO_LEFT: LazyLock<Regex> = LazyLock::new(|| {
    // Where Unicode assigns the bidirectional classes R and AL, also to code points of later versions.
    regex(r"[\x{590}-\x{8FF}\x{FB1D}-\x{FDFF}\x{FE70}-\x{FEFF}\x{10800}-\x{10FFF}\x{1E800}-\x{1EFFF}]")
});
static BEFORE_JOINER: LazyLock<Regex> =
    LazyLock::new(|| regex(r"[\p{L}\p{M}\p{Extended_Pictographic}\p{Emoji_Modifier}]"));
static AFTER_JOINER: LazyLock<Regex> = LazyLock::new(|| regex(r"[\p{L}\p{Extended_Pictographic}]"));
static EMOJI: LazyLock<Regex> = LazyLock::new(|| regex(r"\p{Emoji}"));

fn regex(pattern: &str) -> Regex {
    Regex::new(pattern).expect("a constant pattern, compiled by the tests")
}

fn fits(class: &Regex, c: char) -> bool {
    class.is_match(c.encode_utf8(&mut [0; 4]))
}

pub fn is_hidden(c: char) -> bool {
    fits(&HIDDEN_ONE, c)
}

/// Makes foreign text safe to print.
pub fn escape(text: &str, lines: Lines) -> Cow<'_, str> {
    let is_plain = text.bytes().all(|byte| matches!(byte, b'!'..=b'~')) || !SUSPICIOUS.is_match(text);
    if is_plain || seeded::is_on(Bug::ShowInvisible) {
        return Cow::Borrowed(text);
    }
    let (mut out, mut at) = (String::with_capacity(text.len() + 16), 0);
    for found in SUSPICIOUS.find_iter(text) {
        out.push_str(&text[at..found.start()]);
        let around = (text[..found.start()].chars().next_back(), text[found.end()..].chars().next());
        show(found.as_str(), around, lines, &mut out);
        at = found.end();
    }
    out.push_str(&text[at..]);
    if out == text { Cow::Borrowed(text) } else { Cow::Owned(out) }
}

fn show(found: &str, around: (Option<char>, Option<char>), lines: Lines, out: &mut String) {
    let mut kept = 0;
    match found.chars().next() {
        Some(' ') if lines == Lines::Prose => out.push_str(found),
        Some(' ') => out.push_str(&format!("<{} spaces>", found.len())),
        Some('\n') if found.len() > MOST_LINE_ENDS && lines == Lines::Keep => {
            out.push_str(&format!("\n<{} line ends>\n", found.len()));
        }
        Some(_) => {
            for c in found.chars() {
                let is_kept = match lines {
                    _ if !is_hidden(c) => kept < MOST_MARKS,
                    Lines::Prose => is_usual_in_prose(c, around),
                    Lines::Keep => matches!(c, '\n' | '\t'),
                    Lines::One => false,
                };
                kept += usize::from(is_kept);
                if is_kept { out.push(c) } else { spell(c, out) }
            }
        }
        None => {}
    }
}

/// Joiners between letters and in emoji, and spaces of typography: a text of many languages needs them.
fn is_usual_in_prose(c: char, (before, after): (Option<char>, Option<char>)) -> bool {
    let fits = |class: &Regex, c: Option<char>| c.is_some_and(|c| fits(class, c));
    match c {
        '\n' | '\t' | '\u{a0}' | '\u{2002}'..='\u{200a}' | '\u{202f}' | '\u{3000}' => true,
        '\u{200c}' | '\u{200d}' => {
            (fits(&BEFORE_JOINER, before) || before == Some('\u{fe0f}')) && fits(&AFTER_JOINER, after)
        }
        '\u{fe0e}' | '\u{fe0f}' => fits(&EMOJI, before),
        _ => false,
    }
}

fn spell(c: char, out: &mut String) {
    match c {
        '\n' => out.push_str("\\n"),
        '\r' => out.push_str("\\r"),
        '\t' => out.push_str("\\t"),
        c => out.push_str(&format!("\\u{{{:x}}}", u32::from(c))),
    }
}

/// The text in the order in which it is stored, if a terminal may draw it in another: letters that are written from
/// right to left are spelled out.
pub fn spelled(text: &str) -> Option<String> {
    if !RIGHT_TO_LEFT.is_match(text) {
        return None;
    }
    let mut out = String::new();
    for c in escape(text, Lines::One).chars() {
        if fits(&RIGHT_TO_LEFT, c) { spell(c, &mut out) } else { out.push(c) }
    }
    Some(out)
}

/// Makes JSON safe to print, and keeps it the same JSON: what is hidden is written as `\uXXXX`. Such characters can
/// stand only inside its strings.
pub fn escape_json(json: &str) -> Cow<'_, str> {
    let is_safe = |c: char| c == '\n' || !is_hidden(c);
    if !HIDDEN_ONE.is_match(json) || json.chars().all(is_safe) {
        return Cow::Borrowed(json);
    }
    let mut out = String::with_capacity(json.len() + 16);
    for c in json.chars() {
        match is_safe(c) {
            true => out.push(c),
            false => {
                c.encode_utf16(&mut [0; 2]).iter().for_each(|unit| out.push_str(&format!("\\u{unit:04x}")))
            }
        }
    }
    Cow::Owned(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `Default_Ignorable_Code_Point` of DerivedCoreProperties.txt, Unicode 16.0.
    const DEFAULT_IGNORABLE: &[(u32, u32)] = &[
        (0xAD, 0xAD),
        (0x34F, 0x34F),
        (0x61C, 0x61C),
        (0x115F, 0x1160),
        (0x17B4, 0x17B5),
        (0x180B, 0x180F),
        (0x200B, 0x200F),
        (0x202A, 0x202E),
        (0x2060, 0x206F),
        (0x3164, 0x3164),
        (0xFE00, 0xFE0F),
        (0xFEFF, 0xFEFF),
        (0xFFA0, 0xFFA0),
        (0xFFF0, 0xFFF8),
        (0x1BCA0, 0x1BCA3),
        (0x1D173, 0x1D17A),
        (0xE0000, 0xE0FFF),
    ];

    #[test]
    fn everything_that_unicode_ignores_is_visible() {
        for (first, last) in DEFAULT_IGNORABLE {
            for c in (*first..=*last).filter_map(char::from_u32) {
                for lines in [Lines::One, Lines::Keep] {
                    let shown = escape(&format!("rm{c}x"), lines).into_owned();
                    assert_eq!(shown, format!("rm\\u{{{:x}}}x", u32::from(c)));
                }
            }
        }
    }

    #[test]
    fn no_control_format_private_or_strange_space_is_hidden_in_what_is_decided() {
        let ranges = [
            (0, 0x1f),
            (0x7f, 0xa0),
            (0x2000, 0x200f),
            (0x2028, 0x202f),
            (0x2800, 0x2800),
            (0x3000, 0x3000),
            (0xe000, 0xe010),
            (0xf0000, 0xf0010),
            (0x378, 0x379),
            (0x1680, 0x1680),
        ];
        for c in ranges.into_iter().flat_map(|(first, last)| first..=last).filter_map(char::from_u32) {
            let shown = escape(&format!("a{c}b"), Lines::One).into_owned();
            assert!(shown.len() > 3 && !shown.contains(c), "{:x} {shown}", u32::from(c));
        }
    }

    #[test]
    fn towers_gaps_and_empty_lines_are_counted() {
        let tower = format!("a{}", "\u{301}".repeat(9));
        let shown = format!("a{}{}", "\u{301}".repeat(4), "\\u{301}".repeat(5));
        assert_eq!(escape(&tower, Lines::One), shown);
        assert_eq!(escape(&format!("ls{}; rm", " ".repeat(200)), Lines::One), "ls<200 spaces>; rm");
        assert_eq!(escape(&format!("ok?{}no", "\n".repeat(90)), Lines::Keep), "ok?\n<90 line ends>\nno");
        assert_eq!(escape("fn x() {\n\n    y\n}", Lines::Keep), "fn x() {\n\n    y\n}");
    }

    #[test]
    fn prose_of_many_languages_and_emoji_stay_as_they_are() {
        for prose in [
            "👩\u{200d}💻 ❤\u{fe0f} 1\u{fe0f}\u{20e3}",
            "می\u{200c}خواهم",
            "20\u{a0}000\u{202f}€",
            "漢字\u{3000}é",
        ] {
            assert_eq!(escape(prose, Lines::Prose), prose);
        }
        for (hostile, shown) in [
            ("a\u{200b}b", "a\\u{200b}b"),
            ("\u{202e}x", "\\u{202e}x"),
            ("x\u{1b}[2J", "x\\u{1b}[2J"),
            ("a\u{e0041}", "a\\u{e0041}"),
        ] {
            assert_eq!(escape(hostile, Lines::Prose), shown);
        }
    }

    #[test]
    fn what_is_drawn_from_right_to_left_is_spelled_out() {
        assert_eq!(spelled("plain é漢"), None);
        assert_eq!(spelled("x אב 1"), Some("x \\u{5d0}\\u{5d1} 1".to_owned()));
    }

    #[test]
    fn json_for_a_terminal_stays_the_same_json() {
        let json = "{\"a\":\"x\u{9b}y\u{202e}\u{e0041}\u{200b}\"}";
        let shown = escape_json(json);
        assert!(shown.is_ascii() && shown.contains("\\u200b"), "{shown}");
        let read = |text: &str| serde_json::from_str::<serde_json::Value>(text).expect("JSON");
        assert_eq!(read(&shown), read(json));
    }
}
