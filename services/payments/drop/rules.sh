# shellcheck shell=bash
# shellcheck disable=SC2016 # perl expands its own variables
# Removes what serves payments alone, outside of its folder. The patches beside this file change the rest: an order is confirmed when its
# stock is reserved.

drop_payments() {
  local file
  rm -r tools/{stripe-sim,bench,lab} tests/clients \
    shared/contracts/src/{payment_ids,payment_method,events/payments}.rs \
    shared/contracts/tests/golden/{payments.*,orders.PaymentRequested.v1.json} tests/mutants/key-per-attempt.patch \
    services/orders/tests/orders/payments.rs tests/architecture/tests/architecture/lab.rs
  forget_commands . lab bench clients
  change_text Cargo.toml 's/"tools\/(?:bench|lab|stripe-sim)",? ?//g; s/, \]/]/'
  change_text tools/dev.d/rare/fuzz-bytes.sh 's/^(?:signature|form) [^\n]*\n//mg; s/\n\n(?=# The counters)/"\n\n/'
  delete_blocks openapi/events.asyncapi.yaml ' *(?:- \{ name: payments,|payments\.\w|orders\.PaymentRequested|Payment\w+:|RefundId:)'
  for file in services/orders/tests/orders/*.rs $(git ls-files {services,skeleton}/'*/conformance.toml') services/orders/{e2e/contract.rs,README.md} tests/{fuzz/world.py,load/lib.js} README.md docs/walkthrough.md; do
    edit_text "$file" 's/,\s*"?payment_method"?: ?["\x27][^"\x27]*["\x27]//g; s/^ *payment_method: [^\n]*\n//mg'
  done
  change_text shared/crashpoint/src/enabled.rs 's/^    "(?:charge|refund|webhook)\.[^\n]*\n//mg'
  change_text shared/crashpoint/tests/marks.rs 's/^    crashpoint::reach!\("(?:charge|refund|webhook)\.[^\n]*\n//mg'
  change_text shared/crashpoint/README.md 's/^\| `(?:charge|refund|webhook)\.[^\n]*\n//mg'
  change_text tests/load/lib.js 's/^export const PAYMENTS[^\n]*\n//m'
  change_text tests/load/soak.js 's/, PAYMENTS//; s/, charges with refunds//; s/^  else if \(chance < 0\.9\) charge[^\n]*\n//m; s/^function charge.*?^\}\n\n//ms'
  change_text README.md 's/^`\.\/dev lab` opens.*?\n\n(?:<picture>.*?\n\n)?//ms'
  # The part of an order's way that leads through payments.
  change_text docs/walkthrough.md 's/^4\. \[`decide`\][^\n]*call\.rs[^\n]*\n//m; s/^    participant [PS] [^\n]*\n|^    \w-+>>[PS]: [^\n]*\n|^    [PS]-+>>[^\n]*\n//mg;
    s/^\*\*1[1-5]\. .*?(?=^\*\*16\. )/**11. Orders confirms the order.** [`consumer`](..\/services\/orders\/src\/consumers.rs) passes `StockReserved` to /ms;
    s/^\*\*16\. Orders confirms\.\*\* The same (\[`apply`\]\([^)]*\)) moves/$1, which moves/m' &&
    edit_text docs/walkthrough.md 's/^(\*\*11\. [^\n]*to )\n*/$1/m; s/^ *\[`confirm_order`\][^\n]*\n|(?<=\.) \[`confirm_order`\][^\n]*//mg; s/^\*\*17\. /**12. /m'
  forget_sections docs/walkthrough.md 'An unknown outcome|One refund|One webhook'
  forget_sections docs/repairs.md 'A review of money|Reconciliation with the processor|The key of a client'
  forget_sections docs/glossary.md 'Money'
}
