//! A simulator that drives the log's own core over a simulated disk, from a seed.
//!
//! [`run`] makes random histories: groups of commits of many writers over several streams, right
//! and wrong expectations, repeats, misused operation ids, idle marks, seals, closes, killed
//! processes, power cuts at any step, failing writes and syncs, a full disk. After each it opens
//! the log again and compares all of it with a model of what was acknowledged:
//!
//! * every acknowledged commit is there, once, at its positions;
//! * a commit that was not acknowledged is there whole or not at all, and no other is;
//! * positions and revisions have no gaps, receipts answer as they did at first;
//! * refusals were right when they were given.

mod disk;
mod model;
mod workload;
mod world;

#[cfg(test)]
pub(crate) use disk::FREE_BYTES;
pub use disk::{Breakage, Fault, SimDisk, SimFile};
pub use world::{Failure, Plan, Summary, run, shorten};

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used)]

    use super::*;

    #[test]
    fn random_histories_keep_what_was_acknowledged() {
        for seed in 0..60 {
            let plan = Plan { seed, cuts: 50, ..Plan::default() };
            run(&plan, &mut |_| {}).unwrap_or_else(|failure| panic!("{failure}"));
        }
    }

    #[test]
    fn a_seed_reproduces() {
        let plan = Plan { seed: 7, cuts: 100, ..Plan::default() };
        let first = run(&plan, &mut |_| {}).unwrap();
        assert_eq!(run(&plan, &mut |_| {}).unwrap(), first);
    }

    #[test]
    fn a_disk_that_does_not_sync_is_noticed() {
        let broken = Breakage { no_sync: true, ..Breakage::default() };
        let plan = Plan { seed: 1, cuts: 2_000, broken };
        run(&plan, &mut |_| {}).unwrap_err();
    }

    #[test]
    fn a_folder_that_does_not_sync_is_noticed() {
        let broken = Breakage { no_folder_sync: true, ..Breakage::default() };
        let plan = Plan { seed: 1, cuts: 2_000, broken };
        run(&plan, &mut |_| {}).unwrap_err();
    }
}
