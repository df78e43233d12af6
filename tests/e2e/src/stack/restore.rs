//! A dump of a service's database and its restore, with PostgreSQL's own programs.

use std::fs;
use std::path::{Path, PathBuf};

use harness::Part;
use testkit::{TestDatabase, given};
use tokio::process::Command;
use uuid::Uuid;

use super::Stack;

/// A dump of one database, removed when the test ends.
pub struct Dump(PathBuf);

impl Drop for Dump {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}

impl Stack {
    /// Dumps a service's database.
    pub async fn dump(&self, service: Part) -> Dump {
        let file = std::env::temp_dir().join(format!("idem-dump-{}", Uuid::new_v4().simple()));
        let database = self.databases[&service].superuser_url();
        run("pg_dump", &["--format=custom", "--dbname", &database], "--file", &file).await;
        Dump(file)
    }

    /// Gives a service a new database on a server, by a superuser's URL, with the rows of the dump. The service may not run.
    pub async fn restore(&mut self, service: Part, dump: &Dump, server: &str) {
        let new = TestDatabase::empty_on(server).await;
        let database = new.superuser_url();
        run("pg_restore", &["--exit-on-error", "--dbname", &database], "--", &dump.0).await;
        self.databases.insert(service, new);
    }

    /// A person says that the databases of the services are those of the deployment.
    pub async fn adopt_all(&self) {
        for service in Part::SERVICES {
            let adopted = self.operate(service, &["adopt", "--by", "dana", "--reason", "restored"]).await;
            assert!(adopted.is_success(), "{adopted:?}");
        }
    }
}

/// Runs a program of `IDEM_PG_DUMP_HOME`.
async fn run(program: &str, arguments: &[&str], before_file: &str, file: &Path) {
    let path = Path::new(&given("IDEM_PG_DUMP_HOME")).join("bin").join(program);
    let output = Command::new(path).args(arguments).arg(before_file).arg(file).output().await.unwrap();
    assert!(output.status.success(), "{program}: {}", String::from_utf8_lossy(&output.stderr));
}
