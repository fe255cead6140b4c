# Sourced by tools/run and tools/setup: says that a command is at work, and how far it is.

# follow WHAT LOG PATTERN COMMAND...
# Runs the command with all its output in the file LOG: a pipe could be full, and apt makes the output of its children
# non-blocking. Says WHAT and the seconds so far at least every four seconds (on a terminal every second, in one line),
# and the percentage that the group of PATTERN last found in the log. Returns the command's status.
follow() {
  local what=$1 log=$2 pattern=$3 percent='' started=$SECONDS said status=0 reporter
  shift 3
  : >"$log"
  say_progress
  report_progress &
  reporter=$!
  "$@" </dev/null >"$log" 2>&1 || status=$?
  kill "$reporter" 2>/dev/null || true
  wait "$reporter" 2>/dev/null || true
  [[ ! -t 1 ]] || printf '\r\033[K%s: %d s\n' "$what" $((SECONDS - started))
  return "$status"
}

# With the variables of follow, until it is killed or the script has ended.
report_progress() {
  local line
  while sleep 1 && kill -0 $$ 2>/dev/null; do
    while IFS= read -r line; do
      [[ ! $line =~ $pattern ]] || percent=" ${BASH_REMATCH[1]} %"
    done < <(tail -c 8192 "$log" | tr -d '\0')
    if [[ -t 1 ]] || ((SECONDS - said >= 4)); then
      say_progress
    fi
  done
}

# With the variables of follow.
say_progress() {
  said=$SECONDS
  if [[ -t 1 ]]; then
    printf '\r\033[K%s%s, %d s' "$what" "$percent" $((SECONDS - started))
  else
    printf '%s%s, %d s\n' "$what" "$percent" $((SECONDS - started))
  fi
}
