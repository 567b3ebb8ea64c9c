#!/bin/sh
# Fetches the pinned libraries of package-lock.json and copies what the page needs to vendor/.
# Only for changing a version: the build itself needs neither npm nor a network.
set -eu
cd "$(dirname "$0")"
npm ci --ignore-scripts --no-audit --no-fund
cp node_modules/uplot/dist/uPlot.iife.min.js vendor/uplot.js
cp node_modules/uplot/dist/uPlot.min.css vendor/uplot.css
cp node_modules/uplot/LICENSE vendor/uplot.LICENSE
rm -rf node_modules
