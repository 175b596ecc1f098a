//! Addresses that the server never asks, told before somebody waits for their answer.

use riverrun_tool::{AddressGuard, Unreachable};

use super::read::Reader;
use super::values::{Table, text, texts};

impl Reader {
    /// Complains of a `url` to which no call may go, with what allows it.
    pub(super) fn reach(&mut self, table: &Table<'_>) {
        let (Some(node), Some(url)) = (table.get("url"), text(table, "url")) else { return };
        let outbound = AddressGuard { allow: texts(table.get("allow_hosts").copied()) };
        let what = match outbound.never_reaches(&url) {
            None => return,
            Some(Unreachable::NotPublic(host)) => format!(
                "`{host}` is not public and is not reached; if that is meant, write allow_hosts = [\"{host}\"]"
            ),
            Some(Unreachable::NotSecure(host)) => {
                format!("`{host}` is not reached without TLS; write https://, or allow_hosts = [\"{host}\"]")
            }
        };
        self.complain(&node.span, format!("url: {what}"));
    }
}
