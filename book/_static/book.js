// @ts-check
// Before the page is drawn: from a folder a browser allows no fetch, so the search shows titles only.
"use strict";
if (location.protocol === "file:") {
  const options = /** @type {any} */ (globalThis).DOCUMENTATION_OPTIONS;
  if (options) options.SHOW_SEARCH_SUMMARY = false;
}
