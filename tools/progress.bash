# Sourced by tools/run and tools/setup: says that a command is at work, and how far it is.

# follow WHAT LOG PATTERN COMMAND...
# Runs the command with all its output in the file LOG. Says WHAT and the seconds so far at least every four seconds (on
# a terminal every second, in one line), and the percentage that the group of PATTERN last found in a line. Returns the
# command's status.
follow() {
  local what=$1 log=$2 pattern=$3
  shift 3
  "$@" </dev/null 2>&1 | report_progress "$what" "$log" "$pattern"
  return "${PIPESTATUS[0]}"
}

report_progress() {
  local what=$1 log=$2 pattern=$3 line part='' percent='' status started=$SECONDS said=$SECONDS
  : >"$log"
  say_progress
  while true; do
    status=0
    IFS= read -r -t 1 line || status=$?
    part+=$line
    if ((status == 0)); then
      printf '%s\n' "$part" >>"$log"
      [[ ! $part =~ $pattern ]] || percent=" ${BASH_REMATCH[1]} %"
      part=''
    elif ((status <= 128)); then # above: a second without a line
      break
    fi
    if [[ -t 1 ]] || ((SECONDS - said >= 4)); then
      say_progress
    fi
  done
  printf '%s' "$part" >>"$log"
  [[ ! -t 1 ]] || printf '\r\033[K%s: %d s\n' "$what" $((SECONDS - started))
}

# With the variables of report_progress.
say_progress() {
  said=$SECONDS
  if [[ -t 1 ]]; then
    printf '\r\033[K%s%s, %d s' "$what" "$percent" $((SECONDS - started))
  else
    printf '%s%s, %d s\n' "$what" "$percent" $((SECONDS - started))
  fi
}
