//! tmp
use crate::types::*;
/// t
pub struct ApiKey(i16);
impl ApiKey {
    /// t
    pub fn code(&self) -> i16 {
        self.0
    }
}
/// t
pub struct RequestHeader {
    /// t
    pub api_key: ApiKey,
    /// t
    pub api_version: i16,
    /// t
    pub correlation_id: i32,
}
/// t
pub struct E;
impl E {
    /// t
    pub fn likely_cause(&self) -> &'static str {
        ""
    }
}
impl RequestHeader {
    /// t
    pub fn decode(_b: &[u8]) -> Result<(RequestHeader, usize), E> {
        let _ = Offset(0);
        Err(E)
    }
}
