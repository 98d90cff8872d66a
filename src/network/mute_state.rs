//! Why a channel is not read: one request is in work, or the client is throttled, or both (Kafka's `ChannelMuteState`).
//!
//! It must not know sockets; the channel asks it and acts.

/// The states, with Kafka's meaning. A channel is read only in `NotMuted`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MuteState {
    /// Frames are read.
    NotMuted,
    /// Not read, and nobody will unmute it but an explicit unmute.
    Muted,
    /// Not read until the response of the request in work is written.
    MutedAndResponsePending,
    /// Not read until the throttle time is over.
    MutedAndThrottled,
    /// Not read until both are over.
    MutedAndThrottledAndResponsePending,
}

/// What happens to a channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MuteEvent {
    /// A request was queued.
    RequestReceived,
    /// Its response is written, or there is none to write.
    ResponseSent,
    /// The client is to be throttled.
    ThrottleStarted,
    /// The throttle time is over.
    ThrottleEnded,
}

impl MuteState {
    /// The state after `event`, or `None` where Kafka calls the event illegal: that closes the channel.
    pub(crate) fn after(self, event: MuteEvent) -> Option<MuteState> {
        use MuteEvent::*;
        use MuteState::*;
        match (self, event) {
            (Muted, RequestReceived) => Some(MutedAndResponsePending),
            (MutedAndResponsePending, ResponseSent) => Some(Muted),
            (MutedAndThrottledAndResponsePending, ResponseSent) => Some(MutedAndThrottled),
            (MutedAndResponsePending, ThrottleStarted) => Some(MutedAndThrottledAndResponsePending),
            (MutedAndThrottled, ThrottleEnded) => Some(Muted),
            (MutedAndThrottledAndResponsePending, ThrottleEnded) => Some(MutedAndResponsePending),
            (NotMuted, RequestReceived | ResponseSent | ThrottleStarted | ThrottleEnded)
            | (Muted, ResponseSent | ThrottleStarted | ThrottleEnded)
            | (MutedAndResponsePending, RequestReceived | ThrottleEnded)
            | (MutedAndThrottled, RequestReceived | ResponseSent | ThrottleStarted)
            | (MutedAndThrottledAndResponsePending, RequestReceived | ThrottleStarted) => None,
        }
    }

    /// The state after an explicit mute.
    pub(crate) fn muted(self) -> MuteState {
        if self == MuteState::NotMuted { MuteState::Muted } else { self }
    }

    /// The state after an attempt to unmute: only `Muted` gives way.
    pub(crate) fn unmuted(self) -> MuteState {
        if self == MuteState::Muted { MuteState::NotMuted } else { self }
    }
}

#[cfg(test)]
mod tests {
    use super::{MuteEvent, MuteState};
    use proptest::prelude::*;

    const EVENTS: [MuteEvent; 4] =
        [MuteEvent::RequestReceived, MuteEvent::ResponseSent, MuteEvent::ThrottleStarted, MuteEvent::ThrottleEnded];

    /// What the state must say, kept as two plain facts.
    #[derive(Debug)]
    struct Model {
        response_pending: bool,
        throttled: bool,
    }

    #[test]
    fn an_answer_without_throttle_ends_unmuted() {
        let state = MuteState::NotMuted.muted().after(MuteEvent::RequestReceived);
        let state = state.and_then(|state| state.after(MuteEvent::ResponseSent)).map(MuteState::unmuted);
        assert_eq!(state, Some(MuteState::NotMuted));
    }

    proptest! {
        #[test]
        fn a_channel_is_read_only_when_no_response_is_pending_and_no_throttle_runs(picks in proptest::collection::vec(0usize..4, 0..64)) {
            let mut state = MuteState::NotMuted.muted();
            let mut model = Model { response_pending: false, throttled: false };
            for pick in picks {
                let event = EVENTS[pick];
                let legal = match event {
                    MuteEvent::RequestReceived => !model.response_pending && !model.throttled,
                    MuteEvent::ResponseSent => model.response_pending,
                    MuteEvent::ThrottleStarted => model.response_pending && !model.throttled,
                    MuteEvent::ThrottleEnded => model.throttled,
                };
                let next = state.after(event);
                prop_assert_eq!(next.is_some(), legal, "{:?} {:?}", state, event);
                let Some(next) = next else { continue };
                match event {
                    MuteEvent::RequestReceived => model.response_pending = true,
                    MuteEvent::ResponseSent => model.response_pending = false,
                    MuteEvent::ThrottleStarted => model.throttled = true,
                    MuteEvent::ThrottleEnded => model.throttled = false,
                }
                state = next;
                prop_assert_eq!(state.unmuted() == MuteState::NotMuted, !model.response_pending && !model.throttled);
            }
        }
    }
}
