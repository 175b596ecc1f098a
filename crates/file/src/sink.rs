//! Text that is put together up to a limit.

/// Takes text until it is full. What parts two stretches is written once.
pub(crate) struct TextSink {
    text: String,
    limit: usize,
    is_cut: bool,
}

impl TextSink {
    pub fn new(limit: usize) -> Self {
        Self { text: String::new(), limit, is_cut: false }
    }

    pub fn is_full(&self) -> bool {
        self.is_cut
    }

    pub fn push(&mut self, text: &str) {
        let room = self.limit - self.text.len();
        if text.len() <= room {
            return self.text.push_str(text);
        }
        self.text.push_str(&text[..text.floor_char_boundary(room)]);
        self.is_cut = true;
    }

    /// Text with runs of white space as one space, as a browser shows it.
    pub fn push_flowing(&mut self, text: &str) {
        for (at, word) in text.split(char::is_whitespace).enumerate() {
            if self.is_cut {
                return;
            }
            if at > 0 && !self.ends_in_space() {
                self.push(" ");
            }
            self.push(word);
        }
    }

    /// Begins a new line unless one was just begun.
    pub fn line(&mut self) {
        while self.text.ends_with(' ') {
            self.text.pop();
        }
        if !self.text.is_empty() && !self.text.ends_with('\n') {
            self.push("\n");
        }
    }

    pub fn tab(&mut self) {
        if !self.text.is_empty() && !self.text.ends_with(['\n', '\t']) {
            self.push("\t");
        }
    }

    fn ends_in_space(&self) -> bool {
        self.text.is_empty() || self.text.ends_with(char::is_whitespace)
    }

    /// The text, and whether it was cut.
    pub fn into_text(mut self) -> (String, bool) {
        self.text.truncate(self.text.trim_end().len());
        (self.text, self.is_cut)
    }
}
