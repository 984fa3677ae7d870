# fish completion for git-taskctx. For `git taskctx`, fish's own completion of git asks
# for that of `git-taskctx`. Only files are read, and no command of ours is run.

# Prints the verb that has been typed; fails where there is none yet.
function __git_taskctx_verb
    set -l words (commandline -opc)
    set -e words[1]
    while set -q words[1]
        switch $words[1]
            case -C --task --context --format --actor
                set -e words[1]
            case '-*'
            case '*'
                echo $words[1]
                return 0
        end
        set -e words[1]
    end
    return 1
end

function __git_taskctx_no_verb
    not __git_taskctx_verb >/dev/null
end

function __git_taskctx_using
    contains -- (__git_taskctx_verb; or echo /) $argv
end

# Prints what follows the last of the options in the arguments.
function __git_taskctx_given
    set -l words (commandline -opc)
    for place in (seq (count $words) -1 2)
        if contains -- $words[(math $place - 1)] $argv
            echo $words[$place]
            return
        end
    end
end

# Prints the nearest folder that holds .agent-output.
function __git_taskctx_top
    set -l folder (__git_taskctx_given -C)
    test -n "$folder"; or set folder .
    set folder (realpath -- $folder 2>/dev/null); or return 1
    while not test -d $folder/.agent-output
        if test -e $folder/.git -o $folder = /
            return 1
        end
        set folder (string replace -r '/[^/]*$' '' $folder)
        test -n "$folder"; or set folder /
    end
    echo $folder
end

# Prints the lines of the task's context.
function __git_taskctx_context
    set -l top (__git_taskctx_top); or return
    set -l task (__git_taskctx_given --task)
    test -n "$task"; or set task $GIT_TASKCTX_TASK
    if test -z "$task" -a -f $top/.agent-output/active
        read task <$top/.agent-output/active
    end
    string match -qr '^[A-Za-z0-9][A-Za-z0-9._-]*$' -- "$task"; or return
    set -l file $top/.agent-output/tasks/$task/context.json
    test -f $file -a ! -L $file; and cat $file
end

function __git_taskctx_agents
    set -l agents
    for line in (__git_taskctx_context)
        string match -q '*]*' -- $line; and break
        set -a agents (string match -rg '^\s+"([a-z][a-z0-9-]*)",?$' -- $line)
    end
    set -q agents[1]; or set agents implementer reviewer validator
    printf '%s\n' $agents
end

# Prints the ids of open findings: `closed_at` comes right before `id` in each.
function __git_taskctx_findings
    set -l is_open
    for line in (__git_taskctx_context)
        if string match -q '*"closed_at": null,' -- $line
            set is_open yes
            continue
        end
        set -l id (string match -rg '"id": "(F\d+)",$' -- $line)
        and test -n "$is_open"
        and echo $id
        set is_open
    end
end

# Prints the tasks that have a context here.
function __git_taskctx_tasks
    set -l top (__git_taskctx_top); or return
    for folder in $top/.agent-output/tasks/*/
        string match -rg '([^/]+)/$' -- $folder
    end
    for file in $top/.agent-output/archive/*/context.json
        string match -rg '^  "task_id": "([A-Za-z0-9._-]+)",$' <$file
    end
end

# Prints the tasks that have a task file.
function __git_taskctx_files
    set -l folder (__git_taskctx_given -C)
    test -n "$folder"; or set folder .
    for path in (git -C $folder ls-files -- '*.task.yaml' '*.task.yml' '*.task.md' '*.task.json' 2>/dev/null)
        string match -rg '([A-Za-z]+-\d+)[^/]*$' -- $path
        or string match -rg '([^/]+)\.task\.(?:ya?ml|md|json)$' -- $path
    end
end

function __git_taskctx_refs
    set -l folder (__git_taskctx_given -C)
    test -n "$folder"; or set folder .
    git -C $folder for-each-ref $argv 2>/dev/null
end

function __git_taskctx_remotes
    set -l folder (__git_taskctx_given -C)
    test -n "$folder"; or set folder .
    git -C $folder remote 2>/dev/null
end

complete -c git-taskctx -f

# What may stand before the verb, and the verbs.
complete -c git-taskctx -n __git_taskctx_no_verb -l task -xa '(__git_taskctx_tasks)' -d 'The task; by default the active one'
complete -c git-taskctx -n __git_taskctx_no_verb -l context -xa '(__git_taskctx_refs --format="%(refname:lstrip=3)" refs/taskctx/contexts)' -d 'The context, where one task has several'
complete -c git-taskctx -n __git_taskctx_no_verb -l format -xa 'text json' -d 'Output for people or machines'
complete -c git-taskctx -n __git_taskctx_no_verb -s C -xa '(__fish_complete_directories)' -d 'Run as if started in a folder'
complete -c git-taskctx -n __git_taskctx_no_verb -l version -d 'Print the version'
complete -c git-taskctx -s h -l help -d 'Show the options'
complete -c git-taskctx -n __git_taskctx_no_verb -a init -d 'Capture a task and begin its context'
complete -c git-taskctx -n __git_taskctx_no_verb -a get -d 'Show the task as it was captured, and the agents'
complete -c git-taskctx -n __git_taskctx_no_verb -a status -d 'Show who owns the tree, and what to type next'
complete -c git-taskctx -n __git_taskctx_no_verb -a list -d 'List the contexts that are known here'
complete -c git-taskctx -n __git_taskctx_no_verb -a log -d 'Show the ledger of a task'
complete -c git-taskctx -n __git_taskctx_no_verb -a rebuild -d 'Capture the task anew from its file and its standards'
complete -c git-taskctx -n __git_taskctx_no_verb -a purge -d 'Put the active context away'
complete -c git-taskctx -n __git_taskctx_no_verb -a complete -d 'End the task whose commit was made'
complete -c git-taskctx -n __git_taskctx_no_verb -a recover -d 'Bring a context back, whole, from the ledger'
complete -c git-taskctx -n __git_taskctx_no_verb -a sweep -d 'Remove what was put away long ago'
complete -c git-taskctx -n __git_taskctx_no_verb -a start -d 'Hand the tree to an agent, once it is verified'
complete -c git-taskctx -n __git_taskctx_no_verb -a snapshot -d 'Record the worktree at the end of an agent\'s work'
complete -c git-taskctx -n __git_taskctx_no_verb -a verify -d 'Tell whether the worktree is still what was recorded'
complete -c git-taskctx -n __git_taskctx_no_verb -a diff -d 'Show what an agent changed'
complete -c git-taskctx -n __git_taskctx_no_verb -a update -d 'Record what an agent says of itself'
complete -c git-taskctx -n __git_taskctx_no_verb -a block -d 'Record a finding that blocks the chain'
complete -c git-taskctx -n __git_taskctx_no_verb -a unblock -d 'Close a finding'
complete -c git-taskctx -n __git_taskctx_no_verb -a resolve-drift -d 'Acknowledge drift, so that the chain can go on'
complete -c git-taskctx -n __git_taskctx_no_verb -a restore -d 'Put files back to a snapshot'
complete -c git-taskctx -n __git_taskctx_no_verb -a install -d 'Put the hooks in, so that git asks before each commit'
complete -c git-taskctx -n __git_taskctx_no_verb -a uninstall -d 'Take the hooks away, and give back what was there'
complete -c git-taskctx -n __git_taskctx_no_verb -a doctor -d 'Prove that each hook fires'
complete -c git-taskctx -n __git_taskctx_no_verb -a record-qa -d 'Record a run of tests or linters from its log'
complete -c git-taskctx -n __git_taskctx_no_verb -a compare-qa -d 'Hold the last runs against the baseline'
complete -c git-taskctx -n __git_taskctx_no_verb -a attach -d 'Keep a file, or lines of it, as evidence'
complete -c git-taskctx -n __git_taskctx_no_verb -a evidence -d 'List what was attached, or show one piece of it'
complete -c git-taskctx -n __git_taskctx_no_verb -a adopt -d 'Attach a task\'s records to a commit of the same tree'
complete -c git-taskctx -n __git_taskctx_no_verb -a report -d 'Tell a task as one page'
complete -c git-taskctx -n __git_taskctx_no_verb -a export -d 'Write proved commits as attestations that others read'
complete -c git-taskctx -n __git_taskctx_no_verb -a push -d 'Send the ledger to a remote'
complete -c git-taskctx -n __git_taskctx_no_verb -a fetch -d 'Merge the ledger of a remote into ours'
complete -c git-taskctx -n __git_taskctx_no_verb -a hook -d 'Do what a hook of git is there for'
complete -c git-taskctx -n __git_taskctx_no_verb -a agent-hook -d 'Answer a coding agent\'s hook'
complete -c git-taskctx -n __git_taskctx_no_verb -a agent-setup -d 'Make a coding agent use the context'
complete -c git-taskctx -n __git_taskctx_no_verb -a fingerprint -d 'Print the oid of the worktree\'s tree'
complete -c git-taskctx -n __git_taskctx_no_verb -a config -d 'Show the policy and the settings in force'
complete -c git-taskctx -n __git_taskctx_no_verb -a schema -d 'Print the JSON schemas of the files we write'
complete -c git-taskctx -n __git_taskctx_no_verb -a completion -d 'Print the completion script for a shell'
complete -c git-taskctx -n __git_taskctx_no_verb -a demo -d 'Show a full handoff in a throw-away repository'
complete -c git-taskctx -n __git_taskctx_no_verb -a help -d 'Show the manual without man'

# What many verbs take.
complete -c git-taskctx -n '__git_taskctx_using get status log rebuild complete start snapshot verify diff update block unblock resolve-drift restore record-qa compare-qa attach evidence adopt report export push' -l task -xa '(__git_taskctx_tasks)' -d 'The task; by default the active one'
complete -c git-taskctx -n '__git_taskctx_using get status log rebuild complete recover start snapshot verify diff update block unblock resolve-drift restore record-qa compare-qa attach evidence adopt report push' -l context -xa '(__git_taskctx_refs --format="%(refname:lstrip=3)" refs/taskctx/contexts)' -d 'The context, where one task has several'
complete -c git-taskctx -n '__git_taskctx_using init get status list log rebuild purge complete recover sweep start snapshot diff update block unblock resolve-drift restore install uninstall doctor record-qa compare-qa attach evidence adopt report push fetch agent-setup fingerprint config schema completion' -l format -xa 'text json' -d 'Output for people or machines'
complete -c git-taskctx -n '__git_taskctx_using init status rebuild purge complete recover start snapshot verify update block unblock resolve-drift restore record-qa attach adopt push' -l actor -x -d 'Who acts'
complete -c git-taskctx -n '__git_taskctx_using init rebuild start snapshot verify update block unblock resolve-drift restore record-qa attach adopt push' -l force-secrets -d 'Record even what looks like a secret'
complete -c git-taskctx -n '__git_taskctx_using init snapshot record-qa attach' -l deep -d 'Look for secrets with detect-secrets too'
complete -c git-taskctx -n '__git_taskctx_using start snapshot diff update block unblock restore record-qa compare-qa' -l agent -xa '(__git_taskctx_agents)' -d 'The agent'

# What one verb takes.
complete -c git-taskctx -n '__git_taskctx_using init' -a '(__git_taskctx_tasks; __git_taskctx_files)'
complete -c git-taskctx -n '__git_taskctx_using init' -l title -x -d 'What is to be done'
complete -c git-taskctx -n '__git_taskctx_using init' -l description -x -d 'More words on it'
complete -c git-taskctx -n '__git_taskctx_using init' -l task-file -rF -d 'The task file, where it is not found'
complete -c git-taskctx -n '__git_taskctx_using init' -l base-commit -xa '(__git_taskctx_refs --format="%(refname:short)" refs/heads refs/tags refs/remotes)' -d 'Where diffs from the base begin'
complete -c git-taskctx -n '__git_taskctx_using init' -l agents -xa '(__fish_complete_list , __git_taskctx_agents)' -d 'The chain of agents, in order'
complete -c git-taskctx -n '__git_taskctx_using rebuild' -l policy -xa '(__git_taskctx_refs --format="%(refname:short)" refs/heads refs/tags refs/remotes)' -d 'Take the policy as of this commit, too'
complete -c git-taskctx -n '__git_taskctx_using init rebuild' -l any-status -d 'Take a task file whatever its status says'
complete -c git-taskctx -n '__git_taskctx_using get' -l format -xa md
complete -c git-taskctx -n '__git_taskctx_using get' -l role -xa '(__git_taskctx_agents)' -d 'Only what this agent needs'
complete -c git-taskctx -n '__git_taskctx_using get' -l tokens -d 'Tell how large the brief is'
complete -c git-taskctx -n '__git_taskctx_using log' -l graph -d 'Draw who had the tree'
complete -c git-taskctx -n '__git_taskctx_using purge' -l all -d 'Also contexts whose files are gone'
complete -c git-taskctx -n '__git_taskctx_using recover' -a '(__git_taskctx_tasks)'
complete -c git-taskctx -n '__git_taskctx_using sweep' -l ttl -xa '30m 12h 7d 2w 0' -d 'The age, as in 7d'
complete -c git-taskctx -n '__git_taskctx_using sweep' -l dry-run -d 'Only say what would go'
complete -c git-taskctx -n '__git_taskctx_using start' -l take-over -x -d 'The owner died or gave up'
complete -c git-taskctx -n '__git_taskctx_using snapshot' -l done -d 'Approve this tree'
complete -c git-taskctx -n '__git_taskctx_using snapshot' -l wip -d 'Record a checkpoint and stay at work'
complete -c git-taskctx -n '__git_taskctx_using snapshot' -l allow-clean -d 'Record even that nothing was changed'
complete -c git-taskctx -n '__git_taskctx_using snapshot' -l attest -x -d 'Vouch that unverified changes are this agent\'s own'
complete -c git-taskctx -n '__git_taskctx_using verify' -l expect -xa '(__git_taskctx_agents)' -d 'Ask about an agent\'s last snapshot'
complete -c git-taskctx -n '__git_taskctx_using verify' -l for -xa '(__git_taskctx_agents)' -d 'Hand over, as start --agent does'
complete -c git-taskctx -n '__git_taskctx_using verify' -l strict -d 'What is staged counts too'
complete -c git-taskctx -n '__git_taskctx_using verify export' -l policy -xa '(__git_taskctx_refs --format="%(refname:short)" refs/heads refs/tags refs/remotes)' -d 'Judge by the policy of a commit'
complete -c git-taskctx -n '__git_taskctx_using verify' -l commit-map -rF -d 'Old and new names of commits'
complete -c git-taskctx -n '__git_taskctx_using verify' -l ci -d 'Prove what this CI job is about'
complete -c git-taskctx -n '__git_taskctx_using verify' -l reports -xa '(__fish_complete_directories)' -d 'Also write the proof into a folder'
complete -c git-taskctx -n '__git_taskctx_using verify' -l format -xa 'text json github gitlab sarif junit' -d 'Output for people or machines'
complete -c git-taskctx -n '__git_taskctx_using verify adopt export' -a '(__git_taskctx_refs --format="%(refname:short)" refs/heads refs/tags refs/remotes)'
complete -c git-taskctx -n '__git_taskctx_using report' -a '(__git_taskctx_tasks; __git_taskctx_refs --format="%(refname:short)" refs/heads refs/tags refs/remotes)'
complete -c git-taskctx -n '__git_taskctx_using report' -s o -l output -rF -d 'Where to write the page'
complete -c git-taskctx -n '__git_taskctx_using report' -l force -d 'Replace the file whatever it is'
complete -c git-taskctx -n '__git_taskctx_using verify fingerprint' -l exact -d 'Read every file again'
complete -c git-taskctx -n '__git_taskctx_using diff restore' -l round -x -d 'Which of the agent\'s snapshots'
complete -c git-taskctx -n '__git_taskctx_using diff' -l type -xa 'from-base incremental' -d 'Since the base commit, or the owner before'
complete -c git-taskctx -n '__git_taskctx_using diff' -l path -d 'Print where the stored diff is'
complete -c git-taskctx -n '__git_taskctx_using update' -l status -xa 'pending in_progress done blocked' -d 'What it says of itself'
complete -c git-taskctx -n '__git_taskctx_using update' -l qa-log -rF -d 'Where its QA log is'
complete -c git-taskctx -n '__git_taskctx_using update' -l session-id -x -d 'Its session'
complete -c git-taskctx -n '__git_taskctx_using block' -l finding -x -d 'What is wrong'
complete -c git-taskctx -n '__git_taskctx_using unblock' -l finding -xa '(__git_taskctx_findings)' -d 'Id of the finding'
complete -c git-taskctx -n '__git_taskctx_using resolve-drift' -l note -x -d 'What happened'
complete -c git-taskctx -n '__git_taskctx_using resolve-drift' -l accept -d 'Take today\'s tree as the owner\'s snapshot'
complete -c git-taskctx -n '__git_taskctx_using restore' -l agent -xa 'init saved'
complete -c git-taskctx -n '__git_taskctx_using restore' -l paths -rF -d 'Only these'
complete -c git-taskctx -n '__git_taskctx_using install uninstall' -l global -d 'For every repository of yours'
complete -c git-taskctx -n '__git_taskctx_using install uninstall' -l write-tracked -d 'Also write hook files that lie in the worktree'
complete -c git-taskctx -n '__git_taskctx_using install' -l notes -xa '(__git_taskctx_remotes)' -d 'Let git fetch bring a remote\'s records too'
complete -c git-taskctx -n '__git_taskctx_using install uninstall' -l dry-run -d 'Only say what would be done'
complete -c git-taskctx -n '__git_taskctx_using record-qa' -l from -rF -d 'The log'
complete -c git-taskctx -n '__git_taskctx_using record-qa' -l command -x -d 'The command that wrote it'
complete -c git-taskctx -n '__git_taskctx_using record-qa' -l exit-code -x -d 'The code that it ended with'
complete -c git-taskctx -n '__git_taskctx_using record-qa' -l baseline -d 'The log is of the state before the task'
complete -c git-taskctx -n '__git_taskctx_using attach' -F
complete -c git-taskctx -n '__git_taskctx_using attach' -l type -xa 'qa_log diff plan summary screenshot excerpt other' -d 'What it is'
complete -c git-taskctx -n '__git_taskctx_using attach' -l lines -x -d 'Only these lines of it'
complete -c git-taskctx -n '__git_taskctx_using attach' -l description -x -d 'What it shows'
complete -c git-taskctx -n '__git_taskctx_using evidence' -a 'list show'
complete -c git-taskctx -n '__git_taskctx_using resolve-drift' -l holds -x -d 'Which side of a fork holds'
complete -c git-taskctx -n '__git_taskctx_using export' -l format -xa 'agent-trace in-toto' -d 'What others read'
complete -c git-taskctx -n '__git_taskctx_using export' -s o -l output -rF -d 'Where to write them'
complete -c git-taskctx -n '__git_taskctx_using export' -l human -x -d 'An actor who is a person'
complete -c git-taskctx -n '__git_taskctx_using export' -l resource-uri -x -d 'Where consumers find the repository'
complete -c git-taskctx -n '__git_taskctx_using push fetch' -a '(__git_taskctx_remotes)'
complete -c git-taskctx -n '__git_taskctx_using push fetch' -l with-snapshots -d 'Also contexts and snapshots'
complete -c git-taskctx -n '__git_taskctx_using push' -l dry-run -d 'Only say what would leave'
complete -c git-taskctx -n '__git_taskctx_using fetch' -l dry-run -d 'Only say what would come'
complete -c git-taskctx -n '__git_taskctx_using hook' -a 'pre-commit pre-merge-commit post-commit post-merge post-checkout post-rewrite pre-push'
complete -c git-taskctx -n '__git_taskctx_using agent-hook' -l agent -xa 'claude codex gemini cursor' -d 'The agent that calls'
complete -c git-taskctx -n '__git_taskctx_using agent-hook agent-setup' -l role -xa '(__git_taskctx_agents)' -d 'As whom it acts'
complete -c git-taskctx -n '__git_taskctx_using agent-setup' -a 'claude codex gemini cursor'
complete -c git-taskctx -n '__git_taskctx_using agent-setup' -l project -d 'For everybody in this repository'
complete -c git-taskctx -n '__git_taskctx_using agent-setup' -l user -d 'For yourself, in every repository'
complete -c git-taskctx -n '__git_taskctx_using agent-setup' -l print -d 'Only print the hooks'
complete -c git-taskctx -n '__git_taskctx_using agent-setup' -l dry-run -d 'Only show what would change'
complete -c git-taskctx -n '__git_taskctx_using agent-setup' -l remove -d 'Take out what was put in'
complete -c git-taskctx -n '__git_taskctx_using agent-setup' -l check -d 'Tell whether the context is used'
complete -c git-taskctx -n '__git_taskctx_using fingerprint' -l write -d 'Keep the objects in the repository'
complete -c git-taskctx -n '__git_taskctx_using config' -l show-origin -d 'Say where each value comes from'
complete -c git-taskctx -n '__git_taskctx_using schema' -a 'context export record files metrics manifest proof handoff'
complete -c git-taskctx -n '__git_taskctx_using completion' -a 'bash zsh fish'
complete -c git-taskctx -n '__git_taskctx_using demo' -l keep -d 'Leave the throw-away repository'
complete -c git-taskctx -n '__git_taskctx_using help' -a 'init get status list log rebuild purge complete recover sweep start snapshot verify diff update block unblock resolve-drift restore install uninstall doctor record-qa compare-qa attach evidence adopt report export push fetch hook agent-hook agent-setup fingerprint config schema completion demo help'
