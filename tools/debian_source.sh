# Sourced by scripts that build an interpreter from Debian's source packages. debian_root.sh must be sourced first.

# debian_source FOLDER LOG PACKAGE/RELEASE...: downloads source packages into FOLDER, or calls skip() if they are not
# available.
debian_source() {
  local folder=$1 log=$2 mirror package
  shift 2
  # A separate configuration of apt leaves the machine's lists and sources unchanged.
  mirror=$(debian_mirror) || true
  [ -n "$mirror" ] || skip "apt knows no mirror of Debian's (apt-get update?)"
  mkdir -p "$folder/lists/partial" "$folder/archives/partial"
  for package in "$@"; do
    echo "deb-src [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $mirror ${package#*/} main"
  done | sort -u >"$folder/sources.list"
  cat >"$folder/apt.conf" <<END
Dir::Etc::sourcelist "$folder/sources.list";
Dir::Etc::sourceparts "/dev/null";
Dir::State::lists "$folder/lists";
Dir::Cache "$folder";
APT::Sandbox::User "";
END
  if ! (
    cd "$folder"
    export APT_CONFIG="$folder/apt.conf"
    apt-get -qq -o APT::Update::Error-Mode=any update && apt-get -qq source --download-only "$@"
  ) >"$log" 2>&1; then
    skip "Debian's source packages $* cannot be fetched:" \
      "$(grep -m 1 '^E: ' "$log" || tail -n 1 "$log")"
  fi
}

# logged LOG FUNCTION: runs the function in a subshell. If a command fails, ends the script.
logged() {
  local log=$1
  shift
  (
    set -e
    "$@"
  ) >>"$log" 2>&1 &
  if ! wait $!; then
    tail -n 20 "$log" >&2
    echo "$0: $log has the rest" >&2
    exit 1
  fi
}
