# fish completion for arborfs

# the options of the command line that name stores
function __arborfs_stores
    set -l words (commandline -opc)
    for i in (seq (count $words))
        switch $words[$i]
            case '--store=*' '--agent-dir=*'
                echo $words[$i]
            case --store --agent-dir
                test $i -lt (count $words); and echo $words[$i]=$words[(math $i + 1)]
        end
    end
end

# ids of the sessions, the newest first, each with a tab and its title; after AGENT: those of that agent
function __arborfs_sessions
    set -l agent (string match -r '^[a-z]+(?=:)' -- (commandline -ct))
    set -l before $agent:
    printf '%slatest\tthe session that was written last\n' $before
    arborfs ls --json -n 0 --agent=$agent (__arborfs_stores) 2>/dev/null | string replace ',"title":"","firstMessage":' ',"title":' |
        string replace -rf '^\{"session":"([A-Za-z0-9_.@~%-]*)",.*?,"title":"((?:[^"\\\\]|\\\\.)*)".*' "$before"'$1\t$2'
end

# the session of the command line: the first word after the verb that is neither an option nor its value
function __arborfs_given
    set -l words (commandline -opc)
    set -l skips 0
    for word in $words[3..-1]
        if test $skips = 1
            set skips 0
            continue
        end
        switch $word
            case --store --agent-dir --durability --at --file -f --title --to --text --branch --output --color --sort
                set skips 1
            case '-*'
            case '*'
                echo $word
        end
    end
end

# true while this many words were given after the verb
function __arborfs_has_given
    test (count (__arborfs_given)) -eq $argv[1]
end

# the words, the labels and the newest entries of the session of the command line
function __arborfs_entries
    printf '%s\n' leaf last last-user last-assistant
    set -l tree (arborfs tree --json (__arborfs_stores) -- (__arborfs_given)[1] 2>/dev/null)
    printf '%s\n' $tree | string replace -rf '^\{"entry":(\d+),.*"name":"([^"]*)".*,"labels":\["([A-Za-z0-9_.-]*)"[\],].*' '$3\t#$1 $2'
    printf '%s\n' $tree | string replace -rf '^\{"entry":(\d+),"id":"([A-Za-z0-9_.-]*)",.*"name":"([^"]*)".*' '$2\t#$1 $3' | tail -n 200
end

function __arborfs_trash
    echo latest
    arborfs restore --json 2>/dev/null | string replace -rf '^\{"name":"([^"]*)".*' '$1'
end

set -l verbs mount umount ls du show tree context text files commands changes export open tail wait search history stats resume append branch label title tag archive unarchive pin unpin summary fork new checkpoint rewind rm restore trash prune protect relocate undo doctor stores completion skill
complete -c arborfs -n "not __fish_seen_subcommand_from $verbs" -f
complete -c arborfs -n "not __fish_seen_subcommand_from $verbs" -s V -l version -d 'Print the version'
complete -c arborfs -n "not __fish_seen_subcommand_from $verbs" -a mount -d 'Mount the sessions as a directory tree'
complete -c arborfs -n "not __fish_seen_subcommand_from $verbs" -a umount -d 'Unmount the sessions'
complete -c arborfs -n "not __fish_seen_subcommand_from $verbs" -a du -d 'Show what sessions and projects occupy'
complete -c arborfs -n "not __fish_seen_subcommand_from $verbs" -a ls -d 'List the sessions, most recently written first'
complete -c arborfs -n "not __fish_seen_subcommand_from $verbs" -a show -d 'Show one session'
complete -c arborfs -n "not __fish_seen_subcommand_from $verbs" -a tree -d 'Draw the tree of a session'
complete -c arborfs -n "not __fish_seen_subcommand_from $verbs" -a files -d 'List the files that a session read, edited and wrote'
complete -c arborfs -n "not __fish_seen_subcommand_from $verbs" -a commands -d 'Print the commands that a session ran'
complete -c arborfs -n "not __fish_seen_subcommand_from $verbs" -a changes -d 'Print what the edit tools changed, as a diff'
complete -c arborfs -n "not __fish_seen_subcommand_from $verbs" -a context -d 'Print what the agent would send to the model'
complete -c arborfs -n "not __fish_seen_subcommand_from $verbs" -a text -d 'Print the transcript, or the text of one entry'
complete -c arborfs -n "not __fish_seen_subcommand_from $verbs" -a export -d 'Write a session as one file'
complete -c arborfs -n "not __fish_seen_subcommand_from $verbs" -a open -d 'Open the page of a session in a browser'
complete -c arborfs -n "not __fish_seen_subcommand_from $verbs" -a tail -d 'Print the last line of each session that changes'
complete -c arborfs -n "not __fish_seen_subcommand_from $verbs" -a wait -d 'Return when the turn in progress has ended'
complete -c arborfs -n "not __fish_seen_subcommand_from $verbs" -a search -d 'Find the sessions whose texts contain all words'
complete -c arborfs -n "not __fish_seen_subcommand_from $verbs" -a history -d 'List the prompts that were typed to agents, or add one'
complete -c arborfs -n "not __fish_seen_subcommand_from $verbs" -a stats -d 'Sum up tokens and cost, each message once'
complete -c arborfs -n "not __fish_seen_subcommand_from $verbs" -a resume -d 'Continue a session: run its agent in its working directory'
complete -c arborfs -n "not __fish_seen_subcommand_from $verbs" -a append -d 'Append a message'
complete -c arborfs -n "not __fish_seen_subcommand_from $verbs" -a branch -d 'Move the leaf'
complete -c arborfs -n "not __fish_seen_subcommand_from $verbs" -a label -d 'Label an entry, or clear its label'
complete -c arborfs -n "not __fish_seen_subcommand_from $verbs" -a title -d 'Change the title of a session'
complete -c arborfs -n "not __fish_seen_subcommand_from $verbs" -a tag -d 'List the tags of a session, or change them'
complete -c arborfs -n "not __fish_seen_subcommand_from $verbs" -a archive -d 'Put sessions into the archive of their agent'
complete -c arborfs -n "not __fish_seen_subcommand_from $verbs" -a unarchive -d 'Take sessions out of the archive of their agent'
complete -c arborfs -n "not __fish_seen_subcommand_from $verbs" -a pin -d 'Pin sessions to the top of the list of their agent'
complete -c arborfs -n "not __fish_seen_subcommand_from $verbs" -a unpin -d 'Take the pin away'
complete -c arborfs -n "not __fish_seen_subcommand_from $verbs" -a summary -d 'Append a summary of a run to a session of OpenCode'
complete -c arborfs -n "not __fish_seen_subcommand_from $verbs" -a fork -d 'Copy a session, or the path to one entry, optionally to another agent'
complete -c arborfs -n "not __fish_seen_subcommand_from $verbs" -a new -d 'Create a session'
complete -c arborfs -n "not __fish_seen_subcommand_from $verbs" -a checkpoint -d 'Save working files of a session'
complete -c arborfs -n "not __fish_seen_subcommand_from $verbs" -a rewind -d 'Restore the files of a checkpoint'
complete -c arborfs -n "not __fish_seen_subcommand_from $verbs" -a rm -d 'Move a session to the trash'
complete -c arborfs -n "not __fish_seen_subcommand_from $verbs" -a restore -d 'List the trash, or restore a session'
complete -c arborfs -n "not __fish_seen_subcommand_from $verbs" -a trash -d 'List the trash, or delete what is in it for good'
complete -c arborfs -n "not __fish_seen_subcommand_from $verbs" -a prune -d 'Move old sessions to the trash'
complete -c arborfs -n "not __fish_seen_subcommand_from $verbs" -a protect -d 'Keep sessions from being deleted by their agent'
complete -c arborfs -n "not __fish_seen_subcommand_from $verbs" -a relocate -d 'Take the sessions of a project that was moved along'
complete -c arborfs -n "not __fish_seen_subcommand_from $verbs" -a undo -d 'Take back what arborfs changed last, or list its changes'
complete -c arborfs -n "not __fish_seen_subcommand_from $verbs" -a doctor -d 'Report damage, and repair it with --repair'
complete -c arborfs -n "not __fish_seen_subcommand_from $verbs" -a stores -d 'List the stores: agent, folder, sessions, state'
complete -c arborfs -n "not __fish_seen_subcommand_from $verbs" -a completion -d 'Print the completion script for a shell'
complete -c arborfs -n "not __fish_seen_subcommand_from $verbs" -a skill -d 'Print a skill page for agents'
complete -c arborfs -n "not __fish_seen_subcommand_from $verbs" -a help -d 'Print the options of a verb'
complete -c arborfs -s h -l help -d 'Print help'
complete -c arborfs -n "__fish_seen_subcommand_from $verbs" -l json -d 'Print JSON'

set -l store mount ls du show tree context text files commands changes export open tail wait search history stats resume append branch label title tag archive unarchive pin unpin summary fork new checkpoint rewind rm restore trash prune protect relocate undo doctor stores
complete -c arborfs -n "__fish_seen_subcommand_from $store" -l store -x -a '{omp,pi,opal,opencode,claude,codex,goat}=(__fish_complete_directories)' -d 'A folder that holds the state of an agent'
complete -c arborfs -n "__fish_seen_subcommand_from $store" -l agent-dir -x -a '(__fish_complete_directories)' -d 'The same as --store omp=DIR'
complete -c arborfs -n "__fish_seen_subcommand_from mount" -s f -l foreground -d 'Stay in the foreground'
complete -c arborfs -n "__fish_seen_subcommand_from mount" -l durability -x -a 'synced none' -d 'When written data reaches the disk'
complete -c arborfs -n "__fish_seen_subcommand_from mount" -s o -l options -x -a 'ro rw allow_other live=write allow_delete history durability=none xattr noxattr noinotify redact nosearchindex nonotify store= agent_dir= log= index_memory= debug noexec noatime auto_unmount' -d 'Mount options'
complete -c arborfs -n "__fish_seen_subcommand_from mount umount" -f -a '(__fish_complete_directories)'
complete -c arborfs -n "__fish_seen_subcommand_from ls" -f
complete -c arborfs -n "__fish_seen_subcommand_from search history" -f
complete -c arborfs -n "__fish_seen_subcommand_from ls search history" -s n -l limit -x -d 'List at most this many'
complete -c arborfs -n "__fish_seen_subcommand_from ls search history stats resume prune" -s p -l project -x -d 'List only this project'
complete -c arborfs -n "__fish_seen_subcommand_from ls search history stats resume prune" -s a -l agent -x -d 'List only sessions of this agent'
complete -c arborfs -n "__fish_seen_subcommand_from stats" -f
complete -c arborfs -n "__fish_seen_subcommand_from stats" -l by -x -a 'day week month project model agent session host' -d 'How rows are grouped'
complete -c arborfs -n "__fish_seen_subcommand_from stats" -l since -x -d 'Only messages of this day or later'
complete -c arborfs -n "__fish_seen_subcommand_from stats" -l until -x -d 'Only messages of this day or earlier'
complete -c arborfs -n "__fish_seen_subcommand_from stats" -l in -x -a 'today yesterday this-week last-week this-month last-month' -d 'Only messages of this period'
complete -c arborfs -n "__fish_seen_subcommand_from ls search" -l tag -x -d 'Only sessions with this tag'
complete -c arborfs -n "__fish_seen_subcommand_from tag" -s d -l delete -x -d 'Remove this tag'
complete -c arborfs -n "__fish_seen_subcommand_from search" -l path -r -d 'Only sessions that touched this file'
complete -c arborfs -n "__fish_seen_subcommand_from search" -l title -x -d 'Only sessions whose title contains this'
complete -c arborfs -n "__fish_seen_subcommand_from search" -l since -x -a 'today yesterday this-week last-week this-month last-month 1d 1w' -d 'Only entries since'
complete -c arborfs -n "__fish_seen_subcommand_from history" -l since -x -a 'today yesterday this-week last-week this-month last-month 1d 1w' -d 'List only prompts since'
complete -c arborfs -n "__fish_seen_subcommand_from history" -l until -x -a 'today yesterday this-week last-week this-month last-month 1d 1w' -d 'List only prompts before'
complete -c arborfs -n "__fish_seen_subcommand_from search" -l until -x -a 'today yesterday this-week last-week this-month last-month 1d 1w' -d 'Only entries before'
complete -c arborfs -n "__fish_seen_subcommand_from text" -l role -x -a 'user assistant tool summary system thinking' -d 'Print only the texts of this role'
complete -c arborfs -n "__fish_seen_subcommand_from search" -l role -x -a 'user assistant tool summary system' -d 'Only entries of this role'
complete -c arborfs -n "__fish_seen_subcommand_from search" -l tool -x -d 'Only entries that call this tool'
complete -c arborfs -n "__fish_seen_subcommand_from ls search" -l label -x -d 'Only entries with this label'
complete -c arborfs -n "__fish_seen_subcommand_from ls" -l since -x -a 'today yesterday this-week last-week this-month last-month 1d 1w' -d 'List only sessions written since'
complete -c arborfs -n "__fish_seen_subcommand_from ls" -l until -x -a 'today yesterday this-week last-week this-month last-month 1d 1w' -d 'List only sessions written before'
complete -c arborfs -n "__fish_seen_subcommand_from ls" -l state -x -a 'live maybe quiet' -d 'List only sessions in this state'
complete -c arborfs -n "__fish_seen_subcommand_from ls" -l model -x -d 'List only sessions that used this model'
complete -c arborfs -n "__fish_seen_subcommand_from ls" -l size -d 'Also show what each session occupies'
complete -c arborfs -n "__fish_seen_subcommand_from ls" -l cost -d 'Also show the cost of each session'
complete -c arborfs -n "__fish_seen_subcommand_from ls" -s c -l children -d 'Also list the sessions that others started'
complete -c arborfs -n "__fish_seen_subcommand_from ls" -s q -l quiet -d 'Print only the ids'
complete -c arborfs -n "__fish_seen_subcommand_from tail" -l all -d 'Follow all sessions'
complete -c arborfs -n "__fish_seen_subcommand_from ls search history stats show tree text files commands changes" -l color -x -a 'auto always never' -d 'Colour the output'
complete -c arborfs -n "__fish_seen_subcommand_from ls" -l sort -x -a 'modified title project agent size cost' -d 'The order'
complete -c arborfs -n "__fish_seen_subcommand_from text export files commands changes" -l branch -x -a '(__arborfs_entries)' -d 'Take the branch that ends at this entry'
complete -c arborfs -n "__fish_seen_subcommand_from files commands changes" -s c -l children -d 'Count the sessions that it started too'
complete -c arborfs -n "__fish_seen_subcommand_from export" -l html -d 'A page for a browser'
complete -c arborfs -n "__fish_seen_subcommand_from export" -l markdown -d 'The transcript'
complete -c arborfs -n "__fish_seen_subcommand_from export" -l atif -d 'A trajectory in the format ATIF-v1.7'
complete -c arborfs -n "__fish_seen_subcommand_from export" -l all-branches -d 'Take all branches'
complete -c arborfs -n "__fish_seen_subcommand_from export" -l with-children -d 'With the sub-agents'
complete -c arborfs -n "__fish_seen_subcommand_from export" -l redact -d 'Without secrets, which are shown first'
complete -c arborfs -n "__fish_seen_subcommand_from export" -s y -l yes -d 'Do not ask'
complete -c arborfs -n "__fish_seen_subcommand_from export" -s o -l output -r -d 'Write to this file'
complete -c arborfs -n "__fish_seen_subcommand_from append" -l text -x -d 'The message'
complete -c arborfs -n "__fish_seen_subcommand_from resume" -l list -d 'List the sessions of a choice'
complete -c arborfs -n "__fish_seen_subcommand_from text" -l code -d 'Print only the fenced code blocks'
complete -c arborfs -n "__fish_seen_subcommand_from resume" -l print -d 'Print the command instead of running it'
complete -c arborfs -n "__fish_seen_subcommand_from resume" -l force -d 'Resume it even if an agent has the session open'
complete -c arborfs -n "__fish_seen_subcommand_from append branch label title tag archive unarchive pin unpin summary fork new checkpoint rewind relocate undo" -l durability -x -a 'synced none' -d 'When written data reaches the disk'
complete -c arborfs -n "__fish_seen_subcommand_from branch" -l pin -d 'Write an entry at the target'
complete -c arborfs -n "__fish_seen_subcommand_from append branch label title archive unarchive pin unpin summary fork rewind rm undo" -l force -d 'Write even if an agent may have the session open'
complete -c arborfs -n "__fish_seen_subcommand_from append" -s f -l file -r -F -d 'Read the message from this file'
complete -c arborfs -n "__fish_seen_subcommand_from append" -l at -x -a '(__arborfs_entries)' -d 'Append to this entry'
complete -c arborfs -n "__fish_seen_subcommand_from append" -l note -d 'Append a note for the model'
complete -c arborfs -n "__fish_seen_subcommand_from append" -l queue -d 'Leave a message in the queue of the agent'
complete -c arborfs -n "__fish_seen_subcommand_from new" -f -a '(__fish_complete_directories)'
complete -c arborfs -n "__fish_seen_subcommand_from fork" -l without -x -d 'Leave entries out'
complete -c arborfs -n "__fish_seen_subcommand_from fork" -l redact-output -x -d 'Replace the tool outputs of these entries'
complete -c arborfs -n "__fish_seen_subcommand_from fork new" -l title -x -d 'The title of the session'
complete -c arborfs -n "__fish_seen_subcommand_from fork" -l to -x -a 'omp pi opal opencode claude goat' -d 'Write the conversation as a session of this agent'
complete -c arborfs -n "__fish_seen_subcommand_from fork" -l full -d 'Take the whole path instead of what the model had of it'
complete -c arborfs -n "__fish_seen_subcommand_from new" -l model -x -d 'The model with which the session begins'
complete -c arborfs -n "__fish_seen_subcommand_from new" -s a -l agent -x -d 'The agent'
complete -c arborfs -n "__fish_seen_subcommand_from new" -l provider -x -d 'The module through which Opal reaches the model'
complete -c arborfs -n "__fish_seen_subcommand_from new" -l parent-session -x -a '(__arborfs_sessions)' -d 'The session that the new one continues'
complete -c arborfs -n "__fish_seen_subcommand_from rewind" -l dry-run -d 'Only report what would change'
complete -c arborfs -n "__fish_seen_subcommand_from rm trash prune" -s y -l yes -d 'Do not ask'
complete -c arborfs -n "__fish_seen_subcommand_from prune" -f
complete -c arborfs -n "__fish_seen_subcommand_from protect" -l all -d 'All sessions, by the settings of the agent'
complete -c arborfs -n "__fish_seen_subcommand_from undo" -f
complete -c arborfs -n "__fish_seen_subcommand_from undo" -l list -d 'List what arborfs changed'
complete -c arborfs -n "__fish_seen_subcommand_from prune" -l keep-days -x -d 'Keep sessions of the last N days'
complete -c arborfs -n "__fish_seen_subcommand_from prune" -l keep-count -x -d 'Keep the N newest sessions'
complete -c arborfs -n "__fish_seen_subcommand_from prune" -l labelled -d 'Also remove sessions that have labels or tags'
complete -c arborfs -n "__fish_seen_subcommand_from prune" -l dry-run -d 'Only report what would be removed'
complete -c arborfs -n "__fish_seen_subcommand_from relocate" -f -a '(__fish_complete_directories)'
complete -c arborfs -n "__fish_seen_subcommand_from relocate" -s n -l dry-run -d 'Only report what would be relocated'
complete -c arborfs -n "__fish_seen_subcommand_from trash" -f -a 'list empty'
complete -c arborfs -n "__fish_seen_subcommand_from trash" -l days -x -d 'Only sessions removed at least N days ago'
complete -c arborfs -n "__fish_seen_subcommand_from trash" -s n -l dry-run -d 'Only report what would be deleted'
complete -c arborfs -n "__fish_seen_subcommand_from restore" -f -a '(__arborfs_trash)'
complete -c arborfs -n "__fish_seen_subcommand_from doctor" -l repair -d 'Repair what can be repaired, after making a copy'
complete -c arborfs -n "__fish_seen_subcommand_from doctor" -l dry-run -d 'Only report what --repair would do'
complete -c arborfs -n "__fish_seen_subcommand_from doctor" -l force -d 'Also repair sessions that may be live'
complete -c arborfs -n "__fish_seen_subcommand_from show tree context text files commands changes export open tail wait resume append branch label title tag summary fork rewind protect; and __arborfs_has_given 0" -f -k -a '(__arborfs_sessions)'
complete -c arborfs -n "__fish_seen_subcommand_from context text branch label fork; and __arborfs_has_given 1" -f -k -a '(__arborfs_entries)'
complete -c arborfs -n "__fish_seen_subcommand_from show tree context text files commands changes export open tail wait resume append branch label title tag summary fork rewind protect" -f
complete -c arborfs -n "__fish_seen_subcommand_from rm doctor du" -f -k -a '(__arborfs_sessions)'
complete -c arborfs -n "__fish_seen_subcommand_from checkpoint" -a '(__arborfs_sessions)'
complete -c arborfs -n "__fish_seen_subcommand_from completion" -f -a 'bash zsh fish'
