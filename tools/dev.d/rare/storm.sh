# shellcheck shell=bash
# The storm: kills and freezes of all programs and both servers at random, under load. The test starts servers of its own.

STORM=random::after_kills_and_freezes_of_everything_at_random_every_order_ends_as_promised

command_storm() {
  local minutes=5
  while (($#)); do
    [[ ${2:-} =~ ^[0-9]+$ ]] || usage_error "$1 takes a number"
    case $1 in
      --minutes) minutes=$2 ;;
      --seed) export IDEM_STORM_SEED=$2 ;;
      *) usage_error "storm has no option $1" ;;
    esac
    shift 2
  done
  IDEM_STORM_SECONDS=$((minutes * 60))
  export IDEM_STORM_SECONDS
  command_test --test storms -- --exact "$STORM" --nocapture
}
