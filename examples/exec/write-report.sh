#!/bin/sh
# Writes the call itself as the report. The key is the same for every attempt at the same call.
report="${TMPDIR:-/tmp}/obelus-example-report.json"
cat > "$report"
printf '{"file": "%s", "key": "%s"}' "$report" "$OBELUS_IDEMPOTENCY_KEY"
