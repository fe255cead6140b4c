# bash completion for arborfs

# ids of the sessions, the newest first, each with a tab and its title
_arborfs_sessions() {
  printf 'latest\tthe session that was written last\n'
  arborfs ls --json -n 0 "$@" 2>/dev/null | sed -n -e 's/,"title":"","firstMessage":/,"title":/' \
    -e 's/^{"session":"\([A-Za-z0-9_.@~%-]*\)",.*,"title":"\(\([^"\\]\|\\.\)*\)".*/\1\t\2/p'
}

# bash breaks AGENT:ID into three words; sets `words` to those of the line with AGENT:ID as one.
_arborfs_join_words() {
  local i
  words=("${COMP_WORDS[0]}")
  for ((i = 1; i <= COMP_CWORD; i++)); do
    if [[ ${COMP_WORDS[i]} == : || ${COMP_WORDS[i - 1]} == : ]]; then
      words[-1]+=${COMP_WORDS[i]}
    else
      words+=("${COMP_WORDS[i]}")
    fi
  done
}

# Offers the sessions that begin with the current word, which may be AGENT:ID; if bash broke it, only ID is replaced.
# If none does, those whose title has the word: an empty offer keeps bash from replacing it before one is left.
# With several, bash shows the titles too; the words are not passed to compgen, which would expand them.
_arborfs_offer_sessions() {
  local session title before='' found=() titled=() word rows
  if [[ $cur == *:* ]]; then
    set -- "$@" --agent "${cur%%:*}"
    [[ ${COMP_WORDS[COMP_CWORD]} != "$cur" ]] || before=${cur%%:*}:
  fi
  word=${cur#*:}
  mapfile -t rows < <(_arborfs_sessions "$@")
  for title in "${rows[@]}"; do
    session=${title%%$'\t'*}
    [[ $session == "$word"* ]] || continue
    found+=("$before$session")
    titled+=("$before$session  (${title:${#session}+1:60})")
  done
  if ((${#found[@]} == 0 && ${#word} > 2)); then
    for title in "${rows[@]}"; do
      session=${title%%$'\t'*}
      [[ ${title,,} == *$'\t'*"${word,,}"* ]] || continue
      found+=("$before$session")
      titled+=("$before$session  (${title:${#session}+1:60})")
    done
    ((${#found[@]} < 2)) || {
      found+=(' ')
      titled+=(' ')
    }
  fi
  COMPREPLY=("${found[@]}")
  if ((${#found[@]} > 1)) && [[ ${COMP_TYPE-} == 63 ]]; then
    COMPREPLY=("${titled[@]}")
  fi
}

# compgen -W expands its words: what a log or a file is called must not be run, so only plain names are offered.
_arborfs_trash() {
  printf 'latest\n'
  arborfs restore --json 2>/dev/null | sed -n 's/^{"name":"\([A-Za-z0-9._%-]*\)".*/\1/p'
}

# labels, and ids of the newest entries, of the session in $1
_arborfs_entries() {
  printf '%s\n' leaf last last-user last-assistant
  arborfs tree --json "${@:2}" -- "$1" 2>/dev/null |
    sed -n -e 'h' -e 's/^{"entry":\([0-9]*\),"id":"\([A-Za-z0-9_.-]*\)".*/\1 \2/p' -e 'g' \
      -e 's/^{"entry":\([0-9]*\),.*,"labels":\["\([A-Za-z0-9_.-]*\)"[],].*/\1 \2/p' | sort -rn | head -n 400 |
    cut -d ' ' -f 2
}

_arborfs() {
  local cur prev verb='' words=() stores=() given=() i option options
  _arborfs_join_words
  cur=${words[-1]}
  prev=${words[-2]}
  COMPREPLY=()
  for ((i = 1; i < ${#words[@]} - 1; i++)); do
    case ${words[i]} in
      mount | umount | ls | du | show | tree | context | text | files | commands | changes | export | open | tail | wait | search | history | stats | resume | doctor | stores | completion | skill | \
        append | branch | label | title | tag | archive | unarchive | pin | unpin | summary | fork | new | checkpoint | rewind | rm | restore | trash | prune | protect | relocate | undo)
        [[ -z $verb ]] || given+=("${words[i]}")
        verb=${verb:-${words[i]}}
        ;;
      -f)
        [[ $verb != append ]] || ((++i))
        ;;
      --store | --agent-dir | --durability | --file | --at | -o | --options | -n | --limit | -p | --project | -a | --agent | --by | --since | --until | --title | --to | \
        --model | --provider | --parent-session | --text | --branch | --sort | --color | --keep-days | --keep-count | --days | --state | --role | --tool | --label | --path | --tag | --output | -d | --delete | --without | --redact-output)
        option=${words[i++]}
        [[ ${words[i]} != = ]] || ((++i))
        if [[ $option == --store && ${words[i + 1]-} == = ]]; then
          stores+=(--store "${words[i]}=${words[i + 2]-}")
          ((i += 2))
        elif [[ $option == --store || $option == --agent-dir ]]; then
          stores+=("$option" "${words[i]-}")
        fi
        ;;
      -*) ;;
      *)
        given+=("${words[i]}")
        ;;
    esac
  done

  case $prev in
    --store)
      compopt -o nospace 2>/dev/null
      mapfile -t COMPREPLY < <(compgen -W 'omp= pi= opal= opencode= claude= codex= goat=' -- "$cur")
      return
      ;;
    --by)
      mapfile -t COMPREPLY < <(compgen -W 'day week month project model agent session host' -- "$cur")
      return
      ;;
    --agent-dir)
      compopt -o filenames 2>/dev/null
      mapfile -t COMPREPLY < <(compgen -d -- "$cur")
      return
      ;;
    -o | --options | --output)
      if [[ $verb == export ]]; then
        compopt -o filenames 2>/dev/null
        mapfile -t COMPREPLY < <(compgen -f -- "$cur")
        return
      fi
      mapfile -t COMPREPLY < <(compgen -W 'ro rw allow_other live=write allow_delete history durability=none xattr noxattr noinotify redact nosearchindex nonotify store= agent_dir= log= index_memory= debug noexec noatime auto_unmount' -- "$cur")
      return
      ;;
    -p | --project)
      mapfile -t COMPREPLY < <(compgen -W "$(arborfs ls --json "${stores[@]}" 2>/dev/null |
        sed -n 's/.*"project":"\([^"]*\)".*/\1/p' | sort -u)" -- "$cur")
      return
      ;;
    -a | --agent)
      mapfile -t COMPREPLY < <(compgen -W "$(arborfs ls --json "${stores[@]}" 2>/dev/null |
        sed -n 's/.*"agent":"\([^"]*\)".*/\1/p' | sort -u)" -- "$cur")
      return
      ;;
    --at)
      mapfile -t COMPREPLY < <(compgen -W "$(_arborfs_entries "${given[0]-latest}" "${stores[@]}")" -- "$cur")
      return
      ;;
    --color)
      mapfile -t COMPREPLY < <(compgen -W 'auto always never' -- "$cur")
      return
      ;;
    --sort)
      mapfile -t COMPREPLY < <(compgen -W 'modified title project agent size cost' -- "$cur")
      return
      ;;
    --branch)
      mapfile -t COMPREPLY < <(compgen -W "$(_arborfs_entries "${given[0]-latest}" "${stores[@]}")" -- "$cur")
      return
      ;;
    -n | --limit | --text | --title | --model | --provider | --keep-days | --keep-count | --days | --tool | --label)
      return
      ;;
    --to)
      mapfile -t COMPREPLY < <(compgen -W 'omp pi opal opencode claude goat' -- "$cur")
      return
      ;;
    --role)
      options='user assistant tool summary system'
      [[ $verb == text ]] && options+=' thinking'
      mapfile -t COMPREPLY < <(compgen -W "$options" -- "$cur")
      return
      ;;
    --since | --until)
      mapfile -t COMPREPLY < <(compgen -W 'today yesterday this-week last-week this-month last-month 1d 1w' -- "$cur")
      return
      ;;
    --state)
      mapfile -t COMPREPLY < <(compgen -W 'live maybe quiet' -- "$cur")
      return
      ;;
    --durability)
      mapfile -t COMPREPLY < <(compgen -W 'synced none' -- "$cur")
      return
      ;;
    --parent-session)
      _arborfs_offer_sessions "${stores[@]}"
      return
      ;;
  esac

  if [[ ($verb == append && $prev == -f) || $prev == --file ]]; then
    compopt -o filenames 2>/dev/null
    mapfile -t COMPREPLY < <(compgen -f -- "$cur")
    return
  fi

  case $verb in
    '')
      options='mount umount ls du show tree context text files commands changes export open tail wait search history stats resume append branch label title tag archive unarchive pin unpin summary fork new checkpoint rewind rm restore trash prune protect relocate undo doctor stores completion skill'
      options+=' help --help --version'
      ;;
    mount) options='--json --store --agent-dir --durability --foreground --options --help' ;;
    trash) options='--json --store --agent-dir --days --dry-run --yes --help' ;;
    umount | completion | skill) options='--json --help' ;;
    ls) options='--json --color --store --agent-dir --sort --limit --project --agent --since --until --state --model --tag --label --cost --size --children --quiet --help' ;;
    search) options='--json --color --store --agent-dir --limit --project --agent --title --tag --path --since --until --role --tool --label --help' ;;
    history) options='--json --color --store --agent-dir --limit --project --agent --since --until --help' ;;
    tail) options='--json --store --agent-dir --all --help' ;;
    show | tree) options='--json --color --store --agent-dir --help' ;;
    text) options='--json --color --store --agent-dir --code --role --branch --help' ;;
    files | commands | changes) options='--json --color --store --agent-dir --branch --children --help' ;;
    export) options='--json --store --agent-dir --html --markdown --atif --branch --all-branches --with-children --redact --yes --output --help' ;;
    stats) options='--json --color --store --agent-dir --by --since --until --in --project --agent --help' ;;
    resume) options='--json --store --agent-dir --print --list --force --project --agent --help' ;;
    append) options='--json --store --agent-dir --text --file --at --note --queue --force --durability --help' ;;
    fork) options='--json --store --agent-dir --title --to --full --without --redact-output --force --durability --help' ;;
    branch) options='--json --store --agent-dir --pin --force --durability --help' ;;
    label | title | summary | archive | unarchive | pin | unpin) options='--json --store --agent-dir --force --durability --help' ;;
    tag) options='--json --store --agent-dir --delete --durability --help' ;;
    checkpoint) options='--json --store --agent-dir --durability --help' ;;
    rewind) options='--json --store --agent-dir --dry-run --force --durability --help' ;;
    new) options='--json --store --agent-dir --agent --title --model --provider --parent-session --durability --help' ;;
    rm) options='--json --store --agent-dir --force --yes --help' ;;
    protect) options='--json --store --agent-dir --all --help' ;;
    relocate) options='--json --store --agent-dir --dry-run --durability --help' ;;
    undo) options='--json --store --agent-dir --durability --list --force --help' ;;
    prune)
      options='--json --store --agent-dir --keep-days --keep-count --project --agent --labelled --dry-run --yes --help'
      ;;
    doctor) options='--json --store --agent-dir --repair --dry-run --force --help' ;;
    *) options='--json --store --agent-dir --help' ;;
  esac
  if [[ -z $verb || $cur == -* ]]; then
    mapfile -t COMPREPLY < <(compgen -W "$options" -- "$cur")
    return
  fi
  case $verb in
    mount | umount | new | relocate)
      compopt -o filenames 2>/dev/null
      mapfile -t COMPREPLY < <(compgen -d -- "$cur")
      ;;
    trash)
      mapfile -t COMPREPLY < <(compgen -W 'list empty' -- "$cur")
      ;;
    completion)
      mapfile -t COMPREPLY < <(compgen -W 'bash zsh fish' -- "$cur")
      ;;
    restore)
      mapfile -t COMPREPLY < <(compgen -W "$(_arborfs_trash)" -- "$cur")
      ;;
    doctor | du | rm)
      _arborfs_offer_sessions "${stores[@]}"
      ;;
    checkpoint)
      if ((${#given[@]} == 0)); then
        _arborfs_offer_sessions "${stores[@]}"
      elif ((${#given[@]} > 1)); then
        compopt -o filenames 2>/dev/null
        mapfile -t COMPREPLY < <(compgen -f -- "$cur")
      fi
      ;;
    show | tree | context | text | files | commands | changes | export | open | tail | wait | resume | append | branch | label | title | tag | summary | fork | rewind | protect)
      if ((${#given[@]} == 0)); then
        _arborfs_offer_sessions "${stores[@]}"
      elif ((${#given[@]} == 1)) && [[ $verb =~ ^(context|text|branch|label|fork)$ ]]; then
        mapfile -t COMPREPLY < <(compgen -W "$(_arborfs_entries "${given[0]}" "${stores[@]}")" -- "$cur")
      fi
      ;;
  esac
}

complete -F _arborfs arborfs
