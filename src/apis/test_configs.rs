//! Configurations, described and altered, as a client sees it.

use super::test_apis::TestApis;
use crate::error_code::ErrorCode;
use crate::log::tests::told::told;
use crate::protocol::ApiKey;
use crate::protocol::messages::alter_configs::{self, AlterConfigsRequest, AlterConfigsResponse};
use crate::protocol::messages::describe_configs::{
    DescribeConfigsRequest, DescribeConfigsResource, DescribeConfigsResponse,
};
use crate::protocol::messages::incremental_alter_configs::{
    AlterConfigsResource, AlterableConfig, IncrementalAlterConfigsRequest, IncrementalAlterConfigsResponse,
};

const TOPIC: i8 = 2;
const BROKER: i8 = 4;
const BROKER_LOGGER: i8 = 8;
const GROUP: i8 = 32;

const SET: i8 = 0;
const DELETE: i8 = 1;
const APPEND: i8 = 2;
const SUBTRACT: i8 = 3;

/// One configuration as it is described.
#[derive(Debug, PartialEq)]
struct Described {
    value: Option<String>,
    source: i8,
    kind: i8,
    is_read_only: bool,
    synonyms: Vec<(String, i8)>,
    documentation: Option<String>,
}

fn describe(apis: &mut TestApis, kind: i8, name: &str, key: &str) -> Result<Described, i16> {
    let resource =
        DescribeConfigsResource { resource_type: kind, resource_name: name, configuration_keys: Some(vec![key]) };
    let request =
        DescribeConfigsRequest { resources: vec![resource], include_synonyms: true, include_documentation: true };
    let response = apis.ask(ApiKey::DescribeConfigs, 4, &request);
    let response: DescribeConfigsResponse<'_> = response.read();
    let result = &response.results[0];
    assert_eq!((result.resource_type, result.resource_name), (kind, name));
    match result.configs.as_slice() {
        [config] => Ok(Described {
            value: config.value.map(str::to_owned),
            source: config.config_source,
            kind: config.config_type,
            is_read_only: config.read_only,
            synonyms: config.synonyms.iter().map(|synonym| (synonym.name.to_owned(), synonym.source)).collect(),
            documentation: config.documentation.map(str::to_owned),
        }),
        _ => Err(result.error_code),
    }
}

fn value_and_source(apis: &mut TestApis, kind: i8, name: &str, key: &str) -> (Option<String>, i8) {
    let described = describe(apis, kind, name, key).unwrap();
    (described.value, described.source)
}

fn shown(value: &str, source: i8) -> (Option<String>, i8) {
    (Some(value.to_owned()), source)
}

fn alter(apis: &mut TestApis, kind: i8, name: &str, changes: &[(&str, i8, &str)]) -> (i16, Option<String>) {
    let configs = changes.iter().map(|(name, config_operation, value)| AlterableConfig {
        name,
        config_operation: *config_operation,
        value: Some(value).filter(|_| *config_operation != DELETE).copied(),
    });
    let resource = AlterConfigsResource { resource_type: kind, resource_name: name, configs: configs.collect() };
    let request = IncrementalAlterConfigsRequest { resources: vec![resource], validate_only: false };
    let response = apis.ask(ApiKey::IncrementalAlterConfigs, 1, &request);
    let response: IncrementalAlterConfigsResponse<'_> = response.read();
    (response.responses[0].error_code, response.responses[0].error_message.map(str::to_owned))
}

const DONE: (i16, Option<String>) = (0, None);

#[test]
fn a_topic_is_described_with_sources_synonyms_types_and_documentation() {
    let mut apis = TestApis::with(&["log.retention.ms=7"]);
    apis.create("t", 1, &[("flush.ms", "9")]);
    let retention = describe(&mut apis, TOPIC, "t", "retention.ms").unwrap();
    assert_eq!((retention.value.as_deref(), retention.source, retention.kind), (Some("7"), 4, 5));
    assert_eq!(retention.synonyms[0], ("log.retention.ms".to_owned(), 4));
    assert!(!retention.is_read_only);
    assert!(retention.documentation.is_some_and(|text| !text.is_empty()));
    assert_eq!(value_and_source(&mut apis, TOPIC, "t", "flush.ms"), shown("9", 1));
    assert_eq!(value_and_source(&mut apis, TOPIC, "t", "segment.bytes"), shown("1073741824", 5));
}

#[test]
fn what_cannot_be_described_is_refused() {
    let mut apis = TestApis::new();
    let unknown = ErrorCode::UnknownTopicOrPartition.code();
    let invalid = ErrorCode::InvalidRequest.code();
    for (kind, name, error) in [
        (TOPIC, "nope", unknown),
        (TOPIC, "a/b", ErrorCode::InvalidTopicException.code()),
        (BROKER, "2", invalid),
        (BROKER, "x", invalid),
        (BROKER_LOGGER, "1", invalid),
        (GROUP, "", invalid),
        (77, "x", invalid),
    ] {
        assert_eq!(describe(&mut apis, kind, name, "retention.ms"), Err(error), "{kind} {name}");
    }
}

#[test]
fn an_empty_list_of_keys_asks_for_all_and_synonyms_come_only_if_asked_for() {
    let mut apis = TestApis::new();
    apis.create("t", 1, &[]);
    let resource =
        DescribeConfigsResource { resource_type: TOPIC, resource_name: "t", configuration_keys: Some(Vec::new()) };
    let request = DescribeConfigsRequest { resources: vec![resource], ..Default::default() };
    let response = apis.ask(ApiKey::DescribeConfigs, 4, &request);
    let response: DescribeConfigsResponse<'_> = response.read();
    let configs = &response.results[0].configs;
    assert!(configs.len() > 30, "only {} keys", configs.len());
    assert!(configs.iter().all(|config| config.synonyms.is_empty() && config.documentation.is_none()));
}

#[test]
fn an_altered_topic_has_other_settings_and_another_source_when_it_is_answered() {
    let mut apis = TestApis::new();
    apis.create("t", 1, &[]);
    assert_eq!(
        alter(&mut apis, TOPIC, "t", &[("retention.ms", SET, "5"), ("cleanup.policy", APPEND, "compact")]),
        DONE
    );
    let settings = apis.log("t", 0).settings();
    assert_eq!((settings.retention_ms, settings.delete, settings.compact), (5, true, true));
    assert_eq!(value_and_source(&mut apis, TOPIC, "t", "cleanup.policy"), shown("delete,compact", 1));
    let changes = [("retention.ms", DELETE, ""), ("cleanup.policy", SUBTRACT, "delete")];
    assert_eq!(alter(&mut apis, TOPIC, "t", &changes), DONE);
    let settings = apis.log("t", 0).settings();
    assert_eq!((settings.retention_ms, settings.delete, settings.compact), (604_800_000, false, true));
    let mut apis = apis.after_power_cut();
    assert_eq!(value_and_source(&mut apis, TOPIC, "t", "cleanup.policy"), shown("compact", 1));
    assert!(!apis.log("t", 0).settings().delete);
}

#[test]
fn a_broker_config_takes_effect_for_every_topic_and_the_nearest_layer_wins() {
    let mut apis = TestApis::new();
    apis.create("t", 1, &[]);
    assert_eq!(alter(&mut apis, BROKER, "", &[("log.retention.ms", SET, "7")]), DONE);
    assert_eq!(apis.log("t", 0).settings().retention_ms, 7);
    assert_eq!(value_and_source(&mut apis, BROKER, "1", "log.retention.ms"), shown("7", 3));
    assert_eq!(value_and_source(&mut apis, BROKER, "", "log.retention.ms"), shown("7", 3));
    assert_eq!(alter(&mut apis, BROKER, "1", &[("log.retention.ms", SET, "8")]), DONE);
    assert_eq!(apis.log("t", 0).settings().retention_ms, 8);
    assert_eq!(value_and_source(&mut apis, BROKER, "1", "log.retention.ms"), shown("8", 2));
    assert_eq!(value_and_source(&mut apis, TOPIC, "t", "retention.ms"), shown("8", 2));
    let mut apis = apis.after_power_cut();
    assert_eq!(apis.apis.settings().topic_defaults.retention_ms, Some(8));
    assert_eq!(alter(&mut apis, BROKER, "1", &[("log.retention.ms", DELETE, "")]), DONE);
    assert_eq!(apis.apis.settings().topic_defaults.retention_ms, Some(7));
}

#[test]
fn a_group_has_configs_before_it_exists() {
    let mut apis = TestApis::new();
    let key = "consumer.session.timeout.ms";
    assert_eq!(value_and_source(&mut apis, GROUP, "g", key).1, 5);
    assert_eq!(alter(&mut apis, GROUP, "g", &[(key, SET, "50000")]), DONE);
    assert_eq!(value_and_source(&mut apis, GROUP, "g", key), shown("50000", 8));
    assert_eq!(alter(&mut apis, GROUP, "g", &[(key, SET, "1")]).0, ErrorCode::InvalidConfig.code());
}

#[test]
fn what_cannot_be_altered_is_refused_with_kafkas_codes() {
    let mut apis = TestApis::new();
    apis.create("t", 1, &[]);
    let invalid_config = ErrorCode::InvalidConfig.code();
    let invalid_request = ErrorCode::InvalidRequest.code();
    for (kind, name, change, error) in [
        (TOPIC, "t", ("retention.ms", SET, "x"), invalid_config),
        (TOPIC, "t", ("nope", SET, "x"), invalid_config),
        (TOPIC, "t", ("retention.ms", APPEND, "1"), invalid_config),
        (TOPIC, "t", ("retention.ms", 9, "1"), ErrorCode::UnknownServerError.code()),
        (TOPIC, "nope", ("retention.ms", SET, "1"), ErrorCode::UnknownTopicOrPartition.code()),
        (TOPIC, "", ("retention.ms", SET, "1"), invalid_request),
        (BROKER, "1", ("node.id", SET, "7"), invalid_request),
        (BROKER, "2", ("log.retention.ms", SET, "7"), invalid_request),
        (BROKER, "", ("listeners", SET, "PLAINTEXT://:1"), invalid_request),
        (BROKER_LOGGER, "1", ("root", SET, "DEBUG"), invalid_request),
        (16, "subscription", ("interval.ms", SET, "100"), invalid_request),
        (77, "x", ("y", SET, "z"), invalid_request),
    ] {
        let (code, message) = alter(&mut apis, kind, name, &[change]);
        assert_eq!(code, error, "{kind} {name} {change:?}: {message:?}");
    }
    let twice = [("retention.ms", SET, "1"), ("retention.ms", SET, "2")];
    assert_eq!(alter(&mut apis, TOPIC, "t", &twice).0, invalid_request);
    assert_eq!(value_and_source(&mut apis, TOPIC, "t", "retention.ms").1, 5, "nothing of it happened");
}

#[test]
fn the_older_request_replaces_everything_and_validation_alone_changes_nothing() {
    let mut apis = TestApis::new();
    apis.create("t", 1, &[("retention.ms", "5"), ("flush.ms", "6")]);
    let ask = |apis: &mut TestApis, value, validate_only| {
        let config = alter_configs::AlterableConfig { name: "retention.ms", value: Some(value) };
        let resource =
            alter_configs::AlterConfigsResource { resource_type: TOPIC, resource_name: "t", configs: vec![config] };
        let request = AlterConfigsRequest { resources: vec![resource], validate_only };
        let response = apis.ask(ApiKey::AlterConfigs, 2, &request);
        response.read::<AlterConfigsResponse<'_>>().responses[0].error_code
    };
    assert_eq!(ask(&mut apis, "7", true), 0);
    assert_eq!(value_and_source(&mut apis, TOPIC, "t", "retention.ms"), shown("5", 1));
    assert_eq!(ask(&mut apis, "x", true), ErrorCode::InvalidConfig.code());
    assert_eq!(ask(&mut apis, "7", false), 0);
    assert_eq!(value_and_source(&mut apis, TOPIC, "t", "retention.ms"), shown("7", 1));
    assert_eq!(value_and_source(&mut apis, TOPIC, "t", "flush.ms").1, 5);
    assert_eq!(apis.log("t", 0).settings().retention_ms, 7);
}

#[test]
fn a_change_of_configs_is_told_with_keys_and_values() {
    let mut apis = TestApis::new();
    let created = told(|| apis.create("t", 1, &[("retention.ms", "7")])).1;
    assert!(
        created.contains(&"INFO configuration changed resource=topic t changes=retention.ms=7".to_owned()),
        "{created:?}"
    );
    let changes = [("retention.ms", DELETE, ""), ("cleanup.policy", SET, "compact")];
    let (done, lines) = told(|| alter(&mut apis, TOPIC, "t", &changes));
    assert_eq!(done, DONE);
    let expected = "changes=cleanup.policy=compact, retention.ms is no longer set";
    assert_eq!(lines, [format!("INFO configuration changed resource=topic t {expected}")]);
    let (done, lines) = told(|| alter(&mut apis, BROKER, "", &[("log.retention.ms", SET, "9")]));
    assert_eq!(done, DONE);
    assert_eq!(lines, ["INFO configuration changed resource=all brokers changes=log.retention.ms=9"]);
}
