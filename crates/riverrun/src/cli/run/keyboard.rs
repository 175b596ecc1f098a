//! Lines that the user types, without blocking the stream.

use std::io::BufRead;

use tokio::sync::mpsc;

pub struct Keyboard {
    lines: Option<mpsc::UnboundedReceiver<String>>,
}

impl Keyboard {
    pub fn new() -> Self {
        Self { lines: None }
    }

    /// The next line; None at the end of input. Reading begins with the first call: before it, nobody was asked.
    pub async fn line(&mut self) -> Option<String> {
        self.lines.get_or_insert_with(listen).recv().await
    }
}

/// A read of stdin cannot be cancelled, so it has a thread of its own, which ends with the process.
fn listen() -> mpsc::UnboundedReceiver<String> {
    let (sender, receiver) = mpsc::unbounded_channel();
    std::thread::spawn(move || {
        for line in std::io::stdin().lock().lines() {
            let Ok(line) = line else { return };
            if sender.send(line).is_err() {
                return;
            }
        }
    });
    receiver
}
