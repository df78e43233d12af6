//! The rooms of the services keep the arrows of docs/architecture.md.

use architecture::modules::Modules;
use architecture::rooms::violations;
use architecture::services;

#[test]
fn every_service_keeps_the_arrows_between_its_rooms() {
    let mut found = Vec::new();
    for (service, folder) in services::folders() {
        let modules = Modules::read(&folder.join("src")).expect("the service's sources");
        assert!(modules.0.len() > 10, "{service} has {} files: were they read?", modules.0.len());
        found.extend(violations(service, &modules));
    }
    assert!(found.is_empty(), "{} violations:\n  {}", found.len(), found.join("\n  "));
}
