# shellcheck shell=bash
# The lab: one page that shows the flow live, breaks its parts by a button, and asks the audits (tools/lab).
#
# Relays are processes of their own, so that the relay of orders can be frozen: the settings of two instances, with one of
# each service.

LAB_PARTS=(postgres kafka ${BESIDE[@]+"${BESIDE[@]%% *}"} "${SERVICES[@]/%/-relay}" "${SERVICES[@]}")

command_lab() { # [--check]
  local run=run_lab
  case "$*" in
    '') ;;
    --check) run=drive_lab ;;
    *) usage_error "lab takes nothing, or --check" ;;
  esac
  set_instances 2
  ! port_is_open "$(lab_port)" || die "port $(lab_port), for the lab, is taken: set IDEM_PORT_BASE to another number"
  require_for "${LAB_PARTS[@]}"
  if [[ $run == drive_lab ]]; then
    require node npm chromium psql && require_node
    locked prepare_lab_browser
  fi
  build_programs lab
  export_servers
  export IDEM_DEV=$ROOT/dev IDEM_SKIP_BUILD=yes
  with_parts "${LAB_PARTS[@]}" -- "$run"
}

lab_port() { echo "$IDEM_PORT_BASE"; }

# Until Ctrl-C.
run_lab() {
  open_lab &
  "$BIN_DIR/lab" --listen "127.0.0.1:$(lab_port)"
}

# Opens the page for a person at the terminal, if the system can.
open_lab() {
  local opener deadline=$((SECONDS + 30))
  [[ -t 1 ]] || return 0
  opener=$(command -v xdg-open || command -v open) || return 0
  until port_is_open "$(lab_port)"; do
    ((SECONDS < deadline)) || return 0
    sleep 0.2
  done
  "$opener" "http://127.0.0.1:$(lab_port)/" >/dev/null 2>&1 || true
}

prepare_lab_browser() {
  local folder
  prepare_browser
  folder=$(client_folder lab)
  cp "$ROOT/tools/lab/browser/check.mjs" "$folder" && ln -s "$(browser_home)/node_modules" "$folder/node_modules"
}

# Drives the page by Chromium: every button, and a planted violation. IDEM_WRITE_FIGURES=1 writes the screenshots of the README.
# In a subshell, so that the lab ends with it, also on Ctrl-C.
drive_lab() (
  port=$(lab_port)
  trap 'kill_process lab || true' EXIT
  trap 'exit 130' INT
  trap 'exit 143' TERM HUP
  launch lab "$BIN_DIR/lab" --listen "127.0.0.1:$port"
  await_ready lab 30 port_is_open "$port"
  [[ -z ${IDEM_WRITE_FIGURES:-} ]] || export IDEM_WRITE_FIGURES=$ROOT/docs/figures
  IDEM_LAB=http://127.0.0.1:$port/ IDEM_CHROMIUM=$(command -v chromium) node "$IDEM_DEV_DIR/clients/lab/check.mjs" ||
    die "the page of the lab failed: see above"
  say "lab passed"
)
