"use strict";
(function () {
  const form = document.getElementById("filters");
  if (!form) return;
  const cards = Array.from(document.querySelectorAll(".card"));
  const shown = document.getElementById("shown");
  const none = document.getElementById("none");
  const names = ["task", "verdict", "step", "scene"];
  const fields = names.map((name) => form.elements.namedItem(name));
  const words = form.elements.namedItem("find");

  function apply() {
    const wanted = fields.map((field) => field.value);
    const text = words.value.trim().toLowerCase();
    let count = 0;
    for (const card of cards) {
      const fits = names.every((name, i) => wanted[i] === "" || card.dataset[name] === wanted[i].slice(1)) &&
        (text === "" || card.dataset.uid.toLowerCase().includes(text));
      card.hidden = !fits;
      count += fits;
    }
    shown.value = count + " of " + cards.length + " questions";
    none.hidden = count > 0;
  }

  // The filters are in the address, so that a view can be linked to and reloaded.
  function remember() {
    const state = new URLSearchParams();
    names.forEach((name, i) => { if (fields[i].value) state.set(name, fields[i].value.slice(1)); });
    if (words.value.trim()) state.set("find", words.value.trim());
    const text = state.toString();
    history.replaceState(null, "", text ? "#" + text : "#questions");
  }

  // The value of a choice is "=" and what it stands for, so that an empty scene differs from all scenes.
  function choose(state) {
    names.forEach((name, i) => {
      const value = state.has(name) ? "=" + state.get(name) : "";
      fields[i].value = Array.from(fields[i].options).some((option) => option.value === value) ? value : "";
    });
    words.value = state.get("find") || "";
    apply();
  }

  function fromAddress() {
    const state = new URLSearchParams(location.hash.slice(1));
    if (names.concat("find").some((name) => state.has(name))) {
      choose(state);
      document.getElementById("questions").scrollIntoView();
    }
  }

  form.addEventListener("input", () => { apply(); remember(); });
  form.addEventListener("submit", (event) => event.preventDefault());
  form.addEventListener("reset", () => { setTimeout(() => { apply(); remember(); }, 0); });
  document.addEventListener("click", (event) => {
    const link = event.target.closest("a[data-filter]");
    if (!link) return;
    event.preventDefault();
    choose(new URLSearchParams(link.dataset.filter));
    remember();
    document.getElementById("questions").scrollIntoView();
  });
  addEventListener("hashchange", fromAddress);
  form.hidden = false;
  apply();
  fromAddress();
})();
