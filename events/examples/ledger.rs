//! A bank's ledger: a transfer is one commit over the streams of two accounts.
//!
//! `cargo run -p scripta-events --example ledger -- FOLDER`
//!
//! The ledger is the root, since streams change together within one root only. A transfer names
//! the revision of the account that pays, because the decision rests on its balance, and checks
//! that the ledger is still open, without writing to it. Its operation id comes from whoever
//! asks: asked twice, it happens once.

use std::error::Error;
use std::path::{Path, PathBuf};

use futures::TryStreamExt as _;
use scripta_events::codec::{self, CodecError, DecodeError, Payload};
use scripta_events::log::{AppendError, Commit, EventLog as _, Expectation, ReadError, Receipt};
use scripta_events::segment::{Options, SegmentLog};
use scripta_events::{Category, Fingerprint, OperationId, Revision, RootId, StreamId};
use serde::{Deserialize, Serialize};
use uuid::Uuid;

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let folder = std::env::args_os().nth(1).map_or("ledger-log".into(), PathBuf::from);
    let ledger = Ledger::open(&folder).await?;
    let (alice, bob) = (ledger.open_account(100).await?, ledger.open_account(0).await?);

    let (operation, order) = (OperationId::random(), Transfer { from: alice, to: bob, cents: 30 });
    ledger.transfer(operation, order).await?;
    // The answer was lost on its way, so the caller asks again: nothing more happens.
    let again = ledger.transfer(operation, order).await?;
    assert!(again.replayed);

    let (alice, bob) = (ledger.balance(alice).await?.0, ledger.balance(bob).await?.0);
    println!("after the transfer, alice has {alice} and bob has {bob}");
    ledger.log.close().await?;
    Ok(())
}

/// A ledger with its accounts.
pub struct Ledger {
    /// Where it is kept.
    pub log: SegmentLog,
}

/// An account of the ledger.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Account(pub Uuid);

/// An order to move money.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Transfer {
    /// Who pays.
    pub from: Account,
    /// Who is paid.
    pub to: Account,
    /// How much.
    pub cents: u64,
}

/// Why a transfer did not happen.
#[derive(Debug, thiserror::Error)]
pub enum TransferError {
    /// The account has less than that.
    #[error("the account has {balance} and can't pay {cents}")]
    Overdrawn {
        /// What it has.
        balance: u64,
        /// What it should pay.
        cents: u64,
    },
    /// There is no such account.
    #[error("the account to be paid doesn't exist")]
    NoSuchAccount,
    /// The ledger takes no more transfers.
    #[error("the ledger is closed")]
    LedgerClosed,
    /// The log refused it for another reason.
    #[error(transparent)]
    Append(#[from] AppendError),
    /// The account can't be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// What happens can't be encoded.
    #[error(transparent)]
    Encode(#[from] CodecError),
    /// What happened can't be decoded.
    #[error(transparent)]
    Decode(#[from] DecodeError),
}

/// How often a transfer decides again when others move the paying account, before it gives up.
const ATTEMPTS: usize = 10;

impl Ledger {
    /// Opens the ledger in a folder, or makes one.
    pub async fn open(folder: &Path) -> Result<Ledger, Box<dyn Error>> {
        let (log, _) = SegmentLog::open(folder, Options::default())?;
        let opened = codec::encode_all(&[LedgerEvent::from(LedgerOpened {})])?;
        let commit = Commit::new(root()).append(ledger_stream(), Expectation::NoStream, opened);
        match log.append(commit).await {
            // It was there.
            Ok(_) | Err(AppendError::Conflict { .. }) => Ok(Ledger { log }),
            Err(error) => Err(error.into()),
        }
    }

    /// A new account with money in it.
    pub async fn open_account(&self, cents: u64) -> Result<Account, TransferError> {
        let account = Account(Uuid::now_v7());
        let events: [AccountEvent; 2] = [AccountOpened {}.into(), Deposited { cents }.into()];
        let commit = Commit::new(root())
            .append(account.stream(), Expectation::NoStream, codec::encode_all(&events)?)
            .check(ledger_stream(), still_open());
        self.log.append(commit).await?;
        Ok(account)
    }

    /// Moves money. The same operation id moves it once, however often it is asked.
    pub async fn transfer(
        &self,
        operation: OperationId,
        order: Transfer,
    ) -> Result<Receipt, TransferError> {
        let mut conflict = None;
        for _ in 0..ATTEMPTS {
            // 1. Was it done before? Then the balance of today doesn't matter.
            if let Some(first) = self.log.receipt(operation).await? {
                return match first.fingerprint == order.fingerprint() {
                    true => Ok(Receipt { replayed: true, ..first }),
                    false => Err(AppendError::OperationReused { operation }.into()),
                };
            }
            // 2. Load what the decision rests on, and decide.
            let (balance, revision) = self.balance(order.from).await?;
            if balance < order.cents {
                return Err(TransferError::Overdrawn { balance, cents: order.cents });
            }
            let withdrawn = [AccountEvent::from(Withdrawn { cents: order.cents })];
            let deposited = [AccountEvent::from(Deposited { cents: order.cents })];
            // 3. Append: both sides or neither, and only if all that it rests on still holds.
            let (from, to) = (order.from.stream(), order.to.stream());
            let commit = Commit::new(root())
                .once(operation, order.fingerprint())
                .append(from, Expectation::Exactly(revision), codec::encode_all(&withdrawn)?)
                .append(to, Expectation::Exists, codec::encode_all(&deposited)?)
                .check(ledger_stream(), still_open());
            match self.log.append(commit).await {
                Err(error @ AppendError::Conflict { stream, .. }) if stream == from => {
                    conflict = Some(error);
                }
                Err(AppendError::Conflict { stream, .. }) if stream == to => {
                    return Err(TransferError::NoSuchAccount);
                }
                Err(AppendError::Conflict { .. }) => return Err(TransferError::LedgerClosed),
                answer => return Ok(answer?),
            }
        }
        Err(conflict.unwrap_or(AppendError::Closed).into())
    }

    /// What an account has, and the revision at which it has it.
    pub async fn balance(&self, account: Account) -> Result<(u64, Revision), TransferError> {
        let mut events = self.log.read_stream(account.stream(), Revision::NONE);
        let (mut balance, mut revision) = (0, Revision::NONE);
        while let Some(event) = events.try_next().await? {
            match codec::decode(&event)? {
                AccountEvent::AccountOpened(_) => {}
                AccountEvent::Deposited(Deposited { cents }) => balance += cents,
                AccountEvent::Withdrawn(Withdrawn { cents }) => balance -= cents,
            }
            revision = event.revision;
        }
        Ok((balance, revision))
    }

    /// Ends the ledger: what comes later is refused.
    pub async fn close(&self) -> Result<(), TransferError> {
        let closed = codec::encode_all(&[LedgerEvent::from(LedgerClosed {})])?;
        let commit = Commit::new(root()).append(ledger_stream(), still_open(), closed);
        self.log.append(commit).await?;
        Ok(())
    }
}

impl Transfer {
    /// What was asked for, so that another order under the same operation id is told apart.
    fn fingerprint(&self) -> Fingerprint {
        let Transfer { from, to, cents } = self;
        Fingerprint::of(format!("transfer 1 {} {} {cents}", from.0, to.0).as_bytes())
    }
}

impl Account {
    fn stream(self) -> StreamId {
        StreamId { category: Category(0x7101), root: root(), id: self.0 }
    }
}

fn root() -> RootId {
    RootId(Uuid::from_u128(1))
}

fn ledger_stream() -> StreamId {
    StreamId { category: Category(0x7100), root: root(), id: root().0 }
}

/// It was opened, and nothing happened to it since.
fn still_open() -> Expectation {
    Expectation::Exactly(Revision(1))
}

scripta_events::events! {
    /// What happens to the ledger itself.
    #[derive(Clone, Debug, PartialEq)]
    enum LedgerEvent {
        0x7101 => LedgerOpened,
        0x7102 => LedgerClosed,
    }
}

scripta_events::events! {
    /// What happens to an account.
    #[derive(Clone, Debug, PartialEq)]
    enum AccountEvent {
        0x7111 => AccountOpened,
        0x7112 => Deposited,
        0x7113 => Withdrawn,
    }
}

/// Declares payloads in their first version.
macro_rules! payloads {
    ($($name:ident { $($field:ident: $kind:ty)? })+) => {$(
        #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
        struct $name {
            $($field: $kind,)?
        }

        impl Payload for $name {
            const VERSION: u8 = 1;
        }
    )+};
}

payloads! {
    LedgerOpened {}
    LedgerClosed {}
    AccountOpened {}
    Deposited { cents: u64 }
    Withdrawn { cents: u64 }
}
