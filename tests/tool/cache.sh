. "$(dirname "$0")/expect.sh"
# A cache as the driver makes it, below a home of its own.
export HOME=$work/home
folder=$HOME/.nv/ComputeCache
fill() {
  rm -rf "$HOME"
  mkdir -p "$folder/3/c" "$folder/a/0"
  printf '%16s' '' >"$folder/index"
  printf '%4600s' '' >"$folder/3/c/0f1e2d3c4b5a69"
  printf '%400s' '' >"$folder/a/0/1234567890abcd"
}

call 0 cache --json
same "nothing yet" "1
cache
fine
on
$folder
nothing yet" "$(at /schema /command /health /facts/0/value /facts/1/value /facts/2/value)"
call 0 cache clear --yes
has "nothing yet" "there is no cache" "$out"
fill
call 0 cache
has "where" "folder     " "$out"
has "how full" "size       4.8 KiB in 3 files, of 1 GiB" "$out"
CUDA_CACHE_DISABLE=1 call 0 cache
has "off" "off by CUDA_CACHE_DISABLE" "$out"
printf x >"$work/file"
CUDA_CACHE_PATH=$work/file call 1 cache
has "a file in its place" "is a file, so no cache can be there" "$(tr -s '\n ' ' ' <"$work/out")"

# Nobody is there to be asked.
call 2 cache clear </dev/null
has "what to say" "--yes" "$err"
[ -f "$folder/index" ] || fail "it was removed without a word"
call 0 cache clear --yes
same "what was removed" "$folder: removed 3 files (4.8 KiB)" "$out"
same "the folder stays, empty" "" "$(ls -A "$folder")"
call 0 cache clear --yes
has "empty" "the cache is empty" "$out"

# Asked on a terminal.
if [ "$(uname)" = Linux ]; then
  asked() { printf '%s\n' "$1" | script -qec "'$CUENV' cache clear" /dev/null | tr -d '\r'; }
  fill
  has "no" "nothing was removed" "$(asked n)"
  [ -f "$folder/3/c/0f1e2d3c4b5a69" ] || fail "it was removed in spite of a no"
  has "yes" "removed 3 files" "$(asked y)"
  [ ! -e "$folder/index" ] || fail "it was not removed in spite of a yes"
fi

# refused WHAT PART: nothing is removed where anything is not the driver's.
refused() {
  before=$(find -H "$folder" | sort)
  call 1 cache clear --yes
  has "$1" "$2" "$err"
  has "$1" "nothing was removed" "$err"
  same "$1: all is there" "$before" "$(find -H "$folder" | sort)"
}
fill && printf x >"$folder/thesis.txt"
refused "a foreign file" "holds thesis.txt"
fill && mkdir "$folder/b" && printf x >"$folder/b/thesis.txt"
refused "one in a folder of one digit" "b holds thesis.txt"
fill && printf x >"$folder/a/0/thesis.txt"
refused "one in the lowest folder" "holds thesis.txt"
fill && printf x >"$folder/index"
refused "an index that is none" "has an index that the driver did not write"
fill && mkdir -p "$folder/b/1/deeper"
refused "a folder too deep" "holds deeper"
fill && mkdir "$work/precious" && printf x >"$work/precious/file"
ln -s "$work/precious" "$folder/b"
refused "a link to a folder" "b is no folder that can be opened"
fill && ln -s "$work/precious/file" "$folder/a/0/link"
refused "a link to a file" "holds link"
fill && rm "$folder/index" && ln -s "$work/precious/file" "$folder/index"
refused "a link in place of the index" "holds index"
fill && rm "$folder/index"
refused "no index" "holds no file named index"
[ -f "$work/precious/file" ] || fail "a link was followed"
if [ "$(id -u)" = 0 ] && command -v setpriv >/dev/null; then
  mkdir -p "$work/closed/cache" && chmod 700 "$work/closed" && chmod 755 "$work"
  nobody() { setpriv --reuid=65534 --regid=65534 --clear-groups env CUDA_CACHE_PATH="$work/closed/cache" "$CUENV" "$@" 2>&1; }
  has "a folder that may not be entered" "Permission denied" "$(nobody cache clear --yes)"
  case $(nobody cache | tr -s '\n ' ' ') in *"is a file"*) fail "a folder that may not be entered is no file" ;; esac
fi

# The cache reached through a link is the user's own choice.
fill && mv "$folder" "$work/elsewhere" && ln -s "$work/elsewhere" "$folder"
call 0 cache clear --yes
same "through a link" "" "$(ls -A "$work/elsewhere")"

# Variables that name no folder.
CUDA_CACHE_PATH=/dev/null call 1 cache clear --yes
has "no folder" "CUDA_CACHE_PATH names no folder" "$err"
unset HOME
call 1 cache clear --yes
has "no home" "HOME is not set" "$err"
call 2 cache no-such-word
finish
