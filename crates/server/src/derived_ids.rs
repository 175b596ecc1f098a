//! Ids that follow from a request, so that the same request again finds what it made.

use riverrun_event::{SessionId, TurnId};
use sha2::{Digest, Sha256};

use crate::edge::Caller;

/// Ids that follow from these words for this tenant.
pub(crate) fn derived(caller: &Caller, words: &[&str]) -> (SessionId, TurnId) {
    let mut hash = Sha256::new();
    for part in std::iter::once(caller.tenant().as_str()).chain(words.iter().copied()) {
        hash.update((part.len() as u64).to_be_bytes());
        hash.update(part);
    }
    let hash: [u8; 32] = hash.finalize().into();
    let (session, turn) = hash.split_at(16);
    let sixteen = |bytes: &[u8]| <[u8; 16]>::try_from(bytes).expect("half of thirty-two bytes");
    (SessionId::from_bytes(sixteen(session)), TurnId::from_bytes(sixteen(turn)))
}
