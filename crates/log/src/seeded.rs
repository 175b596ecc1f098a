//! Known bugs that a test build can switch on, one at a time, to prove that the suites would notice them.
//!
//! Without the feature `seeded-bugs` every question here is the constant `false` and the compiler removes it.

macro_rules! bugs {
    ($($(#[$doc:meta])* $name:ident = $text:literal;)*) => {
        /// A bug that other systems had and a suite of ours must catch.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum Bug { $($(#[$doc])* $name,)* }

        impl Bug {
            /// Every bug, in the order of the table.
            pub const ALL: &[Bug] = &[$(Bug::$name,)*];

            /// The value of `RIVERRUN_SEEDED_BUG` that switches it on.
            pub const fn name(self) -> &'static str {
                match self { $(Bug::$name => $text,)* }
            }
        }
    };
}

bugs! {
    /// Commits are not synced to the disk.
    NoFsync = "no-fsync";
    /// A new file's directory is not synced.
    NoDirectoryFsync = "no-directory-fsync";
    /// Tickets resolve and listeners are called before the commit.
    AckBeforeCommit = "ack-before-commit";
    /// An append with a stale epoch is taken.
    NoEpochCheck = "no-epoch-check";
    /// A failed sync is tried again, as if the data were still there.
    RetryFsync = "retry-fsync";
    /// A checksum is not compared on reading.
    SkipCrc = "skip-crc";
    /// A chunk need not follow its predecessor's link.
    SkipChain = "skip-chain";
    /// An append need not begin after the head.
    NoCasOnFirst = "no-cas-on-first";
    /// Producer stamps are not stored.
    ForgetProducer = "forget-producer";
    /// A command may be applied twice.
    ForgetCommand = "forget-command";
    /// Sealing leaves the last event of a range out.
    SealLosesLast = "seal-loses-last";
    /// A reader is handed live events before its replay is done.
    LiveBeforeReplay = "live-before-replay";
    /// Text is decoded chunk by chunk with replacement characters.
    LossyUtf8 = "lossy-utf8";
    /// An event's id is the clock's millisecond.
    IdIsMilliseconds = "id-is-milliseconds";
    /// A decision applies to the n-th open action instead of the digest it names.
    ApprovalByPosition = "approval-by-position";
    /// Disconnecting cancels.
    DisconnectCancels = "disconnect-cancels";
    /// A body ends cleanly without its terminal event.
    CleanEndWithoutTerminal = "clean-end-without-terminal";
    /// A cookie authenticates a WebSocket.
    CookieOnWebSocket = "cookie-on-websocket";
    /// A tenant's lookup ignores the tenant.
    TenantBlind = "tenant-blind";
    /// A snapshot is trusted without its hash.
    TrustSnapshot = "trust-snapshot";
    /// A tool whose end nobody knows is run again, whatever it does.
    RerunUnknown = "rerun-unknown";
    /// Another attempt at a call has another idempotency key.
    FreshToolKey = "fresh-tool-key";
    /// A tool begins before its intent is durable.
    EffectBeforeIntent = "effect-before-intent";
    /// A model's answer without a terminal event counts as a whole one.
    CutIsComplete = "cut-is-complete";
    /// What a failed model call showed stays when it is tried again.
    KeepCutText = "keep-cut-text";
    /// Steering input that a turn did not read is dropped at its end.
    ForgetSteering = "forget-said";
    /// A sub-agent's numbers are taken as the parent's own.
    KeepChildNumbers = "keep-child-numbers";
    /// Nobody's decision is ever late.
    ForgetTimers = "forget-timers";
    /// A second decision replaces the first.
    LastDecisionWins = "last-decision-wins";
    /// A predicate that fails lets the call run.
    PredicateFailsOpen = "predicate-fails-open";
    /// An always-rule holds for every agent.
    RuleForAllAgents = "rule-for-all-agents";
    /// Secrets that others were given are not hidden.
    RedactOwnSecretsOnly = "redact-own-secrets-only";
    /// Processes that left their group outlive the call that started them.
    LeaveDescendants = "leave-descendants";
    /// A browser credential works on pages of every origin.
    CredentialIgnoresOrigin = "credential-ignores-origin";
    /// A browser credential goes on when its key is revoked.
    CredentialOutlivesKey = "credential-outlives-key";
    /// One key may hold all tickets of its tenant.
    KeyTakesAllTickets = "key-takes-all-tickets";
    /// An admin of any tenant sees the keys of every tenant.
    EveryAdminSeesAllKeys = "every-admin-sees-all-keys";
    /// Of two `Origin` headers only the first is looked at.
    DuplicateOrigin = "duplicate-origin";
    /// The member `thread` of a message is ignored, and each continuation begins anew.
    ThreadDropped = "thread-dropped";
    /// A chunked stream announces `connection: close`, which hides a cut from Node's fetch.
    CloseHeaderOnStreams = "close-header-on-streams";
    /// A dialect that shows one turn shows nothing of a finished session unless the turn is named.
    EmptyWithoutTurn = "empty-without-turn";
    /// An event's author is what its envelope says.
    TrustAuthorInPayload = "trust-author-in-payload";
    /// Producers may write the runner's events, and the runner believes them.
    BelieveProducers = "believe-producers";
    /// A call runs though nobody decided about it yet.
    RunWithoutDecision = "run-without-decision";
    /// The rules of an imported file hold.
    ImportGrantsRules = "import-grants-rules";
    /// The rules that held where a fork was made hold in the fork.
    ForkRevivesRules = "fork-revives-rules";
    /// A tool is not compared with what was decided upon when it is called.
    StaleToolSchema = "stale-tool-schema";
    /// An answer's tool calls beyond the agent's limit are run.
    NoCallCap = "no-call-cap";
    /// Uploads are held in memory until they are complete.
    BufferUploads = "buffer-uploads";
    /// Sessions that nobody uses stay in memory.
    KeepHubs = "keep-hubs";
    /// A tenant may store as many bytes as it likes.
    QuotaBlindBytes = "quota-blind-bytes";
    /// What a deleted session stored still counts against its tenant.
    QuotaKeepsDeleted = "quota-keeps-deleted";
    /// An import makes sessions and events that no rate counts.
    QuotaBlindImport = "quota-blind-import";
    /// Retention deletes the events of turns that are still open.
    RetireOpenTurns = "retire-open-turns";
    /// Retention believes the wall clock.
    RetireByWallClock = "retire-by-wall-clock";
    /// A restored log gives its events new ids.
    FreshIdsAfterRestore = "fresh-ids-after-restore";
    /// The space that is kept back does not depend on the size of the disk.
    FixedReserve = "fixed-reserve";
    /// Sessions and blobs are made as fast as somebody asks for them.
    NoBurstLimit = "no-burst-limit";
    /// Messages of WebSockets are not counted with the bodies that are held in memory.
    UncountedMessages = "uncounted-messages";
    /// A terminal is given invisible characters as they are.
    ShowInvisible = "show-invisible";
    /// Events whose type is reserved for the server are stored.
    StoreStreamTypes = "store-stream-types";
    /// `/metrics` needs no key behind a proxy.
    OpenMetrics = "open-metrics";
    /// Secrets stay in the environment that other processes can read.
    ReadableEnvironment = "readable-environment";
    /// A peer may send as many control frames as it likes.
    NoFrameLimit = "no-frame-limit";
    /// Requests with two lengths, or with lines that end without CR, are served.
    LooseFraming = "loose-framing";
    /// Addresses without a scheme are not looked at.
    SkipBareAddresses = "skip-bare-addresses";
    /// An event of a copy opens a turn again that had ended, and nobody ends it.
    LeaveReopened = "leave-reopened";
    /// The newest epoch of any shard may append to all of them.
    ShardBlindFence = "shard-blind-fence";
    /// An instance hears nothing of what the others change.
    DeafInstances = "deaf-instances";
    /// An append whose outcome is unknown is appended anew, though it may be stored.
    AppendUnknownAgain = "append-unknown-again";
}

#[cfg(feature = "seeded-bugs")]
pub fn is_on(bug: Bug) -> bool {
    use std::sync::OnceLock;
    static CHOSEN: OnceLock<Option<String>> = OnceLock::new();
    let chosen = CHOSEN.get_or_init(|| std::env::var("RIVERRUN_SEEDED_BUG").ok());
    chosen.as_deref() == Some(bug.name())
}

/// Always false: this build has no seeded bugs.
#[cfg(not(feature = "seeded-bugs"))]
#[inline(always)]
pub const fn is_on(_bug: Bug) -> bool {
    false
}
