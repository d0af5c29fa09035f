#!/usr/bin/env bash
# One writer learns in five memory frameworks at once, and is examined in each and in one that it never trained in.
#
#   bash recipes/five-frameworks.sh [directory for the runs] [seed]
#
# About half an hour on two idle cores. Interrupted, the same command goes on; a finished step is passed over.
set -euo pipefail
cd "$(dirname "$0")/.."
out=${1:-runs/five}
seed=${2:-1}
memwriter() { npx tsx src/cli/main.ts "$@"; }

frameworks=(mem0 memos hy-memory:chat hy-memory:working hy-memory:coding)
held_out=everos
list=$(printf '"%s",' "${frameworks[@]}")
world=(data.world.scene=mixed data.world.sessionsPerUser=3 "data.world.seed=$seed")
training=("train.configurations=[${list%,}]" "train.seed=\"$seed\"" "${world[@]}" data.world.users=60)

memwriter harness add memos hy-memory "$held_out"
mkdir -p "$out"

distilled=$out/opd/checkpoints/000005
reinforced=$out/rl/checkpoints/000005

# Stage 1: what the writer says is judged token by token by a teacher who knows every protocol.
[ -d "$distilled" ] || memwriter train opd --run "$out/opd" --set "${training[@]}" train.steps=6 train.rowsPerStep=15
# Stage 2: what the writer's memories are worth in an exam.
[ -d "$reinforced" ] || memwriter train rl --run "$out/rl" --set "${training[@]}" train.steps=6 train.rowsPerStep=10 \
  train.optimiser.learningRate=0.0003 "policy=$distilled"

status=0
for framework in "${frameworks[@]}" "$held_out"; do
  report="$out/eval-${framework/:/-}.txt"
  [ -s "$report" ] && continue
  if memwriter eval --harness "$framework" --set "${world[@]}" data.world.users=15 data.world.split=eval "seed=\"$seed\"" \
    --writer base=models/base "distilled=$distilled" "reinforced=$reinforced" \
    | tee "$report.part"; then
    mv "$report.part" "$report"
  else
    status=1
  fi
done
memwriter runs show "$out/opd"
memwriter runs show "$out/rl"
exit "$status"
