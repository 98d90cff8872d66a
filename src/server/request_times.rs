//! Says in the log where requests spent their time, API by API: what Kafka's `RequestMetrics` tell.
//!
//! It must not know how the times came about.

use crate::metrics::{RequestMetrics, RequestPhase};
use crate::protocol::ApiKey;

/// One line for each API that was asked, with the mean microseconds of each phase, and a bound that nearly all requests keep.
pub(super) fn log_request_times(metrics: &RequestMetrics) {
    for api in ApiKey::ALL {
        let (requests, _) = metrics.totals(api.code(), RequestPhase::Total);
        let mean_us = |phase| (metrics.totals(api.code(), phase).1 / 1_000).checked_div(requests);
        let Some(total_us) = mean_us(RequestPhase::Total) else { continue };
        tracing::info!(
            %api,
            requests,
            request_queue_us = mean_us(RequestPhase::RequestQueue),
            local_us = mean_us(RequestPhase::Local),
            remote_us = mean_us(RequestPhase::Remote),
            response_queue_us = mean_us(RequestPhase::ResponseQueue),
            response_send_us = mean_us(RequestPhase::ResponseSend),
            total_us,
            p99_us_max = metrics.microseconds_max(api.code(), RequestPhase::Total, 99),
            "mean request times"
        );
    }
}
