//! SaslHandshake: refused, since no listener has SASL (KIP-43).
//!
//! It must not know mechanisms.

use crate::apis::answer::Outcome;
use crate::apis::api_request::ApiRequest;
use crate::apis::kafka_apis::KafkaApis;
use crate::error_code::ErrorCode;
use crate::protocol::DecodeError;
use crate::protocol::messages::sasl_handshake::{SaslHandshakeRequest, SaslHandshakeResponse};
use crate::types::Now;

/// There is no mechanism to choose from; clients take the error for final, where an end of the connection has them come again for ever.
pub(crate) fn handle(apis: &KafkaApis, now: Now, request: &ApiRequest) -> Result<Outcome, DecodeError> {
    let _: SaslHandshakeRequest<'_> = request.decode()?;
    apis.tell_of_sasl(now.instant, request);
    let response = SaslHandshakeResponse { error_code: ErrorCode::IllegalSaslState.code(), mechanisms: Vec::new() };
    Ok(request.respond(&response).into())
}
