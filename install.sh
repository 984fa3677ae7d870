#!/bin/sh
# Installs git-taskctx for the user who runs it, takes it away again, or tests this clone.
#
# POSIX sh; no root. What was put where is in a record that is written before the first change, so an
# interrupted run can be repeated or taken back. Nothing that is not in the record is ever replaced or removed.
set -eu
unset CDPATH

usage() {
    cat <<'END'
usage: install.sh                     install git-taskctx for this user
   or: install.sh --demo              install, then run `git taskctx demo`
   or: install.sh --test [<arg>...]   check this clone: linters, types, tests
   or: install.sh --uninstall         remove what install.sh has put in place
   or: install.sh -h | --help         show this

It installs with pipx where there is one, else with uv, else into an environment of its own.
PYTHON=<path> names the Python to use (3.11 or later).

--test installs nothing outside this clone and the user's cache, and skips tests whose tools
are missing. --test --quick runs the quick tests alone; --test --with-system-packages, or
CI=true, first lets apt install missing tools, if it runs as root. Other arguments go to pytest.
END
}

say() {
    printf '%s\n' "$*"
}

note() {
    printf 'install.sh: note: %s\n' "$1" >&2
}

# die MESSAGE [HINT...]
die() {
    printf 'install.sh: error: %s\n' "$1" >&2
    shift
    for hint; do
        printf 'install.sh: hint: %s\n' "$hint" >&2
    done
    exit 128
}

# --- what must be there ------------------------------------------------------------------------------

find_clone() {
    script=$0
    while [ -L "$script" ]; do
        target=$(readlink "$script")
        case $target in
            /*) script=$target ;;
            *) script=$(dirname "$script")/$target ;;
        esac
    done
    here=$(cd "$(dirname "$script")" && pwd -P)
    if ! [ -f "$here/pyproject.toml" ] || ! [ -d "$here/git_taskctx" ]; then
        die "there is no git-taskctx beside this script" "run install.sh where it lies in its clone"
    fi
}

# at_least VERSION MAJOR MINOR: digits and dots; whatever follows the minor number is ignored
at_least() {
    major=${1%%.*}
    minor=${1#*.}
    minor=${minor%%[!0-9]*}
    case $major:$minor in
        :* | *: | *[!0-9:]*) return 1 ;;
    esac
    [ "$major" -gt "$2" ] || { [ "$major" -eq "$2" ] && [ "$minor" -ge "$3" ]; }
}

need_git() {
    command -v git >/dev/null 2>&1 || die "git is missing" "install git 2.31 or later, then run install.sh again"
    found=$(git version 2>/dev/null) || die "git does not run" "try: git version"
    found=${found#git version }
    at_least "$found" 2 31 ||
        die "git $found is too old" "install git 2.31 or later, then run install.sh again"
}

# try_python COMMAND: sets python, or the version that is too old
try_python() {
    probe='import sys; print("%d.%d" % sys.version_info[:2]); print(sys.executable)'
    answer=$("$1" -c "$probe" 2>/dev/null) || return 1
    version=${answer%%
*}
    if at_least "$version" 3 11; then
        python=${answer#*
}
        return 0
    fi
    old=$version
    return 1
}

need_python() {
    old=
    if [ -n "${PYTHON-}" ]; then
        try_python "$PYTHON" && return
        [ -n "$old" ] || die "PYTHON=$PYTHON does not run" "try: $PYTHON --version"
    else
        for candidate in python3 python3.14 python3.13 python3.12 python3.11 python; do
            command -v "$candidate" >/dev/null 2>&1 || continue
            try_python "$candidate" && return
        done
    fi
    another="or name one: PYTHON=/path/to/python3 install.sh"
    if [ -n "$old" ]; then
        die "python $old is too old" "install python 3.11 or later, then run install.sh again" "$another"
    fi
    die "python is missing" "install python 3.11 or later, then run install.sh again" "$another"
}

need_venv() {
    "$python" -c 'import ensurepip, venv' >/dev/null 2>&1 ||
        die "$python cannot make virtual environments (no venv, or no ensurepip)" \
            "on Debian and Ubuntu: apt install python3-venv"
}

# --- the record --------------------------------------------------------------------------------------

find_places() {
    [ -n "${HOME-}" ] || die "HOME is not set" "set HOME to your own folder, then run install.sh again"
    xdg=$HOME/.local/share
    # A relative XDG_DATA_HOME is to be ignored (XDG Base Directory Specification).
    case ${XDG_DATA_HOME-} in
        /*) xdg=$XDG_DATA_HOME ;;
    esac
    # What is installed already stays where it is, whatever XDG_DATA_HOME says today.
    linked=$(readlink "$HOME/.local/bin/git-taskctx") || linked=
    case $linked in
        */git-taskctx/venv/bin/git-taskctx) linked=${linked%/git-taskctx/venv/bin/git-taskctx} ;;
        *) linked= ;;
    esac
    use_data "$xdg"
    if [ -n "$linked" ] && [ -f "$linked/git-taskctx/installed" ]; then
        use_data "$linked"
    fi
}

use_data() {
    data=$1
    base=$data/git-taskctx
    record=$base/installed
}

# recorded KEY: the values of one kind, one a line
recorded() {
    if [ -f "$record" ]; then
        sed -n "s/^$1 //p" "$record"
    fi
}

write_record() {
    recorded dir >"$record.dirs"
    {
        say "# what install.sh has put in place; install.sh --uninstall reads it"
        say "method $method"
        say "prefix $prefix"
        each_link print_link
        cat "$record.dirs"
        printf '%s' "$made"
    } | sed '/^\//s/^/dir /' >"$record.new"
    mv -f "$record.new" "$record"
    rm -f "$record.dirs"
}

# make_folder PATH: parents too; whatever is made is recorded, so that it can go when it is empty
make_folder() {
    [ -d "$1" ] && return
    make_folder "$(dirname "$1")" || return 1
    mkdir "$1" || return 1
    if [ -f "$record" ]; then
        say "dir $1" >>"$record"
    else
        made="$made$1
"
    fi
}

# --- links -------------------------------------------------------------------------------------------

# each_link ACTION: calls ACTION TARGET LINK. Man pages are looked for beside the folder in PATH
# (bin and share/man), whatever XDG_DATA_HOME says.
each_link() {
    "$1" "$prefix/bin/git-taskctx" "$bin/git-taskctx"
    "$1" "$prefix/share/man/man1/git-taskctx.1" "$man/man1/git-taskctx.1"
    "$1" "$prefix/share/bash-completion/completions/git-taskctx" "$data/bash-completion/completions/git-taskctx"
    "$1" "$prefix/share/zsh/site-functions/_git-taskctx" "$data/zsh/site-functions/_git-taskctx"
    "$1" "$prefix/share/fish/vendor_completions.d/git-taskctx.fish" \
        "$data/fish/vendor_completions.d/git-taskctx.fish"
}

print_link() {
    say "link $2"
}

# leads_into LINK FOLDER: also where one of the two is written through a symbolic link
leads_into() {
    [ -L "$1" ] && [ -n "$2" ] || return 1
    target=$(readlink "$1")
    case $target in
        "$2"/*) return 0 ;;
    esac
    real=$(cd "$(dirname "$1")" 2>/dev/null && cd "$(dirname "$target")" 2>/dev/null && pwd -P) || return 1
    folder=$(cd "$2" 2>/dev/null && pwd -P) || return 1
    case $real in
        "$folder" | "$folder"/*) return 0 ;;
    esac
    return 1
}

refuse_foreign() {
    { [ -e "$2" ] || [ -L "$2" ]; } || return 0
    leads_into "$2" "$(recorded prefix)" && return
    if leads_into "$2" "$prefix" && [ "$method" != venv ]; then
        case $method in
            pipx) release="pipx uninstall git-taskctx" ;;
            uv) release="uv tool uninstall git-taskctx" ;;
        esac
        die "git-taskctx is installed already, with $method but not by install.sh: $2" \
            "to hand it over: $release, then run install.sh again"
    fi
    die "not put there by install.sh: $2" "move it away, then run install.sh again"
}

make_link_folder() {
    make_folder "$(dirname "$2")" || note "cannot write $(dirname "$2")"
}

place_link() {
    [ -e "$1" ] || return 0
    leads_into "$2" "$prefix" && [ -e "$2" ] && return
    if { rm -f "$2" && ln -s "$1" "$2"; } 2>/dev/null; then
        return
    fi
    case $2 in
        "$bin"/*) die "cannot write $2" ;;
        *) note "cannot write $2" ;;
    esac
}

# --- install -----------------------------------------------------------------------------------------

# use METHOD: sets prefix and bin; false where that method cannot be had
use() {
    method=$1
    case $method in
        pipx)
            # Versions before 1.1 cannot tell their folders.
            prefix=$(pipx environment --value PIPX_LOCAL_VENVS 2>/dev/null)/git-taskctx &&
                bin=$(pipx environment --value PIPX_BIN_DIR 2>/dev/null) || return 1
            ;;
        uv)
            prefix=$(NO_COLOR=1 uv tool dir 2>/dev/null)/git-taskctx &&
                bin=$(NO_COLOR=1 uv tool dir --bin 2>/dev/null) || return 1
            ;;
        venv)
            prefix=$base/venv
            bin=$HOME/.local/bin
            ;;
    esac
    man=$(dirname "$bin")/share/man
}

# An installed tool stays with the method that installed it, as long as that works.
choose_method() {
    before=$(recorded method)
    if [ -n "$before" ]; then
        use "$before" && [ "$prefix" = "$(recorded prefix)" ] && return
        say "git-taskctx was installed with $before, elsewhere or no longer at hand: removing that first"
        remove_recorded
    fi
    for candidate in pipx uv venv; do
        use "$candidate" && return
    done
}

# From within the folder: a path with spaces is no requirement to every version of pipx and uv.
install_pipx() {
    cd "$here"
    if [ -x "$prefix/bin/git-taskctx" ] && "$prefix/bin/python" -c '' 2>/dev/null; then
        pipx install --force .
    else
        rm -rf "$prefix"
        pipx install --force --python "$python" .
    fi
}

install_uv() {
    cd "$here"
    uv tool install --force --reinstall-package git-taskctx --python "$python" .
}

install_venv() {
    whole=$prefix/.installed
    if ! [ -f "$whole" ] || ! "$prefix/bin/python" -m pip --version >/dev/null 2>&1; then
        "$python" -m venv --clear "$prefix" || return 1
    fi
    rm -f "$whole"
    PIP_USER=0 "$prefix/bin/python" -m pip install --quiet --disable-pip-version-check "$here" || return 1
    : >"$whole"
}

install() {
    need_git
    need_python
    find_places
    if [ -L "$base" ] || { [ -e "$base" ] && ! [ -d "$base" ]; }; then
        die "not put there by install.sh: $base" "move it away, then run install.sh again"
    fi
    choose_method
    if [ "$method" = venv ]; then
        need_venv
        if [ -e "$prefix" ] && ! [ -f "$record" ]; then
            die "not put there by install.sh: $prefix" "move it away, then run install.sh again"
        fi
    fi
    each_link refuse_foreign

    made=
    make_folder "$base" || die "cannot write $base"
    write_record
    case $method in
        venv) say "installing git-taskctx into $prefix; it downloads some packages, which can take a minute" ;;
        *) say "installing git-taskctx with $method" ;;
    esac
    each_link make_link_folder
    ("install_$method") || die "git-taskctx could not be installed" \
        "the reason is above; install.sh can be run again, and install.sh --uninstall takes back the rest"
    each_link place_link
    [ -x "$bin/git-taskctx" ] || die "$method has not put git-taskctx into $bin"
    say "installed $bin/git-taskctx"
    advise
}

# What the user still has to do.
advise() {
    advise_path
    case ${SHELL-} in
        */zsh) say "for completion, add this line to ~/.zshrc before compinit: fpath=(\"$data/zsh/site-functions\" \$fpath)" ;;
    esac
    # Said only where the line helps: a man that was stripped from the system finds nothing either way.
    if ! PATH=$bin:$PATH man -w git-taskctx >/dev/null 2>&1 &&
        PATH=$bin:$PATH MANPATH=$man: man -w git-taskctx >/dev/null 2>&1; then
        note "man does not find the manual page, so git taskctx --help will not show it yet"
        say "add this line where PATH is set: export MANPATH=\"$man:\${MANPATH-}\""
    fi
    say "to remove it: $here/install.sh --uninstall"
}

# What puts the program where git finds it; nothing where it is.
advise_path() {
    shown=$bin
    case $bin in
        "$HOME"/*) shown="\$HOME/${bin#"$HOME"/}" ;;
    esac
    case ":$PATH:" in
        *":$bin:"*)
            first=$(command -v git-taskctx) || first=
            [ "$first" = "$bin/git-taskctx" ] || note "another git-taskctx comes first on PATH: $first"
            return
            ;;
    esac
    note "$bin is not on PATH, so git does not find the command yet"
    case ${SHELL-} in
        */fish)
            say "run this once: fish_add_path \"$shown\""
            return
            ;;
        */zsh) startup=.zshrc ;;
        */bash) startup=.bashrc ;;
        *) startup=.profile ;;
    esac
    say "type this line here, and add it to ~/$startup for later: export PATH=\"$shown:\$PATH\""
}

# --- uninstall ---------------------------------------------------------------------------------------

remove_with_tool() {
    case $1 in
        pipx) pipx uninstall git-taskctx ;;
        uv) uv tool uninstall git-taskctx ;;
    esac
}

# Takes back what the record says, and nothing else.
remove_recorded() {
    old_method=$(recorded method)
    old_prefix=$(recorded prefix)
    recorded link | while IFS= read -r link; do
        if leads_into "$link" "$old_prefix"; then
            rm -f "$link"
        fi
    done
    case $old_method in
        venv) rm -rf "$base/venv" ;;
        pipx | uv)
            # Their own uninstaller, where it would act on the same place; what is left carries their mark.
            if use "$old_method" && [ "$prefix" = "$old_prefix" ] && [ -d "$old_prefix" ]; then
                remove_with_tool "$old_method" || note "$old_method has failed; removing $old_prefix"
            fi
            if [ -f "$old_prefix/pipx_metadata.json" ] || [ -f "$old_prefix/uv-receipt.toml" ]; then
                rm -rf "$old_prefix"
            fi
            ;;
    esac
    folders=$(recorded dir | sed '1!G;h;$!d')
    rm -f "$record" "$record.new" "$record.dirs"
    say "$folders" | while IFS= read -r folder; do
        rmdir "$folder" 2>/dev/null || :
    done
}

uninstall() {
    find_places
    removed=
    for place in "$data" "$xdg" "$HOME/.local/share"; do
        use_data "$place"
        if [ -f "$record" ]; then
            remove_recorded
            removed=yes
        fi
    done
    if [ -z "$removed" ]; then
        say "git-taskctx was not installed by install.sh: nothing to remove"
        return
    fi
    say "git-taskctx is removed"
    say "repositories are left alone: contexts stay in their .agent-output and refs; hooks of coding agents,"
    say "which do nothing now, go with git taskctx agent-setup AGENT --remove, before the next time"
}

# --- test --------------------------------------------------------------------------------------------

# The gate has a file of its own; the Python that it is to use is found here.
gate() {
    need_git
    need_python
    need_venv
    PYTHON=$python
    export PYTHON
    exec sh "$here/tests/gate" "$@"
}

# -----------------------------------------------------------------------------------------------------

action=install
case ${1-} in
    '') ;;
    --demo | --uninstall) action=${1#--} ;;
    --test) action=gate ;;
    -h | --help)
        usage
        exit
        ;;
    *)
        printf 'install.sh: error: unknown argument: %s\n' "$1" >&2
        usage >&2
        exit 129
        ;;
esac
[ $# -eq 0 ] || shift
if [ "$action" != gate ] && [ $# -gt 0 ]; then
    printf 'install.sh: error: unknown argument: %s\n' "$1" >&2
    usage >&2
    exit 129
fi
[ "$action" = uninstall ] || find_clone
case $action in
    demo)
        install
        status=0
        PATH=$bin:$PATH git taskctx demo || status=$?
        # Said again: what was said before the demo has scrolled away.
        advise_path
        exit "$status"
        ;;
    *) "$action" "$@" ;;
esac
