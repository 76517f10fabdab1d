//! The table that a measurement prints.

use std::path::Path;

use anyhow::Context as _;
use serde::Serialize;

/// One row: what was measured, and against what.
#[derive(Serialize)]
pub struct Row {
    /// What.
    pub what: String,
    /// The unit of both figures.
    pub unit: &'static str,
    /// Median of Scripta's figures.
    pub scripta: f64,
    /// What it is compared with.
    pub against: String,
    /// Median of the alternative's figures.
    pub reference: f64,
    /// Scripta's by the alternative's: the median of the rounds' ratios.
    pub ratio: f64,
    /// The ratio to reach, if there is one.
    pub target: Option<f64>,
}

/// One measurement of both in the same round.
pub struct Pair {
    pub scripta: f64,
    pub reference: f64,
}

impl Row {
    /// The row of several rounds.
    pub fn of(
        what: impl Into<String>,
        unit: &'static str,
        against: impl Into<String>,
        target: Option<f64>,
        rounds: &[Pair],
    ) -> Row {
        Row {
            what: what.into(),
            unit,
            scripta: median(rounds.iter().map(|round| round.scripta)),
            against: against.into(),
            reference: median(rounds.iter().map(|round| round.reference)),
            ratio: median(rounds.iter().map(|round| round.scripta / round.reference)),
            target,
        }
    }
}

/// The median; NaN of nothing.
pub fn median(figures: impl Iterator<Item = f64>) -> f64 {
    let mut sorted: Vec<f64> = figures.collect();
    sorted.sort_by(f64::total_cmp);
    sorted.get(sorted.len() / 2).copied().unwrap_or(f64::NAN)
}

/// Prints the rows, and writes them to a file if one is named.
pub fn print(rows: &[Row], json: Option<&Path>) -> anyhow::Result<()> {
    println!("| what | Scripta | against | reference | ratio | target |");
    println!("|---|---|---|---|---|---|");
    for row in rows {
        let target = row.target.map_or(String::new(), |target| format!("≥ {target}"));
        println!(
            "| {} | {} {} | {} | {} {} | {:.2} | {target} |",
            row.what,
            rounded(row.scripta),
            row.unit,
            row.against,
            rounded(row.reference),
            row.unit,
            row.ratio,
        );
    }
    if let Some(path) = json {
        let text = serde_json::to_string_pretty(rows)?;
        std::fs::write(path, text).with_context(|| format!("writing {}", path.display()))?;
    }
    Ok(())
}

fn rounded(figure: f64) -> String {
    if figure >= 100.0 { format!("{figure:.0}") } else { format!("{figure:.3}") }
}
