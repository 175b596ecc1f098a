//! Running text in a column: what is too long for the line goes on below its beginning, as what is behind a line end.

/// Where the next character goes, and how far a line may go.
#[derive(Debug, Clone, Copy)]
pub struct Column {
    /// Where each line begins.
    pub start: usize,
    pub at: usize,
    /// None where nobody looks at a screen: lines end only where the text says so.
    pub width: Option<usize>,
}

impl Column {
    /// The lines of a text that goes on where the last one ended.
    pub fn lines(&mut self, text: &str) -> Vec<String> {
        let mut lines = vec![String::new()];
        for (index, line) in text.split('\n').enumerate() {
            if index > 0 {
                self.next_line(&mut lines);
            }
            for word in line.split_inclusive(' ') {
                self.word(word, &mut lines);
            }
        }
        lines
    }

    fn next_line(&mut self, lines: &mut Vec<String>) {
        lines.push(String::new());
        self.at = self.start;
    }

    /// A word, and the space behind it, which may hang over the edge.
    fn word(&mut self, word: &str, lines: &mut Vec<String>) {
        let room = |at: usize| self.width.map_or(usize::MAX, |width| width.saturating_sub(at).max(1));
        let seen: usize = word.trim_end_matches(' ').chars().map(columns).sum();
        let fits_below = seen <= room(self.start);
        if seen > room(self.at) && fits_below && self.at > self.start {
            self.next_line(lines);
        }
        for c in word.chars() {
            let columns = columns(c);
            let is_full = self.width.is_some_and(|width| self.at + columns > width);
            if is_full && c == ' ' {
                continue;
            }
            if is_full && self.at > self.start {
                self.next_line(lines);
            }
            self.at += columns;
            if let Some(line) = lines.last_mut() {
                line.push(c);
            }
        }
    }
}

/// How many columns a character takes: East Asian ones and pictures two, marks on the one before none.
fn columns(c: char) -> usize {
    match u32::from(c) {
        0x300..=0x36f | 0x200b..=0x200d | 0xfe00..=0xfe0f => 0,
        0x1100..=0x115f | 0x2e80..=0xa4cf | 0xac00..=0xd7a3 | 0xf900..=0xfaff | 0xfe30..=0xfe6f => 2,
        0xff00..=0xff60 | 0xffe0..=0xffe6 | 0x1f300..=0x1faff | 0x20000..=0x3fffd => 2,
        _ => 1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(pieces: &[&str], width: Option<usize>) -> String {
        let mut column = Column { start: 2, at: 2, width };
        let text: Vec<String> = pieces.iter().map(|piece| column.lines(piece).join("|")).collect();
        text.concat()
    }

    #[test]
    fn a_long_text_breaks_between_words_also_when_it_comes_in_pieces() {
        assert_eq!(check(&["one two three"], Some(9)), "one two|three");
        assert_eq!(check(&["one", " two", " three"], Some(9)), "one two|three");
        assert_eq!(check(&["one ", "two ", "three"], Some(9)), "one two|three");
        assert_eq!(check(&["one two three"], None), "one two three");
        assert_eq!(check(&["one\ntwo"], None), "one|two");
    }

    #[test]
    fn a_word_that_fits_no_line_is_cut() {
        assert_eq!(check(&["abcdefghij"], Some(6)), "abcd|efgh|ij");
        assert_eq!(check(&["漢字漢字"], Some(6)), "漢字|漢字");
    }
}
