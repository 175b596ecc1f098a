//! Every bound of the edge in one place, with the value it has unless configured.

use std::collections::BTreeMap;
use std::time::Duration;

use riverrun_event::{TenantId, json};
use riverrun_log::{StorageQuota, StorageQuotas};
use riverrun_runner::TurnQuotas;
use riverrun_session::Settings;

/// The port that `serve` listens on unless told otherwise.
pub const DEFAULT_PORT: u16 = 7777;

const KIB: usize = 1024;
const MIB: usize = 1024 * KIB;

/// How much the server takes from one request, one connection, one address and one tenant.
#[derive(Debug, Clone, PartialEq)]
pub struct Limits {
    /// Request line and headers together.
    pub head_bytes: usize,
    /// From accept (or from the end of the last request) to the last byte of the head.
    pub head_time: Duration,
    pub body_bytes: usize,
    /// From the end of the head to the last byte of the body.
    pub body_time: Duration,
    pub blob_bytes: usize,
    /// Bytes of incomplete request bodies in memory, in all. A tenant may use half.
    pub body_bytes_in_flight: usize,
    /// Bytes of incomplete uploads on the disk, in all. A tenant may use half.
    pub upload_bytes_in_flight: usize,
    /// A larger event must put its bulk into a blob.
    pub event_bytes: usize,
    pub websocket_message_bytes: usize,
    pub websocket_frame_bytes: usize,
    /// What an unsent WebSocket reply may occupy.
    pub websocket_buffer_bytes: usize,
    /// A WebSocket that has not named its key by then is closed with 4401.
    pub websocket_auth_time: Duration,
    pub json: json::JsonLimits,
    pub tool_arguments_bytes: usize,
    /// How often a stream says that it is alive.
    pub ping_every: Duration,
    /// A peer that acknowledges nothing for this long is gone.
    pub dead_after: Duration,
    /// A peer that is alive but takes nothing from a full stream for this long is cut; it resumes with its cursor.
    pub stall_time: Duration,
    pub connections: usize,
    /// Per remote address that is not loopback.
    pub connections_per_ip: usize,
    /// Per loopback address; apart, because a local proxy brings everybody from there.
    pub connections_per_loopback: usize,
    /// `None` is no limit, as for the other quotas of a tenant.
    pub streams_per_tenant: Option<u64>,
    pub events_per_second: Option<f64>,
    /// Sessions that one tenant makes; ten seconds' worth may come at once, as for uploads.
    pub new_sessions_per_second: Option<u64>,
    pub upload_bytes_per_second: Option<u64>,
    pub sessions_per_tenant: Option<u64>,
    /// Log and blobs.
    pub stored_bytes_per_tenant: Option<u64>,
    pub running_turns_per_tenant: Option<u64>,
    /// Other quotas for some tenants.
    pub tenants: BTreeMap<TenantId, TenantQuotas>,
    /// Wrong keys per remote address and minute before the answer is 429.
    pub failed_auth_per_minute: u32,
    /// Reads of shared sessions per remote address and minute; further ones are answered 429.
    pub share_reads_per_ip: u32,
    /// The same per link, whoever reads.
    pub share_reads_per_share: u32,
    pub ticket_time: Duration,
    /// How many tickets may wait for their use in one tenant. One key may hold a quarter of them.
    pub tickets_per_tenant: usize,
    /// How many browser credentials of one tenant may be live. One key may hold a quarter of them.
    pub browser_credentials_per_tenant: usize,
    /// What a shutdown waits for open model and tool calls, requests and streams.
    pub drain_time: Duration,
    /// How long whoever could have read a deleted session is told that it was deleted; zero is not at all.
    pub deletions: Duration,
    /// The longest time until a revoked key stops working, here and on other processes.
    pub revoke_time: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            head_bytes: 16 * KIB,
            head_time: Duration::from_secs(10),
            body_bytes: MIB,
            body_time: Duration::from_secs(30),
            blob_bytes: 20 * MIB,
            body_bytes_in_flight: 256 * MIB,
            upload_bytes_in_flight: 1024 * MIB,
            event_bytes: 256 * KIB,
            websocket_message_bytes: MIB,
            websocket_frame_bytes: 256 * KIB,
            websocket_buffer_bytes: MIB,
            websocket_auth_time: Duration::from_secs(5),
            json: json::JsonLimits::default(),
            tool_arguments_bytes: 256 * KIB,
            ping_every: Duration::from_secs(15),
            dead_after: Duration::from_secs(45),
            stall_time: Duration::from_secs(300),
            connections: 4096,
            connections_per_ip: 64,
            connections_per_loopback: 4096,
            streams_per_tenant: Some(256),
            events_per_second: None,
            new_sessions_per_second: None,
            upload_bytes_per_second: None,
            sessions_per_tenant: None,
            stored_bytes_per_tenant: None,
            running_turns_per_tenant: None,
            tenants: BTreeMap::new(),
            failed_auth_per_minute: 10,
            share_reads_per_ip: 60,
            share_reads_per_share: 300,
            ticket_time: Duration::from_secs(30),
            tickets_per_tenant: 1024,
            browser_credentials_per_tenant: 65_536,
            drain_time: Duration::from_secs(30),
            deletions: Duration::from_secs(30 * 24 * 60 * 60),
            revoke_time: Duration::from_secs(5),
        }
    }
}

/// What is different for one tenant: `None` is as for all, 0 is no limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct TenantQuotas {
    pub sessions: Option<u64>,
    pub stored_bytes: Option<u64>,
    pub running_turns: Option<u64>,
    pub streams: Option<u64>,
    pub events_per_second: Option<u64>,
    pub new_sessions_per_second: Option<u64>,
    pub upload_bytes_per_second: Option<u64>,
}

/// What one tenant may use. `None` is no limit.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Quota {
    pub storage: StorageQuota,
    pub running_turns: Option<u64>,
    pub streams: Option<u64>,
    pub events_per_second: Option<f64>,
    pub new_sessions_per_second: Option<f64>,
    pub upload_bytes_per_second: Option<f64>,
}

impl Limits {
    pub fn quota(&self, tenant: &TenantId) -> Quota {
        self.with(self.tenants.get(tenant).copied().unwrap_or_default())
    }

    fn with(&self, own: TenantQuotas) -> Quota {
        let chosen = |own: Option<u64>, default: Option<u64>| match own {
            Some(0) => None,
            Some(limit) => Some(limit),
            None => default,
        };
        let rate = match own.events_per_second {
            Some(0) => None,
            Some(rate) => Some(rate as f64),
            None => self.events_per_second,
        };
        Quota {
            storage: StorageQuota {
                sessions: chosen(own.sessions, self.sessions_per_tenant),
                stored_bytes: chosen(own.stored_bytes, self.stored_bytes_per_tenant),
            },
            running_turns: chosen(own.running_turns, self.running_turns_per_tenant),
            streams: chosen(own.streams, self.streams_per_tenant),
            events_per_second: rate,
            new_sessions_per_second: chosen(own.new_sessions_per_second, self.new_sessions_per_second)
                .map(|rate| rate as f64),
            upload_bytes_per_second: chosen(own.upload_bytes_per_second, self.upload_bytes_per_second)
                .map(|rate| rate as f64),
        }
    }

    /// What the engine goes by.
    pub fn session_settings(&self) -> Settings {
        Settings { event_bytes: self.event_bytes, ping_every: self.ping_every, deletions: self.deletions }
    }

    /// What the log enforces.
    pub fn storage_quotas(&self) -> StorageQuotas {
        let tenants = self.tenants.iter().map(|(tenant, own)| (tenant.clone(), self.with(*own).storage));
        StorageQuotas { default: self.with(TenantQuotas::default()).storage, tenants: tenants.collect() }
    }

    /// What the runner enforces.
    pub fn turn_quotas(&self) -> TurnQuotas {
        let tenants =
            self.tenants.iter().map(|(tenant, own)| (tenant.clone(), self.with(*own).running_turns));
        TurnQuotas { default: self.running_turns_per_tenant, tenants: tenants.collect() }
    }
}
