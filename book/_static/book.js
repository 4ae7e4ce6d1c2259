// @ts-check
// What the pages need beside the figures: search from a folder, the section being read, and print.
"use strict";

// From a folder a browser allows no fetch, so the search shows titles only.
if (location.protocol === "file:") {
  // @ts-expect-error a constant of the theme's script, which this one follows
  DOCUMENTATION_OPTIONS.SHOW_SEARCH_SUMMARY = false;
}

/** Mark the entry of the section that is being read in the list of sections. */
function followSections() {
  /** @type {NodeListOf<HTMLAnchorElement>} */
  const links = document.querySelectorAll(".ar-sections a[href^='#']");
  const sections = [...links].flatMap((link) => {
    const section = document.getElementById(decodeURIComponent(link.hash.slice(1)));
    return section ? [{ link, section }] : [];
  });
  const mark = () => {
    const passed = sections.filter(({ section }) => section.getBoundingClientRect().top < 140);
    const here = passed[passed.length - 1]?.link;
    for (const { link } of sections) {
      if (link === here) link.setAttribute("aria-current", "true");
      else link.removeAttribute("aria-current");
    }
  };
  let asked = false;
  const soon = () => {
    if (asked) return;
    asked = true;
    requestAnimationFrame(() => {
      asked = false;
      mark();
    });
  };
  addEventListener("scroll", soon, { passive: true });
  mark();
}

document.addEventListener("DOMContentLoaded", followSections);

// Paper is light, whatever the screen is.
const page = document.documentElement.dataset;
let onScreen = page["theme"];
addEventListener("beforeprint", () => {
  onScreen = page["theme"];
  page["theme"] = "light";
});
addEventListener("afterprint", () => {
  page["theme"] = onScreen;
});
