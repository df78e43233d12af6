# shellcheck shell=bash
# Background processes: each has a session of its own, and is identified by pid and start time.
#
# run/NAME.pid holds "PID IDENTITY". The identity is the start time of the process. If the pid now belongs to another
# process, the file is stale, and that process is never signalled.

# Prints the start time of the process; nothing if it has ended or is a zombie.
process_identity() { # pid
  if [[ -r /proc/self/stat ]]; then
    local stat
    { stat=$(<"/proc/$1/stat"); } 2>/dev/null || return 0
    # shellcheck disable=SC2086 # the fields after the program's name, which may hold spaces
    set -- ${stat##*) }
    [[ $1 == Z ]] || echo "${20}"
  else
    ps -o lstart= -p "$1" 2>/dev/null | tr -s ' ' '_'
  fi
}

# Prints the pid of a running process that this checkout started; otherwise fails.
pid_of() { # name
  local pid identity
  [[ -r $RUN_DIR/$1.pid ]] || return 1
  read -r pid identity <"$RUN_DIR/$1.pid" || return 1
  [[ $pid =~ ^[0-9]+$ && -n $identity && $(process_identity "$pid") == "$identity" ]] || return 1
  echo "$pid"
}

is_running() { # name
  pid_of "$1" >/dev/null
}

# Starts a program in the background. The child writes its pid file before it becomes the program. So even kill -9 of
# this script leaves no process without a pid file.
launch() { # name command...
  local name=$1 log=$LOG_DIR/$1.log detach=(env) deadline=$((SECONDS + 10))
  shift
  [[ ! -s $log ]] || mv "$log" "$log.1"
  ! command -v setsid >/dev/null || detach=(setsid)
  rm -f "$RUN_DIR/$name.pid"
  # shellcheck disable=SC2016 # expands in the child
  "${detach[@]}" bash -c '
    trap "" HUP
    source "$1" && file=$2 && shift 2
    echo "$$ $(process_identity "$$")" >"$file.new" && mv "$file.new" "$file" && exec "$@"
  ' launch "$ROOT/tools/dev.d/process.sh" "$RUN_DIR/$name.pid" "$@" >"$log" 2>&1 </dev/null 9>&- &
  disown
  until [[ -e $RUN_DIR/$name.pid ]]; do
    ((SECONDS < deadline)) || die "$name could not be started: see $log"
    sleep 0.02
  done
}

# Waits until a probe succeeds. If the process ends first, fails at once and shows the end of its log.
await_ready() { # name seconds probe...
  local name=$1 deadline=$((SECONDS + $2)) limit=$2
  shift 2
  until "$@"; do
    if ! is_running "$name"; then
      show_tail "$name"
      die "$name ended before it was ready"
    fi
    if ((SECONDS >= deadline)); then
      show_tail "$name"
      die "$name was not ready within ${limit}s"
    fi
    sleep 0.1
  done
}

show_tail() { # name
  say "---- the end of $LOG_DIR/$1.log ----"
  tail -n 30 "$LOG_DIR/$1.log" >&2
  say "----"
}

# Pauses a process and its children. Their connections stay open and are not served. Signals other than KILL wait until
# the process is resumed.
pause_process() { # name
  local pid
  pid=$(pid_of "$1") || return 1
  signal_all STOP "$pid"
  until is_paused "$1"; do sleep 0.02; done
  say "$1 paused"
}

resume_process() { # name
  local pid
  pid=$(pid_of "$1") || return 1
  signal_all CONT "$pid"
  say "$1 resumed"
}

is_paused() { # name
  local pid state stat
  pid=$(pid_of "$1") || return 1
  if [[ -r /proc/self/stat ]]; then
    { stat=$(<"/proc/$pid/stat"); } 2>/dev/null || return 1
    state=${stat##*) }
  else
    state=$(ps -o stat= -p "$pid" 2>/dev/null) || return 1
  fi
  [[ $state == T* ]]
}

signal_all() { # signal pid
  # shellcheck disable=SC2046 # a list of pids
  kill -s "$1" "$2" $(children_of "$2") 2>/dev/null
}

# Sends the signal to a process, and kills the process if it runs longer than the given time.
stop_process() { # name signal seconds
  local name=$1 signal=$2 deadline=$((SECONDS + $3)) pid
  if pid=$(pid_of "$name"); then
    kill -s "$signal" "$pid" 2>/dev/null
    ! is_paused "$name" || signal_all CONT "$pid"
    while is_running "$name"; do
      if ((SECONDS >= deadline)); then
        say "$name did not end within ${3}s: killing it"
        kill_process "$name"
        return
      fi
      sleep 0.05
    done
    say "$name stopped"
  fi
  rm -f "$RUN_DIR/$name.pid"
}

# kill -9 of a process and its children. PostgreSQL's children would otherwise keep its shared memory for a moment.
kill_process() { # name
  local pid
  pid=$(pid_of "$1") || return 1
  signal_all KILL "$pid"
  while is_running "$1"; do sleep 0.02; done
  rm -f "$RUN_DIR/$1.pid"
  say "$1 killed"
}

children_of() { # pid
  if [[ -r /proc/$1/task/$1/children ]]; then
    cat "/proc/$1/task/"*/children
  else
    pgrep -P "$1"
  fi 2>/dev/null
}

# The memory of a process and its children in MiB. Where the system reports it, shared pages count once.
memory_of() { # pid
  local pid kib total=0
  for pid in "$1" $(children_of "$1"); do
    kib=$(awk '/^Pss:/ { print $2 }' "/proc/$pid/smaps_rollup" 2>/dev/null) || kib=
    [[ -n $kib ]] || kib=$(ps -o rss= -p "$pid" 2>/dev/null) || kib=0
    total=$((total + ${kib:-0}))
  done
  echo $((total / 1024))
}
