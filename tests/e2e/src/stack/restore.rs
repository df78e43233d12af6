//! A dump of the services' databases and its restore on another server. As a dump, it carries rows and positions of sequences,
//! and no transaction number of the old server.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use diesel::sql_types::Text;
use diesel::{QueryableByName, sql_query};
use diesel_async::{AsyncPgConnection, RunQueryDsl, SimpleAsyncConnection};
use harness::Part;
use testkit::TestDatabase;
use uuid::Uuid;

use super::Stack;

/// Each table with its columns, without those that the database computes.
const TABLES: &str = "
    SELECT relname::text AS name, string_agg(quote_ident(attname), ', ' ORDER BY attnum) AS text
      FROM pg_class JOIN pg_attribute ON attrelid = pg_class.oid
     WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'p') AND NOT relispartition
       AND attnum > 0 AND NOT attisdropped AND attgenerated = '' AND relname NOT LIKE '\\_\\_%'
     GROUP BY relname";

/// Each used sequence, with the statement that sets its position.
const SEQUENCES: &str = "
    SELECT sequencename::text AS name, format('SELECT setval(%L, %s)', sequencename, last_value) AS text
      FROM pg_sequences WHERE last_value IS NOT NULL";

#[derive(QueryableByName)]
struct Named {
    #[diesel(sql_type = Text)]
    name: String,
    #[diesel(sql_type = Text)]
    text: String,
}

impl Stack {
    /// Moves the services to another server on this machine, by a superuser's URL. No service may run.
    pub async fn restore_services_on(&mut self, server: &str) {
        let dump = std::env::temp_dir().join(format!("idem-dump-{}", Uuid::new_v4().simple()));
        fs::create_dir(&dump).unwrap();
        // The servers run as another user, and write and read the files.
        fs::set_permissions(&dump, Permissions::from_mode(0o777)).unwrap();
        for service in Part::SERVICES {
            let new = TestDatabase::empty_on(server).await;
            let old = self.databases.insert(service, new).unwrap();
            let migrated = self.operate(service, &["migrate"]).await;
            assert!(migrated.is_success(), "{migrated:?}");
            let folder = dump.join(service.name());
            fs::create_dir(&folder).unwrap();
            fs::set_permissions(&folder, Permissions::from_mode(0o777)).unwrap();
            copy(&mut old.superuser().await, &mut self.databases[&service].superuser().await, &folder).await;
        }
        fs::remove_dir_all(&dump).unwrap();
    }
}

/// Copies every row.
async fn copy(old: &mut AsyncPgConnection, new: &mut AsyncPgConnection, folder: &Path) {
    let tables: Vec<Named> = sql_query(TABLES).load(old).await.unwrap();
    let names: Vec<&str> = tables.iter().map(|table| table.name.as_str()).collect();
    // Triggers check changes of rows, and these rows were checked.
    new.batch_execute("SET session_replication_role = replica").await.unwrap();
    new.batch_execute(&format!("TRUNCATE {} CASCADE", names.join(", "))).await.unwrap();
    for Named { name, text: columns } in &tables {
        let file = folder.join(name);
        let file = file.display();
        old.batch_execute(&format!("COPY (SELECT {columns} FROM {name}) TO '{file}'")).await.unwrap();
        new.batch_execute(&format!("COPY {name} ({columns}) FROM '{file}'")).await.unwrap();
    }
    let sequences: Vec<Named> = sql_query(SEQUENCES).load(old).await.unwrap();
    for Named { text, .. } in sequences {
        new.batch_execute(&text).await.unwrap();
    }
}
