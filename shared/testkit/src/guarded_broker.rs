//! A Kafka broker with an authorizer, and its users.

use std::fs::{self, Permissions};
use std::ops::Deref;
use std::os::unix::fs::PermissionsExt;

use messaging::Brokers;
use tokio::process::Command;

use crate::{Authority, Broker, BrokerTls, given};

/// The programs in Kafka's folder `bin`, and their classes.
const TOOLS: [(&str, &str); 2] = [("kafka-topics.sh", "TopicCommand"), ("kafka-acls.sh", "AclCommand")];

/// A broker that refuses its users what no rule allows. Derefs to the [`Broker`], whose own clients may do everything.
pub struct GuardedBroker {
    broker: Broker,
    authority: Authority,
}

impl GuardedBroker {
    /// Starts an empty broker without rules; returns once it answers.
    pub async fn start() -> Self {
        let authority = Authority::new();
        authority.file("super_users", "User:CN=127.0.0.1;User:CN=idem");
        let broker = Broker::with_tls(BrokerTls::with_client_certificates(&authority)).await;
        for (tool, class) in TOOLS {
            let java = "${JAVA:-${JAVA_HOME:+$JAVA_HOME/bin/}java}";
            let options = "-XX:+UseSerialGC -XX:TieredStopAtLevel=1 -XX:-UsePerfData -XX:SharedArchiveFile=kafka.jsa \
                           -Dlog4j2.configurationFile=log4j2.properties -cp 'libs/*'";
            let call = format!("exec \"{java}\" {options} org.apache.kafka.tools.{class} \"$@\"");
            let path = authority.file(tool, &format!("#!/bin/sh\ncd \"$IDEM_KAFKA_HOME\" && {call}\n"));
            fs::set_permissions(path, Permissions::from_mode(0o755)).unwrap();
        }
        Self { broker, authority }
    }

    /// The broker for clients that show the certificate of this user, `User:CN=NAME`.
    pub fn as_user(&self, name: &str) -> Brokers {
        let (chain, key) = self.authority.sign(name);
        let properties = [
            ("security.protocol", "SSL".to_owned()),
            ("ssl.ca.location", self.path("ca.pem")),
            ("ssl.certificate.location", self.authority.file(&format!("{name}.pem"), &chain)),
            ("ssl.key.location", self.authority.file(&format!("{name}.key"), &key)),
        ];
        Brokers::new(self.brokers().bootstrap(), properties).unwrap()
    }

    /// Makes topics and rules for all services, by `deploy/production/kafka.sh`.
    pub async fn prepare_for(&self, deployment: &str) {
        let script = concat!(env!("CARGO_MANIFEST_DIR"), "/../../deploy/production/kafka.sh");
        self.run(script, &[deployment]).await;
    }

    /// Runs `kafka-acls.sh` for a user.
    pub async fn change_rules(&self, change: &str, user: &str, rule: &[&str]) {
        let principal = format!("User:CN={user}");
        self.run("kafka-acls.sh", &[&[change, "--force", "--allow-principal", &principal], rule].concat())
            .await;
    }

    /// Runs a program with Kafka's tools in its PATH, or one of them.
    async fn run(&self, program: &str, arguments: &[&str]) {
        let folder = self.authority.folder();
        let (broker, trusted) = (self.path("broker.pem"), self.path("ca.pem"));
        let connection = format!(
            "security.protocol=SSL\nssl.keystore.type=PEM\nssl.keystore.location={broker}\n\
             ssl.truststore.type=PEM\nssl.truststore.location={trusted}\n"
        );
        let output = Command::new(folder.join(program))
            .args(arguments)
            .args(["--bootstrap-server", self.brokers().bootstrap()])
            .args(["--command-config", &self.authority.file("admin.properties", &connection)])
            .env("PATH", format!("{}:{}", folder.display(), given("PATH")))
            .env("IDEM_KAFKA_HOME", given("IDEM_KAFKA_HOME"))
            .envs([("PRINCIPAL", "User:CN=%s"), ("REPLICATION_FACTOR", "1"), ("MIN_INSYNC_REPLICAS", "1")])
            .output()
            .await
            .unwrap();
        assert!(output.status.success(), "{program}: {output:?}");
    }

    fn path(&self, file: &str) -> String {
        self.authority.folder().join(file).display().to_string()
    }
}

impl Deref for GuardedBroker {
    type Target = Broker;
    fn deref(&self) -> &Broker {
        &self.broker
    }
}
