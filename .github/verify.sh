#!/bin/sh
# Runs `git taskctx verify --ci` with the git-taskctx of the checkout that this file lies in. What a change is, and
# what its clone lacks, git-taskctx finds out; here it is installed, and its exit code becomes the verdict.
#
# The repository under proof may be hostile. Nothing is run, imported or configured from it: Python is isolated (-I),
# and pip and uv work in a folder of their own.
set -eu
unset CDPATH

# Says what is wrong ($1), and ends with the code $2.
fail() {
	printf '::error title=git taskctx::%s\n' "$1"
	conclude error
	exit "$2"
}

conclude() {
	printf 'verdict=%s\nreports=%s\n' "$1" "$reports" >>"${GITHUB_OUTPUT:-/dev/null}"
}

is_python() {
	"$1" -I -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null
}

find_python() {
	for one in ${TASKCTX_PYTHON:+"$TASKCTX_PYTHON"} python3 python3.14 python3.13 python3.12 python3.11 python \
		"${RUNNER_TOOL_CACHE:-/nowhere}"/Python/3.1[1-9].*/*/bin/python3; do
		if is_python "$one"; then
			printf '%s\n' "$one"
			return
		fi
		[ "$one" != "${TASKCTX_PYTHON:-}" ] || return 1
	done
	return 1
}

install_tool() {
	cd "$place"
	if python=$(find_python) && "$python" -I -m venv venv >log 2>&1; then
		venv/bin/python -I -m pip --disable-pip-version-check install -q "$root" >>log 2>&1
	elif [ -z "${TASKCTX_PYTHON:-}" ] && command -v uv >/dev/null; then
		uv --no-config venv -q --python '>=3.11' venv >log 2>&1 &&
			uv --no-config pip install -q --python venv/bin/python "$root" >>log 2>&1
	else
		echo "no Python 3.11 or later with venv was found: put actions/setup-python before this step" >>log
		return 1
	fi
}

# Has git take the setting $1 = $2 in every process from here on, and writes it nowhere.
lend() {
	count=${GIT_CONFIG_COUNT:-0}
	export "GIT_CONFIG_KEY_$count=$1" "GIT_CONFIG_VALUE_$count=$2"
	export GIT_CONFIG_COUNT=$((count + 1))
}

# Only what git has no credentials for gets the token, and only on the platform's own server.
lend_token() {
	url=${GITHUB_SERVER_URL:-}
	[ -n "${TASKCTX_TOKEN:-}" ] && [ -n "$url" ] || return 0
	[ -z "$(git -C "$directory" config --get-urlmatch http.extraheader "$url/" 2>/dev/null)" ] || return 0
	basic=$(printf 'x-access-token:%s' "$TASKCTX_TOKEN" | base64 | tr -d '\n')
	echo "::add-mask::$basic"
	lend "http.$url/.extraheader" "AUTHORIZATION: basic $basic"
}

place=$(mktemp -d "${RUNNER_TEMP:-${TMPDIR:-/tmp}}/taskctx.XXXXXX")
reports=$place/reports
root=$(cd "$(dirname "$0")/.." && pwd -P)
directory=$(cd "${GITHUB_WORKSPACE:-.}" && cd -- "${TASKCTX_DIRECTORY:-.}" && pwd -P) ||
	fail "there is no folder of that name: see the input working-directory" 128
command -v git >/dev/null || fail "git is not on PATH: it is needed in this job's container" 128

tool=${TASKCTX_TOOL:-$place/venv/bin/git-taskctx}
case $tool in
/*) ;;
*/*) tool=$PWD/$tool ;;
esac
if [ -z "${TASKCTX_TOOL:-}" ] && ! (install_tool); then
	cat "$place/log"
	fail "git-taskctx could not be installed; the log of this step says why" 128
fi
lend safe.directory "$directory" # in a container the checkout is another user's
lend_token
unset TASKCTX_TOKEN

case ${TASKCTX_UNPROVEN:-fail} in
fail | warn) ;;
*) fail "the input unproven is either fail or warn" 129 ;;
esac
set -- --ci --format "${TASKCTX_FORMAT:-github}" --reports "$reports" ${TASKCTX_POLICY:+"--policy=$TASKCTX_POLICY"} \
	${TASKCTX_REVISION:+-- "$TASKCTX_REVISION"}
code=0 end=
if [ "${TASKCTX_FORMAT:-github}" != github ]; then # which alone is written so that no name in it is a command
	end=$(od -An -N16 -tx1 /dev/urandom | tr -d ' \n')
	echo "::stop-commands::$end"
fi
(cd "$place" && "$tool" -C "$directory" verify "$@") 2>&1 || code=$?
[ -z "$end" ] || printf '\n::%s::\n' "$end"
case $code in
0) conclude verified ;;
1) conclude violated ;;
3)
	conclude unproven
	if [ "${TASKCTX_UNPROVEN:-fail}" = warn ]; then
		echo "::warning title=git taskctx::unproven, and not a pass: this step is green because its input unproven is warn"
		exit 0
	fi
	echo "::error title=git taskctx::unproven, and not a pass: the warnings and the summary of this step say why"
	;;
*) fail "nothing could be asked (exit code $code); the log of this step says why" "$code" ;;
esac
exit "$code"
