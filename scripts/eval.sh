#!/usr/bin/env bash
# Set-up, then the main job: an evaluation over ROS. Without arguments, on the bundled demonstration.
#   bash scripts/eval.sh [arguments of 'gst eval']
# shellcheck source-path=SCRIPTDIR
set -euo pipefail
source "$(dirname -- "${BASH_SOURCE[0]}")/common.sh"

bash "$root/scripts/setup.sh"
enter_environment
# The demonstration's run goes into the checkout; whoever names files means them from where they are.
if [ $# -eq 0 ]; then cd -- "$root"; fi
exec gst eval "$@"
