{
for __dormouse_name in $(compgen -v); do
  case $__dormouse_name in
    BASH*|EUID|UID|PPID|SHELLOPTS|PIPESTATUS|OPTIND|OPTARG|_|PWD|OLDPWD|HOSTNAME|HOSTTYPE|MACHTYPE|OSTYPE|SHLVL|PS4|SHELL|RANDOM|SECONDS|LINENO|FUNCNAME|IFS|__dormouse_*) ;;
    HOME|LANG|PATH|TMPDIR|USER) declare -p "$__dormouse_name" >> PATH_OF_FILE ;;
    *) declare -p "$__dormouse_name" >> PATH_OF_FILE && echo "$__dormouse_name" ;;
  esac
done
declare -F | while read -r _ _ __dormouse_name; do echo "$__dormouse_name()"; done
declare -f >> PATH_OF_FILE
alias >> PATH_OF_FILE
printf 'cd -- %q\n' "$PWD" >> PATH_OF_FILE
} 2>/dev/null
