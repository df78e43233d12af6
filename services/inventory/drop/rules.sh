# shellcheck shell=bash
# shellcheck disable=SC2016 # perl expands its own variables
# Removes what serves inventory alone, outside of its folder. The patches beside this file change the rest: an order requests its payment
# when it is placed, and orders is the source of its catalogue.

drop_inventory() {
  local file
  rm -r tools/{bench,lab} tests/clients shared/contracts/src/events/inventory.rs shared/contracts/tests/golden/inventory.* \
    tests/architecture/tests/architecture/lab.rs tests/load/hot-sku.js tools/demo/src/steps/cancelled.rs \
    docs/how-to/a-consumer.diff
  forget_commands . lab bench clients
  change_text Cargo.toml 's/"tools\/(?:bench|lab)",? ?//g; s/, \]/]/'
  change_text tests/architecture/tests/architecture/main.rs 's/^mod lab;\n//m'
  change_text dev 's/hot-key, hot-sku/hot-key/' && change_text tools/dev.d/rare/load.sh 's/ hot-sku//'
  delete_blocks openapi/events.asyncapi.yaml ' *(?:- \{ name: inventory,|inventory\.\w|Stock\w+:|ItemChanged:|ItemId:)'
  # The catalogue is written as inventory's items are.
  cp services/inventory/src/api/put_item.rs services/orders/src/api/put_catalogue_entry.rs
  change_text services/orders/src/api/put_catalogue_entry.rs 's/v1\/items/v1\/catalogue/g; s/`: creates an item, or/`: puts an item into the catalogue, or/; s/ within moments//; s/ A new item has no stock\.//; s/"items"/"catalogue"/;
    s/\/\/\/ Create an item/\/\/\/ Put an item into the catalogue/; s/inventory:write/orders:write/g; s/putItem/putCatalogueEntry/; s/PutItem(?! as)/PutCatalogueEntry/g; s/ fn put_item/ fn put_catalogue_entry/; s/ItemView/CatalogueEntryView/g'
  for file in shared/contracts/src/events/orders.rs openapi/events.asyncapi.yaml; do
    edit_text "$file" 's/ `?inventory`? (?:reserves|ships) its stock\.//g; s/The stock is held\. (?=`?payments)/The order was placed. /g; s/\[rejected, /[/; s/`?inventory`? releases its stock, and (?=`?payments)//g'
  done
  change_text services/orders/src/consumers.rs 's/^[^\n]*&Stock\w+\|[^\n]*\n//mg'
  for file in services/orders/src/{domain/*,store/orders,transitions,views,operator/discard_warnings}.rs; do
    edit_text "$file" 's/^ *\/\/\/ (?:inventory has [^\n]*|\[`(?:Input::Stock\w+|State::Pending)`\])\n(?= *(?:Stock\w+|Pending),)//mg;
      s/^ *(?:Stock\w+|Pending|Input::Stock\w+ =>[^\n]*|Just\(Input::Stock\w+\)|(?:Self|Status)::Pending =>[^\n]*),\n//mg; s/^ *\([^()]*, I::Stock\w+\) => Ok[^\n]*\n//mg;
      s/I::Stock\w+\s+\| //g; s/ \| I::Stock\w+//g; s/S(tate)?::Pending \| //g; s/\((State::AwaitingPayment)\)/$1/; s/(State|Status)::Pending(?!`)/$1::AwaitingPayment/g'
  done
  for file in services/orders/tests/orders/{timeline,payments}.rs; do
    edit_text "$file" 's/^ *(?:let \w+ = )?peers\.publish\(&Stock[^\n]*\n//mg; s/^ *\["Stock[^\n]*\n//mg; s/#\[tokio::test[^\n]*\nasync fn (?:stock_reserved_after|a_rejected_order).*?^\}\n\n//msg'
  done
  # The rest of orders.
  change_text services/orders/service.toml 's/"inventory", //'
  change_text services/orders/src/schema.rs 's/(?<=payment_id -> )Nullable<Uuid>/Uuid/'
  change_text services/orders/src/lib.rs 's/The prices at which orders are placed/The items on sale, and their prices/'
  change_text services/orders/src/store/readings.rs 's/count\(\*\) FILTER \(WHERE state = \x27pending\x27\)[^\n]*\n *//; s/^    #\[[^\n]*\n    pending: i64,\n//m; s/\{ pending, /{ /; s/\[sample\(Status::Pending, pending\), /[/'
  change_text services/orders/src/api/get_catalogue_entry.rs 's/^\/\/\/\n\/\/\/ The catalogue is a copy.*?(?=^#)//ms'
  change_text services/orders/tests/orders/reading.rs 's/\\"2\\"/\\"3\\"/g; s/\\"1\\"/\\"2\\"/g'
  change_text services/orders/tests/orders/peers.rs 's/^(\/\/! Events of )inventory and /$1/'
  change_text services/orders/conformance.toml 's/ orders learns of it by an event\.//; s/An order without stock is soon cancelled by itself/An order is soon confirmed/'
  for file in $(git ls-files {services,skeleton}/'*/conformance.toml'); do
    edit_text "$file" 's/^INVENTORY = [^\n]*\n//m; s/\[\[prepare\]\]\nserver = "\$\{INVENTORY\}"\nmethod = "POST".*?\n\n//s; s/\$\{INVENTORY\}/\${ORDERS}/; s/v1\/items/v1\/catalogue/'
  done
  change_text services/orders/alerts.yml 's/inventory releases the stock and (?=payments)//'
  change_text tests/fuzz/schemathesis.toml 's/"putItem"/"putCatalogueEntry"/'
  change_text deploy/prometheus/alerts_test.yml 's/inventory/payments/g'
  change_text audits/reliability/an_event_is_announced_once.sql 's/an item changes often, and //; s/\x27inventory\.ItemChanged\.v1\x27, //'
  change_text services/orders/src/api/get_timeline.rs 's/"pending"/"awaiting_payment"/'
  # An order waits for its payment from the beginning.
  for file in services/orders/{tests/orders/*.{rs,sql},src/jobs/expire_orders/tests.rs,src/store/other_tenant.rs} tests/e2e/{src/load,tests/{alerts,journey}}/*.rs \
    tools/operator/tests/operator/explain.rs tools/demo/src/steps/broker.rs; do
    edit_text "$file" 's/(["\x27]|is |status=)pending(?=["\x27;&])/$1awaiting_payment/g; s/Status::Pending/Status::AwaitingPayment/g; s/`pending`, //;
      s/\("cancelled", 1\), (\("awaiting_payment", 1\))/$1, ("cancelled", 1)/'
  done
  # Customers of the tests, of the load and of the demo buy what orders sells, as often as they want.
  for file in tests/e2e/{src/customer.rs,tests/*/*.rs} tools/operator/tests/operator/*.rs tools/demo/src/steps/ready.rs $(git ls-files 'services/payments/e2e/**.rs'); do
    edit_text "$file" 's/Customer::stocked\((.*?), \d[\d_]*\)/Customer::selling($1)/g; s/harness::inventory::/harness::orders::/g'
  done
  # A cancellation at once would meet the charge each time. After a restore that charge is looked up, and a person decides.
  change_text tests/e2e/src/load/mod.rs 's/, and cancels every fifth at once//; s/^        if number\.is_multiple_of\(5\) \{\n[^\n]*\n        \}\n//m; s/\{cancel_order, place_order\}/place_order/'
  change_text tests/e2e/src/load/responses.rs 's/^    \/\/\/ Cancels an order, or is too late\..*?^    \}\n\n//ms'
  for file in tests/load/*.js; do
    edit_text "$file" 's/^export const INVENTORY[^\n]*\n//m; s/ INVENTORY,//; s/\bstock(?=,)/offer/; s/\bstock\((.*?), 1000000\)/offer($1)/'
  done
  change_text tests/load/soak.js 's/, deliveries(?=\.)//; s/^  else deliver\([^\n]*\n//m; s/\n^function deliver.*?^\}\n//ms; s/else if \(chance < 0\.9\) charge/else charge/'
  for file in tools/demo/src/steps/*.rs services/payments/e2e/demo/*.rs; do
    edit_text "$file" 's/demo\.ships\(/demo.ends(/g; s/^ *demo\.reservation_becomes\([^\n]*\n//mg; s/Part::INVENTORY/Part::PAYMENTS/g'
  done
  change_text tools/demo/src/steps/mod.rs 's/^mod cancelled;\n//m; s/^    run\.step\("No stock"[^\n]*\n//m'
  change_text tools/demo/src/traffic.rs 's/^ *demo\.api\.deliver\([^\n]*\n//m'
  change_text tools/demo/src/platform/compose.rs 's/"inventory", (?="postgres")//'
  change_text tools/demo/src/steps/broker.rs 's/"pending orders"/"open orders"/; s/try_from\(ORDERS\)/try_from(2 * ORDERS)/'
  # What tests of the journey and of payments say about stock.
  for file in tests/e2e/tests/journey/*.rs services/payments/e2e/{journey/*,operator}.rs services/payments/e2e/demo/processor.rs; do
    edit_text "$file" 's/^async fn stock\(.*?^\}\n\n//ms; s/^ *assert_eq!\((?:stock\(&customer\)|customer\.stock\(\)|\((?:stock|after)\.on_hand)[^\n]*\n//mg;
      s/^ *let (?:stock|after) = customer\.stock\(\)[^\n]*\n//mg; s/\(before, events\) = \(customer\.stock\(\)\.await, (.*?)\);/events = $1;/; s/^ *eventually\("the stock is[^\n]*\n//m;
      s/^ *(?:let too_many =|customer\.sees\(too_many|\(too_many,)[^\n]*\n//mg; s/, rejected(?=, declined)//; s/_and_its_stock_is_released//; s/_stock_and(?=_money)//;
      s/, stock (?:released|shipped)(?=[";])//g; s/, and its stock is released\././; s/ its stock is released, and the/ the/; s/ and its stock released meanwhile/ meanwhile/'
  done
  change_text services/payments/e2e/journey/late.rs 's/^use testkit::eventually;\n//m'
  change_text services/payments/e2e/journey/erased.rs 's/Orders, money and stock do not/Orders and money do not/; s/^        let adjust(?:ment)? = [^\n]*\n//mg; s/^        writer\.made\(&adjust\)[^\n]*\n//m; s/^        "inventory\.[^\n]*\n//mg'
  change_text services/payments/e2e/journey/spans/mod.rs 's/\("inventory", (?="\\"status)/("orders", /; s/\("inventory", "MessageC/("payments", "MessageC/'
  change_text audits/src/tests/reliability.rs 's/inventory\.ItemChanged/payments.PaymentRefunded/; s/\x27inventory\x27, id\(2\)/\x27payments\x27, id(3)/; s/\x27inventory\x27, id\(1\)/\x27payments\x27, id(2)/g; s/inventory/payments/g'
  # payments is the reader of orders that tests stop.
  for file in tests/e2e/tests/alerts/*.rs; do
    edit_text "$file" 's/inventory/payments/g; s/INVENTORY/PAYMENTS/g; s/TABLE reservation/TABLE payment/g; s/reservation fails/payment fails/'
  done
  # Tests of shared crates that need some events.
  change_text shared/inbox/tests/inbox/metrics.rs 's/ItemId::of\(&"acme"[^\n]*;/PaymentId::generate();/'
  for file in shared/outbox/tests/outbox/*.rs shared/inbox/tests/inbox/*.rs shared/runtime/src/startup.rs; do
    edit_text "$file" 's/streams::INVENTORY/streams::PAYMENTS/g; s/ItemChanged/PaymentDeclined/g; s/StockReserved/PaymentCancelled/g; s/ItemId/PaymentId/g; s/inventory(?=\.events)/payments/g'
  done
  # Documents.
  change_text README.md 's/^( +backlog )20;/${1}40;/m; s/^`\.\/dev lab` opens.*?\n\n(?:<picture>.*?\n\n)?//ms'
  change_text tests/load/README.md 's/^\| `hot-sku`[^\n]*\n//m'
  change_text docs/architecture.md 's/^\|[^\n]*\(how-to\/a-consumer\.diff\)[^\n]*\n//m'
  change_text tools/operator/README.md 's/is pending;/is awaiting_payment;/; s/, stock shipped//; s/, its stock and its money/ and its money/; s/^[^\n]* reservation: [^\n]*\n//m; s/inventory  inbox      OrderPlaced of orders entered, sequence 1/payments   inbox      PaymentRequested of orders entered, sequence 2/'
  change_text skeleton/README.md 's/ so name the rows of both: [^|]* \|/ so name the rows of both |/'
  change_text docs/architecture.md 's/, `tools\/lab`, (`tools\/operator`) and `tools\/bench`/ and $1/; s/services\/inventory\/src\/consumers\.rs\) of inventory/services\/payments\/src\/consumers.rs) of payments/'
  change_text docs/template.md 's/(?<=show a figure): `\.\/dev bench`//'
  change_text docs/glossary.md 's/the copy of items and prices in `orders`, fed by `ItemChanged`/the items on sale and their prices, in `orders`/; s/^- \*\*reservation\*\*[^\n]*\n//m; s/its stock is shipped or released, and //'
  change_text docs/strategies.md 's/^\| orders \| `ItemChanged`[^\n]*/| orders | `PUT \/v1\/catalogue\/{sku}` | 1 | path | its row | entry, fact | waits for the row | never | – | – |/m'
  change_text docs/guarantees.md 's/Stock is conserved and never negative\. //; s/Stock: row locks in one[^|]*?CHECK constraints\. //'
  change_text docs/metrics.md 's/state: pending, awaiting/state: awaiting/g'
  change_text docs/operations.md 's/^inventory erase ([^#]*[^# ])(?= +#)/payments erase $1/m; s/^\| `inventory` \|[^\n]*\n//m'
  change_text docs/repairs.md 's/, stock (?:shipped|released)(?=`)//g; s/inventory could not apply OrderPlaced/payments could not apply PaymentRequested/; s/inventory has not consumed OrderPlaced/payments has not consumed PaymentRequested/;
    s/inventory inbox/payments inbox/g; s/reserved stock or //; s/ After the discard of a cancellation, `inventory release ORDER`[^.]*\.//; s/, adjust the stock, refund/, refund/'
  change_text tests/e2e/README.md 's/Customer::stocked\(&stack, 100\)/Customer::selling(&stack)/; s/"inventory"/"payments"/g'
}
