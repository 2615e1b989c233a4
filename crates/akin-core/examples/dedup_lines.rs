//! Copies standard input without the lines that nearly repeat an earlier line.
//!
//! ```sh
//! cargo run --release --example dedup_lines < input.txt > output.txt
//! ```

use std::io::{self, Write};

use akin_core::{Linkage, MatchSettings, deduplicate};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let lines: Vec<String> = io::stdin().lines().collect::<Result<_, _>>()?;
    let deduplicated = deduplicate(&lines, &MatchSettings::new(), Linkage::Representative)?;
    let mut kept = 0;
    let mut output = io::BufWriter::new(io::stdout().lock());
    for line in deduplicated.kept() {
        writeln!(output, "{}", lines[line])?;
        kept += 1;
    }
    output.flush()?;
    eprintln!("kept {kept} of {} lines", lines.len());
    Ok(())
}
