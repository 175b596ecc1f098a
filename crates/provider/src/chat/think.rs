//! `<think>…</think>` at the beginning of a content: not every server takes a model's thoughts out of its text.

const OPEN: &str = "<think>";
const CLOSE: &str = "</think>";

/// Where the text stands. What may be the beginning of a tag is held back until that is known.
pub(super) enum Think {
    Before(String),
    Inside(String),
    /// White space between the thoughts and the answer says nothing.
    Behind,
    Off,
}

/// What of a text was thought, and what was said.
#[derive(Debug, PartialEq, Eq, Default)]
pub(super) struct Segments {
    pub thought: String,
    pub answer: String,
}

impl Think {
    /// True once everything that comes is said.
    pub fn is_off(&self) -> bool {
        matches!(self, Think::Off)
    }

    pub fn take(&mut self, text: &str) -> Segments {
        match self {
            Think::Off => Segments { answer: text.to_owned(), ..Segments::default() },
            Think::Before(held) => {
                held.push_str(text);
                let begun = held.trim_start();
                if let Some(inside) = begun.strip_prefix(OPEN).map(ToOwned::to_owned) {
                    *self = Think::Inside(String::new());
                    return self.take(&inside);
                }
                if OPEN.starts_with(begun) { Segments::default() } else { self.finish() }
            }
            Think::Inside(held) => {
                held.push_str(text);
                if let Some((thought, remaining)) = held.split_once(CLOSE) {
                    let (thought, remaining) = (thought.to_owned(), remaining.to_owned());
                    *self = Think::Behind;
                    return Segments { thought, ..self.take(&remaining) };
                }
                let may_close = |at: &usize| CLOSE.starts_with(&held[*at..]);
                let at = (0..=held.len()).filter(|at| held.is_char_boundary(*at)).find(may_close);
                let held_back = held.split_off(at.unwrap_or(held.len()));
                Segments { thought: std::mem::replace(held, held_back), ..Segments::default() }
            }
            Think::Behind => match text.trim_start() {
                "" => Segments::default(),
                answer => {
                    let answer = answer.to_owned();
                    *self = Think::Off;
                    Segments { answer, ..Segments::default() }
                }
            },
        }
    }

    /// What was held back: nothing more comes that could make it a tag.
    pub fn finish(&mut self) -> Segments {
        match std::mem::replace(self, Think::Off) {
            Think::Before(answer) => Segments { answer, ..Segments::default() },
            Think::Inside(thought) => Segments { thought, ..Segments::default() },
            Think::Behind | Think::Off => Segments::default(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(pieces: &[&str]) -> Segments {
        let (mut think, mut all) = (Think::Before(String::new()), Segments::default());
        let mut add = |segments: Segments| {
            all.thought.push_str(&segments.thought);
            all.answer.push_str(&segments.answer);
        };
        pieces.iter().for_each(|piece| add(think.take(piece)));
        add(think.finish());
        all
    }

    #[test]
    fn thoughts_are_found_however_the_text_is_split() {
        for (text, thought, answer) in [
            ("<think>Hm. é</think>\n\nYes.", "Hm. é", "Yes."),
            ("\n<think>a < b </thin </think>Yes </think>.", "a < b </thin ", "Yes </think>."),
            ("<think></think>Yes.", "", "Yes."),
            ("<think>cut </th", "cut </th", ""),
            ("<thinking>Yes.", "", "<thinking>Yes."),
            ("Yes: <think>no</think>", "", "Yes: <think>no</think>"),
            (" \n<th", "", " \n<th"),
            ("", "", ""),
        ] {
            let expected = Segments { thought: thought.to_owned(), answer: answer.to_owned() };
            assert_eq!(read(&[text]), expected, "{text}");
            for at in (0..=text.len()).filter(|at| text.is_char_boundary(*at)) {
                let (a, b) = text.split_at(at);
                assert_eq!(read(&[a, b]), expected, "{a}|{b}");
            }
            let each: Vec<String> = text.chars().map(String::from).collect();
            let each: Vec<&str> = each.iter().map(String::as_str).collect();
            assert_eq!(read(&each), expected, "{text} by character");
        }
    }
}
