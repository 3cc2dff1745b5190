// Begins once all the rest is known.

const explorers = { path: pathExplorer, intervals: intervalExplorer };
document.querySelectorAll("table").forEach(sortable);
unfoldOnPaper();
for (const host of document.querySelectorAll("[data-explorer]")) {
  explorers[host.dataset.explorer](host, data[host.dataset.explorer]);
}
api.ready = true;
