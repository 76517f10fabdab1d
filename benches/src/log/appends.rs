//! Durable appends: the raw disk, Scripta and the other stores, by turns.

use super::{Bench, ROUNDS};
use crate::load::{EVENT_BYTES, Load};
#[cfg(feature = "peers")]
use crate::peers::{self, Peer};
use crate::raw::Space;
use crate::table::{Pair, Row, Target, median};
use crate::{raw, store};

/// A row of the table, and what is to be reached in it.
struct Aim {
    writers: usize,
    events: usize,
    /// Of what the raw disk does.
    of_raw: f64,
    /// Of what the best of the other stores does.
    #[cfg_attr(not(feature = "peers"), expect(dead_code, reason = "they are not built in"))]
    of_peers: Option<f64>,
}

const AIMS: [Aim; 4] = [
    Aim { writers: 1, events: 1, of_raw: 0.7, of_peers: Some(1.0) },
    Aim { writers: 8, events: 1, of_raw: 0.8, of_peers: None },
    Aim { writers: 64, events: 1, of_raw: 0.5, of_peers: Some(1.5) },
    Aim { writers: 8, events: 100, of_raw: 0.8, of_peers: Some(2.0) },
];

/// The figures of a row, one a round.
#[derive(Default)]
struct Figures {
    scripta: Vec<f64>,
    raw: [Vec<f64>; Space::ALL.len()],
    #[cfg(feature = "peers")]
    peers: [Vec<f64>; Peer::ALL.len()],
}

impl Bench {
    pub fn appends(&self) -> anyhow::Result<Vec<Row>> {
        let mut rows = Vec::new();
        for aim in AIMS {
            let mut figures = Figures::default();
            for round in 0..ROUNDS {
                self.round(&aim, round, &mut figures)?;
            }
            figures.rows(&aim, &mut rows);
        }
        Ok(rows)
    }

    fn round(&self, aim: &Aim, round: usize, figures: &mut Figures) -> anyhow::Result<()> {
        let load = Load { writers: aim.writers, events: aim.events, time: self.time };
        let group = aim.writers * aim.events;
        for (space, rates) in Space::ALL.into_iter().zip(&mut figures.raw) {
            let raw = raw::append(self.folder.path(), space, group, EVENT_BYTES, self.time)?;
            rates.push(raw);
        }
        let folder = self.folder.path().join(format!("append-{round}"));
        figures.scripta.push(self.runtime.block_on(store::append(&folder, load))?);
        std::fs::remove_dir_all(&folder)?;
        #[cfg(feature = "peers")]
        for (peer, rates) in Peer::ALL.into_iter().zip(&mut figures.peers) {
            if aim.of_peers.is_none() {
                continue;
            }
            std::fs::create_dir(&folder)?;
            rates.push(self.runtime.block_on(peers::append(peer, &folder, load))?);
            std::fs::remove_dir_all(&folder)?;
        }
        Ok(())
    }
}

impl Figures {
    fn rows(&self, aim: &Aim, rows: &mut Vec<Row>) {
        let (writers, events) = (aim.writers, aim.events);
        let what = format!("durable append, writers: {writers}, events a commit: {events}");
        let raw = Space::ALL.map(Space::name).into_iter().zip(&self.raw);
        if let Some((space, best)) = best(raw) {
            let group = writers * events;
            let against = format!("write + fdatasync of {group} in the better, a {space}");
            rows.push(self.row(&what, against, Some(Target::Ratio(aim.of_raw)), best));
        }
        #[cfg(feature = "peers")]
        if let Some(target) = aim.of_peers {
            let peers = || Peer::ALL.map(Peer::name).into_iter().zip(&self.peers);
            for (name, rates) in peers() {
                rows.push(self.row(&what, name.to_owned(), None, rates));
            }
            if let Some((name, best)) = best(peers()) {
                let against = format!("the best of them, {name}");
                rows.push(self.row(&what, against, Some(Target::Ratio(target)), best));
            }
        }
    }

    fn row(&self, what: &str, against: String, target: Option<Target>, reference: &[f64]) -> Row {
        let rounds = self.scripta.iter().zip(reference);
        let rounds =
            rounds.map(|(scripta, reference)| Pair { scripta: *scripta, reference: *reference });
        Row::compared(what, "events/s", against, target, &rounds.collect::<Vec<_>>())
    }
}

/// The one with the greatest median.
fn best<'a>(
    candidates: impl Iterator<Item = (&'static str, &'a Vec<f64>)>,
) -> Option<(&'static str, &'a Vec<f64>)> {
    let of = |rates: &Vec<f64>| median(rates.iter().copied());
    candidates.max_by(|(_, one), (_, other)| of(one).total_cmp(&of(other)))
}
