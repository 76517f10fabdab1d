//! Arbitrary bytes as events of the domain, and as the metadata of a commit.

#![no_main]

use std::fmt::Debug;

use libfuzzer_sys::fuzz_target;
use scripta_events::EventType;
use scripta_events::codec::Event;
use scripta_events::domain::{
    BranchEvent, ChatEvent, MemoryEvent, Meta, ProjectEvent, ReviewEvent, RunEvent, WorkspaceEvent,
};
use scripta_events::log::EventData;

/// The types of each set.
const TYPES: [&[(EventType, &str)]; 7] = [
    ProjectEvent::TYPES,
    ChatEvent::TYPES,
    BranchEvent::TYPES,
    RunEvent::TYPES,
    MemoryEvent::TYPES,
    ReviewEvent::TYPES,
    WorkspaceEvent::TYPES,
];

fuzz_target!(|data: &[u8]| {
    if let Ok(meta) = Meta::from_bytes(data) {
        let again = meta.to_bytes().expect("what was decoded is encoded");
        assert_eq!(Meta::from_bytes(&again), Ok(meta));
    }
    let [set, code, version, codec, payload @ ..] = data else { return };
    let types = TYPES[usize::from(*set) % TYPES.len()];
    // One beyond the last: an unknown type, version or codec must be refused as such.
    let known = types.get(usize::from(*code) % (types.len() + 1));
    let encoded = EventData {
        event_type: known.map_or(EventType(0), |(event_type, _)| *event_type),
        version: version % 3,
        codec: codec % 3,
        payload: payload.to_vec().into(),
    };
    round_trip::<ProjectEvent>(&encoded);
    round_trip::<ChatEvent>(&encoded);
    round_trip::<BranchEvent>(&encoded);
    round_trip::<RunEvent>(&encoded);
    round_trip::<MemoryEvent>(&encoded);
    round_trip::<ReviewEvent>(&encoded);
    round_trip::<WorkspaceEvent>(&encoded);
});

/// What decodes is encoded to the same event again, in no more bytes than a reader would take.
fn round_trip<E: Event + PartialEq + Debug>(encoded: &EventData) {
    let Ok(event) = E::decode(encoded) else { return };
    assert_eq!((encoded.version, encoded.codec), (1, 1));
    let again = event.encode().expect("what was decoded is encoded");
    assert!(again.payload.len() <= encoded.payload.len());
    assert_eq!(E::decode(&again).as_ref(), Ok(&event));
}
