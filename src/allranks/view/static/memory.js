// @ts-check
// What the reader has answered on this site. Without storage (blocked, or a page from a folder)
// it lasts as long as the page.

const KEY = "allranks.practice/1";

/** @typedef {{answer: unknown, right: boolean, skipped: boolean, attempts: number}} Memory */

/** @type {Record<string, Memory>} */
let held = {};
let loaded = false;

/** @returns {Record<string, Memory>} */
function all() {
  if (!loaded) {
    loaded = true;
    try {
      const found = JSON.parse(window.localStorage.getItem(KEY) ?? "{}");
      if (found && typeof found === "object" && !Array.isArray(found)) held = found;
    } catch {
      held = {}; // storage is blocked or was written by something else: begin anew
    }
  }
  return held;
}

/** @param {string} id @returns {Memory | null} */
export function recall(id) {
  const found = Object.hasOwn(all(), id) ? all()[id] : null;
  return found && typeof found === "object" && typeof found.attempts === "number" ? found : null;
}

/** @param {string} id @param {Memory | null} memory null forgets the item */
export function remember(id, memory) {
  if (memory) all()[id] = memory;
  else delete all()[id];
  try {
    window.localStorage.setItem(KEY, JSON.stringify(all()));
  } catch {
    return; // the page itself remembers
  }
}
