//! Knobs of TLS, SASL, tokens and authorization.
//!
//! It must not know who obeys a knob; the vocabulary is in `knob.rs`, the reasons in `reasons.rs`.

use super::reasons::{NO_AUTHORIZER, NO_JVM, NO_PLUGINS, NO_SASL, NO_TLS, NO_TOKENS, ONE_NODE};
use crate::config::knob::{Knob, knobs};

pub(super) const KNOBS: &[Knob] = knobs! {
    "authorizer.class.name": String = "", Any, ReadOnly, Low => Refused(NO_AUTHORIZER);
    "connection.failed.authentication.delay.ms": Int = "100", AtLeast(0), ReadOnly, Low => Idle(NO_SASL);
    "connections.max.reauth.ms": Long = "0", Any, ReadOnly, Medium => Idle(NO_SASL);
    "delegation.token.expiry.check.interval.ms": Long = "3600000", AtLeast(1), ReadOnly, Low => Idle(NO_TOKENS);
    "delegation.token.expiry.time.ms": Long = "86400000", AtLeast(1), ReadOnly, Medium => Idle(NO_TOKENS);
    "delegation.token.max.lifetime.ms": Long = "604800000", AtLeast(1), ReadOnly, Medium => Idle(NO_TOKENS);
    "delegation.token.secret.key": Password = null, Any, ReadOnly, Medium => Refused(NO_TOKENS);
    "principal.builder.class": Class = "org.apache.kafka.common.security.authenticator.DefaultKafkaPrincipalBuilder",
        Any, PerBroker, Medium
        => Refused(NO_PLUGINS);
    "sasl.client.callback.handler.class": Class = null, Any, ReadOnly, Medium => Idle(NO_SASL);
    "sasl.enabled.mechanisms": List = "GSSAPI", Any, PerBroker, Medium => Refused(NO_SASL);
    "sasl.jaas.config": Password = null, Any, PerBroker, Medium => Refused(NO_SASL);
    "sasl.kerberos.kinit.cmd": String = "/usr/bin/kinit", Any, PerBroker, Medium => Idle(NO_SASL);
    "sasl.kerberos.min.time.before.relogin": Long = "60000", Any, PerBroker, Medium => Idle(NO_SASL);
    "sasl.kerberos.principal.to.local.rules": List = "DEFAULT", Any, PerBroker, Medium => Idle(NO_SASL);
    "sasl.kerberos.service.name": String = null, Any, PerBroker, Medium => Idle(NO_SASL);
    "sasl.kerberos.ticket.renew.jitter": Double = "0.05", Any, PerBroker, Medium => Idle(NO_SASL);
    "sasl.kerberos.ticket.renew.window.factor": Double = "0.8", Any, PerBroker, Medium => Idle(NO_SASL);
    "sasl.login.callback.handler.class": Class = null, Any, ReadOnly, Medium => Idle(NO_SASL);
    "sasl.login.class": Class = null, Any, ReadOnly, Medium => Idle(NO_SASL);
    "sasl.login.connect.timeout.ms": Int = null, Any, ReadOnly, Low => Idle(NO_SASL);
    "sasl.login.read.timeout.ms": Int = null, Any, ReadOnly, Low => Idle(NO_SASL);
    "sasl.login.refresh.buffer.seconds": Short = "300", Any, PerBroker, Medium => Idle(NO_SASL);
    "sasl.login.refresh.min.period.seconds": Short = "60", Any, PerBroker, Medium => Idle(NO_SASL);
    "sasl.login.refresh.window.factor": Double = "0.8", Any, PerBroker, Medium => Idle(NO_SASL);
    "sasl.login.refresh.window.jitter": Double = "0.05", Any, PerBroker, Medium => Idle(NO_SASL);
    "sasl.login.retry.backoff.max.ms": Long = "10000", Any, ReadOnly, Low => Idle(NO_SASL);
    "sasl.login.retry.backoff.ms": Long = "100", Any, ReadOnly, Low => Idle(NO_SASL);
    "sasl.mechanism.controller.protocol": String = "GSSAPI", Any, ReadOnly, High => Idle(ONE_NODE);
    "sasl.mechanism.inter.broker.protocol": String = "GSSAPI", Any, PerBroker, Medium => Idle(ONE_NODE);
    "sasl.oauthbearer.allow.unverified.audience": Boolean = "false", Any, ReadOnly, Medium => Idle(NO_SASL);
    "sasl.oauthbearer.allow.unverified.issuer": Boolean = "false", Any, ReadOnly, Medium => Idle(NO_SASL);
    "sasl.oauthbearer.assertion.algorithm": String = "RS256", OneOfAnyCase(&["ES256", "RS256"]), ReadOnly, Medium
        => Idle(NO_SASL);
    "sasl.oauthbearer.assertion.claim.aud": String = null, Any, ReadOnly, Medium => Idle(NO_SASL);
    "sasl.oauthbearer.assertion.claim.exp.seconds": Int = "300", Between(0, 86_400), ReadOnly, Low => Idle(NO_SASL);
    "sasl.oauthbearer.assertion.claim.iss": String = null, Any, ReadOnly, Medium => Idle(NO_SASL);
    "sasl.oauthbearer.assertion.claim.jti.include": Boolean = "false", Any, ReadOnly, Medium => Idle(NO_SASL);
    "sasl.oauthbearer.assertion.claim.nbf.seconds": Int = "60", Between(0, 3600), ReadOnly, Low => Idle(NO_SASL);
    "sasl.oauthbearer.assertion.claim.sub": String = null, Any, ReadOnly, Medium => Idle(NO_SASL);
    "sasl.oauthbearer.assertion.file": String = null, Any, ReadOnly, Medium => Idle(NO_SASL);
    "sasl.oauthbearer.assertion.private.key.file": String = null, Any, ReadOnly, Medium => Idle(NO_SASL);
    "sasl.oauthbearer.assertion.private.key.passphrase": Password = null, Any, ReadOnly, Medium => Refused(NO_SASL);
    "sasl.oauthbearer.assertion.template.file": String = null, Any, ReadOnly, Medium => Idle(NO_SASL);
    "sasl.oauthbearer.client.credentials.client.id": String = null, Any, ReadOnly, Medium => Idle(NO_SASL);
    "sasl.oauthbearer.client.credentials.client.secret": Password = null, Any, ReadOnly, Medium => Refused(NO_SASL);
    "sasl.oauthbearer.clock.skew.seconds": Int = "30", Any, ReadOnly, Low => Idle(NO_SASL);
    "sasl.oauthbearer.expected.audience": List = "", Any, ReadOnly, High => Idle(NO_SASL);
    "sasl.oauthbearer.expected.issuer": String = null, Any, ReadOnly, High => Idle(NO_SASL);
    "sasl.oauthbearer.jwks.endpoint.refresh.ms": Long = "3600000", Any, ReadOnly, Low => Idle(NO_SASL);
    "sasl.oauthbearer.jwks.endpoint.retry.backoff.max.ms": Long = "10000", Any, ReadOnly, Low => Idle(NO_SASL);
    "sasl.oauthbearer.jwks.endpoint.retry.backoff.ms": Long = "100", Any, ReadOnly, Low => Idle(NO_SASL);
    "sasl.oauthbearer.jwks.endpoint.url": String = null, Any, ReadOnly, Medium => Refused(NO_SASL);
    "sasl.oauthbearer.jwt.retriever.class": Class = "org.apache.kafka.common.security.oauthbearer.DefaultJwtRetriever",
        Any, ReadOnly, Medium
        => Idle(NO_SASL);
    "sasl.oauthbearer.jwt.validator.class": Class = "org.apache.kafka.common.security.oauthbearer.DefaultJwtValidator",
        Any, ReadOnly, Medium
        => Idle(NO_SASL);
    "sasl.oauthbearer.scope": String = null, Any, ReadOnly, Medium => Idle(NO_SASL);
    "sasl.oauthbearer.scope.claim.name": String = "scope", Any, ReadOnly, Low => Idle(NO_SASL);
    "sasl.oauthbearer.sub.claim.name": String = "sub", Any, ReadOnly, Low => Idle(NO_SASL);
    "sasl.oauthbearer.token.endpoint.url": String = null, Any, ReadOnly, Medium => Idle(NO_SASL);
    "sasl.server.callback.handler.class": Class = null, Any, ReadOnly, Medium => Refused(NO_SASL);
    "sasl.server.max.receive.size": Int = "524288", Any, ReadOnly, Medium => Idle(NO_SASL);
    "security.inter.broker.protocol": String = "PLAINTEXT",
        OneOf(&["PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL"]), ReadOnly, Medium
        => Idle(ONE_NODE);
    "security.providers": String = null, Any, ReadOnly, Low => Idle(NO_JVM);
    "ssl.allow.dn.changes": Boolean = "false", Any, ReadOnly, Low => Idle(NO_TLS);
    "ssl.allow.san.changes": Boolean = "false", Any, ReadOnly, Low => Idle(NO_TLS);
    "ssl.cipher.suites": List = "", Any, PerBroker, Medium => Idle(NO_TLS);
    "ssl.client.auth": String = "none", OneOf(&["required", "requested", "none"]), PerBroker, Medium => Refused(NO_TLS);
    "ssl.enabled.protocols": List = "TLSv1.2,TLSv1.3", Any, PerBroker, Medium => Idle(NO_TLS);
    "ssl.endpoint.identification.algorithm": String = "https", Any, PerBroker, Low => Idle(NO_TLS);
    "ssl.engine.factory.class": Class = null, Any, PerBroker, Low => Refused(NO_TLS);
    "ssl.key.password": Password = null, Any, PerBroker, Medium => Refused(NO_TLS);
    "ssl.keymanager.algorithm": String = "SunX509", Any, PerBroker, Medium => Idle(NO_TLS);
    "ssl.keystore.certificate.chain": Password = null, Any, PerBroker, Medium => Refused(NO_TLS);
    "ssl.keystore.key": Password = null, Any, PerBroker, Medium => Refused(NO_TLS);
    "ssl.keystore.location": String = null, Any, PerBroker, Medium => Refused(NO_TLS);
    "ssl.keystore.password": Password = null, Any, PerBroker, Medium => Refused(NO_TLS);
    "ssl.keystore.type": String = "JKS", Any, PerBroker, Medium => Idle(NO_TLS);
    "ssl.principal.mapping.rules": String = "DEFAULT", Any, ReadOnly, Low => Idle(NO_TLS);
    "ssl.protocol": String = "TLSv1.3", Any, PerBroker, Medium => Idle(NO_TLS);
    "ssl.provider": String = null, Any, PerBroker, Medium => Idle(NO_TLS);
    "ssl.secure.random.implementation": String = null, Any, PerBroker, Low => Idle(NO_TLS);
    "ssl.trustmanager.algorithm": String = "PKIX", Any, PerBroker, Medium => Idle(NO_TLS);
    "ssl.truststore.certificates": Password = null, Any, PerBroker, Medium => Refused(NO_TLS);
    "ssl.truststore.location": String = null, Any, PerBroker, Medium => Refused(NO_TLS);
    "ssl.truststore.password": Password = null, Any, PerBroker, Medium => Refused(NO_TLS);
    "ssl.truststore.type": String = "JKS", Any, PerBroker, Medium => Idle(NO_TLS);
};
