#!/bin/sh
# The storage tests run on Debian's PostgreSQL too. Installed here where we may; elsewhere those tests are skipped with a reason.
command -v initdb >/dev/null 2>&1 && exit 0
ls /usr/lib/postgresql/*/bin/initdb >/dev/null 2>&1 && exit 0
if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1; then
    apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq postgresql >/dev/null || exit 1
else
    echo "PostgreSQL is not installed: its storage tests will be skipped (Debian: apt-get install postgresql)"
fi
