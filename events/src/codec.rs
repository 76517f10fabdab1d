//! The typed layer: from facts to versioned bytes and back.
//!
//! A record carries a type code, the version of its payload's schema, a codec byte and the
//! payload. The codes are yours: register each once, and never use it for anything else.
//!
//! * A **payload** is a struct with serde's derives and [`Payload`]. It is a frozen schema: its
//!   fields, and the variants of enums in it, are never renamed in meaning, reordered or removed.
//! * A **set** of events is an enum that [`events!`](crate::events) makes of payloads and codes;
//!   usually one for each kind of stream. It is what [`decode`] and [`encode_all`] work with.
//!
//! # How a payload grows
//!
//! Only the newest version is written; each version that was ever written is read. To make
//! version 2, keep version 1's struct as it is under another name, say how to get from the one to
//! the other, and decode it in [`Payload::upcast`]. A version 3 would keep `OpenedV2` too, and go
//! step by step: 1 to 2 to 3.
//!
//! ```
//! use scripta_events::EventType;
//! use scripta_events::codec::{self, CodecError, Payload};
//! use serde::{Deserialize, Serialize};
//!
//! /// Version 2.
//! #[derive(Debug, PartialEq, Serialize, Deserialize)]
//! struct Opened {
//!     owner: String,
//!     currency: String,
//! }
//!
//! /// Version 1, as it was.
//! #[derive(Serialize, Deserialize)]
//! struct OpenedV1 {
//!     owner: String,
//! }
//!
//! impl From<OpenedV1> for Opened {
//!     fn from(OpenedV1 { owner }: OpenedV1) -> Opened {
//!         Opened { owner, currency: "EUR".to_owned() } // all there was then
//!     }
//! }
//!
//! impl Payload for Opened {
//!     const VERSION: u8 = 2;
//!
//!     fn upcast(code: EventType, version: u8, payload: &[u8]) -> Result<Opened, CodecError> {
//!         match version {
//!             1 => codec::decode_version::<OpenedV1>(code, 1, payload).map(Opened::from),
//!             _ => Err(CodecError::UnknownVersion { event_type: code, version, newest: 2 }),
//!         }
//!     }
//! }
//!
//! # impl Payload for OpenedV1 {
//! #     const VERSION: u8 = 1;
//! # }
//! # let old = codec::encode_payload(EventType(1), &OpenedV1 { owner: "Ada".to_owned() })?;
//! // What was written by the program of back then …
//! assert_eq!(old.version, 1);
//! // … is an event of today.
//! let opened: Opened = codec::decode_payload(&old)?;
//! assert_eq!(opened.currency, "EUR");
//! # Ok::<(), CodecError>(())
//! ```
//!
//! Keep the bytes of every version in a test: a changed schema that nobody meant to change shows
//! there, and not in somebody's log.
//!
//! # Decoding is strict
//!
//! An unknown code, version or codec is an error that names it, and so are bytes that are left
//! over: never a guess, never skipped in silence. A length inside a payload is not believed: no
//! more than the limit of an event is taken for it.
//!
//! The codec is [`BINCODE`]. Another one would get another byte, and records of both would be read.
//! Implement [`Event`] by hand for events in a format of your own.

use bytes::Bytes;
use serde::Serialize;
#[doc(hidden)]
pub use serde::Serialize as __Serialize;
/// What an event's payload can be given to, so that a person can read it.
pub use serde::Serializer;
use serde::de::DeserializeOwned;
use thiserror::Error;

use crate::log::{EventData, MAX_EVENT_BYTES, Recorded};
use crate::{EventType, Position};

/// The codec byte of payloads encoded by bincode 2 in its standard configuration: little-endian,
/// variable-length integers.
pub const BINCODE: u8 = 1;

/// A set of events that a program decodes together, usually one enum an aggregate.
pub trait Event: Sized + Send + Sync + 'static {
    /// The event's registered code.
    fn event_type(&self) -> EventType;

    /// Encodes the event in the newest version of its payload.
    ///
    /// # Errors
    ///
    /// [`CodecError::Encode`] if the payload can't be encoded.
    fn encode(&self) -> Result<EventData, CodecError>;

    /// Decodes an event of any version.
    ///
    /// # Errors
    ///
    /// Every way in which bytes can fail to be an event of this set; never a guess.
    fn decode(encoded: &EventData) -> Result<Self, CodecError>;
}

/// The newest version of one payload.
///
/// To make version n + 1, keep the struct of version n as it is under another name, derive the
/// new one from it with `From`, raise [`VERSION`](Payload::VERSION) and override
/// [`upcast`](Payload::upcast) to decode version n and convert it.
pub trait Payload: Serialize + DeserializeOwned {
    /// The version of this schema; the first is 1.
    const VERSION: u8;

    /// Decodes an older version, step by step, into this one.
    ///
    /// # Errors
    ///
    /// [`CodecError::UnknownVersion`] for a version that never was.
    fn upcast(event_type: EventType, version: u8, _payload: &[u8]) -> Result<Self, CodecError> {
        Err(CodecError::UnknownVersion { event_type, version, newest: Self::VERSION })
    }
}

/// Why bytes are not an event, or an event can't become bytes.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum CodecError {
    /// No event of this set has the code.
    #[error("unknown event type {event_type}; a newer version of this program may have written it")]
    UnknownType {
        /// The code.
        event_type: EventType,
    },
    /// The event has no such version.
    #[error("event type {event_type} has no version {version} here (the newest is {newest})")]
    UnknownVersion {
        /// The event's code.
        event_type: EventType,
        /// The version found.
        version: u8,
        /// The newest version known.
        newest: u8,
    },
    /// The payload is encoded in a way that is not known here.
    #[error("event type {event_type} is encoded with the unknown codec {codec}")]
    UnknownCodec {
        /// The event's code.
        event_type: EventType,
        /// The codec byte found.
        codec: u8,
    },
    /// The payload doesn't fit its schema.
    #[error("the payload of event type {event_type} version {version} is malformed: {reason}")]
    Malformed {
        /// The event's code.
        event_type: EventType,
        /// The version.
        version: u8,
        /// What the decoder met.
        reason: String,
    },
    /// The payload can't be encoded.
    #[error("event type {event_type} can't be encoded: {reason}")]
    Encode {
        /// The event's code.
        event_type: EventType,
        /// What the encoder met.
        reason: String,
    },
}

/// An event that could not be decoded, and where it is.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("the event at position {position} can't be decoded")]
pub struct DecodeError {
    /// Where the event is.
    pub position: Position,
    /// Why it can't be decoded.
    #[source]
    pub source: CodecError,
}

/// Decodes a recorded event as one of the set `E`.
///
/// # Errors
///
/// [`DecodeError`] with the position.
pub fn decode<E: Event>(recorded: &Recorded) -> Result<E, DecodeError> {
    let encoded = EventData {
        event_type: recorded.event_type,
        version: recorded.version,
        codec: recorded.codec,
        payload: recorded.payload.clone(),
    };
    E::decode(&encoded).map_err(|source| DecodeError { position: recorded.position, source })
}

/// Encodes events, for one append.
///
/// # Errors
///
/// [`CodecError::Encode`].
pub fn encode_all<E: Event>(events: &[E]) -> Result<Vec<EventData>, CodecError> {
    events.iter().map(Event::encode).collect()
}

/// Encodes the newest version of a payload under its code.
///
/// # Errors
///
/// [`CodecError::Encode`].
pub fn encode_payload<P: Payload>(
    event_type: EventType,
    payload: &P,
) -> Result<EventData, CodecError> {
    let bytes = to_bytes(payload)
        .map_err(|error| CodecError::Encode { event_type, reason: error.to_string() })?;
    Ok(EventData { event_type, version: P::VERSION, codec: BINCODE, payload: Bytes::from(bytes) })
}

/// Decodes a payload of any version of `P`.
///
/// # Errors
///
/// [`CodecError`], for an unknown codec or version, or malformed bytes.
pub fn decode_payload<P: Payload>(encoded: &EventData) -> Result<P, CodecError> {
    let EventData { event_type, version, codec, payload } = encoded;
    if *codec != BINCODE {
        return Err(CodecError::UnknownCodec { event_type: *event_type, codec: *codec });
    }
    if *version != P::VERSION {
        return P::upcast(*event_type, *version, payload);
    }
    decode_version(*event_type, *version, payload)
}

/// Decodes bytes as exactly this version's struct; for [`Payload::upcast`].
///
/// # Errors
///
/// [`CodecError::Malformed`].
pub fn decode_version<V: DeserializeOwned>(
    event_type: EventType,
    version: u8,
    payload: &[u8],
) -> Result<V, CodecError> {
    from_bytes(payload).map_err(|reason| CodecError::Malformed { event_type, version, reason })
}

/// bincode in the configuration of the [`BINCODE`] codec byte.
pub(crate) fn to_bytes<T: Serialize>(value: &T) -> Result<Vec<u8>, bincode::error::EncodeError> {
    bincode::serde::encode_to_vec(value, bincode::config::standard())
}

/// The inverse of [`to_bytes`]: bounded, and every byte must be consumed.
pub(crate) fn from_bytes<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, String> {
    let config = bincode::config::standard().with_limit::<MAX_EVENT_BYTES>();
    let (value, used) =
        bincode::serde::decode_from_slice(bytes, config).map_err(|error| error.to_string())?;
    if used != bytes.len() {
        return Err(format!("{} bytes are left over", bytes.len() - used));
    }
    Ok(value)
}

/// Declares a set of events: an enum with a variant for each payload, under its code.
///
/// ```
/// use scripta_events::codec::Payload;
/// use serde::{Deserialize, Serialize};
///
/// /// Somebody counted.
/// #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
/// pub struct Counted {
///     /// By how much.
///     pub by: u64,
/// }
/// impl Payload for Counted {
///     const VERSION: u8 = 1;
/// }
///
/// scripta_events::events! {
///     /// What happens to a counter.
///     #[derive(Clone, Debug, PartialEq)]
///     pub enum CounterEvent {
///         /// Somebody counted.
///         0x7001 => Counted,
///     }
/// }
/// ```
#[macro_export]
macro_rules! events {
    (
        $(#[$meta:meta])*
        $vis:vis enum $set:ident {
            $( $(#[$doc:meta])* $code:literal => $payload:ident ),+ $(,)?
        }
    ) => {
        $(#[$meta])*
        $vis enum $set {
            $( $(#[$doc])* $payload($payload), )+
        }

        #[allow(dead_code, reason = "not every program shows its events to people")]
        impl $set {
            /// The codes of this set, each with the name of its payload's type.
            $vis const TYPES: &'static [($crate::EventType, &'static str)] =
                &[$( ($crate::EventType($code), stringify!($payload)), )+];

            /// The name of the payload's type.
            $vis fn name(&self) -> &'static str {
                match self {
                    $( $set::$payload(_) => stringify!($payload), )+
                }
            }

            /// Gives the payload to a serializer, such as JSON's, so that a person can read it.
            /// It is not the form that is stored.
            $vis fn serialize_payload<S: $crate::codec::Serializer>(
                &self,
                serializer: S,
            ) -> Result<S::Ok, S::Error> {
                match self {
                    $( $set::$payload(payload) => {
                        $crate::codec::__Serialize::serialize(payload, serializer)
                    } )+
                }
            }
        }

        impl $crate::codec::Event for $set {
            fn event_type(&self) -> $crate::EventType {
                match self {
                    $( $set::$payload(_) => $crate::EventType($code), )+
                }
            }

            fn encode(&self) -> Result<$crate::log::EventData, $crate::codec::CodecError> {
                match self {
                    $( $set::$payload(payload) => {
                        $crate::codec::encode_payload($crate::EventType($code), payload)
                    } )+
                }
            }

            fn decode(
                encoded: &$crate::log::EventData,
            ) -> Result<Self, $crate::codec::CodecError> {
                match encoded.event_type.0 {
                    $( $code => $crate::codec::decode_payload(encoded).map($set::$payload), )+
                    _ => Err($crate::codec::CodecError::UnknownType {
                        event_type: encoded.event_type,
                    }),
                }
            }
        }

        $(
            impl From<$payload> for $set {
                fn from(payload: $payload) -> $set {
                    $set::$payload(payload)
                }
            }
        )+
    };
}
