//! Following a session.

use riverrun_event::SessionId;

use super::session_path;
use crate::client::Client;
use crate::follow::{Follow, FollowOptions};

impl Client {
    /// Follows a session. Each sequence is given out once, in order, after any cut; a hole is an error.
    pub fn follow(&self, session: &SessionId, options: FollowOptions) -> Follow {
        Follow::new(self.clone(), session_path(session), options)
    }
}
