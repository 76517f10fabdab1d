//! Runs the examples on folders of their own, and sees that they do what they say.

#![allow(clippy::unwrap_used, clippy::expect_used)]
// Each has a `main` of its own, which only its own program calls.
#![allow(dead_code)]

#[path = "../examples/counter.rs"]
mod counter;
#[path = "../examples/ledger.rs"]
mod ledger;
#[path = "../examples/subscription.rs"]
mod subscription;

use ledger::{Ledger, Transfer, TransferError};
use scripta_events::log::{AppendError, EventLog as _};
use scripta_events::segment::{Options, SegmentLog, backup};
use scripta_events::{OperationId, Position, Revision};
use subscription::{follow, sell};
use tempfile::tempdir;

#[tokio::test]
async fn the_counter_goes_on_where_it_was_and_reads_its_first_release() {
    let folder = tempdir().unwrap();
    // One event of the first release, then ours.
    assert_eq!(counter::count(folder.path(), 2).await.unwrap(), 3);
    assert_eq!(counter::count(folder.path(), 5).await.unwrap(), 8);
}

#[tokio::test]
async fn a_transfer_happens_whole_and_once_across_a_reopening() {
    let folder = tempdir().unwrap();
    let ledger = Ledger::open(folder.path()).await.unwrap();
    let (from, to) =
        (ledger.open_account(100).await.unwrap(), ledger.open_account(0).await.unwrap());
    let (operation, order) = (OperationId::random(), Transfer { from, to, cents: 70 });
    let first = ledger.transfer(operation, order).await.unwrap();
    assert_eq!((first.replayed, first.events), (false, 2));
    ledger.log.close().await.unwrap();
    drop(ledger);

    let ledger = Ledger::open(folder.path()).await.unwrap();
    // The balance of today would not allow it; it was done when it did.
    let again = ledger.transfer(operation, order).await.unwrap();
    assert_eq!((again.replayed, again.position), (true, first.position));
    assert_eq!(ledger.balance(from).await.unwrap(), (30, Revision(3)));
    assert_eq!(ledger.balance(to).await.unwrap(), (70, Revision(3)));
    let other = Transfer { cents: 1, ..order };
    let reused = ledger.transfer(operation, other).await.unwrap_err();
    let reused = matches!(reused, TransferError::Append(AppendError::OperationReused { .. }));
    assert!(reused);
}

#[tokio::test]
async fn a_transfer_that_must_not_be_writes_nothing() {
    let folder = tempdir().unwrap();
    let ledger = Ledger::open(folder.path()).await.unwrap();
    let (from, to) =
        (ledger.open_account(10).await.unwrap(), ledger.open_account(0).await.unwrap());
    let head = *ledger.log.head().borrow();
    let overdrawn = Transfer { from, to, cents: 11 };
    let refused = ledger.transfer(OperationId::random(), overdrawn).await.unwrap_err();
    assert!(matches!(refused, TransferError::Overdrawn { balance: 10, cents: 11 }), "{refused}");
    let nobody = ledger::Account(uuid::Uuid::nil());
    let lost = Transfer { from, to: nobody, cents: 1 };
    let refused = ledger.transfer(OperationId::random(), lost).await.unwrap_err();
    assert!(matches!(refused, TransferError::NoSuchAccount), "{refused}");
    assert_eq!(*ledger.log.head().borrow(), head);

    ledger.close().await.unwrap();
    let late = Transfer { from, to, cents: 1 };
    let refused = ledger.transfer(OperationId::random(), late).await.unwrap_err();
    assert!(matches!(refused, TransferError::LedgerClosed), "{refused}");
    assert_eq!(ledger.balance(from).await.unwrap().0, 10);
}

/// Many at once: each decides again until the money is gone, and none is paid twice.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn transfers_at_once_never_overdraw() {
    let folder = tempdir().unwrap();
    let ledger = std::sync::Arc::new(Ledger::open(folder.path()).await.unwrap());
    let (from, to) = (ledger.open_account(3).await.unwrap(), ledger.open_account(0).await.unwrap());
    let transfers = (0..5).map(|_| {
        let ledger = ledger.clone();
        let order = Transfer { from, to, cents: 1 };
        tokio::spawn(async move { ledger.transfer(OperationId::random(), order).await })
    });
    let mut paid = 0;
    for transfer in transfers.collect::<Vec<_>>() {
        match transfer.await.unwrap() {
            Ok(_) => paid += 1,
            Err(TransferError::Overdrawn { balance: 0, cents: 1 }) => {}
            Err(error) => panic!("{error}"),
        }
    }
    assert_eq!(paid, 3);
    assert_eq!(ledger.balance(from).await.unwrap().0, 0);
    assert_eq!(ledger.balance(to).await.unwrap().0, 3);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_subscription_goes_from_history_to_live_and_resumes() {
    let folder = tempdir().unwrap();
    let checkpoint = folder.path().join("takings");
    let (log, _) = SegmentLog::open(folder.path(), Options::default()).unwrap();
    sell(&log, 3).await.unwrap();
    let selling = tokio::spawn({
        let log = log.clone();
        async move { sell(&log, 2).await }
    });
    let takings = follow(&log, &checkpoint, 5).await.unwrap();
    selling.await.unwrap().unwrap();
    // 1 + 2 + 3 of history, 1 + 2 live; each sale is the second of two events.
    assert_eq!((takings.sales, takings.cents, takings.position), (5, 9, Position(10)));
    log.close().await.unwrap();
    drop(log);

    let (log, _) = SegmentLog::open(folder.path(), Options::default()).unwrap();
    sell(&log, 1).await.unwrap();
    let takings = follow(&log, &checkpoint, 1).await.unwrap();
    assert_eq!((takings.sales, takings.cents, takings.position), (6, 10, Position(12)));
    // A checkpoint of another log is not believed.
    let other = scripta_events::log::memory::MemoryLog::new();
    sell(&other, 1).await.unwrap();
    let begun = follow(&other, &checkpoint, 1).await.unwrap();
    assert_eq!((begun.sales, begun.position), (1, Position(2)));
}

#[tokio::test]
async fn a_subscription_begins_again_when_an_older_backup_took_the_place_of_its_log() {
    let (folder, copy) = (tempdir().unwrap(), tempdir().unwrap());
    let checkpoint = folder.path().join("takings");
    let (log, _) = SegmentLog::open(folder.path(), Options::default()).unwrap();
    sell(&log, 1).await.unwrap();
    backup(folder.path(), copy.path(), &mut |_, _| {}).unwrap();
    sell(&log, 2).await.unwrap();
    assert_eq!(follow(&log, &checkpoint, 3).await.unwrap().position, Position(6));

    let (older, _) = SegmentLog::open(copy.path(), Options::default()).unwrap();
    assert_eq!(older.id(), log.id());
    let takings = follow(&older, &checkpoint, 1).await.unwrap();
    assert_eq!((takings.sales, takings.position), (1, Position(2)));
}
