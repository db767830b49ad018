# What test.sh and check-long.sh do with the names of groups; both source this file, in the root of the project, with the commands
# of groups in `command`.
#   GROUP          the group's command
#   GROUP@SERVER   the same on another server of scripts/servers.sh; `command[GROUP@]`, where there is one, is the command for that
#   /              what follows is a lane of its own

run_groups() {
    local groups=() group name
    export DLOCK_PROFILE=${DLOCK_PROFILE:-quick} PYTEST_ADDOPTS=${PYTEST_ADDOPTS:-"--durations=10 --durations-min=1"}
    for group in "$@"; do
        name=${group%@*}
        case $group in
        /) groups+=(/) ;;
        *@*) groups+=("$group=scripts/servers.sh ${group#*@} ${command[$name@]:-${command[$name]:?there is no group $name}}") ;;
        *) groups+=("$group=${command[$group]:?there is no group $group}") ;;
        esac
    done
    scripts/servers.sh default
    # With several lanes, what they share is built before them.
    if [[ " $* " == *" / "* ]] && [ -z "${DLOCK_PACKAGED:-}" ]; then
        groups=(--first "env --unset=DLOCK_PACKAGED scripts/build-all.sh" "${groups[@]}")
        export DLOCK_PACKAGED=1
    fi
    exec python3 scripts/totals.py "${groups[@]}"
}
