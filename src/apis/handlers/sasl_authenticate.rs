//! SaslAuthenticate: refused, since no listener has SASL (KIP-152).
//!
//! It must not know mechanisms, nor keep or tell what the client sent: it may be a password.

use crate::apis::answer::Outcome;
use crate::apis::api_request::ApiRequest;
use crate::apis::kafka_apis::KafkaApis;
use crate::error_code::ErrorCode;
use crate::protocol::DecodeError;
use crate::protocol::messages::sasl_authenticate::{SaslAuthenticateRequest, SaslAuthenticateResponse};
use crate::types::Now;

const NO_SASL: &str =
    "This listener is PLAINTEXT, and nobody has to say who they are: set security.protocol=PLAINTEXT in the client";

/// As after a handshake, with a sentence for the person.
pub(crate) fn handle(apis: &KafkaApis, now: Now, request: &ApiRequest) -> Result<Outcome, DecodeError> {
    let _: SaslAuthenticateRequest<'_> = request.decode()?;
    apis.tell_of_sasl(now.instant, request);
    let response = SaslAuthenticateResponse {
        error_code: ErrorCode::IllegalSaslState.code(),
        error_message: Some(NO_SASL),
        ..Default::default()
    };
    Ok(request.respond(&response).into())
}
