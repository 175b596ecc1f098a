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
pub(super) struct Told {
    pub thought: String,
    pub said: String,
}

impl Think {
    /// True once everything that comes is said.
    pub fn is_off(&self) -> bool {
        matches!(self, Think::Off)
    }

    pub fn take(&mut self, text: &str) -> Told {
        match self {
            Think::Off => Told { said: text.to_owned(), ..Told::default() },
            Think::Before(held) => {
                held.push_str(text);
                let begun = held.trim_start();
                if let Some(inside) = begun.strip_prefix(OPEN).map(ToOwned::to_owned) {
                    *self = Think::Inside(String::new());
                    return self.take(&inside);
                }
                if OPEN.starts_with(begun) { Told::default() } else { self.rest() }
            }
            Think::Inside(held) => {
                held.push_str(text);
                if let Some((thought, rest)) = held.split_once(CLOSE) {
                    let (thought, rest) = (thought.to_owned(), rest.to_owned());
                    *self = Think::Behind;
                    return Told { thought, ..self.take(&rest) };
                }
                let may_close = |at: &usize| CLOSE.starts_with(&held[*at..]);
                let at = (0..=held.len()).filter(|at| held.is_char_boundary(*at)).find(may_close);
                let kept = held.split_off(at.unwrap_or(held.len()));
                Told { thought: std::mem::replace(held, kept), ..Told::default() }
            }
            Think::Behind => match text.trim_start() {
                "" => Told::default(),
                said => {
                    let said = said.to_owned();
                    *self = Think::Off;
                    Told { said, ..Told::default() }
                }
            },
        }
    }

    /// What was held back: nothing more comes that could make it a tag.
    pub fn rest(&mut self) -> Told {
        match std::mem::replace(self, Think::Off) {
            Think::Before(said) => Told { said, ..Told::default() },
            Think::Inside(thought) => Told { thought, ..Told::default() },
            Think::Behind | Think::Off => Told::default(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(pieces: &[&str]) -> Told {
        let (mut think, mut all) = (Think::Before(String::new()), Told::default());
        let mut add = |told: Told| {
            all.thought.push_str(&told.thought);
            all.said.push_str(&told.said);
        };
        pieces.iter().for_each(|piece| add(think.take(piece)));
        add(think.rest());
        all
    }

    #[test]
    fn thoughts_are_found_however_the_text_is_split() {
        for (text, thought, said) in [
            ("<think>Hm. é</think>\n\nYes.", "Hm. é", "Yes."),
            ("\n<think>a < b </thin </think>Yes </think>.", "a < b </thin ", "Yes </think>."),
            ("<think></think>Yes.", "", "Yes."),
            ("<think>cut </th", "cut </th", ""),
            ("<thinking>Yes.", "", "<thinking>Yes."),
            ("Yes: <think>no</think>", "", "Yes: <think>no</think>"),
            (" \n<th", "", " \n<th"),
            ("", "", ""),
        ] {
            let expected = Told { thought: thought.to_owned(), said: said.to_owned() };
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
