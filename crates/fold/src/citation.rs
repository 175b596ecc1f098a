//! Finds `[^1]` in text that arrives in pieces.
//!
//! A marker may be split over any number of deltas. Inside code (a run of backticks up to the same run, or up to a
//! blank line if it has fewer than three) a marker is code, not a citation. The text itself is never changed.

use riverrun_event::Block;

/// A marker in the text: `[start, end)` in code points.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Marker {
    /// The number of the source.
    pub number: u64,
    /// Where the marker begins, in code points.
    pub start: u64,
    /// Where the marker ends, in code points.
    pub end: u64,
}

/// Longer numbers are not citations.
const MAX_DIGITS: u32 = 9;

/// The scan position: everything before `bytes` was seen.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Scanner {
    bytes: usize,
    code_points: u64,
    state: MarkerState,
    /// Length of the run of backticks that opened the code we are in; 0 outside code.
    code: u32,
    /// Length of the run of backticks that we are in the middle of.
    run: u32,
    line_is_blank: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum MarkerState {
    #[default]
    Text,
    /// After `[`.
    Bracket { start: u64 },
    /// After `[^` and some digits.
    Number { start: u64, number: u64, digits: u32 },
}

impl Scanner {
    /// The scanner that has seen all of this block. What it found is left out: it was annotated, or refused, before.
    pub(crate) fn after(block: &Block) -> Self {
        let mut scanner = Scanner::default();
        if let Block::Text(text) = block {
            scanner.scan(&text.text, |_| {});
        }
        scanner
    }

    /// True before anything was seen.
    pub fn is_fresh(&self) -> bool {
        self.bytes == 0
    }

    /// Goes on to the end of `text`, whose part that was seen before has not changed.
    pub fn scan(&mut self, text: &str, mut found: impl FnMut(Marker)) {
        let mut remaining = &text[self.bytes.min(text.len())..];
        loop {
            remaining = self.skip_plain(remaining);
            let mut characters = remaining.chars();
            let Some(character) = characters.next() else { break };
            self.step(character, &mut found);
            self.code_points += 1;
            remaining = characters.as_str();
        }
        self.bytes = text.len();
    }

    /// Takes at once what neither ends a line nor has to do with code or markers: nearly all of a text.
    fn skip_plain<'a>(&mut self, text: &'a str) -> &'a str {
        if self.state != MarkerState::Text || self.run > 0 {
            return text;
        }
        let end = memchr::memchr3(b'`', b'[', b'\n', text.as_bytes()).unwrap_or(text.len());
        let (plain, remaining) = text.split_at(end);
        self.code_points += plain.chars().count() as u64;
        self.line_is_blank = self.line_is_blank && plain.chars().all(char::is_whitespace);
        remaining
    }

    fn step(&mut self, character: char, found: &mut impl FnMut(Marker)) {
        if character == '`' {
            self.run += 1;
            self.state = MarkerState::Text;
            self.line_is_blank = false;
            return;
        }
        self.end_run();
        self.end_line(character);
        self.state = if self.code > 0 { MarkerState::Text } else { self.next_place(character, found) };
    }

    fn end_run(&mut self) {
        let run = std::mem::take(&mut self.run);
        if run == 0 {
            return;
        }
        if self.code == 0 {
            self.code = run;
        } else if self.code == run {
            self.code = 0;
        }
    }

    /// A blank line ends a paragraph, and with it code that was opened by one or two backticks.
    fn end_line(&mut self, character: char) {
        if character == '\n' {
            if self.line_is_blank && self.code < 3 {
                self.code = 0;
            }
            self.line_is_blank = true;
        } else if !character.is_whitespace() {
            self.line_is_blank = false;
        }
    }

    fn next_place(&self, character: char, found: &mut impl FnMut(Marker)) -> MarkerState {
        match (self.state, character) {
            (_, '[') => MarkerState::Bracket { start: self.code_points },
            (MarkerState::Bracket { start }, '^') => MarkerState::Number { start, number: 0, digits: 0 },
            (MarkerState::Number { start, number, digits }, '0'..='9') if digits < MAX_DIGITS => {
                let digit = u64::from(character) - u64::from('0');
                MarkerState::Number { start, number: number * 10 + digit, digits: digits + 1 }
            }
            (MarkerState::Number { start, number, digits }, ']') if digits > 0 => {
                found(Marker { number, start, end: self.code_points + 1 });
                MarkerState::Text
            }
            (MarkerState::Text | MarkerState::Bracket { .. } | MarkerState::Number { .. }, _) => {
                MarkerState::Text
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn markers(pieces: &[&str]) -> Vec<(u64, u64, u64)> {
        let (mut scanner, mut text, mut out) = (Scanner::default(), String::new(), Vec::new());
        for piece in pieces {
            text.push_str(piece);
            scanner.scan(&text, |m| out.push((m.number, m.start, m.end)));
        }
        out
    }

    #[test]
    fn the_sample_is_annotated_at_its_marker() {
        assert_eq!(markers(&["The weather in Paris is sunny with a temperature of 15C.[^1]"]), [(1, 56, 60)]);
    }

    #[test]
    fn code_is_not_annotated() {
        assert_eq!(
            markers(&["a `[^1]` b[^2] ``x`[^3]`` ```\n[^4]\n\n[^5]\n``` [^6]"]),
            [(2, 10, 14), (6, 45, 49)]
        );
        assert_eq!(markers(&["a lone ` tick[^1]\n\nnext[^2]"]), [(2, 23, 27)]);
    }

    #[test]
    fn what_is_almost_a_marker_is_text() {
        for text in ["[^]", "[^x1]", "[1]", "[^1", "[^ 1]", "[^1234567890]", "[ ^1]", "[^1]"[..3].as_ref()] {
            assert_eq!(markers(&[text]), [], "{text}");
        }
        assert_eq!(markers(&["[[^1][^2]]"]), [(1, 1, 5), (2, 5, 9)]);
    }

    proptest::proptest! {
        #[test]
        fn any_split_gives_the_same_markers(text in "(\\[\\^[0-9]{1,2}\\]|`{1,3}|\n|Ả|e\u{301}|😀| |x){0,30}", cuts: Vec<proptest::sample::Index>) {
            let mut boundaries: Vec<usize> = text.char_indices().map(|(at, _)| at).chain([text.len()]).collect();
            let chosen: Vec<usize> = cuts.iter().map(|cut| boundaries[cut.index(boundaries.len())]).collect();
            boundaries = chosen;
            boundaries.extend([0, text.len()]);
            boundaries.sort_unstable();
            let pieces: Vec<&str> = boundaries.windows(2).map(|pair| &text[pair[0]..pair[1]]).collect();
            proptest::prop_assert_eq!(markers(&pieces), markers(&[&text]));
        }
    }
}
