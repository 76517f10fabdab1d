//! The table that a measurement prints.

use std::path::Path;

use anyhow::Context as _;
use serde::Serialize;

/// One row: what was measured, and against what, if anything.
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
    pub reference: Option<f64>,
    /// Scripta's by the alternative's: the median of the rounds' ratios.
    pub ratio: Option<f64>,
    /// What to reach, if there is such a thing.
    pub target: Option<Target>,
}

/// What a row is to reach.
#[derive(Clone, Copy, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Target {
    /// At least this ratio.
    Ratio(f64),
    /// At most this ratio: for what should not grow.
    RatioAtMost(f64),
    /// At least this figure, whatever the alternative does.
    Figure(f64),
    /// At most this figure.
    FigureAtMost(f64),
}

/// One measurement of both in the same round.
pub struct Pair {
    pub scripta: f64,
    pub reference: f64,
}

impl Row {
    /// The row of several rounds.
    pub fn compared(
        what: impl Into<String>,
        unit: &'static str,
        against: impl Into<String>,
        target: Option<Target>,
        rounds: &[Pair],
    ) -> Row {
        Row {
            what: what.into(),
            unit,
            scripta: median(rounds.iter().map(|round| round.scripta)),
            against: against.into(),
            reference: Some(median(rounds.iter().map(|round| round.reference))),
            ratio: Some(median(rounds.iter().map(|round| round.scripta / round.reference))),
            target,
        }
    }

    fn is_reached(&self) -> Option<bool> {
        let ratio = self.ratio.unwrap_or(f64::NAN);
        self.target.map(|target| match target {
            Target::Ratio(least) => ratio >= least,
            Target::RatioAtMost(most) => ratio <= most,
            Target::Figure(least) => self.scripta >= least,
            Target::FigureAtMost(most) => self.scripta <= most,
        })
    }

    fn line(&self) -> String {
        let figure = |figure: f64| format!("{} {}", rounded(figure), self.unit);
        let target = self.target.map_or(String::new(), |target| match target {
            Target::Ratio(least) => format!("≥ {least} ×"),
            Target::RatioAtMost(most) => format!("≤ {most} ×"),
            Target::Figure(least) => format!("≥ {}", figure(least)),
            Target::FigureAtMost(most) => format!("≤ {}", figure(most)),
        });
        let reached = self.is_reached().map_or("", |reached| if reached { "yes" } else { "NO" });
        format!(
            "| {} | {} | {} | {} | {} | {target} | {reached} |",
            self.what,
            figure(self.scripta),
            self.against,
            self.reference.map_or(String::new(), figure),
            self.ratio.map_or(String::new(), |ratio| format!("{ratio:.2}")),
        )
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
    println!("| what | Scripta | against | reference | ratio | target | reached |");
    println!("|---|---|---|---|---|---|---|");
    rows.iter().for_each(|row| println!("{}", row.line()));
    if let Some(path) = json {
        let text = serde_json::to_string_pretty(rows)?;
        std::fs::write(path, text).with_context(|| format!("writing {}", path.display()))?;
    }
    Ok(())
}

fn rounded(figure: f64) -> String {
    if figure >= 100.0 { format!("{figure:.0}") } else { format!("{figure:.3}") }
}
