//! ApiVersions: which APIs work here, in which versions (KIP-35, KIP-511, KIP-1242).
//!
//! It must not know what the other APIs do.

use crate::apis::answer::Outcome;
use crate::apis::api_request::{ApiRequest, respond_in};
use crate::apis::kafka_apis::KafkaApis;
use crate::error_code::ErrorCode;
use crate::protocol::messages::api_versions::{ApiVersion, ApiVersionsRequest, ApiVersionsResponse};
use crate::protocol::{ApiKey, DecodeError};

/// Answers; a version that is not known gets version 0 with the range of ApiVersions alone, so that the client can ask again.
pub(crate) fn handle(apis: &KafkaApis, request: &ApiRequest) -> Result<Outcome, DecodeError> {
    if !ApiKey::ApiVersions.versions().contains(&request.version()) {
        let response = ApiVersionsResponse {
            error_code: ErrorCode::UnsupportedVersion.code(),
            api_keys: vec![range_of(ApiKey::ApiVersions)],
            ..Default::default()
        };
        return Ok(respond_in(request.ticket, 0, &response).into());
    }
    let message: ApiVersionsRequest = request.decode()?;
    let error = refusal(apis, request.version(), &message);
    let api_keys = if error.is_none() { ApiKey::ALL.iter().copied().map(range_of).collect() } else { Vec::new() };
    let response = ApiVersionsResponse { error_code: error.code(), api_keys, ..Default::default() };
    Ok(request.respond(&response).into())
}

fn range_of(api_key: ApiKey) -> ApiVersion {
    let versions = api_key.advertised_versions();
    ApiVersion { api_key: api_key.code(), min_version: *versions.start(), max_version: *versions.end() }
}

/// Why a well-formed request is refused: a client name that cannot be one, or another broker meant.
fn refusal(apis: &KafkaApis, version: i16, message: &ApiVersionsRequest<'_>) -> ErrorCode {
    if version >= 3
        && !(is_software_name(message.client_software_name) && is_software_name(message.client_software_version))
    {
        return ErrorCode::InvalidRequest;
    }
    match (message.cluster_id, message.node_id) {
        (None, -1) => ErrorCode::None,
        (Some(cluster_id), node_id) if node_id != -1 => {
            if cluster_id == &**apis.image().cluster_id() && node_id == apis.broker_id().0 {
                ErrorCode::None
            } else {
                ErrorCode::RebootstrapRequired
            }
        }
        _ => ErrorCode::InvalidRequest,
    }
}

/// Letters, digits, `-` and `.`, with a letter or digit at both ends (KIP-511).
fn is_software_name(name: &str) -> bool {
    let bytes = name.as_bytes();
    let ends = [bytes.first(), bytes.last()];
    ends.iter().all(|end| end.is_some_and(u8::is_ascii_alphanumeric))
        && bytes.iter().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.'))
}

#[cfg(test)]
mod tests {
    use super::is_software_name;

    #[test]
    fn software_names_begin_and_end_with_letter_or_digit() {
        assert!(is_software_name("apache-kafka-java"));
        assert!(is_software_name("4.4.0"));
        for bad in ["", "-a", "a.", "a b", "a_b", "ä"] {
            assert!(!is_software_name(bad), "{bad}");
        }
    }
}
