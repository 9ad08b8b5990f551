#!/bin/sh
# The browser tests drive Debian's Chromium. Installed here where we may; elsewhere those tests are skipped with a reason.
command -v chromium >/dev/null 2>&1 && exit 0
if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1; then
    apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq chromium >/dev/null || exit 1
else
    echo "chromium is not installed: the browser tests will be skipped (Debian: apt-get install chromium)"
fi
