//! Arbitrary bytes as events of the domain, and as the metadata of a commit.

#![no_main]

use std::fmt::Debug;

use libfuzzer_sys::fuzz_target;
use scripta_events::EventType;
use scripta_events::codec::Event;
use scripta_events::domain::{BranchEvent, ChatEvent, Meta, ProjectEvent, RunEvent};
use scripta_events::log::EventData;

/// The events of each set, from its first code on.
const CODES: [(u16, u16); 4] = [(0x0201, 1), (0x0301, 3), (0x0401, 5), (0x0501, 9)];

fuzz_target!(|data: &[u8]| {
    if let Ok(meta) = Meta::from_bytes(data) {
        let again = meta.to_bytes().expect("what was decoded is encoded");
        assert_eq!(Meta::from_bytes(&again), Ok(meta));
    }
    let [set, code, version, codec, payload @ ..] = data else { return };
    let (first, count) = CODES[usize::from(set % 4)];
    // One beyond the last: an unknown type, version or codec must be refused as such.
    let encoded = EventData {
        event_type: EventType(first + u16::from(*code) % (count + 1)),
        version: version % 3,
        codec: codec % 3,
        payload: payload.to_vec().into(),
    };
    round_trip::<ProjectEvent>(&encoded);
    round_trip::<ChatEvent>(&encoded);
    round_trip::<BranchEvent>(&encoded);
    round_trip::<RunEvent>(&encoded);
});

/// What decodes is encoded to the same event again, in no more bytes than a reader would take.
fn round_trip<E: Event + PartialEq + Debug>(encoded: &EventData) {
    let Ok(event) = E::decode(encoded) else { return };
    assert_eq!((encoded.version, encoded.codec), (1, 1));
    let again = event.encode().expect("what was decoded is encoded");
    assert!(again.payload.len() <= encoded.payload.len());
    assert_eq!(E::decode(&again).as_ref(), Ok(&event));
}
