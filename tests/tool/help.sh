. "$(dirname "$0")/expect.sh"
export HOME="$work"

# The help of each command fits a terminal, and says how it is called.
call 0 --help
has "the usage" "Usage: cuenv COMMAND [OPTIONS]" "$out"
same "an inner command is not listed" "" "$(grep probe "$work/out")"
commands=$(sed -n '/^Commands:/,/^$/s/^  \([a-z]*\) .*/\1/p' "$work/out")
same "the commands" "explain devices run env images check doctor cache verify" "$(echo $commands)"
cp "$work/out" "$work/help"
for command in $commands 'cache clear'; do
  call 0 $command --help
  has "the usage" "Usage: cuenv $command " "$out"
  same "help is told once and last" "  -h, --help" "$(sed -n '/^Options:/,/^$/p' "$work/out" | tail -n 2 | grep -o '^  -h, --help')"
  has "exit codes" "Exit code: " "$out"
  [ "$command" = "cache clear" ] || has "an example" "cuenv $command" "$(sed -n '/^Examples:/,$p' "$work/out")"
  cat "$work/out" >>"$work/help"
done
same "nothing is wider than 80 columns" "" "$(awk 'length > 80' "$work/help")"
call 0 check -h
has "options that exclude one another" "not with --gpu or" "$out"
call 0 run --help
has "the program" "[NAME=VALUE...] -- PROGRAM [ARGUMENT...]" "$out"
call 0 env --help
has "what has to be given" "Usage: cuenv env --format FORMAT [OPTIONS]" "$out"
call 0 --version
has "the version" "0." "$out"

# Every example is understood: there are the files that it names. srun is somebody else's.
cd "$work" || exit 1
cp "$IMAGES/for_90" app
cp "$IMAGES/sm_90.fatbin" kernels.fatbin
cuenv() { "$CUENV" "$@"; }
sed -n '/^Examples:/,/^[^ E]/s/^  //p' "$work/help" | grep -v '^srun ' | sort -u >"$work/examples"
[ "$(grep -c cuenv "$work/examples")" -ge 18 ] || fail "too few examples: $(cat "$work/examples")"
while IFS= read -r example; do
  code=0
  eval "$example" >"$work/blank" 2>"$work/err" </dev/null || code=$?
  case $code in
    2 | 125 | 126 | 127) fail "$example: exit code $code: $(cat "$work/err")" ;;
  esac
done <"$work/examples"

# What is not understood is named, with what was probably meant.
# misused CODE SENTENCE ARGUMENTS...
misused() {
  exit_code=$1
  sentence=$2
  shift 2
  call "$exit_code" "$@"
  same "cuenv $*" "$sentence" "$(head -n 1 "$work/err")"
  same "cuenv $*: nothing but the error" "" "$out"
}
misused 2 "cuenv has no command 'frob'" frob
has "where there is help" "cuenv --help tells more" "$err"
misused 2 "cuenv has no command 'chekc': did you mean check?" chekc kernels.fatbin
misused 2 "cuenv has no command 'chekc': did you mean check?" chekc --help
misused 2 "cuenv has no command 'dev': did you mean devices?" dev
misused 2 "cuenv has no command 'prob'" prob
misused 2 "cuenv has no command 'a\\x1bb'" "$(printf 'a\033b')"
misused 2 "cuenv has no command ''" ''
misused 2 "cuenv has no option '--json': write it behind the command, cuenv explain --json" --json explain
misused 2 "cuenv explain has no option '--jsn': did you mean --json?" explain --jsn
has "where there is help" "cuenv explain --help tells more" "$err"
misused 2 "cuenv check has no option '-json': did you mean --json?" check -json kernels.fatbin
misused 2 "cuenv check has no option '--gpus': did you mean --gpu?" check --gpus=9.0 kernels.fatbin
misused 2 "cuenv check has no option '--frobnicate'" check --frobnicate
misused 2 "cuenv images has no option '--visible'" images --visible 0 kernels.fatbin
misused 2 "cuenv devices has no place for 'x'" devices x
misused 2 "cuenv cache has no command 'claer': did you mean clear?" cache claer
misused 2 "cuenv check: FILE is required" check
misused 2 "cuenv check: --gpu excludes --load" check --load --gpu 9.0 kernels.fatbin
misused 125 "cuenv env has no option '--formt': did you mean --format?" env --formt sh
misused 125 "cuenv env: --format: 'cmd': write sh, powershell or docker" env --format cmd
call 2
has "without a command, the help" "Usage: cuenv COMMAND" "$err"
finish
