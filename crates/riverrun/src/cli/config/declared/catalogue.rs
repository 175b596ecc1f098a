//! Every section and key that declares something, written once.

use super::shape::{Field, Form, Section, Shape};

const fn may(key: &'static str, shape: Shape, about: &'static str) -> Field {
    Field { key, shape, required: false, about }
}

const fn must(key: &'static str, shape: Shape, about: &'static str) -> Field {
    Field { key, shape, required: true, about }
}

pub const APPROVALS: &[&str] = &["policy", "never", "always"];
pub const PROVIDER_KINDS: &[&str] = &["openai", "openai-chat", "anthropic", "gemini"];

pub const LIMITS: &[Field] = &[
    may("steps", Shape::Count, "Model calls in one turn."),
    may("tokens", Shape::Count, "Tokens of one turn."),
    may("cost", Shape::Money, "Cost of one turn, in US dollars."),
    may("time", Shape::Duration, "How long a turn may take."),
    may("depth", Shape::Whole, "How deep sub-agents may call sub-agents."),
    may("children", Shape::Whole, "Sub-agents of one turn."),
    may(
        "calls",
        Shape::Count,
        "Tool calls of one answer that are run, 128 without it; the model reads an error for those beyond.",
    ),
    may("action_timeout", Shape::Duration, "How long an action waits for its decision."),
    may(
        "on_action_timeout",
        Shape::Word(&["reject", "fail"]),
        "What becomes of an action that nobody decides: `reject` the call, without it, or `fail` the turn.",
    ),
];

const REFERENCE_MODES: &[&str] = &["off", "cited", "all"];

pub const REFERENCES: &[Field] = &[
    may(
        "mode",
        Shape::Word(REFERENCE_MODES),
        "Which results get a number: none (`off`), those that the tool marks as sources (`cited`), or `all`. Default: `all` with `explain`, else `cited`.",
    ),
    may(
        "marker",
        Shape::Word(&["item", "result"]),
        "The words around what can be cited: `<referencable-item>`, without it, or `<referencable-result>`.",
    ),
    may(
        "subagents",
        Shape::Word(&["cited", "all"]),
        "Which of a sub-agent's sources the model reads: those `cited` in its message, without it, or `all`.",
    ),
    may("explain", Shape::Flag, "Tell the model how to cite, behind its instructions."),
];

/// Names as in `riverrun_dialect::blocks::TEXTS`, which has the built-in ones in English and Vietnamese.
pub const TEXTS: &[Field] = &[
    may("stopped", Shape::Text, "The user stopped the turn."),
    may("error", Shape::Text, "The turn failed."),
    may("timeout", Shape::Text, "The turn took too long."),
    may("approval", Shape::Text, "A person must approve calls."),
    may("call_approval", Shape::Text, "One of these calls; `{label}` is what the call is shown as."),
    may("client_call", Shape::Text, "A call that the application runs; `{label}` is what it is shown as."),
    may("approval_timeout", Shape::Text, "Nobody decided in time."),
    may("file_processed", Shape::Text, "One file was read."),
    may("files_processed", Shape::Text, "`{count}` files were read."),
    may("file_failed", Shape::Text, "The only file could not be read."),
    may("files_failed", Shape::Text, "Of `{count}` files `{failed}` could not be read."),
];

pub const AGENT: &[Field] = &[
    must(
        "model",
        Shape::TextOrTexts,
        "`PROVIDER/MODEL`, `scripted/SCENARIO` or a route; more are fallbacks, in order.",
    ),
    may("description", Shape::Text, "What it is for; other agents read it."),
    may(
        "label",
        Shape::TextByLanguage,
        "What people see when another agent calls it or hands over to it: a text, or a table of texts by language; `{name}` stands for an argument of the call.",
    ),
    may("instructions", Shape::TextOrFile, "What the model is told first."),
    may("tools", Shape::Texts, "Names of [tools], or `mcp:SERVER`, or `mcp:SERVER/TOOL`."),
    may("subagents", Shape::Texts, "Agents that this one may call as tools."),
    may("handoffs", Shape::Texts, "Agents that this one may hand the conversation to."),
    may("approval", Shape::Word(APPROVALS), "When a person must agree to a call, for tools that do not say."),
    may("limits", Shape::Table(LIMITS), "What one turn may use."),
    may(
        "references",
        Shape::WordOrTable(REFERENCE_MODES, REFERENCES),
        "What the model reads of what it can cite; a word is the `mode`.",
    ),
    may(
        "texts",
        Shape::NumberTables(TEXTS),
        "Texts for people that no model writes, by language: [agents.NAME.texts.vi]; `default` is for every other language. Built in: `en`, `vi`.",
    ),
    may("output_schema", Shape::JsonSchema, "The JSON Schema that the final message must fit."),
    may(
        "deltas",
        Shape::Word(&["joined", "as_sent"]),
        "`as_sent`: each piece of text that the service sends is a delta of its own. `joined`, the default: so too, unless the log is slower than the model.",
    ),
    may("reasoning_effort", Shape::Text, "`low`, `medium`, `high`, or what the provider knows."),
    may("temperature", Shape::Temperature, "The model's temperature."),
    may("max_output_tokens", Shape::Count, "Tokens of one answer."),
    may(
        "compact_at_tokens",
        Shape::Count,
        "Tokens of history at which older turns are replaced by a summary.",
    ),
    may(
        "unknown_tool",
        Shape::Word(&["tell", "fail"]),
        "What a call of a tool that is not there does: `tell` the model, without it, or `fail` the task.",
    ),
    may("keep_raw", Shape::Flag, "Keep what each model call was asked and answered."),
    may("default", Shape::Flag, "The agent of turns that name none."),
];

pub const PROCESS_LIMITS: &[Field] = &[
    may("memory", Shape::Size, "Bytes of address space of each process; not limited without it."),
    may("cpu", Shape::Duration, "Processor time of each process; not limited without it."),
    may("open_files", Shape::Count, "Open files of each process; 1024 without it."),
    may(
        "processes",
        Shape::Count,
        "Processes of the server's user, all of them counted; not limited without it.",
    ),
    may("file_size", Shape::Size, "Bytes of the largest file that it writes; 4GiB without it."),
];

pub const TOOL: &[Field] = &[
    may("description", Shape::Text, "What it does; the model reads it."),
    may(
        "label",
        Shape::TextByLanguage,
        "What people see of a call: a text, or a table of texts by language; `{name}` stands for an argument of the call.",
    ),
    may(
        "command",
        Shape::Texts,
        "A program and its arguments; `{name}` stands for an argument of the call. No shell.",
    ),
    may("url", Shape::Url, "Where an HTTP tool is."),
    may("method", Shape::Word(&["GET", "POST", "PUT", "PATCH", "DELETE"]), "The method of an HTTP tool."),
    may("headers", Shape::TextMap, "Headers of an HTTP tool; secrets by { env } or { file }."),
    may("function", Shape::Text, "A built-in function."),
    may("client", Shape::Flag, "The caller runs it: a call waits until somebody responds with its result."),
    may("parameters", Shape::JsonSchema, "The JSON Schema of the arguments."),
    may("env", Shape::TextMap, "Variables of a command; secrets by { env } or { file }."),
    may("cwd", Shape::Text, "Where a command runs."),
    may(
        "interactive",
        Shape::Flag,
        "The command's process can be written to while it runs, and what it writes is told as it comes.",
    ),
    may("limits", Shape::Table(PROCESS_LIMITS), "What a command may use of the machine (Linux)."),
    may("timeout", Shape::Duration, "How long a call may take."),
    may("approval", Shape::Word(APPROVALS), "When a person must agree to a call."),
    may(
        "references",
        Shape::Word(REFERENCE_MODES),
        "Which of its results get a number to be cited by; default: as the agent says.",
    ),
    may("read_only", Shape::Flag, "It changes nothing; calls may run at the same time."),
    may("destructive", Shape::Flag, "It may destroy something."),
    may("idempotent", Shape::Flag, "The same call again changes nothing more."),
    may("open_world", Shape::Flag, "It reaches beyond this machine."),
    may(
        "allow_hosts",
        Shape::Texts,
        "Hosts that an HTTP tool may reach though they are private or without TLS.",
    ),
];

pub const MCP_TOOL: &[Field] = &[may(
    "label",
    Shape::TextByLanguage,
    "What people see of a call: a text, or a table of texts by language; `{name}` stands for an argument of the call.",
)];

pub const MCP: &[Field] = &[
    may("command", Shape::Texts, "The program of a server over stdin and stdout. No shell."),
    may("url", Shape::Url, "Where a server over HTTP is."),
    may("env", Shape::TextMap, "Variables of the program; secrets by { env } or { file }."),
    may("cwd", Shape::Text, "Where the program runs."),
    may("limits", Shape::Table(PROCESS_LIMITS), "What the program may use of the machine (Linux)."),
    may("headers", Shape::TextMap, "Headers for a server over HTTP; secrets by { env } or { file }."),
    may("timeout", Shape::Duration, "How long a call may take."),
    may("approval", Shape::Word(APPROVALS), "When a person must agree to a call of its tools."),
    may(
        "references",
        Shape::Word(REFERENCE_MODES),
        "Which results of its tools get a number to be cited by; default: as the agent says.",
    ),
    may("allow_hosts", Shape::Texts, "Hosts of servers over HTTP that are private or without TLS."),
    may("trust_hints", Shape::Flag, "Believe what the server says of its tools."),
    may(
        "tools",
        Shape::NumberTables(MCP_TOOL),
        "What is said of single tools, by the names that the server gives them: [mcp.NAME.tools.TOOL].",
    ),
];

pub const PRICE: &[Field] = &[
    must("input", Shape::Money, "US dollars for a million tokens read."),
    may("cached_input", Shape::Money, "The same for tokens read from a cache; `input` without it."),
    may(
        "cache_write",
        Shape::Money,
        "The same for tokens written to a cache, where the service counts them; 1.25 times `input` without it.",
    ),
    must("output", Shape::Money, "The same for tokens written."),
];

pub const PROVIDER: &[Field] = &[
    must("kind", Shape::Word(PROVIDER_KINDS), "Which API it speaks."),
    may("base_url", Shape::Url, "Where it is, if not at its maker's."),
    may("key", Shape::Secret, "The key: { env = \"NAME\" } or { file = \"PATH\" }."),
    may("headers", Shape::TextMap, "More headers of each request; secrets by { env } or { file }."),
    may(
        "prices",
        Shape::NumberTables(PRICE),
        "What its models cost, by model; a name that ends in `*` stands for all that begin so.",
    ),
    may("connect_timeout", Shape::Duration, "How long a connection may take to be made; 10s without it."),
    may("first_byte_timeout", Shape::Duration, "How long an answer may take to begin; 60s without it."),
    may("idle_timeout", Shape::Duration, "How long an answer may say nothing; 60s without it."),
    may("total_timeout", Shape::Duration, "How long a whole answer may take; 30m without it."),
    may("ca_file", Shape::Text, "Certificates (PEM) to trust instead of the system's."),
    may(
        "threads",
        Shape::Flag,
        "Whether an Anthropic service holds message threads; true without it only at Anthropic's own address.",
    ),
];

pub const POLICY: &[Field] = &[
    may("allow", Shape::Texts, "Tools that run without a question; `*` stands for anything."),
    may("ask", Shape::Texts, "Tools whose calls a person must agree to; beats allow."),
    may("deny", Shape::Texts, "Tools that never run; beats all."),
];

pub const HOOK_POINTS: &[&str] =
    &["user_prompt_submit", "pre_tool_use", "post_tool_use", "post_tool_failure", "stop"];

pub const HOOK: &[Field] = &[
    must("name", Shape::Text, "How events name it."),
    must("points", Shape::Words(HOOK_POINTS), "When it is asked."),
    may("agents", Shape::Texts, "Agents for whose turns it is asked; all without it."),
    may(
        "tools",
        Shape::Texts,
        "Tools about whose calls it is asked; `*` stands for anything; all without it.",
    ),
    may(
        "command",
        Shape::Texts,
        "A program that reads the question as JSON and writes its answer. No shell.",
    ),
    may("url", Shape::Url, "Where the question is posted to, if there is no program."),
    may("headers", Shape::TextMap, "Headers of that request; secrets by { env } or { file }."),
    may("env", Shape::TextMap, "Variables of the program; secrets by { env } or { file }."),
    may("cwd", Shape::Text, "Where the program runs."),
    may("timeout", Shape::Duration, "How long an answer may take; 10s without it."),
    may("output_bytes", Shape::Count, "How long an answer may be; 1048576 without it."),
    may(
        "on_failure",
        Shape::Word(&["block", "allow"]),
        "What no usable answer means: `block` before an input or a call, else `allow`, without it.",
    ),
    may("allow_hosts", Shape::Texts, "Hosts that may be asked though they are private or without TLS."),
];

pub const GUARDRAIL_CHECKS: &[&str] = &["input", "output", "tool_call", "tool_result"];

pub const GUARDRAIL: &[Field] = &[
    must("name", Shape::Text, "How a refusal names it."),
    must("checks", Shape::Words(GUARDRAIL_CHECKS), "What it looks at."),
    may("agents", Shape::Texts, "Agents whose turns it looks at; all without it."),
    may(
        "tools",
        Shape::Texts,
        "Tools whose calls and results it looks at; `*` stands for anything; all without it.",
    ),
    may("deny", Shape::Texts, "Regular expressions; what one of them finds is refused."),
    may("max_characters", Shape::Count, "More characters than these are refused."),
    may("reason", Shape::Text, "What is said when `deny` or `max_characters` refuses."),
    may(
        "command",
        Shape::Texts,
        "A program that reads the question as JSON and writes its answer. No shell.",
    ),
    may("url", Shape::Url, "Where the question is posted to, if there is no program."),
    may("headers", Shape::TextMap, "Headers of that request; secrets by { env } or { file }."),
    may("env", Shape::TextMap, "Variables of the program; secrets by { env } or { file }."),
    may("cwd", Shape::Text, "Where the program runs."),
    may("timeout", Shape::Duration, "How long an answer may take; 10s without it."),
    may("output_bytes", Shape::Count, "How long an answer may be; 1048576 without it."),
    may("allow_hosts", Shape::Texts, "Hosts that may be asked though they are private or without TLS."),
];

pub const TENANT: &[Field] = &[
    may(
        "sessions",
        Shape::Whole,
        "Sessions; 0 is no limit, and without it `limits.sessions_per_tenant` holds.",
    ),
    may(
        "stored_bytes",
        Shape::Quota,
        "Events and blobs; 0 is no limit, and without it `limits.stored_bytes_per_tenant` holds.",
    ),
    may(
        "running_turns",
        Shape::Whole,
        "Turns at work at a time; 0 is no limit, and without it `limits.running_turns_per_tenant` holds.",
    ),
    may(
        "streams",
        Shape::Whole,
        "Open streams; 0 is no limit, and without it `limits.streams_per_tenant` holds.",
    ),
    may(
        "events_per_second",
        Shape::Whole,
        "Events per second; 0 is no limit, and without it `limits.events_per_second` holds.",
    ),
    may(
        "new_sessions_per_second",
        Shape::Whole,
        "New sessions per second; 0 is no limit, and without it `limits.new_sessions_per_second` holds.",
    ),
    may(
        "upload_bytes_per_second",
        Shape::Quota,
        "Bytes of blobs per second; 0 is no limit, and without it `limits.upload_bytes_per_second` holds.",
    ),
];

pub const SCRIPTS: &[Field] =
    &[may("files", Shape::Texts, "Scenarios beside the built-in ones; each is named as its file.")];

pub const DECLARED: &[Section] = &[
    Section { name: "agents", form: Form::Named, fields: AGENT, about: "Agents, each as [agents.NAME]." },
    Section { name: "tools", form: Form::Named, fields: TOOL, about: "Tools, each as [tools.NAME]." },
    Section { name: "mcp", form: Form::Named, fields: MCP, about: "MCP servers, each as [mcp.NAME]." },
    Section {
        name: "hooks",
        form: Form::List,
        fields: HOOK,
        about: "Hooks, each as [[hooks]], asked in their order.",
    },
    Section {
        name: "guardrails",
        form: Form::List,
        fields: GUARDRAIL,
        about: "Guardrails, each as [[guardrails]], asked in their order.",
    },
    Section {
        name: "providers",
        form: Form::Named,
        fields: PROVIDER,
        about: "Model services, each as [providers.NAME].",
    },
    Section {
        name: "routes",
        form: Form::Plain,
        fields: &[],
        about: "Names under which models with their fallbacks, or an agent, can be asked for.",
    },
    Section { name: "policy", form: Form::Plain, fields: POLICY, about: "Which tools may run." },
    Section { name: "scripts", form: Form::Plain, fields: SCRIPTS, about: "Scenarios of one's own." },
    Section {
        name: "tenants",
        form: Form::Named,
        fields: TENANT,
        about: "Quotas of single tenants, each as [tenants.NAME].",
    },
];
