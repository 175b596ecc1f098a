//! `^C`, heard at any time.

use tokio::signal::unix::{Signal, SignalKind, signal};

use super::exit::{Exit, Failure, Outcome};

/// Listens from when it is made: what is pressed while a command draws something is not lost.
pub struct Interrupts(Signal);

impl Interrupts {
    pub fn listen() -> Outcome<Self> {
        let failed = |error| Failure::new(Exit::Io, format_args!("cannot listen for ^C: {error}"));
        signal(SignalKind::interrupt()).map(Self).map_err(failed)
    }

    /// Resolves at the next one, or at once if there was one since the last call.
    pub async fn next(&mut self) {
        if self.0.recv().await.is_none() {
            // The runtime is going down, and nothing more can be heard.
            std::future::pending::<()>().await;
        }
    }
}
