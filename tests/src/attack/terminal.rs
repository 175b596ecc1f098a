//! Calls whose arguments look like others on a terminal.

use anyhow::{Context, Result, ensure};

use super::Case;
use crate::crash::runner::world::World;
use crate::crash::{Program, Server};

pub const CASES: &[Case] = &[Case { name: "terminal/nothing-invisible-is-approved", run: nothing_invisible }];

/// `Default_Ignorable_Code_Point` of Unicode 16.0, the tags and variation selectors cut short, then controls, format
/// characters, separators, spaces, private and unassigned code points, and symbols that are drawn as nothing.
const HIDDEN: &[(u32, u32)] = &[
    (0xAD, 0xAD),
    (0x34F, 0x34F),
    (0x61C, 0x61C),
    (0x115F, 0x1160),
    (0x17B4, 0x17B5),
    (0x180B, 0x180F),
    (0x200B, 0x200F),
    (0x202A, 0x202E),
    (0x2060, 0x206F),
    (0x3164, 0x3164),
    (0xFE00, 0xFE0F),
    (0xFEFF, 0xFEFF),
    (0xFFA0, 0xFFA0),
    (0xFFF0, 0xFFFB),
    (0x1BCA0, 0x1BCA3),
    (0x1D173, 0x1D17A),
    (0xE0001, 0xE007F),
    (0xE0100, 0xE01EF),
    (0x1, 0x1F),
    (0x7F, 0xA0),
    (0x1680, 0x1680),
    (0x2000, 0x200A),
    (0x2028, 0x2029),
    (0x202F, 0x202F),
    (0x205F, 0x205F),
    (0x2800, 0x2800),
    (0x3000, 0x3000),
    (0xE000, 0xE003),
    (0x378, 0x379),
];

fn nothing_invisible(program: &Program) -> Result<()> {
    let hidden: Vec<char> =
        HIDDEN.iter().flat_map(|(first, last)| *first..=*last).filter_map(char::from_u32).collect();
    let text: String = hidden.iter().map(|c| format!("x{c}")).collect();
    // Escapes of JSON: the server and the command read the characters themselves.
    let escaped: String = text.encode_utf16().map(|unit| format!("\\u{unit:04x}")).collect();
    let scenario = format!(
        "[[step]]\nwhen = {{ results = 1 }}\nplay = [ {{ text = {{ pieces = [\"over\"] }} }} ]\n\
         [[step]]\nplay = [ {{ call = {{ name = \"wipe\", arguments = ['{{\"path\":\"{escaped}\"}}'] }} }} ]\n"
    );
    let more = "[agents.hider]\nmodel = \"scripted/hide\"\ntools = [\"wipe\"]\n";
    let world = World::with(program, "attack-terminal", more, &[("hide.toml", &scenario)])?;
    let (_server, _) = Server::start(&world.program, &world.place)?;
    world.place.create_session("s")?;
    world.submit("s", "t", "hider")?;
    world.wait_actions("s", 1)?;
    let mut command = program.command(&["approve", "-"]);
    command.env("RIVERRUN_URL", format!("http://{}", world.place.address));
    command.env("RIVERRUN_KEY", world.place.key()?);
    let output = command.output().context("approving")?;
    let shown = String::from_utf8_lossy(&output.stderr).into_owned();
    ensure!(output.status.success(), "approving: {} {shown}", output.status);
    for c in hidden {
        let is_line_end = c == '\n';
        ensure!(is_line_end || !shown.contains(c), "U+{:04X} is not spelled out: {shown}", u32::from(c));
        let spelled = format!("\\u{{{:x}}}", u32::from(c));
        // JSON has its own escapes for controls.
        ensure!(
            c.is_ascii_control() || shown.contains(&spelled),
            "U+{:04X} is not shown at all: {shown}",
            u32::from(c)
        );
    }
    world.finish("s", &["t"])?;
    Ok(())
}
