use riverrun_provider::Price;

use crate::cli::config::file;

fn complaints(text: &str) -> Vec<String> {
    file::read(text).err().unwrap_or_default().iter().map(ToString::to_string).collect()
}

#[test]
fn routes_have_names_of_their_own_and_lead_somewhere() {
    let agents = "[agents.helper]\nmodel = \"scripted/text\"\n[routes]\n";
    let check = |route: &str, expected: &[&str]| {
        assert_eq!(complaints(&format!("{agents}{route}\n")), expected, "{route}");
    };
    for good in [
        "\"gpt-4o\" = [\"agent/helper\"]",
        "\"gpt-4.1\" = \"scripted/text\"",
        "\"claude-*\" = \"scripted/*\"",
        "\"meta/llama-3\" = [\"scripted/text\", \"scripted/tool\"]",
        "\"*\" = \"agent/helper\"",
    ] {
        check(good, &[]);
    }
    check(
        "helper = \"scripted/text\"",
        &["4:1: `helper` is the name of an agent too, which would hide the route; rename one of them"],
    );
    check(
        "\"scripted/x\" = \"scripted/text\"",
        &[
            "4:1: `scripted/x`: names that begin with `scripted/` are models of the provider `scripted`; leave it out",
        ],
    );
    check("\"a*b\" = \"scripted/text\"", &["4:1: `a*b`: a `*` stands once, at the end of a route's name"]);
    check("x = \"agent/helpr\"", &["4:5: there is no agent `helpr`; did you mean `helper`?"]);
    check(
        "x = [\"agent/helper\", \"scripted/text\"]",
        &["4:6: `agent/helper` has models and fallbacks of its own; name it alone"],
    );
    check(
        "x = \"scripted/*\"",
        &[
            "4:5: `scripted/*` stands for the model that is asked for; name the model, or end the route's name with `*`",
        ],
    );
    let by_agent =
        "[agents.a]\nmodel = \"x\"\n[agents.b]\nmodel = \"scripted/text\"\n[routes]\nx = \"agent/b\"\n";
    assert_eq!(complaints(by_agent), ["2:9: the route `x` leads to an agent; an agent needs a model"]);
}

#[test]
fn an_agent_may_have_the_name_of_a_model() {
    let agent = |name: &str| format!("[agents.\"{name}\"]\nmodel = \"scripted/text\"\n");
    assert_eq!(complaints(&agent("gpt-4.1")), [""; 0]);
    for bad in [".a", "a.", "a..b", "a/b", "a b"] {
        let expected =
            format!("1:9: `{bad}` is no name: use letters, digits, `-` and `_`, and dots between them");
        assert_eq!(complaints(&agent(bad)), [expected]);
    }
    let called =
        format!("{}[agents.a]\nmodel = \"scripted/text\"\nsubagents = [\"gpt-4.1\"]\n", agent("gpt-4.1"));
    let what = "5:14: `gpt-4.1` has a dot in its name, so that no model can call it; name the agent without one and \
                give it the other name under [routes]";
    assert_eq!(complaints(&called), [what]);
}

#[test]
fn a_good_file_declares_what_it_says() {
    let text = r#"
[providers.openai]
kind = "openai"
key = { env = "OPENAI_API_KEY" }
[providers.openai.prices]
"gpt" = { input = 2.5, cache_write = 3, output = 10 }

[routes]
fast = ["openai/gpt", "scripted/text"]

[agents.researcher]
model = "fast"
instructions = { file = "prompts/researcher.md" }
tools = ["weather", "mcp:fs"]
subagents = ["scout"]
limits = { steps = 20, cost = 0.5, action_timeout = "10m" }
references = { marker = "result", subagents = "all", explain = true }

[agents.scout]
model = ["scripted/text"]
references = "off"

[tools.weather]
references = "all"
command = ["./weather", "{city}"]
env = { TOKEN = { env = "WEATHER_TOKEN" }, LANG = "en" }
timeout = "20s"
approval = "never"
read_only = true

[mcp.fs]
command = ["mcp-fs", "/tmp"]

[policy]
deny = ["rm_*"]

[scripts]
files = ["own.toml"]
"#;
    let declared = file::read(text).expect("valid").declared;
    let names: Vec<&str> = declared.agents.iter().map(|agent| agent.name.text.as_str()).collect();
    assert_eq!(names, ["researcher", "scout"]);
    assert_eq!(declared.agents[0].limits.steps, Some(20));
    let references = &declared.agents[0].references;
    let words = (references.marker.as_deref(), references.subagents.as_deref(), references.explain);
    assert_eq!(words, (Some("result"), Some("all"), true));
    assert_eq!((&references.mode, declared.agents[1].references.mode.as_deref()), (&None, Some("off")));
    assert_eq!(declared.tools[0].references.as_deref(), Some("all"));
    let price = Price { input: 2.5, cached_input: None, cache_write: Some(3.0), output: 10.0 };
    assert_eq!(declared.providers[0].prices, [("gpt".to_owned(), price)]);
    assert_eq!(declared.policy.deny[0].text, "rm_*");
    assert_eq!(declared.scripts[0].text, "own.toml");
}

#[test]
fn every_mistake_is_named_with_its_place_and_what_was_meant() {
    for (text, expected) in [
        (
            "[agents.a]\nmodle = \"scripted/text\"\n",
            &[
                "1:1: `model` is missing in [agents.a]",
                "2:1: unknown key `modle` in [agents.a]; did you mean `model`?",
            ][..],
        ),
        (
            "[agents.a]\nmodel = \"opena/x\"\n[providers.openai]\nkind = \"openai\"\n",
            &["2:9: there is no provider `opena`; did you mean `openai`?"],
        ),
        (
            "[agents.a]\nmodel = \"openai/x\"\n",
            &["2:9: there is no provider `openai`; declare it: [providers.openai]"],
        ),
        ("[agents.a]\nmodel = \"text\"\n", &["2:9: `text` is no route and no model; write PROVIDER/MODEL"]),
        (
            "[agents.a]\nmodel = \"scripted/text\"\ntools = [\"wether\"]\n[tools.weather]\ncommand = [\"w\"]\n",
            &["3:10: there is no tool `wether`; did you mean `weather`?"],
        ),
        (
            "[agents.a]\nmodel = \"scripted/text\"\nsubagents = [\"b\", \"a\"]\n",
            &["3:14: there is no agent `b`; did you mean `a`?", "3:19: agent `a` names itself"],
        ),
        (
            "[agents.a]\nmodel = \"scripted/text\"\ntools = [\"mcp:files\"]\n",
            &["3:10: there is no MCP server `files`; none is declared"],
        ),
        (
            "[agents.a]\nmodel = \"scripted/text\"\nlimits = { stepps = 3 }\n",
            &["3:12: unknown key `stepps` in [agents.a] limits; did you mean `steps`?"],
        ),
        (
            "[agents.a]\nmodel = \"scripted/text\"\nreferences = { marker = \"reslt\" }\n",
            &["3:25: marker: `reslt` is not one of item, result; did you mean `result`?"],
        ),
        (
            "[providers.p]\nkind = \"opena\"\n",
            &[
                "2:8: kind: `opena` is not one of openai, openai-chat, anthropic, gemini; did you mean `openai`?",
            ],
        ),
        (
            "[providers.p]\nkind = \"openai\"\nkey = \"sk-live-secret\"\n",
            &[
                "3:7: key: a key does not belong in this file; write { env = \"NAME\" } or { file = \"PATH\" }",
            ],
        ),
        (
            "[tools.t]\ndescription = \"x\"\n",
            &["1:8: [tools.t] says not what it is: give `command`, `url`, `function` or `client = true`"],
        ),
        (
            "[tools.t]\ncommand = [\"a\"]\nurl = \"https://x\"\n",
            &["1:8: [tools.t] has command and url: give one of them"],
        ),
        (
            "[tools.t]\nfunction = \"serch\"\n",
            &["2:12: there is no built-in function `serch`; did you mean `search`?"],
        ),
        (
            "[[hooks]]\nname = \"h\"\npoints = [\"pre_tool\"]\ncommand = [\"h\"]\n",
            &["3:10: points: `pre_tool` is not one of user_prompt_submit, pre_tool_use, post_tool_use, \
                 post_tool_failure, stop; did you mean `pre_tool_use`?"],
        ),
        (
            "[[hooks]]\nname = \"h\"\npoints = [\"stop\"]\ncomand = [\"h\"]\n",
            &[
                "1:1: hook `h` needs `command` or `url`, and not both",
                "4:1: unknown key `comand` in [[hooks]]; did you mean `command`?",
            ],
        ),
        (
            "[[hooks]]\nname = \"h\"\npoints = [\"stop\"]\ncommand = [\"h\"]\non_failure = \"blok\"\n",
            &["5:14: on_failure: `blok` is not one of block, allow; did you mean `block`?"],
        ),
        (
            "[[hooks]]\nname = \"h\"\npoints = [\"stop\"]\nurl = \"https://x\"\nheaders = { Authorization = \"Bearer sk-live-secret\" }\n",
            &[
                "5:11: headers: `Authorization`: a key does not belong in this file; write { env = \"NAME\" } or { file = \"PATH\" }",
            ],
        ),
        (
            "[tools.read]\ncommand = [\"r\"]\n[[hooks]]\nname = \"h\"\npoints = [\"pre_tool_use\"]\ncommand = [\"h\"]\ntools = [\"raed\"]\n[[hooks]]\nname = \"h\"\npoints = []\ncommand = [\"h\"]\n",
            &[
                "7:10: there is no tool `raed`; did you mean `read`?",
                "9:8: there are two hooks `h`; give one of them another name",
                "10:10: points: the list is empty; it may have user_prompt_submit, pre_tool_use, post_tool_use, \
                 post_tool_failure, stop",
            ],
        ),
        ("[hooks.h]\nname = \"h\"\n", &["1:2: `hooks` is a list: write [[hooks]]"]),
        ("[agnts.a]\nmodel = \"x\"\n", &["1:2: unknown section `agnts`; did you mean `agents`?"]),
        ("[policy]\ndenied = []\n", &["2:1: unknown key `denied` in [policy]; did you mean `deny`?"]),
        (
            "[agents.a]\nmodel = \"scripted/text\"\ntemperature = \"hot\"\n",
            &["3:15: temperature: wants a number from 0 to 2, not a text"],
        ),
        (
            "[agents.a]\nmodel = \"fast\"\n[routes]\nfast = [\"nobody/x\"]\n",
            &["4:9: there is no provider `nobody`; declare it: [providers.nobody]"],
        ),
        (
            "[agents.a]\nmodel = \"scripted/text\"\n[agents.b]\nmodel = \"scripted/text\"\nhandoffs = [\"c\"]\n",
            &["5:13: there is no agent `c`; did you mean `a`?"],
        ),
        (
            "[tools.w]\ncommand = [\"w\"]\n[tools.w]\ncommand = [\"w\"]\n",
            &["3:8: `w` is declared twice; keep one of the two"],
        ),
        (
            "[agents.a]\nmodel = \"scripted/text\"\ntools = [\"w\", \"w\"]\n[tools.w]\ncommand = [\"w\"]\n",
            &["3:15: `w` is in this list twice; once is enough"],
        ),
        (
            "[tools.t]\nurl = \"https://x\"\nheaders = { Authorization = \"Bearer sk-live-secret\" }\n",
            &[
                "3:11: headers: `Authorization`: a key does not belong in this file; write { env = \"NAME\" } or { file = \"PATH\" }",
            ],
        ),
        (
            "[mcp.m]\ncommand = [\"m\"]\nenv = { GITHUB_TOKEN = \"sk-live-secret\", LANG = \"en\" }\n",
            &[
                "3:7: env: `GITHUB_TOKEN`: a key does not belong in this file; write { env = \"NAME\" } or { file = \"PATH\" }",
            ],
        ),
        ("[agents.a\nmodel = 5\n", &["1:10: unclosed table, expected `]`"]),
        ("[agents.a]\nmodel = 5\n", &["2:9: model: wants a text or a list of texts, not a number"]),
        ("agents = 1\n", &["1:1: `agents` is a section: write [agents]"]),
    ] {
        assert_eq!(complaints(text), expected, "{text}");
    }
}

/// One line in a table, and what is said of its value.
fn said_of(table: &str, line: &str) -> Vec<String> {
    complaints(&format!("{table}\n{line}\n"))
}

#[test]
fn values_without_sense_are_refused() {
    let agent = "[agents.a]\nmodel = \"scripted/text\"";
    for (table, line, expected) in [
        ("[tools.t]", "url = \"not a url\"", "`not a url` is no address; write \"https://example.com/path\""),
        ("[tools.t]", "url = \"https://\"", "`https://` is no address; write \"https://example.com/path\""),
        ("[mcp.m]", "url = \"ftp://x\"", "`ftp://x` is no address; write \"https://example.com/path\""),
        (agent, "limits = { cost = -1 }", "cost: wants a number of dollars from 0 on, not -1"),
        (agent, "limits = { steps = 0 }", "steps: wants a whole number from 1 on, not 0"),
        (agent, "limits = { steps = 1.5 }", "steps: wants a whole number from 1 on, not a number"),
        (
            agent,
            "limits = { action_timeout = \"0s\" }",
            "action_timeout: `0s` is no time at all; give more, or leave it out",
        ),
        (agent, "temperature = 99", "temperature: wants a number from 0 to 2, not 99"),
        (
            agent,
            "output_schema = { type = \"objekt\" }",
            "output_schema: this is no valid JSON Schema at `/type`: ",
        ),
        (
            "[tools.t]\ncommand = [\"t\"]",
            "parameters = { type = \"objekt\" }",
            "parameters: this is no valid",
        ),
        (
            "[providers.p]\nkind = \"openai\"",
            "prices = { m = { input = -1, output = 2 } }",
            "input: wants a number of dollars from 0 on, not -1",
        ),
        ("[providers.p]\nkind = \"openai\"", "base_url = \"nowhere\"", "base_url: `nowhere` is no address"),
        (
            "[providers.p]\nkind = \"openai\"",
            "base_url = \"https://me:hunter2@x.example/\"",
            "base_url: `…@x.example/` holds a user or password",
        ),
        (
            "[tools.t]\ncommand = [\"t\"]",
            "limits = { memory = \"64MB\" }",
            "memory: `64MB` is not a size such as 65536, 256KiB or 1MiB",
        ),
        (
            "[tools.t]\ncommand = [\"t\"]",
            "limits = { file_size = 0 }",
            "file_size: wants at least one byte; leave it out for no limit",
        ),
        (
            "[mcp.m]\ncommand = [\"m\"]",
            "limits = { open_file = 9 }",
            "unknown key `open_file` in [mcp.m] limits; did you mean `open_files`?",
        ),
        (
            agent,
            "limits = { on_action_timeout = \"approve\" }",
            "on_action_timeout: `approve` is not one of reject, fail",
        ),
        ("[routes]", "fast = []", "fast: the list is empty; name a model: PROVIDER/MODEL"),
    ] {
        let said = said_of(table, line);
        assert!(said.iter().any(|said| said.contains(expected)), "{line}: {said:?}");
    }
}

#[test]
fn what_would_do_nothing_is_refused() {
    for (text, expected) in [
        (
            "[tools.t]\ncommand = [\"t\"]\nmethod = \"GET\"\n",
            "3:10: `method` goes with `url`, which [tools.t] has not; remove it",
        ),
        (
            "[tools.t]\nurl = \"https://x\"\nlimits = { cpu = \"1s\" }\n",
            "3:10: `limits` goes with `command`, which [tools.t] has not; remove it",
        ),
        (
            "[tools.t]\nurl = \"https://x\"\ncwd = \"/\"\n",
            "3:7: `cwd` goes with `command`, which [tools.t] has not; remove it",
        ),
        (
            "[tools.t]\nfunction = \"search\"\nparameters = { type = \"object\" }\n",
            "3:14: `parameters` goes with `command`, `url` or `client`, which [tools.t] has not; remove it",
        ),
        (
            "[mcp.m]\nurl = \"https://x\"\nenv = { A = \"b\" }\n",
            "3:7: `env` goes with `command`, which [mcp.m] has not; remove it",
        ),
        (
            "[[hooks]]\nname = \"h\"\npoints = [\"stop\"]\ncommand = [\"h\"]\nheaders = { A = \"b\" }\n",
            "5:11: `headers` goes with `url`, which hook `h` has not; remove it",
        ),
        (
            "[agents.a]\nmodel = \"scripted/text\"\ntools = [\"b\"]\nsubagents = [\"b\"]\n[agents.b]\nmodel = \
             \"scripted/text\"\n[tools.b]\ncommand = [\"b\"]\n",
            "4:14: `b` is a tool of this agent too, and would hide the agent; rename one",
        ),
        (
            "[providers.p]\nkind = \"scripted\"\n",
            "1:12: scripts need no provider; remove [providers.p] and write `scripted/SCENARIO` for `p/SCENARIO`",
        ),
        (
            "[providers.scripted]\nkind = \"openai\"\n",
            "1:12: `scripted` is the provider of scripts; give yours another name",
        ),
    ] {
        assert_eq!(complaints(text), [expected], "{text}");
    }
}

#[test]
fn a_provider_s_settings_are_read() {
    let text = r#"
[providers.local]
kind = "openai-chat"
base_url = "https://models.example.com/v1"
headers = { "X-Team" = "blue", Authorization = { env = "GATEWAY_TOKEN" } }
connect_timeout = "2s"
first_byte_timeout = "5m"
idle_timeout = "90s"
total_timeout = "1h"
ca_file = "ca.pem"
"#;
    let provider = file::read(text).expect("valid").declared.providers.remove(0);
    let seconds = |time: Option<std::time::Duration>| time.expect("said").as_secs();
    let patience = provider.patience;
    let all = [patience.connect, patience.first_byte, patience.idle, patience.total].map(seconds);
    assert_eq!(all, [2, 300, 90, 3600]);
    assert_eq!(provider.headers.len(), 2);
    assert_eq!(provider.ca_file.as_deref(), Some("ca.pem"));
}

#[test]
fn a_key_in_the_file_is_not_shown() {
    let shown = complaints("[providers.p]\nkind = \"openai\"\nkey = \"sk-live-secret\"\n").join("\n");
    assert!(!shown.contains("sk-live"), "{shown}");
}

/// A part of a file may name what stands in another part.
#[test]
fn what_the_guides_show_can_be_read() {
    let guides = [
        include_str!("../../../../../../docs/cli.md"),
        include_str!("../../../../../../docs/guides/hooks.md"),
        include_str!("../../../../../../docs/guides/guardrails.md"),
        include_str!("../../../../../../docs/reference/scripts.md"),
        include_str!("../../../../../../docs/tools.md"),
    ];
    let mut count = 0;
    for text in guides.iter().flat_map(|guide| guide.split("\n```toml\n").skip(1)) {
        let text = text.split("\n```").next().unwrap_or_default();
        let wrong: Vec<String> =
            complaints(text).into_iter().filter(|wrong| !wrong.contains("there is no ")).collect();
        assert_eq!(wrong, Vec::<String>::new(), "{text}");
        count += 1;
    }
    assert!(count >= 5, "{count}");
}

#[test]
fn an_mcp_server_s_name_cannot_be_taken_for_another_with_a_tool() {
    for name in ["a__b", "a_", "a__"] {
        let said = complaints(&format!("[mcp.{name}]\ncommand = [\"m\"]\n"));
        let expected = format!("1:6: `{name}` is no name for an MCP server: `__` stands between");
        assert!(said.iter().any(|said| said.contains(&expected)), "{said:?}");
    }
    assert_eq!(complaints("[mcp._a_b]\ncommand = [\"m\"]\n"), Vec::<String>::new());
}

#[test]
fn an_address_that_no_call_may_reach_is_told_with_what_allows_it() {
    let hook = "[[hooks]]\nname = \"h\"\npoints = [\"stop\"]";
    let rail = "[[guardrails]]\nname = \"g\"\nchecks = [\"input\"]";
    for table in ["[mcp.m]", "[tools.t]", hook, rail] {
        for (url, expected) in [
            (
                "https://10.0.0.1/",
                "url: `10.0.0.1` is not public and is not reached; if that is meant, write allow_hosts = [\"10.0.0.1\"]",
            ),
            (
                "http://10.0.0.1:80/x",
                "url: `10.0.0.1` is not public and is not reached; if that is meant, write allow_hosts = [\"10.0.0.1\"]",
            ),
            (
                "https://[::1]:8443/",
                "url: `::1` is not public and is not reached; if that is meant, write allow_hosts = [\"::1\"]",
            ),
            (
                "https://LocalHost/",
                "url: `localhost` is not public and is not reached; if that is meant, write allow_hosts = [\"localhost\"]",
            ),
            (
                "http://example.com/",
                "url: `example.com` is not reached without TLS; write https://, or allow_hosts = [\"example.com\"]",
            ),
        ] {
            let place = table.lines().count() + 1;
            assert_eq!(said_of(table, &format!("url = \"{url}\"")), [format!("{place}:7: {expected}")]);
            let host = expected.rsplit('"').nth(1).unwrap();
            let allowed = format!("url = \"{url}\"\nallow_hosts = [\"{host}\"]");
            assert_eq!(said_of(table, &allowed), [""; 0], "what it says helps");
        }
        assert_eq!(said_of(table, "url = \"https://example.com/a\""), [""; 0]);
    }
    assert_eq!(said_of("[tools.t]", "url = \"https://example.com/{city}\""), [""; 0]);
    let ollama = "[providers.p]\nkind = \"openai-chat\"";
    assert_eq!(said_of(ollama, "base_url = \"http://127.0.0.1:11434/v1\""), [""; 0], "a model at home");
}
